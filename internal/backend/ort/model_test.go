package ort

import (
	"encoding/binary"

	format "github.com/mlperf-go/mlperf/internal/onnx"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// The tests make their models themselves, from the few messages of onnx.proto that they need.

// A message is protobuf under construction.
type message []byte

func (m message) number(field int, v uint64) message {
	m = binary.AppendUvarint(m, uint64(field)<<3)
	return binary.AppendUvarint(m, v)
}

func (m message) bytes(field int, b []byte) message {
	m = binary.AppendUvarint(m, uint64(field)<<3|2)
	m = binary.AppendUvarint(m, uint64(len(b)))
	return append(m, b...)
}

func (m message) text(field int, s string) message { return m.bytes(field, []byte(s)) }

// onnxPort is a ValueInfoProto; an axis is a number or the name of a free one.
func onnxPort(name string, t tensor.DType, axes ...any) message {
	var shape message
	for _, axis := range axes {
		var dim message
		switch axis := axis.(type) {
		case int:
			dim = dim.number(1, uint64(axis))
		case string:
			dim = dim.text(2, axis)
		}
		shape = shape.bytes(1, dim)
	}
	return onnxPortOfType(name, uint64(format.ElemTypeOf(t)), shape)
}

func onnxPortOfType(name string, element uint64, shape message) message {
	tensorType := message{}.number(1, element)
	if shape != nil || name != "shapeless" {
		tensorType = tensorType.bytes(2, shape)
	}
	return message{}.text(1, name).bytes(2, message{}.bytes(1, tensorType))
}

// onnxNode is a NodeProto named after its operator.
func onnxNode(operator string, inputs, outputs []string) message {
	var n message
	for _, in := range inputs {
		n = n.text(1, in)
	}
	for _, out := range outputs {
		n = n.text(2, out)
	}
	return n.text(3, "my_"+operator).text(4, operator)
}

// onnxGraph holds what a model is made of.
type onnxGraph struct {
	nodes, inputs, outputs, weights []message
	opset                           uint64 // 0: 17
	irVersion                       uint64 // 0: 8
	contrib                         bool   // it has operators of com.microsoft
}

func (g onnxGraph) encode() []byte {
	var graph message
	for _, n := range g.nodes {
		graph = graph.bytes(1, n)
	}
	graph = graph.text(2, "test")
	for _, w := range g.weights {
		graph = graph.bytes(5, w)
	}
	for _, in := range g.inputs {
		graph = graph.bytes(11, in)
	}
	for _, out := range g.outputs {
		graph = graph.bytes(12, out)
	}
	opset, ir := g.opset, g.irVersion
	if opset == 0 {
		opset = 17
	}
	if ir == 0 {
		ir = 8
	}
	m := message{}.number(1, ir).text(2, "test maker").bytes(7, graph).
		bytes(8, message{}.text(1, "").number(2, opset))
	if g.contrib {
		m = m.bytes(8, message{}.text(1, "com.microsoft").number(2, 1))
	}
	return m
}

// weight is a TensorProto of float32.
func weight(name string, values []float32, dims ...int) message {
	var m message
	for _, d := range dims {
		m = m.number(1, uint64(d))
	}
	raw := make([]byte, 0, 4*len(values))
	for _, v := range values {
		raw, _ = binary.Append(raw, binary.LittleEndian, v)
	}
	return m.number(2, 1).text(8, name).bytes(9, raw)
}

// doubled is y = x + x for float32 rows of four, in two nodes.
func doubled(batch any) onnxGraph {
	return onnxGraph{
		nodes: []message{
			onnxNode("Identity", []string{"x"}, []string{"h"}),
			onnxNode("Add", []string{"h", "x"}, []string{"y"}),
		},
		inputs:  []message{onnxPort("x", tensor.Float32, batch, 4)},
		outputs: []message{onnxPort("y", tensor.Float32, batch, 4)},
	}
}
