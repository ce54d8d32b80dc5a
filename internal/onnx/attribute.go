package onnx

import "slices"

// An Attribute is one named parameter of a node.
type Attribute struct {
	Name string

	// Value is one of
	//
	//	float32    int64    string    *Tensor    *Graph    *SparseTensor    *Type
	//	[]float32  []int64  []string  []*Tensor  []*Graph  []*SparseTensor  []*Type
	//
	// or nil if the attribute is of a kind that this package does not know; what was
	// found is then in Extra. A string may hold any bytes.
	Value any

	Doc   string
	Extra Extra
}

// Attr returns an attribute. The value is of one of the types that Attribute.Value
// lists; anything else is reported when the model is encoded.
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

// DropAttr takes an attribute away. It does nothing if there is none.
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

// subgraphs returns the graphs among the node's attributes: the bodies of Loop, the
// branches of If.
func (n *Node) subgraphs() []*Graph {
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

// constants returns the tensors that the attribute holds itself, not those in a graph.
func (a *Attribute) constants() []*Tensor {
	switch v := a.Value.(type) {
	case *Tensor:
		return []*Tensor{v}
	case []*Tensor:
		return v
	case *SparseTensor:
		return v.parts()
	case []*SparseTensor:
		var list []*Tensor
		for _, sparse := range v {
			list = append(list, sparse.parts()...)
		}
		return list
	}
	return nil
}

// parts returns the tensors of which a sparse one is made.
func (t *SparseTensor) parts() []*Tensor {
	if t.Indices == nil {
		return []*Tensor{t.Values}
	}
	return []*Tensor{t.Values, t.Indices}
}

// constants returns the initializers of the graph, sparse ones in their parts, not those of graphs within.
func (g *Graph) constants() []*Tensor {
	list := slices.Clone(g.Initializers)
	for _, sparse := range g.SparseInitializers {
		list = append(list, sparse.parts()...)
	}
	return list
}
