package quantize

import (
	"slices"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/onnx"
)

func TestFloat16ModelsComputeNearlyTheSame(t *testing.T) {
	m := residualModel(t)
	before := encoded(t, m)
	h, report, err := ToFloat16(m, Float16Options{})
	if err != nil {
		t.Fatal(err)
	}
	if encoded(t, m) != before {
		t.Error("ToFloat16 changed the original")
	}
	want, got := evaluate(t, m, image(1, 2), "logits:0")[0], evaluate(t, h, image(1, 2), "logits:0")[0]
	if d := differ(want, got); d == 0 || d > 2e-3 {
		t.Errorf("the result differs by %v, want above 0 and at most 0.002", d)
	}
	if h.Graph.Inputs[0].Type.Elem != onnx.Float32 || got.elem != onnx.Float32 {
		t.Errorf("the interface became %v, %v", h.Graph.Inputs[0], got.elem)
	}
	if report.Casts != 2 || report.Folded != 1 || len(report.Kept) != 0 || 2*report.BytesAfter > report.BytesBefore {
		t.Errorf("the report is %+v, want a cast at either end, a folded norm and half the bytes", report)
	}
	for _, tensor := range h.Graph.Initializers {
		if tensor.Type == onnx.Float32 {
			t.Errorf("constant %q is still float32", tensor.Name)
		}
	}
}

func TestHalfIOMakesTheInterfaceFloat16(t *testing.T) {
	m := residualModel(t)
	h, report, err := ToFloat16(m, Float16Options{HalfIO: true})
	if err != nil {
		t.Fatal(err)
	}
	in, out := h.Graph.Inputs[0], h.Graph.Outputs[0]
	if in.Name != m.Graph.Inputs[0].Name || out.Name != "logits:0" || in.Type.Elem != onnx.Float16 || out.Type.Elem != onnx.Float16 {
		t.Errorf("the interface is %v, %v", in, out)
	}
	if report.Casts != 0 || ops(h)["Cast"] != 0 {
		t.Errorf("there are %d casts, want none", report.Casts)
	}
	x := image(1, 1)
	x.elem = onnx.Float16
	want, got := evaluate(t, m, image(1, 1), "logits:0")[0], evaluate(t, h, x.round(), "logits:0")[0]
	if d := differ(want, got); d > 4e-3 || got.elem != onnx.Float16 {
		t.Errorf("the result is %v and differs by %v", got.elem, d)
	}
}

func TestNodesThatCannotRunInHalfGetCasts(t *testing.T) {
	m := handmade(13, []*onnx.Node{
		node("Relu", "relu", []string{"x"}, "a"), node("Exp", "exp", []string{"a"}, "b"), node("Add", "add", []string{"a", "b"}, "y"),
	})
	h, report, err := ToFloat16(m, Float16Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Kept) != 1 || report.Kept[0] != (KeptNode{"exp", "Exp", fullOps["Exp"]}) {
		t.Errorf("kept are %v, want exp", report.Kept)
	}
	index := h.Graph.Index()
	if p := index.Producer(find(t, h, "exp").Inputs[0]); !isOp(p, "Cast") || p.Inputs[0] != find(t, h, "relu").Outputs[0] {
		t.Errorf("exp reads what %v makes, want a Cast of relu's result", p)
	}
	for _, name := range find(t, h, "add").Inputs {
		if a := evaluate(t, h, floats([]float32{0.1, -1}, 2), name)[0]; a.elem != onnx.Float16 {
			t.Errorf("add reads %q, which is %v", name, a.elem)
		}
	}
	want, got := evaluate(t, m, floats([]float32{0.1, -1, 2}, 3), "y")[0], evaluate(t, h, floats([]float32{0.1, -1, 2}, 3), "y")[0]
	if d := differ(want, got); d > 1e-3 {
		t.Errorf("the result differs by %v", d)
	}
}

func TestNodesKeptByNameOrOperatorStay(t *testing.T) {
	for _, keep := range []string{"block", "GlobalAveragePool"} {
		h, report, err := ToFloat16(residualModel(t), Float16Options{Keep: []string{keep}})
		if err != nil {
			t.Fatal(err)
		}
		if len(report.Kept) != 1 || report.Kept[0].Reason != "excluded by name" {
			t.Errorf("Keep %q keeps %v", keep, report.Kept)
		}
		evaluate(t, h, image(1, 1), "logits:0")
	}
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

func TestWhatDetectorsDoWithBoxesStaysInFP32(t *testing.T) {
	m := detector()
	m.Graph.Outputs = append(m.Graph.Outputs, &onnx.Value{Name: "other", Type: onnx.Type{Elem: onnx.Float32}})
	_, report, err := ToFloat16(m, Float16Options{})
	if err != nil {
		t.Fatal(err)
	}
	var kept []string
	for _, k := range report.Kept {
		kept = append(kept, k.Node)
	}
	if want := []string{"decode", "sigmoid", "nms", "gather"}; !slices.Equal(kept, want) {
		t.Errorf("kept are %q, want %q", kept, want)
	}
	if report.Converted["Conv"] != 2 || report.Converted["Relu"] != 1 {
		t.Errorf("converted are %v, want the convolutions and what has nothing to do with boxes", report.Converted)
	}
}

func TestQuantizingADetectorEndsAtTheLastLayers(t *testing.T) {
	p := newPlan(detector(), Options{})
	for _, l := range p.layers {
		if l.kind != weighted {
			t.Errorf("%s %q is to be quantised", l.node.Op, l.node.Name)
		}
	}
	if got := p.heads(); !slices.Equal(got, []string{"encoded", "logits"}) {
		t.Errorf("heads() = %q, want the results of both convolutions", got)
	}
}

func TestNumbersMadeFromIntegersStayExact(t *testing.T) {
	m := handmade(13, []*onnx.Node{
		node("Cast", "positions", []string{"i"}, "p", onnx.Attr("to", int64(onnx.Float32))),
		node("Mul", "scaled", []string{"p", "k"}, "q"), node("Add", "sum", []string{"q", "x"}, "y"),
	}, onnx.TensorOf("k", []float32{3}), onnx.TensorOf("i", []int64{4099}, 1))
	_, report, err := ToFloat16(m, Float16Options{})
	if err != nil {
		t.Fatal(err)
	}
	var kept []string
	for _, k := range report.Kept {
		kept = append(kept, k.Node)
	}
	if want := []string{"positions", "scaled"}; !slices.Equal(kept, want) || report.Converted["Add"] != 1 {
		t.Errorf("kept are %q, converted %v; want %q and Add", kept, report.Converted, want)
	}
}

func TestConstantNodesGetTwins(t *testing.T) {
	m := handmade(13, []*onnx.Node{
		node("Constant", "k", nil, "two", onnx.Attr("value", onnx.TensorOf("", []float32{2}))),
		node("Constant", "l", nil, "three", onnx.Attr("value_float", float32(3))),
		node("Mul", "double", []string{"x", "two"}, "a"), node("Add", "add", []string{"a", "three"}, "y"),
	})
	h, report, err := ToFloat16(m, Float16Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Check(); err != nil {
		t.Error(err)
	}
	if ops(h)["Constant"] != 2 || ops(h)["Cast"] != 2 || len(report.Kept) != 0 {
		t.Errorf("the result has %v, kept %v, want a Constant in the place of each and casts at the ends only", ops(h), report.Kept)
	}
	value := onnx.AttrOr[*onnx.Tensor](h.Graph.Index().Producer(find(t, h, "double").Inputs[1]), "value", nil)
	if value == nil || value.Type != onnx.Float16 {
		t.Errorf("the factor is %v, want float16", value)
	}
}

func TestGraphsInsideReadFloat32(t *testing.T) {
	inner := &onnx.Graph{
		Nodes:   []*onnx.Node{node("Neg", "neg", []string{"a"}, "b")},
		Outputs: []*onnx.Value{{Name: "b", Type: onnx.Type{Elem: onnx.Float32}}},
	}
	m := handmade(13, []*onnx.Node{
		node("Relu", "relu", []string{"x"}, "a"),
		node("If", "if", []string{"yes"}, "y", onnx.Attr("then_branch", inner), onnx.Attr("else_branch", cloneGraph(inner))),
	}, &onnx.Tensor{Name: "yes", Type: onnx.Bool, Data: onnx.Raw{1}})
	m.Graph.Nodes[1].Attributes[1].Value.(*onnx.Graph).Nodes[0].Name = "neg2"
	h, report, err := ToFloat16(m, Float16Options{})
	if err != nil {
		t.Fatal(err)
	}
	if p := h.Graph.Index().Producer("a"); !isOp(p, "Cast") || report.Kept[0].Reason != fullOps["If"] {
		t.Errorf("the branches read what %v makes, kept are %v", p, report.Kept)
	}
}

func TestUnknownOperatorsStayInFP32(t *testing.T) {
	custom := node("Foo", "foo", []string{"a"}, "b")
	custom.Domain = "com.example"
	m := handmade(13, []*onnx.Node{
		node("Relu", "relu", []string{"x"}, "a"), custom, node("Relu", "after", []string{"b"}, "c"), node("Frobnicate", "f", []string{"c"}, "y"),
	})
	m.Opsets = append(m.Opsets, onnx.Opset{Domain: "com.example", Version: 1})
	_, report, err := ToFloat16(m, Float16Options{})
	if err != nil {
		t.Fatal(err)
	}
	var reasons []string
	for _, k := range report.Kept {
		reasons = append(reasons, k.Node+": "+k.Reason)
	}
	want := []string{"foo: the operator is not one of ONNX's own", `after: the type of "c" is not known`, "f: nothing is known of the operator"}
	if !slices.Equal(reasons, want) {
		t.Errorf("kept are %q, want %q", reasons, want)
	}
}

func TestLayerNormsStayInFP32ForTheirStatistics(t *testing.T) {
	for name, c := range map[string]struct {
		outputs []string
		kept    int
	}{
		"without statistics": {[]string{"y", "", ""}, 0},
		"with statistics":    {[]string{"y", "mean"}, 1},
	} {
		n := node("LayerNormalization", "norm", []string{"x", "k"}, "y")
		n.Outputs = c.outputs
		_, report, err := ToFloat16(handmade(17, []*onnx.Node{n}, onnx.TensorOf("k", []float32{1, 2}, 2)), Float16Options{})
		if err != nil {
			t.Fatal(err)
		}
		if len(report.Kept) != c.kept || c.kept > 0 && report.Kept[0].Reason != "its statistics are float32" {
			t.Errorf("%s: kept are %v, want %d for the statistics", name, report.Kept, c.kept)
		}
	}
}

func TestConversionReportsWhatDoesNotFit(t *testing.T) {
	m := handmade(13, []*onnx.Node{node("Mul", "m", []string{"x", "k"}, "a"), node("Add", "n", []string{"a", "epsilon"}, "y")},
		onnx.TensorOf("k", []float32{1e6, 1e-9, 1}, 3), onnx.TensorOf("epsilon", []float32{1e-12}))
	_, report, err := ToFloat16(m, Float16Options{})
	if want := (Rounding{Elements: 4, Clamped: 1, Flushed: 1, Raised: 1}); err != nil || report.Rounding != want {
		t.Errorf("rounding is %+v, %v, want %+v", report.Rounding, err, want)
	}
	_, _, err = ToFloat16(handmade(6, m.Graph.Nodes, m.Graph.Initializers...), Float16Options{})
	if err == nil || !strings.Contains(err.Error(), "operator set 6") {
		t.Errorf("a model of operator set 6 fails with %v", err)
	}
}

func TestEveryOperatorHasOneRule(t *testing.T) {
	for op := range halfOps {
		if fullOps[op] != "" {
			t.Errorf("%s is in halfOps and in fullOps", op)
		}
		if sameTypeOps[op] {
			t.Errorf("%s is in halfOps and in sameTypeOps", op)
		}
	}
	for op := range sameTypeOps {
		if fullOps[op] == "" && op != "BitShift" {
			t.Errorf("the result of %s has a type, but nothing says why it stays in FP32", op)
		}
	}
}

func TestHalfInputsAreCastForNodesInFP32(t *testing.T) {
	m := handmade(13, []*onnx.Node{node("Exp", "exp", []string{"x"}, "a"), node("Add", "add", []string{"a", "x"}, "y")})
	h, report, err := ToFloat16(m, Float16Options{HalfIO: true})
	if err != nil {
		t.Fatal(err)
	}
	if p := h.Graph.Index().Producer(find(t, h, "exp").Inputs[0]); !isOp(p, "Cast") || p.Inputs[0] != "x" || report.Casts != 2 {
		t.Errorf("exp reads what %v makes, with %d casts in all", p, report.Casts)
	}
	x := floats([]float32{0.5, 1}, 2)
	x.elem = onnx.Float16
	got := evaluate(t, h, x, "y")[0]
	if d := differ(floats([]float32{2.1487, 3.7183}, 2), got); d > 1e-3 {
		t.Errorf("the result is %v", got.data)
	}
}

func TestOldFilesListHalfConstantsAmongTheInputs(t *testing.T) {
	m := handmade(8, []*onnx.Node{node("Mul", "m", []string{"x", "k"}, "y")}, onnx.TensorOf("k", []float32{1, 2}, 2))
	m.IRVersion = 3
	m.Graph.Inputs = append(m.Graph.Inputs, &onnx.Value{
		Name: "k", Type: onnx.Type{Elem: onnx.Float32, Shape: onnx.Shape{onnx.Fixed(2)}},
	})
	h, _, err := ToFloat16(m, Float16Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(h.Graph.Inputs) != 2 || h.Graph.Inputs[1].String() != h.Graph.Initializers[0].Name+" float16[2]" || len(h.Graph.FreeInputs()) != 1 {
		t.Errorf("the inputs are %v, constants %v", h.Graph.Inputs, h.Graph.Initializers[0].Name)
	}
}

func TestElementTypesFollowFromOperators(t *testing.T) {
	attr := onnx.Attr
	for _, c := range []struct {
		node *onnx.Node
		want onnx.ElemType
	}{
		{node("Relu", "", []string{"x"}, "v"), onnx.Float32},
		{node("Shape", "", []string{"x"}, "v"), onnx.Int64},
		{node("Less", "", []string{"x", "x"}, "v"), onnx.Bool},
		{node("Cast", "", []string{"x"}, "v", attr("to", int64(onnx.Uint8))), onnx.Uint8},
		{node("Where", "", []string{"b", "x", "x"}, "v"), onnx.Float32},
		{node("OneHot", "", []string{"i", "i", "x"}, "v"), onnx.Float32},
		{node("ConstantOfShape", "", []string{"i"}, "v"), onnx.Float32},
		{node("ConstantOfShape", "", []string{"i"}, "v", attr("value", onnx.TensorOf("", []int32{0}, 1))), onnx.Int32},
		{node("Constant", "", nil, "v", attr("value_ints", []int64{1})), onnx.Int64},
		{node("Constant", "", nil, "v", attr("value_floats", []float32{1})), onnx.Float32},
		{node("Constant", "", nil, "v", attr("value_string", "a")), onnx.String},
		{node("Constant", "", nil, "v", attr("sparse_value", "?")), onnx.Undefined},
		{node("Frobnicate", "", []string{"x"}, "v"), onnx.Undefined},
	} {
		if got := elemTypes(handmade(13, []*onnx.Node{c.node}).Graph)["v"]; got != c.want {
			t.Errorf("%s makes %v, want %v", c.node.Op, got, c.want)
		}
	}
}
