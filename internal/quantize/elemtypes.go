package quantize

import (
	"slices"

	"github.com/mlperf-go/mlperf/internal/onnx"
)

// elemTypes works out the element type of every value at the top level of a graph, as
// far as it can: operators that it does not know make values of unknown type, unless
// the file tells. A value that is missing in the result is of unknown type.
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
	for _, t := range g.SparseInitializers {
		types[t.Values.Name] = t.Values.Type
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
	if byAttribute, ok := typeByAttribute[n.Op]; ok {
		return byAttribute(n)
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

// typeByAttribute are the operators whose attributes say the type of the output.
var typeByAttribute = map[string]func(*onnx.Node) onnx.ElemType{
	"Constant":        constantType,
	"ConstantOfShape": filledType,
	"Cast":            castType,
}

func castType(n *onnx.Node) onnx.ElemType { return onnx.ElemType(onnx.AttrOr(n, "to", int64(0))) }

// filledType returns the element type of a ConstantOfShape.
func filledType(n *onnx.Node) onnx.ElemType {
	if t := onnx.AttrOr[*onnx.Tensor](n, "value", nil); t != nil {
		return t.Type
	}
	return onnx.Float32
}

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

// sameTypeOps are the operators that stay in FP32 and make values of the type of their
// first input.
var sameTypeOps = map[string]bool{
	"BitShift": true, "CumSum": true, "Exp": true, "GridSample": true, "Log": true, "Mod": true, "Pow": true, "Range": true,
	"Reciprocal": true, "ReduceL1": true, "ReduceL2": true, "ReduceLogSum": true, "ReduceLogSumExp": true,
	"ReduceProd": true, "ReduceSum": true, "ReduceSumSquare": true, "RoiAlign": true, "Softplus": true,
	"TopK": true, "Unique": true, "Upsample": true,
}

// constantType returns the element type of a Constant node.
func constantType(n *onnx.Node) onnx.ElemType {
	for _, a := range n.Attributes {
		if t, ok := a.Value.(*onnx.Tensor); ok && a.Name == "value" {
			return t.Type
		}
		if t, ok := constantForms[a.Name]; ok {
			return t
		}
	}
	return onnx.Undefined
}

// constantForms are the attributes in which a Constant may be given otherwise than as a tensor.
var constantForms = map[string]onnx.ElemType{
	"value_float": onnx.Float32, "value_floats": onnx.Float32,
	"value_int": onnx.Int64, "value_ints": onnx.Int64,
	"value_string": onnx.String, "value_strings": onnx.String,
}
