package onnx

import (
	"slices"
	"strings"
	"testing"
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

func modelOf(g *Graph) *Model {
	return &Model{IRVersion: 8, Opsets: []Opset{{Version: 17}}, Graph: g}
}

func nodeNames(nodes []*Node) string {
	var names []string
	for _, n := range nodes {
		names = append(names, n.Name)
	}
	return strings.Join(names, " ")
}

func TestAnIndexKnowsWhoMakesAndWhoReadsAValue(t *testing.T) {
	g := diamond()
	g.Nodes[1].Outputs = append(g.Nodes[1].Outputs, "") // an output left out
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
}

func TestUniqueNamesAvoidValuesNodesAndEachOther(t *testing.T) {
	x := diamond().Index()
	for _, c := range []struct{ base, want string }{
		{"new", "new"}, {"new", "new_1"}, {"a", "a_1"}, {"D", "D_1"}, {"w", "w_1"}, {"inner", "inner_1"}, {"neg", "neg_1"}, {"x", "x_1"},
	} {
		if got := x.Unique(c.base); got != c.want {
			t.Errorf("Unique(%q) = %q, want %q", c.base, got, c.want)
		}
	}
}

func TestAllNodesEntersSubgraphs(t *testing.T) {
	var all []*Node
	for n := range diamond().AllNodes() {
		all = append(all, n)
	}
	if got, want := nodeNames(all), "A B C inner inner D"; got != want {
		t.Errorf("AllNodes() = %q, want %q", got, want)
	}
	for n := range diamond().AllNodes() {
		if n.Name == "inner" {
			break // must not go on with the other branch
		}
	}
}

func TestReplaceUsesReachesSubgraphsButNotOutputs(t *testing.T) {
	g := diamond()
	g.ReplaceUses("a", "q")
	g.ReplaceUses("d", "q")
	body := g.Nodes[2].Attributes[0].Value.(*Graph)
	if g.Nodes[1].Inputs[0] != "q" || body.Nodes[0].Inputs[0] != "q" || g.Nodes[0].Outputs[0] != "a" || g.Outputs[0].Name != "d" {
		t.Errorf("after ReplaceUses B reads %q, the body %q; A makes %q, the output is %q",
			g.Nodes[1].Inputs, body.Nodes[0].Inputs, g.Nodes[0].Outputs, g.Outputs[0].Name)
	}
}

func TestReplaceUsesLeavesNamesAloneThatASubgraphDefinesItself(t *testing.T) {
	g := diamond()
	body := g.Nodes[2].Attributes[0].Value.(*Graph)
	body.Inputs = []*Value{{Name: "a"}}
	g.ReplaceUses("a", "q")
	if got := body.Nodes[0].Inputs[0]; got != "a" {
		t.Errorf("the body reads %q, want its own a", got)
	}
}

func TestRenameValueRenamesItEverywhere(t *testing.T) {
	g := diamond()
	for _, name := range []string{"a", "w", "x", "d"} {
		g.RenameValue(name, name+"'")
	}
	if err := modelOf(g).Check(); err != nil {
		t.Error(err)
	}
	if g.Outputs[0].Name != "d'" || g.Inputs[0].Name != "x'" || g.Initializers[0].Name != "w'" || g.Values[0].Name != "a'" {
		t.Errorf("the graph is %+v", g)
	}
}

func TestRenameValueRenamesSparseInitializers(t *testing.T) {
	g := diamond()
	g.SparseInitializers = []*SparseTensor{{Values: TensorOf("s", []float32{1}, 1)}}
	g.Nodes[1].Inputs = append(g.Nodes[1].Inputs, "s")
	g.RenameValue("s", "t")
	if err := modelOf(g).Check(); err != nil || g.SparseInitializers[0].Values.Name != "t" {
		t.Errorf("the initializer is %q: %v", g.SparseInitializers[0].Values.Name, err)
	}
}

// A branch may hand out a value of the graph around it as it is.
func TestReplaceUsesReachesWhatABranchHandsOut(t *testing.T) {
	g := diamond()
	branch := &Graph{Outputs: []*Value{{Name: "a"}}}
	g.Nodes[2].Attributes[1].Value = branch
	g.ReplaceUses("a", "b")
	if branch.Outputs[0].Name != "b" {
		t.Errorf("the branch hands out %q, want b", branch.Outputs[0].Name)
	}
}

func TestAnIndexTakesTheNamesOfValuesThatAreOnlyDescribed(t *testing.T) {
	g := diamond()
	g.Values = append(g.Values, &Value{Name: "left over"})
	if got := g.Index().Unique("left over"); got != "left over_1" {
		t.Errorf("Unique() = %q, a name that the graph describes", got)
	}
}

func TestPruneKeepsAllOutputsOfANodeThatIsNeeded(t *testing.T) {
	g := diamond()
	g.Nodes[1].Outputs = append(g.Nodes[1].Outputs, "mask", "")
	g.Values = append(g.Values, &Value{Name: "mask"}, &Value{Name: "nobody's"})
	g.Nodes = append(g.Nodes, &Node{Name: "E", Op: "Neg", Inputs: []string{"a"}, Outputs: []string{""}})
	sparse := func(name string) *SparseTensor { return &SparseTensor{Values: TensorOf(name, []float32{1}, 1)} }
	g.SparseInitializers = []*SparseTensor{sparse("s"), sparse("unused")}
	g.Nodes[0].Inputs = append(g.Nodes[0].Inputs, "s")
	g.Prune()
	var values []string
	for _, v := range g.Values {
		values = append(values, v.Name)
	}
	if got := strings.Join(values, " "); got != "a b mask" {
		t.Errorf("types are left of %q, want a b mask", got)
	}
	if got := nodeNames(g.Nodes); got != "A B C D" {
		t.Errorf("nodes left are %q: E makes nothing", got)
	}
	if len(g.SparseInitializers) != 1 || g.SparseInitializers[0].Values.Name != "s" {
		t.Errorf("%d sparse initializers are left, want s", len(g.SparseInitializers))
	}
}

func TestPruneOfACycleEnds(t *testing.T) {
	g := diamond()
	g.Nodes[0].Inputs[0] = "b"
	g.Prune()
	if got := nodeNames(g.Nodes); got != "A B C D" {
		t.Errorf("nodes left are %q, want A B C D", got)
	}
}

func TestPruneDropsWhatNoOutputNeeds(t *testing.T) {
	g := diamond()
	g.Initializers = append(g.Initializers, TensorOf("unused", []float32{1}))
	g.Outputs = []*Value{{Name: "c"}}
	g.Prune()
	if got := nodeNames(g.Nodes); got != "A C" {
		t.Errorf("nodes left are %q, want A for the body of C, and C", got)
	}
	if len(g.Initializers) != 1 || len(g.Values) != 1 || len(g.Inputs) != 2 {
		t.Errorf("%d initializers, %d types, %d inputs left, want 1, 1, 2", len(g.Initializers), len(g.Values), len(g.Inputs))
	}
	if err := modelOf(g).Check(); err != nil {
		t.Error(err)
	}
}

func TestSortMovesNodesBehindThoseTheyRead(t *testing.T) {
	g := diamond()
	g.Nodes = []*Node{g.Nodes[3], g.Nodes[2], g.Nodes[1], g.Nodes[0]}
	if err := modelOf(g).Check(); err == nil {
		t.Error("Check() accepts nodes in the wrong order")
	}
	if err := g.Sort(); err != nil {
		t.Fatal(err)
	}
	if got := nodeNames(g.Nodes); got != "A B C D" {
		t.Errorf("sorted nodes are %q, want A B C D", got)
	}
	if err := modelOf(g).Check(); err != nil {
		t.Error(err)
	}
}

func TestSortNamesTheNodesOfACycle(t *testing.T) {
	g := diamond()
	g.Nodes[0].Inputs[0] = "b"
	before := slices.Clone(g.Nodes)
	err := g.Sort()
	if err == nil || err.Error() != `graph "diamond" has a cycle: Conv "A" ← Relu "B" ← Conv "A"` {
		t.Errorf("Sort() = %v", err)
	}
	if !slices.Equal(g.Nodes, before) {
		t.Error("Sort() changed the order of a graph with a cycle")
	}
}

func TestSortOfAVeryLongChainIsQuick(t *testing.T) {
	const n = 50_000
	g := &Graph{}
	for i := range n { // each reads its neighbour and the far end, last node first
		g.Nodes = append(g.Nodes, &Node{Inputs: []string{string(rune(i + 1)), string(rune(n))}, Outputs: []string{string(rune(i))}})
	}
	if err := g.Sort(); err != nil {
		t.Fatal(err)
	}
	if g.Nodes[0].Outputs[0] != string(rune(n-1)) {
		t.Errorf("the first node makes %q", g.Nodes[0].Outputs[0])
	}
}

func TestCheckFindsWhatMakesAGraphMeaningless(t *testing.T) {
	body := func(g *Graph) *Graph { return g.Nodes[2].Attributes[0].Value.(*Graph) }
	for _, c := range []struct {
		name, want string
		change     func(*Graph)
	}{
		{"nothing wrong", "", func(*Graph) {}},
		{"a value nobody makes", `Relu "B" reads "q", which no earlier node defines`, func(g *Graph) { g.Nodes[1].Inputs[0] = "q" }},
		{"an output nobody makes", `output "q" is made by no node`, func(g *Graph) { g.Outputs[0].Name = "q" }},
		{"two producers", `value "a" is defined twice, the second time by Relu "B"`, func(g *Graph) { g.Nodes[1].Outputs[0] = "a" }},
		{"a node making an input", `value "x" is defined twice`, func(g *Graph) { g.Nodes[1].Outputs[0] = "x" }},
		{"nodes of one name", `two nodes are called "A"`, func(g *Graph) { g.Nodes[1].Name = "A" }},
		{"a node without operator", "has no operator", func(g *Graph) { g.Nodes[1].Op = "" }},
		{"an operator from elsewhere", `no operators of domain "com.x"`, func(g *Graph) { g.Nodes[1].Domain = "com.x" }},
		{"initializers of one name", `two initializers are called "w"`, func(g *Graph) { g.Initializers = append(g.Initializers, g.Initializers[0]) }},
		{"inputs of one name", `two inputs are called "x"`, func(g *Graph) { g.Inputs[1].Name = "x" }},
		{"a nameless initializer", "an initializer without a name", func(g *Graph) { g.Initializers[0].Name = "" }},
		{"a tensor of the wrong size", `tensor "w" of float32[2] holds 4 bytes, want 8`, func(g *Graph) { g.Initializers[0].Dims = []int64{2} }},
		{"a wrong tensor in an attribute", `Relu "B": attribute "value": tensor "v"`, func(g *Graph) {
			g.Nodes[1].SetAttr("value", &Tensor{Name: "v", Type: Float32, Dims: []int64{2}})
		}},
		{"a wrong tensor in a list", `Relu "B": attribute "values": tensor "v"`, func(g *Graph) {
			g.Nodes[1].SetAttr("values", []*Tensor{TensorOf("w", []float32{1}, 1), {Name: "v", Type: Float32, Dims: []int64{2}}})
		}},
		{"a wrong sparse tensor in an attribute", `Relu "B": attribute "value": tensor "v"`, func(g *Graph) {
			g.Nodes[1].SetAttr("value", &SparseTensor{Values: TensorOf("w", []float32{1}, 1), Indices: &Tensor{Name: "v", Type: Int64, Dims: []int64{2}}})
		}},
		{"wrong sparse tensors in a list", `Relu "B": attribute "value": tensor "v"`, func(g *Graph) {
			g.Nodes[1].SetAttr("value", []*SparseTensor{{Values: &Tensor{Name: "v", Type: Int64, Dims: []int64{2}}}})
		}},
		{"a sparse initializer of the wrong size", `tensor "s" of float32[2] holds 4 bytes, want 8`, func(g *Graph) {
			g.SparseInitializers = []*SparseTensor{{Values: TensorOf("s", []float32{1}, 2)}}
		}},
		{"a sparse initializer that a node makes again", `value "s" is defined twice`, func(g *Graph) {
			g.SparseInitializers = []*SparseTensor{{Values: TensorOf("s", []float32{1}, 1)}}
			g.Nodes[1].Outputs = append(g.Nodes[1].Outputs, "s")
		}},
		{"strings that are too few", `tensor "words" of shape [3] holds 2 strings, want 3`, func(g *Graph) {
			g.Initializers = append(g.Initializers, &Tensor{Name: "words", Type: String, Dims: []int64{3}, Strings: []string{"a", "b"}})
		}},
		{"an element type that does not exist", `tensor "w": elements of type ElemType(99) have no size that is known`, func(g *Graph) { g.Initializers[0].Type = 99 }},
		{"a nameless input", "an input without a name", func(g *Graph) { g.Inputs[1].Name = "" }},
		{"a subgraph with a name of its own for what is outside", "", func(g *Graph) { body(g).Nodes[0].Outputs[0], body(g).Outputs[0].Name = "x", "x" }},
		{"nameless nodes", "", func(g *Graph) { g.Nodes[0].Name, g.Nodes[1].Name = "", "" }},
		{"a nameless node that reads nothing known", `Relu making "b" reads "q"`, func(g *Graph) { g.Nodes[1].Name, g.Nodes[1].Inputs[0] = "", "q" }},
		{"a branch that reads what the other one makes", `Abs making "abs" reads "neg"`, func(g *Graph) {
			g.Nodes[2].Attributes[1].Value = &Graph{Nodes: []*Node{{Op: "Abs", Inputs: []string{"neg"}, Outputs: []string{"abs"}}}}
		}},
		{"a value nobody makes in a subgraph", `Neg "inner" reads "q"`, func(g *Graph) { body(g).Nodes[0].Inputs[0] = "q" }},
		{"a node that reads what a subgraph makes", `Add "D" reads "neg"`, func(g *Graph) { g.Nodes[3].Inputs[0] = "neg" }},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := diamond()
			g.Nodes[2].Attributes[1].Value = &Graph{Outputs: []*Value{{Name: "a"}}}
			c.change(g)
			err := modelOf(g).Check()
			if (c.want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("Check() = %v, want %q", err, c.want)
			}
		})
	}
	if err := (&Model{}).Check(); err == nil {
		t.Error("Check() accepts a model without a graph")
	}
}

func TestCheckStopsListingErrorsAtSomePoint(t *testing.T) {
	g := &Graph{}
	for range 1000 {
		g.Nodes = append(g.Nodes, &Node{Op: "Relu", Inputs: []string{"q"}, Outputs: []string{""}})
	}
	err := modelOf(g).Check()
	if err == nil || strings.Count(err.Error(), "\n") != maxReported-1 {
		t.Errorf("Check() reports %d lines, want %d", strings.Count(err.Error(), "\n")+1, maxReported)
	}
}
