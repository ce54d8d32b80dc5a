package download

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/preprocess"
)

func TestUpscalingIsTheReferences(t *testing.T) {
	it, _ := coco(t, 5)
	o, _ := options(t)
	mustGet(t, it, o)
	small := readTruth(t, filepath.Join(o.Dir, cocoLabels))
	for _, format := range []string{"png", "jpg"} {
		t.Run(format, func(t *testing.T) {
			to := filepath.Join(t.TempDir(), "big")
			u := Upscaling{Width: 60, Height: 90, Format: format}
			got, err := Upscale(t.Context(), o.Dir, to, u)
			if err != nil || got.Files != 6 || got.Already {
				t.Fatalf("Upscale = %+v, %v", got, err)
			}
			big := readTruth(t, filepath.Join(to, cocoLabels))
			for i, image := range big.Images {
				name := strings.TrimSuffix(small.Images[i].FileName, ".jpg")
				if image.Width != 60 || image.Height != 90 || image.FileName != name+"."+format || image.ID != small.Images[i].ID {
					t.Errorf("image %d is %+v", i, image)
				}
				comparePixels(t, filepath.Join(o.Dir, cocoImages, name+".jpg"), filepath.Join(to, cocoImages, image.FileName), u)
			}
			for i, a := range big.Annotations {
				compareObjects(t, small.Annotations[i], a, small.Images, u)
			}
			wantVerified(t, it, to)
			if again, err := Upscale(t.Context(), o.Dir, to, u); err != nil || !again.Already {
				t.Errorf("Upscale again = %+v, %v", again, err)
			}
		})
	}
}

// comparePixels compares an enlarged image with INTER_LINEAR of the small one.
func comparePixels(t *testing.T, from, to string, u Upscaling) {
	t.Helper()
	var s, s2 preprocess.Scratch
	decode := func(s *preprocess.Scratch, path string) preprocess.Image {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		m, err := s.Decode(data)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	small, big := decode(&s, from), decode(&s2, to)
	want := make([]byte, 3*u.Width*u.Height)
	err := s.ResizeBytes(want, small.Pix, preprocess.CV2Linear, 3, preprocess.Size{Width: small.Width, Height: small.Height}, preprocess.Size{Width: u.Width, Height: u.Height})
	if err != nil {
		t.Fatal(err)
	}
	if u.Format == "png" && !bytes.Equal(big.Pix, want) {
		t.Errorf("%s has other pixels", to)
	}
	sum := 0.0
	for i := range want {
		sum += math.Abs(float64(want[i]) - float64(big.Pix[i]))
	}
	if mean := sum / float64(len(want)); mean > 12 { // noise, at quality 95 and 4:2:0
		t.Errorf("%s differs by %.1f in the mean", to, mean)
	}
}

func compareObjects(t *testing.T, small, big accuracy.Annotation, images []accuracy.Image, u Upscaling) {
	t.Helper()
	i := slices.IndexFunc(images, func(m accuracy.Image) bool { return m.ID == small.ImageID })
	sx, sy := float64(u.Width)/float64(images[i].Width), float64(u.Height)/float64(images[i].Height)
	want := small
	want.Box = accuracy.Box{X: small.Box.X * sx, Y: small.Box.Y * sy, W: small.Box.W * sx, H: small.Box.H * sy}
	want.Area = small.Area * sx * sy
	if diff := cmp.Diff(want, big); diff != "" {
		t.Errorf("object %d (-want +got):\n%s", small.ID, diff)
	}
}

func TestUpscalingRefusesNonsense(t *testing.T) {
	for _, u := range []Upscaling{{0, 5, "png", nil}, {5, 1 << 20, "png", nil}, {5, 5, "gif", nil}} {
		if _, err := Upscale(t.Context(), t.TempDir(), t.TempDir(), u); err == nil {
			t.Errorf("Upscale(%+v) succeeds", u)
		}
	}
}
