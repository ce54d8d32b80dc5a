package quantize

import "github.com/mlperf-go/mlperf/internal/onnx"

// FewBits says how many bits the narrowest weights of a model have that its operators take for integers;
// 0: it has none.
func FewBits(m *onnx.Model) int64 {
	var least int64
	for n := range m.Graph.AllNodes() {
		if bits := bitsOf(n); bits > 0 && (least == 0 || bits < least) {
			least = bits
		}
	}
	return least
}

// bitsOf is what the weights of a node have; 0: they are no integers. The names of attributes are those of
// ONNX Runtime's contributed operators (docs/ContribOperators.md there).
func bitsOf(n *onnx.Node) int64 {
	switch {
	case n.Op == "MatMulNBits":
		return onnx.AttrOr[int64](n, "bits", 4)
	case n.Op == "QMoE":
		return onnx.AttrOr[int64](n, "expert_weight_bits", 4)
	case integerOps[n.Op]:
		return 8
	}
	return 0
}
