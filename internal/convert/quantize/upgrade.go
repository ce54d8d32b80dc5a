package quantize

import (
	"fmt"
	"slices"

	"github.com/mlperf-go/mlperf/internal/onnx"
)

// Quantised models need operator set 13, the first in which QuantizeLinear and
// DequantizeLinear know an axis, and with it a file of IR version 7.
const (
	quantizedOpset     = 13
	quantizedIRVersion = 7
)

// upgrade rewrites a model of operator sets 6 to 12 in set 13; it computes the same. It fails at operators
// that it does not know.
func upgrade(m *onnx.Model) error {
	from := m.Opset("")
	if from >= quantizedOpset {
		return nil
	}
	if from < oldestOpset {
		return fmt.Errorf("the model has operator set %d; sets from %d on can be brought to %d", from, oldestOpset, quantizedOpset)
	}
	m.Graph.Inputs = m.Graph.FreeInputs()
	m.IRVersion = max(m.IRVersion, quantizedIRVersion)
	u := upgrader{model: m, from: from, index: m.Graph.Index(), types: m.Graph.Index()}
	if err := u.graph(m.Graph); err != nil {
		return fmt.Errorf("bringing the model from operator set %d to %d: %w", from, quantizedOpset, err)
	}
	for i, o := range m.Opsets {
		if o.Domain == "" || o.Domain == "ai.onnx" {
			m.Opsets[i].Version = quantizedOpset
		}
	}
	return nil
}

type upgrader struct {
	model *onnx.Model
	from  int64
	index *onnx.Index // for new names
	types *onnx.Index // of the graph under way
}

func (u *upgrader) graph(g *onnx.Graph) error {
	outer := u.types
	u.types = g.Index()
	defer func() { u.types = outer }()
	var nodes []*onnx.Node
	for _, n := range g.Nodes {
		for _, a := range n.Attributes {
			switch v := a.Value.(type) {
			case *onnx.Graph:
				if err := u.graph(v); err != nil {
					return err
				}
			case []*onnx.Graph:
				return fmt.Errorf("attribute %q holds several graphs", a.Name)
			}
		}
		replaced, err := u.node(n)
		if err != nil {
			return fmt.Errorf("%s %q: %w", n.Op, layerName(n), err)
		}
		nodes = append(nodes, replaced...)
	}
	g.Nodes = nodes
	return nil
}

// node returns the nodes that replace a node.
func (u *upgrader) node(n *onnx.Node) ([]*onnx.Node, error) {
	if !isONNX(n) {
		return only(n)
	}
	if n.Op == "Scan" && u.from < 9 {
		return nil, fmt.Errorf("operator set 9 has changed its meaning")
	}
	if steadyOps[n.Op] {
		return only(n)
	}
	at := slices.IndexFunc(changes, func(c change) bool { return c.op == n.Op })
	if at < 0 {
		return nil, fmt.Errorf("it is not known whether its meaning has changed")
	}
	if c := changes[at]; u.from < c.since {
		return c.apply(u, n)
	}
	return only(n)
}

// steadyOps mean the same in operator set 13 as in 7, or in the set that first had them; at most new types
// and forms of arguments were added (onnx/docs/Changelog.md).
var steadyOps = set(
	"Abs", "Acos", "Acosh", "ArgMax", "ArgMin", "Asin", "Asinh", "Atan", "Atanh", "AveragePool", "BitShift",
	"Cast", "Ceil", "Celu", "Compress", "Concat", "Constant", "ConstantOfShape", "Conv", "ConvTranspose", "Cos", "Cosh", "CumSum",
	"DepthToSpace", "Det", "Einsum", "Elu", "Erf", "Exp", "Expand", "EyeLike", "Flatten", "Floor",
	"Gather", "GatherElements", "GatherND", "GlobalAveragePool", "GlobalLpPool", "GlobalMaxPool", "GreaterOrEqual",
	"HardSigmoid", "Identity", "If", "InstanceNormalization", "IsInf", "IsNaN", "LRN", "LeakyRelu", "LessOrEqual",
	"Log", "Loop", "LpNormalization", "LpPool", "MatMul", "Max", "MaxPool", "Mean", "MeanVarianceNormalization", "Min", "Mod",
	"Multinomial", "Neg", "NonMaxSuppression", "NonZero", "Not", "OneHot", "RandomNormal",
	"RandomNormalLike", "RandomUniform", "RandomUniformLike", "Range", "Reciprocal", "ReduceL1", "ReduceL2", "ReduceLogSum",
	"ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSumSquare", "Relu", "Reshape",
	"ReverseSequence", "RoiAlign", "Round", "Scan", "ScatterElements", "ScatterND", "Selu", "Shape", "Shrink", "Sigmoid", "Sign",
	"Sin", "Sinh", "Size", "Softplus", "Softsign", "SpaceToDepth", "Sqrt", "Sum", "Tan", "Tanh", "ThresholdedRelu", "Tile",
	"Transpose", "Unique", "Where",
)

// A change rewrites a node of an operator set older than since.
type change struct {
	op    string
	since int64
	apply func(*upgrader, *onnx.Node) ([]*onnx.Node, error)
}

// changes has at most one entry for each operator.
var changes = []change{
	{"Add", 7, alignSecond("axis")}, {"And", 7, alignSecond("axis")}, {"Div", 7, alignSecond("axis")}, {"Equal", 7, alignSecond("axis")},
	{"Greater", 7, alignSecond("axis")}, {"Less", 7, alignSecond("axis")}, {"Mul", 7, alignSecond("axis")}, {"Or", 7, alignSecond("axis")},
	{"Pow", 7, alignSecond("axis")}, {"PRelu", 7, alignSecond("")}, {"Sub", 7, alignSecond("axis")}, {"Xor", 7, alignSecond("axis")},
	{"Gemm", 7, withoutAttributes("broadcast")},
	{"GRU", 7, withoutAttributes("output_sequence")}, {"LSTM", 7, withoutAttributes("output_sequence")}, {"RNN", 7, withoutAttributes("output_sequence")},
	{"BatchNormalization", 9, func(_ *upgrader, n *onnx.Node) ([]*onnx.Node, error) {
		if onnx.AttrOr(n, "spatial", int64(1)) != 1 {
			return nil, fmt.Errorf("it has statistics for every pixel, which operator set 9 has given up")
		}
		for _, name := range []string{"spatial", "is_test", "consumed_inputs"} { // with one output it does not train
			n.DropAttr(name)
		}
		return only(n)
	}},
	{"Clip", 11, func(u *upgrader, n *onnx.Node) ([]*onnx.Node, error) {
		n.Inputs = []string{n.Input(0), "", ""}
		for i, name := range []string{"min", "max"} {
			if n.Attr(name) != nil {
				n.Inputs[i+1] = u.float(n, name, onnx.AttrOr(n, name, float32(0)))
				n.DropAttr(name)
			}
		}
		return only(n)
	}},
	{"Dropout", 12, withoutDropping},
	{"Hardmax", 13, flatSoftmax},
	{"LogSoftmax", 13, flatSoftmax},
	{"Pad", 11, func(u *upgrader, n *onnx.Node) ([]*onnx.Node, error) {
		pads := onnx.AttrOr[[]int64](n, "pads", nil)
		if pads == nil {
			return nil, fmt.Errorf("it has no attribute pads")
		}
		n.Inputs = []string{n.Input(0), u.ints(n, "pads", pads), u.float(n, "value", onnx.AttrOr(n, "value", float32(0)))}
		n.DropAttr("pads")
		n.DropAttr("value")
		return only(n)
	}},
	{"ReduceSum", 13, attributesToInputs("axes")},
	{"Resize", 11, upsampleToResize},
	{"Scatter", 11, func(_ *upgrader, n *onnx.Node) ([]*onnx.Node, error) {
		n.Op = "ScatterElements"
		return only(n)
	}},
	{"Slice", 10, attributesToInputs("starts", "ends", "axes")},
	{"Softmax", 13, flatSoftmax},
	{"Split", 13, attributesToInputs("split")},
	{"Squeeze", 13, attributesToInputs("axes")},
	{"TopK", 10, func(u *upgrader, n *onnx.Node) ([]*onnx.Node, error) {
		n.Inputs = []string{n.Input(0), u.ints(n, "k", []int64{onnx.AttrOr(n, "k", int64(0))})}
		n.DropAttr("k")
		return only(n)
	}},
	{"Unsqueeze", 13, attributesToInputs("axes")},
	{"Upsample", 10, upsampleToResize},
}

func only(n *onnx.Node) ([]*onnx.Node, error) { return []*onnx.Node{n}, nil }

// withoutDropping makes of a Dropout what it does in inference: nothing, with a mask of ones.
func withoutDropping(u *upgrader, n *onnx.Node) ([]*onnx.Node, error) {
	x, mask := n.Input(0), output(n, 1)
	n.Op, n.Inputs, n.Outputs, n.Attributes = "Identity", []string{x}, n.Outputs[:1], nil
	if mask == "" || len(u.types.Consumers(mask)) == 0 && !u.types.IsOutput(mask) {
		return only(n)
	}
	one := &onnx.Tensor{Type: onnx.Bool, Dims: []int64{1}, Data: onnx.Raw{1}}
	if u.from < 10 { // the mask has the type of the data
		if v := u.types.Value(x); v != nil && v.Type.Elem != onnx.Float32 {
			return nil, fmt.Errorf("its mask is a %v", v.Type.Elem)
		}
		one = onnx.TensorOf("", []float32{1}, 1)
	}
	shape := u.index.Unique(mask + "_shape")
	return []*onnx.Node{n,
		{Op: "Shape", Inputs: []string{x}, Outputs: []string{shape}},
		{Op: "ConstantOfShape", Inputs: []string{shape}, Outputs: []string{mask}, Attributes: []onnx.Attribute{onnx.Attr("value", one)}},
	}, nil
}

// withoutAttributes drops attributes that newer operator sets do not have, and do not need.
func withoutAttributes(names ...string) func(*upgrader, *onnx.Node) ([]*onnx.Node, error) {
	return func(_ *upgrader, n *onnx.Node) ([]*onnx.Node, error) {
		for _, name := range names {
			n.DropAttr(name)
		}
		return only(n)
	}
}

// alignSecond gives the second input as many axes as the broadcasting of operator set 7 wants, which aligns the last axes: set 6 aligned
// its first axis with that of an attribute, or with the channels in axis 1 where that has no name.
func alignSecond(attribute string) func(*upgrader, *onnx.Node) ([]*onnx.Node, error) {
	return func(u *upgrader, n *onnx.Node) ([]*onnx.Node, error) {
		axis, second := int64(1), u.rank(n.Input(1))
		if attribute != "" {
			axis = onnx.AttrOr(n, attribute, int64(-1))
			n.DropAttr("broadcast")
			n.DropAttr(attribute)
			if axis < 0 { // the last axes
				return only(n)
			}
		}
		if t := constants(u.model)[n.Input(1)]; t != nil {
			if count, err := t.Len(); err == nil && count == 1 {
				return only(n) // one number for all
			}
		}
		first := u.rank(n.Input(0))
		if first < 0 || second < 0 {
			return nil, fmt.Errorf("it is not known how many axes its inputs have, and the second is aligned with axis %d", axis)
		}
		var axes []int64
		for i := axis + int64(second); i < int64(first); i++ {
			axes = append(axes, i-axis)
		}
		if len(axes) == 0 {
			return only(n)
		}
		wide := u.index.Unique(n.Input(1) + "_axes")
		unsqueeze := &onnx.Node{Op: "Unsqueeze", Inputs: []string{n.Input(1), u.ints(n, "axes", axes)}, Outputs: []string{wide}}
		n.Inputs[1] = wide
		return []*onnx.Node{unsqueeze, n}, nil
	}
}

// rank is the number of axes of a value as far as the file tells it, or the operator that makes it; -1: not known.
func (u *upgrader) rank(name string) int {
	if v := u.types.Value(name); v != nil && v.Type.Shape != nil {
		return len(v.Type.Shape)
	}
	if t := u.types.Initializer(name); t != nil {
		return len(t.Dims)
	}
	n := u.types.Producer(name)
	switch {
	case n == nil:
		return -1
	case isOp(n, "Constant"):
		if t := constantValue(n); t != nil {
			return len(t.Dims)
		}
		return -1
	case isOp(n, "Gemm"):
		return 2
	case isOp(n, "Conv"), isOp(n, "ConvTranspose"):
		return u.rank(n.Input(1))
	case isONNX(n) && keepRank[n.Op]:
		return u.rank(n.Input(0))
	}
	return -1
}

// keepRank are the operators whose result has as many axes as their first input.
var keepRank = set("Abs", "Add", "AveragePool", "BatchNormalization", "Cast", "Ceil", "Clip", "Concat", "DepthToSpace", "Div", "Dropout",
	"Elu", "Exp",
	"Floor", "GlobalAveragePool", "GlobalMaxPool", "HardSigmoid", "Identity", "InstanceNormalization", "LRN", "LeakyRelu", "Log", "LogSoftmax", "Max",
	"MaxPool", "Mean", "Min", "Mul", "Neg", "PRelu", "Pad", "Pow", "Reciprocal", "Relu", "Resize", "Selu", "Sigmoid", "Slice", "Softmax", "Softplus",
	"Softsign", "SpaceToDepth", "Split", "Sqrt", "Sub", "Sum", "Tanh", "Tile", "Transpose", "Upsample")

// ints adds a constant list of whole numbers.
func (u *upgrader) ints(n *onnx.Node, what string, list []int64) string {
	t := onnx.TensorOf(u.index.Unique(layerName(n)+"_"+what), list, int64(len(list)))
	addConstant(u.model, t)
	return t.Name
}

func (u *upgrader) float(n *onnx.Node, what string, x float32) string {
	t := onnx.TensorOf(u.index.Unique(layerName(n)+"_"+what), []float32{x})
	addConstant(u.model, t)
	return t.Name
}

// attributesToInputs makes inputs of attributes that are lists of whole numbers. It leaves out lists that
// the node does not have.
func attributesToInputs(names ...string) func(*upgrader, *onnx.Node) ([]*onnx.Node, error) {
	return func(u *upgrader, n *onnx.Node) ([]*onnx.Node, error) {
		inputs := []string{n.Input(0)}
		for _, name := range names {
			if n.Attr(name) == nil {
				break // what follows a list that is left out is left out too
			}
			inputs = append(inputs, u.ints(n, name, onnx.AttrOr[[]int64](n, name, nil)))
			n.DropAttr(name)
		}
		n.Inputs = inputs
		return only(n)
	}
}

// upsampleToResize writes an enlargement as the Resize of operator set 11, with its mapping of pixels.
func upsampleToResize(u *upgrader, n *onnx.Node) ([]*onnx.Node, error) {
	scales := n.Input(1)
	if list := onnx.AttrOr[[]float32](n, "scales", nil); list != nil {
		t := onnx.TensorOf(u.index.Unique(layerName(n)+"_scales"), list, int64(len(list)))
		addConstant(u.model, t)
		scales = t.Name
		n.DropAttr("scales")
	}
	// The two versions disagree on nearest pixels where an axis shrinks.
	t := u.types.Initializer(scales)
	if t == nil {
		t = constants(u.model)[scales]
	}
	if !isFloat32Constant(t) {
		return nil, fmt.Errorf("its scales are not constant")
	}
	list, err := onnx.Elements[float32](t)
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(list, func(s float32) bool { return !(s >= 1) }) {
		return nil, fmt.Errorf("its scales %v shrink an axis", list)
	}
	n.Op, n.Inputs = "Resize", []string{n.Input(0), "", scales}
	n.SetAttr("coordinate_transformation_mode", "asymmetric")
	n.SetAttr("nearest_mode", "floor")
	return only(n)
}

// flatSoftmax writes the older Softmax, over all axes from one on together, as one over the last axis of a
// matrix.
func flatSoftmax(u *upgrader, n *onnx.Node) ([]*onnx.Node, error) {
	axis := onnx.AttrOr(n, "axis", int64(1))
	last := axis == -1
	for _, name := range []string{n.Input(0), output(n, 0)} { // both have the same shape
		if v := u.types.Value(name); v != nil && v.Type.Shape != nil {
			last = last || axis == int64(len(v.Type.Shape))-1
		}
	}
	if last {
		n.SetAttr("axis", int64(-1))
		return only(n)
	}
	name := layerName(n)
	x, y := n.Input(0), output(n, 0)
	shape, flat, result := u.index.Unique(name+"_shape"), u.index.Unique(name+"_flat"), u.index.Unique(name+"_matrix")
	n.Inputs, n.Outputs = []string{flat}, []string{result}
	n.SetAttr("axis", int64(-1))
	return []*onnx.Node{
		{Op: "Shape", Inputs: []string{x}, Outputs: []string{shape}},
		{Op: "Flatten", Inputs: []string{x}, Outputs: []string{flat}, Attributes: []onnx.Attribute{onnx.Attr("axis", axis)}},
		n,
		{Op: "Reshape", Inputs: []string{result, shape}, Outputs: []string{y}},
	}, nil
}
