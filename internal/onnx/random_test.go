package onnx

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// A maker makes random models, of which every field may be there or not.
type maker struct{ *rand.Rand }

func (r maker) often() bool { return r.IntN(3) > 0 }

func (r maker) text() string {
	return []string{"", "x", "a/b:0", "ünïcödé", "\xff\x00\x80", strings.Repeat("long ", 40), "with\r\nlines"}[r.IntN(7)]
}

func (r maker) number() int64 {
	return []int64{0, 1, -1, 127, 128, math.MaxInt32 + 1, math.MinInt64, math.MaxInt64}[r.IntN(8)]
}

func (r maker) float() float32 {
	return []float32{0, float32(math.Copysign(0, -1)), 1.5, math.MaxFloat32, 1e-45, float32(math.Inf(-1))}[r.IntN(6)]
}

// listOf makes up to three elements, or nil.
func listOf[T any](r maker, one func() T) (list []T) {
	for range r.IntN(4) {
		list = append(list, one())
	}
	return list
}

func (r maker) properties() []Property {
	return listOf(r, func() Property { return Property{Key: r.text(), Value: r.text()} })
}

func (r maker) extra() Extra {
	return []Extra{"", "\xc2\x3e\x03new", "\xc8\x3e\x07", "\xcd\x3e\x00\x00\x80\x3f"}[r.IntN(4)] // of fields 1000 and 1001
}

func (r maker) tensor() *Tensor {
	t := &Tensor{Name: r.text(), Doc: r.text(), Metadata: r.properties(), Extra: r.extra()}
	switch r.IntN(4) {
	case 0:
		t.Type, t.Strings = String, listOf(r, r.text)
		t.Dims = []int64{int64(len(t.Strings))}
	case 1:
		t.Type, t.Dims, t.External = Float16, []int64{3}, append(r.properties(), Property{Key: "location", Value: "data"})
	default:
		t.Type = ElemType(1 + r.IntN(int(Int2)))
		if t.Type == String {
			t.Type = Int4
		}
		n := r.IntN(5)
		t.Dims = []int64{int64(n), 3}
		t.Data = Raw(bytes.Repeat([]byte{0xa5}, (n*3*t.Type.Bits()+7)/8))
	}
	return t
}

func (r maker) sparse() *SparseTensor {
	return &SparseTensor{Values: r.tensor(), Indices: r.tensor(), Dims: listOf(r, r.number), Extra: r.extra()}
}

func (r maker) typ() Type {
	if r.IntN(4) == 0 {
		return Type{Extra: "\x22\x02\x0a\x00", Denotation: r.text()} // a sequence
	}
	t := Type{Elem: ElemType(1 + r.IntN(26)), Denotation: r.text(), TensorExtra: r.extra(), Extra: r.extra()}
	if r.often() {
		t.Shape, t.ShapeExtra = Shape{}, r.extra()
		t.Shape = append(t.Shape, listOf(r, func() Dim {
			return []Dim{Fixed(r.Int64N(1 << 40)), Free("N"), {Size: -1}, {Size: -1, Denotation: "C", Extra: r.extra()}}[r.IntN(4)]
		})...)
	}
	return t
}

func (r maker) value() *Value {
	return &Value{Name: r.text(), Type: r.typ(), Doc: r.text(), Metadata: r.properties(), Extra: r.extra()}
}

// attribute makes one of any kind; graphs only up to a depth.
func (r maker) attribute(depth int) Attribute {
	typ := r.typ()
	kinds := []any{
		r.float(), r.number(), r.text(), r.tensor(), r.sparse(), &typ,
		listOf(r, r.float), listOf(r, r.number), listOf(r, r.text), listOf(r, r.tensor), listOf(r, r.sparse), []*Type{&typ},
	}
	if depth > 0 {
		kinds = append(kinds, r.graph(depth-1), listOf(r, func() *Graph { return r.graph(depth - 1) }))
	}
	return Attribute{Name: r.text(), Value: kinds[r.IntN(len(kinds))], Doc: r.text(), Extra: r.extra()}
}

func (r maker) graph(depth int) *Graph {
	g := &Graph{
		Name: r.text(), Doc: r.text(), Metadata: r.properties(), Extra: r.extra(),
		Initializers: listOf(r, r.tensor), SparseInitializers: listOf(r, r.sparse),
		Inputs: listOf(r, r.value), Outputs: listOf(r, r.value), Values: listOf(r, r.value),
	}
	g.Nodes = listOf(r, func() *Node {
		return &Node{
			Name: r.text(), Op: r.text(), Domain: r.text(), Overload: r.text(), Inputs: listOf(r, r.text), Outputs: listOf(r, r.text),
			Attributes: listOf(r, func() Attribute { return r.attribute(depth) }), Doc: r.text(), Metadata: r.properties(), Extra: r.extra(),
		}
	})
	return g
}

func (r maker) model() *Model {
	return &Model{
		IRVersion: 1 + r.Int64N(12), Producer: r.text(), ProducerVersion: r.text(), Domain: r.text(), Version: r.number(), Doc: r.text(),
		Opsets: append(listOf(r, func() Opset { return Opset{Domain: r.text(), Version: r.number(), Extra: r.extra()} }), Opset{Version: 17}),
		Graph:  r.graph(1), Metadata: r.properties(), Extra: r.extra(),
	}
}

// Whatever a model has it has after a round trip, and its file is as large as was said before.
func TestRandomModelsSurviveARoundTrip(t *testing.T) {
	for seed := range uint64(25) {
		m := maker{rand.New(rand.NewPCG(seed, 1))}.model()
		data := mustEncode(t, m)
		if size, err := m.EncodedSize(); err != nil || size != int64(len(data)) {
			t.Errorf("seed %d: EncodedSize() = %d, %v, want %d", seed, size, err, len(data))
		}
		back, err := Decode(data)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if diff := cmp.Diff(m, back, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("seed %d: (-want +got):\n%s", seed, diff)
		}
		if fromFile, err := readBytes(data); err != nil || !bytes.Equal(mustEncode(t, fromFile), data) {
			t.Errorf("seed %d: a file gives another model: %v", seed, err)
		}
	}
}

// readers are the three ways in which a file is read, each with what it accepts.
func readers(data []byte) map[string]error {
	_, decoded := Decode(data)
	_, read := readBytes(data)
	_, head := (&fileReader{file: bytes.NewReader(data), size: int64(len(data))}).head()
	return map[string]error{"Decode": decoded, "ReadFile": read, "ReadHead": head}
}

// A file that ends too early is no model, wherever it is cut: at the latest its graph lacks a part. What comes
// behind the graph may be missing where a field ends.
func TestNoReaderTakesACutFileForAnother(t *testing.T) {
	m := everything()
	data := mustEncode(t, m)
	whole := mustEncode(t, mustDecode(t, data))
	for n := range data {
		errs := readers(data[:n])
		if (errs["Decode"] == nil) != (errs["ReadFile"] == nil) || errs["Decode"] == nil && errs["ReadHead"] != nil {
			t.Fatalf("of %d bytes Decode says %v, ReadFile %v, ReadHead %v", n, errs["Decode"], errs["ReadFile"], errs["ReadHead"])
		}
		if errs["Decode"] != nil {
			continue
		}
		got := mustDecode(t, data[:n])
		if diff := cmp.Diff(m.Graph, got.Graph); diff != "" || !bytes.HasPrefix(whole, mustEncode(t, got)) {
			t.Errorf("%d of %d bytes are another model:\n%s", n, len(data), diff)
		}
	}
}

// Damage of a single byte ends in an error or in a model, in the same of both for all who read all of it.
func TestDamageOfOneByteIsFoundByAllReadersOrNone(t *testing.T) {
	data := mustEncode(t, modelOf(diamond()))
	for at := range data {
		for _, with := range []byte{0x00, 0xff, data[at] ^ 1, data[at] ^ 0x80} {
			damaged := bytes.Clone(data)
			damaged[at] = with
			errs := readers(damaged)
			if (errs["Decode"] == nil) != (errs["ReadFile"] == nil) {
				t.Errorf("byte %d as %#x: Decode says %v, ReadFile %v", at, with, errs["Decode"], errs["ReadFile"])
			}
			if m, err := Decode(damaged); err == nil {
				_ = m.Check() // must not panic
				mustEncode(t, m)
			}
		}
	}
}

// Edits of a random model keep it encodable; renaming a value there and back changes nothing.
func TestRenamingThereAndBackChangesNothing(t *testing.T) {
	for seed := range uint64(20) {
		m := maker{rand.New(rand.NewPCG(seed, 2))}.model()
		before := mustEncode(t, m)
		name := m.Graph.Index().Unique("free")
		for _, n := range m.Graph.Nodes {
			for _, out := range n.Outputs {
				if out == "" {
					continue
				}
				m.Graph.RenameValue(out, name)
				m.Graph.RenameValue(name, out)
			}
		}
		if !bytes.Equal(mustEncode(t, m), before) {
			t.Errorf("seed %d: the model is another one", seed)
		}
	}
}

// A model that is described by functions of its own keeps them, whatever is edited.
func TestFunctionsOfAModelAreKept(t *testing.T) {
	const functions = 25
	body := asBytes(1, 4, "Mine") + asBytes(4, 1, "x") + asBytes(5, 1, "y") + asBytes(10, 2, "my")
	m := modelOf(diamond())
	m.Opsets = append(m.Opsets, Opset{Domain: "my", Version: 1})
	m.Extra = Extra(asBytes(functions, uint64(len(body)), body))
	m.Graph.Nodes[1].Op, m.Graph.Nodes[1].Domain = "Mine", "my"
	back := mustDecode(t, mustEncode(t, m))
	if err := back.Check(); err != nil || back.Extra != m.Extra {
		t.Errorf("Check() = %v, functions %q, want %q", err, back.Extra, m.Extra)
	}
	back.Opsets = back.Opsets[:1]
	if err := back.Check(); err == nil || err.Error() != `Mine "B": the model imports no operators of domain "my"` {
		t.Errorf("Check() = %v", err)
	}
}

// The fields of a list may come one by one or packed, and between others: protocol buffers ask readers for that.
func TestListsOfAttributesArePackedOrNot(t *testing.T) {
	packed := asBytes(attributeInts, 3, "\x01\x96\x01") + asBytes(attributeName, 1, "a") + asNumber(attributeInts)
	var a Attribute
	if err := a.decode([]byte(packed), 0); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]int64{1, 150, 7}, a.Value); diff != "" || a.Name != "a" {
		t.Errorf("%q has (-want +got):\n%s", a.Name, diff)
	}
	floats := asBytes(attributeFloats, 8, "\x00\x00\x80\x3f\x00\x00\x00\x40") + "\x3d\x00\x00\x40\x40"
	a = Attribute{}
	if err := a.decode([]byte(floats), 0); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]float32{1, 2, 3}, a.Value); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, cut := range []string{asBytes(attributeInts, 1, "\x96"), asBytes(attributeFloats, 3, "\x00\x00\x80"), "\x45\x00\x00\x80\x3f", asNumber(attributeFloats)} {
		if err := new(Attribute).decode([]byte(cut), 0); err == nil {
			t.Errorf("%q is accepted", cut)
		}
	}
}

// Of numbers that come twice the last one holds, as protocol buffers have it; an axis has a size or a name.
func TestOfFieldsThatComeTwiceTheLastOneHolds(t *testing.T) {
	for _, c := range []struct {
		fields string
		want   Dim
	}{
		{asNumber(dimValue), Fixed(7)},
		{asNumber(dimValue) + asBytes(dimParam, 1, "N"), Free("N")},
		{asBytes(dimParam, 1, "N") + asNumber(dimValue), Fixed(7)},
		{"", Dim{Size: -1}},
		{asBytes(dimParam, 0, ""), Dim{Size: -1}},
		{string(varints(dimValue<<3, -1)), Dim{Size: -1}}, // as some write an axis without a size
	} {
		var d Dim
		if err := d.decode([]byte(c.fields)); err != nil || d != c.want {
			t.Errorf("%q is %+v, %v, want %+v", c.fields, d, err, c.want)
		}
	}
	if got := fmt.Sprint(Shape{{Size: 3, Param: "N"}, {Size: -1}, Fixed(4)}); got != "[N ? 4]" {
		t.Errorf("a shape is %s", got)
	}
}
