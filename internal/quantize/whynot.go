package quantize

import (
	"errors"
	"fmt"
	"slices"

	"github.com/mlperf-go/mlperf/internal/onnx"
)

// excludes says why a node is not wanted; "" if it is.
func (o Options) excludes(n *onnx.Node) string {
	ops := o.Ops
	if ops == nil {
		ops = defaultOps()
	}
	switch {
	case slices.Contains(o.Exclude, layerName(n)):
		return "excluded by name"
	case slices.Contains(o.ExcludeOps, n.Op) || !slices.Contains(ops, n.Op):
		return "the operator is excluded"
	}
	return ""
}

// whyNotWeighted says what keeps a node with weights from being quantised.
func (p *plan) whyNotWeighted(n *onnx.Node) string {
	w := p.consts[n.Input(1)]
	switch {
	case !p.isActivation(n.Input(0)):
		return "its input is no float32 activation"
	case !isFloat32Constant(w):
		return "its weights are not constant"
	case slices.Contains(w.Dims, 0):
		return "its weights are empty"
	}
	if reason := whyNotShape(n, w.Dims); reason != "" {
		return reason
	}
	return p.whyNotBias(n, w)
}

// whyNotShape says what is odd about the weights of a node, for what it does with them.
func whyNotShape(n *onnx.Node, dims []int64) string {
	if n.Op == "Conv" {
		return whyNotKernels(n, dims)
	}
	switch {
	case len(dims) != 2:
		return fmt.Sprintf("its weights have the shape %v, not that of a matrix", dims)
	case n.Op == "Gemm" && (onnx.AttrOr(n, "alpha", float32(1)) != 1 || onnx.AttrOr(n, "transA", int64(0)) != 0):
		return "it scales or transposes its input"
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

func (p *plan) whyNotBias(n *onnx.Node, w *onnx.Tensor) string {
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

// errEmpty says why there is nothing in a plan.
func (p *plan) errEmpty() error {
	if len(p.excluded) == 0 {
		return errors.New("there is nothing to quantise: the model has no layers with weights")
	}
	first := p.excluded[0]
	return fmt.Errorf("there is nothing to quantise: %s %q stays in FP32 because %s, and so do %d others",
		first.Op, first.Layer, first.Reason, len(p.excluded)-1)
}
