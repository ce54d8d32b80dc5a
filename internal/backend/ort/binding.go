//go:build cgo

package ort

import (
	"context"
	"errors"
	"sync"
	"unsafe"

	onnx "github.com/yalue/onnxruntime_go"

	"github.com/mlperf-go/mlperf/internal/backend"
)

// A binding connects values with the ports of a session for many runs: ONNX Runtime calls it IoBinding. A run with one costs less than a
// plain run, and allocates nothing.
//
// Each set of outputs has its own binding, kept by the first output: two runs at once do not share an output. Inputs that change from run
// to run, as the tensor of a sample does, are bound anew, which allocates nothing in Go either.
//
// Sessions that run on the processor alone use bindings with the values' own memory. On another device binding an input copies it there, so
// that new contents of the memory would be ignored: those sessions have buffers (devicememory.go).
type binding struct {
	session         *session
	inner           *onnx.IoBinding
	pointer         unsafe.Pointer // OrtIoBinding
	stopper         *stopper
	once            sync.Once // destroys
	inputs, outputs []*value
	device          *deviceBinding // buffers in the device's memory; nil: none
}

func (s *session) runBound(ctx context.Context, inputs, outputs []backend.Value) error {
	b, err := s.bindingOf(outputs)
	if err != nil {
		return err
	}
	if err := b.bind(inputs, outputs); err != nil {
		return err
	}
	if err := b.stopper.watch(ctx); err != nil {
		return err
	}
	if err := s.engine.native.runBound(s.pointer, b.stopper.pointer, b.pointer); err != nil {
		return err
	}
	for _, given := range outputs {
		if err := given.(*value).written(); err != nil {
			return err
		}
	}
	return nil
}

// bindingOf returns the binding of a set of outputs, which is made for the first run.
func (s *session) bindingOf(outputs []backend.Value) (*binding, error) {
	lead, err := own(outputs[0], &s.outputs[0], "output")
	if err != nil {
		return nil, err
	}
	if b := lead.binding; b != nil && b.session == s {
		return b, nil
	}
	lead.leave()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed.Load() {
		return nil, errClosed
	}
	inner, err := s.inner.CreateIoBinding()
	if err != nil {
		return nil, errors.New(readable(err.Error()))
	}
	stopper, err := newStopper(s.engine.native, s.runConfig)
	if err != nil {
		inner.Destroy()
		return nil, err
	}
	b := &binding{
		session: s, inner: inner, pointer: bindingPointer(inner), stopper: stopper,
		inputs: make([]*value, len(s.inputs)), outputs: make([]*value, len(s.outputs)),
	}
	s.bindings[b] = struct{}{}
	lead.binding = b
	return b, nil
}

// bind connects the values that are not connected yet.
func (b *binding) bind(inputs, outputs []backend.Value) error {
	for i, given := range inputs {
		port := &b.session.inputs[i]
		v, err := own(given, port, "input")
		if err == nil {
			err = v.read()
		}
		if err == nil {
			err = b.connect(&b.inputs[i], fnBindInput, port, v)
		}
		if err != nil {
			return err
		}
	}
	for i, given := range outputs {
		port := &b.session.outputs[i]
		v, err := own(given, port, "output")
		if err == nil {
			err = v.inProcessorMemory()
		}
		if err == nil {
			err = b.connect(&b.outputs[i], fnBindOutput, port, v)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// connect binds a value to a port, unless it is bound already. If that fails, nothing counts as bound.
func (b *binding) connect(bound **value, function int, port *backend.Port, v *value) error {
	if v == *bound {
		return nil
	}
	*bound = nil
	if err := v.native.bindValue(function, b.pointer, port.Name, v.pointer); err != nil {
		return err
	}
	*bound = v
	return nil
}

// close destroys the binding, also for its session.
func (b *binding) close() {
	b.session.mu.Lock()
	delete(b.session.bindings, b)
	b.session.mu.Unlock()
	b.destroy()
}

func (b *binding) destroy() {
	b.once.Do(func() {
		b.stopper.close()
		b.inner.Destroy()
		if b.device != nil {
			b.device.close()
		}
	})
}
