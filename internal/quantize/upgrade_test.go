package quantize

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/onnx"
)

// describe writes a graph's nodes as text: operator, inputs, attributes and constants.
func describe(m *onnx.Model) string {
	consts := constants(m)
	var lines []string
	for _, n := range m.Graph.Nodes {
		var inputs []string
		for _, name := range n.Inputs {
			if t := consts[name]; t != nil {
				a, err := constantArray(t)
				if err != nil {
					return err.Error()
				}
				name = fmt.Sprint(a.data)
			}
			inputs = append(inputs, name)
		}
		line := n.Op + "(" + strings.Join(inputs, ", ") + ")"
		for _, a := range n.Attributes {
			line += fmt.Sprintf(" %s=%v", a.Name, a.Value)
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "; ")
}

func TestNodesOfOlderOperatorSetsAreWrittenAsInThirteen(t *testing.T) {
	attr := onnx.Attr
	for _, c := range []struct {
		name  string
		opset int64
		node  *onnx.Node
		want  string
	}{
		{"limits become inputs", 7, node("Clip", "n", []string{"x"}, "y", attr("min", float32(0)), attr("max", float32(6))), "Clip(x, [0], [6])"},
		{"one limit only", 7, node("Clip", "n", []string{"x"}, "y", attr("max", float32(6))), "Clip(x, , [6])"},
		{"limits that are inputs stay", 11, node("Clip", "n", []string{"x", "l"}, "y"), "Clip(x, l)"},
		{"spatial is dropped", 7, node("BatchNormalization", "n", []string{"x", "a", "b", "c", "d"}, "y", attr("spatial", int64(1))), "BatchNormalization(x, a, b, c, d)"},
		{"Dropout does nothing", 7, node("Dropout", "n", []string{"x"}, "y", attr("ratio", float32(0.5))), "Identity(x)"},
		{"Dropout of 12 stays", 12, node("Dropout", "n", []string{"x"}, "y"), "Dropout(x)"},
		{"pads become inputs", 7, node("Pad", "n", []string{"x"}, "y", attr("mode", "constant"), attr("pads", []int64{0, 1}), attr("value", float32(2))), "Pad(x, [0 1], [2]) mode=constant"},
		{"slices", 7, node("Slice", "n", []string{"x"}, "y", attr("axes", []int64{1}), attr("starts", []int64{0}), attr("ends", []int64{2})), "Slice(x, [0], [2], [1])"},
		{"slices of the first axes", 7, node("Slice", "n", []string{"x"}, "y", attr("starts", []int64{0}), attr("ends", []int64{2})), "Slice(x, [0], [2])"},
		{"Squeeze", 11, node("Squeeze", "n", []string{"x"}, "y", attr("axes", []int64{2, 3})), "Squeeze(x, [2 3])"},
		{"Squeeze of all", 11, node("Squeeze", "n", []string{"x"}, "y"), "Squeeze(x)"},
		{"Unsqueeze", 11, node("Unsqueeze", "n", []string{"x"}, "y", attr("axes", []int64{0})), "Unsqueeze(x, [0])"},
		{"ReduceSum", 11, node("ReduceSum", "n", []string{"x"}, "y", attr("keepdims", int64(0)), attr("axes", []int64{1})), "ReduceSum(x, [1]) keepdims=0"},
		{"Split", 11, node("Split", "n", []string{"x"}, "y", attr("split", []int64{1, 2})), "Split(x, [1 2])"},
		{"TopK", 9, node("TopK", "n", []string{"x"}, "y", attr("k", int64(5))), "TopK(x, [5])"},
		{"Scatter has another name", 9, node("Scatter", "n", []string{"x", "i", "u"}, "y"), "ScatterElements(x, i, u)"},
		{"Upsample", 7, node("Upsample", "n", []string{"x"}, "y", attr("mode", "nearest"), attr("scales", []float32{1, 1, 2, 2})),
			"Resize(x, , [1 1 2 2]) mode=nearest coordinate_transformation_mode=asymmetric nearest_mode=floor"},
		{"Softmax over the last axis", 11, node("Softmax", "n", []string{"x"}, "y", attr("axis", int64(-1))), "Softmax(x) axis=-1"},
		{"Softmax over several axes", 11, node("Softmax", "n", []string{"x"}, "y"),
			"Shape(x); Flatten(x) axis=1; Softmax(n_flat) axis=-1; Reshape(n_matrix, n_shape)"},
		{"Conv stays", 7, node("Conv", "n", []string{"x", "w"}, "y"), "Conv(x, w)"},
	} {
		m := handmade(c.opset, []*onnx.Node{c.node})
		if err := upgrade(m); err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got := describe(m); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
		if m.Opset("") != 13 || m.IRVersion < 7 {
			t.Errorf("%s: the model has operator set %d, IR version %d", c.name, m.Opset(""), m.IRVersion)
		}
	}
}

func TestWhatCannotBeUpgradedNamesTheNode(t *testing.T) {
	attr := onnx.Attr
	for _, c := range []struct {
		name  string
		opset int64
		node  *onnx.Node
		want  string
	}{
		{"too old", 6, node("Relu", "n", []string{"x"}, "y"), "operator set 6"},
		{"statistics for every pixel", 7, node("BatchNormalization", "n", []string{"x"}, "y", attr("spatial", int64(0))), `BatchNormalization "n"`},
		{"Pad without pads", 7, node("Pad", "n", []string{"x"}, "y"), "no attribute pads"},
		{"scales that vary", 9, node("Upsample", "n", []string{"x", "x"}, "y"), "its scales are not constant"},
		{"scales that shrink", 7, node("Upsample", "n", []string{"x"}, "y", attr("scales", []float32{1, 0.5})), "shrink an axis"},
		{"unknown", 9, node("Frobnicate", "n", []string{"x"}, "y"), `Frobnicate "n": it is not known`},
		{"a Scan of old", 8, node("Scan", "n", []string{"x"}, "y"), "its meaning has changed in operator set 9"},
	} {
		if err := upgrade(handmade(c.opset, []*onnx.Node{c.node})); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: upgrade() fails with %v, want %q", c.name, err, c.want)
		}
	}
}

func TestConstantsOfOldFilesAreNoInputsAnyMore(t *testing.T) {
	m := handmade(7, []*onnx.Node{node("Clip", "n", []string{"x"}, "a", onnx.Attr("min", float32(0))), node("Add", "o", []string{"a", "k"}, "y")},
		onnx.TensorOf("k", []float32{1}))
	m.IRVersion = 3
	m.Graph.Inputs = append(m.Graph.Inputs, &onnx.Value{Name: "k", Type: onnx.Type{Elem: onnx.Float32}})
	if err := upgrade(m); err != nil {
		t.Fatal(err)
	}
	if len(m.Graph.Inputs) != 1 || m.Graph.Inputs[0].Name != "x" {
		t.Errorf("the inputs are %v, want x", m.Graph.Inputs)
	}
}
