package jpeg_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"image"
	"image/color"
	stdjpeg "image/jpeg"
	"math"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/preprocess/jpeg"
)

// hashOf returns the beginning of a SHA-256, enough to tell files apart.
func hashOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:16])
}

func decodeJPEG(t *testing.T, data []byte) image.Image {
	t.Helper()
	img, err := stdjpeg.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatalf("the standard library cannot read the file: %v", err)
	}
	return img
}

// distance is the root of the mean square of the differences between two pictures of one
// size, in grey levels.
func distance(t *testing.T, a, b image.Image) float64 {
	t.Helper()
	if a.Bounds() != b.Bounds() {
		t.Fatalf("pictures of %v and %v cannot be compared", a.Bounds(), b.Bounds())
	}
	var sum, n float64
	for y := range a.Bounds().Dy() {
		for x := range a.Bounds().Dx() {
			p := color.NRGBAModel.Convert(a.At(x, y)).(color.NRGBA)
			q := color.NRGBAModel.Convert(b.At(x, y)).(color.NRGBA)
			for _, d := range []int{int(p.R) - int(q.R), int(p.G) - int(q.G), int(p.B) - int(q.B)} {
				sum += float64(d * d)
				n++
			}
		}
	}
	return math.Sqrt(sum / n)
}

// psnr is the likeness of two pictures in decibels.
func psnr(t *testing.T, a, b image.Image) float64 {
	return 20 * math.Log10(255/distance(t, a, b))
}

// gray returns the brightness of a picture, rounded as JFIF does; image.Gray cuts it off.
func gray(m *jpeg.RGB) image.Image {
	out := image.NewGray(m.Bounds())
	for y := range m.Height {
		for x := range m.Width {
			p := m.Row(y)[3*x:]
			light, _, _ := color.RGBToYCbCr(p[0], p[1], p[2])
			out.SetGray(x, y, color.Gray{Y: light})
		}
	}
	return out
}

// wantError fails unless there is an error that says all that is wanted.
func wantError(t *testing.T, err error, want ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want one with %q", want)
	}
	for _, w := range want {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("error %q does not say %q", err, w)
		}
	}
}
