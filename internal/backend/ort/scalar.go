//go:build cgo

package ort

import (
	"bytes"
	"fmt"
	"slices"
	"unsafe"

	onnx "github.com/yalue/onnxruntime_go"

	"github.com/mlperf-go/mlperf/internal/tensor"
)

// scalarCopier keeps a scalar of ONNX Runtime. The binding offers no scalar over given memory, nor
// a way to change one: its own memory is read by GetData, and another number needs
// another scalar. So a scalar input that changes costs a few allocations, one that does not,
// as is usual, none.
type scalarCopier[T onnx.TensorData] struct {
	inner  *onnx.Scalar[T]
	handle *handle
	bound  []byte // what inner was made from, nil if a run wrote to it
}

// scalars make room for a scalar of each type that the binding knows.
var scalars = map[tensor.DType]func() copier{
	tensor.Float32: scalarOf[float32], tensor.Float64: scalarOf[float64],
	tensor.Int8: scalarOf[int8], tensor.Int16: scalarOf[int16], tensor.Int32: scalarOf[int32], tensor.Int64: scalarOf[int64],
	tensor.Uint8: scalarOf[uint8], tensor.Uint16: scalarOf[uint16], tensor.Uint32: scalarOf[uint32], tensor.Uint64: scalarOf[uint64],
	tensor.Bool: scalarOf[bool],
}

func scalarOf[T onnx.TensorData]() copier { return &scalarCopier[T]{} }

func newScalar(t tensor.Tensor) (copier, *handle, error) {
	room, possible := scalars[t.Type]
	if !possible {
		return nil, nil, fmt.Errorf("binding %v: a scalar of this type is not possible", t)
	}
	c := room()
	h, err := c.in(t)
	return c, h, err
}

func (c *scalarCopier[T]) in(t tensor.Tensor) (*handle, error) {
	if c.handle != nil && c.bound != nil && bytes.Equal(c.bound, t.Bytes()) {
		return c.handle, nil
	}
	inner, err := onnx.NewScalar(*(*T)(unsafe.Pointer(unsafe.SliceData(t.Bytes()))))
	if err != nil {
		return nil, fmt.Errorf("binding %v: %s", t, readable(err.Error()))
	}
	if c.inner != nil {
		c.inner.Destroy() // runs that still use it hold a reference of their own
	}
	c.inner, c.handle, c.bound = inner, newHandle(inner), slices.Clone(t.Bytes())
	return c.handle, nil
}

func (c *scalarCopier[T]) out(t tensor.Tensor) error {
	c.bound = nil
	*(*T)(unsafe.Pointer(unsafe.SliceData(t.Bytes()))) = c.inner.GetData()
	return nil
}
