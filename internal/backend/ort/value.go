//go:build cgo

package ort

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"unsafe"

	format "github.com/mlperf-go/mlperf/internal/onnx"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// A value is a tensor with its value of ONNX Runtime.
//
// Numbers are used in place: ONNX Runtime gets the address of the tensor's memory, or the tensor is over memory of ONNX Runtime, which
// lasts until the value is closed. Texts are copied in before and out after a run: ONNX Runtime keeps them in its own form.
type value struct {
	session *session // that made it, and closes it at the latest; nil: it is used once
	native  native
	tensor  tensor.Tensor
	pointer unsafe.Pointer // OrtValue
	memory  *keptMemory    // of a device, that the value is a part of; nil: it is in the processor's memory
	pinner  runtime.Pinner

	mu      sync.Mutex
	texts   []string // that ONNX Runtime's value has; nil if unknown
	closed  bool
	binding *binding // that writes to this value as its first output
}

// newValue makes a value over a tensor's memory.
func newValue(n native, t tensor.Tensor) (v *value, err error) {
	v = &value{native: n, tensor: t}
	switch {
	case t.Type == tensor.String:
		var allocator unsafe.Pointer
		if err = n.call(fnDefaultAllocator, unsafe.Pointer(&allocator), nil); err == nil {
			v.pointer, err = n.newTensor(allocator, t)
		}
	case t.Type.Size() == 0:
		return nil, fmt.Errorf("a tensor of type %v cannot be bound", t.Type)
	default:
		// ONNX Runtime keeps the address of the memory, which is pinned until the value is closed, as the rules of cgo ask.
		// The pinner ignores memory outside the Go heap.
		memory := t.Bytes()
		if len(memory) == 0 {
			memory = make([]byte, 8) // ONNX Runtime wants an address even for no elements
		}
		at := unsafe.Pointer(unsafe.SliceData(memory))
		v.pinner.Pin(at)
		if v.pointer, err = n.tensorOver(n.processor, at, t); err != nil {
			v.pinner.Unpin()
		}
	}
	if err != nil {
		return nil, fmt.Errorf("binding %v: %w", t, err)
	}
	return v, nil
}

// onnxType is the number of one of our types; the C interface numbers types as ONNX does.
func onnxType(t tensor.DType) int { return int(format.ElemTypeOf(t)) }

// Tensor returns the tensor that was bound, or that a run made.
func (v *value) Tensor() tensor.Tensor { return v.tensor }

// Close frees what ONNX Runtime holds for the value. Memory that was bound stays as it is; that of an output which a run allocated is gone.
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
	v.native.release(fnReleaseValue, v.pointer)
	v.pinner.Unpin()
}

// read copies texts in where they changed, before a run that reads the value. Several runs may read a value at once.
func (v *value) read() error {
	if err := v.inProcessorMemory(); err != nil || v.tensor.Type != tensor.String {
		return err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	texts := v.tensor.Strings()
	if v.texts != nil && slices.Equal(v.texts, texts) {
		return nil
	}
	if err := v.native.setTexts(v.pointer, texts); err != nil {
		return fmt.Errorf("copying texts: %w", err)
	}
	v.texts = append(make([]string, 0, len(texts)), texts...)
	return nil
}

// inProcessorMemory fails if the value is in memory of a device.
func (v *value) inProcessorMemory() error {
	if v.memory != nil {
		return fmt.Errorf("%v in memory of a device can only take part in a run of its own session, with values for all outputs", v.tensor)
	}
	return nil
}

// written copies texts out, after a run wrote the value.
func (v *value) written() error {
	if v.tensor.Type != tensor.String {
		return nil
	}
	v.texts = nil
	return v.native.texts(v.pointer, v.tensor.Strings())
}
