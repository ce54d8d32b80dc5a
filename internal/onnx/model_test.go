package onnx

import (
	"math"
	"slices"
	"testing"
)

// everything returns a model that uses every field and every kind of attribute.
func everything() *Model {
	tensor := &Tensor{
		Name: "weights", Type: Float32, Dims: []int64{2, 2}, Data: Raw("0123456789abcdef"),
		Doc: "doc", Metadata: []Property{{Key: "k", Value: "v"}},
	}
	words := &Tensor{Name: "words", Type: String, Dims: []int64{2}, Strings: []string{"one", "\xff\x00"}}
	outside := &Tensor{Name: "outside", Type: Int8, Dims: []int64{3}, External: []Property{{Key: "location", Value: "w.bin"}}}
	empty := &Tensor{Name: "empty", Type: Int64, Dims: []int64{0}, Data: Raw{}}
	sparse := &SparseTensor{Values: TensorOf("sparse", []float32{7}, 1), Indices: TensorOf("", []int64{3}, 1), Dims: []int64{9}}
	body := &Graph{
		Name:    "body",
		Nodes:   []*Node{{Op: "Identity", Inputs: []string{"x"}, Outputs: []string{"inner"}}},
		Outputs: []*Value{{Name: "inner"}},
	}
	sequence := &Type{Extra: "\x22\x02\x0a\x00", Denotation: "IMAGE"} // sequence_type of an empty type
	node := &Node{
		Name: "node", Op: "Op", Domain: "com.example", Overload: "o", Doc: "doc",
		Inputs: []string{"x", "", "weights"}, Outputs: []string{"y", ""},
		Metadata: []Property{{Key: "k"}},
		Attributes: []Attribute{
			Attr("f", float32(1.5)), Attr("zero", float32(0)), Attr("i", int64(-1)), Attr("s", "\x80bytes"),
			Attr("t", tensor), Attr("g", body), Attr("st", sparse), Attr("tp", sequence),
			Attr("floats", []float32{0, -1, float32(math.Inf(1))}), Attr("ints", []int64{math.MinInt64, 0, math.MaxInt64}),
			Attr("strings", []string{"", "a"}), Attr("tensors", []*Tensor{words, empty}), Attr("graphs", []*Graph{body, body}),
			Attr("sparses", []*SparseTensor{sparse}), Attr("types", []*Type{sequence, {Elem: Float16}}),
			Attr("none", []int64(nil)), {Name: "newer", Doc: "doc", Extra: "\xa0\x01\x63"}, // kind 99
		},
	}
	return &Model{
		IRVersion: 8, Producer: "p", ProducerVersion: "1", Domain: "d", Version: -2, Doc: "doc",
		Opsets:   []Opset{{Version: 17}, {Domain: "com.example", Version: 1}},
		Metadata: []Property{{Key: "k", Value: "v"}, {}},
		Graph: &Graph{
			Name: "g", Doc: "doc", Nodes: []*Node{node},
			Initializers:       []*Tensor{tensor, words, outside, empty},
			SparseInitializers: []*SparseTensor{sparse},
			Inputs: []*Value{
				{Name: "x", Type: Type{Elem: Float32, Shape: Shape{Free("N"), Fixed(3), {Size: -1, Denotation: "H"}, Fixed(0)}}, Doc: "doc"},
				{Name: "scalar", Type: Type{Elem: Bool, Shape: Shape{}}},
				{Name: "unranked", Type: Type{Elem: Bool}, Metadata: []Property{{Key: "k", Value: "v"}}},
				{Name: "list", Type: *sequence},
			},
			Outputs:  []*Value{{Name: "y"}},
			Values:   []*Value{{Name: "inner", Type: Type{Elem: Int4, Shape: Batched(1)}}},
			Metadata: []Property{{Key: "k", Value: "v"}},
		},
	}
}

// addExtras puts an unknown field into every message of a model and returns how many
// there are.
func addExtras(m *Model) int {
	n := 0
	add := func(e *Extra) {
		*e = "\xc2\x3e\x03new" + *e // field 1000
		n++
	}
	var addType func(t *Type)
	var addTensor func(t *Tensor)
	var addGraph func(g *Graph)
	addProperties := func(list []Property) {
		for i := range list {
			add(&list[i].Extra)
		}
	}
	addType = func(t *Type) {
		add(&t.Extra)
		if t.Elem == Undefined {
			return
		}
		add(&t.TensorExtra)
		if t.Shape != nil {
			add(&t.ShapeExtra)
		}
		for i := range t.Shape {
			add(&t.Shape[i].Extra)
		}
	}
	addTensor = func(t *Tensor) {
		add(&t.Extra)
		addProperties(t.Metadata)
		addProperties(t.External)
	}
	addSparse := func(t *SparseTensor) {
		add(&t.Extra)
		addTensor(t.Values)
	}
	addGraph = func(g *Graph) {
		add(&g.Extra)
		addProperties(g.Metadata)
		for _, t := range g.Initializers {
			addTensor(t)
		}
		for _, t := range g.SparseInitializers {
			addSparse(t)
		}
		for _, v := range slices.Concat(g.Inputs, g.Outputs, g.Values) {
			add(&v.Extra)
			addType(&v.Type)
			addProperties(v.Metadata)
		}
		for _, node := range g.Nodes {
			add(&node.Extra)
			addProperties(node.Metadata)
			for i := range node.Attributes {
				add(&node.Attributes[i].Extra)
			}
		}
	}
	add(&m.Extra)
	for i := range m.Opsets {
		add(&m.Opsets[i].Extra)
	}
	addProperties(m.Metadata)
	addGraph(m.Graph)
	return n
}

func TestOpsetKnowsBothNamesOfTheDefaultDomain(t *testing.T) {
	m := &Model{Opsets: []Opset{{Domain: "ai.onnx", Version: 17}, {Domain: "com.microsoft", Version: 1}}}
	for domain, want := range map[string]int64{"": 17, "ai.onnx": 17, "com.microsoft": 1, "other": 0} {
		if got := m.Opset(domain); got != want {
			t.Errorf("Opset(%q) = %d, want %d", domain, got, want)
		}
	}
}

func TestFreeInputsAreThoseWithoutAnInitializer(t *testing.T) {
	g := everything().Graph
	g.Inputs = append(g.Inputs, &Value{Name: "weights"}, &Value{Name: "sparse"})
	var got []string
	for _, v := range g.FreeInputs() {
		got = append(got, v.Name)
	}
	if want := []string{"x", "scalar", "unranked", "list"}; !slices.Equal(got, want) {
		t.Errorf("FreeInputs() = %q, want %q", got, want)
	}
}

func TestValuesAndTypesDescribeThemselves(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{(&Value{Name: "x", Type: Type{Elem: Float32, Shape: Batched(3, 224)}}).String(), "x float32[N 3 224]"},
		{(&Value{Name: "y", Type: Type{Elem: Int64}}).String(), "y int64[…]"},
		{Shape{Free(""), Fixed(0)}.String(), "[? 0]"},
		{Shape{}.String(), "[]"},
		{BFloat16.String(), "bfloat16"},
		{Int2.String(), "int2"},
		{Undefined.String(), "undefined"},
		{ElemType(77).String(), "ElemType(77)"},
		{ElemType(-1).String(), "ElemType(-1)"},
	} {
		if c.got != c.want {
			t.Errorf("String() = %q, want %q", c.got, c.want)
		}
	}
}

func TestAttributesAreReadWithTheirDefaults(t *testing.T) {
	n := &Node{Attributes: []Attribute{Attr("axis", int64(2)), Attr("pads", []int64{1, 1})}}
	if got := AttrOr(n, "axis", int64(-1)); got != 2 {
		t.Errorf("AttrOr(axis) = %d, want 2", got)
	}
	if got := AttrOr(n, "missing", "x"); got != "x" {
		t.Errorf("AttrOr(missing) = %q, want the default", got)
	}
	if got := AttrOr(n, "axis", float32(7)); got != 7 {
		t.Errorf("AttrOr of another type = %v, want the default", got)
	}
	n.SetAttr("axis", int64(3))
	n.SetAttr("group", int64(4))
	n.DropAttr("pads")
	n.DropAttr("missing")
	if got := AttrOr(n, "axis", int64(0)); got != 3 || len(n.Attributes) != 2 || AttrOr(n, "group", int64(0)) != 4 {
		t.Errorf("after edits the attributes are %v", n.Attributes)
	}
	if n.Input(0) != "" {
		t.Errorf("Input(0) of a node without inputs = %q", n.Input(0))
	}
}
