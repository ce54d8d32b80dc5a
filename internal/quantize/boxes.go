package quantize

import (
	"slices"

	"github.com/mlperf-go/mlperf/internal/onnx"
)

// boxNodes returns the nodes that compute with the boxes of a detector: those between the
// layers with weights and the non-maximum suppression, and those that follow on it.
// Coordinates can be as large as an image, for which float16 has steps of half a pixel
// from 512 on, and which boxes overlap enough hangs on small differences.
func boxNodes(g *onnx.Graph) map[*onnx.Node]bool {
	b := boxFinder{index: g.Index(), found: make(map[*onnx.Node]bool)}
	for _, n := range g.Nodes {
		if suppresses(n) {
			b.back(n)
		}
	}
	for _, n := range g.Nodes { // in the graph's order, so one pass goes all the way
		if !heavyOps[n.Op] && slices.ContainsFunc(readsOf(n), b.isBox) {
			b.found[n] = true
		}
	}
	return b.found
}

// isBox reports whether a value is made by a node that was found.
func (b boxFinder) isBox(value string) bool { return b.found[b.index.Producer(value)] }

// heavyOps are the operators with weights.
var heavyOps = set("Conv", "ConvTranspose", "Gemm", "MatMul", "GRU", "LSTM", "RNN")

// suppresses reports whether a node is a non-maximum suppression, or has one inside.
func suppresses(n *onnx.Node) bool {
	alone := onnx.Graph{Nodes: []*onnx.Node{n}}
	for inner := range alone.AllNodes() {
		if isOp(inner, "NonMaxSuppression") {
			return true
		}
	}
	return false
}

type boxFinder struct {
	index *onnx.Index
	found map[*onnx.Node]bool
}

// back goes from a node back to the layers with weights.
func (b *boxFinder) back(n *onnx.Node) {
	if n == nil || b.found[n] || heavyOps[n.Op] {
		return
	}
	b.found[n] = true
	for _, name := range readsOf(n) {
		b.back(b.index.Producer(name))
	}
}
