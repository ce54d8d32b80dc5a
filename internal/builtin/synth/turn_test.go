package synth

import (
	"testing"

	"github.com/mlperf-go/mlperf/internal/preprocess/jpeg"
)

func TestStoredPixelsTurnedAsExifSaysAreThePicture(t *testing.T) {
	img := NewScene(9).Render(31, 20)
	for _, orientation := range []int{0, 1, rotate180, rotate90, rotate270} {
		got := turned(storedFor(img, orientation), orientation)
		if d := distance(t, got, img); d != 0 {
			t.Errorf("orientation %d: the picture differs by %.1f levels", orientation, d)
		}
	}
}

// turned does what a reader does: it rotates clockwise, by a quarter turn at a time.
func turned(m *jpeg.RGB, orientation int) *jpeg.RGB {
	for range map[int]int{rotate90: 1, rotate180: 2, rotate270: 3}[orientation] {
		out := jpeg.NewRGB(m.Height, m.Width)
		for y := range m.Height {
			for x := range m.Width {
				copy(out.Row(x)[3*(m.Height-1-y):][:3], m.Row(y)[3*x:])
			}
		}
		m = out
	}
	return m
}
