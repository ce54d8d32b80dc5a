package preprocess

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"image"
	"image/png"
	"net/http"

	"github.com/disintegration/imaging"

	"github.com/mlperf-go/mlperf/internal/preprocess/jpeg"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// An Image is an RGB image: Height rows of Width pixels, R, G, B each, top row first.
type Image struct {
	Width, Height int
	Pix           []byte
}

// Scratch is the working memory of decoding and of pipelines. The zero value is ready for use.
// It serves one goroutine, and one image at a time: an Image that it returns is valid until the
// next.
type Scratch struct {
	MaxPixels int  // refuse larger images; 0 means jpeg.DefaultMaxPixels
	Decoded   Size // that of the last image of a pipeline

	jpeg   jpeg.Decoder
	pixels []byte // as stored
	turned []byte // as the EXIF orientation asks
	square []byte // with black below or at the right

	linearBytes  linearBytes
	linearFloats linearFloats
	area         areaRows
	cells        cellRows
	pillow       pillowRows
	tflite       bilinearRows[uint8]
	torch        bilinearRows[float32]
	deepLab      deepLabRows
	line         []byte    // a resized row
	floats       []float32 // a resized row

	tables32 tables[float32]
	tablesU8 tables[uint8]
	tablesI8 tables[int8]
}

// Decode decodes a JPEG or PNG file as cv2.imread does, into RGB.
func (s *Scratch) Decode(data []byte) (Image, error) {
	return s.decode(data, true, func(from Size) image.Rectangle { return image.Rect(0, 0, from.Width, from.Height) })
}

// decode applies the EXIF orientation only if asked to. Only the wanted part of the image, given
// its size, is certain to be right.
func (s *Scratch) decode(data []byte, orient bool, wanted func(Size) image.Rectangle) (Image, error) {
	limit := cmp.Or(s.MaxPixels, jpeg.DefaultMaxPixels)
	switch {
	case bytes.HasPrefix(data, []byte("\xFF\xD8\xFF")): // what OpenCV asks for
		s.jpeg.MaxPixels = limit
		m, err := s.jpeg.Decode(data, s.pixels, func(c jpeg.Config) image.Rectangle {
			if orient && c.Orientation > 1 {
				return image.Rect(0, 0, c.Width, c.Height)
			}
			return wanted(Size{c.Width, c.Height})
		})
		if err != nil {
			return Image{}, fmt.Errorf("decoding JPEG: %w", err)
		}
		s.pixels = m.Pix
		img := Image{m.Width, m.Height, m.Pix}
		if orient && m.Orientation > 1 {
			img = s.turn(img, m.Orientation)
		}
		return img, nil
	case bytes.HasPrefix(data, []byte("\x89PNG\r\n\x1A\n")):
		c, err := png.DecodeConfig(bytes.NewReader(data))
		if err == nil && c.Width > limit/max(c.Height, 1) {
			err = fmt.Errorf("image of %d×%d pixels exceeds the limit of %d pixels", c.Width, c.Height, limit)
		}
		var m image.Image
		if err == nil {
			m, err = png.Decode(bytes.NewReader(data))
		}
		if err != nil {
			return Image{}, fmt.Errorf("decoding PNG: %w", err)
		}
		s.pixels = tensor.Grown(s.pixels, 3*c.Width*c.Height)
		return withoutAlpha(s.pixels, imaging.Clone(m)), nil
	case len(data) == 0:
		return Image{}, errors.New("file is empty, expected JPEG or PNG")
	}
	return Image{}, fmt.Errorf("file is %s (begins with %.24q): must be JPEG or PNG", http.DetectContentType(data), data)
}

// withoutAlpha writes the colours of m to pix as OpenCV does: without blending.
func withoutAlpha(pix []byte, m *image.NRGBA) Image {
	size := m.Bounds().Size()
	for i := range size.X * size.Y {
		copy(pix[3*i:][:3], m.Pix[4*i:][:3])
	}
	return Image{size.X, size.Y, pix}
}

// turn rotates and mirrors the image as an EXIF orientation of 2 to 8 asks.
func (s *Scratch) turn(img Image, orientation int) Image {
	m := image.NewNRGBA(image.Rect(0, 0, img.Width, img.Height))
	for i := range img.Width * img.Height {
		copy(m.Pix[4*i:][:3], img.Pix[3*i:][:3])
	}
	turned := [...]func(image.Image) *image.NRGBA{
		2: imaging.FlipH,
		3: imaging.Rotate180,
		4: imaging.FlipV,
		5: imaging.Transpose,
		6: imaging.Rotate270, // counter-clockwise
		7: imaging.Transverse,
		8: imaging.Rotate90,
	}[orientation](m)
	s.turned = tensor.Grown(s.turned, len(img.Pix))
	return withoutAlpha(s.turned, turned)
}

// squared is the image with black below or at the right.
func (s *Scratch) squared(img Image) Image {
	side := max(img.Width, img.Height)
	s.square = tensor.Grown(s.square, 3*side*side)
	clear(s.square)
	for y := range img.Height {
		copy(s.square[3*y*side:], img.Pix[3*y*img.Width:][:3*img.Width])
	}
	return Image{side, side, s.square}
}
