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

// verify03 compares a run on other data (v0.7:compliance/audit_v0.5/nvidia/TEST03): it must be as fast, and its responses
// must not be those of the official data.
func (v *verification) verify03(context.Context) error {
	ref, run, err := v.bothRuns()
	if err != nil {
		return err
	}
	c, err := v.compareResponses()
	if err != nil {
		return err
	}
	differ := c.wrong + c.later
	v.Facts = append(v.Facts, fmt.Sprintf("%d of %d responses differ from those on the official data", differ, c.found))
	v.Notes = append(v.Notes, "a person judges whether the score on the changed data is that of the reference on them")
	if c.found > 0 && differ == 0 {
		v.fail(fmt.Sprintf("all %d responses on the changed data are those on the official data", c.found),
			"responses are looked up by the index of the sample", "the run was not made with the changed data")
	}
	v.write(accuracyFile, v.Test+": responses", fmt.Sprint("num_perf_log_qsl_idx_match = ", c.found),
		fmt.Sprint("num_perf_log_data_mismatch = ", differ), verdictLine(v.Passed))
	return v.compareDetails(ref, run)
}

// changeData copies a data set into another folder and changes every sample, so that answers that were computed before are
// wrong (v0.7:compliance/audit_v0.5/nvidia/TEST03): images lose their blue, and sentences have other words and digits. The
// ground truth stays.
func changeData(ctx context.Context, from, to string) error {
	changed := 0
	from, err := filepath.EvalSymlinks(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(to, 0o755); err != nil {
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
			return copyFile(to, filepath.ToSlash(rel), path)
		}
		changed++
		src, err := fileio.Open(path)
		if err != nil {
			return err
		}
		defer src.Close()
		var text strings.Builder
		if err := change(&text, src); err != nil {
			return fmt.Errorf("changing %s: %w", path, err)
		}
		return fileio.CopyIn(to, filepath.ToSlash(rel), strings.NewReader(text.String()))
	})
	if err == nil && changed == 0 {
		err = fmt.Errorf("%s has neither JPEG images nor sentences of newstest2014: give the changed data yourself", from)
	}
	return err
}

// changeOf returns how a file is changed; nil: it is not a sample.
func changeOf(name string) func(w io.Writer, r io.Reader) error {
	switch ext := strings.ToLower(filepath.Ext(name)); {
	case ext == ".jpg" || ext == ".jpeg":
		return withoutBlue
	case strings.HasPrefix(name, "newstest2014") && ext == ".en":
		return otherWords
	}
	return nil
}

// withoutBlue writes an image without blue, in the quality that OpenCV has in the reference's script.
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
	return jpeg.Encode(w, out, &jpeg.Options{Quality: 95})
}

// replacements give common words and digits another meaning.
var replacements = strings.NewReplacer(
	" he ", " she ", " his ", " her ", " is ", " was ", " has ", " had ", " will ", " cannot ", " with ", " without ",
	" more ", " less ", " and ", " or ", " to ", " from ", " in ", " under ", " first ", " last ", " not ", " always ",
	"0", "7", "1", "4", "2", "9", "3", "8", "5", "6",
)

var firstWords = regexp.MustCompile(`(?m)^(\S+) (\S+)`)

// otherWords changes every sentence of two words or more: the first two words also change places.
func otherWords(w io.Writer, r io.Reader) error {
	text, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, firstWords.ReplaceAllString(replacements.Replace(string(text)), "$2 $1"))
	return err
}
