//go:build ort && cgo

package quantize

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/backend/ort/orttest"
	"github.com/mlperf-go/mlperf/internal/builtin/synth"
	"github.com/mlperf-go/mlperf/internal/machine"
	"github.com/mlperf-go/mlperf/internal/onnx"
	"github.com/mlperf-go/mlperf/internal/onnx/arch"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// These tests run models in ONNX Runtime, small ones but for the last two.

// fitting are options with the weights that this processor wants, as package convert chooses them: without VNNI the products of
// eight bits overflow.
func fitting(o Options) Options {
	o.SevenBitWeights = o.SevenBitWeights || !machine.FastInt8()
	return o
}

func recipe() Recipe { return Recipe{Options: fitting(Options{})} }

// random is a batch of random numbers.
func random(seed uint64, dims ...int64) tensor.Tensor {
	rng := rand.New(rand.NewPCG(seed, 0))
	x := tensor.New(tensor.Float32, dims...)
	for i, data := 0, tensor.Data[float32](x); i < len(data); i++ {
		data[i] = float32(rng.NormFloat64())
	}
	return x
}

func image(seed uint64, batch int64) tensor.Tensor { return random(seed, batch, 3, 12, 12) }

// images are batches of random inputs of residualModel.
func images(sizes ...int64) Samples {
	return func(yield func([]tensor.Tensor, error) bool) {
		for i, n := range sizes {
			if !yield([]tensor.Tensor{image(uint64(i), n)}, nil) {
				return
			}
		}
	}
}

// evaluate runs a model once and returns some of its values.
func evaluate(t testing.TB, e backend.Engine, m *onnx.Model, x tensor.Tensor, names ...string) [][]float32 {
	t.Helper()
	c := Calibration{Engine: e, Samples: func(yield func([]tensor.Tensor, error) bool) { yield([]tensor.Tensor{x}, nil) }}
	var values [][]float32
	err := c.Pass(t.Context(), valuesModel(m, names), func(outputs []tensor.Tensor, _ int) error {
		for _, o := range outputs {
			values = append(values, slices.Clone(tensor.Data[float32](o)))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return values
}

// decibelsBetween is how much larger a signal is than how much another one differs.
func decibelsBetween(want, got []float32) float64 {
	power, noise := 0.0, 0.0
	for i, w := range want {
		power += float64(w) * float64(w)
		noise += math.Pow(float64(got[i])-float64(w), 2)
	}
	return decibels([]float64{power}, []float64{noise})
}

// kernelsOf counts the nodes that the engine makes of a model, by operator.
func kernelsOf(t testing.TB, e backend.Engine, m *onnx.Model) map[string]int {
	t.Helper()
	path := filepath.Join(t.TempDir(), "optimised.onnx")
	c := Calibration{Engine: e, Backend: backend.Options{OptimizedModel: path}, Samples: images()}
	if err := c.Pass(t.Context(), m, nil); err == nil || !strings.Contains(err.Error(), "no samples") {
		t.Fatal(err)
	}
	optimised, err := onnx.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return ops(optimised)
}

func TestORTCalibrate(t *testing.T) {
	e := orttest.Engine(t)
	p, err := prepare(residualModel(t))
	if err != nil {
		t.Fatal(err)
	}
	r, err := calibrate(t.Context(), p, Calibration{Engine: e, Samples: images(1, 3)}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if r.Samples != 4 || len(r.Values) != 8 {
		t.Errorf("%d samples and %d values were seen, want 4 and 8", r.Samples, len(r.Values))
	}
	want := map[string]Range{}
	means := make([]float64, 3)
	for i, n := range []int64{1, 3} {
		for j, x := range tensor.Data[float32](image(uint64(i), n)) {
			means[j/144%3] += float64(x) / (4 * 144)
		}
		for name := range r.Values {
			values := evaluate(t, e, p, image(uint64(i), n), name)[0]
			low, high := slices.Min(values), slices.Max(values)
			if seen, ok := want[name]; ok {
				low, high = min(low, seen.Min), max(high, seen.Max)
			}
			want[name] = Range{low, high}
		}
	}
	for name, got := range r.Values {
		if math.Abs(float64(got.Min-want[name].Min))+math.Abs(float64(got.Max-want[name].Max)) > 1e-5 { // fused otherwise
			t.Errorf("the range of %q is %v, want %v", name, got, want[name])
		}
	}
	for c, got := range r.Means["image"] {
		if math.Abs(float64(got)-means[c]) > 1e-6 {
			t.Errorf("the mean of channel %d is %v, want %v", c, got, means[c])
		}
	}

	broken := errors.New("disk on fire")
	infinite := image(1, 1)
	tensor.Data[float32](infinite)[0] = float32(math.Inf(1))
	one := func(x tensor.Tensor, err error) Samples {
		return func(yield func([]tensor.Tensor, error) bool) { yield([]tensor.Tensor{x}, err) }
	}
	for _, c := range []struct {
		samples Samples
		options Options
		want    string
	}{
		{images(), Options{}, "calibrating: there are no samples"},
		{one(infinite, broken), Options{}, "sample 0: disk on fire"},
		{one(infinite, nil), Options{}, "the model fails on these samples"},
		{images(1), Options{Exclude: []string{"nose"}}, `no layer "nose"`},
	} {
		if _, err := calibrate(t.Context(), p, Calibration{Engine: e, Samples: c.samples}, c.options); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("calibrate() fails with %v, want %q", err, c.want)
		}
	}
}

// design draws a network of the layers that classifiers are made of, from images of 12×12 to five scores.
func design(t testing.TB, seed uint64) *onnx.Model {
	t.Helper()
	rng, b, next := rand.New(rand.NewPCG(seed, 77)), arch.NewBuilder("drawn", seed), 0
	name := func(what string) string {
		next++
		return fmt.Sprintf("%s%d", what, next)
	}
	conv := func(x *onnx.Value, filters int64) *onnx.Value {
		c := arch.Conv{Filters: filters, Kernel: arch.Axes{1 + 2*rng.Int64N(2)}, Pads: arch.PadSame()}
		if filters == x.Channels() && rng.IntN(2) == 0 {
			c.Groups = []int64{filters, 2}[rng.IntN(2)]
		}
		if rng.IntN(2) == 0 {
			c.Bias = arch.Uniform{Low: -0.5, High: 0.5}
		}
		x = b.Conv(name("conv"), x, c)
		if rng.IntN(2) == 0 {
			x = b.BatchNorm(name("norm"), x, arch.BatchNorm{
				Gamma: arch.Uniform{Low: 0.3, High: 1.5}, Beta: arch.Uniform{Low: -0.5, High: 0.5},
				Mean: arch.Uniform{Low: -0.2, High: 0.2}, Variance: arch.Uniform{Low: 0.2, High: 2},
			})
		}
		switch rng.IntN(3) {
		case 0:
			return b.Relu(name("relu"), x)
		case 1:
			return b.Relu6(name("relu6"), x)
		}
		return x
	}
	x := conv(b.Input("image", onnx.Float32, onnx.Batched(3, 12, 12)), 4+2*rng.Int64N(3))
	for range 2 + rng.IntN(3) {
		switch rng.IntN(4) {
		case 0:
			x = b.Add(name("add"), x, conv(x, x.Channels()))
		case 1:
			x = b.Concat(name("concat"), 1, conv(x, 2), conv(x, 4))
		case 2:
			if x.Type.Shape[2].Size >= 6 {
				x = b.MaxPool(name("pool"), x, arch.Pool{Kernel: arch.Axes{2}, Strides: arch.Axes{2}})
			}
		default:
			x = conv(x, x.Channels())
		}
	}
	x = b.Flatten("features", b.GlobalAveragePool("mean", x))
	b.Output(b.Dense("logits", x, arch.Dense{Units: 5, Bias: arch.Uniform{Low: -1, High: 1}}))
	return built(t, b)
}

// Whatever a network is made of, it computes the same when it is prepared or equalised, and nearly the same in lower
// precision. All of its layers become integers.
func TestORTLowerPrecision(t *testing.T) {
	e := orttest.Engine(t)
	models := []*onnx.Model{residualModel(t)}
	for seed := range uint64(5) {
		models = append(models, design(t, seed))
	}
	for i, m := range models {
		x := image(100, 2) // which the calibration does not see
		want := evaluate(t, e, m, x, "logits:0")[0]
		check := func(how string, made *onnx.Model, least float64) {
			t.Helper()
			if got := decibelsBetween(want, evaluate(t, e, made, x, "logits:0")[0]); got < least {
				t.Errorf("model %d, %s: %.1f dB, want %v", i, how, got, least)
			}
		}
		p, err := prepare(m)
		if err != nil {
			t.Fatal(err)
		}
		check("prepared", p, 110)
		half, _, err := ToFloat16(m)
		if err != nil {
			t.Fatal(err)
		}
		check("in float16", half, 50)
		c := Calibration{Engine: e, Samples: images(4, 4)}
		even, _, err := equalize(t.Context(), m, c, Options{})
		if err != nil {
			t.Fatal(err)
		}
		check("equalised", even, 30) // values beyond what was seen are cut off
		for _, o := range []Options{{}, {Activations: S8, PerTensor: true}, {SevenBitWeights: true}, {SkipFirst: true, SkipLast: true}} {
			q, report, err := Recipe{Options: fitting(o)}.Make(t.Context(), m, c)
			if err != nil {
				t.Fatalf("model %d, %+v: %v", i, o, err)
			}
			check(fmt.Sprintf("as %+v", o), q, 24)
			if all := ops(m)["Conv"] + ops(m)["Gemm"]; len(report.Layers)+len(report.Excluded) != all || !o.SkipLast && len(report.Excluded) != 0 {
				t.Errorf("model %d, %+v: %d of %d layers are integers, excluded %v", i, o, len(report.Layers), all, report.Excluded)
			}
		}
	}
}

func TestORTPrepareComputesTheSame(t *testing.T) {
	e := orttest.Engine(t)
	same := func(name string, before *onnx.Model, x tensor.Tensor, change func(*onnx.Model) error) {
		t.Helper()
		after := clone(before)
		if err := change(after); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		want, got := evaluate(t, e, before, x, "y")[0], evaluate(t, e, after, x, "y")[0]
		if d := decibelsBetween(want, got); len(want) != len(got) || d < 110 {
			t.Errorf("%s: %v became %v", name, want, got)
		}
	}
	x := random(1, 1, 3, 2, 2)
	for name, c := range foldings() {
		if c.folded > 0 {
			same(name, c.m, x, func(m *onnx.Model) error { _, err := foldAffine(m); return err })
		}
	}
	for name, attributes := range map[string][]onnx.Attribute{
		"alpha": {onnx.Attr("alpha", float32(0.5))},
		"both":  {onnx.Attr("alpha", float32(2)), onnx.Attr("beta", float32(-1))},
	} {
		// Another product reads the same constants, without factors.
		m := handmade(13, []*onnx.Node{
			node("Gemm", "n", []string{"x", "w", "b"}, "p", attributes...), node("Gemm", "o", []string{"x", "w", "b"}, "q"), node("Add", "sum", []string{"p", "q"}, "y"),
		}, numbers("w", 2, 3), numbers("b", 3))
		same(name, m, random(2, 2, 2), foldGemmFactors)
	}
	head := handmade(13, []*onnx.Node{node("GlobalAveragePool", "pool", []string{"x"}, "p"), node("Conv", "head", []string{"p", "w", "b"}, "y")}, numbers("w", 2, 3, 1, 1), numbers("b", 2))
	same("a head", head, x, func(m *onnx.Model) error {
		headsToGemm(m)
		if find(t, m, "head").Op != "Gemm" {
			t.Error("the head is not a matrix product")
		}
		return nil
	})
	for opset, n := range map[int64]*onnx.Node{
		7:  node("Clip", "n", []string{"x"}, "y", onnx.Attr("max", float32(0.5))),
		8:  node("Upsample", "n", []string{"x"}, "y", onnx.Attr("mode", "nearest"), onnx.Attr("scales", []float32{1, 1, 2, 3})),
		9:  node("Slice", "n", []string{"x"}, "y", onnx.Attr("axes", []int64{1}), onnx.Attr("starts", []int64{1}), onnx.Attr("ends", []int64{3})),
		10: node("Pad", "n", []string{"x"}, "y", onnx.Attr("pads", []int64{0, 0, 1, 0, 0, 0, 0, 2}), onnx.Attr("value", float32(2))),
		11: node("Softmax", "n", []string{"x"}, "y"),
		12: node("ReduceSum", "n", []string{"x"}, "y", onnx.Attr("axes", []int64{2})),
	} {
		same(fmt.Sprint(n.Op, " of ", opset), handmade(opset, []*onnx.Node{n}), x, upgrade)
	}
}

// Bias correction makes the mean over the calibration samples what it was, where padding does not interfere.
func TestORTBiasCorrection(t *testing.T) {
	e := orttest.Engine(t)
	b := arch.NewBuilder("single", 3)
	x := b.Relu("positive", b.Input("image", onnx.Float32, onnx.Batched(3, 12, 12)))
	b.Output(b.Conv("conv", x, arch.Conv{Filters: 16, Kernel: arch.Axes{1}}))
	m := built(t, b)
	r, err := calibrate(t.Context(), m, Calibration{Engine: e, Samples: images(4)}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	shift := func(r ranges) float64 {
		q, _, err := quantize(m, r, Options{PerTensor: true, SevenBitWeights: true})
		if err != nil {
			t.Fatal(err)
		}
		want, got := evaluate(t, e, m, image(0, 4), "conv:0")[0], evaluate(t, e, q, image(0, 4), "conv:0")[0]
		shifts := make([]float64, 16)
		for i := range want {
			shifts[i/144%16] += float64(got[i]-want[i]) / (4 * 144)
		}
		return max(slices.Max(shifts), -slices.Min(shifts))
	}
	with := shift(r)
	r.Means = nil
	if without := shift(r); with > without/3 {
		t.Errorf("the mean of a channel shifts by up to %v with correction, %v without", with, without)
	}
}

// separableModel has a depthwise convolution whose channels have very different ranges,
// between two others.
func separableModel(t testing.TB) *onnx.Model {
	t.Helper()
	b := arch.NewBuilder("separable", 5)
	x := b.Input("image", onnx.Float32, onnx.Batched(3, 12, 12))
	x = b.Relu6("expand/relu6", b.Conv("expand", x, arch.Conv{Filters: 6, Kernel: arch.Axes{1}}))
	x = b.Conv("depthwise", x, arch.Conv{Filters: 6, Groups: 6, Kernel: arch.Axes{3}, Pads: arch.Pad(1), Bias: arch.Constant(0.01)})
	uneven := arch.Given{3, 0.05, 1, 0.1, 0.1, 0.5}
	x = b.Relu6("depthwise/relu6", b.BatchNorm("depthwise/norm", x, arch.BatchNorm{Gamma: uneven}))
	b.Output(b.Conv("project", x, arch.Conv{
		Filters: 4, Kernel: arch.Axes{1}, Bias: arch.Constant(0.1),
		Weights: arch.Given{ // what has small numbers has large weights
			0.3, 40, -1, 8, -20, 2, 0.5, -30, 1, 9, 20, -1, -0.4, 50, 2, -7, 10, 1, 0.1, 20, -1, 5, -30, 3,
		},
	}))
	return built(t, b)
}

func TestORTEqualize(t *testing.T) {
	e := orttest.Engine(t)
	m := separableModel(t)
	c := Calibration{Engine: e, Samples: images(4)}
	even, layers, err := equalize(t.Context(), m, c, Options{})
	if err != nil || layers != 1 {
		t.Fatalf("equalize() changes %d layers, %v, want 1", layers, err)
	}
	want, got := evaluate(t, e, m, image(0, 4), "project:0")[0], evaluate(t, e, even, image(0, 4), "project:0", "depthwise/relu6:0")
	if d := decibelsBetween(want, got[0]); d < 100 {
		t.Errorf("equalised, the result differs: %v dB", d)
	}
	largest := make([]float32, 6)
	for i, v := range got[1] {
		largest[i/144%6] = max(largest[i/144%6], v)
	}
	if r := slices.Max(largest) / slices.Min(largest); r < 2 || r > 9 { // they were 60 to 1
		t.Errorf("the channels go up to %v", largest)
	}
	// The recipe takes it, since it is better, and leaves what is even as it is.
	c.Samples = images(slices.Repeat([]int64{4}, judged+2)...)
	q, report, err := recipe().Make(t.Context(), m, c)
	if err != nil || report.EqualizedLayers != 1 {
		t.Fatalf("%d layers were equalised, %v", report.EqualizedLayers, err)
	}
	p, err := prepare(m)
	if err != nil {
		t.Fatal(err)
	}
	r, err := calibrate(t.Context(), p, c, Options{})
	if err != nil {
		t.Fatal(err)
	}
	plain, _, err := quantize(p, r, fitting(Options{}))
	if err != nil {
		t.Fatal(err)
	}
	with, without := evaluate(t, e, q, image(0, 4), "project:0")[0], evaluate(t, e, plain, image(0, 4), "project:0")[0]
	if a, b := decibelsBetween(want, with), decibelsBetween(want, without); a < b+6 {
		t.Errorf("signal to noise is %v dB with equalisation, %v without, want twice as good", a, b)
	}
	for name, c := range map[string]struct {
		m *onnx.Model
		o Options
	}{"no convolution behind": {residualModel(t), Options{}}, "one scale for all filters": {m, Options{PerTensor: true}}, "a reader in FP32": {m, Options{Exclude: []string{"project"}}}} {
		if _, layers, err := equalize(t.Context(), c.m, Calibration{Engine: e, Samples: images(1)}, c.o); err != nil || layers != 0 {
			t.Errorf("%s: %d layers were equalised, %v", name, layers, err)
		}
	}
}

// The recipe does not take it if it is not better on samples that did not make it, or if all samples would.
func TestORTEqualizeUnseen(t *testing.T) {
	e := orttest.Engine(t)
	m := handmade(13, []*onnx.Node{
		node("Conv", "depthwise", []string{"x", "filters"}, "d", onnx.Attr("group", int64(3))), node("Relu", "relu", []string{"d"}, "r"),
		node("Conv", "project", []string{"r", "w"}, "y"),
	}, onnx.TensorOf("filters", []float32{1, 1, 1}, 3, 1, 1, 1), numbers("w", 2, 3, 1, 1))
	for _, c := range []struct{ batches, bright, layers int }{{16, 0, 1}, {16, judged, 0}, {judged, 0, 0}} {
		samples := func(yield func([]tensor.Tensor, error) bool) {
			for i := range c.batches {
				x := image(uint64(i), 1)
				for k, v := range tensor.Data[float32](x)[2*144:] {
					if i >= c.bright { // the last channel is small
						tensor.Data[float32](x)[2*144+k] = v / 1000
					}
				}
				if !yield([]tensor.Tensor{x}, nil) {
					return
				}
			}
		}
		_, report, err := recipe().Make(t.Context(), m, Calibration{Engine: e, Samples: samples})
		if err != nil || report.EqualizedLayers != c.layers {
			t.Errorf("%+v: %d layers are equalised, %v", c, report.EqualizedLayers, err)
		}
	}
}

// Weights of eight bits are right on processors without VNNI, too: the engine chooses kernels that cannot overflow.
func TestORTEightBitProducts(t *testing.T) {
	m := handmade(13, []*onnx.Node{node("MatMul", "product", []string{"x", "w"}, "y")}, onnx.TensorOf("w", slices.Repeat([]float32{1}, 64*16), 64, 16))
	m.Graph.Inputs[0].Type.Shape = onnx.FixedShape([]int64{1, 64})
	ones := tensor.Of(slices.Repeat([]float32{1}, 64), 1, 64)
	e := orttest.Engine(t)
	q, _, err := Recipe{}.Make(t.Context(), m, Calibration{Engine: e, Samples: func(yield func([]tensor.Tensor, error) bool) { yield([]tensor.Tensor{ones}, nil) }})
	if err != nil {
		t.Fatal(err)
	}
	if got := evaluate(t, e, q, ones, "y")[0][0]; math.Abs(float64(got)-64) > 0.5 {
		t.Errorf("64 products of 1 and 1 are %v", got)
	}
}

func TestORTDynamic(t *testing.T) {
	e := orttest.Engine(t)
	m := recurrentModel(t)
	for _, o := range []Options{{}, {PerTensor: true}, {SevenBitWeights: true}} {
		q, _, err := Dynamic(m, fitting(o))
		if err != nil {
			t.Fatal(err)
		}
		x := random(5, 7, 2, 4)
		want, got := evaluate(t, e, m, x, "q")[0], evaluate(t, e, q, x, "q")[0]
		if d := decibelsBetween(want, got); d < 22 {
			t.Errorf("%+v: %.1f dB, want 22", o, d)
		}
	}
}

// The 4-bit weights that the engine reads are those that were written: the product is as near as 15 steps allow.
func TestORTFourBit(t *testing.T) {
	e := orttest.Engine(t)
	m := recurrentModel(t)
	q, _, err := FourBit(m, Options{})
	if err != nil {
		t.Fatal(err)
	}
	x := random(5, 7, 2, 4)
	want, got := evaluate(t, e, m, x, "q")[0], evaluate(t, e, q, x, "q")[0]
	if d := decibelsBetween(want, got); d < 15 {
		t.Errorf("%.1f dB, want 15", d)
	}
	if n := kernelsOf(t, e, q)["MatMulNBits"]; n != 2 {
		t.Errorf("%d nodes compute with 4-bit weights, want 2", n)
	}
}

// ONNX Runtime's CPU has no kernels for bfloat16, for which convert refuses it. If it gets them, this test fails.
func TestORTHasNoBFloat16(t *testing.T) {
	e := orttest.Engine(t)
	weights := &onnx.Tensor{Name: "w", Type: onnx.BFloat16, Dims: []int64{4, 4}, Data: onnx.Raw(make([]byte, 32))}
	value := func(name string) []*onnx.Value {
		return []*onnx.Value{{Name: name, Type: onnx.Type{Elem: onnx.Float32, Shape: onnx.FixedShape([]int64{1, 4})}}}
	}
	m := &onnx.Model{IRVersion: 8, Opsets: []onnx.Opset{{Version: 13}}, Graph: &onnx.Graph{
		Name: "g", Inputs: value("x"), Outputs: value("y"),
		Initializers: []*onnx.Tensor{weights},
		Nodes: []*onnx.Node{
			{Op: "Cast", Inputs: []string{"x"}, Outputs: []string{"h"}, Attributes: []onnx.Attribute{onnx.Attr("to", int64(onnx.BFloat16))}},
			{Op: "MatMul", Inputs: []string{"h", "w"}, Outputs: []string{"p"}},
			{Op: "Cast", Inputs: []string{"p"}, Outputs: []string{"y"}, Attributes: []onnx.Attribute{onnx.Attr("to", int64(onnx.Float32))}},
		},
	}}
	c := Calibration{Engine: e, Samples: func(yield func([]tensor.Tensor, error) bool) { yield([]tensor.Tensor{random(1, 1, 4)}, nil) }}
	err := c.Pass(t.Context(), m, func([]tensor.Tensor, int) error { return nil })
	if err == nil || !strings.Contains(err.Error(), "could not find an implementation for MatMul") {
		t.Errorf("a product in bfloat16: error %v, want one of a missing kernel", err)
	}
}

// A search leaves out what makes the most noise until the target is reached; signal to noise falls with every layer.
func TestORTSearchByNoise(t *testing.T) {
	e := orttest.Engine(t)
	m := residualModel(t)
	c := Calibration{Engine: e, Samples: images(2, 2)}
	p, err := prepare(m)
	if err != nil {
		t.Fatal(err)
	}
	score, err := judge(t.Context(), p, c)
	if err != nil {
		t.Fatal(err)
	}
	if same, err := score(t.Context(), p); err != nil || same < 120 {
		t.Errorf("the FP32 model itself scores %v, %v", same, err)
	}
	all, _, err := recipe().Make(t.Context(), m, c)
	if err != nil {
		t.Fatal(err)
	}
	worst, err := score(t.Context(), all)
	if err != nil || worst < 25 || worst > 60 {
		t.Errorf("the quantised model scores %v dB, %v, want about 40", worst, err)
	}
	layers, err := recipe().Sensitivity(t.Context(), m, c, func(int, int) {})
	if err != nil || len(layers) != 4 {
		t.Fatalf("Sensitivity() = %v, %v", layers, err)
	}
	for _, l := range layers {
		if l.Score <= worst-3 || l.Score >= 120 {
			t.Errorf("with only %s quantised the score is %v dB, with all layers %v", l.Layer, l.Score, worst)
		}
	}
	search := &Search{Score: score, Target: worst + 1, Progress: func(int, int) {}}
	_, report, err := Recipe{Options: fitting(Options{}), Search: search}.Make(t.Context(), m, c)
	if err != nil || report.Search.Score < worst+1 || len(report.Search.Excluded) == 0 {
		t.Errorf("the search ended at %+v, %v, want %v dB", report.Search, err, worst+1)
	}
	search.Target = 1000
	if q, _, err := (Recipe{Options: fitting(Options{}), Search: search}).Make(t.Context(), m, c); !errors.Is(err, ErrTargetMissed) || q == nil {
		t.Errorf("a target out of reach gives %v, want a model and ErrTargetMissed", err)
	}
}

// Quantisation cuts values that only a Sigmoid reads where it saturates. That does not count as noise.
func TestORTNoiseBeforeSigmoid(t *testing.T) {
	e := orttest.Engine(t)
	m := handmade(13, []*onnx.Node{node("Conv", "scores", []string{"x", "w", "b"}, "s"), node("Sigmoid", "sigmoid", []string{"s"}, "y")},
		numbers("w", 2, 3, 1, 1), onnx.TensorOf("b", []float32{-40, -50}, 2))
	c := Calibration{Engine: e, Samples: images(2, 2)}
	score, err := judge(t.Context(), m, c)
	if err != nil {
		t.Fatal(err)
	}
	q, _, err := recipe().Make(t.Context(), m, c)
	if err != nil {
		t.Fatal(err)
	}
	if d, err := score(t.Context(), q); err != nil || d < 100 {
		t.Errorf("%v dB, %v, want 100", d, err)
	}
}

// ONNX Runtime makes integer kernels of all layers, and of no other ones: see protect.
func TestORTKernels(t *testing.T) {
	e := orttest.Engine(t)
	m, err := prepare(residualModel(t))
	if err != nil {
		t.Fatal(err)
	}
	r, err := calibrate(t.Context(), m, Calibration{Engine: e, Samples: images(4)}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		o    Options
		want map[string]int
	}{
		{Options{}, map[string]int{"QLinearConv": 3, "QLinearAdd": 1, "QLinearGlobalAveragePool": 1, "QGemm": 1, "Conv": 0, "FusedConv": 0, "Gemm": 0}},
		{Options{Exclude: []string{"block"}}, map[string]int{"QLinearConv": 2, "Conv": 1, "QGemm": 1}},
	} {
		q, _, err := quantize(m, r, c.o)
		if err != nil {
			t.Fatal(err)
		}
		kernels := kernelsOf(t, e, q)
		for op, n := range c.want {
			if kernels[op] != n {
				t.Errorf("%+v: there are %d %s, want %d: %v", c.o, kernels[op], op, n, kernels)
			}
		}
	}
}

// pixels are those of a built-in image, row by row.
func pixels(seed, side int) []uint8 {
	var list []uint8
	for pixel := range slices.Chunk(synth.NewScene(uint64(seed)).Render(side, side).Pix, 4) {
		list = append(list, pixel[:3]...)
	}
	return list
}

// All of the built-in classifier computes with integers, equalised, and its scores stay close.
func TestORTQuantizedClassifier(t *testing.T) {
	e := orttest.Engine(t)
	m, _, err := arch.MobileNet().Build(arch.Options{Classes: 10})
	if err != nil {
		t.Fatal(err)
	}
	scene := func(seed int) tensor.Tensor {
		x := tensor.New(tensor.Float32, 1, 3, 224, 224)
		for i, p := range pixels(seed, 224) {
			tensor.Data[float32](x)[i%3*224*224+i/3] = float32(p)/127.5 - 1
		}
		return x
	}
	q, report, err := recipe().Make(t.Context(), m, Calibration{Engine: e, Samples: func(yield func([]tensor.Tensor, error) bool) {
		for i := 0; i < 16 && yield([]tensor.Tensor{scene(i)}, nil); i++ {
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	kernels := kernelsOf(t, e, q)
	if kernels["QLinearConv"] != 27 || kernels["QGemm"] != 1 || kernels["Conv"]+kernels["FusedConv"]+kernels["Gemm"] != 0 || report.EqualizedLayers != 13 {
		t.Errorf("%d layers were equalised, the kernels are %v", report.EqualizedLayers, kernels)
	}
	const scores = "MobilenetV1/Logits/Conv2d_1c_1x1:0"
	want, got := evaluate(t, e, m, scene(100), scores)[0], evaluate(t, e, q, scene(100), scores)[0]
	if d := decibelsBetween(want, got); d < 20 {
		t.Errorf("%.1f dB between the scores and their noise, want 20", d)
	}
}

// The built-in detector finds the same boxes in lower precision: all of its layers are integers, and what makes boxes of
// their results is not.
func TestORTQuantizedDetector(t *testing.T) {
	e := orttest.Engine(t)
	m, _, err := arch.SSDMobileNet().Build(arch.Options{})
	if err != nil {
		t.Fatal(err)
	}
	scenes := func(first, n int) Calibration {
		return Calibration{Engine: e, Samples: func(yield func([]tensor.Tensor, error) bool) {
			for i := range n {
				if !yield([]tensor.Tensor{tensor.Of(pixels(first+i, 300), 1, 300, 300, 3)}, nil) {
					return
				}
			}
		}}
	}
	int8, report, err := recipe().Make(t.Context(), m, scenes(9000, 6))
	if err != nil {
		t.Fatal(err)
	}
	half, halfReport, err := ToFloat16(m)
	if err != nil {
		t.Fatal(err)
	}
	// A stem, 13 blocks of two, 8 for further maps, 12 heads.
	if len(report.Layers) != 47 || len(report.Excluded) != 0 || len(report.Others) != 0 {
		t.Errorf("%d layers are quantised, %v are not, and %v", len(report.Layers), report.Excluded, report.Others)
	}
	if kernels := kernelsOf(t, e, int8); kernels["QLinearConv"] != 47 || kernels["NonMaxSuppression"] != 1 || kernels["Conv"] != 0 {
		t.Errorf("the kernels are %v", kernels)
	}
	if halfReport.Converted["Conv"] != 47 {
		t.Errorf("%d convolutions are in float16, want 47", halfReport.Converted["Conv"])
	}
	type box struct {
		corners []float32
		class   float32
	}
	boxes := func(m *onnx.Model) (all [][]box) {
		c := scenes(5000, 6)
		err := c.Pass(t.Context(), m, func(outputs []tensor.Tensor, _ int) error {
			count, corners, classes := tensor.Data[float32](outputs[0])[0], slices.Clone(tensor.Data[float32](outputs[1])), tensor.Data[float32](outputs[3])
			var list []box
			for i := range int(count) {
				list = append(list, box{corners[4*i : 4*i+4], classes[i]})
			}
			all = append(all, list)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	want := boxes(m)
	for what, made := range map[string]struct {
		m     *onnx.Model
		least float64
	}{"INT8": {int8, 0.8}, "float16": {half, 0.97}} {
		all, found := 0, 0
		for i, list := range boxes(made.m) {
			for _, w := range want[i] {
				all++
				if slices.ContainsFunc(list, func(g box) bool { return g.class == w.class && overlap(g.corners, w.corners) > 0.5 }) {
					found++
				}
			}
		}
		if part := float64(found) / float64(all); part < made.least || all < 50 {
			t.Errorf("%s finds %.3f of %d boxes, want %.2f", what, part, all, made.least)
		}
	}
}

// overlap is the intersection of two boxes over their union.
func overlap(a, b []float32) float32 {
	area := func(y1, x1, y2, x2 float32) float32 { return max(0, y2-y1) * max(0, x2-x1) }
	both := area(max(a[0], b[0]), max(a[1], b[1]), min(a[2], b[2]), min(a[3], b[3]))
	return both / (area(a[0], a[1], a[2], a[3]) + area(b[0], b[1], b[2], b[3]) - both)
}
