package convert

import (
	"path/filepath"
	"testing"

	"github.com/mlperf-go/mlperf/internal/onnx"
)

// model writes a model with a constant and an operator that takes it.
func model(t *testing.T, weights *onnx.Tensor, op string, attrs ...onnx.Attribute) string {
	t.Helper()
	m := &onnx.Model{IRVersion: 8, Opsets: []onnx.Opset{{Version: 17}}, Graph: &onnx.Graph{
		Name: "g", Initializers: []*onnx.Tensor{weights},
		Nodes: []*onnx.Node{{Op: op, Name: "n", Inputs: []string{weights.Name}, Outputs: []string{"y"}, Attributes: attrs}},
	}}
	path := filepath.Join(t.TempDir(), "m.onnx")
	if err := m.WriteFile(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestThePrecisionOfFilesIsReadOffThem(t *testing.T) {
	floats := onnx.TensorOf("w", []float32{1, 2}, 2)
	bytes := onnx.TensorOf("w", []uint8{1, 2}, 2)
	half := &onnx.Tensor{Name: "w", Type: onnx.Float16, Dims: []int64{2}, Data: onnx.Raw{0, 60, 0, 60}}
	fp32 := model(t, floats, "Identity")
	for _, test := range []struct {
		name  string
		paths []string
		want  string
	}{
		{"floats", []string{fp32}, FP32},
		{"half precision", []string{model(t, half, "Identity")}, FP16},
		{"integers", []string{model(t, bytes, "DynamicQuantizeMatMul")}, INT8},
		{"four bits", []string{model(t, bytes, "MatMulNBits", onnx.Attr("bits", int64(4)))}, "int4"},
		{"eight bits", []string{model(t, bytes, "MatMulNBits", onnx.Attr("bits", int64(8)))}, INT8},
		{"experts in four bits", []string{model(t, bytes, "QMoE", onnx.Attr("expert_weight_bits", int64(4)))}, "int4"},
		{"one file of two", []string{fp32, model(t, bytes, "ConvInteger")}, INT8},
	} {
		if got, err := PrecisionOf(test.paths...); err != nil || got != test.want {
			t.Errorf("%s: %q, %v, want %q", test.name, got, err, test.want)
		}
	}
	if got, err := PrecisionOf(filepath.Join(t.TempDir(), "missing")); err == nil {
		t.Errorf("a file that is not there is %q", got)
	}
}
