package onnx

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ReplaceUses makes every node that reads the value old read the value new instead,
// also inside subgraphs that take old from outside. Outputs of the graph keep
// their names; RenameValue changes them.
func (g *Graph) ReplaceUses(old, new string) {
	for _, n := range g.Nodes {
		n.replaceUses(old, new)
	}
}

func (n *Node) replaceUses(old, new string) {
	replaceAll(n.Inputs, old, new)
	for _, sub := range n.subgraphs() {
		if slices.Contains(sub.captures(), old) {
			sub.ReplaceUses(old, new)
			renameValues(sub.Outputs, old, new)
		}
	}
}

func replaceAll(names []string, old, new string) {
	for i, name := range names {
		if name == old {
			names[i] = new
		}
	}
}

// RenameValue gives a value another name wherever it is defined, read or described.
func (g *Graph) RenameValue(old, new string) {
	g.ReplaceUses(old, new)
	for _, n := range g.Nodes {
		replaceAll(n.Outputs, old, new)
	}
	named := slices.Clone(g.Initializers)
	for _, t := range g.SparseInitializers {
		named = append(named, t.Values)
	}
	for _, t := range named {
		if t.Name == old {
			t.Name = new
		}
	}
	for _, list := range [][]*Value{g.Inputs, g.Outputs, g.Values} {
		renameValues(list, old, new)
	}
}

func renameValues(list []*Value, old, new string) {
	for _, v := range list {
		if v.Name == old {
			v.Name = new
		}
	}
}

// Prune drops nodes on which no output depends, then initializers and value types
// that nobody refers to. The inputs stay.
func (g *Graph) Prune() {
	needed := g.needed()
	g.Nodes = slices.DeleteFunc(g.Nodes, func(n *Node) bool {
		return !slices.ContainsFunc(n.Outputs, func(name string) bool { return name != "" && needed[name] })
	})
	for _, n := range g.Nodes {
		for _, name := range n.Outputs {
			needed[name] = true // also outputs that nobody reads
		}
	}
	g.Initializers = slices.DeleteFunc(g.Initializers, func(t *Tensor) bool { return !needed[t.Name] })
	g.SparseInitializers = slices.DeleteFunc(g.SparseInitializers, func(t *SparseTensor) bool { return !needed[t.Values.Name] })
	g.Values = slices.DeleteFunc(g.Values, func(v *Value) bool { return !needed[v.Name] })
}

// needed returns the names of the outputs and of all values on which they depend.
func (g *Graph) needed() map[string]bool {
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
			waiting = append(waiting, n.reads()...)
		}
	}
	return needed
}

// Sort puts every node behind those whose outputs it reads, and changes the order no
// more than that takes. So an edit may append its nodes and sort at the end.
// It fails, and changes nothing, if the nodes form a cycle.
func (g *Graph) Sort() error {
	s := sorter{index: g.Index(), onPath: make(map[*Node]bool), sorted: make([]*Node, 0, len(g.Nodes))}
	for _, n := range g.Nodes {
		if err := s.visit(n); err != nil {
			return fmt.Errorf("graph %q has a cycle: %w", g.Name, err)
		}
	}
	g.Nodes = s.sorted
	return nil
}

// A sorter visits nodes depth first: those that a node reads before itself.
type sorter struct {
	index  *Index
	onPath map[*Node]bool // true from when a node is begun until it is done, then false
	path   []*Node
	sorted []*Node
}

func (s *sorter) visit(n *Node) error {
	if onPath, begun := s.onPath[n]; onPath {
		return errors.New(describeCycle(s.path[slices.Index(s.path, n):]))
	} else if begun {
		return nil
	}
	s.onPath[n] = true
	s.path = append(s.path, n)
	for _, name := range n.reads() {
		if p := s.index.Producer(name); p != nil {
			if err := s.visit(p); err != nil {
				return err
			}
		}
	}
	s.path = s.path[:len(s.path)-1]
	s.onPath[n] = false
	s.sorted = append(s.sorted, n)
	return nil
}

// describeCycle names the nodes of a cycle, each before the one whose output it reads.
func describeCycle(cycle []*Node) string {
	const shown = 8
	var b strings.Builder
	for _, n := range cycle[:min(len(cycle), shown)] {
		b.WriteString(n.describe() + " ← ")
	}
	if len(cycle) > shown {
		b.WriteString("… ← ")
	}
	return b.String() + cycle[0].describe()
}

// describe names a node in a message.
func (n *Node) describe() string {
	if n.Name != "" {
		return fmt.Sprintf("%s %q", n.Op, n.Name)
	}
	return fmt.Sprintf("%s making %q", n.Op, strings.Join(n.Outputs, ", "))
}
