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
	"github.com/mlperf-go/mlperf/internal/machine/priority"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// A session is an opened model.
type session struct {
	engine                  *Engine
	path                    string // of the model
	inner                   *onnx.DynamicAdvancedSession
	pointer                 unsafe.Pointer // inner, as ONNX Runtime knows it
	inputs, outputs         []backend.Port
	inputNames, outputNames portNames
	info                    backend.Info
	bindable                bool // runs may use bindings
	turn                    turn // of runs
	runConfig               map[string]string
	memory                  *deviceMemory // of the buffers of runs; nil: runs use the values' own memory

	guarded atomic.Int32 // runs that are still guarded against replaced signal handlers
	closed  atomic.Bool

	mu       sync.Mutex // guards what follows
	values   map[*value]struct{}
	bindings map[*binding]struct{}
	kept     map[*keptMemory]struct{}
	idle     []*plainRun // arguments of runs without a binding, to use again
}

var errClosed = errors.New("the session is closed")

// guardedRuns is the number of runs on a device other than the processor that are guarded against replaced signal handlers:
// CUDA's libraries set themselves up piece by piece in the first ones.
const guardedRuns = 32

// Info describes the model and where it runs.
func (s *session) Info() backend.Info { return s.info }

// Bind makes a value over t's memory, which must not be freed before the value or the session is closed.
func (s *session) Bind(t tensor.Tensor) (backend.Value, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed.Load() {
		return nil, fmt.Errorf("binding %v: %w", t, errClosed)
	}
	v, err := newValue(s.engine.native, t)
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

// Close frees the session, and all values that it made.
func (s *session) Close() error {
	s.mu.Lock()
	if s.closed.Swap(true) {
		s.mu.Unlock()
		return nil
	}
	bindings, values, idle := s.bindings, s.values, s.idle
	s.bindings, s.values, s.idle = nil, nil, nil
	s.mu.Unlock()
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
	s.inputNames.free()
	s.outputNames.free()
	err := s.turn.take(context.Background())
	if err == nil {
		keepSignals(func() { err = s.inner.Destroy() })
		s.turn.leave()
	}
	s.engine.mu.Lock()
	delete(s.engine.sessions, s)
	s.engine.mu.Unlock()
	if err != nil {
		return fmt.Errorf("closing model %s: %s", s.path, readable(err.Error()))
	}
	return nil
}

// threadName is the name of threads while they compute, and of those that ONNX Runtime starts.
const threadName = "onnxruntime"

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
	if s.closed.Load() { // its bindings are gone
		return fmt.Errorf("running the model: %w", errClosed)
	}
	computing := priority.Compute(threadName)
	defer computing.End()
	given := !slices.Contains(outputs, nil)
	var err error
	switch {
	case s.memory != nil && given:
		err = s.runOnDevice(ctx, inputs, outputs)
	case s.bindable && given:
		err = s.runBound(ctx, inputs, outputs)
	default:
		err = s.runPlain(ctx, inputs, outputs)
	}
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx) // ONNX Runtime only says that it was told to end
	}
	if err != nil {
		return fmt.Errorf("running the model: %w", err)
	}
	return nil
}

// own returns a value of this engine that fits a port. ONNX Runtime checks the extents of an output's free axes.
func own(v backend.Value, port *backend.Port, role string) (*value, error) {
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
	if !port.Fits(mine.tensor.Type, mine.tensor.Shape) {
		return nil, fmt.Errorf("%s %s: got %v, the model has %v%v", role, port.Name, mine.tensor, port.Type, port.Shape)
	}
	return mine, nil
}
