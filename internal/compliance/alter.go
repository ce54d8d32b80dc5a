package compliance

import (
	"context"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/mlperf-go/mlperf/internal/fileio"
)

// alter copies a data set into another folder and changes every sample, so that answers that
// were worked out before are wrong (v0.7:compliance/audit_v0.5/nvidia/TEST03): pictures lose
// their blue, and in sentences words and digits are others. Truth stays as it is.
func alter(ctx context.Context, from, to string) error {
	changed := 0
	from, err := filepath.EvalSymlinks(from)
	if err != nil {
		return err
	}
	err = filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		if err != nil || entry.IsDir() {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		change := changeOf(entry.Name())
		if change == nil {
			return copyFile(filepath.Join(to, rel), path)
		}
		changed++
		return alterFile(path, filepath.Join(to, rel), change)
	})
	if err == nil && changed == 0 {
		err = fmt.Errorf("%s has neither JPEG pictures nor sentences of newstest2014: give the changed data yourself", from)
	}
	return err
}

// changeOf is what is done to a file; nil: it is no sample.
func changeOf(name string) func(w io.Writer, r io.Reader) error {
	switch ext := strings.ToLower(filepath.Ext(name)); {
	case ext == ".jpg" || ext == ".jpeg":
		return withoutBlue
	case strings.HasPrefix(name, "newstest2014") && ext == ".en":
		return otherWords
	}
	return nil
}

func alterFile(from, to string, change func(w io.Writer, r io.Reader) error) error {
	src, err := fileio.Open(from)
	if err != nil {
		return err
	}
	defer src.Close()
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	dst, err := os.Create(to)
	if err != nil {
		return err
	}
	if err := change(dst, src); err != nil {
		dst.Close()
		return fmt.Errorf("changing %s: %w", from, err)
	}
	return dst.Close()
}

// quality is OpenCV's for JPEG, as the reference's script writes.
const quality = 95

// withoutBlue writes a picture whose blue is 0.
func withoutBlue(w io.Writer, r io.Reader) error {
	picture, err := jpeg.Decode(r)
	if err != nil {
		return err
	}
	bounds := picture.Bounds()
	out := image.NewRGBA(bounds)
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			red, green, _, _ := picture.At(x, y).RGBA()
			out.SetRGBA(x, y, color.RGBA{R: uint8(red >> 8), G: uint8(green >> 8), A: 255})
		}
	}
	return jpeg.Encode(w, out, &jpeg.Options{Quality: quality})
}

// others are what words and digits become: words that stand in most sentences, for ones of
// another meaning.
var others = strings.NewReplacer(
	" he ", " she ", " his ", " her ", " is ", " was ", " has ", " had ", " will ", " cannot ", " with ", " without ",
	" more ", " less ", " and ", " or ", " to ", " from ", " in ", " under ", " first ", " last ", " not ", " always ",
	"0", "7", "1", "4", "2", "9", "3", "8", "5", "6",
)

// wordStart are the first two words of a sentence.
var wordStart = regexp.MustCompile(`(?m)^(\S+) (\S+)`)

// otherWords writes sentences in which something is another in every line of two words or
// more: the first two words change places too.
func otherWords(w io.Writer, r io.Reader) error {
	text, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, wordStart.ReplaceAllString(others.Replace(string(text)), "$2 $1"))
	return err
}
