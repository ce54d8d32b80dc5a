package quantize

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/onnx"
)

// float32Of returns the number that the bits of a float16 stand for: the definition.
func float32Of(h uint16) float32 {
	sign := 1 - 2*float64(h>>15)
	exponent, fraction := int(h>>10&0x1f), float64(h&0x3ff)
	switch exponent {
	case 0:
		return float32(math.Copysign(math.Ldexp(fraction, -24), sign))
	case 31:
		if fraction != 0 {
			return float32(math.NaN())
		}
		return float32(math.Inf(int(sign)))
	}
	return float32(sign * math.Ldexp(1024+fraction, exponent-25))
}

func TestFloat16Of(t *testing.T) {
	for h := range 1 << 16 { // what is a float16 stays that
		x := float32Of(uint16(h))
		got := float16Of(x)
		if math.IsNaN(float64(x)) && (got&0x7c00 != 0x7c00 || got&0x3ff == 0) || !math.IsNaN(float64(x)) && got != uint16(h) {
			t.Errorf("float16Of(%v) = %#04x, want %#04x", x, got, h)
		}
	}
	for _, c := range []struct {
		name string
		x    float32
		want uint16
	}{
		{"tie between 1 and the next goes down to even", 1 + 0x1p-11, 0x3c00},
		{"tie above the next goes up to even", 1 + 3*0x1p-11, 0x3c02},
		{"just above a tie goes up", 1 + 0x1p-11 + 0x1p-23, 0x3c01},
		{"just below a tie goes down", 1 + 0x1p-11 - 0x1p-23, 0x3c00},
		{"carry into the exponent", 2 - 0x1p-12, 0x4000},
		{"below the tie with infinity", 65519.996, 0x7bff}, {"tie with infinity", 65520, 0x7c00}, {"too small", -1e9, 0xfc00},
		{"rounds up from subnormal to normal", 0x1p-14 - 0x1p-26, 0x0400},
		{"tie with zero", 0x1p-25, 0}, {"above the tie with zero", 0x1p-25 + 0x1p-40, 1},
		{"tie between subnormals", 3 * 0x1p-25, 2}, {"vanishes", -0x1p-26, 0x8000}, {"float32 subnormal", 1e-40, 0},
	} {
		if got := float16Of(c.x); got != c.want {
			t.Errorf("%s: float16Of(%v) = %#04x, want %#04x", c.name, c.x, got, c.want)
		}
	}
}

func TestHalfTensor(t *testing.T) {
	for _, c := range []struct {
		from []float32
		want []float32
		lost Rounding
	}{
		{[]float32{1, 1e6, -1e6, 1e-9, 0, float32(math.Inf(1)), 0.1}, []float32{1, 65504, -65504, 0, 0, float32(math.Inf(1)), 0.099975586}, Rounding{Elements: 7, Clamped: 2, Flushed: 1}},
		{[]float32{-1e-12}, []float32{-0x1p-24}, Rounding{Elements: 1, Raised: 1}}, // a single number, as an epsilon
	} {
		half, lost, err := halfTensor("h", onnx.TensorOf("w", c.from, int64(len(c.from))))
		if err != nil || lost != c.lost {
			t.Errorf("%v lose %+v (%v), want %+v", c.from, lost, err, c.lost)
		}
		bits, err := onnx.Elements[uint16](half)
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range c.want {
			if got := float32Of(bits[i]); got != want {
				t.Errorf("element %d is %v, want %v", i, got, want)
			}
		}
	}
}

func TestHalfWriterInPieces(t *testing.T) {
	var raw, want []byte
	for i := range 100 {
		x := float32(i) / 7
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(x))
		want = binary.LittleEndian.AppendUint16(want, float16Of(x))
	}
	for size := 1; size < 13; size++ {
		var got bytes.Buffer
		h := halfWriter{w: &got}
		for piece := range slices.Chunk(raw, size) {
			if n, err := h.Write(piece); n != len(piece) || err != nil {
				t.Fatalf("Write() = %d, %v, want %d", n, err, len(piece))
			}
		}
		if !bytes.Equal(got.Bytes(), want) || h.written != int64(len(want)) {
			t.Errorf("in pieces of %d bytes the result differs", size)
		}
	}
}

func TestToFloat16(t *testing.T) {
	m := residualModel(t)
	before := encoded(t, m)
	h, report, err := ToFloat16(m)
	if err != nil {
		t.Fatal(err)
	}
	if encoded(t, m) != before {
		t.Error("the original was changed")
	}
	if report.Casts != 2 || report.Folded != 1 || len(report.Kept) != 0 || 2*report.BytesAfter > report.BytesBefore {
		t.Errorf("the report is %+v, want a cast at either end, a folded norm and half the bytes", report)
	}
	for _, tensor := range h.Graph.Initializers {
		if tensor.Type == onnx.Float32 {
			t.Errorf("constant %q is still float32", tensor.Name)
		}
	}
	if in, out := h.Graph.Inputs[0], h.Graph.Outputs[0]; in.String() != m.Graph.Inputs[0].String() || out.String() != m.Graph.Outputs[0].String() {
		t.Errorf("the interface became %v, %v", in, out)
	}
}

func TestToFloat16OfNothing(t *testing.T) {
	foreign := node("Conv", "conv", []string{"x"}, "y")
	foreign.Domain = "local"
	for name, n := range map[string]*onnx.Node{"only Exp": node("Exp", "exp", []string{"x"}, "y"), "a foreign operator": foreign} {
		if _, report, err := ToFloat16(handmade(13, []*onnx.Node{n})); err == nil || !strings.Contains(err.Error(), n.Name) {
			t.Errorf("%s: %+v, %v; want an error that names %s", name, report, err, n.Name)
		}
	}
}

func TestToFloat16KeepsNodes(t *testing.T) {
	other := detector()
	other.Graph.Outputs = append(other.Graph.Outputs, &onnx.Value{Name: "other", Type: onnx.Type{Elem: onnx.Float32}})
	inner := func(name string) *onnx.Graph {
		return &onnx.Graph{Nodes: []*onnx.Node{node("Neg", name, []string{"a"}, name)}, Outputs: []*onnx.Value{{Name: name, Type: onnx.Type{Elem: onnx.Float32}}}}
	}
	for _, c := range []struct {
		name        string
		m           *onnx.Model
		kept, casts int
		nodes       string // that stay
		rounded     int64  // elements of constants
	}{
		{"operators that soon exceed float16", handmade(13, []*onnx.Node{
			node("Relu", "relu", []string{"x"}, "a"), node("Exp", "exp", []string{"a"}, "b"), node("Add", "add", []string{"a", "b"}, "y"),
		}), 1, 4, "exp", 0},
		{"boxes", other, 4, 0, "decode sigmoid nms gather", 2},
		{"numbers made from integers", handmade(13, []*onnx.Node{
			node("Shape", "shape", []string{"x"}, "i"), node("Cast", "positions", []string{"i"}, "p", onnx.Attr("to", int64(onnx.Float32))),
			node("Mul", "scaled", []string{"p", "k"}, "q"), node("Add", "sum", []string{"q", "x"}, "y"),
		}, onnx.TensorOf("k", []float32{3})), 1, 3, "scaled", 0},
		{"what is constant counts nowhere", handmade(13, []*onnx.Node{
			node("Constant", "k", nil, "large", onnx.Attr("value", onnx.TensorOf("", []float32{1e6}))), node("Exp", "exp", []string{"large"}, "a"),
			node("Relu", "relu", []string{"x"}, "b"), node("Add", "add", []string{"a", "b"}, "y"),
		}), 0, 3, "", 0},
		{"constants that nodes make get twins", handmade(13, []*onnx.Node{
			node("Constant", "k", nil, "two", onnx.Attr("value", onnx.TensorOf("", []float32{2}))),
			node("Constant", "l", nil, "three", onnx.Attr("value_float", float32(3))),
			node("Mul", "double", []string{"x", "two"}, "a"), node("Add", "add", []string{"a", "three"}, "y"),
		}), 0, 2, "", 2},
		{"weights beyond float16", handmade(13, []*onnx.Node{
			node("Mul", "large", []string{"x", "k"}, "a"), node("Add", "mask", []string{"a", "l"}, "b"),
			node("Mul", "tiny", []string{"b", "s"}, "y"),
		}, onnx.TensorOf("k", []float32{1, 7e4}, 2), onnx.TensorOf("l", []float32{0, -math.MaxFloat32}, 2), onnx.TensorOf("s", []float32{1e-6, 0}, 2)), 2, 2, "large tiny", 2},
		{"a weight of a node beyond float16", handmade(13, []*onnx.Node{
			node("Constant", "k", nil, "large", onnx.Attr("value", onnx.TensorOf("", []float32{1e6}))),
			node("Mul", "scaled", []string{"x", "large"}, "a"), node("Relu", "relu", []string{"a"}, "y"),
		}), 1, 2, "scaled", 0},
		{"sums that ONNX Runtime has no float16 for", handmade(13, []*onnx.Node{
			node("MeanVarianceNormalization", "norm", []string{"x"}, "a"), node("Relu", "relu", []string{"a"}, "b"),
			node("ScatterElements", "scatter", []string{"b", "i", "b"}, "y", onnx.Attr("reduction", "add")),
		}, onnx.TensorOf("i", []int64{0}, 1)), 2, 2, "norm scatter", 0},
		{"graphs inside", handmade(13, []*onnx.Node{
			node("Relu", "relu", []string{"x"}, "a"),
			node("If", "if", []string{"yes"}, "y", onnx.Attr("then_branch", inner("b")), onnx.Attr("else_branch", inner("c"))),
		}, &onnx.Tensor{Name: "yes", Type: onnx.Bool, Data: onnx.Raw{1}}), 1, 2, "if", 0},
	} {
		h, report, err := ToFloat16(c.m)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		kept := ""
		for i, k := range report.Kept {
			if i > 0 {
				kept += " "
			}
			kept += k.Node
		}
		if kept != c.nodes || len(report.Kept) != c.kept || c.casts > 0 && report.Casts != c.casts || ops(h)["Cast"] < report.Casts {
			t.Errorf("%s: %q stay, with %d casts; want %q and %d", c.name, kept, report.Casts, c.nodes, c.casts)
		}
		if report.Rounding.Elements != c.rounded {
			t.Errorf("%s: %d elements of constants were rounded, want %d", c.name, report.Rounding.Elements, c.rounded)
		}
	}
	// A detector is quantised up to its last layers.
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
