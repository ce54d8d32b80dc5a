//go:build cgo

package ort

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	onnx "github.com/yalue/onnxruntime_go"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// A session is an opened model.
type session struct {
	engine          *Engine
	path            string // of the model
	inner           *onnx.DynamicAdvancedSession
	pointer         unsafe.Pointer // inner, as ONNX Runtime knows it
	inputs, outputs []modelPort
	info            backend.Info
	bindable        bool // runs may go through bindings
	turn            turn // that a run takes
	runConfig       map[string]string
	memory          *deviceMemory // for buffers of runs; nil: the values' own memory is used

	guarded atomic.Int32 // runs that are still watched for replaced signal handlers
	closed  atomic.Bool

	mu       sync.Mutex // guards what follows
	values   map[*value]struct{}
	bindings map[*binding]struct{}
	kept     map[*keptMemory]struct{}
	idle     []*plainRun // room for runs without a binding
}

var errClosed = errors.New("the session is closed")

// Info describes the model and where it runs.
func (s *session) Info() backend.Info { return s.info }

// Bind makes a value over t's memory. If it is not closed, closing the session does it.
// The memory must not be freed before.
func (s *session) Bind(t tensor.Tensor) (backend.Value, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed.Load() {
		return nil, fmt.Errorf("binding %v: %w", t, errClosed)
	}
	v, err := newValue(t)
	if err != nil {
		return nil, err
	}
	s.adopt(v)
	return v, nil
}

// adopt makes the session the owner of a value. Callers hold the lock.
func (s *session) adopt(v *value) {
	v.session = s
	s.values[v] = struct{}{}
}

// forget ends the ownership of a value that is being closed.
func (s *session) forget(v *value) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.values, v)
}

// Close frees the session, and all values that it made.
func (s *session) Close() error {
	bindings, values, idle := s.shut()
	if bindings == nil {
		return nil // closed before
	}
	for b := range bindings {
		b.destroy()
	}
	for _, r := range idle {
		r.stopper.close()
	}
	for v := range values {
		v.leave()
		v.free()
	}
	for m := range s.kept {
		m.free()
	}
	if s.memory != nil {
		s.memory.close(s.engine.native)
	}
	err := s.destroy()
	s.engine.forget(s)
	if err != nil {
		return fmt.Errorf("closing model %s: %s", s.path, readable(err.Error()))
	}
	return nil
}

// destroy frees the model; on a device that does one thing at a time, when it has its turn.
func (s *session) destroy() error {
	if err := s.turn.take(context.Background()); err != nil {
		return err
	}
	defer s.turn.leave()
	return s.inner.Destroy()
}

func (s *session) shut() (map[*binding]struct{}, map[*value]struct{}, []*plainRun) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed.Store(true)
	bindings, values, idle := s.bindings, s.values, s.idle
	s.bindings, s.values, s.idle = nil, nil, nil
	return bindings, values, idle
}

// Run computes the outputs. With values for all outputs, on the processor, it allocates nothing.
func (s *session) Run(ctx context.Context, inputs, outputs []backend.Value) error {
	if len(inputs) != len(s.inputs) || len(outputs) != len(s.outputs) {
		return fmt.Errorf("running the model: got %d inputs and %d outputs, it has %d and %d",
			len(inputs), len(outputs), len(s.inputs), len(s.outputs))
	}
	if err := s.turn.take(ctx); err != nil {
		return fmt.Errorf("running the model: %w", err)
	}
	defer s.turn.leave()
	if s.closed.Load() { // what its bindings lead to is gone
		return fmt.Errorf("running the model: %w", errClosed)
	}
	err := s.run(ctx, inputs, outputs)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		err = context.Cause(ctx) // ONNX Runtime only says that it was told to end
	}
	return fmt.Errorf("running the model: %w", err)
}

// run chooses the quickest way that there is for what is given.
func (s *session) run(ctx context.Context, inputs, outputs []backend.Value) error {
	given := !slices.Contains(outputs, nil)
	switch {
	case s.memory != nil && given:
		return s.runOnDevice(ctx, inputs, outputs)
	case s.bindable && given:
		return s.runBound(ctx, inputs, outputs)
	case len(inputs) == 0:
		return errors.New("a model without inputs can only run on the processor, with values for all outputs")
	}
	return s.runPlain(ctx, inputs, outputs)
}

// own returns a value as one of ours that fits a port. What only the run can tell, the extents of
// an output's free axes, is checked by ONNX Runtime.
func own(v backend.Value, port *modelPort, role string) (*value, error) {
	mine, ok := v.(*value)
	if !ok || mine == nil {
		return nil, fmt.Errorf("%s %s: the value was not bound by this engine", role, port.Name)
	}
	if mine.closed {
		return nil, fmt.Errorf("%s %s: the value is closed", role, port.Name)
	}
	if mine.memory != nil && mine.memory.whole == nil {
		return nil, fmt.Errorf("%s %s: %w", role, port.Name, errMemoryClosed)
	}
	if mine.tensor.Type != port.Type || !port.AnyShape && !fits(mine.tensor.Shape, port.Shape) {
		return nil, fmt.Errorf("%s %s: got %v, the model has %v%v", role, port.Name, mine.tensor, port.Type, port.Shape)
	}
	return mine, nil
}

func fits(shape, declared tensor.Shape) bool {
	if len(shape) != len(declared) {
		return false
	}
	for i, d := range declared {
		if d >= 0 && d != shape[i] {
			return false
		}
	}
	return true
}
