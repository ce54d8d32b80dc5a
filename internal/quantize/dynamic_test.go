package quantize

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/onnx"
)

// recurrentModel has two LSTMs, the second without constant weights, a product of many columns and one of few.
func recurrentModel(t *testing.T) *onnx.Model {
	t.Helper()
	numbers := func(name string, dims ...int64) *onnx.Tensor {
		n := int64(1)
		for _, d := range dims {
			n *= d
		}
		data := make([]float32, n)
		for i := range data {
			data[i] = float32(math.Sin(float64(i)*1.7)) * float32(1+i%3)
		}
		return onnx.TensorOf(name, data, dims...)
	}
	float := func(name string, dims ...onnx.Dim) *onnx.Value {
		return &onnx.Value{Name: name, Type: onnx.Type{Elem: onnx.Float32, Shape: dims}}
	}
	free := onnx.Free("n")
	g := &onnx.Graph{
		Name: "recurrent",
		Initializers: []*onnx.Tensor{
			numbers("w", 32, 4), numbers("r", 1, 32, 8), numbers("b", 1, 64), onnx.TensorOf("shape", []int64{1, 32, 4}, 3),
			onnx.TensorOf("axes", []int64{1}, 1), numbers("wide", 8, 24), numbers("turned", 24, 24), numbers("bias", 24), numbers("narrow", 24, 2),
		},
		Nodes: []*onnx.Node{
			{Name: "form", Op: "Reshape", Inputs: []string{"w", "shape"}, Outputs: []string{"w3"}},
			{Name: "lstm", Op: "LSTM", Inputs: []string{"x", "w3", "r", "b"}, Outputs: []string{"y4"}, Attributes: []onnx.Attribute{onnx.Attr("hidden_size", int64(8))}},
			{Name: "squeeze", Op: "Squeeze", Inputs: []string{"y4", "axes"}, Outputs: []string{"y"}},
			{Name: "product", Op: "MatMul", Inputs: []string{"y", "wide"}, Outputs: []string{"p"}},
			{Name: "flat", Op: "Reshape", Inputs: []string{"p", "flatten"}, Outputs: []string{"p2"}},
			{Name: "gemm", Op: "Gemm", Inputs: []string{"p2", "turned", "bias"}, Outputs: []string{"q"}, Attributes: []onnx.Attribute{onnx.Attr("transB", int64(1))}},
			{Name: "small", Op: "MatMul", Inputs: []string{"q", "narrow"}, Outputs: []string{"z"}},
		},
		Inputs:  []*onnx.Value{float("x", free, free, onnx.Fixed(4))},
		Outputs: []*onnx.Value{float("z", free, onnx.Fixed(2)), float("q", free, onnx.Fixed(24))},
	}
	g.Initializers = append(g.Initializers, onnx.TensorOf("flatten", []int64{-1, 24}, 2))
	m := &onnx.Model{IRVersion: 8, Opsets: []onnx.Opset{{Version: 17}}, Graph: g}
	if err := m.Check(); err != nil {
		t.Fatal(err)
	}
	return m
}

func TestDynamicQuantisesProductsAndLSTMs(t *testing.T) {
	m := recurrentModel(t)
	q, report, err := Dynamic(m, Options{})
	if err != nil {
		t.Fatal(err)
	}
	ops := map[string]string{}
	for _, n := range q.Graph.Nodes {
		ops[n.Name] = n.Op
	}
	want := map[string]string{"lstm": "DynamicQuantizeLSTM", "squeeze": "Squeeze", "product": "DynamicQuantizeMatMul", "flat": "Reshape", "gemm": "DynamicQuantizeMatMul", "small": "MatMul"}
	for name, op := range want {
		if ops[name] != op {
			t.Errorf("%s is %q, want %s", name, ops[name], op)
		}
	}
	if len(report.Layers) != 3 || len(report.Excluded) != 1 || report.Excluded[0].Layer != "small" || report.BytesAfter >= report.BytesBefore {
		t.Errorf("the report is %+v", report)
	}
	if m.Graph.Nodes[1].Op != "LSTM" {
		t.Error("the original was changed")
	}
	if _, _, err := Dynamic(q, Options{}); !errors.Is(err, errQuantized) {
		t.Errorf("a second time: %v", err)
	}
	var notes strings.Builder
	if err := report.WriteMarkdown(&notes); err != nil || !strings.Contains(notes.String(), "Nothing was calibrated") || strings.Contains(notes.String(), "## Ranges") {
		t.Errorf("the description is %q, %v", &notes, err)
	}
}

// Weights are transposed where the operator of ONNX Runtime wants them so, and rounded to half a step at most.
func TestDynamicWeightsAreThoseOfTheModel(t *testing.T) {
	for _, o := range []Options{{}, {PerTensor: true}, {SevenBitWeights: true}} {
		m := recurrentModel(t)
		q, _, err := Dynamic(m, o)
		if err != nil {
			t.Fatal(err)
		}
		before, after := constants(m), constants(q)
		for _, c := range []struct {
			name          string
			rows, columns int // of the original
			turned        bool
		}{{"w", 32, 4, true}, {"r", 32, 8, true}, {"wide", 8, 24, false}, {"turned", 24, 24, true}} {
			w, err := onnx.Elements[float32](before[c.name])
			if err != nil {
				t.Fatal(err)
			}
			ints, err := onnx.Elements[int8](after[c.name+"_quantized"])
			if err != nil {
				t.Fatal(err)
			}
			scales, err := onnx.Elements[float32](after[c.name+"_scale"])
			if err != nil {
				t.Fatal(err)
			}
			for row := range c.rows {
				for column := range c.columns {
					unit, at := column, row*c.columns+column
					if c.turned {
						unit, at = row, column*c.rows+row
					}
					scale := scales[min(unit, len(scales)-1)]
					if got, want := float32(ints[at])*scale, w[row*c.columns+column]; math.Abs(float64(got-want)) > 0.51*float64(scale) {
						t.Fatalf("%+v: %s[%d, %d] is %v, want %v", o, c.name, row, column, got, want)
					}
				}
			}
			if largest := slices.Max(ints); o.SevenBitWeights && largest > 63 {
				t.Errorf("%s has weights up to %d", c.name, largest)
			}
		}
	}
}

func TestDynamicLeavesOutWhatIsExcluded(t *testing.T) {
	for _, c := range []struct {
		o    Options
		want int
	}{
		{Options{Exclude: []string{"lstm"}}, 2}, {Options{ExcludeOps: []string{"LSTM"}}, 2}, {Options{ExcludeOps: []string{"MatMul"}}, 2}, {Options{Exclude: []string{"lstm", "product"}}, 1},
	} {
		if _, report, err := Dynamic(recurrentModel(t), c.o); err != nil || len(report.Layers) != c.want {
			t.Errorf("%+v: %d layers, %v; want %d", c.o, len(report.Layers), err, c.want)
		}
	}
	if _, _, err := Dynamic(recurrentModel(t), Options{Exclude: []string{"nothing"}}); err == nil || !strings.Contains(err.Error(), `no layer "nothing"`) {
		t.Errorf("a layer that there is not: %v", err)
	}
	if _, _, err := Dynamic(recurrentModel(t), Options{Exclude: []string{"lstm", "product", "gemm"}}); err == nil || !strings.Contains(err.Error(), "there is nothing to quantise") {
		t.Errorf("all layers are left out: %v", err)
	}
}

func TestAWeightThatIsNoNumberIsNotQuantised(t *testing.T) {
	m := recurrentModel(t)
	for _, w := range m.Graph.Initializers {
		if w.Name == "wide" {
			data := make([]float32, 8*24)
			data[5] = float32(math.NaN())
			*w = *onnx.TensorOf("wide", data, 8, 24)
		}
	}
	if _, _, err := Dynamic(m, Options{}); err == nil || !strings.Contains(err.Error(), `MatMul "product": weights "wide"`) {
		t.Errorf("error %v", err)
	}
}
