//go:build cgo

package ort

import (
	"bytes"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"unsafe"

	onnx "github.com/yalue/onnxruntime_go"

	format "github.com/mlperf-go/mlperf/internal/onnx"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// A value is a tensor with its value of ONNX Runtime.
//
// Numbers are used in place: ONNX Runtime gets the address of the tensor's memory. Strings and scalars are copied in before and out
// after a run: ONNX Runtime keeps strings in its own form, and the binding gives scalars memory of their own.
type value struct {
	session *session // that made it, and closes it at the latest
	tensor  tensor.Tensor
	handle  *handle
	kept    unsafe.Pointer // OrtValue in memory of a device; then there is no handle
	memory  *keptMemory    // that kept is a part of
	pinner  runtime.Pinner

	copied  copier // nil if the memory is used in place
	mu      sync.Mutex
	closed  bool
	binding *binding // that writes to this value as its first output
}

// A handle is a value of the binding. It keeps the result of GetInternals: the binding allocates it anew in each call, and calls it in
// every run.
type handle struct {
	onnx.Value
	internals *onnx.ValueInternalData
	pointer   unsafe.Pointer // OrtValue
}

func newHandle(v onnx.Value) *handle {
	internals := v.GetInternals()
	return &handle{Value: v, internals: internals, pointer: inside(internals, "ortValue")}
}

// GetInternals implements onnx.Value.
func (h *handle) GetInternals() *onnx.ValueInternalData { return h.internals }

// A copier keeps a value of ONNX Runtime equal to a tensor that it does not share memory with.
type copier interface {
	in(t tensor.Tensor) (*handle, error) // before a run that reads it; returns the handle to use
	out(t tensor.Tensor) error           // after a run that wrote it
}

// newValue makes a value over a tensor's memory.
func newValue(t tensor.Tensor) (*value, error) {
	v := &value{tensor: t}
	var err error
	switch {
	case t.Type == tensor.String:
		v.copied, v.handle, err = newStrings(t)
	case t.Type.Size() == 0:
		err = fmt.Errorf("a tensor of type %v cannot be bound", t.Type)
	case len(t.Shape) == 0:
		v.copied, v.handle, err = newScalar(t)
	default:
		// ONNX Runtime keeps the address of the memory, which is pinned until the value is closed, as the rules of cgo ask.
		// The pinner ignores memory outside the Go heap.
		memory := t.Bytes()
		if len(memory) == 0 {
			memory = make([]byte, 8) // the binding wants an address even for no elements
		}
		v.pinner.Pin(unsafe.SliceData(memory))
		var inner *onnx.CustomDataTensor
		if inner, err = onnx.NewCustomDataTensor(onnx.Shape(t.Shape), memory, onnxType(t.Type)); err != nil {
			v.pinner.Unpin()
			return nil, fmt.Errorf("binding %v: %s", t, readable(err.Error()))
		}
		v.handle = newHandle(inner)
	}
	if err != nil {
		return nil, err
	}
	return v, nil
}

// onnxType is the number of one of our types; the C interface numbers types as ONNX does.
func onnxType(t tensor.DType) onnx.TensorElementDataType {
	return onnx.TensorElementDataType(format.ElemTypeOf(t))
}

// Tensor returns the tensor that was bound, or that a run made.
func (v *value) Tensor() tensor.Tensor { return v.tensor }

// Close frees what ONNX Runtime holds for the value. The tensor's memory stays as it is.
func (v *value) Close() error {
	if s := v.session; s != nil {
		s.mu.Lock()
		delete(s.values, v)
		s.mu.Unlock()
	}
	v.leave()
	v.free()
	return nil
}

// leave closes the binding that writes to the value, which may be of another session than the value.
func (v *value) leave() {
	if v.binding != nil {
		v.binding.close()
		v.binding = nil
	}
}

func (v *value) free() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.closed {
		return
	}
	v.closed = true
	if v.kept != nil {
		v.session.engine.native.release(fnReleaseValue, v.kept)
		return
	}
	v.handle.Destroy()
	v.pinner.Unpin()
}

// read copies the tensor in where that is needed, and returns the handle for a run. Several runs may read a value at once.
func (v *value) read() (*handle, error) {
	if err := v.inProcessorMemory(); err != nil {
		return nil, err
	}
	if v.copied == nil {
		return v.handle, nil
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	h, err := v.copied.in(v.tensor)
	if err != nil {
		return nil, err
	}
	v.handle = h
	return h, nil
}

// inProcessorMemory fails if the value is in memory of a device.
func (v *value) inProcessorMemory() error {
	if v.kept != nil {
		return fmt.Errorf("%v in memory of a device can only take part in a run of its own session, with values for all outputs", v.tensor)
	}
	return nil
}

// written copies the tensor out where that is needed, after a run wrote the value.
func (v *value) written() error {
	if v.copied == nil {
		return nil
	}
	return v.copied.out(v.tensor)
}

// A stringCopier keeps a string tensor of ONNX Runtime.
type stringCopier struct {
	inner  *onnx.StringTensor
	handle *handle
	filled []string // what inner holds, nil if unknown
}

func newStrings(t tensor.Tensor) (copier, *handle, error) {
	shape := onnx.Shape(t.Shape)
	if len(shape) == 0 {
		return nil, nil, fmt.Errorf("binding %v: a scalar of strings is not possible", t)
	}
	inner, err := onnx.NewStringTensor(shape)
	if err != nil {
		return nil, nil, fmt.Errorf("binding %v: %s", t, readable(err.Error()))
	}
	c := &stringCopier{inner: inner, handle: newHandle(inner)}
	if _, err := c.in(t); err != nil {
		inner.Destroy()
		return nil, nil, err
	}
	return c, c.handle, nil
}

func (c *stringCopier) in(t tensor.Tensor) (*handle, error) {
	if c.filled != nil && slices.Equal(c.filled, t.Strings()) {
		return c.handle, nil
	}
	if err := c.inner.SetContents(t.Strings()); err != nil {
		return nil, fmt.Errorf("copying strings: %s", readable(err.Error()))
	}
	c.filled = append(make([]string, 0, t.Len()), t.Strings()...)
	return c.handle, nil
}

func (c *stringCopier) out(t tensor.Tensor) error {
	texts, err := c.inner.GetContents()
	if err != nil {
		return fmt.Errorf("copying strings: %s", readable(err.Error()))
	}
	c.filled = nil
	copy(t.Strings(), texts)
	return nil
}

// A scalarCopier keeps a scalar of ONNX Runtime. The binding cannot make one over given memory or change one: another number needs
// another scalar. So a scalar input that changes costs a few allocations, and one that does not, as is usual, none.
type scalarCopier[T onnx.TensorData] struct {
	inner  *onnx.Scalar[T]
	handle *handle
	bound  []byte // what inner was made from, nil if a run wrote to it
}

// newScalar makes the scalar of a tensor without axes.
func newScalar(t tensor.Tensor) (copier, *handle, error) {
	makers := map[tensor.DType]copier{
		tensor.Float32: &scalarCopier[float32]{}, tensor.Float64: &scalarCopier[float64]{}, tensor.Bool: &scalarCopier[bool]{},
		tensor.Int8: &scalarCopier[int8]{}, tensor.Int16: &scalarCopier[int16]{}, tensor.Int32: &scalarCopier[int32]{}, tensor.Int64: &scalarCopier[int64]{},
		tensor.Uint8: &scalarCopier[uint8]{}, tensor.Uint16: &scalarCopier[uint16]{}, tensor.Uint32: &scalarCopier[uint32]{}, tensor.Uint64: &scalarCopier[uint64]{},
	}
	c := makers[t.Type]
	if c == nil {
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
