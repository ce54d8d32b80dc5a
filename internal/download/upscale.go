package download

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"os"
	"path"
	"strings"
	"sync"

	"github.com/mlperf-go/mlperf/internal/preprocess"
	"github.com/mlperf-go/mlperf/internal/preprocess/jpeg"
	"github.com/mlperf-go/mlperf/internal/userinput"
	"github.com/mlperf-go/mlperf/internal/workerpool"
)

// An Upscaling says how COCO is enlarged.
type Upscaling struct {
	Width, Height int
	Format        string // png, or jpg
	Observer      Observer
}

// minSide and maxSide bound the enlarged images.
const (
	minSide = 32
	maxSide = 1 << 14
)

// Check finds what makes no sense, without a look at any file. Upscale does the same first.
func (u Upscaling) Check() error {
	if min(u.Width, u.Height) < minSide || max(u.Width, u.Height) > maxSide {
		return userinput.Errorf("upscale", "%d × %d pixels are wanted, want %d to %d", u.Width, u.Height, minSide, maxSide)
	}
	if u.Format != "png" && u.Format != "jpg" {
		return userinput.Invalid("upscale_format", u.Format, "png or jpg")
	}
	return nil
}

// item returns what the receipt of the enlarged data set is about.
func (u Upscaling) item() Item {
	return Item{Kind: Dataset, Name: fmt.Sprintf("coco-%dx%d-%s", u.Width, u.Height, u.Format), Layout: LayoutCOCO}
}

// Upscale writes a copy of COCO whose images all have one size, as the reference's
// tools/upscale_coco does: INTER_LINEAR on bytes, proportions not kept, boxes and areas
// scaled, outlines not. As PNG the pixels are those of the reference. As JPEG they are
// not: quality (95) and sampling (4:2:0) are OpenCV's, the encoder is another.
//
// What an earlier run has made of the same images is kept.
func Upscale(ctx context.Context, from, to string, u Upscaling) (Result, error) {
	if u.Observer == nil {
		u.Observer = silence{}
	}
	if err := u.Check(); err != nil {
		return Result{}, err
	}
	in, err := openRoot(from)
	if err != nil {
		return Result{}, fmt.Errorf("upscaling: %w", err)
	}
	defer in.Close()
	o := Options{Dir: to, Observer: &serial{o: u.Observer}}.withDefaults()
	root, lock, err := openState(ctx, o)
	if err != nil {
		return Result{}, fmt.Errorf("upscaling: %w", err)
	}
	defer lock.Close()
	defer root.Close()
	result, err := newJob(u.item(), o, root).upscale(ctx, in, u)
	if err != nil {
		return result, fmt.Errorf("upscaling %s: %w", from, err)
	}
	return result, nil
}

func (j *job) upscale(ctx context.Context, in *os.Root, u Upscaling) (result Result, err error) {
	if j.list, err = openSums(j.root); err != nil {
		return result, err
	}
	defer func() { err = errors.Join(err, j.list.close()) }()
	c, err := readCOCOFile(in, cocoLabels)
	if err != nil {
		return result, err
	}
	j.receipt.Item = j.sourceFingerprint(c)
	result, there, err := j.alreadyThere(ctx)
	if there || err != nil {
		return result, err
	}
	labels, err := largerLabels(in, u) // what is wrong with them is known before the work begins
	if err != nil {
		return result, err
	}
	j.Observer.Phase(fmt.Sprintf("upscaling to %d × %d", u.Width, u.Height))
	if err := j.upscaleImages(ctx, in, c, u); err != nil {
		return result, err
	}
	if err := j.replace(cocoLabels, labels); err != nil {
		return result, err
	}
	return j.finish()
}

// largerLabels are the labels of the larger images.
func largerLabels(in *os.Root, u Upscaling) ([]byte, error) {
	c, err := readCOCOFile(in, cocoLabels)
	if err == nil {
		err = c.scale(u)
	}
	if err != nil {
		return nil, err
	}
	return c.bytes(), nil
}

// sourceFingerprint names the annotations from which the copy is made.
func (j *job) sourceFingerprint(c *cocoFile) string {
	s := newSummer()
	s.Write(c.bytes())
	return s.sums().SHA256[:16]
}

// upscaleImages enlarges the images, several at a time.
func (j *job) upscaleImages(ctx context.Context, in *os.Root, c *cocoFile, u Upscaling) error {
	if err := j.root.MkdirAll(cocoImages, 0o755); err != nil {
		return err
	}
	var mu sync.Mutex
	done := 0
	pool := sync.Pool{New: func() any { return &enlarger{} }}
	return workerpool.Each(ctx, 0, len(c.images), func(ctx context.Context, i int) error {
		name := c.images[i].FileName
		if err := checkPath(name); err != nil {
			return err
		}
		e := pool.Get().(*enlarger)
		defer pool.Put(e)
		err := j.upscaleImage(in, e, name, u)
		if err != nil {
			err = fmt.Errorf("%s: %w", name, err)
		}
		mu.Lock()
		defer mu.Unlock()
		done++
		j.Observer.Items(done, len(c.images))
		return errors.Join(context.Cause(ctx), err)
	})
}

// upscaleImage enlarges one image, if it is not there. What an interrupted run has
// written has its checksum in the list, and is kept.
func (j *job) upscaleImage(in *os.Root, e *enlarger, name string, u Upscaling) error {
	to := path.Join(cocoImages, u.fileName(name))
	if _, err := j.root.Stat(to); err == nil && j.list.get(to) != "" {
		return nil
	}
	data, err := readFile(in, path.Join(cocoImages, name))
	if err != nil {
		return err
	}
	small, err := e.scratch.Decode(data)
	if err != nil {
		return err
	}
	big := jpeg.NewRGB(u.Width, u.Height)
	from, size := preprocess.Size{Width: small.Width, Height: small.Height}, preprocess.Size{Width: u.Width, Height: u.Height}
	if err := e.scratch.ResizeBytes(big.Pix, small.Pix, preprocess.CV2Linear, 3, from, size); err != nil {
		return err
	}
	part := flat(to) + partSuffix
	sum, err := j.writeImage(part, big, u.Format)
	if err != nil {
		return err
	}
	return j.install(part, to, sum)
}

// writeImage writes an image file and returns its checksum.
func (j *job) writeImage(part string, m *jpeg.RGB, format string) (string, error) {
	f, err := j.root.Create(part)
	if err != nil {
		return "", err
	}
	s := newSummer()
	w := bufio.NewWriterSize(io.MultiWriter(f, s), 1<<20)
	if format == "png" {
		encoder := png.Encoder{CompressionLevel: png.BestSpeed}
		err = encoder.Encode(w, opaque(m))
	} else {
		err = jpeg.Encode(w, m, jpeg.EncodeOptions{Quality: 95, Sampling: jpeg.Sampling420})
	}
	return s.finish(w, f, err)
}

func (s *summer) finish(w *bufio.Writer, f *os.File, err error) (string, error) {
	if err == nil {
		err = w.Flush()
	}
	return s.sums().SHA256, errors.Join(err, f.Close())
}

// opaque makes of a picture one that image/png writes with three channels, fast.
func opaque(m *jpeg.RGB) image.Image {
	out := image.NewNRGBA(m.Bounds())
	for y := range m.Height {
		row := m.Row(y)
		for x := range m.Width {
			p := row[3*x:]
			out.SetNRGBA(x, y, color.NRGBA{R: p[0], G: p[1], B: p[2], A: 0xff})
		}
	}
	return out
}

// An enlarger has the working memory of one goroutine.
type enlarger struct{ scratch preprocess.Scratch }

// fileName returns the name of an enlarged image: the reference replaces the last three
// characters.
func (u Upscaling) fileName(name string) string {
	return strings.TrimSuffix(name, path.Ext(name)) + "." + u.Format
}
