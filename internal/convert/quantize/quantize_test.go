package quantize

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/onnx"
	"github.com/mlperf-go/mlperf/internal/onnx/arch"
)

// Every layer reads DequantizeLinear, and what it makes goes through a Relu or Clip at
// most to QuantizeLinear: the pattern that engines fuse.
func TestQDQForm(t *testing.T) {
	m := residualModel(t)
	before := encoded(t, m)
	q, report, err := quantize(m, anyRanges(m), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if encoded(t, m) != before {
		t.Error("the original was changed")
	}
	index := q.Graph.Index()
	for _, n := range q.Graph.Nodes {
		if kinds[n.Op] == 0 {
			continue
		}
		for _, name := range n.Inputs {
			if p := index.Producer(name); !isOp(p, "DequantizeLinear") {
				t.Errorf("%s reads %q, which DequantizeLinear does not make", n.Name, name)
			}
		}
		if n.Op == "Gemm" {
			if !index.IsOutput(n.Outputs[0]) {
				t.Errorf("the sums of %s are not handed out", n.Name)
			}
			continue
		}
		reader := index.Consumers(n.Outputs[0])[0]
		if reader.Op == "Relu" || reader.Op == "Clip" {
			reader = index.Consumers(reader.Outputs[0])[0]
		}
		if reader.Op != "QuantizeLinear" || len(index.Consumers(n.Outputs[0])) != 1 {
			t.Errorf("%s is read by %s, want QuantizeLinear alone", n.Name, reader.Op)
		}
	}
	var layers []string
	for _, l := range report.Layers {
		layers = append(layers, l.Layer+" "+l.Op+" "+l.Fused)
	}
	if want := []string{"stem Conv Relu", "block Conv ", "depthwise Conv Clip", "logits Gemm "}; !slices.Equal(layers, want) {
		t.Errorf("the report has the layers %q, want %q", layers, want)
	}
	// What only moves elements keeps the scale.
	pool := find(t, q, "pool")
	in, out := index.Producer(pool.Inputs[0]), index.Consumers(pool.Outputs[0])[0]
	if in.Inputs[1] != out.Inputs[1] || in.Inputs[2] != out.Inputs[2] {
		t.Errorf("MaxPool reads with %v and writes with %v", in.Inputs[1:], out.Inputs[1:])
	}
	if _, _, err := quantize(q, anyRanges(m), Options{}); !errors.Is(err, errQuantized) {
		t.Errorf("quantising a second time: %v", err)
	}
	if _, _, err := ToFloat16(q); !errors.Is(err, errQuantized) {
		t.Errorf("converting a quantised model: %v", err)
	}
}

func TestExcludedLayersStayInFP32(t *testing.T) {
	m := residualModel(t)
	for _, c := range []struct {
		name    string
		options Options
		float   []string // layers in FP32
		reason  string
	}{
		{"by name", Options{Exclude: []string{"block", "depthwise"}}, []string{"block", "depthwise"}, "by name"},
		{"by operator", Options{ExcludeOps: []string{"Gemm"}}, []string{"logits"}, "the operator is excluded"},
		{"first", Options{SkipFirst: true}, []string{"stem"}, "it is a first layer"},
		{"last", Options{SkipLast: true}, []string{"logits"}, "it is a last layer"},
	} {
		q, report, err := quantize(m, anyRanges(m), c.options)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		var excluded []string
		for _, l := range report.Excluded {
			excluded = append(excluded, l.Layer)
			if !strings.Contains(l.Reason, c.reason) {
				t.Errorf("%s: %s stays in FP32 because %s, want %q", c.name, l.Layer, l.Reason, c.reason)
			}
		}
		if !slices.Equal(excluded, c.float) || !slices.Equal(floatLayers(q), c.float) {
			t.Errorf("%s: %q stay in FP32, by the report %q, want %q", c.name, floatLayers(q), excluded, c.float)
		}
	}
}

func TestSharedWeights(t *testing.T) {
	b := arch.NewBuilder("shared", 1)
	x := b.Input("x", onnx.Float32, onnx.Batched(2, 4, 4))
	c := arch.Conv{Filters: 2, Kernel: arch.Axes{1}, Bias: arch.Constant(1)}
	y := b.Conv("one", x, c)
	c.Share = "one"
	b.Output(b.Conv("two", y, c))
	m := built(t, b)
	q, _, err := quantize(m, anyRanges(m), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if one, two := find(t, q, "one"), find(t, q, "two"); one.Inputs[1] != two.Inputs[1] {
		t.Errorf("the weights are %q and %q, want the same", one.Inputs[1], two.Inputs[1])
	}
}

func TestQuantizeErrors(t *testing.T) {
	m := residualModel(t)
	good := anyRanges(m)
	inverted := ranges{Values: make(map[string]Range)}
	for name, r := range good.Values {
		inverted.Values[name] = Range{r.Max + 1, r.Min - 1}
	}
	spoilt := clone(m)
	for _, tensor := range spoilt.Graph.Initializers {
		if strings.HasSuffix(tensor.Name, "logits/bias") {
			tensor.Data = onnx.Raw(strings.Repeat("\xff", 20)) // NaN
		}
	}
	for _, c := range []struct {
		name    string
		model   *onnx.Model
		ranges  ranges
		options Options
		want    string
	}{
		{"ranges of another model", m, ranges{}, Options{}, `the ranges lack "image`},
		{"inverted ranges", m, inverted, Options{}, "the range of"},
		{"unknown layer", m, good, Options{Exclude: []string{"nose"}}, `no layer "nose"`},
		{"unknown integers", m, good, Options{Activations: "u4"}, `unknown activations "u4": must be u8 or s8`},
		{"nothing left", m, good, Options{ExcludeOps: []string{"Conv", "Gemm"}}, `nothing to quantise: Conv "stem" stays in FP32 because the operator is excluded`},
		{"no weights", handmade(13, []*onnx.Node{node("Relu", "r", []string{"x"}, "y")}), good, Options{}, "no layers with weights"},
		{"a bias of NaN", spoilt, good, Options{}, "not all elements are finite"},
		{"too old", handmade(5, []*onnx.Node{node("Relu", "r", []string{"x"}, "y")}), good, Options{}, "operator set 5"},
		{"a broken model", handmade(13, []*onnx.Node{node("Relu", "r", []string{"nothing"}, "y")}), good, Options{}, `reads "nothing"`},
	} {
		if _, _, err := quantize(c.model, c.ranges, c.options); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: quantize() fails with %v, want %q", c.name, err, c.want)
		}
	}
}

func TestPlanExclusions(t *testing.T) {
	w := onnx.TensorOf("w", []float32{1, 2, 3, 4}, 2, 2)
	for _, c := range []struct {
		name string
		node *onnx.Node
		more []*onnx.Tensor
		want string // empty: it is no layer at all
	}{
		{"two activations", node("MatMul", "n", []string{"x", "x"}, "y"), nil, "its weights are not constant"},
		{"transposed input", node("Gemm", "n", []string{"x", "w"}, "y", onnx.Attr("transA", int64(1))), nil, "it scales or transposes its input"},
		{"scaled bias", node("Gemm", "n", []string{"x", "w", "b"}, "y", onnx.Attr("beta", float32(2))),
			[]*onnx.Tensor{onnx.TensorOf("b", []float32{1, 2}, 2)}, "it scales its bias"},
		{"one bias for all", node("Gemm", "n", []string{"x", "w", "b"}, "y"),
			[]*onnx.Tensor{onnx.TensorOf("b", []float32{1}, 1)}, "its bias has the shape [1], not [2]"},
		{"a vector", node("MatMul", "n", []string{"x", "v"}, "y"),
			[]*onnx.Tensor{onnx.TensorOf("v", []float32{1, 2}, 2)}, "not that of a matrix"},
		{"a kernel of two axes", node("Conv", "n", []string{"x", "w"}, "y"), nil, "its weights have the shape [2 2]"},
		{"groups that do not divide the filters", node("Conv", "n", []string{"x", "k"}, "y", onnx.Attr("group", int64(3))),
			[]*onnx.Tensor{numbers("k", 4, 1, 1, 1)}, "its 4 filters are not 3 groups"},
		{"constants alone", node("MatMul", "n", []string{"w", "w"}, "y"), nil, ""},
		{"another domain", &onnx.Node{Op: "MatMul", Domain: "com.example", Inputs: []string{"x", "w"}, Outputs: []string{"y"}}, nil, ""},
		{"a function", &onnx.Node{Op: "MatMul", Overload: "mine", Inputs: []string{"x", "w"}, Outputs: []string{"y"}}, nil, ""},
	} {
		p := newPlan(handmade(13, []*onnx.Node{c.node}, append(c.more, w)...), Options{})
		if len(p.layers) != 0 || (len(p.excluded) == 0) != (c.want == "") || c.want != "" && !strings.Contains(p.excluded[0].Reason, c.want) {
			t.Errorf("%s: the plan excludes %v, want %q", c.name, p.excluded, c.want)
		}
	}
}

// ONNX Runtime quantises the weights of a layer in FP32 by itself if its input is dequantised with one scale: see protect.
func TestProtect(t *testing.T) {
	up := handmade(13, []*onnx.Node{
		node("Conv", "conv", []string{"x", "w"}, "c"), node("ConvTranspose", "block", []string{"c", "u"}, "y"),
	}, numbers("w", 8, 1, 1, 1), numbers("u", 8, 1, 1, 1))
	for _, m := range []*onnx.Model{residualModel(t), up} {
		for _, a := range []Activations{U8, S8} {
			q, _, err := quantize(m, anyRanges(m), Options{Activations: a, Exclude: []string{"block"}})
			if err != nil {
				t.Fatal(err)
			}
			index := q.Graph.Index()
			if m == up && index.Producer("c") == nil {
				t.Errorf("%s: nothing makes %q, by which a score asks for the convolution's result", a, "c")
			}
			from := index.Producer(find(t, q, "block").Inputs[0])
			if !isOp(from, "DequantizeLinear") || onnx.AttrOr(from, "axis", int64(0)) != 1 {
				t.Fatalf("%s: the layer reads what %v makes", a, from)
			}
			scale, zero := index.Initializer(from.Inputs[1]), index.Initializer(from.Inputs[2])
			if !slices.Equal(scale.Dims, []int64{8}) || !slices.Equal(zero.Dims, []int64{8}) {
				t.Errorf("%s: there are scales %v and zero points %v, want 8 channels", a, scale.Dims, zero.Dims)
			}
		}
	}
}

// What a Sigmoid cannot tell apart needs no integers of its own; what others see does.
func TestOnlySigmoid(t *testing.T) {
	custom := node("Sigmoid", "s", []string{"x"}, "y")
	custom.Domain = "com.example"
	for _, c := range []struct {
		name  string
		nodes []*onnx.Node
		want  bool
	}{
		{"a Sigmoid", []*onnx.Node{node("Sigmoid", "s", []string{"x"}, "y")}, true},
		{"a Sigmoid of what is moved apart and together", []*onnx.Node{
			node("Transpose", "a", []string{"x"}, "a"), node("Reshape", "b", []string{"x", "shape"}, "b"), node("Concat", "c", []string{"a", "b"}, "c"), node("Sigmoid", "s", []string{"c"}, "y"),
		}, true},
		{"not read", []*onnx.Node{node("Sigmoid", "s", []string{"other"}, "y")}, false},
		{"another domain", []*onnx.Node{custom}, false},
		{"a Relu too", []*onnx.Node{node("Sigmoid", "s", []string{"x"}, "y"), node("Relu", "r", []string{"x"}, "z")}, false},
		{"it is a shape", []*onnx.Node{node("Reshape", "r", []string{"other", "x"}, "moved"), node("Sigmoid", "s", []string{"moved"}, "y")}, false},
		{"it is resized", []*onnx.Node{node("Resize", "r", []string{"x"}, "moved"), node("Sigmoid", "s", []string{"moved"}, "y")}, false},
		{"what is moved comes out", []*onnx.Node{node("Transpose", "t", []string{"x"}, "y"), node("Sigmoid", "s", []string{"y"}, "z")}, false},
	} {
		m := handmade(13, c.nodes)
		if got := (&plan{model: m, index: m.Graph.Index()}).onlySigmoid("x"); got != c.want {
			t.Errorf("%s: only a Sigmoid sees x: %t", c.name, got)
		}
	}
}

func TestParameters(t *testing.T) {
	for _, c := range []struct {
		name        string
		activations Activations
		of          Range
		want        Parameters
	}{
		{"behind a Relu zero is the first integer", U8, Range{0, 51}, Parameters{0.2, 0}},
		{"both signs share the integers", U8, Range{-1, 4.1}, Parameters{0.02, 50}},
		{"a range above zero is extended to it", U8, Range{2, 51}, Parameters{0.2, 0}},
		{"a range below zero too", U8, Range{-51, -2}, Parameters{0.2, 255}},
		{"both ends and zero are integers", U8, Range{-127.5, 127.5}, Parameters{127.5 / 127, 128}},
		{"where that costs least", U8, Range{-1.4, 253.6}, Parameters{253.6 / 253, 2}},
		{"a little below zero", U8, Range{-0.1, 254.9}, Parameters{254.9 / 254, 1}},
		{"a little above zero", U8, Range{-254.9, 0.1}, Parameters{254.9 / 254, 254}},
		{"nothing but zero", U8, Range{0, 0}, Parameters{1, 0}},
		{"signed integers are symmetric", S8, Range{-2.54, 1}, Parameters{0.02, 0}},
		{"signed, nothing but zero", S8, Range{0, 0}, Parameters{1, 0}},
		{"tiny values get a scale to divide by", U8, Range{0, 1e-30}, Parameters{smallestScale, 0}},
	} {
		got := c.activations.of(c.of)
		if math.Abs(float64(got.Scale-c.want.Scale)) > 2e-7*float64(c.want.Scale) || got.ZeroPoint != c.want.ZeroPoint {
			t.Errorf("%s: %s.of(%v) = %v, want %v", c.name, c.activations, c.of, got, c.want)
		}
	}
	// ONNX Runtime drops a Clip only if no integer stands for more than its limit.
	for limit := float32(0.1); limit < 20; limit *= 1.01 {
		if p := U8.of(Range{0, limit}); 255*p.Scale > limit || 255*p.Scale < limit*(1-1e-6) {
			t.Errorf("the largest integer of [0, %v] is %v", limit, 255*p.Scale)
		}
	}
}

func TestQuantizeWeights(t *testing.T) {
	w := []float32{1.27, -0.01, 12.7, 0.1, 0, 0}
	for _, c := range []struct {
		name      string
		w         []float32
		dims      []int64
		axis      int
		perTensor bool
		limit     int
		scales    []float32
		values    []int8
	}{
		{"per filter", w, []int64{3, 2}, 0, false, 127, []float32{0.01, 0.1, 1}, []int8{127, -1, 127, 1, 0, 0}},
		{"per column", w, []int64{3, 2}, 1, false, 127, []float32{0.1, 0.1 / 127}, []int8{13, -13, 127, 127, 0, 0}},
		{"per tensor", w, []int64{3, 2}, 0, true, 127, []float32{0.1}, []int8{13, 0, 127, 1, 0, 0}},
		{"seven bits", w, []int64{3, 2}, 0, true, 63, []float32{12.7 / 63}, []int8{6, 0, 63, 0, 0, 0}},
		{"ties to even", []float32{127, 0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 0.4999, -127}, []int64{1, 9}, 0, false, 127, []float32{1}, []int8{127, 0, 2, 2, 0, -2, -2, 0, -127}},
	} {
		q := quantizeWeights(c.w, c.dims, c.axis, c.perTensor, c.limit, nil)
		near := slices.EqualFunc(q.scales, c.scales, func(a, b float32) bool { return math.Abs(float64(a-b)) < 1e-7 })
		if !near || !slices.Equal(q.values, c.values) {
			t.Errorf("%s: quantizeWeights() = %v with scales %v, want %v with %v", c.name, q.values, q.scales, c.values, c.scales)
		}
	}
	// Tiny weights with a large bias get a scale that the bias fits.
	bias := []float32{1000, 1000}
	q := quantizeWeights([]float32{1e-9, 1}, []int64{2, 1}, 0, false, 127, []weightUse{{bias, 0.01}})
	values, clamped := quantizeBias(bias, []float32{0.01 * q.scales[0], 0.01 * q.scales[1]})
	if clamped != 0 || values[0] < 1<<29 || values[0] > 1<<30+1<<7 {
		t.Errorf("the bias became %v, %d clamped, want about 2³⁰ for the first", values, clamped)
	}
	values, clamped = quantizeBias([]float32{0.5, 1.5, -2.5, 1e12, -1e12}, []float32{1})
	if want := []int32{0, 2, -2, math.MaxInt32, -math.MaxInt32}; !slices.Equal(values, want) || clamped != 2 {
		t.Errorf("quantizeBias() = %v, %d, want %v, 2", values, clamped, want)
	}
}

// A layer with the wrong weights and the shifts taken off has the same mean as the right one.
func TestMeanShifts(t *testing.T) {
	for _, c := range []struct {
		name   string
		op     string
		attrs  []onnx.Attribute
		dims   []int64
		errors []float32
		means  []float32
		want   []float64
	}{
		{"convolution", "Conv", nil, []int64{2, 2, 1, 2}, []float32{1, 2, 3, 4, 0, 0, 5, 0}, []float32{10, 100}, []float64{730, 500}},
		{"depthwise", "Conv", []onnx.Attribute{onnx.Attr("group", int64(2))}, []int64{2, 1, 2, 1}, []float32{1, 2, 3, 4}, []float32{10, 100}, []float64{30, 700}},
		{"groups", "Conv", []onnx.Attribute{onnx.Attr("group", int64(2))}, []int64{2, 2, 1, 1}, []float32{1, 2, 3, 4}, []float32{1, 10, 100, 1000}, []float64{21, 4300}},
		{"matrix", "Gemm", nil, []int64{2, 3}, []float32{1, 2, 3, 4, 5, 6}, []float32{1, 10}, []float64{41, 52, 63}},
		{"transposed matrix", "Gemm", []onnx.Attribute{onnx.Attr("transB", int64(1))}, []int64{3, 2}, []float32{1, 2, 3, 4, 5, 6}, []float32{1, 10}, []float64{21, 43, 65}},
	} {
		n := node(c.op, "n", nil, "y", c.attrs...)
		if got := meanShifts(n, c.errors, c.dims, c.means); !slices.Equal(got, c.want) {
			t.Errorf("%s: meanShifts() = %v, want %v", c.name, got, c.want)
		}
	}
}

// floatLayers returns the layers of a quantised residualModel that are left in FP32.
func floatLayers(m *onnx.Model) []string {
	var list []string
	index := m.Graph.Index()
	for _, n := range m.Graph.Nodes {
		if kinds[n.Op] == weighted && index.Producer(n.Inputs[1]) == nil {
			list = append(list, n.Name)
		}
	}
	return list
}

// costs is a score of 100 less what each quantised layer costs.
func costs(of map[string]float64) Score {
	return func(_ context.Context, m *onnx.Model) (float64, error) {
		score := 100.0
		for layer, cost := range of {
			if !slices.Contains(floatLayers(m), layer) {
				score -= cost
			}
		}
		return score, nil
	}
}

func TestSearch(t *testing.T) {
	m, err := prepare(residualModel(t))
	if err != nil {
		t.Fatal(err)
	}
	as := calibratedModel{m, anyRanges(m)}
	layers := map[string]float64{"stem": 1, "block": 8, "depthwise": 4, "logits": 2}
	for _, c := range []struct {
		name     string
		target   float64
		options  Options
		excluded []string
		score    float64
		missed   bool
	}{
		{"good enough as it is", 85, Options{}, nil, 85, false},
		{"one layer", 93, Options{}, []string{"block"}, 93, false},
		{"two layers", 94, Options{}, []string{"block", "depthwise"}, 97, false},
		{"three layers", 98, Options{}, []string{"block", "depthwise", "logits"}, 99, false},
		{"beyond what is excluded already", 97, Options{Exclude: []string{"block"}}, []string{"depthwise"}, 97, false},
		{"one layer has to stay", 100, Options{}, []string{"block", "depthwise", "logits"}, 99, true},
	} {
		var told []string
		s := Search{Score: costs(layers), Rank: costs(layers), Target: c.target, Progress: func(done, total int) { told = append(told, fmt.Sprint(done, "/", total)) }}
		q, report, err := s.run(t.Context(), as, c.options)
		if c.missed != errors.Is(err, ErrTargetMissed) || !c.missed && err != nil {
			t.Errorf("%s: run() fails with %v", c.name, err)
		}
		got := report.Search
		if got.Score != c.score || !slices.Equal(got.Excluded, c.excluded) {
			t.Errorf("%s: run() = %v with %q in FP32, want %v with %q", c.name, got.Score, got.Excluded, c.score, c.excluded)
		}
		if score, _ := s.Score(t.Context(), q); score != got.Score || len(report.Excluded) != len(floatLayers(q)) {
			t.Errorf("%s: the model scores %v, by the report %v", c.name, score, got.Score)
		}
		if len(told) != len(got.Sensitivity) {
			t.Errorf("%s: progress is %q for %d layers", c.name, told, len(got.Sensitivity))
		}
	}
	broken := errors.New("no images")
	s := Search{Score: func(context.Context, *onnx.Model) (float64, error) { return 0, broken }, Target: 1}
	if _, _, err := s.run(t.Context(), as, Options{}); !errors.Is(err, broken) {
		t.Errorf("run() fails with %v, want %v", err, broken)
	}
}

// A score that is no number reaches no target, and is worse than any other.
func TestSearchWithNaNScores(t *testing.T) {
	m, err := prepare(residualModel(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		scores []float64 // one after the other, the last one again and again
		target float64
		want   float64
		missed bool
	}{
		{"never a number", []float64{math.NaN()}, 0.5, math.NaN(), true},
		{"a number later, though too low", []float64{math.NaN(), 0.3, math.NaN()}, 0.5, 0.3, true},
		{"no number after one that is too low", []float64{0.3, math.NaN()}, 0.5, 0.3, true},
		{"enough after no number", []float64{math.NaN(), 0.7}, 0.5, 0.7, false},
		{"a target that is no number", []float64{0.7}, math.NaN(), 0.7, true},
	} {
		scores := slices.Clone(c.scores)
		s := Search{Target: c.target, Rank: costs(nil), Progress: func(int, int) {}, Score: func(context.Context, *onnx.Model) (float64, error) {
			score := scores[0]
			scores = scores[min(1, len(scores)-1):]
			return score, nil
		}}
		_, report, err := s.run(t.Context(), calibratedModel{m, anyRanges(m)}, Options{})
		if errors.Is(err, ErrTargetMissed) != c.missed || !c.missed && err != nil {
			t.Errorf("%s: run() fails with %v", c.name, err)
		}
		if got := report.Search.Score; got != c.want && !(math.IsNaN(got) && math.IsNaN(c.want)) {
			t.Errorf("%s: the best score is %v, want %v", c.name, got, c.want)
		}
	}
}

// What the rules ask for is in the description.
func TestDescriptions(t *testing.T) {
	m, err := prepare(residualModel(t))
	if err != nil {
		t.Fatal(err)
	}
	_, recommended, err := quantize(m, anyRanges(m), Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, other, err := quantize(m, anyRanges(m), Options{PerTensor: true, SevenBitWeights: true, Activations: S8, Exclude: []string{"block"}})
	if err != nil {
		t.Fatal(err)
	}
	s := Search{Score: costs(map[string]float64{"block": 3}), Rank: costs(map[string]float64{"block": 3}), Target: 99, Progress: func(int, int) {}}
	_, searched, err := s.run(t.Context(), calibratedModel{m, anyRanges(m)}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, dynamic, err := Dynamic(recurrentModel(t), Options{})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	_, half, err := ToFloat16(detector())
	if err == nil {
		err = half.WriteMarkdown(&b)
	}
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string][]string{b.String(): {"2 nodes compute in float16, 4 with float inputs or outputs stay", "ties to even", "| nms | NonMaxSuppression | float16 is not defined for it |"}}
	for _, c := range []struct {
		report Report
		want   []string
	}{
		{recommended, []string{
			"# Quantisation of residual", "4 layers compute with 8-bit integers, 0 stay in FP32", "1 samples", "the smallest and the largest value seen",
			"unsigned, asymmetric", "ties to even", "-127 to 127, one scale for each output channel", "Biases are corrected",
			"| stem | Conv + Relu | 8 | INT8 |", "| logits | Gemm | 5 | INT8 |", "1 Add, 1 Flatten, 1 GlobalAveragePool, 1 MaxPool.", "| image",
		}},
		{other, []string{"signed, symmetric", "-63 to 63, one scale for each tensor", "| block | Conv | | FP32: excluded by name |"}},
		{searched, []string{"The 1 most sensitive layers stay in FP32, so that the score reaches 99: it is 100", "| 0 | 97 |\n| 1 | 100 |", "| block | 97 |\n| stem | 100 |"}},
		{dynamic, []string{"Nothing was calibrated"}},
	} {
		var b bytes.Buffer
		if err := c.report.WriteMarkdown(&b); err != nil {
			t.Fatal(err)
		}
		texts[b.String()] = c.want
	}
	for text, wants := range texts {
		for _, want := range wants {
			if !strings.Contains(text, want) {
				t.Errorf("the description lacks %q:\n%s", want, text)
			}
		}
	}
	if got, want := cell("a|b\nc"), `a\|b c`; got != want {
		t.Errorf("cell() = %q, want %q", got, want)
	}
}

func TestDynamic(t *testing.T) {
	m := recurrentModel(t)
	before := encoded(t, m)
	for _, o := range []Options{{}, {PerTensor: true}, {SevenBitWeights: true}} {
		q, report, err := Dynamic(m, o)
		if err != nil {
			t.Fatal(err)
		}
		for name, op := range map[string]string{"lstm": "DynamicQuantizeLSTM", "squeeze": "Squeeze", "product": "DynamicQuantizeMatMul", "gemm": "DynamicQuantizeMatMul", "small": "MatMul"} {
			if got := find(t, q, name).Op; got != op {
				t.Errorf("%s is %q, want %s", name, got, op)
			}
		}
		if len(report.Layers) != 3 || len(report.Excluded) != 1 || report.Excluded[0].Layer != "small" || report.BytesAfter >= report.BytesBefore {
			t.Errorf("the report is %+v", report)
		}
		// Weights are transposed where the operator wants them so, and rounded to half a step at most.
		consts := constants(q)
		for _, c := range []struct {
			of         *onnx.Tensor
			name       string
			transposed bool
		}{{numbers("w", 32, 4), "w3", true}, {numbers("r", 32, 8), "r", true}, {numbers("wide", 8, 24), "wide", false}} {
			w, _ := onnx.Elements[float32](c.of)
			ints, err := onnx.Elements[int8](consts[c.name+"_quantized"])
			scales, errScales := onnx.Elements[float32](consts[c.name+"_scale"])
			if err != nil || errScales != nil {
				t.Fatal(err, errScales)
			}
			rows, columns := int(c.of.Dims[0]), int(c.of.Dims[1])
			for row := range rows {
				for column := range columns {
					unit, at := column, row*columns+column
					if c.transposed {
						unit, at = row, column*rows+row
					}
					scale := scales[min(unit, len(scales)-1)]
					if got, want := float32(ints[at])*scale, w[row*columns+column]; math.Abs(float64(got-want)) > 0.51*float64(scale) {
						t.Fatalf("%+v: %s[%d, %d] is %v, want %v", o, c.name, row, column, got, want)
					}
				}
			}
			if largest := slices.Max(ints); o.SevenBitWeights && largest > 63 {
				t.Errorf("%s has weights up to %d", c.name, largest)
			}
		}
		if _, _, err := Dynamic(q, o); !errors.Is(err, errQuantized) {
			t.Errorf("a second time: %v", err)
		}
	}
	if encoded(t, m) != before {
		t.Error("the original was changed")
	}
	for _, c := range []struct {
		o    Options
		want int
	}{
		{Options{Exclude: []string{"lstm"}}, 2}, {Options{ExcludeOps: []string{"LSTM"}}, 2}, {Options{Exclude: []string{"lstm", "product"}}, 1},
	} {
		if _, report, err := Dynamic(m, c.o); err != nil || len(report.Layers) != c.want {
			t.Errorf("%+v: %d layers, %v; want %d", c.o, len(report.Layers), err, c.want)
		}
	}
	if _, _, err := Dynamic(m, Options{Exclude: []string{"lstm", "product", "gemm"}}); err == nil || !strings.Contains(err.Error(), "nothing to quantise") {
		t.Errorf("all layers are left out: %v", err)
	}
	spoilt := clone(m)
	replace(spoilt.Graph, onnx.TensorOf("wide", slices.Repeat([]float32{float32(math.NaN())}, 8*24), 8, 24))
	if _, _, err := Dynamic(spoilt, Options{}); err == nil || !strings.Contains(err.Error(), `MatMul "product": weights "wide"`) {
		t.Errorf("weights that are no numbers: %v", err)
	}
	for _, shape := range []*onnx.Tensor{
		onnx.TensorOf("shape", []int64{1, 32, 5}, 3), onnx.TensorOf("shape", []int64{1 << 40, 1 << 40, 1 << 40}, 3),
		onnx.TensorOf("shape", []int64{1, -1, 4}, 3), onnx.TensorOf("shape", []float32{1, 32, 4}, 3),
	} {
		odd := clone(m)
		replace(odd.Graph, shape)
		_, report, err := Dynamic(odd, Options{})
		if err != nil || report.Excluded[0] != (ExcludedLayer{"lstm", "LSTM", "its weights are not constant"}) {
			t.Errorf("an LSTM with weights of another shape: %v, %v", report.Excluded, err)
		}
	}
}

func TestFourBit(t *testing.T) {
	m := recurrentModel(t)
	q, report, err := FourBit(m, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for name, op := range map[string]string{"lstm": "LSTM", "product": "MatMulNBits", "gemm": "MatMulNBits", "small": "MatMul"} {
		if got := find(t, q, name).Op; got != op {
			t.Errorf("%s is %q, want %s", name, got, op)
		}
	}
	if len(report.Layers) != 2 || len(report.Excluded) != 2 || report.Bits != 4 || report.BytesAfter >= report.BytesBefore || FewBits(q) != 4 {
		t.Errorf("the report is %+v", report)
	}
	// wide is [8 inputs, 24 outputs]: one block of 32 for each output, of which 8 are weights and the others 0.
	w, _ := onnx.Elements[float32](numbers("wide", 8, 24))
	consts := constants(q)
	packed, err := onnx.Elements[uint8](consts["wide_quantized"])
	scales, errScales := onnx.Elements[float32](consts["wide_scale"])
	if err != nil || errScales != nil || len(packed) != 24*16 || len(scales) != 24 {
		t.Fatal(err, errScales, len(packed), len(scales))
	}
	for out := range 24 {
		for in := range 32 {
			got, want := float32(int(packed[out*16+in/2]>>(4*(in%2))&0xf)-8)*scales[out], float32(0)
			if in < 8 {
				want = w[in*24+out]
			}
			if math.Abs(float64(got-want)) > 0.51*float64(scales[out]) {
				t.Fatalf("weight [%d, %d] is %v, want %v", in, out, got, want)
			}
		}
	}
	if _, _, err := FourBit(q, Options{}); !errors.Is(err, errQuantized) {
		t.Errorf("a second time: %v", err)
	}
	var text strings.Builder
	if err := report.WriteMarkdown(&text); err != nil || !strings.Contains(text.String(), "2 layers have 4-bit weights") || !strings.Contains(text.String(), "-7 to 7, one scale for each 32 inputs of an output") ||
		!strings.Contains(text.String(), "| INT4 |") {
		t.Errorf("%v\n%s", err, text.String())
	}
}
