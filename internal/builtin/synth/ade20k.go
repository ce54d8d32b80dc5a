package synth

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/color"
	imagedraw "image/draw"
	"image/png"
	"io"
	"os"
	"path/filepath"

	"github.com/mlperf-go/mlperf/internal/fileio"
)

// An ADE20KSpec says everything about a built-in data set for segmentation, in the layout
// of MLPerf Mobile. Equal specs make equal files.
type ADE20KSpec struct {
	Seed   uint64 `json:"seed"`
	Images int    `json:"images"` // 1 to 2000, as many as the official set has
	// Truth names the way in which the Judge makes masks. It may be empty.
	Truth string `json:"truth,omitempty"`
}

const (
	maxADEImages = 2000
	adeSize      = 512
	adePadding   = 127 // grey
	adeClasses   = 31
)

func (s ADE20KSpec) check() error {
	if s.Images < 1 || s.Images > maxADEImages {
		return fmt.Errorf("images is %d: must be 1 to %d", s.Images, maxADEImages)
	}
	return nil
}

// Key returns a name for the data set, fit for a folder: equal keys mean equal files.
func (s ADE20KSpec) Key() string {
	return "ade20k-" + keyOf("ade20k seed %d images %d truth %q", s.Seed, s.Images, s.Truth)
}

// Name returns the name of an image and its mask, counted from 0, without extension.
func (s ADE20KSpec) Name(i int) string { return fmt.Sprintf("ADE_val_%08d", i+1) }

// Content returns how much of an image, from the upper left corner, is the picture. The
// rest is padding.
func (s ADE20KSpec) Content(i int) (width, height int) {
	r := newStream("ade20k content", s.Seed, uint64(i))
	shorter := []int{384, 341, 288, 512}[r.pick([]int{55, 25, 10, 10})]
	return turnedSize(r, adeSize, shorter, 20)
}

// Scene returns what image i shows.
func (s ADE20KSpec) Scene(i int) Scene {
	return NewScene(deriveSeed("ade20k scene", s.Seed, uint64(i)))
}

// WriteADE20K makes a data set for segmentation: images, masks and the Manifest. In the
// masks are the shapes of the scenes, until the judge, if there is one, writes others.
//
// Folder, errors, ctx and progress are as with WriteImageNet.
func WriteADE20K(ctx context.Context, dir string, spec ADE20KSpec, judge Judge, progress func(done, total int)) error {
	return publish(ctx, dir, "ADE20K", &spec, func(folder string) error { return spec.fill(ctx, folder, progress) }, judge)
}

// fill writes the files.
func (s ADE20KSpec) fill(ctx context.Context, folder string, progress func(done, total int)) error {
	for _, name := range []string{"images", "annotations"} {
		if err := os.MkdirAll(filepath.Join(folder, name), 0o755); err != nil {
			return err
		}
	}
	return draw(ctx, s.Images, func() func(int) error {
		return func(i int) error {
			data, err := frame{quality: 95}.encode(s.picture(i))
			if err != nil {
				return err
			}
			if err := fileio.WriteFile(filepath.Join(folder, "images", s.Name(i)+".jpg"), data, 0o644); err != nil {
				return err
			}
			return s.WriteMask(folder, i, s.shapes(i))
		}
	}, progress)
}

// picture returns the pixels of an image.
func (s ADE20KSpec) picture(i int) *image.RGBA {
	width, height := s.Content(i)
	content := s.Scene(i).Render(width, height)
	img := image.NewRGBA(image.Rect(0, 0, adeSize, adeSize))
	imagedraw.Draw(img, img.Rect, image.NewUniform(color.RGBA{adePadding, adePadding, adePadding, 255}), image.Point{}, imagedraw.Src)
	imagedraw.Draw(img, image.Rect(0, 0, width, height), content, image.Point{}, imagedraw.Src)
	return img
}

// shapes returns a mask with the boxes of the shapes, each of a random class.
func (s ADE20KSpec) shapes(i int) []uint8 {
	r := newStream("ade20k classes", s.Seed, uint64(i))
	width, height := s.Content(i)
	mask := make([]uint8, adeSize*adeSize)
	for _, o := range s.Scene(i).Objects(width, height) {
		class := uint8(r.between(1, adeClasses))
		for y := range o.Box[3] {
			row := mask[(o.Box[1]+y)*adeSize+o.Box[0]:][:o.Box[2]]
			for x := range row {
				row[x] = class
			}
		}
	}
	return mask
}

// WriteMask writes the mask of an image: the class of each pixel.
func (s ADE20KSpec) WriteMask(folder string, i int, classes []uint8) error {
	if len(classes) != adeSize*adeSize {
		return fmt.Errorf("mask %d has %d pixels, expected %d×%d", i, len(classes), adeSize, adeSize)
	}
	path := filepath.Join(folder, "annotations", s.Name(i)+".png")
	return fileio.WriteAtomic(path, 0o644, func(f io.Writer) error {
		m := &image.Gray{Pix: classes, Stride: adeSize, Rect: image.Rect(0, 0, adeSize, adeSize)}
		var file bytes.Buffer
		if err := png.Encode(&file, m); err != nil {
			return err
		}
		_, err := f.Write(withPNGComment(file.Bytes(), markComment))
		return err
	})
}
