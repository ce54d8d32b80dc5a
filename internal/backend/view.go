package backend

import (
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/mlperf-go/mlperf/internal/tensor"
)

// A View is the Value of an engine that reads and writes tensors where they lie: there is nothing to
// bind them to.
type View struct {
	tensor tensor.Tensor
	closed atomic.Bool
}

// NewView makes a value over t's memory.
func NewView(t tensor.Tensor) (Value, error) {
	if t.Type == tensor.Invalid {
		return nil, fmt.Errorf("a tensor of type %v cannot be bound", t.Type)
	}
	return &View{tensor: t}, nil
}

// Tensor implements Value.
func (v *View) Tensor() tensor.Tensor { return v.tensor }

// Close implements Value: runs do not take it any more.
func (v *View) Close() error {
	v.closed.Store(true)
	return nil
}

// Viewed returns the tensor of an open View that fits a port. Its role is input or output.
func Viewed(given Value, port Port, role string) (tensor.Tensor, error) {
	v, ok := given.(*View)
	if !ok || v == nil || v.closed.Load() {
		return tensor.Tensor{}, fmt.Errorf("%s %s: not an open value of this engine", role, port.Name)
	}
	if t := v.tensor; !port.Fits(t.Type, t.Shape) {
		return tensor.Tensor{}, fmt.Errorf("%s %s: got %v, the model has %v%v", role, port.Name, t, port.Type, port.Shape)
	}
	return v.tensor, nil
}

// Fits reports whether a tensor of a type and shape can go through the port, free extents being
// anything.
func (p Port) Fits(t tensor.DType, shape tensor.Shape) bool {
	if t != p.Type || p.AnyShape {
		return t == p.Type
	}
	return slices.EqualFunc(shape, p.Shape, func(got, want int64) bool { return want < 0 || got == want })
}
