package quantize

import (
	"fmt"

	"github.com/mlperf-go/mlperf/internal/onnx"
)

// foldScales multiplies the factors of matrix products into their constants: integer kernels know
// no factors.
func foldScales(m *onnx.Model) error {
	consts, index := constants(m), m.Graph.Index()
	for _, n := range m.Graph.Nodes {
		if !isOp(n, "Gemm") {
			continue
		}
		for _, f := range []struct {
			factor string
			input  int
		}{{"alpha", 1}, {"beta", 2}} {
			by := onnx.AttrOr(n, f.factor, float32(1))
			t := consts[n.Input(f.input)]
			if by == 1 || !isFloat32Constant(t) {
				continue
			}
			scaled, err := times(t, by, index.Unique(t.Name+"_"+f.factor))
			if err != nil {
				return fmt.Errorf("node %q: %w", n.Name, err)
			}
			addConstant(m, scaled)
			n.Inputs[f.input] = scaled.Name
			n.DropAttr(f.factor)
		}
	}
	prune(m)
	return nil
}

// times returns a constant multiplied by a factor.
func times(t *onnx.Tensor, factor float32, name string) (*onnx.Tensor, error) {
	values, err := onnx.Elements[float32](t)
	if err != nil {
		return nil, err
	}
	for i := range values {
		values[i] *= factor
	}
	return onnx.TensorOf(name, values, t.Dims...), nil
}
