package synth

import (
	"image"
	"image/color"
)

// RGB is a picture of 8-bit pixels: red, green, blue, then the next pixel.
type RGB struct {
	Pix           []uint8
	Stride        int // bytes from one row to the next
	Width, Height int
}

// NewRGB returns a black picture. A side below 0 counts as 0.
func NewRGB(width, height int) *RGB {
	m := &RGB{}
	m.resize(max(0, width), max(0, height))
	return m
}

// resize changes the size and keeps the memory if it suffices. What the pixels are
// then is left open.
func (m *RGB) resize(width, height int) {
	n := 3 * width * height
	if cap(m.Pix) < n {
		m.Pix = make([]uint8, n)
	}
	*m = RGB{Pix: m.Pix[:n], Stride: 3 * width, Width: width, Height: height}
}

// Row returns the bytes of a row.
func (m *RGB) Row(y int) []uint8 { return m.Pix[y*m.Stride:][:3*m.Width] }

// ColorModel, Bounds and At make a picture an image.Image.
func (m *RGB) ColorModel() color.Model { return color.NRGBAModel }

// Bounds begin at (0, 0).
func (m *RGB) Bounds() image.Rectangle { return image.Rect(0, 0, m.Width, m.Height) }

// At returns the colour of a pixel, which is a color.NRGBA.
func (m *RGB) At(x, y int) color.Color {
	if !(image.Point{x, y}).In(m.Bounds()) {
		return color.NRGBA{}
	}
	p := m.Row(y)[3*x:]
	return color.NRGBA{p[0], p[1], p[2], 0xff}
}

// storedFor returns the pixels that have to be in a file with an EXIF orientation, so
// that a reader who heeds it sees m. Orientations without rotation return m itself.
func (m *RGB) storedFor(orientation int) *RGB {
	width, height := m.Width, m.Height
	if orientation == rotate90 || orientation == rotate270 {
		width, height = height, width
	} else if orientation != rotate180 {
		return m
	}
	out := NewRGB(width, height)
	for y := range m.Height {
		for x, row := 0, m.Row(y); x < m.Width; x++ {
			tx, ty := width-1-x, height-1-y // half a turn
			switch orientation {
			case rotate90:
				tx, ty = y, height-1-x
			case rotate270:
				tx, ty = width-1-y, x
			}
			copy(out.Pix[ty*out.Stride+3*tx:][:3], row[3*x:])
		}
	}
	return out
}

// EXIF orientations that turn the picture, by what the reader has to do: rotate
// clockwise by so many degrees (EXIF 2.3 §4.6.4, tag 0x0112).
const (
	rotate180 = 3
	rotate90  = 6
	rotate270 = 8
)
