package arch_test

import (
	"fmt"

	"github.com/mlperf-go/mlperf/internal/onnx"
	"github.com/mlperf-go/mlperf/internal/onnx/arch"
)

// Build an architecture and look at it; no weight is made for that.
func Example() {
	m, stats, err := arch.ResNet50().Build(arch.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(m.Graph.Inputs[0], "→", m.Graph.Outputs[0], m.Graph.Outputs[1])
	fmt.Printf("%d nodes, %.1f M parameters, %.2f G MACs\n", len(m.Graph.Nodes), float64(stats.Parameters)/1e6, float64(stats.MACs)/1e9)
	// Output:
	// input_tensor:0 float32[N 3 224 224] → ArgMax:0 int64[N] softmax_tensor:0 float32[N 1001]
	// 177 nodes, 25.6 M parameters, 4.09 G MACs
}

// Write a network of one's own.
func ExampleBuilder() {
	b := arch.NewBuilder("tiny", 1)
	x := b.Input("image", onnx.Float32, onnx.Batched(3, 32, 32))
	x = b.Conv("conv", x, arch.Conv{Filters: 8, Kernel: arch.Axes{3}, Strides: arch.Axes{2}, Pads: arch.PadSame()})
	x = b.Relu("relu", x)
	x = b.Dense("scores", b.Flatten("flat", x), arch.Dense{Units: 10})
	b.Output(x)
	m, stats, err := b.Model()
	fmt.Println(m.Graph.Outputs[0], stats.Parameters, stats.MACs, err)
	// Output:
	// scores:0 float32[N 10] 20706 75776 <nil>
}
