package onnx_test

import (
	"fmt"
	"log"

	"github.com/mlperf-go/mlperf/internal/onnx"
)

// An edit puts a node between two others: the names of values are all that joins them.
func Example() {
	m := &onnx.Model{
		IRVersion: 8, Opsets: []onnx.Opset{{Version: 17}}, Producer: "example",
		Graph: &onnx.Graph{
			Name: "small",
			Nodes: []*onnx.Node{
				{Name: "scale", Op: "Mul", Inputs: []string{"x", "factor"}, Outputs: []string{"scaled"}},
				{Name: "shift", Op: "Add", Inputs: []string{"scaled", "one"}, Outputs: []string{"y"}},
			},
			Initializers: []*onnx.Tensor{onnx.TensorOf("factor", []float32{2}), onnx.TensorOf("one", []float32{1})},
			Inputs:       []*onnx.Value{{Name: "x", Type: onnx.Type{Elem: onnx.Float32, Shape: onnx.Batched(3)}}},
			Outputs:      []*onnx.Value{{Name: "y", Type: onnx.Type{Elem: onnx.Float32, Shape: onnx.Batched(3)}}},
		},
	}
	index := m.Graph.Index()
	clipped := index.Unique("scaled")
	index.Consumers("scaled")[0].Inputs[0] = clipped
	m.Graph.Nodes = append(m.Graph.Nodes, &onnx.Node{Name: "clip", Op: "Relu", Inputs: []string{"scaled"}, Outputs: []string{clipped}})
	if err := m.Graph.Sort(); err != nil { // the new node is behind the one that reads it
		log.Fatal(err)
	}
	for _, n := range m.Graph.Nodes {
		fmt.Println(n.Op, n.Inputs, n.Outputs)
	}
	fmt.Println(m.Graph.Inputs[0], "→", m.Graph.Outputs[0], m.Check() == nil)
	// Output:
	// Mul [x factor] [scaled]
	// Relu [scaled] [scaled_1]
	// Add [scaled_1 one] [y]
	// x float32[N 3] → y float32[N 3] true
}
