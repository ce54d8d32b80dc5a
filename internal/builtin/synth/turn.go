package synth

import "image"

// storedFor returns the pixels that have to be in a file with an EXIF orientation, so
// that a reader who heeds it sees m. Orientations without rotation return m itself.
func storedFor(m *image.RGBA, orientation byte) *image.RGBA {
	width, height := m.Rect.Dx(), m.Rect.Dy()
	if orientation == rotate90 || orientation == rotate270 {
		width, height = height, width
	} else if orientation != rotate180 {
		return m
	}
	out := image.NewRGBA(image.Rect(0, 0, width, height))
	for y := range m.Rect.Dy() {
		for x := range m.Rect.Dx() {
			tx, ty := width-1-x, height-1-y // half a turn
			switch orientation {
			case rotate90:
				tx, ty = y, height-1-x
			case rotate270:
				tx, ty = width-1-y, x
			}
			out.SetRGBA(tx, ty, m.RGBAAt(x, y))
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
