package quantize

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/onnx"
)

// convolution is a model of a convolution, 2 filters of 3 channels, and what is behind.
func convolution(behind []*onnx.Node, constants ...*onnx.Tensor) *onnx.Model {
	nodes := append([]*onnx.Node{node("Conv", "conv", []string{"x", "w", "b"}, "c")}, behind...)
	return handmade(13, nodes, append(constants,
		onnx.TensorOf("w", []float32{1, -2, 3, 0.5, 0.25, -1}, 2, 3, 1, 1), onnx.TensorOf("b", []float32{0.5, -1}, 2))...)
}

// foldings are models with something behind a convolution, and how many nodes of it are folded.
func foldings() map[string]struct {
	m      *onnx.Model
	folded int
} {
	k, four := onnx.TensorOf("k", []float32{2, -4}, 1, 2, 1, 1), onnx.TensorOf("k", []float32{1, 2}, 2)
	mul := []*onnx.Node{node("Mul", "n", []string{"c", "k"}, "y")}
	replaceable := convolution(mul, k)
	replaceable.Graph.Inputs = append(replaceable.Graph.Inputs, &onnx.Value{Name: "k", Type: onnx.Type{Elem: onnx.Float32, Shape: onnx.FixedShape(k.Dims)}})
	noBias := convolution(mul, k)
	noBias.Graph.Nodes[0].Inputs = noBias.Graph.Nodes[0].Inputs[:2]
	return map[string]struct {
		m      *onnx.Model
		folded int
	}{
		"Mul":                        {convolution(mul, k), 1},
		"Mul from the left":          {convolution([]*onnx.Node{node("Mul", "n", []string{"k", "c"}, "y")}, k), 1},
		"Add without a batch axis":   {convolution([]*onnx.Node{node("Add", "n", []string{"c", "k"}, "y")}, onnx.TensorOf("k", []float32{2, -4}, 2, 1, 1)), 1},
		"Sub":                        {convolution([]*onnx.Node{node("Sub", "n", []string{"c", "k"}, "y")}, k), 1},
		"Div":                        {convolution([]*onnx.Node{node("Div", "n", []string{"c", "k"}, "y")}, k), 1},
		"a scalar":                   {convolution(mul, onnx.TensorOf("k", []float32{3})), 1},
		"a convolution without bias": {noBias, 1},
		"a chain": {convolution([]*onnx.Node{
			node("Mul", "n", []string{"c", "k"}, "d"), node("Add", "o", []string{"k", "d"}, "e"), node("Div", "p", []string{"e", "k"}, "y"),
		}, k), 3},
		"a norm":                            {convolution([]*onnx.Node{node("BatchNormalization", "n", []string{"c", "k", "k", "k", "k"}, "y")}, four), 1},
		"Sub from the left stays":           {convolution([]*onnx.Node{node("Sub", "n", []string{"k", "c"}, "y")}, k), 0},
		"a constant along the width stays":  {convolution([]*onnx.Node{node("Add", "n", []string{"c", "k"}, "y")}, four), 0},
		"a value with two readers stays":    {convolution([]*onnx.Node{node("Mul", "n", []string{"c", "k"}, "d"), node("Add", "o", []string{"c", "d"}, "y")}, k), 0},
		"a division by zero stays":          {convolution([]*onnx.Node{node("Div", "n", []string{"c", "k"}, "y")}, onnx.TensorOf("k", []float32{0})), 0},
		"a default of an input is constant": {replaceable, 1},
		"a transposed convolution in two groups": {handmade(13, []*onnx.Node{
			node("ConvTranspose", "up", []string{"x", "w"}, "c", onnx.Attr("group", int64(3))), node("Mul", "n", []string{"c", "k"}, "y"),
		}, numbers("w", 3, 2, 2, 2), numbers("k", 6, 1, 1)), 1},
	}
}

func TestFoldAffine(t *testing.T) {
	for name, c := range foldings() {
		folded := clone(c.m)
		before := encoded(t, c.m)
		n, err := foldAffine(folded)
		if n != c.folded || err != nil || len(folded.Graph.Nodes) != len(c.m.Graph.Nodes)-n {
			t.Errorf("%s: %d nodes were folded, %v, want %d", name, n, err, c.folded)
		}
		if encoded(t, c.m) != before || n == 0 && encoded(t, folded) != before {
			t.Errorf("%s: the model was changed", name)
		}
	}
}

// Weights that nodes make of constants are constants.
func TestConstantsBehindNodes(t *testing.T) {
	attr := onnx.Attr
	w := onnx.TensorOf("w", []float32{1, 2, 3, 4, 5, 6}, 2, 3)
	ints := func(list ...int64) *onnx.Tensor { return onnx.TensorOf("l", list, int64(len(list))) }
	for _, c := range []struct {
		name string
		node *onnx.Node
		list *onnx.Tensor
		want string
	}{
		{"another name", node("Identity", "n", []string{"w"}, "y"), nil, "[2 3] [1 2 3 4 5 6]"},
		{"a matrix the other way round", node("Transpose", "n", []string{"w"}, "y"), nil, "[3 2] [1 4 2 5 3 6]"},
		{"axes in an order", node("Transpose", "n", []string{"three"}, "y", attr("perm", []int64{1, 2, 0})), nil, "[2 2 2] [0 4 1 5 2 6 3 7]"},
		{"no order", node("Transpose", "n", []string{"w"}, "y", attr("perm", []int64{0, 2})), nil, ""},
		{"another shape", node("Reshape", "n", []string{"w", "l"}, "y"), ints(3, 2, 1), "[3 2 1] [1 2 3 4 5 6]"},
		{"a shape that follows", node("Reshape", "n", []string{"w", "l"}, "y"), ints(3, -1), ""},
		{"more axes", node("Unsqueeze", "n", []string{"w", "l"}, "y"), ints(-1, 0), "[1 2 3 1] [1 2 3 4 5 6]"},
		{"more axes, by an attribute", node("Unsqueeze", "n", []string{"w"}, "y", attr("axes", []int64{1})), nil, "[2 1 3] [1 2 3 4 5 6]"},
		{"axes beyond", node("Unsqueeze", "n", []string{"w", "l"}, "y"), ints(7), ""},
		{"one value", node("ConstantOfShape", "n", []string{"l"}, "y", attr("value", onnx.TensorOf("", []float32{0.5}, 1))), ints(2, 2), "[2 2] [0.5 0.5 0.5 0.5]"},
		{"zeros", node("ConstantOfShape", "n", []string{"l"}, "y"), ints(3), "[3] [0 0 0]"},
		{"more than memory", node("ConstantOfShape", "n", []string{"l"}, "y"), ints(1<<20, 1<<20), ""},
		{"what has to be computed", node("Neg", "n", []string{"w"}, "y"), nil, ""},
		{"what varies", node("Identity", "n", []string{"x"}, "y"), nil, ""},
	} {
		m := handmade(13, []*onnx.Node{c.node}, w, onnx.TensorOf("three", []float32{0, 1, 2, 3, 4, 5, 6, 7}, 2, 2, 2))
		if c.list != nil {
			m.Graph.Initializers = append(m.Graph.Initializers, c.list)
		}
		constantsToInitializers(m)
		got := ""
		if made := constants(m)["y"]; made != nil {
			values, err := onnx.Elements[float32](made)
			if err != nil || len(m.Graph.Nodes) != 0 {
				t.Errorf("%s: %v, %d nodes are left", c.name, err, len(m.Graph.Nodes))
			}
			got = fmt.Sprintf("%v %v", made.Dims, values)
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// The zeros that pillars are written into are not weights.
func TestCanvasStaysANode(t *testing.T) {
	canvas := node("ConstantOfShape", "canvas", []string{"l"}, "zeros")
	write := node("ScatterND", "write", []string{"zeros", "places", "x"}, "y")
	m := handmade(13, []*onnx.Node{canvas, write}, onnx.TensorOf("l", []int64{2, 2}, 2), onnx.TensorOf("places", []int64{0}, 1, 1))
	constantsToInitializers(m)
	if len(m.Graph.Nodes) != 2 || constants(m)["zeros"] != nil {
		t.Errorf("the model has the nodes %v, want the canvas and what writes into it", ops(m))
	}
}

func TestPrepareIsIdempotent(t *testing.T) {
	m := residualModel(t)
	p, err := prepare(m)
	if err != nil || ops(p)["BatchNormalization"] != 0 {
		t.Fatalf("the prepared model has %v (%v)", ops(p), err)
	}
	if again, err := prepare(p); err != nil || encoded(t, again) != encoded(t, p) {
		t.Errorf("preparing again changes the model (%v)", err)
	}
}

// describe writes a graph's nodes as text: operator, inputs, attributes and constants.
func describe(m *onnx.Model) string {
	consts := constants(m)
	var lines []string
	for _, n := range m.Graph.Nodes {
		var inputs []string
		for _, name := range n.Inputs {
			if t := consts[name]; t != nil {
				if list, err := onnx.Elements[int64](t); err == nil {
					name = fmt.Sprint(list)
				} else if list, err := onnx.Elements[float32](t); err == nil {
					name = fmt.Sprint(list)
				}
			}
			inputs = append(inputs, name)
		}
		line := n.Op + "(" + strings.Join(inputs, ", ") + ")"
		for _, a := range n.Attributes {
			value := a.Value
			if t, ok := value.(*onnx.Tensor); ok {
				value = fmt.Sprintf("%v%v", t.Type, t.Dims)
			}
			line += fmt.Sprintf(" %s=%v", a.Name, value)
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "; ")
}

func TestUpgrade(t *testing.T) {
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
		{"a mask that nothing reads", 9, &onnx.Node{Op: "Dropout", Name: "n", Inputs: []string{"x"}, Outputs: []string{"y", "mask"}}, "Identity(x)"},
		{"a mask of ones", 10, &onnx.Node{Op: "Dropout", Name: "n", Inputs: []string{"x"}, Outputs: []string{"z", "y"}, Attributes: []onnx.Attribute{attr("ratio", float32(0.5))}},
			"Identity(x); Shape(x); ConstantOfShape(y_shape) value=bool[1]"},
		{"a mask of ones that are floats", 9, &onnx.Node{Op: "Dropout", Name: "n", Inputs: []string{"x"}, Outputs: []string{"z", "y"}},
			"Identity(x); Shape(x); ConstantOfShape(y_shape) value=float32[1]"},
		{"axes that set 6 names", 6, node("Add", "n", []string{"four", "two"}, "y", attr("broadcast", int64(1)), attr("axis", int64(1))), "Unsqueeze(two, [2]); Add(four, two_axes)"},
		{"the last axes", 6, node("Mul", "n", []string{"four", "two"}, "y", attr("broadcast", int64(1))), "Mul(four, two)"},
		{"axes that are the last ones", 6, node("Sub", "n", []string{"four", "two"}, "y", attr("broadcast", int64(1)), attr("axis", int64(2))), "Sub(four, two)"},
		{"the first axis", 6, node("Div", "n", []string{"four", "two"}, "y", attr("axis", int64(0))), "Unsqueeze(two, [2 3]); Div(four, two_axes)"},
		{"slopes of channels", 6, node("PRelu", "n", []string{"four", "slopes"}, "y"), "Unsqueeze([1 2 3], [1 2]); PRelu(four, slopes_axes)"},
		{"one slope", 6, node("PRelu", "n", []string{"four", "slope"}, "y"), "PRelu(four, [1])"},
		{"broadcasting of set 7", 7, node("PRelu", "n", []string{"four", "slopes"}, "y"), "PRelu(four, [1 2 3])"},
		{"a product", 6, node("Gemm", "n", []string{"x", "w"}, "y", attr("broadcast", int64(1)), attr("transB", int64(1))), "Gemm(x, w) transB=1"},
		{"a recurrent layer", 6, node("LSTM", "n", []string{"x", "w"}, "y", attr("output_sequence", int64(1))), "LSTM(x, w)"},
		{"a norm in inference", 6, node("BatchNormalization", "n", []string{"x", "a"}, "y", attr("is_test", int64(1)), attr("consumed_inputs", []int64{0, 0})), "BatchNormalization(x, a)"},
		{"Conv stays", 7, node("Conv", "n", []string{"x", "w"}, "y"), "Conv(x, w)"},
	} {
		m := handmade(c.opset, []*onnx.Node{c.node})
		if strings.Contains(c.node.Op, "PRelu") {
			m.Graph.Initializers = append(m.Graph.Initializers, onnx.TensorOf("slopes", []float32{1, 2, 3}, 3), onnx.TensorOf("slope", []float32{1}, 1))
		}
		m.Graph.Values = []*onnx.Value{{Name: "four", Type: onnx.Type{Shape: onnx.FixedShape([]int64{1, 3, 4, 5})}}, {Name: "two", Type: onnx.Type{Shape: onnx.FixedShape([]int64{3, 4})}}}
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
	// What a body holds is brought there too, and constants of old files are no inputs any more.
	body := &onnx.Graph{Nodes: []*onnx.Node{node("Clip", "inner", []string{"s"}, "t", attr("max", float32(6)))}, Inputs: []*onnx.Value{{Name: "s"}}, Outputs: []*onnx.Value{{Name: "t"}}}
	m := handmade(9, []*onnx.Node{node("Scan", "n", []string{"x"}, "a", attr("body", body)), node("Add", "o", []string{"a", "k"}, "y")}, numbers("k", 1))
	m.IRVersion, m.Graph.Inputs = 3, append(m.Graph.Inputs, &onnx.Value{Name: "k"})
	if err := upgrade(m); err != nil || len(body.Nodes[0].Inputs) != 3 || len(m.Graph.Inputs) != 1 {
		t.Errorf("%v: the inner node reads %q, the inputs are %v", err, body.Nodes[0].Inputs, m.Graph.Inputs)
	}
}

func TestUpgradeErrors(t *testing.T) {
	attr := onnx.Attr
	body := &onnx.Graph{Nodes: []*onnx.Node{node("Frobnicate", "inner", []string{"x"}, "t")}}
	for _, c := range []struct {
		name  string
		opset int64
		node  *onnx.Node
		want  string
	}{
		{"too old", 5, node("Relu", "n", []string{"x"}, "y"), "operator set 5"},
		{"axes that are not known", 6, node("Add", "n", []string{"x", "z"}, "y", attr("axis", int64(1))), `Add "n": it is not known how many axes`},
		{"statistics for every pixel", 7, node("BatchNormalization", "n", []string{"x"}, "y", attr("spatial", int64(0))), `BatchNormalization "n"`},
		{"Pad without pads", 7, node("Pad", "n", []string{"x"}, "y"), "no attribute pads"},
		{"scales that vary", 9, node("Upsample", "n", []string{"x", "x"}, "y"), "its scales are not constant"},
		{"scales that shrink", 7, node("Upsample", "n", []string{"x"}, "y", attr("scales", []float32{1, 0.5})), "shrink an axis"},
		{"unknown", 9, node("Frobnicate", "n", []string{"x"}, "y"), `Frobnicate "n": it is not known`},
		{"unknown in a branch", 9, node("If", "n", []string{"x"}, "y", attr("then_branch", body)), `Frobnicate "inner"`},
		{"a Scan of old", 8, node("Scan", "n", []string{"x"}, "y"), "operator set 9 has changed its meaning"},
	} {
		if err := upgrade(handmade(c.opset, []*onnx.Node{c.node})); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: upgrade() fails with %v, want %q", c.name, err, c.want)
		}
	}
}
