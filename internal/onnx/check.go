package onnx

import (
	"errors"
	"fmt"
	"slices"
)

// Check reports the errors of a model's graph that do not depend on its operators: values that are read
// before they are defined or defined twice, nodes of the same name, tensors whose data do not fit their
// shape, operators of a domain that is not imported. It does not check types.
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

// A scope has the values that the nodes of a graph may read: its own so far, and those of the graphs around
// it.
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
	// An input and an initializer may share a name: the initializer is then the input's default. A node needs no name.
	c.distinct("initializer", each(g.Initializers, func(t *Tensor) string { return t.Name }))
	c.distinct("input", each(g.Inputs, func(v *Value) string { return v.Name }))
	named := slices.DeleteFunc(slices.Clone(g.Nodes), func(n *Node) bool { return n.Name == "" })
	c.distinct("node", each(named, func(n *Node) string { return n.Name }))
	for _, t := range g.Initializers {
		if err := t.check(); err != nil {
			c.fail("%w", err)
		}
	}
	for _, n := range g.Nodes {
		imported := len(c.model.Opsets) == 0 || slices.ContainsFunc(c.model.Opsets, func(o Opset) bool {
			return canonicalDomain(o.Domain) == canonicalDomain(n.Domain)
		})
		switch {
		case n.Op == "":
			c.fail("%s has no operator", n.describe())
		case !imported:
			c.fail("%s: the model imports no operators of domain %q", n.describe(), n.Domain)
		}
		for _, name := range n.Inputs {
			if name != "" && !values.knows(name) {
				c.fail("%s reads %q, which no earlier node defines", n.describe(), name)
			}
		}
		for _, a := range n.Attributes {
			for _, t := range a.tensors() {
				if err := t.check(); err != nil {
					c.fail("%s: attribute %q: %w", n.describe(), a.Name, err)
				}
			}
		}
		for _, sub := range n.Subgraphs() {
			c.graph(sub, values)
		}
		for _, name := range n.Outputs {
			if name != "" && values.own[name] {
				c.fail("value %q is defined twice, the second time by %s", name, n.describe())
			}
			values.own[name] = true
		}
	}
	for _, v := range g.Outputs {
		if !values.knows(v.Name) {
			c.fail("output %q is made by no node", v.Name)
		}
	}
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
