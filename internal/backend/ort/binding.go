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

// A binding connects values with the ports of a session for many runs: ONNX Runtime calls it
// IoBinding. A run through one costs less than a plain run, and the binding needs no
// allocation for it.
//
// Every set of outputs has its own binding, kept by the first output. Since two runs at once must
// not share an output, nobody else uses it meanwhile. Inputs that change from run to run,
// such as a sample's own tensor, are bound anew, which allocates nothing in Go either.
//
// Only sessions that run on the processor alone use bindings: on other devices binding an
// input copies it there, and new contents of the same memory would go unseen.
type binding struct {
	session         *session
	inner           *onnx.IoBinding
	pointer         unsafe.Pointer // inner, as ONNX Runtime knows it
	stopper         *stopper
	once            sync.Once // destroys
	inputs, outputs []*handle
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

// bindingOf returns the binding of a set of outputs.
func (s *session) bindingOf(outputs []backend.Value) (*binding, error) {
	lead, err := own(outputs[0], &s.outputs[0], "output")
	if err != nil {
		return nil, err
	}
	if b := lead.binding; b != nil && b.session == s {
		return b, nil
	}
	return s.newBinding(lead)
}

func (s *session) newBinding(lead *value) (*binding, error) {
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
		inputs: make([]*handle, len(s.inputs)), outputs: make([]*handle, len(s.outputs)),
	}
	s.bindings[b] = struct{}{}
	lead.binding = b
	return b, nil
}

// bind connects what is not connected yet.
func (b *binding) bind(inputs, outputs []backend.Value) error {
	for i, given := range inputs {
		if err := b.bindInput(i, given); err != nil {
			return err
		}
	}
	for i, given := range outputs {
		if err := b.bindOutput(i, given); err != nil {
			return err
		}
	}
	return nil
}

func (b *binding) bindInput(i int, given backend.Value) error {
	port := &b.session.inputs[i]
	v, err := own(given, port, "input")
	if err != nil {
		return err
	}
	h, err := v.read()
	if err != nil {
		return err
	}
	return connect(&b.inputs[i], h, port.Name, b.inner.BindInput)
}

func (b *binding) bindOutput(i int, given backend.Value) error {
	port := &b.session.outputs[i]
	v, err := own(given, port, "output")
	if err == nil {
		err = v.plain()
	}
	if err != nil {
		return err
	}
	return connect(&b.outputs[i], v.handle, port.Name, b.inner.BindOutput)
}

// connect binds a handle to a port, unless it is bound already. If that fails nothing counts as bound.
func connect(bound **handle, h *handle, port string, bind func(string, onnx.Value) error) error {
	if h == *bound {
		return nil
	}
	*bound = nil
	if err := bind(port, h); err != nil {
		return errors.New(readable(err.Error()))
	}
	*bound = h
	return nil
}

// close destroys the binding and takes it out of its session's books.
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
