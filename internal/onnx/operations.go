package onnx

import (
	"fmt"
	"slices"
)

// Operations are what a model holds, and what one run of it computes.
type Operations struct {
	Parameters  int64 // numbers in weights: no scales, zero points, means or variances of batch norms, and no single constants
	WeightBytes int64 // that they take in the file

	// MACs are the multiply-accumulates of convolutions, matrix products, recurrent layers and attention. Additions, norms,
	// activations and look-ups are not counted.
	MACs int64
	// MACsOf are those of each operator.
	MACsOf map[string]int64
	// Uncounted names the nodes whose work is not in MACs: products whose extents follow from data, and operators that this
	// package does not know.
	Uncounted []string
	// Once names the loops whose number of rounds follows from data: their bodies are counted once.
	Once []string
	// Layers counts the nodes by operator, with those of subgraphs.
	Layers map[string]int
}

// Operations counts a model's parameters, and the work of a run with inputs of these extents, by name. An input that is not
// named has its own extents, with 1 for each free axis.
func (m *Model) Operations(inputs map[string][]int64) Operations {
	o := Operations{MACsOf: map[string]int64{}, Layers: map[string]int{}}
	o.weigh(m.Graph)
	f := &inference{values: map[string]*extent{}, free: map[string]int64{}, scales: map[string][]float32{}, count: &o, times: 1}
	for _, v := range m.Graph.FreeInputs() {
		e := &extent{}
		for axis, d := range v.Type.Shape {
			size := d.Size
			if given := inputs[v.Name]; axis < len(given) {
				size = given[axis]
			} else if !d.Known() {
				size = 1
			}
			if d.Param != "" {
				f.free[d.Param] = size
			}
			e.dims = append(e.dims, size)
		}
		if v.Type.Shape != nil {
			f.values[v.Name] = e
		}
	}
	f.graph(m.Graph)
	if m.HasFunctions() {
		o.Uncounted = append(o.Uncounted, "local functions")
	}
	for _, n := range o.MACsOf {
		o.MACs = add(o.MACs, n)
	}
	return o
}

// weigh counts the weights of a graph and of those in it, and its nodes.
func (o *Operations) weigh(g *Graph) {
	aside := map[string]bool{}  // scales, zero points, statistics
	bias := map[string]bool{}   // 32-bit integers that are added to products
	packed := map[string]bool{} // two numbers in each byte
	for n := range g.AllNodes() {
		o.Layers[n.Op]++
		for _, i := range notWeights[n.Op] {
			aside[n.Input(i)] = true
		}
		switch n.Op {
		case "MatMulNBits":
			packed[n.Input(1)] = AttrOr(n, "bits", int64(4)) == 4
		case "QMoE":
			for _, i := range []int{2, 5, 8} {
				packed[n.Input(i)] = AttrOr(n, "expert_weight_bits", int64(4)) == 4
			}
		case "QLinearConv":
			bias[n.Input(8)] = true
		case "DequantizeLinear":
			bias[n.Input(0)] = true
		case "Constant":
			if a := n.Attr("value"); a != nil {
				if t, ok := a.Value.(*Tensor); ok && len(n.Outputs) == 1 {
					o.weight(&Tensor{Name: n.Outputs[0], Type: t.Type, Dims: t.Dims}, aside, bias, packed)
				}
			}
		}
	}
	for _, t := range g.Initializers {
		o.weight(t, aside, bias, packed)
	}
	for n := range g.AllNodes() {
		for _, sub := range n.Subgraphs() {
			for _, t := range sub.Initializers {
				o.weight(t, aside, bias, packed)
			}
		}
	}
}

// notWeights are the inputs of operators that are constants and no weights.
var notWeights = map[string][]int{
	"BatchNormalization": {3, 4}, "QuantizeLinear": {1, 2}, "DequantizeLinear": {1, 2},
	"QLinearConv": {1, 2, 4, 5, 6, 7}, "QLinearMatMul": {1, 2, 4, 5, 6, 7}, "ConvInteger": {2, 3}, "MatMulInteger": {2, 3},
	"QGemm": {1, 2, 4, 5, 7, 8}, "MatMulNBits": {2, 3, 4}, "QMoE": {3, 6, 9}, "DynamicQuantizeMatMul": {2, 3}, "MatMulIntegerToFloat": {2, 3, 4, 5},
	"QLinearAdd": {1, 2, 4, 5, 6, 7}, "QLinearMul": {1, 2, 4, 5, 6, 7}, "GatherBlockQuantized": {2, 3},
	"Resize": {1, 2, 3}, "Upsample": {1}, "Pad": {1, 2}, "Clip": {1, 2},
}

func (o *Operations) weight(t *Tensor, aside, bias, packed map[string]bool) {
	n, err := t.Len()
	if err != nil || len(t.Dims) == 0 || aside[t.Name] {
		return
	}
	switch t.Type {
	case Float32, Float64, Float16, BFloat16, Int8, Uint8, Int4, Uint4, Int2, Uint2, Float4E2M1, Float8E4M3FN, Float8E4M3FNUZ, Float8E5M2,
		Float8E5M2FNUZ:
	case Int32:
		if !bias[t.Name] {
			return
		}
	default:
		return
	}
	o.WeightBytes = add(o.WeightBytes, (n*int64(t.Type.Bits())+7)/8)
	if packed[t.Name] && t.Type == Uint8 {
		n *= 2
	}
	o.Parameters = add(o.Parameters, n)
}

// multiply counts a node's products; a negative number is not known.
func (f *inference) multiply(n *Node, macs int64) {
	if macs < 0 {
		f.uncounted(n)
		return
	}
	f.count.MACsOf[n.Op] = add(f.count.MACsOf[n.Op], times(macs, f.times))
}

func (f *inference) uncounted(n *Node) {
	name := n.Op
	if n.Name != "" {
		name = fmt.Sprintf("%s (%s)", n.Name, n.Op)
	}
	if !slices.Contains(f.count.Uncounted, name) {
		f.count.Uncounted = append(f.count.Uncounted, name)
	}
}

// most is where counts end: no model computes as much.
const most = int64(1) << 62

func add(a, b int64) int64 { return min(most, a+b) }

// times multiplies extents and counts; -1 where one is not known.
func times(factors ...int64) int64 {
	product := int64(1)
	for _, n := range factors {
		switch {
		case n < 0:
			return -1
		case n > 0 && product > most/n:
			product = most
		default:
			product *= n
		}
	}
	return product
}
