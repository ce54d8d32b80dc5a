package quantize

import (
	"errors"
	"fmt"
	"slices"

	"github.com/mlperf-go/mlperf/internal/onnx"
)

// clone returns a copy of a model for editing. Both share the elements of tensors, to which nothing in
// this package writes. Inputs with a default, as files of IR version 4 and newer can have, become constants in the copy.
func clone(m *onnx.Model) *onnx.Model {
	c := *m
	c.Opsets = slices.Clone(m.Opsets)
	c.Metadata = slices.Clone(m.Metadata)
	c.Graph = cloneGraph(m.Graph)
	if m.IRVersion >= 4 {
		c.Graph.Inputs = c.Graph.FreeInputs()
	}
	return &c
}

func cloneGraph(g *onnx.Graph) *onnx.Graph {
	if g == nil {
		return nil
	}
	c := *g
	c.Nodes = cloneAll(g.Nodes)
	for _, n := range c.Nodes {
		n.Inputs, n.Outputs = slices.Clone(n.Inputs), slices.Clone(n.Outputs)
		n.Attributes = slices.Clone(n.Attributes)
		for i := range n.Attributes {
			switch v := n.Attributes[i].Value.(type) {
			case *onnx.Graph:
				n.Attributes[i].Value = cloneGraph(v)
			case []*onnx.Graph:
				graphs := make([]*onnx.Graph, len(v))
				for k, sub := range v {
					graphs[k] = cloneGraph(sub)
				}
				n.Attributes[i].Value = graphs
			}
		}
	}
	c.Initializers = cloneAll(g.Initializers)
	// A value may be in more than one list, and stays one value.
	values := make(map[*onnx.Value]*onnx.Value)
	c.Inputs = cloneValues(g.Inputs, values)
	c.Outputs = cloneValues(g.Outputs, values)
	c.Values = cloneValues(g.Values, values)
	return &c
}

func cloneAll[T any](list []*T) []*T {
	copies := make([]*T, len(list))
	for i, p := range list {
		c := *p
		copies[i] = &c
	}
	return copies
}

func cloneValues(list []*onnx.Value, done map[*onnx.Value]*onnx.Value) []*onnx.Value {
	copies := make([]*onnx.Value, len(list))
	for i, v := range list {
		if done[v] == nil {
			c := *v
			c.Type.Shape = slices.Clone(v.Type.Shape)
			done[v] = &c
		}
		copies[i] = done[v]
	}
	return copies
}

// isONNX reports whether the operator is one of ONNX's own.
func isONNX(n *onnx.Node) bool {
	return (n.Domain == "" || n.Domain == "ai.onnx") && n.Overload == ""
}

// isOp reports whether the node is one of ONNX's own operators of that name.
func isOp(n *onnx.Node, op string) bool { return n != nil && n.Op == op && isONNX(n) }

// layerName returns a node's name for users: its own, or that of its first output.
func layerName(n *onnx.Node) string {
	if n.Name != "" {
		return n.Name
	}
	return output(n, 0)
}

// output returns the name of the node's i-th output, empty if it is left out.
func output(n *onnx.Node, i int) string {
	if i < len(n.Outputs) {
		return n.Outputs[i]
	}
	return ""
}

// onlyReader returns the single node that reads a value; nil if several do, or the value is an output.
func onlyReader(x *onnx.Index, value string) *onnx.Node {
	readers := x.Consumers(value)
	if len(readers) != 1 || x.IsOutput(value) {
		return nil
	}
	return readers[0]
}

// onlyOutput reports whether a node has its first output and no other.
func onlyOutput(n *onnx.Node) bool {
	if output(n, 0) == "" {
		return false
	}
	return !slices.ContainsFunc(n.Outputs[1:], func(name string) bool { return name != "" })
}

// errQuantized says that the model computes with few bits already.
var errQuantized = errors.New("the model is quantised already")

// integerOps are the operators of quantised models. QMoE is not among them: around experts of 4 bits the
// rest of a model can still be quantised.
var integerOps = map[string]bool{
	"QuantizeLinear": true, "DequantizeLinear": true, "DynamicQuantizeLinear": true,
	"ConvInteger": true, "MatMulInteger": true, "QLinearConv": true, "QLinearMatMul": true,
	"QGemm": true, "QAttention": true, "QLinearAdd": true, "QLinearMul": true, "QLinearConcat": true,
	"MatMulIntegerToFloat": true, "DynamicQuantizeMatMul": true, "DynamicQuantizeLSTM": true, "MatMulNBits": true,
}

// acceptable refuses invalid and quantised models.
func acceptable(m *onnx.Model) error {
	if err := m.Check(); err != nil {
		return fmt.Errorf("the model is not valid: %w", err)
	}
	for n := range m.Graph.AllNodes() {
		if integerOps[n.Op] {
			return fmt.Errorf("%w: it has a %s, %q", errQuantized, n.Op, layerName(n))
		}
	}
	return nil
}

// constants returns the initializers of a copy by name.
func constants(m *onnx.Model) map[string]*onnx.Tensor {
	byName := make(map[string]*onnx.Tensor, len(m.Graph.Initializers))
	for _, t := range m.Graph.Initializers {
		byName[t.Name] = t
	}
	return byName
}

// addConstant adds an initializer. Files of IR version 3 and older list their
// initializers among the inputs.
func addConstant(m *onnx.Model, t *onnx.Tensor) {
	m.Graph.Initializers = append(m.Graph.Initializers, t)
	if m.IRVersion >= 4 {
		return
	}
	shape := make(onnx.Shape, len(t.Dims))
	for i, d := range t.Dims {
		shape[i] = onnx.Fixed(d)
	}
	m.Graph.Inputs = append(m.Graph.Inputs, &onnx.Value{Name: t.Name, Type: onnx.Type{Elem: t.Type, Shape: shape}})
}

// prune drops what no output depends on. In files of IR version 3 and older it drops such initializers
// from the inputs too: else a caller would have to feed them.
func prune(m *onnx.Model) {
	gone := make(map[string]bool)
	for _, t := range m.Graph.Initializers {
		gone[t.Name] = m.IRVersion < 4
	}
	m.Graph.Prune()
	for _, t := range m.Graph.Initializers {
		delete(gone, t.Name)
	}
	m.Graph.Inputs = slices.DeleteFunc(m.Graph.Inputs, func(v *onnx.Value) bool { return gone[v.Name] })
}

// FewBits returns the bits of the narrowest integer weights of a model; 0: it has none.
func FewBits(m *onnx.Model) int64 {
	var least int64
	stored := constants(m)
	for n := range m.Graph.AllNodes() {
		// The names of attributes are those of ONNX Runtime's contributed operators (docs/ContribOperators.md there).
		var bits int64
		switch {
		case n.Op == "MatMulNBits":
			bits = onnx.AttrOr[int64](n, "bits", 4)
		case n.Op == "QMoE":
			bits = onnx.AttrOr[int64](n, "expert_weight_bits", 4)
		case integerOps[n.Op]:
			bits = 8
			if n.Op == "DequantizeLinear" && len(n.Inputs) > 0 && stored[n.Inputs[0]] != nil {
				bits = min(bits, int64(stored[n.Inputs[0]].Type.Bits())) // 32 is a bias
			}
		}
		if bits > 0 && (least == 0 || bits < least) {
			least = bits
		}
	}
	return least
}

// elemTypes returns the element types of the values at the top level of a graph, as far as the file or
// the operators tell.
func elemTypes(g *onnx.Graph) map[string]onnx.ElemType {
	types := make(map[string]onnx.ElemType)
	for _, v := range slices.Concat(g.Values, g.Outputs, g.Inputs) {
		if v.Type.Elem != onnx.Undefined {
			types[v.Name] = v.Type.Elem
		}
	}
	for _, t := range g.Initializers {
		types[t.Name] = t.Type
	}
	for _, n := range g.Nodes {
		for i, name := range n.Outputs {
			if t := outputType(n, i, types); t != onnx.Undefined {
				types[name] = t
			}
		}
	}
	delete(types, "")
	return types
}

// outputType returns the element type of a node's output, Undefined if it is not known.
func outputType(n *onnx.Node, i int, types map[string]onnx.ElemType) onnx.ElemType {
	if !isONNX(n) {
		return onnx.Undefined
	}
	if fixed, ok := fixedOutputs[outputKey{n.Op, i}]; ok {
		return fixed
	}
	switch n.Op {
	case "Cast":
		return onnx.ElemType(onnx.AttrOr(n, "to", int64(0)))
	case "ConstantOfShape":
		if t := onnx.AttrOr[*onnx.Tensor](n, "value", nil); t != nil {
			return t.Type
		}
		return onnx.Float32
	case "Constant":
		for _, a := range n.Attributes {
			if t, ok := a.Value.(*onnx.Tensor); ok && a.Name == "value" {
				return t.Type
			}
			if t, ok := constantForms[a.Name]; ok {
				return t
			}
		}
	}
	if like, ok := typeLikeInput[n.Op]; ok {
		return types[n.Input(like)]
	}
	if halfOps[n.Op] || sameTypeOps[n.Op] {
		return types[n.Input(0)]
	}
	return onnx.Undefined
}

// typeLikeInput are the operators whose output has the type of another input than the first.
var typeLikeInput = map[string]int{"Where": 1, "CastLike": 1, "OneHot": 2}

type outputKey struct {
	op    string
	index int
}

// fixedOutputs are the outputs whose type follows from the operator alone.
var fixedOutputs = map[outputKey]onnx.ElemType{
	{"Shape", 0}: onnx.Int64, {"Size", 0}: onnx.Int64, {"NonZero", 0}: onnx.Int64,
	{"ArgMax", 0}: onnx.Int64, {"ArgMin", 0}: onnx.Int64, {"NonMaxSuppression", 0}: onnx.Int64,
	{"TopK", 1}: onnx.Int64, {"MaxPool", 1}: onnx.Int64,
	{"Unique", 1}: onnx.Int64, {"Unique", 2}: onnx.Int64, {"Unique", 3}: onnx.Int64,
	{"Equal", 0}: onnx.Bool, {"Greater", 0}: onnx.Bool, {"GreaterOrEqual", 0}: onnx.Bool,
	{"Less", 0}: onnx.Bool, {"LessOrEqual", 0}: onnx.Bool, {"Not", 0}: onnx.Bool,
	{"And", 0}: onnx.Bool, {"Or", 0}: onnx.Bool, {"Xor", 0}: onnx.Bool,
	{"IsNaN", 0}: onnx.Bool, {"IsInf", 0}: onnx.Bool, {"Dropout", 1}: onnx.Bool,
}

// sameTypeOps are the operators that stay in FP32 and whose output has the type of their first input.
var sameTypeOps = map[string]bool{
	"BitShift": true, "CumSum": true, "Exp": true, "GridSample": true, "Log": true, "MeanVarianceNormalization": true, "Mod": true, "Pow": true,
	"Range":      true,
	"Reciprocal": true, "ReduceL1": true, "ReduceL2": true, "ReduceLogSum": true, "ReduceLogSumExp": true,
	"ReduceProd": true, "ReduceSum": true, "ReduceSumSquare": true, "RoiAlign": true, "Softplus": true,
	"TopK": true, "Unique": true, "Upsample": true,
}

// constantForms are the attributes of a Constant other than a tensor.
var constantForms = map[string]onnx.ElemType{
	"value_float": onnx.Float32, "value_floats": onnx.Float32,
	"value_int": onnx.Int64, "value_ints": onnx.Int64,
	"value_string": onnx.String, "value_strings": onnx.String,
}
