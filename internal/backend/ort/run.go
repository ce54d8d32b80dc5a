//go:build cgo

package ort

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"unsafe"

	onnx "github.com/yalue/onnxruntime_go"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// A plainRun has the arguments of one run without a binding.
type plainRun struct {
	stopper         *stopper
	inputs, outputs []onnx.Value
	values          []*value // of the outputs; nil where ONNX Runtime allocates
}

func (s *session) runPlain(ctx context.Context, inputs, outputs []backend.Value) error {
	r, err := s.takeRun()
	if err != nil {
		return err
	}
	defer s.putRun(r)
	if err := r.stopper.watch(ctx); err != nil {
		return err
	}
	if err := s.runWith(r, inputs, outputs); err != nil {
		for i, given := range outputs { // free what was allocated
			switch {
			case given != nil:
			case r.values[i] != nil:
				r.values[i].free()
			default:
				destroyOutput(r.outputs[i])
			}
		}
		return err
	}
	return nil
}

func (s *session) runWith(r *plainRun, inputs, outputs []backend.Value) error {
	for i, given := range inputs {
		v, err := own(given, &s.inputs[i], "input")
		if err != nil {
			return err
		}
		h, err := v.read()
		if err != nil {
			return err
		}
		r.inputs[i] = h
	}
	for i, given := range outputs {
		var v *value
		var err error
		if given == nil {
			v, err = s.preallocate(i, inputs)
		} else if v, err = own(given, &s.outputs[i], "output"); err == nil {
			err = v.inProcessorMemory()
		}
		if err != nil {
			return err
		}
		if v != nil {
			r.values[i], r.outputs[i] = v, v.handle
		}
	}
	var err error
	run := func() { err = s.inner.RunWithOptions(r.inputs, r.outputs, r.stopper.options) }
	if s.guarded.Load() > 0 {
		s.guarded.Add(-1)
		keepSignals(run)
	} else {
		run()
	}
	if err != nil {
		return errors.New(readable(err.Error()))
	}
	for i, v := range r.values {
		if v == nil {
			r.values[i], err = wrapOutput(r.outputs[i])
		} else {
			err = v.written()
		}
		if err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, v := range r.values {
		if outputs[i] == nil {
			s.adopt(v)
			outputs[i] = v
		}
	}
	return nil
}

// takeRun returns arguments that no other run uses.
func (s *session) takeRun() (*plainRun, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed.Load() {
		return nil, errClosed
	}
	if n := len(s.idle); n > 0 {
		r := s.idle[n-1]
		s.idle = s.idle[:n-1]
		return r, nil
	}
	stopper, err := newStopper(s.engine.native, s.runConfig)
	if err != nil {
		return nil, err
	}
	return &plainRun{
		stopper: stopper, inputs: make([]onnx.Value, len(s.inputs)),
		outputs: make([]onnx.Value, len(s.outputs)), values: make([]*value, len(s.outputs)),
	}, nil
}

func (s *session) putRun(r *plainRun) {
	clear(r.inputs)
	clear(r.outputs)
	clear(r.values)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.idle = append(s.idle, r)
}

// preallocate makes the value of an output that the binding cannot allocate: a scalar, or 16-bit floating point, of which it would
// copy only half the bytes. The shape must follow from the model and the inputs. nil: the binding allocates the output.
func (s *session) preallocate(i int, inputs []backend.Value) (*value, error) {
	port := &s.outputs[i]
	half := port.Type == tensor.Float16 || port.Type == tensor.BFloat16
	if !half && (port.AnyShape || len(port.Shape) > 0 || port.Type == tensor.String) {
		return nil, nil
	}
	extents := map[string]int64{} // of axes by name
	for i, in := range s.inputs {
		for k, axis := range in.axes {
			if axis != "" {
				extents[axis] = inputs[i].Tensor().Shape[k]
			}
		}
	}
	shape := slices.Clone(port.Shape)
	for k, d := range shape {
		if extent, known := extents[port.axes[k]]; d < 0 && known {
			shape[k] = extent
		}
	}
	if port.AnyShape || shape.Len() < 0 {
		return nil, fmt.Errorf("output %s: the shape of %v%v is not known before the run, so a value must be given for it",
			port.Name, port.Type, port.Shape)
	}
	return newValue(tensor.New(port.Type, shape...))
}

// destroyOutput frees what the binding allocated for an output, if anything. Where the binding fails to convert an output, it leaves
// a nil pointer of a concrete type, whose Destroy would crash.
func destroyOutput(v onnx.Value) {
	if v != nil && !reflect.ValueOf(v).IsNil() {
		v.Destroy()
	}
}

// wrapOutput makes a value of what the binding allocated.
func wrapOutput(inner onnx.Value) (*value, error) {
	shape := tensor.Shape(inner.GetShape())
	v := &value{handle: newHandle(inner)}
	switch t := inner.(type) {
	case *onnx.StringTensor:
		c := &stringCopier{inner: t, handle: v.handle}
		v.copied = c
		v.tensor = tensor.OfStrings(make([]string, shape.Len()), shape...)
		return v, c.out(v.tensor)
	case *onnx.Tensor[bool]:
		memory := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(t.GetData()))), len(t.GetData()))
		var err error
		if v.tensor, err = tensor.FromBytes(tensor.Bool, memory, shape...); err != nil {
			return nil, err
		}
	case *onnx.Tensor[float32]:
		v.tensor = tensor.Of(t.GetData(), shape...)
	case *onnx.Tensor[float64]:
		v.tensor = tensor.Of(t.GetData(), shape...)
	case *onnx.Tensor[int8]:
		v.tensor = tensor.Of(t.GetData(), shape...)
	case *onnx.Tensor[int16]:
		v.tensor = tensor.Of(t.GetData(), shape...)
	case *onnx.Tensor[int32]:
		v.tensor = tensor.Of(t.GetData(), shape...)
	case *onnx.Tensor[int64]:
		v.tensor = tensor.Of(t.GetData(), shape...)
	case *onnx.Tensor[uint8]:
		v.tensor = tensor.Of(t.GetData(), shape...)
	case *onnx.Tensor[uint16]:
		v.tensor = tensor.Of(t.GetData(), shape...)
	case *onnx.Tensor[uint32]:
		v.tensor = tensor.Of(t.GetData(), shape...)
	case *onnx.Tensor[uint64]:
		v.tensor = tensor.Of(t.GetData(), shape...)
	default:
		return nil, fmt.Errorf("an output of the kind %T is not supported", inner)
	}
	if memory := v.tensor.Bytes(); len(memory) > 0 {
		v.pinner.Pin(unsafe.SliceData(memory))
	}
	return v, nil
}
