package quantize

import (
	"fmt"
	"slices"

	"github.com/mlperf-go/mlperf/internal/onnx"
)

// Prepare returns the FP32 model in the form in which it is calibrated and quantised:
// of operator set 13 or newer, with constants as initializers, and batch norms folded
// into convolutions. It computes the same, but for rounding. Calibrate and Quantize
// prepare what they are given; who calls both saves time by doing it once before.
//
// A model that is quantised is refused with errQuantized.
func Prepare(m *onnx.Model) (*onnx.Model, error) {
	p, err := prepare(m)
	if err != nil {
		return nil, fmt.Errorf("preparing the model: %w", err)
	}
	return p, nil
}

func prepare(m *onnx.Model) (*onnx.Model, error) {
	if err := acceptable(m); err != nil {
		return nil, err
	}
	m = clone(m)
	if err := upgrade(m); err != nil {
		return nil, err
	}
	constantsToInitializers(m)
	if _, err := foldAffine(m); err != nil {
		return nil, err
	}
	if err := foldScales(m); err != nil {
		return nil, err
	}
	headsToGemm(m)
	if err := m.Check(); err != nil {
		return nil, fmt.Errorf("the result is not valid: %w", err)
	}
	return m, nil
}

// constantsToInitializers makes initializers of the Constant nodes that hold tensors.
func constantsToInitializers(m *onnx.Model) {
	m.Graph.Nodes = slices.DeleteFunc(m.Graph.Nodes, func(n *onnx.Node) bool {
		t := onnx.AttrOr[*onnx.Tensor](n, "value", nil)
		if !isOp(n, "Constant") || t == nil || !onlyOutput(n) {
			return false
		}
		named := *t
		named.Name = n.Outputs[0]
		addConstant(m, &named)
		return true
	})
}
