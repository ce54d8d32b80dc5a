package quantize

import (
	"errors"
	"fmt"
	"slices"

	"github.com/mlperf-go/mlperf/internal/onnx"
)

// clone returns a copy of a model that can be edited while the original stays as it
// is. The elements of tensors are shared: nothing in this package writes to them.
func clone(m *onnx.Model) *onnx.Model {
	c := *m
	c.Opsets = slices.Clone(m.Opsets)
	c.Metadata = slices.Clone(m.Metadata)
	c.Graph = cloneGraph(m.Graph)
	return &c
}

func cloneGraph(g *onnx.Graph) *onnx.Graph {
	if g == nil {
		return nil
	}
	c := *g
	c.Nodes = cloneAll(g.Nodes)
	for _, n := range c.Nodes {
		n.Inputs, n.Outputs = slices.Clone(n.Inputs), slices.Clone(n.Outputs)
		n.Attributes = slices.Clone(n.Attributes)
		for i := range n.Attributes {
			cloneSubgraphs(&n.Attributes[i])
		}
	}
	c.Initializers = cloneAll(g.Initializers)
	c.SparseInitializers = cloneAll(g.SparseInitializers)
	for _, t := range c.SparseInitializers {
		values := *t.Values
		t.Values = &values
	}
	// A value may be in more than one list, and stays one value.
	values := make(map[*onnx.Value]*onnx.Value)
	c.Inputs = cloneValues(g.Inputs, values)
	c.Outputs = cloneValues(g.Outputs, values)
	c.Values = cloneValues(g.Values, values)
	return &c
}

func cloneSubgraphs(a *onnx.Attribute) {
	switch v := a.Value.(type) {
	case *onnx.Graph:
		a.Value = cloneGraph(v)
	case []*onnx.Graph:
		graphs := make([]*onnx.Graph, len(v))
		for i, g := range v {
			graphs[i] = cloneGraph(g)
		}
		a.Value = graphs
	}
}

func cloneAll[T any](list []*T) []*T {
	copies := make([]*T, len(list))
	for i, p := range list {
		c := *p
		copies[i] = &c
	}
	return copies
}

func cloneValues(list []*onnx.Value, done map[*onnx.Value]*onnx.Value) []*onnx.Value {
	copies := make([]*onnx.Value, len(list))
	for i, v := range list {
		if done[v] == nil {
			c := *v
			c.Type.Shape = slices.Clone(v.Type.Shape)
			done[v] = &c
		}
		copies[i] = done[v]
	}
	return copies
}

// hasSubgraphs reports whether a node runs graphs of its own: If, Loop, Scan.
func hasSubgraphs(n *onnx.Node) bool {
	return slices.ContainsFunc(n.Attributes, func(a onnx.Attribute) bool {
		switch a.Value.(type) {
		case *onnx.Graph, []*onnx.Graph:
			return true
		}
		return false
	})
}

// isONNX reports whether the operator is one of ONNX's own.
func isONNX(n *onnx.Node) bool {
	return (n.Domain == "" || n.Domain == "ai.onnx") && n.Overload == ""
}

// isOp reports whether the node is one of ONNX's own operators of that name.
func isOp(n *onnx.Node, op string) bool { return n != nil && n.Op == op && isONNX(n) }

// layerName is what users call a node: its name, or that of its first output.
func layerName(n *onnx.Node) string {
	if n.Name != "" {
		return n.Name
	}
	return output(n, 0)
}

// output returns the name of the node's i-th output, empty if it is left out.
func output(n *onnx.Node, i int) string {
	if i < len(n.Outputs) {
		return n.Outputs[i]
	}
	return ""
}

// onlyReader returns the one node that reads a value; nil if there are several, or the
// value is an output.
func onlyReader(x *onnx.Index, value string) *onnx.Node {
	readers := x.Consumers(value)
	if len(readers) != 1 || x.IsOutput(value) {
		return nil
	}
	return readers[0]
}

// onlyOutput reports whether nothing but the node's first output exists.
func onlyOutput(n *onnx.Node) bool {
	if output(n, 0) == "" {
		return false
	}
	return !slices.ContainsFunc(n.Outputs[1:], func(name string) bool { return name != "" })
}

// errQuantized is the cause of a refusal: the model computes with few bits already.
var errQuantized = errors.New("the model is quantised already")

// integerOps are the operators of models that are quantised. QMoE is none of them: around experts of 4 bits
// the rest of a model may still be quantised.
var integerOps = map[string]bool{
	"QuantizeLinear": true, "DequantizeLinear": true, "DynamicQuantizeLinear": true,
	"ConvInteger": true, "MatMulInteger": true, "QLinearConv": true, "QLinearMatMul": true,
	"QGemm": true, "QAttention": true, "QLinearAdd": true, "QLinearMul": true, "QLinearConcat": true,
	"MatMulIntegerToFloat": true, "DynamicQuantizeMatMul": true, "DynamicQuantizeLSTM": true, "MatMulNBits": true,
}

// acceptable refuses models that are broken or quantised.
func acceptable(m *onnx.Model) error {
	if err := m.Check(); err != nil {
		return fmt.Errorf("the model is not valid: %w", err)
	}
	for n := range m.Graph.AllNodes() {
		if integerOps[n.Op] {
			return fmt.Errorf("%w: it has a %s, %q", errQuantized, n.Op, layerName(n))
		}
	}
	return nil
}

// constants returns the initializers that nobody can replace when the model runs, by
// name: from IR version 4 on, one that is an input too is only that input's default.
func constants(m *onnx.Model) map[string]*onnx.Tensor {
	byName := make(map[string]*onnx.Tensor, len(m.Graph.Initializers))
	for _, t := range m.Graph.Initializers {
		byName[t.Name] = t
	}
	if m.IRVersion >= 4 {
		for _, v := range m.Graph.Inputs {
			delete(byName, v.Name)
		}
	}
	return byName
}

// addConstant adds an initializer. Files of IR version 3 and older list their
// initializers among the inputs.
func addConstant(m *onnx.Model, t *onnx.Tensor) {
	m.Graph.Initializers = append(m.Graph.Initializers, t)
	if m.IRVersion >= 4 {
		return
	}
	shape := make(onnx.Shape, len(t.Dims))
	for i, d := range t.Dims {
		shape[i] = onnx.Fixed(d)
	}
	m.Graph.Inputs = append(m.Graph.Inputs, &onnx.Value{Name: t.Name, Type: onnx.Type{Elem: t.Type, Shape: shape}})
}

// prune drops what no output depends on. In files of IR version 3 and older
// initializers that are dropped are dropped as inputs too: else a caller would have
// to feed them.
func prune(m *onnx.Model) {
	gone := make(map[string]bool)
	for _, t := range m.Graph.Initializers {
		gone[t.Name] = m.IRVersion < 4
	}
	m.Graph.Prune()
	for _, t := range m.Graph.Initializers {
		delete(gone, t.Name)
	}
	m.Graph.Inputs = slices.DeleteFunc(m.Graph.Inputs, func(v *onnx.Value) bool { return gone[v.Name] })
}
