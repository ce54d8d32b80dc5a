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

// ADE20K is a set of images with a class for every pixel: 1 to 31 are those of MLPerf
// Mobile, 0 and all others do not count. Images and masks are the official ones, of any
// size, or prepared ones: 512×512 pixels, the longer side of the original resized to
// that and the rest filled up (mlcommons/mobile_open, vision/deeplab).
type ADE20K struct {
	Images
	masks []string
}

// ADE20KSize is the height and width of the model's images and masks.
const ADE20KSize = 512

// adeLayouts are the folders of images and masks: of prepared images, and of the official validation images.
var adeLayouts = []struct{ images, masks string }{
	{"images", "annotations"},
	{"images/validation", "annotations/validation"},
	{"ADEChallengeData2016/images/validation", "ADEChallengeData2016/annotations/validation"},
}

// OpenADE20K opens the data set in a folder: images/NAME.jpg or .png, in the order of
// their names, and a mask annotations/NAME.png for each; or the validation images in the official folders.
func OpenADE20K(dir string, o Options) (_ *ADE20K, err error) {
	defer opening("ADE20K", &err)
	var names []string
	layout := adeLayouts[0]
	for _, layout = range adeLayouts {
		entries, err := os.ReadDir(filepath.Join(dir, layout.images))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		for _, e := range entries {
			if isImage(e.Name()) {
				names = append(names, e.Name())
			}
		}
		if len(names) > 0 {
			break
		}
	}
	switch {
	case len(names) == 0:
		return nil, fmt.Errorf("%s has no images: expected the folders %s and %s, or %s and %s", dir,
			adeLayouts[0].images, adeLayouts[0].masks, adeLayouts[1].images, adeLayouts[1].masks)
	case o.Count > len(names):
		return nil, fmt.Errorf("%s has %d images, expected at least %d", filepath.Join(dir, layout.images), len(names), o.Count)
	case o.Count == 0:
		o.Count = len(names)
	}
	slices.Sort(names)
	// Only the first images must have masks of their size, but the fingerprint covers all.
	d, files := &ADE20K{}, newFileCheck()
	for i, name := range names {
		d.paths = append(d.paths, o.path(dir, layout.images+"/"+name, name))
		d.masks = append(d.masks, filepath.Join(dir, layout.masks, strings.TrimSuffix(name, filepath.Ext(name))+".png"))
		err := errors.Join(files.add(layout.images+"/"+name, d.paths[i]), files.add(layout.masks+"/"+name, d.masks[i]))
		if i >= o.Count {
			continue
		}
		var mask image.Point
		if err == nil {
			mask, err = imageSize(d.masks[i])
		}
		if err == nil && o.Preprocessed == "" {
			var size image.Point
			if size, err = imageSize(d.paths[i]); err == nil && size != mask {
				err = fmt.Errorf("%s has %d×%d pixels, the image %d×%d", d.masks[i], mask.X, mask.Y, size.X, size.Y)
			}
		}
		if err != nil && !files.failed("image "+name, err) {
			break
		}
	}
	if d.fingerprint, err = files.result(); err != nil {
		return nil, err
	}
	d.paths, d.masks = d.paths[:o.Count], d.masks[:o.Count]
	return d, nil
}

// imageSize reads the size of a JPEG or PNG picture, mostly from its first bytes.
func imageSize(path string) (size image.Point, err error) {
	f, err := fileio.Open(path)
	if err != nil {
		return size, err
	}
	defer f.Close()
	var data []byte
	for _, n := range []int64{64 << 10, maxImage} {
		part, err := io.ReadAll(io.LimitReader(f, n))
		if err != nil {
			return size, err
		}
		data = append(data, part...)
		if size, err = sizeOf(data); err == nil {
			return size, nil
		}
	}
	_, err = sizeOf(data)
	return size, fmt.Errorf("%s: %w", path, err)
}

func sizeOf(data []byte) (image.Point, error) {
	switch {
	case bytes.HasPrefix(data, []byte("\x89PNG")):
		c, err := png.DecodeConfig(bytes.NewReader(data))
		return image.Pt(c.Width, c.Height), err
	case bytes.HasPrefix(data, []byte("\xff\xd8")):
		c, err := jpeg.DecodeConfig(data)
		return image.Pt(c.Width, c.Height), err
	}
	return image.Point{}, errors.New("neither a JPEG nor a PNG picture")
}

// MaskPath returns the file of an image's mask.
func (d *ADE20K) MaskPath(i int) string { return d.masks[i] }

// A Mask has the class of each pixel of an image, row by row.
type Mask struct {
	Width, Height int
	Classes       []uint8
}

// maxMaskPixels limits the memory for a mask.
const maxMaskPixels = 1 << 26

// Mask reads the mask of an image, in the size of its file.
func (d *ADE20K) Mask(i int) (Mask, error) {
	data, err := fileio.ReadFile(d.masks[i], maxImage)
	if err != nil {
		return Mask{}, fmt.Errorf("reading a mask: %w", err)
	}
	m, err := decodeMask(data)
	if err != nil {
		return Mask{}, fmt.Errorf("reading the mask %s: %w", d.masks[i], err)
	}
	return m, nil
}

// decodeMask reads a PNG picture with classes as pixels: 8-bit grey, or indices of a palette.
func decodeMask(data []byte) (Mask, error) {
	c, err := png.DecodeConfig(bytes.NewReader(data))
	if err != nil {
		return Mask{}, err
	}
	if c.Width > maxMaskPixels/c.Height {
		return Mask{}, fmt.Errorf("%d×%d pixels, expected at most %d in all", c.Width, c.Height, maxMaskPixels)
	}
	picture, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		return Mask{}, err
	}
	var pixels []uint8
	var stride int
	switch m := picture.(type) {
	case *image.Gray:
		pixels, stride = m.Pix, m.Stride
	case *image.Paletted:
		pixels, stride = m.Pix, m.Stride
	default:
		return Mask{}, errors.New("the pixels are not classes: expected 8-bit grey or a palette")
	}
	mask := Mask{c.Width, c.Height, make([]uint8, 0, c.Width*c.Height)}
	for y := range mask.Height {
		mask.Classes = append(mask.Classes, pixels[y*stride:][:mask.Width]...)
	}
	return mask, nil
}
