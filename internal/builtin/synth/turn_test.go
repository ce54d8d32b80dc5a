package synth

import (
	"image"
	"testing"
)

func TestStoredPixelsTurnedAsExifSaysAreThePicture(t *testing.T) {
	img := NewScene(9).Render(31, 20)
	for _, orientation := range []byte{0, 1, rotate180, rotate90, rotate270} {
		got := turned(storedFor(img, orientation), orientation)
		if d := distance(t, got, img); d != 0 {
			t.Errorf("orientation %d: the picture differs by %.1f levels", orientation, d)
		}
	}
}

// turned does what a reader does: it rotates clockwise, by a quarter turn at a time.
func turned(m *image.RGBA, orientation byte) *image.RGBA {
	for range map[byte]int{rotate90: 1, rotate180: 2, rotate270: 3}[orientation] {
		height := m.Rect.Dy()
		out := image.NewRGBA(image.Rect(0, 0, height, m.Rect.Dx()))
		for y := range height {
			for x := range m.Rect.Dx() {
				out.SetRGBA(height-1-y, x, m.RGBAAt(x, y))
			}
		}
		m = out
	}
	return m
}
