package preprocess

import (
	"fmt"
	"image"

	"github.com/disintegration/imaging"

	"github.com/mlperf-go/mlperf/internal/preprocess/jpeg"
)

// An Image is an RGB image: Height rows of Width pixels, R, G, B each, top row first.
type Image struct {
	Width, Height int
	Pix           []byte
	Damaged       bool // part of the file was missing or wrong, and has been made up for
}

// whole reports whether there are pixels, and bytes for all of them.
func (i Image) whole() bool {
	return i.Width > 0 && i.Height > 0 && len(i.Pix) == 3*i.Width*i.Height
}

// Scratch is the working memory of decoding and of pipelines. The zero value is ready
// for use. It serves one goroutine, and one image at a time: an Image that it returns
// is valid until the next.
type Scratch struct {
	MaxPixels int // refuse larger images; 0 means jpeg.DefaultMaxPixels

	jpeg   jpeg.Decoder
	pixels []byte // as stored
	turned []byte // as the EXIF orientation asks

	bytes  byteRows           // bytes resized as bytes
	mixed  floatRows[uint8]   // bytes resized as float32
	floats floatRows[float32] // float32 resized as float32
	line   []byte             // a row of the result of bytes
	fline  []float32          // a row of the result of mixed

	tables32 tables[float32]
	tablesU8 tables[uint8]
	tablesI8 tables[int8]
}

// Decode decodes a JPEG or PNG file as cv2.imread does, into RGB.
func (s *Scratch) Decode(data []byte) (Image, error) {
	return s.decode(data, true, func(from Size) image.Rectangle { return image.Rect(0, 0, from.Width, from.Height) })
}

// decode applies the EXIF orientation only if asked to. Only the part of the image that
// is wanted, given its size, is certain to be right.
func (s *Scratch) decode(data []byte, orient bool, wanted func(Size) image.Rectangle) (Image, error) {
	var img Image
	orientation := 1
	var err error
	switch kind := sniff(data); kind {
	case kindJPEG:
		img, orientation, err = s.decodeJPEG(data, orient, wanted)
	case kindPNG:
		img, orientation, err = s.decodePNG(data)
	default:
		return Image{}, fmt.Errorf("file %s, want JPEG or PNG", kind)
	}
	if err != nil {
		return Image{}, err
	}
	if orient && orientation > 1 {
		img = s.turn(img, orientation)
	}
	return img, nil
}

func (s *Scratch) maxPixels() int {
	if s.MaxPixels == 0 {
		return jpeg.DefaultMaxPixels
	}
	return s.MaxPixels
}

func (s *Scratch) decodeJPEG(data []byte, orient bool, wanted func(Size) image.Rectangle) (Image, int, error) {
	s.jpeg.MaxPixels = s.maxPixels()
	img, err := s.jpeg.DecodePart(data, s.pixels, func(c jpeg.Config) image.Rectangle {
		if orient && c.Orientation > 1 {
			return image.Rect(0, 0, c.Width, c.Height)
		}
		return wanted(Size{c.Width, c.Height})
	})
	if err != nil {
		return Image{}, 0, fmt.Errorf("decoding JPEG: %w", err)
	}
	s.pixels = img.Pix
	return Image{Width: img.Width, Height: img.Height, Pix: img.Pix, Damaged: img.Damaged}, img.Orientation, nil
}

// turn rotates and mirrors the image as an EXIF orientation of 2 to 8 asks.
func (s *Scratch) turn(img Image, orientation int) Image {
	turned := [...]func(image.Image) *image.NRGBA{
		2: imaging.FlipH,
		3: imaging.Rotate180,
		4: imaging.FlipV,
		5: imaging.Transpose,
		6: imaging.Rotate270, // counter-clockwise
		7: imaging.Transverse,
		8: imaging.Rotate90,
	}[orientation](opaque(img))
	size := turned.Bounds().Size()
	s.turned = resized(s.turned, len(img.Pix))
	for i := range size.X * size.Y {
		copy(s.turned[3*i:][:3], turned.Pix[4*i:][:3])
	}
	return Image{Width: size.X, Height: size.Y, Pix: s.turned, Damaged: img.Damaged}
}

// opaque converts to the form that package imaging handles without loss.
func opaque(img Image) *image.NRGBA {
	out := image.NewNRGBA(image.Rect(0, 0, img.Width, img.Height))
	for i := range img.Width * img.Height {
		copy(out.Pix[4*i:][:3], img.Pix[3*i:][:3])
		out.Pix[4*i+3] = 0xff
	}
	return out
}

// resized returns a slice of n elements, using buf's memory if it is large enough.
// Its contents are unspecified.
func resized[T any](buf []T, n int) []T {
	if cap(buf) < n {
		return make([]T, n)
	}
	return buf[:n]
}
