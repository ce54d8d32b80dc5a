package ort

import (
	"bytes"
	"cmp"

	format "github.com/mlperf-go/mlperf/internal/onnx"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// A graph is a small model for a test.
type graph struct {
	nodes           []*format.Node
	inputs, outputs []*format.Value
	weights         []*format.Tensor
	opset           int64 // 0: 17
	irVersion       int64 // 0: 8
}

// encode is the content of the model's file.
func (g graph) encode() []byte {
	m := format.Model{
		IRVersion: cmp.Or(g.irVersion, 8), Producer: "test maker",
		Opsets: []format.Opset{{Version: cmp.Or(g.opset, 17)}},
		Graph:  &format.Graph{Name: "test", Nodes: g.nodes, Inputs: g.inputs, Outputs: g.outputs, Initializers: g.weights},
	}
	for _, n := range g.nodes {
		if n.Domain != "" {
			m.Opsets = append(m.Opsets, format.Opset{Domain: n.Domain, Version: 1})
		}
	}
	var file bytes.Buffer
	if _, err := m.WriteTo(&file); err != nil {
		panic(err)
	}
	return file.Bytes()
}

// port is an input or output; an axis is a number or the name of a free one.
func port(name string, t tensor.DType, axes ...any) *format.Value {
	shape := format.Shape{}
	for _, axis := range axes {
		switch axis := axis.(type) {
		case int:
			shape = append(shape, format.Fixed(int64(axis)))
		case string:
			shape = append(shape, format.Free(axis))
		}
	}
	return &format.Value{Name: name, Type: format.Type{Elem: format.ElemTypeOf(t), Shape: shape}}
}

// shapeless is an output of float32 whose shape the file leaves out.
func shapeless() *format.Value {
	return &format.Value{Name: "shapeless", Type: format.Type{Elem: format.Float32}}
}

// sequence is an output that is a sequence of tensors of float32.
func sequence() *format.Value {
	return &format.Value{Name: "seq", Type: format.Type{Extra: "\x22\x06\x0a\x04\x0a\x02\x08\x01"}}
}

// node has a name after its operator.
func node(operator string, inputs, outputs []string, attributes ...format.Attribute) *format.Node {
	return &format.Node{Name: "my_" + operator, Op: operator, Inputs: inputs, Outputs: outputs, Attributes: attributes}
}

// doubled is y = x + x for float32 rows of four, in two nodes.
func doubled(batch any) graph {
	return graph{
		nodes: []*format.Node{
			node("Identity", []string{"x"}, []string{"h"}),
			node("Add", []string{"h", "x"}, []string{"y"}),
		},
		inputs:  []*format.Value{port("x", tensor.Float32, batch, 4)},
		outputs: []*format.Value{port("y", tensor.Float32, batch, 4)},
	}
}
