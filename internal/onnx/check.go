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
	c.graph(m.Graph, make(map[string]bool))
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

// graph checks a graph within a scope, the values that it may take from outside.
func (c *checker) graph(g *Graph, outer map[string]bool) {
	known := make(map[string]bool, len(outer))
	for name := range outer {
		known[name] = true
	}
	own := make(map[string]bool)
	for _, name := range g.constantsAndInputs() {
		own[name], known[name] = true, true
	}
	c.names(g)
	for _, t := range g.Initializers {
		if err := t.check(); err != nil {
			c.fail("%w", err)
		}
	}
	for _, n := range g.Nodes {
		c.node(n, known)
		for _, name := range n.Outputs {
			if name != "" && own[name] {
				c.fail("value %q is defined twice, the second time by %s", name, n.describe())
			}
			own[name], known[name] = true, true
		}
	}
	for _, v := range g.Outputs {
		if !known[v.Name] {
			c.fail("output %q is made by no node", v.Name)
		}
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

func (c *checker) node(n *Node, known map[string]bool) {
	switch {
	case n.Op == "":
		c.fail("%s has no operator", n.describe())
	case !c.imported(n.Domain):
		c.fail("%s: the model imports no operators of domain %q", n.describe(), n.Domain)
	}
	for _, name := range n.Inputs {
		if name != "" && !known[name] {
			c.fail("%s reads %q, which no earlier node defines", n.describe(), name)
		}
	}
	for _, a := range n.Attributes {
		if t, ok := a.Value.(*Tensor); ok {
			if err := t.check(); err != nil {
				c.fail("%s: attribute %q: %w", n.describe(), a.Name, err)
			}
		}
	}
	for _, sub := range n.subgraphs() {
		c.graph(sub, known)
	}
}

func (c *checker) imported(domain string) bool {
	return len(c.model.Opsets) == 0 || slices.ContainsFunc(c.model.Opsets, func(o Opset) bool {
		return canonicalDomain(o.Domain) == canonicalDomain(domain)
	})
}
