package quantize

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/networks"
	"github.com/mlperf-go/mlperf/internal/onnx"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// residualModel has everything that classifiers are made of: a stem with batch norm, a
// residual block, pooling, a depthwise convolution with Relu6, and a dense layer.
func residualModel(t testing.TB) *onnx.Model {
	t.Helper()
	b := networks.NewBuilder("residual", 7)
	x := b.Input("image", onnx.Float32, onnx.Batched(3, 12, 12))
	x = b.Conv("stem", x, networks.Conv{Filters: 8, Kernel: networks.Axes{3}, Strides: networks.Axes{2}, Pads: networks.Pad(1)})
	x = b.Relu("stem/relu", b.BatchNorm("stem/norm", x, networks.BatchNorm{
		Gamma: networks.Uniform{Low: 0.5, High: 2}, Beta: networks.Uniform{Low: -0.5, High: 0.5},
		Mean: networks.Uniform{Low: -0.1, High: 0.1}, Variance: networks.Uniform{Low: 0.5, High: 2}, Epsilon: 1e-3,
	}))
	y := b.Conv("block", x, networks.Conv{Filters: 8, Kernel: networks.Axes{3}, Pads: networks.Pad(1), Bias: networks.Uniform{Low: -1, High: 1}})
	x = b.Relu("block/relu", b.Add("block/add", x, y))
	x = b.MaxPool("pool", x, networks.Pool{Kernel: networks.Axes{2}, Strides: networks.Axes{2}})
	x = b.Relu6("depthwise/relu6", b.Conv("depthwise", x, networks.Conv{Filters: 8, Groups: 8, Kernel: networks.Axes{3}, Pads: networks.Pad(1)}))
	x = b.Flatten("features", b.GlobalAveragePool("mean", x))
	b.Output(b.Dense("logits", x, networks.Dense{Units: 5, Bias: networks.Uniform{Low: -1, High: 1}}))
	return built(t, b)
}

func built(t testing.TB, b *networks.Builder) *onnx.Model {
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
	a := newArray(onnx.Float32, batch, 3, 12, 12)
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
func calibrated(t testing.TB) (*onnx.Model, Ranges) {
	t.Helper()
	m := residualModel(t)
	ranges, err := Calibrate(t.Context(), m, calibration(4, 4), Method{Name: MinMax})
	if err != nil {
		t.Fatal(err)
	}
	return m, ranges
}

// ops counts a graph's nodes by operator.
func ops(m *onnx.Model) map[string]int {
	counts := make(map[string]int)
	for _, n := range m.Graph.Nodes {
		counts[n.Op]++
	}
	return counts
}

// handmade returns a model of given nodes, from x to y, with constants.
func handmade(opset int64, nodes []*onnx.Node, constants ...*onnx.Tensor) *onnx.Model {
	value := func(name string) []*onnx.Value {
		return []*onnx.Value{{Name: name, Type: onnx.Type{Elem: onnx.Float32}}}
	}
	return &onnx.Model{
		IRVersion: 7, Opsets: []onnx.Opset{{Version: opset}},
		Graph: &onnx.Graph{Name: "handmade", Nodes: nodes, Initializers: constants, Inputs: value("x"), Outputs: value("y")},
	}
}

func node(op, name string, inputs []string, output string, attrs ...onnx.Attribute) *onnx.Node {
	return &onnx.Node{Op: op, Name: name, Inputs: inputs, Outputs: []string{output}, Attributes: attrs}
}

// find returns the node of a name.
func find(t testing.TB, m *onnx.Model, name string) *onnx.Node {
	t.Helper()
	i := slices.IndexFunc(m.Graph.Nodes, func(n *onnx.Node) bool { return n.Name == name })
	if i < 0 {
		t.Fatalf("there is no node %q", name)
	}
	return m.Graph.Nodes[i]
}

// encoded is a model as a file, to see whether it was changed.
func encoded(t testing.TB, m *onnx.Model) string {
	t.Helper()
	var raw strings.Builder
	if _, err := m.WriteTo(&raw); err != nil {
		t.Fatal(err)
	}
	return raw.String()
}
