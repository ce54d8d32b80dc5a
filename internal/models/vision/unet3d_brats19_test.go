package vision

import (
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/builtin/synth"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

func scans(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "brats")
	if err := synth.WriteBraTS19(t.Context(), dir, synth.BraTS19Spec{Seed: 1, Cases: 1}, nil, nil); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestScanPorts(t *testing.T) {
	testenv.SkipLong(t, "makes a scan")
	dir := scans(t)
	port := func(name string, d tensor.DType, shape ...int64) backend.Port {
		return backend.Port{Name: name, Type: d, Shape: shape}
	}
	input, small := port("input", tensor.Float32, 1, 4, 224, 224, 160), port("1", tensor.Float32, 1, 4, 112, 112, 80)
	output := port("output", tensor.Float32, 1, 4, 224, 224, 160)
	half := port("input", tensor.Float16, -1, 4, 224, 224, 160)
	for want, s := range map[string]setup{
		"output float32 1": {inputs: []backend.Port{input}, outputs: []backend.Port{small, output}}, // the official file
		"output float16 0": {inputs: []backend.Port{half}, outputs: []backend.Port{port("output", tensor.Float16, -1, 4, 224, 224, 160)}},
		"other float32 1":  {inputs: []backend.Port{input}, outputs: []backend.Port{output, port("other", tensor.Float32, 1, 4, 224, 224, 160)}, binding: binding{output: "other"}},
		"error: no output that is a whole scan, float32[? 4 224 224 160]; it has 1": {inputs: []backend.Port{input}, outputs: []backend.Port{small}},
		"error: no input that is a whole scan":                                      {inputs: []backend.Port{port("input", tensor.Float32, 1, 1, 128, 128, 128)}, outputs: []backend.Port{output}},
		"error: 2 inputs (input, input)":                                            {inputs: []backend.Port{input, input}, outputs: []backend.Port{output}},
		"error: 2 cases are wanted":                                                 {inputs: []backend.Port{input}, outputs: []backend.Port{output}, count: 2},
	} {
		s.datasetDir = dir
		w, err := openScans(s)
		if message, wrong := strings.CutPrefix(want, "error: "); wrong || err != nil {
			if err == nil || !wrong || !strings.Contains(err.Error(), message) {
				t.Errorf("error %v, want %q", err, want)
			}
			continue
		}
		if got := fmt.Sprintf("%s %v %d", w.Outputs(workload.Only)[0], w.Row(0)[0].Type, w.Batch); got != want {
			t.Errorf("%s, want %s", got, want)
		}
		row := tensor.New(w.Row(0)[0].Type, w.Row(0)[0].Shape...)
		if err := w.Prepare(0, []tensor.Tensor{row}); err != nil {
			t.Errorf("%s: %v", want, err)
		}
		if w.Row(0)[0].Type == tensor.Float32 {
			sum, squares := 0.0, 0.0
			for _, v := range tensor.Data[float32](row) {
				sum, squares = sum+float64(v), squares+float64(v)*float64(v)
			}
			if math.Abs(sum) > 1 || squares < 1e6 {
				t.Errorf("the numbers of the scan add up to %v, their squares to %v; want mean 0", sum, squares)
			}
		}
	}
}

func TestScansAreAnsweredAsHalves(t *testing.T) {
	scores := tensor.New(tensor.Float32, 2, scanValues)
	values := tensor.Data[float32](scores)
	values[scanValues], values[2*scanValues-1] = 1+0x1p-11, -70000
	got, err := appendHalves([]byte{7}, []tensor.Tensor{scores}, 1, workload.Item{})
	if err != nil || len(got) != 1+2*scanValues || got[1] != 0 || got[2] != 0x3c || got[len(got)-1] != 0xfc {
		t.Errorf("%d bytes, % x … % x, %v", len(got), got[:3], got[len(got)-2:], err)
	}
	if _, err := appendHalves(nil, []tensor.Tensor{scores}, 2, workload.Item{}); err == nil {
		t.Error("two scans have the scores of three")
	}
}
