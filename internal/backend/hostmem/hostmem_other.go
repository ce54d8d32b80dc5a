//go:build !unix

package hostmem

import (
	"fmt"
	"slices"

	"github.com/mlperf-go/mlperf/internal/tensor"
)

// New returns a zeroed tensor in the Go heap, and a function that does nothing.
func New(d tensor.DType, shape ...int64) (t tensor.Tensor, free func() error, err error) {
	if d.Size() == 0 {
		return tensor.Tensor{}, nil, fmt.Errorf("a tensor of type %v cannot lie outside the Go heap", d)
	}
	if len(shape) > 0 && slices.Min(shape) >= 0 && tensor.Shape(shape).Len() < 0 {
		return tensor.Tensor{}, nil, fmt.Errorf("allocating %v%v: it has more elements than any memory", d, tensor.Shape(shape))
	}
	return tensor.New(d, shape...), func() error { return nil }, nil
}
