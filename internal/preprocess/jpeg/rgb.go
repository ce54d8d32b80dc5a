package jpeg

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
	m.Resize(max(0, width), max(0, height))
	return m
}

// Resize changes the size and keeps the memory if it suffices. What the pixels are
// then is left open.
func (m *RGB) Resize(width, height int) {
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
