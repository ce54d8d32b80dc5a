package quantize

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/onnx"
	"github.com/mlperf-go/mlperf/internal/onnx/arch"
)

// residualModel has everything that classifiers are made of: a stem with batch norm, a
// residual block, pooling, a depthwise convolution with Relu6, and a dense layer.
func residualModel(t testing.TB) *onnx.Model {
	t.Helper()
	b := arch.NewBuilder("residual", 7)
	x := b.Input("image", onnx.Float32, onnx.Batched(3, 12, 12))
	x = b.Conv("stem", x, arch.Conv{Filters: 8, Kernel: arch.Axes{3}, Strides: arch.Axes{2}, Pads: arch.Pad(1)})
	x = b.Relu("stem/relu", b.BatchNorm("stem/norm", x, arch.BatchNorm{
		Gamma: arch.Uniform{Low: 0.5, High: 2}, Beta: arch.Uniform{Low: -0.5, High: 0.5},
		Mean: arch.Uniform{Low: -0.1, High: 0.1}, Variance: arch.Uniform{Low: 0.5, High: 2}, Epsilon: 1e-3,
	}))
	y := b.Conv("block", x, arch.Conv{Filters: 8, Kernel: arch.Axes{3}, Pads: arch.Pad(1), Bias: arch.Uniform{Low: -1, High: 1}})
	x = b.Relu("block/relu", b.Add("block/add", x, y))
	x = b.MaxPool("pool", x, arch.Pool{Kernel: arch.Axes{2}, Strides: arch.Axes{2}})
	x = b.Relu6("depthwise/relu6", b.Conv("depthwise", x, arch.Conv{Filters: 8, Groups: 8, Kernel: arch.Axes{3}, Pads: arch.Pad(1)}))
	x = b.Flatten("features", b.GlobalAveragePool("mean", x))
	b.Output(b.Dense("logits", x, arch.Dense{Units: 5, Bias: arch.Uniform{Low: -1, High: 1}}))
	return built(t, b)
}

// recurrentModel has an LSTM with its weights behind a Reshape, two products of many columns and one of few.
func recurrentModel(t testing.TB) *onnx.Model {
	t.Helper()
	float := func(name string, dims ...onnx.Dim) *onnx.Value {
		return &onnx.Value{Name: name, Type: onnx.Type{Elem: onnx.Float32, Shape: dims}}
	}
	free := onnx.Free("n")
	m := handmade(17, []*onnx.Node{
		node("Reshape", "form", []string{"w", "shape"}, "w3"),
		node("LSTM", "lstm", []string{"x", "w3", "r", "b"}, "y4", onnx.Attr("hidden_size", int64(8))),
		node("Squeeze", "squeeze", []string{"y4", "axes"}, "s"),
		node("MatMul", "product", []string{"s", "wide"}, "p"),
		node("Reshape", "flat", []string{"p", "flatten"}, "p2"),
		node("Gemm", "gemm", []string{"p2", "turned", "bias"}, "q", onnx.Attr("transB", int64(1)), onnx.Attr("alpha", float32(2))),
		node("MatMul", "small", []string{"q", "narrow"}, "y"),
	},
		numbers("w", 32, 4), numbers("r", 1, 32, 8), numbers("b", 1, 64), onnx.TensorOf("shape", []int64{1, 32, 4}, 3),
		onnx.TensorOf("axes", []int64{1}, 1), numbers("wide", 8, 24), numbers("turned", 24, 24), numbers("bias", 24), numbers("narrow", 24, 2),
		onnx.TensorOf("flatten", []int64{-1, 24}, 2))
	m.IRVersion = 8
	m.Graph.Inputs = []*onnx.Value{float("x", free, free, onnx.Fixed(4))}
	m.Graph.Outputs = []*onnx.Value{float("y", free, onnx.Fixed(2)), float("q", free, onnx.Fixed(24))}
	if err := m.Check(); err != nil {
		t.Fatal(err)
	}
	return m
}

// detector is a model whose last layer's results go to non-maximum suppression.
func detector() *onnx.Model {
	return handmade(13, []*onnx.Node{
		node("Conv", "boxes", []string{"x", "w"}, "encoded"), node("Mul", "decode", []string{"encoded", "anchors"}, "corners"),
		node("Conv", "scores", []string{"x", "w"}, "logits"), node("Sigmoid", "sigmoid", []string{"logits"}, "probabilities"),
		node("NonMaxSuppression", "nms", []string{"corners", "probabilities"}, "chosen"),
		node("GatherND", "gather", []string{"corners", "chosen"}, "y"), node("Relu", "side", []string{"encoded"}, "other"),
	}, onnx.TensorOf("w", []float32{1, 2}, 1, 2, 1, 1), onnx.TensorOf("anchors", []float32{300}))
}

// numbers are random ones of a name and a shape.
func numbers(name string, dims ...int64) *onnx.Tensor {
	n := int64(1)
	for _, d := range dims {
		n *= d
	}
	rng := rand.New(rand.NewPCG(uint64(len(name)), uint64(n)))
	data := make([]float32, n)
	for i := range data {
		data[i] = float32(rng.NormFloat64())
	}
	return onnx.TensorOf(name, data, dims...)
}

func built(t testing.TB, b *arch.Builder) *onnx.Model {
	t.Helper()
	m, _, err := b.Model()
	if err != nil {
		t.Fatal(err)
	}
	return m
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

// anyRanges are ranges of all values of a model, as if it had been calibrated.
func anyRanges(m *onnx.Model) ranges {
	r := ranges{Method: MinMax, Samples: 1, Values: map[string]Range{}, Means: map[string][]float32{}}
	p, err := prepare(m)
	if err != nil {
		return r
	}
	plan := newPlan(p, Options{})
	for _, name := range plan.values() {
		r.Values[name] = Range{-1, 2}
	}
	for _, c := range plan.channelMeans() {
		if c.count < 1<<20 {
			r.Means[c.value] = make([]float32, c.count)
		}
	}
	return r
}

// ops counts a graph's nodes by operator.
func ops(m *onnx.Model) map[string]int {
	counts := make(map[string]int)
	for _, n := range m.Graph.Nodes {
		counts[n.Op]++
	}
	return counts
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

// replace puts a constant in the place of one of the same name.
func replace(g *onnx.Graph, t *onnx.Tensor) {
	g.Initializers[slices.IndexFunc(g.Initializers, func(old *onnx.Tensor) bool { return old.Name == t.Name })] = t
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
