package onnx

import (
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
)

// An Index finds by name what a graph holds as lists. It does not follow edits of the graph.
type Index struct {
	producers    map[string]*Node
	consumers    map[string][]*Node
	initializers map[string]*Tensor
	values       map[string]*Value
	outputs      map[string]bool
	taken        map[string]bool
}

// Index returns an index of the graph.
func (g *Graph) Index() *Index {
	x := &Index{
		producers:    make(map[string]*Node, len(g.Nodes)),
		consumers:    make(map[string][]*Node, len(g.Nodes)),
		initializers: make(map[string]*Tensor, len(g.Initializers)),
		values:       make(map[string]*Value),
		outputs:      make(map[string]bool, len(g.Outputs)),
		taken:        make(map[string]bool),
	}
	for _, t := range g.Initializers {
		x.initializers[t.Name] = t
	}
	for _, n := range g.Nodes {
		for _, name := range n.Outputs {
			if name != "" {
				x.producers[name] = n
			}
		}
		for _, name := range n.Reads() {
			if list := x.consumers[name]; len(list) == 0 || list[len(list)-1] != n {
				x.consumers[name] = append(list, n)
			}
		}
	}
	for _, list := range [][]*Value{g.Values, g.Inputs, g.Outputs} {
		for _, v := range list {
			x.values[v.Name] = v
			x.taken[v.Name] = true
		}
	}
	for _, v := range g.Outputs {
		x.outputs[v.Name] = true
	}
	x.take(g)
	return x
}

// take marks the names of a graph and of all graphs in it as taken.
func (x *Index) take(g *Graph) {
	for _, name := range g.definitions() {
		x.taken[name] = true
	}
	for _, n := range g.Nodes {
		x.taken[n.Name] = true
		for _, sub := range n.Subgraphs() {
			x.take(sub)
		}
	}
}

// Producer returns the node that makes a value, nil for inputs, initializers and unknown names.
func (x *Index) Producer(value string) *Node { return x.producers[value] }

// Consumers returns the nodes that read a value, each once, in the graph's order. A node reads the values
// that its subgraphs take from outside.
func (x *Index) Consumers(value string) []*Node { return x.consumers[value] }

// Initializer returns the constant of that name, nil if there is none.
func (x *Index) Initializer(name string) *Tensor { return x.initializers[name] }

// Value returns the type of a value, nil if the graph does not have it.
func (x *Index) Value(name string) *Value { return x.values[name] }

// IsOutput reports whether a value is an output of the graph.
func (x *Index) IsOutput(name string) bool { return x.outputs[name] }

// Unique returns a name that neither a value nor a node has, base itself if it is free, and marks it as
// taken.
func (x *Index) Unique(base string) string {
	name := base
	for i := 1; x.taken[name]; i++ {
		name = base + "_" + strconv.Itoa(i)
	}
	x.taken[name] = true
	return name
}

// AllNodes iterates over the nodes of the graph, each followed by the nodes of its
// subgraphs.
func (g *Graph) AllNodes() iter.Seq[*Node] {
	return func(yield func(*Node) bool) { g.allNodes(yield) }
}

func (g *Graph) allNodes(yield func(*Node) bool) bool {
	for _, n := range g.Nodes {
		if !yield(n) {
			return false
		}
		for _, sub := range n.Subgraphs() {
			if !sub.allNodes(yield) {
				return false
			}
		}
	}
	return true
}

// SizedByData returns the first node whose outputs have as many elements as the contents of its inputs ask for, for example
// detected boxes; nil: none. Operators that this package does not know count as such.
func (g *Graph) SizedByData() *Node {
	for n := range g.AllNodes() {
		known := slices.Contains([]string{"", "ai.onnx", "ai.onnx.ml", "com.microsoft"}, n.Domain)
		if !known || slices.Contains([]string{"NonZero", "NonMaxSuppression", "Unique", "Compress", "Range", "Loop", "ConcatFromSequence",
			"StringSplit"}, n.Op) {
			return n
		}
	}
	return nil
}

// Reads returns the names of the values that a node reads: its inputs but for those left out, and those
// that its subgraphs take from outside.
func (n *Node) Reads() []string {
	names := slices.DeleteFunc(slices.Clone(n.Inputs), func(name string) bool { return name == "" })
	for _, sub := range n.Subgraphs() {
		names = append(names, sub.captures()...)
	}
	return names
}

// captures returns the names that a subgraph reads and does not define.
func (g *Graph) captures() []string {
	var names []string
	for _, n := range g.Nodes {
		names = append(names, n.Reads()...)
	}
	for _, v := range g.Outputs {
		names = append(names, v.Name)
	}
	own := make(map[string]bool)
	for _, name := range g.definitions() {
		own[name] = true
	}
	return slices.DeleteFunc(names, func(name string) bool { return own[name] })
}

// definitions returns the names of the values that the graph defines: its inputs,
// initializers and the outputs of its nodes.
func (g *Graph) definitions() []string {
	names := g.constantsAndInputs()
	for _, n := range g.Nodes {
		for _, name := range n.Outputs {
			if name != "" {
				names = append(names, name)
			}
		}
	}
	return names
}

// constantsAndInputs returns the names that are defined before any node.
func (g *Graph) constantsAndInputs() []string {
	var names []string
	for _, v := range g.Inputs {
		names = append(names, v.Name)
	}
	for _, t := range g.Initializers {
		names = append(names, t.Name)
	}
	return names
}

// RenameValue gives a value another name wherever it is defined, read or described.
func (g *Graph) RenameValue(old, new string) {
	rename := func(name *string) {
		if *name == old {
			*name = new
		}
	}
	g.renameReads(old, new)
	for _, n := range g.Nodes {
		for i := range n.Outputs {
			rename(&n.Outputs[i])
		}
	}
	for _, t := range g.Initializers {
		rename(&t.Name)
	}
	for _, v := range slices.Concat(g.Inputs, g.Outputs, g.Values) {
		rename(&v.Name)
	}
}

// renameReads makes every node that reads old read new, also in subgraphs that take old from outside.
func (g *Graph) renameReads(old, new string) {
	for _, n := range g.Nodes {
		for i, name := range n.Inputs {
			if name == old {
				n.Inputs[i] = new
			}
		}
		for _, sub := range n.Subgraphs() {
			if !slices.Contains(sub.captures(), old) {
				continue
			}
			sub.renameReads(old, new)
			for _, v := range sub.Outputs {
				if v.Name == old {
					v.Name = new
				}
			}
		}
	}
}

// Prune drops nodes on which no output depends, then initializers and value types
// that are not referred to. The inputs stay.
func (g *Graph) Prune() {
	needed := make(map[string]bool)
	x := g.Index()
	var waiting []string
	for _, v := range g.Outputs {
		waiting = append(waiting, v.Name)
	}
	for len(waiting) > 0 {
		name := waiting[len(waiting)-1]
		waiting = waiting[:len(waiting)-1]
		if needed[name] {
			continue
		}
		needed[name] = true
		if n := x.Producer(name); n != nil {
			waiting = append(waiting, n.Reads()...)
		}
	}
	g.Nodes = slices.DeleteFunc(g.Nodes, func(n *Node) bool {
		return !slices.ContainsFunc(n.Outputs, func(name string) bool { return name != "" && needed[name] })
	})
	for _, n := range g.Nodes {
		for _, name := range n.Outputs {
			needed[name] = true // also outputs that are not read
		}
	}
	g.Initializers = slices.DeleteFunc(g.Initializers, func(t *Tensor) bool { return !needed[t.Name] })
	g.Values = slices.DeleteFunc(g.Values, func(v *Value) bool { return !needed[v.Name] })
}

// Sort puts every node behind those whose outputs it reads, and otherwise keeps the order: an edit may
// append its nodes and sort at the end. It fails, and changes nothing, if the nodes form a cycle.
func (g *Graph) Sort() error {
	index, sorted := g.Index(), make([]*Node, 0, len(g.Nodes))
	onPath := make(map[*Node]bool) // true from when a node is begun until it is done, then false
	var path []*Node
	var visit func(n *Node) error
	visit = func(n *Node) error { // depth first: those that a node reads before itself
		if on, begun := onPath[n]; on {
			const shown = 8
			cycle := path[slices.Index(path, n):]
			names := each(cycle[:min(len(cycle), shown)], (*Node).describe)
			if len(cycle) > shown {
				names = append(names, "…")
			}
			return fmt.Errorf("graph %q has a cycle: %s", g.Name, strings.Join(append(names, n.describe()), " ← "))
		} else if begun {
			return nil
		}
		onPath[n] = true
		path = append(path, n)
		for _, name := range n.Reads() {
			if p := index.Producer(name); p != nil {
				if err := visit(p); err != nil {
					return err
				}
			}
		}
		path = path[:len(path)-1]
		onPath[n] = false
		sorted = append(sorted, n)
		return nil
	}
	for _, n := range g.Nodes {
		if err := visit(n); err != nil {
			return err
		}
	}
	g.Nodes = sorted
	return nil
}

// describe names a node in a message.
func (n *Node) describe() string {
	if n.Name != "" {
		return fmt.Sprintf("%s %q", n.Op, n.Name)
	}
	return fmt.Sprintf("%s making %q", n.Op, strings.Join(n.Outputs, ", "))
}
