package onnx

import (
	"errors"
	"fmt"
	"slices"
)

// Check reports everything that makes the model's graph meaningless, whatever its
// operators do: values that are read before they are defined or defined twice, nodes
// of the same name, tensors with more or less data than their shape asks for,
// operators of a domain that is not imported. It says nothing about types.
func (m *Model) Check() error {
	if m.Graph == nil {
		return errors.New("the model has no graph")
	}
	c := checker{model: m}
	c.graph(m.Graph, nil)
	return errors.Join(c.errs...)
}

type checker struct {
	model *Model
	errs  []error
}

// maxReported bounds the list of errors: one wrong name can make thousands.
const maxReported = 20

func (c *checker) fail(format string, args ...any) {
	if len(c.errs) < maxReported {
		c.errs = append(c.errs, fmt.Errorf(format, args...))
	}
}

// A scope is the values that the nodes of a graph may read: its own so far, and those of the graphs around it.
type scope struct {
	own   map[string]bool
	outer *scope
}

func (s *scope) knows(name string) bool {
	for ; s != nil; s = s.outer {
		if s.own[name] {
			return true
		}
	}
	return false
}

// graph checks a graph within those around it.
func (c *checker) graph(g *Graph, outer *scope) {
	values := &scope{make(map[string]bool), outer}
	for _, name := range g.constantsAndInputs() {
		values.own[name] = true
	}
	c.names(g)
	for _, t := range g.constants() {
		c.tensor("", t)
	}
	for _, n := range g.Nodes {
		c.node(n, values)
		c.outputs(n, values)
	}
	for _, v := range g.Outputs {
		if !values.knows(v.Name) {
			c.fail("output %q is made by no node", v.Name)
		}
	}
}

// outputs defines what a node makes.
func (c *checker) outputs(n *Node, values *scope) {
	for _, name := range n.Outputs {
		if name == "" {
			continue
		}
		if values.own[name] {
			c.fail("value %q is defined twice, the second time by %s", name, n.describe())
		}
		values.own[name] = true
	}
}

func (c *checker) tensor(place string, t *Tensor) {
	if err := t.check(); err != nil {
		c.fail("%s%w", place, err)
	}
}

// names checks that lists hold no name twice. An input and an initializer may share
// one: the initializer is then the input's default.
func (c *checker) names(g *Graph) {
	var initializers, inputs, nodes []string
	for _, t := range g.Initializers {
		initializers = append(initializers, t.Name)
	}
	for _, v := range g.Inputs {
		inputs = append(inputs, v.Name)
	}
	for _, n := range g.Nodes {
		if n.Name != "" { // a node needs no name
			nodes = append(nodes, n.Name)
		}
	}
	c.distinct("initializer", initializers)
	c.distinct("input", inputs)
	c.distinct("node", nodes)
}

func (c *checker) distinct(what string, names []string) {
	seen := make(map[string]bool, len(names))
	for _, name := range names {
		if name == "" {
			c.fail("an %s without a name", what)
		} else if seen[name] {
			c.fail("two %ss are called %q", what, name)
		}
		seen[name] = true
	}
}

func (c *checker) node(n *Node, values *scope) {
	switch {
	case n.Op == "":
		c.fail("%s has no operator", n.describe())
	case !c.imported(n.Domain):
		c.fail("%s: the model imports no operators of domain %q", n.describe(), n.Domain)
	}
	c.inputs(n, values)
	for _, a := range n.Attributes {
		for _, t := range a.constants() {
			c.tensor(fmt.Sprintf("%s: attribute %q: ", n.describe(), a.Name), t)
		}
	}
	for _, sub := range n.subgraphs() {
		c.graph(sub, values)
	}
}

func (c *checker) inputs(n *Node, values *scope) {
	for _, name := range n.Inputs {
		if name != "" && !values.knows(name) {
			c.fail("%s reads %q, which no earlier node defines", n.describe(), name)
		}
	}
}

func (c *checker) imported(domain string) bool {
	return len(c.model.Opsets) == 0 || slices.ContainsFunc(c.model.Opsets, func(o Opset) bool {
		return canonicalDomain(o.Domain) == canonicalDomain(domain)
	})
}
