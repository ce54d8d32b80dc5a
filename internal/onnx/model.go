package onnx

import "slices"

// A Model is one ONNX file: a graph, and its versions and origin.
type Model struct {
	IRVersion int64   // version of the file format
	Opsets    []Opset // which version of each operator set the nodes mean

	Producer string // the program that wrote the file
	Doc      string
	Graph    *Graph
	Metadata []Property

	Extra Extra // version and domain, local functions, training information, device configurations
}

// An Opset names one version of the operators of one domain. The empty domain is
// ONNX's own.
type Opset struct {
	Domain  string
	Version int64
}

// A Property is one free-form entry of metadata.
type Property struct{ Key, Value string }

// Extra holds the fields of a message that this package does not know, encoded: documentation, and additions
// of newer versions of ONNX. They are written back after the known ones.
type Extra string

// Opset returns the version of the operator set that the model imports for a
// domain, 0 if it imports none. "ai.onnx" is another name of the empty domain.
func (m *Model) Opset(domain string) int64 {
	for _, o := range m.Opsets {
		if canonicalDomain(o.Domain) == canonicalDomain(domain) {
			return o.Version
		}
	}
	return 0
}

func canonicalDomain(domain string) string {
	if domain == "ai.onnx" {
		return ""
	}
	return domain
}

// A Graph is a list of nodes, each before those that read its outputs, with the
// constants they use. Values are known by name: a name is defined once, by an
// input, an initializer or a node, and read any number of times.
type Graph struct {
	Name         string
	Nodes        []*Node
	Initializers []*Tensor
	Inputs       []*Value // up to IR version 3 they include the initializers
	Outputs      []*Value
	Values       []*Value // the known types of other values

	Extra Extra // sparse initializers, quantisation annotations
}

// A Node applies an operator. An empty name among the inputs or outputs stands for
// an optional one that is left out.
type Node struct {
	Name       string // for messages only; may be empty
	Op         string // for instance "Conv"
	Domain     string // of the operator; empty for ONNX's own
	Overload   string // which overload, if Op is one of the model's functions
	Inputs     []string
	Outputs    []string
	Attributes []Attribute

	Extra Extra // device configurations
}

// FreeInputs returns the inputs that a caller has to feed: those without an initializer.
func (g *Graph) FreeInputs() []*Value {
	constant := make(map[string]bool, len(g.Initializers))
	for _, t := range g.Initializers {
		constant[t.Name] = true
	}
	var free []*Value
	for _, v := range g.Inputs {
		if !constant[v.Name] {
			free = append(free, v)
		}
	}
	return free
}

// An Attribute is one named parameter of a node.
type Attribute struct {
	Name string

	// Value is one of
	//
	//	float32    int64    string    *Tensor    *Graph
	//	[]float32  []int64  []string  []*Tensor  []*Graph
	//
	// or, of a kind that this package does not know, the number of that kind; the value is then in Extra. A
	// string may hold any bytes.
	Value any

	Extra Extra
}

// Attr returns an attribute. The value has one of the types of Attribute.Value; any other is an error when the
// model is encoded.
func Attr(name string, value any) Attribute { return Attribute{Name: name, Value: value} }

// Attr returns the node's attribute of that name, nil if it has none.
func (n *Node) Attr(name string) *Attribute {
	for i := range n.Attributes {
		if n.Attributes[i].Name == name {
			return &n.Attributes[i]
		}
	}
	return nil
}

// SetAttr gives the node an attribute, in place of one of the same name.
func (n *Node) SetAttr(name string, value any) {
	if a := n.Attr(name); a != nil {
		*a = Attr(name, value)
		return
	}
	n.Attributes = append(n.Attributes, Attr(name, value))
}

// DropAttr removes an attribute, if the node has it.
func (n *Node) DropAttr(name string) {
	n.Attributes = slices.DeleteFunc(n.Attributes, func(a Attribute) bool { return a.Name == name })
}

// AttrOr returns the value of a node's attribute, or the operator's default if the
// node has no attribute of that name and type:
//
//	axis := onnx.AttrOr(node, "axis", int64(1))
func AttrOr[T any](n *Node, name string, otherwise T) T {
	if a := n.Attr(name); a != nil {
		if v, ok := a.Value.(T); ok {
			return v
		}
	}
	return otherwise
}

// Input returns the name of the node's i-th input, empty if it is left out.
func (n *Node) Input(i int) string {
	if i < len(n.Inputs) {
		return n.Inputs[i]
	}
	return ""
}

// Subgraphs returns the graphs among the node's attributes: the bodies of Loop, the
// branches of If.
func (n *Node) Subgraphs() []*Graph {
	var graphs []*Graph
	for _, a := range n.Attributes {
		switch v := a.Value.(type) {
		case *Graph:
			graphs = append(graphs, v)
		case []*Graph:
			graphs = append(graphs, v...)
		}
	}
	return graphs
}

// tensors returns the attribute's own tensors, without those of a graph.
func (a *Attribute) tensors() []*Tensor {
	switch v := a.Value.(type) {
	case *Tensor:
		return []*Tensor{v}
	case []*Tensor:
		return v
	}
	return nil
}
