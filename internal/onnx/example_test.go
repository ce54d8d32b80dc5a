package onnx_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/mlperf-go/mlperf/internal/onnx"
)

// small is a model that scales its input and adds one.
func small() *onnx.Model {
	return &onnx.Model{
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
}

// temporary is a folder that the example removes.
func temporary() (folder string, remove func()) {
	folder, err := os.MkdirTemp("", "onnx")
	if err != nil {
		log.Fatal(err)
	}
	return folder, func() { _ = os.RemoveAll(folder) }
}

// An edit puts a node between two others: the names of values are all that joins them.
func Example() {
	m := small()
	index := m.Graph.Index()
	clipped := index.Unique("scaled")
	m.Graph.ReplaceUses("scaled", clipped)
	m.Graph.Nodes = append(m.Graph.Nodes, &onnx.Node{Name: "clip", Op: "Relu", Inputs: []string{"scaled"}, Outputs: []string{clipped}})
	if err := m.Graph.Sort(); err != nil { // the new node is behind the one that reads it
		log.Fatal(err)
	}
	for _, n := range m.Graph.Nodes {
		fmt.Println(n.Op, n.Inputs, n.Outputs)
	}
	fmt.Println("sound:", m.Check() == nil)
	// Output:
	// Mul [x factor] [scaled]
	// Relu [scaled] [scaled_1]
	// Add [scaled_1 one] [y]
	// sound: true
}

func ExampleModel_Check() {
	m := small()
	m.Graph.Nodes[1].Inputs[1] = "two"
	m.Graph.Nodes[1].Domain = "com.example"
	fmt.Println(m.Check())
	// Output:
	// Add "shift": the model imports no operators of domain "com.example"
	// Add "shift" reads "two", which no earlier node defines
}

func ExampleGraph_Prune() {
	g := small().Graph
	g.Outputs[0].Name = "scaled" // nobody needs the rest
	g.Prune()
	fmt.Println(len(g.Nodes), "node,", len(g.Initializers), "initializer:", g.Initializers[0].Name)
	// Output: 1 node, 1 initializer: factor
}

func ExampleAttrOr() {
	n := &onnx.Node{Op: "Conv", Attributes: []onnx.Attribute{onnx.Attr("strides", []int64{2, 2})}}
	fmt.Println(onnx.AttrOr(n, "strides", []int64{1, 1}), onnx.AttrOr(n, "group", int64(1)))
	n.SetAttr("group", int64(32))
	n.DropAttr("strides")
	fmt.Println(onnx.AttrOr(n, "strides", []int64{1, 1}), onnx.AttrOr(n, "group", int64(1)))
	// Output:
	// [2 2] 1
	// [1 1] 32
}

func ExampleElements() {
	w := onnx.TensorOf("weights", []int8{1, -2, 3, -4}, 2, 2)
	elements, err := onnx.Elements[int8](w)
	fmt.Println(elements, err)
	_, err = onnx.Elements[float32](w)
	fmt.Println(err)
	w.Dims = []int64{3}
	_, err = onnx.Elements[int8](w)
	fmt.Println(err)
	// Output:
	// [1 -2 3 -4] <nil>
	// tensor "weights" has int8 elements, not float32
	// tensor "weights" of int8[3] holds 4 bytes, want 3
}

// The head is read in a moment, whatever the size of the weights.
func ExampleReadHead() {
	folder, remove := temporary()
	defer remove()
	path := filepath.Join(folder, "small.onnx")
	if err := small().WriteFile(context.Background(), path); err != nil {
		log.Fatal(err)
	}
	head, err := onnx.ReadHead(path)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(head.Producer, "made", head.Inputs[0], "→", head.Outputs[0], "of", head.Opset())
	// Output: example made x float32[N 3] → y float32[N 3] of opset 17
}

// Weights that are too many for one file lie beside it; who reads the model need not know.
func ExampleModel_WriteFileBeside() {
	folder, remove := temporary()
	defer remove()
	m := small()
	m.Graph.Initializers[0] = onnx.TensorOf("factor", make([]float32, 3000), 1000, 3)
	path := filepath.Join(folder, "large.onnx")
	if err := m.WriteFileBeside(context.Background(), path); err != nil {
		log.Fatal(err)
	}
	print, err := onnx.FingerprintOf(context.Background(), path)
	if err != nil {
		log.Fatal(err)
	}
	whole, err := onnx.ReadWhole(path)
	if err != nil {
		log.Fatal(err)
	}
	weights, err := onnx.Elements[float32](whole.Graph.Index().Initializer("factor"))
	fmt.Println(print.Data, len(weights), err)
	// Output: [large.onnx.data] 3000 <nil>
}

func ExampleShape() {
	image := onnx.Batched(3, 224, 224)
	fmt.Println(image, image.PerSample(), "numbers a sample")
	fmt.Println(onnx.Shape(nil), onnx.Shape{}, onnx.Shape{onnx.Free("N"), onnx.Fixed(10), {Size: -1}})
	// Output:
	// [N 3 224 224] 150528 numbers a sample
	// […] [] [N 10 ?]
}
