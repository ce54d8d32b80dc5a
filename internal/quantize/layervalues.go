package quantize

import (
	"slices"

	"github.com/mlperf-go/mlperf/internal/onnx"
)

// dropLonely drops the layers without weights that would not lie between others: no
// input comes from a layer, or no layer reads the result.
func (p *plan) dropLonely() {
	for changed := true; changed; {
		changed = false
		p.layers = slices.DeleteFunc(p.layers, func(l *layer) bool {
			if l.kind == weighted || p.fed(l) && p.read(l.result) {
				return false
			}
			delete(p.byNode, l.node)
			delete(p.byResult, l.result)
			changed = true
			return true
		})
	}
}

// fed reports whether a layer makes one of a layer's inputs.
func (p *plan) fed(l *layer) bool {
	return slices.ContainsFunc(l.activations(), func(i int) bool { return p.byResult[l.node.Inputs[i]] != nil })
}

// read reports whether a layer reads a value as an activation.
func (p *plan) read(value string) bool {
	return slices.ContainsFunc(p.index.Consumers(value), func(n *onnx.Node) bool {
		l := p.byNode[n]
		return l != nil && slices.ContainsFunc(l.activations(), func(i int) bool { return n.Inputs[i] == value })
	})
}

// quantized reports whether the result of a layer becomes integers. A matrix product
// can hand out floats at no cost; where no layer reads them, they stay exact.
func (p *plan) quantized(l *layer) bool {
	return l.node.Op != "Gemm" && l.node.Op != "MatMul" || p.read(l.result)
}

// source follows a value through layers that only carry it, to where its range is made.
func (p *plan) source(value string) string {
	for l := p.byResult[value]; l != nil && l.kind == carrying; l = p.byResult[value] {
		value = l.node.Inputs[0]
	}
	return value
}

// values returns the values that become integers, in the graph's order. A plan that
// leaves more layers out has no others.
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

// back goes from a value back to the weighted nodes on which it depends, and no
// further.
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

// channelMeans returns the inputs of the layers whose biases can be corrected, each once.
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

// onlySigmoid reports whether nothing but a Sigmoid sees a value, perhaps after its elements
// were moved.
func (p *plan) onlySigmoid(value string) bool {
	seen := map[string]bool{} // what is moved apart and put together again is followed once
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
			case moves(n, value):
				waiting = append(waiting, output(n, 0))
			default:
				return false
			}
		}
	}
	return true
}

// moves reports whether the elements of a value are what a node makes, perhaps with others.
func moves(n *onnx.Node, value string) bool {
	return isOp(n, "Concat") || isONNX(n) && n.Op != "Resize" && kinds[n.Op] == carrying && n.Input(0) == value
}
