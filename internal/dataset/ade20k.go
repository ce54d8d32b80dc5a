package dataset

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/png"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/preprocess/jpeg"
)

// ADE20K is a set of images of which every pixel has a class: 1 to 31 are those of MLPerf
// Mobile, 0 and all others do not count. Images and masks may be the official ones, of any
// size, or have been prepared: 512×512 pixels, the longer side of the original resized to
// that and the rest filled up (mlcommons/mobile_open, vision/deeplab).
type ADE20K struct {
	dir         string
	layout      adeLayout
	options     Options
	images      []string // names, in order
	fingerprint string
}

// ADE20KSize is the height and width of images and masks as the model takes them.
const ADE20KSize = 512

// An adeLayout says where images and masks are.
type adeLayout struct{ images, masks string }

// adeLayouts are those of prepared images, and of the validation images as they are
// published, in a folder or below the one that the archive has.
var adeLayouts = []adeLayout{
	{"images", "annotations"},
	{"images/validation", "annotations/validation"},
	{"ADEChallengeData2016/images/validation", "ADEChallengeData2016/annotations/validation"},
}

// OpenADE20K opens the data set in a folder: images/NAME.jpg or .png, in the order of
// their names, and a mask annotations/NAME.png for each; or the official folders, of which
// it takes the validation images.
func OpenADE20K(dir string, o Options) (*ADE20K, error) {
	d := &ADE20K{dir: dir, options: o}
	if err := d.find(); err != nil {
		return nil, fmt.Errorf("opening ADE20K: %w", err)
	}
	count := o.Count
	if count > len(d.images) {
		return nil, fmt.Errorf("opening ADE20K: %s has %d images, want at least %d", filepath.Join(dir, d.layout.images), len(d.images), count)
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

// find finds the images.
func (d *ADE20K) find() error {
	for _, layout := range adeLayouts {
		entries, err := os.ReadDir(filepath.Join(d.dir, layout.images))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		for _, e := range entries {
			switch strings.ToLower(filepath.Ext(e.Name())) {
			case ".jpg", ".jpeg", ".png":
				d.images = append(d.images, e.Name())
			}
		}
		if len(d.images) > 0 {
			slices.Sort(d.images)
			d.layout = layout
			return nil
		}
	}
	return fmt.Errorf("%s has no images: want the folders %s and %s, or %s and %s", d.dir,
		adeLayouts[0].images, adeLayouts[0].masks, adeLayouts[1].images, adeLayouts[1].masks)
}

// check wants the first count images and their masks to have the same size. The
// fingerprint has all of them.
func (d *ADE20K) check(count int) error {
	files := newFileCheck()
	for i, name := range d.images {
		err := errors.Join(files.add(d.layout.images+"/"+name, d.Path(i)), files.add(d.layout.masks+"/"+name, d.MaskPath(i)))
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

// checkSizes wants an image and its mask to have the same size.
func (d *ADE20K) checkSizes(i int) error {
	mask, err := pictureSize(d.MaskPath(i))
	if err != nil || d.options.Preprocessed != "" {
		return err
	}
	picture, err := pictureSize(d.Path(i))
	if err == nil && picture != mask {
		err = fmt.Errorf("%s has %d×%d pixels, the image %d×%d", d.MaskPath(i), mask.X, mask.Y, picture.X, picture.Y)
	}
	return err
}

// pictureHead is how much of a picture is read for its size. Of most it is enough.
const pictureHead = 64 << 10

// pictureSize reads how large a picture is.
func pictureSize(path string) (image.Point, error) {
	f, err := fileio.Open(path)
	if err != nil {
		return image.Point{}, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, pictureHead))
	if err != nil {
		return image.Point{}, err
	}
	size, err := sizeOf(data)
	if err != nil && len(data) == pictureHead {
		if data, err = readSample(path); err == nil {
			size, err = sizeOf(data)
		}
	}
	if err != nil {
		return image.Point{}, fmt.Errorf("%s: %w", path, err)
	}
	return size, nil
}

// sizeOf reads the size of the pictures that package preprocess reads.
func sizeOf(data []byte) (image.Point, error) {
	switch {
	case bytes.HasPrefix(data, []byte("\x89PNG")):
		c, err := png.DecodeConfig(bytes.NewReader(data))
		return image.Pt(c.Width, c.Height), err
	case bytes.HasPrefix(data, []byte("\xff\xd8")):
		c, err := jpeg.DecodeConfig(data)
		return image.Pt(c.Width, c.Height), err
	}
	return image.Point{}, errors.New("it is neither a JPEG nor a PNG picture")
}

// Len is the number of images.
func (d *ADE20K) Len() int { return len(d.images) }

// Path returns the file of an image, or of what was made of it.
func (d *ADE20K) Path(i int) string {
	return d.options.path(d.dir, d.layout.images+"/"+d.images[i], d.images[i])
}

// MaskPath returns the file of an image's mask.
func (d *ADE20K) MaskPath(i int) string {
	name := d.images[i]
	return filepath.Join(d.dir, d.layout.masks, strings.TrimSuffix(name, filepath.Ext(name))+".png")
}

// Read returns the content of the file.
func (d *ADE20K) Read(i int) ([]byte, error) { return readSample(d.Path(i)) }

// Mask returns the mask of an image, of the size that it has in the file.
func (d *ADE20K) Mask(i int) (Mask, error) { return readMask(d.MaskPath(i)) }

// A Mask has the class of each pixel of an image, row by row.
type Mask struct {
	Width, Height int
	Classes       []uint8
}

// maxMaskPixels bounds the memory that a mask can ask for.
const maxMaskPixels = 1 << 26

// readMask reads a PNG file whose pixels are classes: 8-bit grey, or indices of a
// palette.
func readMask(path string) (Mask, error) {
	data, err := readSample(path)
	if err != nil {
		return Mask{}, fmt.Errorf("reading a mask: %w", err)
	}
	m, err := decodeMask(data)
	if err != nil {
		return Mask{}, fmt.Errorf("reading the mask %s: %w", path, err)
	}
	return m, nil
}

func decodeMask(data []byte) (Mask, error) {
	c, err := png.DecodeConfig(bytes.NewReader(data))
	if err != nil {
		return Mask{}, err
	}
	if c.Width > maxMaskPixels/c.Height {
		return Mask{}, fmt.Errorf("it claims %d×%d pixels, want at most %d in all", c.Width, c.Height, maxMaskPixels)
	}
	picture, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		return Mask{}, err
	}
	pixels, stride := []uint8(nil), 0
	switch m := picture.(type) {
	case *image.Gray:
		pixels, stride = m.Pix, m.Stride
	case *image.Paletted:
		pixels, stride = m.Pix, m.Stride
	default:
		return Mask{}, errors.New("its pixels are no classes: want 8-bit grey or a palette")
	}
	mask := Mask{c.Width, c.Height, make([]uint8, 0, c.Width*c.Height)}
	for y := range mask.Height {
		mask.Classes = append(mask.Classes, pixels[y*stride:][:mask.Width]...)
	}
	return mask, nil
}

// Fingerprint names the content of the whole data set, as far as names, sizes and times
// of the files tell it.
func (d *ADE20K) Fingerprint() string { return d.fingerprint }
