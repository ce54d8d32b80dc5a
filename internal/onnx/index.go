package onnx

import (
	"iter"
	"strconv"
)

// An Index answers by name what a graph holds only as lists. It shows the graph as
// it was when the index was made; after an edit make another.
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
		x.addNode(n)
	}
	for _, list := range [][]*Value{g.Values, g.Inputs, g.Outputs} {
		for _, v := range list {
			x.values[v.Name] = v
			x.taken[v.Name] = true
		}
	}
	x.take(g)
	for _, v := range g.Outputs {
		x.outputs[v.Name] = true
	}
	return x
}

func (x *Index) addNode(n *Node) {
	for _, name := range n.Outputs {
		if name != "" {
			x.producers[name] = n
		}
	}
	seen := make(map[string]bool)
	for _, name := range n.reads() {
		if !seen[name] {
			seen[name] = true
			x.consumers[name] = append(x.consumers[name], n)
		}
	}
}

// take notes the names of a graph and of all graphs within.
func (x *Index) take(g *Graph) {
	for _, name := range g.definitions() {
		x.taken[name] = true
	}
	for _, n := range g.Nodes {
		x.taken[n.Name] = true
		for _, sub := range n.subgraphs() {
			x.take(sub)
		}
	}
}

// Producer returns the node that makes a value, nil if it is an input, an
// initializer or unknown.
func (x *Index) Producer(value string) *Node { return x.producers[value] }

// Consumers returns the nodes that read a value, each once, in the graph's order. A
// node reads what its subgraphs take from outside.
func (x *Index) Consumers(value string) []*Node { return x.consumers[value] }

// Initializer returns the constant of that name, nil if there is none.
func (x *Index) Initializer(name string) *Tensor { return x.initializers[name] }

// Value returns what the graph says of the type of a value, nil if nothing.
func (x *Index) Value(name string) *Value { return x.values[name] }

// IsOutput reports whether a value is an output of the graph.
func (x *Index) IsOutput(name string) bool { return x.outputs[name] }

// Unique returns a name that neither a value nor a node has, base itself if it is
// free. The name counts as taken from then on.
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
		for _, sub := range n.subgraphs() {
			if !sub.allNodes(yield) {
				return false
			}
		}
	}
	return true
}

// reads returns the names of the values that a node reads: its inputs but for those
// left out, and what its subgraphs take from outside.
func (n *Node) reads() []string {
	names := make([]string, 0, len(n.Inputs))
	for _, name := range n.Inputs {
		if name != "" {
			names = append(names, name)
		}
	}
	for _, sub := range n.subgraphs() {
		names = append(names, sub.captures()...)
	}
	return names
}

// captures returns the names that a subgraph reads and does not define.
func (g *Graph) captures() []string {
	own := make(map[string]bool)
	for _, name := range g.definitions() {
		own[name] = true
	}
	var outer []string
	for _, n := range g.Nodes {
		for _, name := range n.reads() {
			if !own[name] {
				outer = append(outer, name)
			}
		}
	}
	for _, v := range g.Outputs {
		if !own[v.Name] {
			outer = append(outer, v.Name)
		}
	}
	return outer
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
	for _, t := range g.SparseInitializers {
		names = append(names, t.Values.Name)
	}
	return names
}
