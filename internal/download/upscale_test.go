package download

import (
	"bytes"
	"fmt"
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
	for _, c := range []struct {
		u    Upscaling
		want string // empty: it can be done
	}{
		{Upscaling{Width: 32, Height: 16384, Format: "png"}, ""}, {Upscaling{Width: 16384, Height: 32, Format: "jpg"}, ""},
		{Upscaling{Width: 31, Height: 100, Format: "png"}, "upscale: 31 × 100 pixels are wanted, want 32 to 16384"},
		{Upscaling{Width: 100, Height: 16385, Format: "png"}, "upscale: 100 × 16385 pixels are wanted, want 32 to 16384"},
		{Upscaling{Width: -100, Height: 100, Format: "png"}, "upscale: -100 × 100 pixels are wanted, want 32 to 16384"},
		{Upscaling{Width: 100, Height: 100, Format: "PNG"}, `upscale_format is "PNG", want png or jpg`},
		{Upscaling{Width: 100, Height: 100}, `upscale_format is "", want png or jpg`},
	} {
		if err := c.u.Check(); (err == nil) != (c.want == "") || err != nil && err.Error() != c.want {
			t.Errorf("%+v: %v, want %q", c.u, err, c.want)
		}
		if c.want == "" {
			continue
		}
		to := filepath.Join(t.TempDir(), "big")
		if _, err := Upscale(t.Context(), t.TempDir(), to, c.u); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("Upscale(%+v) = %v, want %q", c.u, err, c.want)
		}
		if _, err := os.Stat(to); !os.IsNotExist(err) {
			t.Errorf("Upscale(%+v) left a folder: %v", c.u, err)
		}
	}
}

func TestUpscalingNamesWhatIsWrongWithTheSmallOnes(t *testing.T) {
	it, _ := coco(t, 2)
	labels := filepath.FromSlash(cocoLabels)
	for name, c := range map[string]struct {
		damage func(t *testing.T, dir string)
		want   string
	}{
		"a box beyond all numbers": {func(t *testing.T, dir string) {
			change(t, filepath.Join(dir, labels), "2.25,3,4]", "2.25,1.7e308,4]")
		}, "annotation 1: bbox [1.5 2.25 1.7e+308 4] or area 11.75 is too large a number to be enlarged"},
		"an area beyond all numbers": {func(t *testing.T, dir string) {
			change(t, filepath.Join(dir, labels), `"area":11.75`, `"area":1e308`)
		}, "annotation 1: bbox [1.5 2.25 3 4] or area 1e+308 is too large"},
		"a box that is none": {func(t *testing.T, dir string) {
			change(t, filepath.Join(dir, labels), "[1.5,2.25,3,4]", `"large"`)
		}, "annotation 1: "},
		"an annotation of no image": {func(t *testing.T, dir string) {
			change(t, filepath.Join(dir, labels), `"image_id":1000`, `"image_id":77`)
		}, "annotation 1 is about image 77, which is not listed"},
		"an image without a width": {func(t *testing.T, dir string) {
			_, w, _ := testJPEG(t, 0)
			change(t, filepath.Join(dir, labels), fmt.Sprintf(`"width":%d`, w), `"width":0`)
		}, "image 1000 is 0 × "},
		"an image that is missing": {func(t *testing.T, dir string) {
			mustDo(t, os.Remove(filepath.Join(dir, cocoImages, "000000000999.jpg")))
		}, "000000000999.jpg"},
		"an image that is none": {func(t *testing.T, dir string) {
			mustDo(t, os.WriteFile(filepath.Join(dir, cocoImages, "000000000999.jpg"), []byte("<html>"), 0o644))
		}, "000000000999.jpg"},
		"no annotations": {func(t *testing.T, dir string) { mustDo(t, os.Remove(filepath.Join(dir, labels))) }, "instances_val2017.json"},
	} {
		t.Run(name, func(t *testing.T) {
			o, _ := options(t)
			mustGet(t, it, o)
			c.damage(t, o.Dir)
			to := filepath.Join(t.TempDir(), "big")
			_, err := Upscale(t.Context(), o.Dir, to, Upscaling{Width: 60, Height: 90, Format: "jpg"})
			if err == nil || !strings.Contains(err.Error(), "upscaling "+o.Dir) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("Upscale = %v, want %q", err, c.want)
			}
			if _, err := os.Stat(filepath.Join(to, labels)); err == nil {
				t.Error("there are annotations")
			}
		})
	}
}
