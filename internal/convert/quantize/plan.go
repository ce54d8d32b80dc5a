package quantize

import (
	"errors"
	"fmt"
	"slices"

	"github.com/mlperf-go/mlperf/internal/onnx"
)

// A kind is the part of an operator in integer arithmetic.
type kind int

const (
	// weighted operators multiply activations with constant weights. They take most of the time, and
	// are the layers that users know.
	weighted kind = iota + 1
	// joining operators compute with activations alone. They are quantised where that saves the way to
	// FP32 and back between weighted ones.
	joining
	// carrying operators only choose or move elements: their result has the parameters of their input.
	carrying
)

// kinds are the operators that are quantised. Products of two activations cost accuracy and save little.
var kinds = map[string]kind{
	"Conv": weighted, "Gemm": weighted, "MatMul": weighted,
	"Add": joining, "Concat": joining, "AveragePool": joining, "GlobalAveragePool": joining,
	"MaxPool": carrying, "Flatten": carrying, "Reshape": carrying, "Transpose": carrying, "Squeeze": carrying,
	"Unsqueeze": carrying, "Slice": carrying, "DepthToSpace": carrying, "SpaceToDepth": carrying, "Resize": carrying,
}

// A layer is a node that is computed with integers.
type layer struct {
	node   *onnx.Node
	kind   kind
	result string     // the node's output, or that of the activation function behind it
	fused  *onnx.Node // the activation function
}

// activations returns the positions of the inputs that are activations.
func (l *layer) activations() []int {
	if l.kind == joining {
		positions := make([]int, len(l.node.Inputs))
		for i := range positions {
			positions[i] = i
		}
		return positions
	}
	return []int{0}
}

// hasBias reports whether the layer adds a bias, or could.
func (l *layer) hasBias() bool { return l.kind == weighted && l.node.Op != "MatMul" }

// A plan has the nodes of a prepared model that become integer arithmetic.
type plan struct {
	model    *onnx.Model
	index    *onnx.Index
	consts   map[string]*onnx.Tensor
	types    map[string]onnx.ElemType
	layers   []*layer              // in the graph's order
	byNode   map[*onnx.Node]*layer // the same
	byResult map[string]*layer     // the same
	excluded []ExcludedLayer       // weighted nodes that stay in FP32
}

// An ExcludedLayer is a layer with weights that stays in FP32, and why.
type ExcludedLayer struct {
	Layer  string `json:"layer"`
	Op     string `json:"op"`
	Reason string `json:"reason"`
}

// newPlan chooses the layers of a prepared model.
func newPlan(m *onnx.Model, o Options) *plan {
	p := &plan{
		model: m, index: m.Graph.Index(), consts: constants(m), types: elemTypes(m.Graph),
		byNode: make(map[*onnx.Node]*layer), byResult: make(map[string]*layer),
	}
	ends := p.endsOf(o)
	for _, n := range m.Graph.Nodes {
		k, reason := p.candidate(n, o)
		if reason == "" {
			reason = ends[n]
		}
		if reason == "" && k != 0 {
			l := &layer{node: n, kind: k, result: n.Outputs[0]}
			if k != carrying {
				if l.fused = p.activationBehind(n); l.fused != nil {
					l.result = l.fused.Outputs[0]
				}
			}
			p.layers = append(p.layers, l)
			p.byNode[n], p.byResult[l.result] = l, l
		} else if k == weighted {
			p.excluded = append(p.excluded, ExcludedLayer{layerName(n), n.Op, reason})
		}
	}
	p.dropLonely()
	return p
}

// candidate returns the kind of layer that a node could be, 0 for none, and why it is not one.
func (p *plan) candidate(n *onnx.Node, o Options) (kind, string) {
	k := kinds[n.Op]
	if k == 0 && isONNX(n) && weightedOps[n.Op] && isFloat32Constant(p.consts[n.Input(1)]) {
		return weighted, "the operator is not computed with integers"
	}
	if k == 0 || !isONNX(n) || !onlyOutput(n) || p.constant(n) {
		return 0, ""
	}
	if reason := o.excludes(n); reason != "" {
		return k, reason
	}
	if k == weighted {
		return k, p.whyNotWeighted(n)
	}
	read := n.Inputs
	if k == carrying {
		read = []string{n.Input(0)}
	}
	if slices.ContainsFunc(read, func(name string) bool { return !p.isActivation(name) }) {
		return 0, ""
	}
	return k, ""
}

// constant reports whether a node has no input that varies.
func (p *plan) constant(n *onnx.Node) bool {
	return !slices.ContainsFunc(n.Inputs, p.varies)
}

// varies reports whether the name is that of a value other than a constant.
func (p *plan) varies(name string) bool { return name != "" && p.consts[name] == nil }

// isActivation reports whether a value is a float32 that varies.
func (p *plan) isActivation(name string) bool {
	return p.varies(name) && p.types[name] == onnx.Float32
}

// unitAxis returns the axis of a node's weights for its output channels.
func unitAxis(n *onnx.Node) int {
	if n.Op == "Conv" || n.Op == "Gemm" && onnx.AttrOr(n, "transB", int64(0)) != 0 {
		return 0
	}
	return 1
}

// activationBehind returns the Relu or Clip that is the only reader of a node's result. The limits of the
// integers do its work.
func (p *plan) activationBehind(n *onnx.Node) *onnx.Node {
	value := n.Outputs[0]
	r := onlyReader(p.index, value)
	if r == nil || !onlyOutput(r) || r.Input(0) != value {
		return nil
	}
	constantLimits := isOp(r, "Clip") && !slices.ContainsFunc(r.Inputs[1:], p.varies)
	if isOp(r, "Relu") || constantLimits {
		return r
	}
	return nil
}

// dropLonely drops the layers without weights of which no input comes from a layer, or whose result no
// layer reads.
func (p *plan) dropLonely() {
	for changed := true; changed; {
		changed = false
		p.layers = slices.DeleteFunc(p.layers, func(l *layer) bool {
			made := slices.ContainsFunc(l.activations(), func(i int) bool { return p.byResult[l.node.Inputs[i]] != nil })
			if l.kind == weighted || made && p.read(l.result) {
				return false
			}
			delete(p.byNode, l.node)
			delete(p.byResult, l.result)
			changed = true
			return true
		})
	}
}

// read reports whether a layer reads a value as an activation.
func (p *plan) read(value string) bool {
	return slices.ContainsFunc(p.index.Consumers(value), func(n *onnx.Node) bool {
		l := p.byNode[n]
		return l != nil && slices.ContainsFunc(l.activations(), func(i int) bool { return n.Inputs[i] == value })
	})
}

// quantized reports whether the result of a layer becomes integers. A matrix product can return floats at
// no cost; where no layer reads them, they stay exact.
func (p *plan) quantized(l *layer) bool {
	return l.node.Op != "Gemm" && l.node.Op != "MatMul" || p.read(l.result)
}

// values returns the values that become integers, in the graph's order. With more layers left out they are
// a part of these.
func (p *plan) values() []string {
	var list []string
	seen := make(map[string]bool)
	add := func(name string) {
		if !seen[name] {
			seen[name] = true
			list = append(list, name)
		}
	}
	for _, l := range p.layers {
		for _, i := range l.activations() {
			add(l.node.Inputs[i])
		}
		if p.quantized(l) {
			add(l.result)
		}
	}
	return list
}

// endsOf returns the first and last weighted nodes, if the options leave them out.
func (p *plan) endsOf(o Options) map[*onnx.Node]string {
	ends := make(map[*onnx.Node]string)
	if o.SkipLast {
		for _, v := range p.model.Graph.Outputs {
			p.back(v.Name, make(map[string]bool), func(n *onnx.Node) { ends[n] = "it is a last layer" })
		}
	}
	if !o.SkipFirst {
		return ends
	}
	for _, n := range p.model.Graph.Nodes {
		first := kinds[n.Op] == weighted
		p.back(n.Input(0), make(map[string]bool), func(*onnx.Node) { first = false })
		if first {
			ends[n] = "it is a first layer"
		}
	}
	return ends
}

// back visits the weighted nodes on which a value depends, and none behind them.
func (p *plan) back(value string, seen map[string]bool, visit func(*onnx.Node)) {
	n := p.index.Producer(value)
	if n == nil || seen[value] {
		return
	}
	seen[value] = true
	if kinds[n.Op] == weighted && !p.constant(n) {
		visit(n)
		return
	}
	for _, name := range n.Inputs {
		p.back(name, seen, visit)
	}
}

// inputChannels returns how many channels of its input a weighted layer reads.
func inputChannels(n *onnx.Node, w *onnx.Tensor) int {
	if n.Op == "Conv" {
		return int(w.Dims[1]) * int(max(onnx.AttrOr(n, "group", int64(1)), 1))
	}
	return int(w.Dims[1-unitAxis(n)])
}

// channelMeans returns the inputs of the layers with a bias to correct, each once.
func (p *plan) channelMeans() []channels {
	var list []channels
	seen := make(map[string]bool)
	for _, l := range p.layers {
		value := l.node.Inputs[0]
		if !l.hasBias() || seen[value] {
			continue
		}
		seen[value] = true
		w := p.consts[l.node.Inputs[1]]
		c := channels{value: value, count: inputChannels(l.node, w)}
		if l.node.Op == "Conv" {
			c.rank = len(w.Dims)
		}
		list = append(list, c)
	}
	return list
}

// onlySigmoid reports whether the only readers of a value are Sigmoids, perhaps behind operators that move
// its elements.
func (p *plan) onlySigmoid(value string) bool {
	seen := map[string]bool{}
	for waiting := []string{value}; len(waiting) > 0; {
		value, waiting = waiting[0], waiting[1:]
		if seen[value] {
			continue
		}
		seen[value] = true
		readers := p.index.Consumers(value)
		if len(readers) == 0 || p.index.IsOutput(value) {
			return false
		}
		for _, n := range readers {
			switch {
			case isOp(n, "Sigmoid"):
			case isOp(n, "Concat"), isONNX(n) && n.Op != "Resize" && kinds[n.Op] == carrying && n.Input(0) == value: // moves elements
				waiting = append(waiting, output(n, 0))
			default:
				return false
			}
		}
	}
	return true
}

// excludes returns why the options leave a node out; "" if they do not.
func (o Options) excludes(n *onnx.Node) string {
	switch {
	case slices.Contains(o.Exclude, layerName(n)):
		return "excluded by name"
	case slices.Contains(o.ExcludeOps, n.Op):
		return "the operator is excluded"
	}
	return ""
}

// notConstant is why a product of two activations stays in FP32.
const notConstant = "its weights are not constant"

// whyNotWeighted returns why a node with weights cannot be quantised; "" if it can.
func (p *plan) whyNotWeighted(n *onnx.Node) string {
	w := p.consts[n.Input(1)]
	switch {
	case !p.isActivation(n.Input(0)):
		return "its input is not a float32 activation"
	case !isFloat32Constant(w):
		return notConstant
	case slices.Contains(w.Dims, 0):
		return "its weights are empty"
	}
	if n.Op == "Conv" {
		if reason := whyNotKernels(n, w.Dims); reason != "" {
			return reason
		}
	} else if len(w.Dims) != 2 {
		return fmt.Sprintf("its weights have the shape %v, not that of a matrix", w.Dims)
	} else if n.Op == "Gemm" && (onnx.AttrOr(n, "alpha", float32(1)) != 1 || onnx.AttrOr(n, "transA", int64(0)) != 0) {
		return "it scales or transposes its input"
	}
	name := n.Input(2)
	if name == "" || n.Op == "MatMul" {
		return ""
	}
	b, units := p.consts[name], w.Dims[unitAxis(n)]
	switch {
	case !isFloat32Constant(b):
		return "its bias is not constant"
	case n.Op == "Gemm" && onnx.AttrOr(n, "beta", float32(1)) != 1:
		return "it scales its bias"
	case len(b.Dims) != 1 || b.Dims[0] != units:
		return fmt.Sprintf("its bias has the shape %v, not [%d]", b.Dims, units)
	}
	return ""
}

func whyNotKernels(n *onnx.Node, dims []int64) string {
	groups := onnx.AttrOr(n, "group", int64(1))
	switch {
	case len(dims) < 3:
		return fmt.Sprintf("its weights have the shape %v", dims)
	case groups < 1 || dims[0]%groups != 0:
		return fmt.Sprintf("its %d filters are not %d groups", dims[0], groups)
	}
	return ""
}

// errEmpty is the error of a plan without layers.
func (p *plan) errEmpty() error {
	if len(p.excluded) == 0 {
		return errors.New("nothing to quantise: the model has no layers with weights")
	}
	first := p.excluded[0]
	return fmt.Errorf("nothing to quantise: %s %q stays in FP32 because %s, and so do %d others",
		first.Op, first.Layer, first.Reason, len(p.excluded)-1)
}
