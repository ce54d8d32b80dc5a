package quantize

import (
	"slices"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/networks"
	"github.com/mlperf-go/mlperf/internal/onnx"
)

func TestQuantizedModelsComputeNearlyTheSame(t *testing.T) {
	m, ranges := calibrated(t)
	before := encoded(t, m)
	want := evaluate(t, m, image(0, 4), "logits:0")[0]
	for _, c := range []struct {
		name    string
		options Options
		within  float64
	}{
		{"recommended", Options{}, 0.015},
		{"per tensor", Options{PerTensor: true}, 0.03},
		{"signed activations", Options{Activations: S8}, 0.04},
		{"seven-bit weights", Options{SevenBitWeights: true}, 0.04},
		{"no bias correction", Options{NoBiasCorrection: true}, 0.02},
		{"ends in FP32", Options{SkipFirst: true, SkipLast: true}, 0.01},
	} {
		q, _, err := Quantize(m, ranges, c.options)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		got := evaluate(t, q, image(0, 4), "logits:0")[0]
		d := differ(want, got)
		t.Logf("%s: the result differs by %.4f", c.name, d)
		if d > c.within || d == 0 {
			t.Errorf("%s: the result differs by %v, want above 0 and at most %v", c.name, d, c.within)
		}
	}
	if encoded(t, m) != before {
		t.Error("Quantize changed the original")
	}
}

// Every layer reads DequantizeLinear, and what it makes goes through a Relu or Clip at
// most to QuantizeLinear: the pattern that engines fuse.
func TestLayersStandBetweenDequantizeAndQuantize(t *testing.T) {
	m, ranges := calibrated(t)
	q, report, err := Quantize(m, ranges, Options{})
	if err != nil {
		t.Fatal(err)
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
}

func TestWhatOnlyMovesElementsKeepsTheScale(t *testing.T) {
	m, ranges := calibrated(t)
	q, _, err := Quantize(m, ranges, Options{})
	if err != nil {
		t.Fatal(err)
	}
	index := q.Graph.Index()
	pool := find(t, q, "pool")
	in := index.Producer(pool.Inputs[0])
	out := index.Consumers(pool.Outputs[0])[0]
	if in.Inputs[1] != out.Inputs[1] || in.Inputs[2] != out.Inputs[2] {
		t.Errorf("MaxPool reads with %v and writes with %v", in.Inputs[1:], out.Inputs[1:])
	}
}

func TestExcludedLayersStayAsTheyWere(t *testing.T) {
	m, ranges := calibrated(t)
	for _, c := range []struct {
		name    string
		options Options
		float   []string // layers in FP32
		reason  string
	}{
		{"by name", Options{Exclude: []string{"block", "depthwise"}}, []string{"block", "depthwise"}, "by name"},
		{"by operator", Options{ExcludeOps: []string{"Gemm"}}, []string{"logits"}, "the operator is excluded"},
		{"all but some operators", Options{Ops: []string{"Gemm"}}, []string{"stem", "block", "depthwise"}, "the operator is excluded"},
		{"first", Options{SkipFirst: true}, []string{"stem"}, "it is a first layer"},
		{"last", Options{SkipLast: true}, []string{"logits"}, "it is a last layer"},
	} {
		q, report, err := Quantize(m, ranges, c.options)
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
		if !slices.Equal(excluded, c.float) {
			t.Errorf("%s: %q stay in FP32, want %q", c.name, excluded, c.float)
		}
		for _, l := range []string{"stem", "block", "depthwise", "logits"} {
			weights := q.Graph.Index().Producer(find(t, q, l).Inputs[1])
			if float := slices.Contains(c.float, l); float != (weights == nil) {
				t.Errorf("%s: the weights of %s are made by %v", c.name, l, weights)
			}
		}
	}
}

func TestConstantsShrinkToAQuarter(t *testing.T) {
	b := networks.NewBuilder("wide", 1)
	x := b.Input("x", onnx.Float32, onnx.Batched(64, 4, 4))
	b.Output(b.Relu("relu", b.Conv("conv", x, networks.Conv{Filters: 64, Kernel: networks.Axes{3}, Bias: networks.Constant(1)})))
	m := built(t, b)
	ranges := Ranges{Values: map[string]Range{"x:0": {-1, 1}, "x": {-1, 1}, "relu:0": {0, 6}}}
	_, report, err := Quantize(m, ranges, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if ratio := float64(report.BytesAfter) / float64(report.BytesBefore); ratio < 0.25 || ratio > 0.27 {
		t.Errorf("constants take %d bytes of %d, want little more than a quarter", report.BytesAfter, report.BytesBefore)
	}
}

func TestLayersThatShareWeightsShareTheIntegers(t *testing.T) {
	b := networks.NewBuilder("shared", 1)
	x := b.Input("x", onnx.Float32, onnx.Batched(2, 4, 4))
	c := networks.Conv{Filters: 2, Kernel: networks.Axes{1}, Bias: networks.Constant(1)}
	y := b.Conv("one", x, c)
	c.Share = "one"
	b.Output(b.Conv("two", y, c))
	m := built(t, b)
	p, err := Prepare(m)
	if err != nil {
		t.Fatal(err)
	}
	ranges := Ranges{Values: make(map[string]Range)}
	for _, name := range newPlan(p, Options{}).values() {
		ranges.Values[name] = Range{-1, 1}
	}
	q, _, err := Quantize(m, ranges, Options{})
	if err != nil {
		t.Fatal(err)
	}
	one, two := find(t, q, "one"), find(t, q, "two")
	if one.Inputs[1] != two.Inputs[1] {
		t.Errorf("the weights are %q and %q, want the same", one.Inputs[1], two.Inputs[1])
	}
}

func TestQuantizeNamesTheOffender(t *testing.T) {
	m, ranges := calibrated(t)
	without := Ranges{Values: map[string]Range{}}
	turned := Ranges{Values: make(map[string]Range)}
	for name, r := range ranges.Values {
		turned.Values[name] = Range{r.Max + 1, r.Min - 1}
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
		ranges  Ranges
		options Options
		want    string
	}{
		{"ranges of another model", m, without, Options{}, `the ranges lack "image`},
		{"ranges turned round", m, turned, Options{}, "the range of"},
		{"unknown layer", m, ranges, Options{Exclude: []string{"nose"}}, `no layer "nose"`},
		{"unknown operator", m, ranges, Options{Ops: []string{"Tanh"}}, `operator "Tanh" cannot be quantised`},
		{"unknown integers", m, ranges, Options{Activations: "u4"}, `unknown activations "u4"; there are u8 and s8`},
		{"nothing left", m, ranges, Options{ExcludeOps: []string{"Conv", "Gemm"}}, `nothing to quantise: Conv "stem" stays in FP32 because the operator is excluded`},
		{"no weights", handmade(13, []*onnx.Node{node("Relu", "r", []string{"x"}, "y")}), ranges, Options{}, "no layers with weights"},
		{"a bias of NaN", spoilt, ranges, Options{}, "not all elements are finite"},
		{"too old", handmade(6, []*onnx.Node{node("Relu", "r", []string{"x"}, "y")}), ranges, Options{}, "operator set 6"},
	} {
		if _, _, err := Quantize(c.model, c.ranges, c.options); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: Quantize() fails with %v, want %q", c.name, err, c.want)
		}
	}
}

func TestLayersThatCannotBeQuantizedSayWhy(t *testing.T) {
	w := onnx.TensorOf("w", []float32{1, 2, 3, 4}, 2, 2)
	for _, c := range []struct {
		name string
		node *onnx.Node
		more []*onnx.Tensor
		want string
	}{
		{"two activations", node("MatMul", "n", []string{"x", "x"}, "y"), nil, "its weights are not constant"},
		{"transposed input", node("Gemm", "n", []string{"x", "w"}, "y", onnx.Attr("transA", int64(1))), nil, "it scales or transposes its input"},
		{"scaled bias", node("Gemm", "n", []string{"x", "w", "b"}, "y", onnx.Attr("beta", float32(2))),
			[]*onnx.Tensor{onnx.TensorOf("b", []float32{1, 2}, 2)}, "it scales its bias"},
		{"one bias for all", node("Gemm", "n", []string{"x", "w", "b"}, "y"),
			[]*onnx.Tensor{onnx.TensorOf("b", []float32{1}, 1)}, "its bias has the shape [1], not [2]"},
		{"a vector", node("MatMul", "n", []string{"x", "v"}, "y"),
			[]*onnx.Tensor{onnx.TensorOf("v", []float32{1, 2}, 2)}, "not that of a matrix"},
	} {
		p := newPlan(handmade(13, []*onnx.Node{c.node}, append(c.more, w)...), Options{})
		if len(p.layers) != 0 || len(p.excluded) != 1 || !strings.Contains(p.excluded[0].Reason, c.want) {
			t.Errorf("%s: the plan excludes %v, want %q", c.name, p.excluded, c.want)
		}
	}
}

func TestLayersListsWhatCanBeExcluded(t *testing.T) {
	m := residualModel(t)
	got, err := Layers(m, Options{SkipFirst: true})
	if want := []string{"block", "depthwise", "logits"}; !slices.Equal(got, want) || err != nil {
		t.Errorf("Layers() = %q, %v, want %q", got, err, want)
	}
	if _, err := Layers(m, Options{Exclude: []string{"nose"}}); err == nil {
		t.Error("Layers() accepts an unknown layer")
	}
}

// ONNX Runtime quantises the weights of a convolution in FP32 by itself if its input is
// dequantised with one scale: see protect.
func TestLayersInFP32ReadTheirInputWithAScaleForEachChannel(t *testing.T) {
	m, ranges := calibrated(t)
	for _, a := range []Activations{U8, S8} {
		q, _, err := Quantize(m, ranges, Options{Activations: a, Exclude: []string{"block"}})
		if err != nil {
			t.Fatal(err)
		}
		index := q.Graph.Index()
		from := index.Producer(find(t, q, "block").Inputs[0])
		if !isOp(from, "DequantizeLinear") || onnx.AttrOr(from, "axis", int64(0)) != 1 {
			t.Fatalf("%s: the layer reads what %v makes", a, from)
		}
		scale, zero := index.Initializer(from.Inputs[1]), index.Initializer(from.Inputs[2])
		if !slices.Equal(scale.Dims, []int64{8}) || !slices.Equal(zero.Dims, []int64{8}) {
			t.Errorf("%s: there are scales %v and zero points %v, want 8 channels", a, scale.Dims, zero.Dims)
		}
		want, got := evaluate(t, m, image(0, 4), "logits:0")[0], evaluate(t, q, image(0, 4), "logits:0")[0]
		if d := differ(want, got); d > 0.03 {
			t.Errorf("%s: the result differs by %v", a, d)
		}
	}
}

func TestWeightsFromConstantNodesAreQuantized(t *testing.T) {
	w := onnx.TensorOf("", []float32{1, 2, 3, 4}, 2, 2)
	m := handmade(13, []*onnx.Node{
		node("Constant", "w", nil, "w", onnx.Attr("value", w)), node("MatMul", "product", []string{"x", "w"}, "y"),
	})
	q, report, err := Quantize(m, Ranges{Values: map[string]Range{"x": {-1, 1}}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Layers) != 1 || ops(q)["Constant"] != 0 {
		t.Errorf("quantised are %v, the nodes %v", report.Layers, ops(q))
	}
	got := evaluate(t, q, floats([]float32{1, -0.5}, 1, 2), "y")[0]
	if d := differ(floats([]float32{-0.5, 0}, 1, 2), got); d > 0.05 {
		t.Errorf("the result is %v, want about -0.5, 0", got.data)
	}
}

func TestModelsOfNothingButMatMulAreCalibrated(t *testing.T) {
	m := handmade(13, []*onnx.Node{node("Flatten", "flat", []string{"x"}, "f"), node("MatMul", "product", []string{"f", "w"}, "y")},
		onnx.TensorOf("w", make([]float32, 3*144*2), 3*144, 2))
	ranges, err := Calibrate(t.Context(), m, calibration(2), Method{Name: MinMax})
	if err != nil || len(ranges.Values) != 1 || len(ranges.Means) != 0 {
		t.Errorf("Calibrate() = %v, %v, want the range of what MatMul reads and no means", ranges, err)
	}
}

// What a Sigmoid cannot tell apart needs no integers of its own; what others see does.
func TestOnlyWhatASigmoidReadsIsCut(t *testing.T) {
	for _, seen := range []bool{false, true} {
		b := networks.NewBuilder("head", 13)
		x := b.Input("image", onnx.Float32, onnx.Batched(3, 12, 12))
		head := func(name string) *onnx.Value {
			return b.Conv(name, x, networks.Conv{Filters: 4, Kernel: networks.Axes{1}, Bias: networks.Uniform{Low: -1, High: 1}})
		}
		one, other := head("one"), head("other")
		b.Output(b.Unary("Sigmoid", "scores", b.Concat("both", 1, b.Transpose("moved", one, 0, 2, 3, 1), b.Transpose("moved too", other, 0, 2, 3, 1))))
		if seen {
			b.Output(b.Relu("seen", one))
		}
		m := built(t, b)
		ranges, err := Calibrate(t.Context(), m, calibration(1), Method{Name: MinMax})
		if err != nil {
			t.Fatal(err)
		}
		cut := 0
		for name := range ranges.Values {
			if name != "image" {
				ranges.Values[name] = Range{-100, 3}
			}
		}
		_, report, err := Quantize(m, ranges, Options{})
		if err != nil {
			t.Fatal(err)
		}
		for name, r := range report.Ranges {
			if r.Min == -16 && r.Max == 3 {
				cut++
			} else if name != "image" && r.Min != -100 {
				t.Errorf("the range of %s is %v", name, r.Range)
			}
		}
		if whole := len(report.Ranges) - 1; seen && cut == whole || !seen && cut != whole {
			t.Errorf("seen by others %v: of %d ranges %d are cut", seen, whole, cut)
		}
	}
}
