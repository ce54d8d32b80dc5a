package onnx

import (
	"slices"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// diamond is x → a → (b, c) → d, with a body in c that takes "a" from outside.
func diamond() *Graph {
	body := func() *Graph {
		return &Graph{
			Nodes:   []*Node{{Name: "inner", Op: "Neg", Inputs: []string{"a"}, Outputs: []string{"neg"}}},
			Outputs: []*Value{{Name: "neg"}},
		}
	}
	return &Graph{
		Name:   "diamond",
		Inputs: []*Value{{Name: "x", Type: Type{Elem: Float32, Shape: Batched(1)}}, {Name: "flag"}},
		Nodes: []*Node{
			{Name: "A", Op: "Conv", Inputs: []string{"x", "w", ""}, Outputs: []string{"a"}},
			{Name: "B", Op: "Relu", Inputs: []string{"a"}, Outputs: []string{"b"}},
			{Name: "C", Op: "If", Inputs: []string{"flag"}, Outputs: []string{"c"}, Attributes: []Attribute{Attr("then_branch", body()), Attr("else_branch", body())}},
			{Name: "D", Op: "Add", Inputs: []string{"b", "c"}, Outputs: []string{"d"}},
		},
		Initializers: []*Tensor{TensorOf("w", []float32{1}, 1)},
		Values:       []*Value{{Name: "a"}, {Name: "b"}},
		Outputs:      []*Value{{Name: "d"}},
	}
}

func modelWith(g *Graph) *Model {
	return &Model{IRVersion: 8, Opsets: []Opset{{Version: 17}}, Graph: g}
}

func nodeNames(nodes []*Node) string {
	return strings.Join(each(nodes, func(n *Node) string { return n.Name }), " ")
}

func TestIndex(t *testing.T) {
	g := diamond()
	g.Nodes[1].Outputs = append(g.Nodes[1].Outputs, "") // an output left out
	g.Values = append(g.Values, &Value{Name: "left over"})
	x := g.Index()
	if p := x.Producer("b"); p == nil || p.Name != "B" {
		t.Errorf("Producer(b) = %v, want node B", p)
	}
	for _, name := range []string{"x", "w", "unknown", ""} {
		if p := x.Producer(name); p != nil {
			t.Errorf("Producer(%q) = %v, want none", name, p.Name)
		}
	}
	for name, want := range map[string]string{"a": "B C", "b": "D", "d": "", "w": "A", "x": "A", "neg": "", "": ""} {
		if got := nodeNames(x.Consumers(name)); got != want {
			t.Errorf("Consumers(%q) = %q, want %q", name, got, want)
		}
	}
	if x.Initializer("w") != g.Initializers[0] || x.Initializer("x") != nil {
		t.Error("Initializer() does not find w alone")
	}
	if x.Value("x") != g.Inputs[0] || x.Value("a") != g.Values[0] || x.Value("c") != nil {
		t.Error("Value() does not find the types of x and a alone")
	}
	if !x.IsOutput("d") || x.IsOutput("a") {
		t.Error("IsOutput() does not find d alone")
	}
	for _, c := range []struct{ base, want string }{
		{"new", "new"}, {"new", "new_1"}, {"a", "a_1"}, {"D", "D_1"}, {"w", "w_1"}, {"inner", "inner_1"}, {"neg", "neg_1"}, {"x", "x_1"}, {"left over", "left over_1"},
	} {
		if got := x.Unique(c.base); got != c.want {
			t.Errorf("Unique(%q) = %q, want %q", c.base, got, c.want)
		}
	}
	if got, want := nodeNames(slices.Collect(g.AllNodes())), "A B C inner inner D"; got != want {
		t.Errorf("AllNodes() = %q, want %q", got, want)
	}
	for n := range g.AllNodes() {
		if n.Name == "inner" {
			break // must also end the inner loops
		}
	}
}

func TestRenameValue(t *testing.T) {
	g := diamond()
	g.Nodes[2].Attributes[1].Value = &Graph{Outputs: []*Value{{Name: "a"}}} // hands out a value of the graph around it
	own := &Graph{Inputs: []*Value{{Name: "a"}}, Nodes: []*Node{{Op: "Neg", Inputs: []string{"a"}, Outputs: []string{"n"}}}, Outputs: []*Value{{Name: "n"}}}
	g.Nodes[3].SetAttr("body", own)
	for _, name := range []string{"a", "w", "x", "d"} {
		g.RenameValue(name, name+"'")
	}
	if err := modelWith(g).Check(); err != nil {
		t.Error(err)
	}
	if g.Outputs[0].Name != "d'" || g.Inputs[0].Name != "x'" || g.Initializers[0].Name != "w'" || g.Values[0].Name != "a'" {
		t.Errorf("the graph is %+v", g)
	}
	if got := own.Nodes[0].Inputs[0]; got != "a" {
		t.Errorf("a body with a value a of its own reads %q", got)
	}
}

func TestPrune(t *testing.T) {
	for _, c := range []struct {
		name          string
		change        func(*Graph)
		nodes, values string
	}{
		{"a value that only a body reads", func(g *Graph) { g.Outputs = []*Value{{Name: "c"}} }, "A C", "a"},
		{"a node with several outputs", func(g *Graph) {
			g.Nodes[1].Outputs = append(g.Nodes[1].Outputs, "mask", "")
			g.Values = append(g.Values, &Value{Name: "mask"}, &Value{Name: "unused"})
			g.Nodes = append(g.Nodes, &Node{Name: "E", Op: "Neg", Inputs: []string{"a"}, Outputs: []string{""}})
		}, "A B C D", "a b mask"},
		{"a cycle", func(g *Graph) { g.Nodes[0].Inputs[0] = "b" }, "A B C D", "a b"},
	} {
		g := diamond()
		g.Initializers = append(g.Initializers, TensorOf("unused", []float32{1}))
		c.change(g)
		g.Prune()
		values := strings.Join(each(g.Values, func(v *Value) string { return v.Name }), " ")
		if nodeNames(g.Nodes) != c.nodes || values != c.values || len(g.Initializers) != 1 || len(g.Inputs) != 2 {
			t.Errorf("%s: nodes %q, values %q, %d initializers and %d inputs are left", c.name, nodeNames(g.Nodes), values, len(g.Initializers), len(g.Inputs))
		}
	}
}

func TestSort(t *testing.T) {
	g := diamond()
	slices.Reverse(g.Nodes)
	if err := modelWith(g).Check(); err == nil {
		t.Error("Check() accepts nodes in the wrong order")
	}
	if err := g.Sort(); err != nil || nodeNames(g.Nodes) != "A B C D" {
		t.Errorf("sorted nodes are %q (%v), want A B C D", nodeNames(g.Nodes), err)
	}
	if err := modelWith(g).Check(); err != nil {
		t.Error(err)
	}
	g = diamond()
	g.Nodes[0].Inputs[0] = "b"
	before := slices.Clone(g.Nodes)
	if err := g.Sort(); !testenv.Names(err, `"diamond" … cycle … Conv "A" … Relu "B" … Conv "A"`) {
		t.Errorf("Sort() = %v", err)
	}
	if !slices.Equal(g.Nodes, before) {
		t.Error("Sort() changed the order of a graph with a cycle")
	}
}

func TestCheck(t *testing.T) {
	body := func(g *Graph) *Graph { return g.Nodes[2].Attributes[0].Value.(*Graph) }
	for _, c := range []struct {
		name, want string
		change     func(*Graph)
	}{
		{"valid", "", func(*Graph) {}},
		{"an undefined input", `Relu "B" reads "q", which no earlier node defines`, func(g *Graph) { g.Nodes[1].Inputs[0] = "q" }},
		{"an undefined output", `output "q" is made by no node`, func(g *Graph) { g.Outputs[0].Name = "q" }},
		{"two producers", `value "a" is defined twice, the second time by Relu "B"`, func(g *Graph) { g.Nodes[1].Outputs[0] = "a" }},
		{"a node that defines an input", `value "x" is defined twice`, func(g *Graph) { g.Nodes[1].Outputs[0] = "x" }},
		{"nodes of one name", `two nodes are called "A"`, func(g *Graph) { g.Nodes[1].Name = "A" }},
		{"a node without operator", "has no operator", func(g *Graph) { g.Nodes[1].Op = "" }},
		{"an operator of an unknown domain", `no operators of domain "com.x"`, func(g *Graph) { g.Nodes[1].Domain = "com.x" }},
		{"initializers of one name", `two initializers are called "w"`, func(g *Graph) { g.Initializers = append(g.Initializers, g.Initializers[0]) }},
		{"inputs of one name", `two inputs are called "x"`, func(g *Graph) { g.Inputs[1].Name = "x" }},
		{"a nameless initializer", "an initializer without a name", func(g *Graph) { g.Initializers[0].Name = "" }},
		{"a tensor of the wrong size", `tensor "w" of float32[2] holds 4 bytes, expected 8`, func(g *Graph) { g.Initializers[0].Dims = []int64{2} }},
		{"a wrong tensor in an attribute", `Relu "B": attribute "value": tensor "v"`, func(g *Graph) {
			g.Nodes[1].SetAttr("value", &Tensor{Name: "v", Type: Float32, Dims: []int64{2}})
		}},
		{"a wrong tensor in a list", `Relu "B": attribute "values": tensor "v"`, func(g *Graph) {
			g.Nodes[1].SetAttr("values", []*Tensor{TensorOf("w", []float32{1}, 1), {Name: "v", Type: Float32, Dims: []int64{2}}})
		}},
		{"too few strings", `tensor "words" of shape [3] holds 2 strings, expected 3`, func(g *Graph) {
			g.Initializers = append(g.Initializers, &Tensor{Name: "words", Type: String, Dims: []int64{3}, Strings: []string{"a", "b"}})
		}},
		{"an unknown element type", `tensor "w": the size of elements of type ElemType(99) is not known`, func(g *Graph) { g.Initializers[0].Type = 99 }},
		{"a subgraph that defines a name of the outer graph", "", func(g *Graph) { body(g).Nodes[0].Outputs[0], body(g).Outputs[0].Name = "x", "x" }},
		{"nameless nodes", "", func(g *Graph) { g.Nodes[0].Name, g.Nodes[1].Name = "", "" }},
		{"a nameless node with an undefined input", `Relu making "b" reads "q"`, func(g *Graph) { g.Nodes[1].Name, g.Nodes[1].Inputs[0] = "", "q" }},
		{"a branch that reads a value of the other one", `Abs making "abs" reads "neg"`, func(g *Graph) {
			g.Nodes[2].Attributes[1].Value = &Graph{Nodes: []*Node{{Op: "Abs", Inputs: []string{"neg"}, Outputs: []string{"abs"}}}}
		}},
		{"an undefined input in a subgraph", `Neg "inner" reads "q"`, func(g *Graph) { body(g).Nodes[0].Inputs[0] = "q" }},
		{"a node that reads a value of a subgraph", `Add "D" reads "neg"`, func(g *Graph) { g.Nodes[3].Inputs[0] = "neg" }},
		{"more errors than are listed", `reads "q"`, func(g *Graph) {
			for range 1000 {
				g.Nodes = append(g.Nodes, &Node{Op: "Relu", Inputs: []string{"q"}, Outputs: []string{""}})
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := diamond()
			g.Nodes[2].Attributes[1].Value = &Graph{Outputs: []*Value{{Name: "a"}}}
			c.change(g)
			err := modelWith(g).Check()
			if (c.want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("Check() = %v, want %q", err, c.want)
			}
			if err != nil && strings.Count(err.Error(), "\n") >= maxReported {
				t.Errorf("Check() lists %d errors", strings.Count(err.Error(), "\n")+1)
			}
		})
	}
	if err := (&Model{}).Check(); err == nil {
		t.Error("Check() accepts a model without a graph")
	}
}

func TestElementsErrors(t *testing.T) {
	for _, c := range []struct {
		name, want string
		tensor     Tensor
	}{
		{"another type", "has int64 elements, not float32", Tensor{Type: Int64, Data: Raw{}}},
		{"too few bytes", "holds 4 bytes, expected 8", Tensor{Type: Float32, Dims: []int64{2}, Data: Raw("abcd")}},
		{"no bytes", "holds 0 bytes, expected 4", Tensor{Type: Float32}},
		{"another file", "in another file", Tensor{Type: Float32, External: []Property{}}},
		{"a negative axis", "no possible shape: [-1]", Tensor{Type: Float32, Dims: []int64{-1}}},
		{"too many elements", "no possible shape", Tensor{Type: Float32, Dims: []int64{1 << 40, 1 << 40}}},
		{"a source that fails", "unexpected EOF", Tensor{Type: Float32, Data: brokenSource{size: 4}}},
	} {
		c.tensor.Name = "w"
		_, err := Elements[float32](&c.tensor)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), `tensor "w"`) {
			t.Errorf("%s: Elements() = %v, want tensor \"w\" and %q", c.name, err, c.want)
		}
	}
}

func TestDTypes(t *testing.T) {
	for d := tensor.Float32; d <= tensor.String; d++ {
		if elem := ElemTypeOf(d); elem.DType() != d || !strings.EqualFold(elem.String(), d.String()) {
			t.Errorf("ElemTypeOf(%v) = %v, with the tensor type %v", d, elem, elem.DType())
		}
	}
	for _, elem := range []ElemType{Undefined, Complex64, Float8E5M2, -1, 99} {
		if d := elem.DType(); d != tensor.Invalid {
			t.Errorf("%v is taken for %v", elem, d)
		}
	}
}
