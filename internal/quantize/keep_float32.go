package quantize

import (
	"fmt"
	"slices"

	"github.com/mlperf-go/mlperf/internal/onnx"
)

// keep says why a node has to stay in FP32, and whether it has to do with float32
// values at all.
func (h *halver) keep(n *onnx.Node) (reason string, touches bool) {
	floats, unknown := h.values(n)
	touches = floats || unknown != "" || hasSubgraphs(n)
	if reason := h.keepOperator(n); reason != "" {
		return reason, touches
	}
	switch {
	case h.boxes[n]:
		return "it computes with coordinates of boxes", touches
	case unknown != "":
		return fmt.Sprintf("the type of %q is not known", unknown), touches
	case slices.ContainsFunc(n.Outputs, func(name string) bool { return h.integer[name] }):
		return "it computes with numbers made from integers", touches
	}
	return "", touches
}

// values says whether a node has float32 values, and names one whose type is not known.
func (h *halver) values(n *onnx.Node) (floats bool, unknown string) {
	for _, name := range slices.Concat(n.Inputs, n.Outputs) {
		switch t, known := h.types[name]; {
		case name == "":
		case !known:
			unknown = name
		case t == onnx.Float32:
			floats = true
		}
	}
	return floats, unknown
}

// keepOperator says why a node has to stay in FP32 for what its operator is; "" if it need not.
func (h *halver) keepOperator(n *onnx.Node) string {
	switch {
	case !isONNX(n):
		return "the operator is not one of ONNX's own"
	case h.options.keeps(n):
		return "excluded by name"
	case hasSubgraphs(n):
		return fullOps["Loop"]
	case fullOps[n.Op] != "":
		return fullOps[n.Op]
	case !halfOps[n.Op]:
		return "nothing is known of the operator"
	case handsOutStatistics(n):
		return "its statistics are float32"
	}
	return ""
}

// keeps reports whether a node is to stay in FP32, by its operator or its name.
func (o Float16Options) keeps(n *onnx.Node) bool {
	return slices.Contains(o.Keep, n.Op) || slices.Contains(o.Keep, layerName(n))
}

func handsOutStatistics(n *onnx.Node) bool { return n.Op == "LayerNormalization" && !onlyOutput(n) }

// followIntegers notes values that are made from integers: by a Cast, and by
// arithmetic on nothing but such values and constants.
func (h *halver) followIntegers(n *onnx.Node) {
	if !h.madeFromIntegers(n) {
		return
	}
	for _, name := range n.Outputs {
		if h.types[name] == onnx.Float32 {
			h.integer[name] = true
		}
	}
}

func (h *halver) madeFromIntegers(n *onnx.Node) bool {
	if isOp(n, "Cast") {
		t, known := h.types[n.Input(0)]
		return known && !isFloat(t)
	}
	if !isONNX(n) || !shapeOps[n.Op] {
		return false
	}
	floats := slices.DeleteFunc(slices.Clone(n.Inputs), func(name string) bool { return h.types[name] != onnx.Float32 })
	return slices.ContainsFunc(floats, func(name string) bool { return h.integer[name] }) &&
		!slices.ContainsFunc(floats, func(name string) bool { return !h.integer[name] && !h.isConstant(name) })
}

// isConstant reports whether a value is the same in all runs.
func (h *halver) isConstant(name string) bool {
	return h.consts[name] != nil || isOp(h.index.Producer(name), "Constant")
}

func isFloat(t onnx.ElemType) bool {
	switch t {
	case onnx.Float32, onnx.Float64, onnx.Float16, onnx.BFloat16:
		return true
	}
	return false
}
