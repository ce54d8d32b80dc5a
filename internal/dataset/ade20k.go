package dataset

import (
	"errors"
	"fmt"
	"image"
	_ "image/jpeg" // image.DecodeConfig reads these
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// ADE20K is a set of images of which every pixel has a class, as MLPerf Mobile prepares
// it: images of 512×512 pixels, the longer side of the original resized to that and the
// rest padded, and masks of the same size with the classes 1 to 31, or 0 for all others
// (mlcommons/mobile_open, vision/deeplab).
type ADE20K struct {
	dir         string
	options     Options
	images      []string // names, in order
	fingerprint string
}

// ADE20KSize is the height and width of images and masks.
const ADE20KSize = 512

// The folders of the data set.
const (
	adeImages = "images"
	adeMasks  = "annotations"
)

// OpenADE20K opens the data set in a folder: images/NAME.jpg or .png, in the order of
// their names, and a mask annotations/NAME.png for each.
func OpenADE20K(dir string, o Options) (*ADE20K, error) {
	d := &ADE20K{dir: dir, options: o}
	count := o.Count
	entries, err := os.ReadDir(filepath.Join(dir, adeImages))
	if err != nil {
		return nil, fmt.Errorf("opening ADE20K: %w: want the folders %s and %s", err, adeImages, adeMasks)
	}
	for _, e := range entries {
		switch strings.ToLower(filepath.Ext(e.Name())) {
		case ".jpg", ".jpeg", ".png":
			d.images = append(d.images, e.Name())
		}
	}
	slices.Sort(d.images)
	if len(d.images) == 0 || count > len(d.images) {
		return nil, fmt.Errorf("opening ADE20K: %s has %d images, want at least %d", filepath.Join(dir, adeImages), len(d.images), max(count, 1))
	}
	if count == 0 {
		count = len(d.images)
	}
	if err := d.check(count); err != nil {
		return nil, fmt.Errorf("opening ADE20K: %w", err)
	}
	d.images = d.images[:count]
	return d, nil
}

// check wants the first count images and their masks to have the right size. The
// fingerprint has all of them.
func (d *ADE20K) check(count int) error {
	files := newFileCheck(d.dir)
	for i, name := range d.images {
		err := errors.Join(files.add(adeImages+"/"+name, d.Path(i)), files.add(adeMasks+"/"+name, d.MaskPath(i)))
		if i < count && err == nil {
			err = d.checkSizes(i)
		}
		if i < count && err != nil && !files.failed("image "+name, err) {
			break
		}
	}
	d.fingerprint = files.fingerprint()
	return files.err()
}

// checkSizes wants an image and its mask to have the official size.
func (d *ADE20K) checkSizes(i int) error {
	if d.options.Preprocessed != "" {
		return checkSize(d.MaskPath(i))
	}
	return errors.Join(checkSize(d.Path(i)), checkSize(d.MaskPath(i)))
}

// checkSize wants a picture of the official size.
func checkSize(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	c, _, err := image.DecodeConfig(f)
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", path, err)
	case c.Width != ADE20KSize || c.Height != ADE20KSize:
		return fmt.Errorf("%s has %d×%d pixels, want %d×%d: prepare images and masks as the rules of MLPerf Mobile say",
			path, c.Width, c.Height, ADE20KSize, ADE20KSize)
	}
	return nil
}

// Len is the number of images.
func (d *ADE20K) Len() int { return len(d.images) }

// Path returns the file of an image, or of what was made of it.
func (d *ADE20K) Path(i int) string {
	return d.options.path(d.dir, adeImages+"/"+d.images[i], d.images[i])
}

// MaskPath returns the file of an image's mask.
func (d *ADE20K) MaskPath(i int) string {
	name := d.images[i]
	return filepath.Join(d.dir, adeMasks, strings.TrimSuffix(name, filepath.Ext(name))+".png")
}

// Read returns the content of the file.
func (d *ADE20K) Read(i int) ([]byte, error) { return os.ReadFile(d.Path(i)) }

// Mask returns the class of each pixel of an image, row by row.
func (d *ADE20K) Mask(i int) ([]uint8, error) { return ReadMask(d.MaskPath(i)) }

// ReadMask reads a PNG file whose pixels are classes: 8-bit grey, or indices of a
// palette.
func ReadMask(path string) ([]uint8, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("reading a mask: %w", err)
	}
	defer f.Close()
	m, err := png.Decode(f)
	if err != nil {
		return nil, fmt.Errorf("reading the mask %s: %w", path, err)
	}
	width, height := m.Bounds().Dx(), m.Bounds().Dy()
	var pixels []uint8
	stride := 0
	switch m := m.(type) {
	case *image.Gray:
		pixels, stride = m.Pix, m.Stride
	case *image.Paletted:
		pixels, stride = m.Pix, m.Stride
	default:
		return nil, fmt.Errorf("reading the mask %s: its pixels are no classes: want 8-bit grey or a palette", path)
	}
	classes := make([]uint8, 0, width*height)
	for y := range height {
		classes = append(classes, pixels[y*stride:][:width]...)
	}
	return classes, nil
}

// Fingerprint names the content of the whole data set, as far as names, sizes and times
// of the files tell it.
func (d *ADE20K) Fingerprint() string { return d.fingerprint }
