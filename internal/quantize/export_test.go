package quantize

import (
	"context"
	"fmt"

	"github.com/mlperf-go/mlperf/internal/onnx"
)

// Observe observes the activations of a model over samples, in two or more passes: the
// first finds the smallest and the largest value of each, the others count how often
// values in between occur. Ranges then serves any method.
func Observe(ctx context.Context, m *onnx.Model, c Calibration) (*observations, error) {
	return observe(ctx, m, c, true)
}

// Layers returns the names of the layers that Quantize would quantise and that have
// weights, in the model's order: what can be excluded one by one.
func Layers(m *onnx.Model, o Options) ([]string, error) {
	_, layers, err := candidates(m, Ranges{}, o)
	if err != nil {
		return nil, fmt.Errorf("listing layers: %w", err)
	}
	return names(layers), nil
}
