package quantize

import (
	"slices"

	"github.com/mlperf-go/mlperf/internal/onnx"
)

// headsToGemm writes 1×1 convolutions of pooled features that make an output, as
// MobileNet has one for its classes, as what they are: matrix products. An integer
// product can hand out its exact sums, while an integer convolution rounds its results
// to 8 bits, which leaves no order between classes that are close to each other.
func headsToGemm(m *onnx.Model) {
	p := &plan{model: m, index: m.Graph.Index(), consts: constants(m)}
	last := p.endsOf(Options{SkipLast: true})
	var nodes []*onnx.Node
	for _, n := range m.Graph.Nodes {
		if last[n] != "" && p.isProduct(n) {
			nodes = append(nodes, p.asGemm(n)...)
		} else {
			nodes = append(nodes, n)
		}
	}
	m.Graph.Nodes = nodes
	prune(m)
}

// isProduct reports whether a convolution has one pixel to see, and sees nothing else.
func (p *plan) isProduct(n *onnx.Node) bool {
	if !isOp(n, "Conv") || !onlyOutput(n) || !isOp(p.index.Producer(n.Input(0)), "GlobalAveragePool") {
		return false
	}
	w := p.consts[n.Input(1)]
	if filters(n, w) == 0 {
		return false
	}
	return allAre(w.Dims[2:], 1) && onnx.AttrOr(n, "group", int64(1)) == 1 &&
		allAre(onnx.AttrOr[[]int64](n, "strides", nil), 1) && allAre(onnx.AttrOr[[]int64](n, "pads", nil), 0)
}

func allAre(list []int64, want int64) bool {
	return !slices.ContainsFunc(list, func(n int64) bool { return n != want })
}

// asGemm returns the nodes that take the place of a convolution. The product keeps its
// name.
func (p *plan) asGemm(n *onnx.Node) []*onnx.Node {
	conv := p.consts[n.Inputs[1]]
	matrix := *conv
	matrix.Name = p.index.Unique(conv.Name + "_matrix")
	matrix.Dims = conv.Dims[:2:2]
	addConstant(p.model, &matrix)
	list := make([]int64, len(conv.Dims)-2)
	for i := range list {
		list[i] = int64(i + 2)
	}
	axes := onnx.TensorOf(p.index.Unique(layerName(n)+"_axes"), list, int64(len(list)))
	addConstant(p.model, axes)
	flat, product := p.index.Unique(n.Inputs[0]+"_flat"), p.index.Unique(n.Outputs[0]+"_flat")
	gemm := *n
	gemm.Op, gemm.Outputs = "Gemm", []string{product}
	gemm.Inputs = append([]string{flat, matrix.Name}, n.Inputs[2:]...)
	gemm.Attributes = []onnx.Attribute{onnx.Attr("transB", int64(1))}
	if gemm.Name == "" {
		gemm.Name = layerName(n)
	}
	return []*onnx.Node{
		{Name: p.index.Unique(flat + "_Flatten"), Op: "Flatten", Inputs: []string{n.Inputs[0]}, Outputs: []string{flat}},
		&gemm,
		{Name: p.index.Unique(product + "_Unsqueeze"), Op: "Unsqueeze", Inputs: []string{product, axes.Name}, Outputs: n.Outputs[:1:1]},
	}
}
