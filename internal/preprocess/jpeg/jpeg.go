package jpeg

import (
	"errors"
	"fmt"
	"image"
)

// DefaultMaxPixels is the largest image that a Decoder accepts unless told
// otherwise. An image takes up to 16 bytes of memory per pixel while it is decoded.
const DefaultMaxPixels = 1 << 26

// Beyond so many pixels a file must be as long as its claim asks for. Each block of 8×8
// samples takes a bit at least, so that a byte holds 512 pixels at most; a shorter file is
// cut off, and what it lacks would be made up in much memory.
const (
	trustedPixels = 1 << 24
	pixelsPerByte = 512
)

// errUnsupported is wrapped by the errors for well-formed files of a kind that this
// package does not read.
var errUnsupported = errors.New("unsupported kind of JPEG")

// A colorModel says what the components of a file stand for.
type colorModel uint8

// The colour models, as libjpeg guesses them from markers and component ids.
const (
	grayModel colorModel = iota
	yCbCrModel
	rgbModel
	cmykModel
	ycckModel
)

// String returns the usual name of the colour model.
func (m colorModel) String() string {
	names := [...]string{"gray", "YCbCr", "RGB", "CMYK", "YCCK"}
	if int(m) >= len(names) {
		return fmt.Sprintf("colorModel(%d)", uint8(m))
	}
	return names[m]
}

// A Config is what the headers of a file say.
type Config struct {
	Width, Height int        // as stored, before any rotation
	Components    int        // 1, 3 or 4
	color         colorModel // what the components stand for
	Progressive   bool
	Orientation   int // EXIF orientation 1…8 as OpenCV reads it; 1 if there is none
}

// An Image is a decoded file.
type Image struct {
	Config
	Pix     []byte // Height rows of Width pixels, R, G, B each; top row first
	Damaged bool   // coded data were missing or wrong and have been made up for as libjpeg does
}

// A Decoder decodes one image after the other and keeps its working memory in
// between. The zero value is ready for use. A Decoder serves one goroutine.
type Decoder struct {
	MaxPixels int // refuse larger images; 0 means DefaultMaxPixels

	src    source
	tables tables
	frame  frame
	scan   scan
	ent    entropy
	rows   rowBuffers
}

// DecodeConfig reads the headers of data up to the first scan.
func DecodeConfig(data []byte) (Config, error) {
	var d Decoder
	return d.readConfig(data)
}

// Decode decodes the first image in data. The pixels are written to pix if its
// capacity suffices, else to new memory; Decode keeps neither data nor pix.
func (d *Decoder) Decode(data, pix []byte) (Image, error) {
	return d.DecodePart(data, pix, func(c Config) image.Rectangle { return image.Rect(0, 0, c.Width, c.Height) })
}

// DecodePart is Decode for when not all of the image is needed: part is told the
// Config and returns the rectangle of pixels wanted. The Image has its full size, but
// pixels outside of the rectangle are unspecified.
func (d *Decoder) DecodePart(data, pix []byte, part func(Config) image.Rectangle) (Image, error) {
	c, err := d.readConfig(data)
	defer d.src.reset(nil)
	if err != nil {
		return Image{}, err
	}
	if err := d.checkSize(c, len(data)); err != nil {
		return Image{}, err
	}
	wanted := part(c).Intersect(image.Rect(0, 0, c.Width, c.Height))
	d.frame.want(wanted)
	if !c.Progressive {
		d.tables.addStandard()
	}
	if err := d.decodeScans(); err != nil {
		return Image{}, err
	}
	img := Image{Config: c, Damaged: d.ent.damaged, Pix: resized(pix, 3*c.Width*c.Height)}
	d.convert(img.Pix, c, wanted)
	return img, nil
}

func (d *Decoder) readConfig(data []byte) (Config, error) {
	d.src.reset(data)
	d.tables.reset()
	d.frame.reset()
	d.scan.number = 0
	d.ent.damaged = false
	if err := d.readStart(); err != nil {
		return Config{}, err
	}
	color, err := d.frame.colorModel()
	if err != nil {
		return Config{}, err
	}
	return Config{
		Width: d.frame.width, Height: d.frame.height,
		Components: len(d.frame.comps), color: color,
		Progressive: d.frame.progressive, Orientation: d.frame.orientation,
	}, nil
}

// checkSize refuses an image for what it claims, before it gets memory.
func (d *Decoder) checkSize(c Config, bytes int) error {
	limit := d.MaxPixels
	if limit == 0 {
		limit = DefaultMaxPixels
	}
	if c.Width > limit/c.Height { // the product may exceed an int
		return fmt.Errorf("image of %d×%d pixels exceeds the limit of %d pixels", c.Width, c.Height, limit)
	}
	if n := c.Width * c.Height; n > trustedPixels && n/pixelsPerByte > bytes {
		return fmt.Errorf("file of %d bytes claims %d×%d pixels, which takes %d bytes at least", bytes, c.Width, c.Height, n/pixelsPerByte)
	}
	return nil
}

// resized returns a slice of n elements, using buf's memory if it is large enough.
// Its contents are unspecified.
func resized[T any](buf []T, n int) []T {
	if cap(buf) < n {
		return make([]T, n)
	}
	return buf[:n]
}
