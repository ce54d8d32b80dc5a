package onnx

import (
	"fmt"
	"slices"
	"testing"
)

// A line of a graph: the operator, its inputs and outputs, and attributes.
func line(op string, inputs, outputs []string, attributes ...Attribute) *Node {
	return &Node{Name: "the " + op, Op: op, Inputs: inputs, Outputs: outputs, Attributes: attributes}
}

func input(name string, shape ...Dim) *Value {
	return &Value{Name: name, Type: Type{Elem: Float32, Shape: shape}}
}

func floats(name string, dims ...int64) *Tensor {
	n := int64(1)
	for _, d := range dims {
		n *= d
	}
	return TensorOf(name, make([]float32, n), dims...)
}

func bytesOf(name string, dims ...int64) *Tensor {
	n := int64(1)
	for _, d := range dims {
		n *= d
	}
	return TensorOf(name, make([]int8, n), dims...)
}

func ints(name string, v ...int64) *Tensor { return TensorOf(name, v, int64(len(v))) }

// Extents and products that no built-in model has: package arch compares the others with its builder.
func TestOperations(t *testing.T) {
	x := input("x", Free("N"), Fixed(4), Fixed(6), Fixed(6))
	rows := input("x", Free("N"), Free("S"), Fixed(8))
	body := &Graph{
		Inputs:       []*Value{input("i"), input("go"), input("h", Fixed(2), Fixed(8))},
		Outputs:      []*Value{input("go on"), input("y"), input("one")},
		Initializers: []*Tensor{floats("w", 8, 8)},
		Nodes:        []*Node{line("Identity", []string{"go"}, []string{"go on"}), line("MatMul", []string{"h", "w"}, []string{"y"}), line("Identity", []string{"y"}, []string{"one"})},
	}
	half := func(width int64) *Graph {
		return &Graph{Initializers: []*Tensor{floats("w", 8, width)}, Nodes: []*Node{line("MatMul", []string{"x", "w"}, []string{"y"})}, Outputs: []*Value{input("y")}}
	}
	step := &Graph{
		Inputs: []*Value{input("state"), input("part")}, Outputs: []*Value{input("next"), input("y")}, Initializers: []*Tensor{floats("w", 8, 8)},
		Nodes: []*Node{line("MatMul", []string{"part", "w"}, []string{"y"}), line("Add", []string{"state", "y"}, []string{"next"})},
	}
	for _, c := range []struct {
		name       string
		graph      Graph
		parameters int64
		macs       string // by operator
		uncounted  []string
		once       []string
	}{
		{"quantised convolution", Graph{
			Inputs: []*Value{x}, Initializers: []*Tensor{bytesOf("w", 8, 2, 3, 3), floats("scale", 8), TensorOf("bias", make([]int32, 8), 8)},
			Nodes: []*Node{
				line("QLinearConv", []string{"x", "scale", "", "w", "scale", "", "scale", "", "bias"}, []string{"y"}, Attr("group", int64(2)), Attr("strides", []int64{2, 2}), Attr("pads", []int64{1, 1, 1, 1})),
				line("QLinearAdd", []string{"y", "scale", "", "y", "scale", "", "scale", ""}, []string{"z"}),
				line("ConvInteger", []string{"z", "w1"}, []string{"end"}, Attr("auto_pad", "SAME_UPPER")),
			},
		}, 8*2*9 + 8, "map[QLinearConv:1296]", []string{"the ConvInteger (ConvInteger)"}, nil},
		{"QDQ", Graph{
			Inputs: []*Value{rows}, Initializers: []*Tensor{bytesOf("w", 8, 3), floats("scale", 3), bytesOf("zero", 3)},
			Nodes: []*Node{
				line("QuantizeLinear", []string{"x", "scale", "zero"}, []string{"q"}), line("DequantizeLinear", []string{"q", "scale", "zero"}, []string{"d"}),
				line("DequantizeLinear", []string{"w", "scale", "zero"}, []string{"dw"}), line("MatMul", []string{"d", "dw"}, []string{"y"}),
			},
		}, 24, "map[MatMul:120]", nil, nil},
		{"extents that are computed", Graph{
			Inputs: []*Value{rows}, Initializers: []*Tensor{floats("w", 4, 4), ints("two", 2), ints("first", 0), ints("-1", -1), ints("axis", 0)},
			Nodes: []*Node{
				line("Shape", []string{"x"}, []string{"shape"}), line("Gather", []string{"shape", "first"}, []string{"n"}), line("Slice", []string{"shape", "-1", "big", "axis"}, []string{"unknown"}),
				line("Div", []string{"eight", "two"}, []string{"half"}), line("Constant", nil, []string{"eight"}, Attr("value_ints", []int64{8})),
				line("Div", []string{"eight", "two"}, []string{"four"}), line("Concat", []string{"n", "-1", "four"}, []string{"to"}, Attr("axis", int64(0))),
				line("Reshape", []string{"x", "to"}, []string{"r"}), line("MatMul", []string{"r", "w"}, []string{"y"}),
			},
		}, 16, "map[MatMul:160]", nil, nil}, // 5 rows of 8 are 10 of 4
		{"sums of products", Graph{
			Inputs: []*Value{rows}, Initializers: []*Tensor{floats("w", 8, 2, 3)},
			Nodes: []*Node{line("Einsum", []string{"x", "w"}, []string{"y"}, Attr("equation", "bsi,iho->bsho")), line("Einsum", []string{"y", "y"}, []string{"z"}, Attr("equation", "bsho,btho->bhst"))},
		}, 48, "map[Einsum:390]", nil, nil}, // 5·8·2·3 + 5·5·2·3
		{"attention", Graph{
			Inputs: []*Value{rows}, Initializers: []*Tensor{floats("w", 8, 24)},
			Nodes: []*Node{
				{Name: "a", Op: "Attention", Domain: "com.microsoft", Inputs: []string{"x", "w"}, Outputs: []string{"y"}},
				{Name: "b", Op: "MultiHeadAttention", Domain: "com.microsoft", Inputs: []string{"y", "y", "y"}, Outputs: []string{"z"}},
			},
		}, 192, "map[Attention:1360 MultiHeadAttention:400]", nil, nil}, // 5·8·24 + 2·5·5·8
		{"a loop", Graph{
			Inputs: []*Value{input("h0", Fixed(2), Fixed(8))}, Initializers: []*Tensor{ints("many", 100)},
			Nodes: []*Node{line("Loop", []string{"many", "", "h0"}, []string{"h", "all"}, Attr("body", body)), line("MatMul", []string{"h", "hT"}, []string{"end"}), line("MatMul", []string{"all", "h"}, []string{"never"})},
		}, 64, "map[MatMul:128]", []string{"the MatMul (MatMul)"}, []string{"the Loop"}},
		{"the branch with more work", Graph{
			Inputs: []*Value{rows}, Nodes: []*Node{line("If", []string{"c"}, []string{"y"}, Attr("then_branch", half(2)), Attr("else_branch", half(3))), line("MatMul", []string{"y", "y"}, []string{"z"})},
		}, 40, "map[MatMul:120]", []string{"the MatMul (MatMul)"}, nil},
		{"a scan", Graph{
			Inputs: []*Value{input("start", Fixed(8)), input("x", Fixed(7), Fixed(8))},
			Nodes:  []*Node{line("Scan", []string{"start", "x"}, []string{"end", "all"}, Attr("body", step), Attr("num_scan_inputs", int64(1))), line("MatMul", []string{"all", "end"}, []string{"z"})},
		}, 64, "map[MatMul:504]", nil, nil}, // 7·64 + 7·8
		{"what follows from data", Graph{
			Inputs: []*Value{rows}, Initializers: []*Tensor{floats("w", 8, 8)},
			Nodes: []*Node{line("NonZero", []string{"x"}, []string{"i"}), line("MatMul", []string{"i", "w"}, []string{"y"}), line("Relu", []string{"x"}, []string{"r"}), {Op: "Wonder", Domain: "mine", Inputs: []string{"r"}, Outputs: []string{"z"}}},
		}, 64, "map[]", []string{"the MatMul (MatMul)", "Wonder"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			inputs := map[string][]int64{}
			for _, v := range c.graph.Inputs {
				if v == rows {
					inputs["x"] = []int64{1, 5, 8}
				}
			}
			o := (&Model{Graph: &c.graph}).Operations(inputs)
			total := int64(0)
			for _, macs := range o.MACsOf {
				total += macs
			}
			if got := fmt.Sprint(o.MACsOf); got != c.macs || o.MACs != total || o.Parameters != c.parameters || !slices.Equal(o.Uncounted, c.uncounted) || !slices.Equal(o.Once, c.once) {
				t.Errorf("%s, %d parameters, uncounted %q, once %q; want %s, %d, %q, %q", got, o.Parameters, o.Uncounted, o.Once, c.macs, c.parameters, c.uncounted, c.once)
			}
		})
	}
}
