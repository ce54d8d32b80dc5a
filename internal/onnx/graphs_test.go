package onnx

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// sound makes a random graph that Check accepts: nodes read inputs, initializers and what nodes before them make; some have bodies,
// which read values of their own and of the graphs around them.
func (r maker) sound(depth int, outer []string) *Graph {
	prefix := fmt.Sprintf("%d.%d.", depth, r.IntN(1000))
	g := &Graph{Name: prefix + "graph"}
	known := slices.Clone(outer)
	define := func(name string) string {
		known = append(known, name)
		return name
	}
	for i := range 1 + r.IntN(2) {
		g.Inputs = append(g.Inputs, &Value{Name: define(fmt.Sprint(prefix, "in", i)), Type: Type{Elem: Float32}})
	}
	for i := range r.IntN(3) {
		g.Initializers = append(g.Initializers, TensorOf(define(fmt.Sprint(prefix, "w", i)), []float32{float32(i)}, 1))
	}
	if r.IntN(3) == 0 {
		g.SparseInitializers = []*SparseTensor{{Values: TensorOf(define(prefix+"s"), []float32{1}, 1), Dims: []int64{4}}}
	}
	for i := range 2 + r.IntN(6) {
		n := &Node{Op: "Op", Name: fmt.Sprint(prefix, "node", i)}
		for range r.IntN(4) {
			n.Inputs = append(n.Inputs, append(known, "")[r.IntN(len(known)+1)])
		}
		if depth < 3 && r.IntN(3) == 0 {
			n.SetAttr("body", r.sound(depth+1, known))
		}
		if depth < 3 && r.IntN(6) == 0 {
			n.SetAttr("branches", []*Graph{r.sound(depth+1, known), r.sound(depth+1, known)})
		}
		for k := range 1 + r.IntN(2) {
			n.Outputs = append(n.Outputs, define(fmt.Sprint(prefix, "v", i, ".", k)))
		}
		if r.IntN(5) == 0 {
			n.Outputs = append(n.Outputs, "")
		}
		g.Nodes = append(g.Nodes, n)
	}
	own := known[len(outer):]
	for range 1 + r.IntN(2) {
		g.Outputs = append(g.Outputs, &Value{Name: own[r.IntN(len(own))]})
	}
	for _, name := range own {
		if r.IntN(4) == 0 {
			g.Values = append(g.Values, &Value{Name: name, Type: Type{Elem: Int8}})
		}
	}
	return g
}

// graphs are random graphs that make sense.
func graphs(t *testing.T, n uint64, visit func(t *testing.T, r maker, g *Graph)) {
	t.Helper()
	for seed := range n {
		r := maker{rand.New(rand.NewPCG(seed, 11))}
		g := r.sound(1, nil)
		if err := modelOf(g).Check(); err != nil {
			t.Fatalf("seed %d: the graph makes no sense: %v", seed, err)
		}
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { visit(t, r, g) })
	}
}

// slowReads are the values that a node reads from the graph that it is in: a plain walk which knows what bodies define.
func slowReads(n *Node) map[string]bool {
	reads := map[string]bool{}
	for _, name := range n.Inputs {
		if name != "" {
			reads[name] = true
		}
	}
	for _, body := range n.subgraphs() {
		free := map[string]bool{}
		for _, inner := range body.Nodes {
			maps.Copy(free, slowReads(inner))
		}
		for _, v := range body.Outputs {
			free[v.Name] = true
		}
		for _, name := range body.definitions() {
			delete(free, name)
		}
		maps.Copy(reads, free)
	}
	return reads
}

func TestAnIndexAgreesWithALookAtEveryNode(t *testing.T) {
	graphs(t, 25, func(t *testing.T, _ maker, g *Graph) {
		x := g.Index()
		names := append(g.definitions(), "nobody's", "")
		for _, name := range names {
			var producer *Node
			var consumers []*Node
			for _, n := range g.Nodes {
				if name != "" && slices.Contains(n.Outputs, name) {
					producer = n
				}
				if slowReads(n)[name] {
					consumers = append(consumers, n)
				}
			}
			if got := x.Producer(name); got != producer {
				t.Errorf("Producer(%q) = %v, want %v", name, got, producer)
			}
			if got := x.Consumers(name); nodeNames(got) != nodeNames(consumers) {
				t.Errorf("Consumers(%q) = %s, want %s", name, nodeNames(got), nodeNames(consumers))
			}
			isOutput := slices.ContainsFunc(g.Outputs, func(v *Value) bool { return v.Name == name })
			if x.IsOutput(name) != isOutput {
				t.Errorf("IsOutput(%q) = %t", name, !isOutput)
			}
		}
	})
}

// slowNeeded are the values on which the outputs depend: what a needed value's node reads is needed, until nothing more is found.
func slowNeeded(g *Graph) map[string]bool {
	needed := map[string]bool{}
	for _, v := range g.Outputs {
		needed[v.Name] = true
	}
	for before := -1; before != len(needed); {
		before = len(needed)
		for _, n := range g.Nodes {
			if slices.ContainsFunc(n.Outputs, func(name string) bool { return name != "" && needed[name] }) {
				maps.Copy(needed, slowReads(n))
			}
		}
	}
	return needed
}

func TestPruneLeavesWhatTheOutputsDependOn(t *testing.T) {
	graphs(t, 25, func(t *testing.T, _ maker, g *Graph) {
		needed := slowNeeded(g)
		var nodes []*Node
		for _, n := range g.Nodes {
			if slices.ContainsFunc(n.Outputs, func(name string) bool { return name != "" && needed[name] }) {
				nodes = append(nodes, n)
			}
		}
		var constants []string
		for _, w := range g.Initializers {
			if needed[w.Name] {
				constants = append(constants, w.Name)
			}
		}
		inputs := len(g.Inputs)
		g.Prune()
		if nodeNames(g.Nodes) != nodeNames(nodes) {
			t.Errorf("nodes %s are left, want %s", nodeNames(g.Nodes), nodeNames(nodes))
		}
		var left []string
		for _, w := range g.Initializers {
			left = append(left, w.Name)
		}
		if diff := cmp.Diff(constants, left); diff != "" || len(g.Inputs) != inputs {
			t.Errorf("%d inputs; initializers (-want +got):\n%s", len(g.Inputs), diff)
		}
		if err := modelOf(g).Check(); err != nil {
			t.Errorf("what is left makes no sense: %v", err)
		}
		before := mustEncode(t, modelOf(g))
		g.Prune()
		if !bytes.Equal(mustEncode(t, modelOf(g)), before) {
			t.Error("a second time drops more")
		}
	})
}

// A shuffled graph is sorted again, whatever the order was; one that is in order stays as it is.
func TestSortPutsAnyOrderRight(t *testing.T) {
	graphs(t, 25, func(t *testing.T, r maker, g *Graph) {
		want := nodeNames(g.Nodes)
		if err := g.Sort(); err != nil || nodeNames(g.Nodes) != want {
			t.Errorf("nodes in order became %s, want %s (%v)", nodeNames(g.Nodes), want, err)
		}
		before := slices.Clone(g.Nodes)
		r.Shuffle(len(g.Nodes), func(i, j int) { g.Nodes[i], g.Nodes[j] = g.Nodes[j], g.Nodes[i] })
		if err := g.Sort(); err != nil {
			t.Fatal(err)
		}
		if err := modelOf(g).Check(); err != nil {
			t.Errorf("a sorted graph makes no sense: %v", err)
		}
		for _, n := range before {
			if !slices.Contains(g.Nodes, n) {
				t.Errorf("%s is lost", n.describe())
			}
		}
		if len(g.Nodes) != len(before) {
			t.Errorf("%d nodes became %d", len(before), len(g.Nodes))
		}
	})
}

// A cycle is found wherever it closes, and named by nodes each of which reads what the next one makes.
func TestSortFindsACycleWhereverItCloses(t *testing.T) {
	graphs(t, 25, func(t *testing.T, r maker, g *Graph) {
		last := g.Nodes[len(g.Nodes)-1]
		first := g.Nodes[r.IntN(len(g.Nodes))]
		first.Inputs = append(first.Inputs, last.Outputs[0])
		dependsOn := map[string]bool{}
		for _, name := range first.Outputs {
			dependsOn[name] = true
		}
		for _, n := range g.Nodes[slices.Index(g.Nodes, first)+1:] {
			for name := range slowReads(n) {
				if dependsOn[name] {
					for _, out := range n.Outputs {
						dependsOn[out] = true
					}
				}
			}
		}
		delete(dependsOn, "")
		order := nodeNames(g.Nodes)
		err := g.Sort()
		if cyclic := dependsOn[last.Outputs[0]]; (err != nil) != cyclic {
			t.Errorf("Sort() = %v, but the first node depends on itself: %t", err, cyclic)
		}
		if err != nil && nodeNames(g.Nodes) != order {
			t.Errorf("an order that cannot be was changed to %s", nodeNames(g.Nodes))
		}
	})
}

// Another name changes nothing but the name: in the encoding the old one is where the new one was.
func TestARenamedValueIsTheSameEverywhere(t *testing.T) {
	graphs(t, 25, func(t *testing.T, r maker, g *Graph) {
		names := g.definitions()
		old := names[r.IntN(len(names))]
		const renamed = "renamed"
		reads := map[*Node]bool{}
		for _, n := range g.Nodes {
			reads[n] = slowReads(n)[old]
		}
		outputs := slices.ContainsFunc(g.Outputs, func(v *Value) bool { return v.Name == old })
		g.RenameValue(old, renamed)
		for n, read := range reads {
			if now := slowReads(n); now[old] || now[renamed] != read {
				t.Errorf("%s read %q: %t, and reads it now: %t, as %q: %t", n.describe(), old, read, now[old], renamed, now[renamed])
			}
		}
		if slices.Contains(g.definitions(), old) || !slices.Contains(g.definitions(), renamed) {
			t.Errorf("%q is still defined, or %q is not", old, renamed)
		}
		if slices.ContainsFunc(g.Outputs, func(v *Value) bool { return v.Name == renamed }) != outputs {
			t.Errorf("%q is no output any more, or has become one", old)
		}
		if err := modelOf(g).Check(); err != nil {
			t.Errorf("a graph with a renamed value makes no sense: %v", err)
		}
	})
}

// One error anywhere in a graph that makes sense is found, and is the only one that is.
func TestCheckFindsTheOneThingThatIsWrong(t *testing.T) {
	for _, damage := range []struct {
		name string
		do   func(g *Graph, n *Node) (want string)
	}{
		{"a value that nobody makes", func(_ *Graph, n *Node) string {
			n.Inputs = append(n.Inputs, "nobody's")
			return fmt.Sprintf("%s reads %q, which no earlier node defines", n.describe(), "nobody's")
		}},
		{"a node that reads what it makes", func(_ *Graph, n *Node) string {
			n.Inputs = append(n.Inputs, n.Outputs[0])
			return fmt.Sprintf("%s reads %q, which no earlier node defines", n.describe(), n.Outputs[0])
		}},
		{"a node without an operator", func(_ *Graph, n *Node) string {
			n.Op = ""
			return n.describe() + " has no operator"
		}},
		{"an operator of a domain that is not imported", func(_ *Graph, n *Node) string {
			n.Domain = "com.example"
			return fmt.Sprintf("%s: the model imports no operators of domain %q", n.describe(), "com.example")
		}},
		{"an input that is made again", func(g *Graph, n *Node) string {
			n.Outputs = append(n.Outputs, g.Inputs[0].Name)
			return fmt.Sprintf("value %q is defined twice, the second time by %s", g.Inputs[0].Name, n.describe())
		}},
		{"an output that nobody makes", func(g *Graph, _ *Node) string {
			g.Outputs = append(g.Outputs, &Value{Name: "lost"})
			return `output "lost" is made by no node`
		}},
		{"a constant of an attribute that is too short", func(_ *Graph, n *Node) string {
			n.SetAttr("value", &Tensor{Name: "short", Type: Float32, Dims: []int64{3}, Data: Raw("....")})
			return fmt.Sprintf("%s: attribute %q: tensor %q of float32[3] holds 4 bytes, want 12", n.describe(), "value", "short")
		}},
		{"a constant whose shape is none", func(g *Graph, _ *Node) string {
			g.Initializers = append(g.Initializers, &Tensor{Name: "bent", Type: Float32, Dims: []int64{2, -1}})
			return `tensor "bent" has no possible shape: [2 -1]`
		}},
	} {
		t.Run(damage.name, func(t *testing.T) {
			graphs(t, 6, func(t *testing.T, r maker, g *Graph) {
				want := damage.do(g, g.Nodes[r.IntN(len(g.Nodes))])
				if err := modelOf(g).Check(); err == nil || err.Error() != want {
					t.Errorf("Check() = %v, want %s", err, want)
				}
			})
		})
	}
}
