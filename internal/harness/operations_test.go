package harness

import (
	"testing"

	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/onnx"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

func TestWorkPerSample(t *testing.T) {
	model := func(shape ...onnx.Dim) *onnx.Model {
		return &onnx.Model{Graph: &onnx.Graph{
			Inputs:       []*onnx.Value{{Name: "x", Type: onnx.Type{Elem: onnx.Float32, Shape: shape}}},
			Initializers: []*onnx.Tensor{onnx.TensorOf("w", make([]float32, 8*3), 8, 3)},
			Nodes:        []*onnx.Node{{Op: "MatMul", Inputs: []string{"x", "w"}, Outputs: []string{"y"}}},
		}}
	}
	rows := func(lengths ...int64) *workload.Workload {
		return &workload.Workload{
			Samples: len(lengths), NewPredictor: func(workload.Sessions, int) (workload.Predictor, error) { return nil, nil },
			Row: func(i int) []workload.Slot {
				return []workload.Slot{{Type: tensor.Float32, Shape: tensor.Shape{lengths[i], 8}}}
			},
		}
	}
	windows := rows(5, 7)
	windows.Runs = func(i int) int { return 2 + 2*i }
	sequences := rows(5)
	sequences.NewPredictor = nil
	for _, c := range []struct {
		name  string
		model *onnx.Model
		w     *workload.Workload
		macs  int64
		runs  float64
	}{
		{"a free batch", model(onnx.Free("N"), onnx.Fixed(5), onnx.Fixed(8)), rows(5, 5), 120, 0},
		{"samples of several lengths", model(onnx.Free("N"), onnx.Free("S"), onnx.Fixed(8)), rows(5, 7, 9), 168, 0},
		{"a batch of four", model(onnx.Fixed(4), onnx.Fixed(5), onnx.Fixed(8)), rows(5), 120, 0},
		{"no batch axis", model(onnx.Free("S"), onnx.Fixed(8)), rows(5), 120, 0},
		{"some runs for each sample", model(onnx.Fixed(1), onnx.Fixed(2), onnx.Fixed(8)), windows, 144, 3},
		{"samples that do not fit", model(onnx.Free("N"), onnx.Fixed(6), onnx.Fixed(8)), rows(5), 0, 0},
		{"a decoder", model(onnx.Free("N"), onnx.Fixed(5), onnx.Fixed(8)), sequences, 0, 0},
	} {
		var o report.Operations
		if perSample(&o, c.model, c.w); o.MACs != c.macs || o.Runs != c.runs {
			t.Errorf("%s: %d multiply-accumulates in %v runs, want %d in %v", c.name, o.MACs, o.Runs, c.macs, c.runs)
		}
	}
}
