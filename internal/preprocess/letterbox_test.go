package preprocess

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/mlperf-go/mlperf/internal/tensor"
)

// The golden values are of Ultralytics' LetterBox with OpenCV (testdata/yolo, made by make_prepost.py of the golden data).
func TestLetterbox(t *testing.T) {
	type made struct {
		SHA256 string    `json:"bgr_sha256"`
		H, W   int       `json:"-"`
		Sum    float64   `json:"sum_f64"`
		Middle []float64 `json:"first_rgb_at_mid"`
	}
	var golden struct {
		Pre []struct {
			Image        string
			Rect, Square made
		}
	}
	data, err := os.ReadFile("testdata/yolo/expected.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &golden); err != nil {
		t.Fatal(err)
	}
	folder, tried := "testdata/yolo", 0
	if dir := os.Getenv("MLPERF_GOLDEN_YOLO"); dir != "" { // with all images
		folder = dir
	}
	for _, g := range golden.Pre {
		file, err := os.ReadFile(filepath.Join(folder, g.Image))
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string]made{"yolo_640": g.Square, "yolo_640_rect": g.Rect} {
			tried++
			p, err := Lookup(name)
			if err != nil {
				t.Fatal(err)
			}
			got, err := p.Make(file, &Scratch{})
			if err != nil {
				t.Fatal(err)
			}
			sum, values := 0.0, tensor.Data[float32](got)
			for _, v := range values {
				sum += float64(v)
			}
			plane := len(values) / 3
			bgr := make([]byte, 0, len(values))
			for i := range plane {
				for c := 2; c >= 0; c-- {
					bgr = append(bgr, byte(math.Round(255*float64(values[c*plane+i]))))
				}
			}
			hash := sha256.Sum256(bgr)
			if hex.EncodeToString(hash[:]) != want.SHA256 || math.Abs(sum-want.Sum) > 1e-6*want.Sum {
				t.Errorf("%s of %s: %v with sum %v, want %v", name, g.Image, got, sum, want.Sum)
			}
			middle := int(got.Shape[1]/2*got.Shape[2] + got.Shape[2]/2)
			for c, v := range want.Middle {
				if float64(values[c*plane+middle]) != v {
					t.Errorf("%s of %s: the middle has %v of channel %d, want %v", name, g.Image, values[c*plane+middle], c, v)
				}
			}
		}
	}
	if tried < 4 {
		t.Errorf("%d images tried", tried)
	}
}
