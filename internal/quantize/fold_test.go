package quantize

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/onnx"
)

// differ returns the largest difference of two arrays, relative to the largest element.
func differ(a, b array) float64 {
	if len(a.data) != len(b.data) {
		return math.Inf(1)
	}
	largest, difference := 1e-30, 0.0
	for i, x := range a.data {
		largest = max(largest, math.Abs(x))
		difference = max(difference, math.Abs(x-b.data[i]))
	}
	return difference / largest
}

func TestPreparedModelsComputeTheSame(t *testing.T) {
	m := residualModel(t)
	before := encoded(t, m)
	p, err := Prepare(m)
	if err != nil {
		t.Fatal(err)
	}
	if encoded(t, m) != before {
		t.Error("Prepare changed the original")
	}
	if ops(p)["BatchNormalization"] != 0 || ops(m)["BatchNormalization"] != 1 {
		t.Errorf("the batch norm was not folded: %v", ops(p))
	}
	want, got := evaluate(t, m, image(1, 2), "logits:0"), evaluate(t, p, image(1, 2), "logits:0")
	if d := differ(want[0], got[0]); d > 1e-6 {
		t.Errorf("prepared, the result differs by %v", d)
	}
	again, err := Prepare(p)
	if err != nil || encoded(t, again) != encoded(t, p) {
		t.Errorf("preparing again changes the model (%v)", err)
	}
}

// convolution is a model of a convolution, 2 filters of 3 channels, and what is behind.
func convolution(behind []*onnx.Node, constants ...*onnx.Tensor) *onnx.Model {
	nodes := append([]*onnx.Node{node("Conv", "conv", []string{"x", "w", "b"}, "c")}, behind...)
	return handmade(13, nodes, append(constants,
		onnx.TensorOf("w", []float32{1, -2, 3, 0.5, 0.25, -1}, 2, 3, 1, 1), onnx.TensorOf("b", []float32{0.5, -1}, 2))...)
}

func TestArithmeticWithOneConstantForEachChannelIsFolded(t *testing.T) {
	perChannel := onnx.TensorOf("k", []float32{2, -4}, 1, 2, 1, 1)
	short := onnx.TensorOf("k", []float32{2, -4}, 2, 1, 1)
	scalar := onnx.TensorOf("k", []float32{3})
	for _, c := range []struct {
		name   string
		behind []*onnx.Node
		k      *onnx.Tensor
		folded int
	}{
		{"Mul", []*onnx.Node{node("Mul", "n", []string{"c", "k"}, "y")}, perChannel, 1},
		{"Mul from the left", []*onnx.Node{node("Mul", "n", []string{"k", "c"}, "y")}, perChannel, 1},
		{"Add without a batch axis", []*onnx.Node{node("Add", "n", []string{"c", "k"}, "y")}, short, 1},
		{"Sub", []*onnx.Node{node("Sub", "n", []string{"c", "k"}, "y")}, perChannel, 1},
		{"Div", []*onnx.Node{node("Div", "n", []string{"c", "k"}, "y")}, perChannel, 1},
		{"a scalar", []*onnx.Node{node("Mul", "n", []string{"c", "k"}, "y")}, scalar, 1},
		{"a chain", []*onnx.Node{
			node("Mul", "n", []string{"c", "k"}, "d"), node("Add", "o", []string{"k", "d"}, "e"), node("Div", "p", []string{"e", "k"}, "y"),
		}, perChannel, 3},
		{"Sub from the left stays", []*onnx.Node{node("Sub", "n", []string{"k", "c"}, "y")}, perChannel, 0},
		{"a constant along the width stays", []*onnx.Node{node("Add", "n", []string{"c", "k"}, "y")}, onnx.TensorOf("k", []float32{1, 2}, 2), 0},
		{"a value with two readers stays", []*onnx.Node{
			node("Mul", "n", []string{"c", "k"}, "d"), node("Add", "o", []string{"c", "d"}, "y"),
		}, perChannel, 0},
		{"a division by zero stays", []*onnx.Node{node("Div", "n", []string{"c", "k"}, "y")}, onnx.TensorOf("k", []float32{0}), 0},
	} {
		m := convolution(c.behind, c.k)
		x := floats([]float32{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, 1, 3, 2, 2)
		folded := clone(m)
		n, err := foldAffine(folded)
		if n != c.folded || err != nil {
			t.Errorf("%s: %d nodes were folded, %v, want %d", c.name, n, err, c.folded)
		}
		if len(folded.Graph.Nodes) != len(m.Graph.Nodes)-n {
			t.Errorf("%s: %d nodes are left of %d", c.name, len(folded.Graph.Nodes), len(m.Graph.Nodes))
		}
		want, got := evaluate(t, m, x, "y"), evaluate(t, folded, x, "y")
		if d := differ(want[0], got[0]); d > 1e-6 {
			t.Errorf("%s: the result differs by %v", c.name, d)
		}
	}
}

func TestOnlyBatchNormsWithStatisticsForEachChannelAreFolded(t *testing.T) {
	for _, c := range []struct {
		name   string
		attrs  []onnx.Attribute
		folded int
	}{
		{"as in inference", []onnx.Attribute{onnx.Attr("training_mode", int64(0)), onnx.Attr("spatial", int64(1))}, 1},
		{"in training", []onnx.Attribute{onnx.Attr("training_mode", int64(1))}, 0},
		{"for each pixel", []onnx.Attribute{onnx.Attr("spatial", int64(0))}, 0},
	} {
		k := onnx.TensorOf("k", []float32{1, 2}, 2)
		m := convolution([]*onnx.Node{node("BatchNormalization", "n", []string{"c", "k", "k", "k", "k"}, "y", c.attrs...)}, k)
		if n, err := foldAffine(m); n != c.folded || err != nil {
			t.Errorf("%s: %d nodes were folded, %v, want %d", c.name, n, err, c.folded)
		}
	}
}

func TestBatchNormsFoldIntoTransposedConvolutionsByTheirOwnLayout(t *testing.T) {
	m := handmade(13, []*onnx.Node{
		node("ConvTranspose", "up", []string{"x", "w"}, "c", onnx.Attr("group", int64(2))), node("Mul", "n", []string{"c", "k"}, "y"),
	}, onnx.TensorOf("w", []float32{1, 2, 3, 4}, 4, 1, 1, 1), onnx.TensorOf("k", []float32{10, 100}, 2, 1, 1))
	if n, err := foldAffine(m); n != 1 || err != nil {
		t.Fatalf("%d nodes were folded, %v, want 1", n, err)
	}
	weights := m.Graph.Index().Initializer(find(t, m, "up").Inputs[1])
	got, err := onnx.Elements[float32](weights)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []float32{10, 20, 300, 400} { // two input channels make each of the two filters
		if got[i] != want {
			t.Errorf("weights are %v, want 10 20 300 400", got)
			break
		}
	}
}

// Element by element: [channels, filters of a group, kernel…], filter j of group g being g·filters+j.
func TestEveryWeightOfATransposedConvolutionIsScaledByItsFilter(t *testing.T) {
	const channels, groups, filters, kernel = 6, 2, 3, 4
	data := make([]float32, channels*filters*kernel)
	for i := range data {
		data[i] = float32(i + 1)
	}
	scale := []float32{1, 10, 100, 1000, 10_000, 100_000}
	m := handmade(13, []*onnx.Node{
		node("ConvTranspose", "up", []string{"x", "w"}, "c", onnx.Attr("group", int64(groups))), node("Mul", "n", []string{"c", "k"}, "y"),
	}, onnx.TensorOf("w", data, channels, filters, 2, 2), onnx.TensorOf("k", scale, groups*filters, 1, 1))
	if n, err := foldAffine(m); n != 1 || err != nil {
		t.Fatalf("%d nodes were folded, %v, want 1", n, err)
	}
	got, err := onnx.Elements[float32](m.Graph.Index().Initializer(find(t, m, "up").Inputs[1]))
	if err != nil {
		t.Fatal(err)
	}
	for c := range channels {
		for j := range filters {
			for p := range kernel {
				i := (c*filters+j)*kernel + p
				if want := data[i] * scale[c/(channels/groups)*filters+j]; got[i] != want {
					t.Errorf("channel %d, filter %d, place %d is %v, want %v", c, j, p, got[i], want)
				}
			}
		}
	}
}

func TestQuantizedAndBrokenModelsAreRefused(t *testing.T) {
	m, ranges := calibrated(t)
	q, _, err := Quantize(m, ranges, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Prepare(q); !errors.Is(err, errQuantized) {
		t.Errorf("preparing a quantised model fails with %v, want ErrQuantized", err)
	}
	if _, _, err := ToFloat16(q, Float16Options{}); !errors.Is(err, errQuantized) {
		t.Errorf("converting a quantised model fails with %v, want ErrQuantized", err)
	}
	broken := handmade(13, []*onnx.Node{node("Relu", "r", []string{"nothing"}, "y")})
	if _, err := Prepare(broken); err == nil || !strings.Contains(err.Error(), "nothing") {
		t.Errorf("preparing a broken model fails with %v, want the missing value", err)
	}
}

func TestHeadsOfPooledFeaturesBecomeMatrixProducts(t *testing.T) {
	weights := onnx.TensorOf("w", []float32{1, 2, 3, 4, 5, 6}, 2, 3, 1, 1)
	head := func(attrs ...onnx.Attribute) *onnx.Model {
		return handmade(13, []*onnx.Node{
			node("GlobalAveragePool", "pool", []string{"x"}, "p"), node("Conv", "head", []string{"p", "w", "b"}, "y", attrs...),
		}, weights, onnx.TensorOf("b", []float32{1, -1}, 2))
	}
	x := floats([]float32{1, 2, 3, 4, 5, 6}, 1, 3, 1, 2)
	p, err := Prepare(head())
	if err != nil {
		t.Fatal(err)
	}
	if find(t, p, "head").Op != "Gemm" {
		t.Errorf("the head is %s, want Gemm", find(t, p, "head").Op)
	}
	want, got := evaluate(t, head(), x, "y")[0], evaluate(t, p, x, "y")[0]
	if d := differ(want, got); d > 1e-6 || len(got.shape) != 4 {
		t.Errorf("as a product the result differs by %v, its shape is %v, want %v", d, got.shape, want.shape)
	}
	p, err = Prepare(head(onnx.Attr("pads", []int64{1, 1, 1, 1})))
	if err != nil || find(t, p, "head").Op != "Conv" {
		t.Errorf("a head with padding is %s, %v, want Conv", find(t, p, "head").Op, err)
	}
}
