package quantize

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/mlperf-go/mlperf/internal/onnxgraph"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// residualModel has everything that classifiers are made of: a stem with batch norm, a
// residual block, pooling, a depthwise convolution with Relu6, and a dense layer.
func residualModel(t testing.TB) *onnxgraph.Model {
	t.Helper()
	b := onnxgraph.NewBuilder("residual", 7)
	x := b.Input("image", onnxgraph.Float32, onnxgraph.Batched(3, 12, 12))
	x = b.Conv("stem", x, onnxgraph.Conv{Filters: 8, Kernel: onnxgraph.Axes{3}, Strides: onnxgraph.Axes{2}, Pads: onnxgraph.Pad(1)})
	x = b.Relu("stem/relu", b.BatchNorm("stem/norm", x, onnxgraph.BatchNorm{
		Gamma: onnxgraph.Uniform{Low: 0.5, High: 2}, Beta: onnxgraph.Uniform{Low: -0.5, High: 0.5},
		Mean: onnxgraph.Uniform{Low: -0.1, High: 0.1}, Variance: onnxgraph.Uniform{Low: 0.5, High: 2}, Epsilon: 1e-3,
	}))
	y := b.Conv("block", x, onnxgraph.Conv{Filters: 8, Kernel: onnxgraph.Axes{3}, Pads: onnxgraph.Pad(1), Bias: onnxgraph.Uniform{Low: -1, High: 1}})
	x = b.Relu("block/relu", b.Add("block/add", x, y))
	x = b.MaxPool("pool", x, onnxgraph.Pool{Kernel: onnxgraph.Axes{2}, Strides: onnxgraph.Axes{2}})
	x = b.Relu6("depthwise/relu6", b.Conv("depthwise", x, onnxgraph.Conv{Filters: 8, Groups: 8, Kernel: onnxgraph.Axes{3}, Pads: onnxgraph.Pad(1)}))
	x = b.Flatten("features", b.GlobalAveragePool("mean", x))
	b.Output(b.Dense("logits", x, onnxgraph.Dense{Units: 5, Bias: onnxgraph.Uniform{Low: -1, High: 1}}))
	return built(t, b)
}

func built(t testing.TB, b *onnxgraph.Builder) *onnxgraph.Model {
	t.Helper()
	m, _, err := b.Model()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// image is a random input of residualModel.
func image(seed uint64, batch int64) array {
	rng := rand.New(rand.NewPCG(seed, 0))
	a := newArray(onnxgraph.Float32, batch, 3, 12, 12)
	for i := range a.data {
		a.data[i] = rng.NormFloat64()
	}
	return a.round()
}

// images are batches of random inputs of residualModel.
func images(sizes ...int64) Samples {
	return func(yield func([]tensor.Tensor, error) bool) {
		for i, n := range sizes {
			a := image(uint64(i), n)
			if !yield([]tensor.Tensor{tensor.Of(a.float32s(), a.shape...)}, nil) {
				return
			}
		}
	}
}

func calibration(sizes ...int64) Calibration {
	return Calibration{Engine: &interpreter{}, Samples: images(sizes...)}
}

// calibrated returns residualModel with ranges.
func calibrated(t testing.TB) (*onnxgraph.Model, Ranges) {
	t.Helper()
	m := residualModel(t)
	ranges, err := Calibrate(t.Context(), m, calibration(4, 4), Method{Name: MinMax})
	if err != nil {
		t.Fatal(err)
	}
	return m, ranges
}

// ops counts a graph's nodes by operator.
func ops(m *onnxgraph.Model) map[string]int {
	counts := make(map[string]int)
	for _, n := range m.Graph.Nodes {
		counts[n.Op]++
	}
	return counts
}

// handmade returns a model of given nodes, from x to y, with constants.
func handmade(opset int64, nodes []*onnxgraph.Node, constants ...*onnxgraph.Tensor) *onnxgraph.Model {
	value := func(name string) []*onnxgraph.Value {
		return []*onnxgraph.Value{{Name: name, Type: onnxgraph.Type{Elem: onnxgraph.Float32}}}
	}
	return &onnxgraph.Model{
		IRVersion: 7, Opsets: []onnxgraph.Opset{{Version: opset}},
		Graph: &onnxgraph.Graph{Name: "handmade", Nodes: nodes, Initializers: constants, Inputs: value("x"), Outputs: value("y")},
	}
}

func node(op, name string, inputs []string, output string, attrs ...onnxgraph.Attribute) *onnxgraph.Node {
	return &onnxgraph.Node{Op: op, Name: name, Inputs: inputs, Outputs: []string{output}, Attributes: attrs}
}

// find returns the node of a name.
func find(t testing.TB, m *onnxgraph.Model, name string) *onnxgraph.Node {
	t.Helper()
	i := slices.IndexFunc(m.Graph.Nodes, func(n *onnxgraph.Node) bool { return n.Name == name })
	if i < 0 {
		t.Fatalf("there is no node %q", name)
	}
	return m.Graph.Nodes[i]
}

// encoded is a model as a file, to see whether it was changed.
func encoded(t testing.TB, m *onnxgraph.Model) string {
	t.Helper()
	raw, err := onnxgraph.Encode(m)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
