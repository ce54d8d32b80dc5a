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

// upgrade brings a model of operator sets 7 to 12 to 13, without a change of what it
// computes. It fails if it does not know how.
func upgrade(m *onnx.Model) error {
	from := m.Opset("")
	if from >= quantizedOpset {
		return nil
	}
	if from < oldestOpset {
		return fmt.Errorf("the model has operator set %d; sets from %d on can be brought to %d", from, oldestOpset, quantizedOpset)
	}
	if m.IRVersion < 4 {
		dropDefaults(m)
	}
	m.IRVersion = max(m.IRVersion, quantizedIRVersion)
	u := upgrader{model: m, from: from, index: m.Graph.Index(), types: m.Graph.Index()}
	if err := u.graph(m.Graph); err != nil {
		return fmt.Errorf("bringing the model from operator set %d to %d: %w", from, quantizedOpset, err)
	}
	setOpset(m, quantizedOpset)
	return nil
}

// setOpset sets the version of ONNX's own operators.
func setOpset(m *onnx.Model, version int64) {
	for i, o := range m.Opsets {
		if o.Domain == "" || o.Domain == "ai.onnx" {
			m.Opsets[i].Version = version
		}
	}
}

// dropDefaults drops constants from the inputs. From IR version 4 on a constant that is
// an input too would be one that a caller can replace.
func dropDefaults(m *onnx.Model) {
	m.Graph.Inputs = m.Graph.FreeInputs()
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
		if err := u.subgraphs(n); err != nil {
			return err
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

func (u *upgrader) subgraphs(n *onnx.Node) error {
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
	return nil
}

// node returns what a node becomes.
func (u *upgrader) node(n *onnx.Node) ([]*onnx.Node, error) {
	if !isONNX(n) {
		return only(n)
	}
	if n.Op == "Scan" && u.from < 9 {
		return nil, fmt.Errorf("its meaning has changed in operator set 9")
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

// steadyOps mean in operator set 13 what they meant in 7, or in the set that first had
// them; at most new types and forms of arguments were added (onnx/docs/Changelog.md).
var steadyOps = set(
	"Abs", "Acos", "Acosh", "Add", "And", "ArgMax", "ArgMin", "Asin", "Asinh", "Atan", "Atanh", "AveragePool", "BitShift",
	"Cast", "Ceil", "Celu", "Compress", "Concat", "Constant", "ConstantOfShape", "Conv", "ConvTranspose", "Cos", "Cosh", "CumSum",
	"DepthToSpace", "Det", "Div", "Einsum", "Elu", "Equal", "Erf", "Exp", "Expand", "EyeLike", "Flatten", "Floor", "GRU",
	"Gather", "GatherElements", "GatherND", "Gemm", "GlobalAveragePool", "GlobalLpPool", "GlobalMaxPool", "Greater", "GreaterOrEqual",
	"HardSigmoid", "Identity", "If", "InstanceNormalization", "IsInf", "IsNaN", "LRN", "LSTM", "LeakyRelu", "Less", "LessOrEqual",
	"Log", "Loop", "LpNormalization", "LpPool", "MatMul", "Max", "MaxPool", "Mean", "MeanVarianceNormalization", "Min", "Mod", "Mul",
	"Multinomial", "Neg", "NonMaxSuppression", "NonZero", "Not", "OneHot", "Or", "PRelu", "Pow", "RNN", "RandomNormal",
	"RandomNormalLike", "RandomUniform", "RandomUniformLike", "Range", "Reciprocal", "ReduceL1", "ReduceL2", "ReduceLogSum",
	"ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSumSquare", "Relu", "Reshape",
	"ReverseSequence", "RoiAlign", "Round", "Scan", "ScatterElements", "ScatterND", "Selu", "Shape", "Shrink", "Sigmoid", "Sign",
	"Sin", "Sinh", "Size", "Softplus", "Softsign", "SpaceToDepth", "Sqrt", "Sub", "Sum", "Tan", "Tanh", "ThresholdedRelu", "Tile",
	"Transpose", "Unique", "Where", "Xor",
)

// A change says how a node of an operator set older than since is written today.
type change struct {
	op    string
	since int64
	apply func(*upgrader, *onnx.Node) ([]*onnx.Node, error)
}

// changes has at most one of each operator.
var changes = []change{
	{"BatchNormalization", 9, dropSpatial},
	{"Clip", 11, clipLimits},
	{"Dropout", 12, dropoutAtInference},
	{"Hardmax", 13, flatSoftmax},
	{"LogSoftmax", 13, flatSoftmax},
	{"Pad", 11, padInputs},
	{"ReduceSum", 13, attributesToInputs("axes")},
	{"Resize", 11, upsampleToResize},
	{"Scatter", 11, renamed("ScatterElements")},
	{"Slice", 10, attributesToInputs("starts", "ends", "axes")},
	{"Softmax", 13, flatSoftmax},
	{"Split", 13, attributesToInputs("split")},
	{"Squeeze", 13, attributesToInputs("axes")},
	{"TopK", 10, topKInput},
	{"Unsqueeze", 13, attributesToInputs("axes")},
	{"Upsample", 10, upsampleToResize},
}
