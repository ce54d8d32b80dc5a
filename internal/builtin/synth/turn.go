package synth

import "github.com/mlperf-go/mlperf/internal/preprocess/jpeg"

// storedFor returns the pixels that have to be in a file with an EXIF orientation, so
// that a reader who heeds it sees m. Orientations without rotation return m itself.
func storedFor(m *jpeg.RGB, orientation int) *jpeg.RGB {
	width, height := m.Width, m.Height
	if orientation == rotate90 || orientation == rotate270 {
		width, height = height, width
	} else if orientation != rotate180 {
		return m
	}
	out := jpeg.NewRGB(width, height)
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
