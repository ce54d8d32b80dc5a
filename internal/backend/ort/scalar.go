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

func newScalar(t tensor.Tensor) (copier, *handle, error) {
	var c copier
	switch t.Type {
	case tensor.Float32:
		c = &scalarCopier[float32]{}
	case tensor.Float64:
		c = &scalarCopier[float64]{}
	case tensor.Int8:
		c = &scalarCopier[int8]{}
	case tensor.Int16:
		c = &scalarCopier[int16]{}
	case tensor.Int32:
		c = &scalarCopier[int32]{}
	case tensor.Int64:
		c = &scalarCopier[int64]{}
	case tensor.Uint8:
		c = &scalarCopier[uint8]{}
	case tensor.Uint16:
		c = &scalarCopier[uint16]{}
	case tensor.Uint32:
		c = &scalarCopier[uint32]{}
	case tensor.Uint64:
		c = &scalarCopier[uint64]{}
	case tensor.Bool:
		c = &scalarCopier[bool]{}
	default:
		return nil, nil, fmt.Errorf("binding %v: a scalar of this type is not possible", t)
	}
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
