package networks_test

import (
	"fmt"

	"github.com/mlperf-go/mlperf/internal/networks"
	"github.com/mlperf-go/mlperf/internal/onnx"
)

// Build an architecture and look at it; no weight is made for that.
func Example() {
	a, err := networks.Lookup("resnet50")
	if err != nil {
		fmt.Println(err)
		return
	}
	m, stats, err := a.Build(networks.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	size, err := m.EncodedSize()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(m.Graph.Inputs[0], "→", m.Graph.Outputs[0], m.Graph.Outputs[1])
	fmt.Printf("%d nodes, %.1f M parameters, %.2f G MACs, %.1f MB\n",
		len(m.Graph.Nodes), float64(stats.Parameters)/1e6, float64(stats.MACs)/1e9, float64(size)/1e6)
	// Output:
	// input_tensor:0 float32[N 3 224 224] → ArgMax:0 int64[N] softmax_tensor:0 float32[N 1001]
	// 177 nodes, 25.6 M parameters, 4.09 G MACs, 102.5 MB
}

// Write a network of one's own.
func ExampleBuilder() {
	b := networks.NewBuilder("tiny", 1)
	x := b.Input("image", onnx.Float32, onnx.Batched(3, 32, 32))
	x = b.Conv("conv", x, networks.Conv{Filters: 8, Kernel: networks.Axes{3}, Strides: networks.Axes{2}, Pads: networks.PadSame()})
	x = b.Relu("relu", x)
	x = b.Dense("scores", b.Flatten("flat", x), networks.Dense{Units: 10})
	b.Output(x)
	m, stats, err := b.Model()
	fmt.Println(m.Graph.Outputs[0], stats.Parameters, stats.MACs, err)
	// Output:
	// scores:0 float32[N 10] 20706 75776 <nil>
}

// Put a node between two others.
func Example_edit() {
	a, _ := networks.Lookup("mobilenet")
	m, _, _ := a.Build(networks.Options{})
	index := m.Graph.Index()
	for _, n := range m.Graph.Nodes {
		if n.Op == "Softmax" {
			from := index.Producer(n.Input(0))
			fmt.Println(n.Op, "reads", from.Op, "and nothing else reads that:", len(index.Consumers(from.Outputs[0])) == 1)
			added := index.Unique(from.Name + "/identity")
			m.Graph.ReplaceUses(from.Outputs[0], added)
			m.Graph.Nodes = append(m.Graph.Nodes, &onnx.Node{Op: "Identity", Inputs: from.Outputs, Outputs: []string{added}})
		}
	}
	fmt.Println(m.Check() != nil, m.Graph.Sort(), m.Check())
	// Output:
	// Softmax reads Flatten and nothing else reads that: true
	// true <nil> <nil>
}
