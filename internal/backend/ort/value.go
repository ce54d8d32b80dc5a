//go:build cgo

package ort

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"unsafe"

	onnx "github.com/yalue/onnxruntime_go"

	format "github.com/mlperf-go/mlperf/internal/onnx"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// A value is a tensor and what ONNX Runtime knows it by.
//
// Numbers are used in place: ONNX Runtime gets the address of the tensor's memory. Strings and
// scalars are copied in before and out after a run, because ONNX Runtime keeps strings in its own
// form, and the binding gives scalars memory of their own.
type value struct {
	session *session // that made it, and closes it if nobody else does
	tensor  tensor.Tensor
	handle  *handle
	kept    unsafe.Pointer // the value as ONNX Runtime knows it, in memory of a device: there is no handle then
	memory  *keptMemory    // that kept is a part of
	pinner  runtime.Pinner

	copied  copier // nil if the memory is used in place
	mu      sync.Mutex
	closed  bool
	binding *binding // that writes to this value as its first output
}

// A handle is a value of the binding. It keeps the result of GetInternals, for which the binding
// allocates each time it is asked, and it is asked in every run.
type handle struct {
	onnx.Value
	internals *onnx.ValueInternalData
	pointer   unsafe.Pointer // the value as ONNX Runtime knows it
}

func newHandle(v onnx.Value) *handle {
	internals := v.GetInternals()
	return &handle{Value: v, internals: internals, pointer: inside(internals, "ortValue")}
}

// GetInternals returns what the binding's functions need.
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
		err = v.share()
	}
	if err != nil {
		return nil, err
	}
	return v, nil
}

// share hands the tensor's memory to ONNX Runtime, which keeps its address. So it is pinned, as the
// rules of cgo ask, until the value is closed. Memory outside the Go heap needs no pin, and
// the pinner ignores it.
func (v *value) share() error {
	memory := v.tensor.Bytes()
	if len(memory) == 0 {
		memory = make([]byte, 8) // the binding wants an address even for no elements
	}
	v.pinner.Pin(unsafe.SliceData(memory))
	inner, err := onnx.NewCustomDataTensor(onnx.Shape(v.tensor.Shape), memory, onnxType(v.tensor.Type))
	if err != nil {
		v.pinner.Unpin()
		return fmt.Errorf("binding %v: %s", v.tensor, readable(err.Error()))
	}
	v.handle = newHandle(inner)
	return nil
}

// onnxType is the number of one of our types; the C interface numbers types as ONNX does.
func onnxType(t tensor.DType) onnx.TensorElementDataType {
	return onnx.TensorElementDataType(format.ElemTypeOf(t))
}

// Tensor returns the tensor that was bound, or that a run made.
func (v *value) Tensor() tensor.Tensor { return v.tensor }

// Close frees what ONNX Runtime holds for the value. The tensor's memory stays as it is.
func (v *value) Close() error {
	if v.session != nil {
		v.session.forget(v)
	}
	v.leave()
	v.free()
	return nil
}

// leave gives up the binding that the value leads, which may be of another session than the one
// that made the value.
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

// read brings what a run will read up to date, and returns the handle for it. Several runs
// may read the same value at once.
func (v *value) read() (*handle, error) {
	if err := v.plain(); err != nil {
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

// plain returns an error if the value is in memory of a device.
func (v *value) plain() error {
	if v.kept != nil {
		return fmt.Errorf("%v in memory of a device can only take part in a run of its own session, with values for all outputs", v.tensor)
	}
	return nil
}

// written brings the tensor up to date after a run wrote the value.
func (v *value) written() error {
	if v.copied == nil {
		return nil
	}
	return v.copied.out(v.tensor)
}

// stringCopier keeps a string tensor of ONNX Runtime.
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
