//go:build ort && cgo

package quantize_test

import (
	"testing"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/backend/ort/orttest"
	"github.com/mlperf-go/mlperf/internal/dataset/synth"
	"github.com/mlperf-go/mlperf/internal/networks"
	"github.com/mlperf-go/mlperf/internal/onnx"
	"github.com/mlperf-go/mlperf/internal/quantize"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// scenes are built-in images as SSD-MobileNet takes them.
func scenes(first, n int) quantize.Samples {
	return func(yield func([]tensor.Tensor, error) bool) {
		for i := range n {
			img := synth.NewScene(uint64(first+i)).Render(300, 300)
			var pixels []uint8
			for y := range 300 {
				pixels = append(pixels, img.Row(y)...)
			}
			if !yield([]tensor.Tensor{tensor.Of(pixels, 1, 300, 300, 3)}, nil) {
				return
			}
		}
	}
}

// A box is one detection: ymin, xmin, ymax, xmax and what is there.
type box struct {
	corners [4]float32
	class   float32
}

// boxes returns the detections in each image.
func (n network) boxes(samples quantize.Samples) [][]box {
	n.t.Helper()
	var all [][]box
	for inputs := range samples {
		var list []box
		n.run(inputs[0], func(outputs []tensor.Tensor) {
			count, corners, classes := tensor.Data[float32](outputs[0])[0], tensor.Data[float32](outputs[1]), tensor.Data[float32](outputs[3])
			for i := range int(count) {
				list = append(list, box{[4]float32(corners[4*i:]), classes[i]})
			}
		})
		all = append(all, list)
	}
	return all
}

// overlap is the intersection of two boxes over their union.
func overlap(a, b box) float32 {
	area := func(c [4]float32) float32 { return max(0, c[2]-c[0]) * max(0, c[3]-c[1]) }
	both := area([4]float32{
		max(a.corners[0], b.corners[0]), max(a.corners[1], b.corners[1]), min(a.corners[2], b.corners[2]), min(a.corners[3], b.corners[3]),
	})
	return both / (area(a.corners) + area(b.corners) - both)
}

// found returns the fraction of boxes for which another answer has one of the same class in
// the same place.
func found(want, got [][]box) float64 {
	all, matched := 0, 0
	for i, boxes := range want {
		for _, w := range boxes {
			all++
			for _, g := range got[i] {
				if g.class == w.class && overlap(g, w) > 0.5 {
					matched++
					break
				}
			}
		}
	}
	return float64(matched) / float64(all)
}

func TestORTQuantizedDetectorFindsTheSameBoxes(t *testing.T) {
	engine := orttest.Engine(t)
	a, err := networks.Lookup("ssd-mobilenet")
	if err != nil {
		t.Fatal(err)
	}
	model, _, err := a.Build(networks.Options{})
	if err != nil {
		t.Fatal(err)
	}
	int8, report, err := quantize.Recipe{}.Make(
		t.Context(), model, quantize.Calibration{Engine: engine, Samples: scenes(9000, 16)})
	if err != nil {
		t.Fatal(err)
	}
	half, halfReport, err := quantize.ToFloat16(model, quantize.Float16Options{})
	if err != nil {
		t.Fatal(err)
	}
	// A stem, 13 blocks of two, 8 for further maps, 12 heads.
	if len(report.Layers) != 47 || len(report.Excluded) != 0 {
		t.Errorf("%d layers are quantised, %v are not", len(report.Layers), report.Excluded)
	}
	kernels := kernelsOf(t, engine, int8)
	if kernels["QLinearConv"] != 47 || kernels["NonMaxSuppression"] != 1 || kernels["Conv"] != 0 {
		t.Errorf("the kernels are %v", kernels)
	}
	for op := range report.Others {
		t.Errorf("%s is quantised, but lies between no layers", op)
	}
	for _, k := range halfReport.Kept {
		if k.Op == "Conv" {
			t.Errorf("%v stays in FP32", k)
		}
	}
	two := backend.Options{IntraThreads: 2}
	want := openNetwork(t, engine, model, two).boxes(scenes(5000, 12))
	for what, m := range map[string]struct {
		model *onnx.Model
		least float64
	}{"INT8": {int8, 0.8}, "float16": {half, 0.97}} {
		got := openNetwork(t, engine, m.model, two).boxes(scenes(5000, 12))
		there, back := found(want, got), found(got, want)
		t.Logf("%s: %s of the boxes in FP32 are found, %s of those found are in FP32", what, percent(there), percent(back))
		if min(there, back) < m.least {
			t.Errorf("%s finds %s of the boxes, %s of what it finds is there, want %s", what, percent(there), percent(back), percent(m.least))
		}
	}
}
