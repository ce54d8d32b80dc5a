//go:build cgo

package ort

import (
	"context"
	"errors"

	onnx "github.com/yalue/onnxruntime_go"

	"github.com/mlperf-go/mlperf/internal/backend"
)

// A plainRun is room for the arguments of one run without a binding.
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
	err = s.gather(r, inputs, outputs)
	if err == nil {
		if err = s.call(r); err != nil {
			err = errors.New(readable(err.Error()))
		}
	}
	if err == nil {
		err = s.deliver(r, outputs)
	}
	if err != nil {
		s.abandon(r, outputs)
	}
	return err
}

// takeRun returns room for a run that nobody else uses.
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

// gather collects the arguments of a run.
func (s *session) gather(r *plainRun, inputs, outputs []backend.Value) error {
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
		v, err := s.outputOf(i, given, inputs)
		if err != nil {
			return err
		}
		if v != nil {
			r.values[i], r.outputs[i] = v, v.handle
		}
	}
	return nil
}

// outputOf is the value that an output is written to; nil: ONNX Runtime makes one.
func (s *session) outputOf(i int, given backend.Value, inputs []backend.Value) (*value, error) {
	if given == nil {
		return s.preallocate(i, inputs)
	}
	v, err := own(given, &s.outputs[i], "output")
	if err == nil {
		err = v.plain()
	}
	return v, err
}

func (s *session) call(r *plainRun) (err error) {
	if s.guarded.Load() > 0 {
		s.guarded.Add(-1)
		keepSignals(func() { err = s.inner.RunWithOptions(r.inputs, r.outputs, r.stopper.options) })
		return err
	}
	return s.inner.RunWithOptions(r.inputs, r.outputs, r.stopper.options)
}

// abandon frees what was allocated for a run that failed.
func (s *session) abandon(r *plainRun, outputs []backend.Value) {
	for i, given := range outputs {
		switch {
		case given != nil:
		case r.values[i] != nil:
			r.values[i].free()
		default:
			destroyOutput(r.outputs[i])
		}
	}
}

// deliver hands the outputs to the caller.
func (s *session) deliver(r *plainRun, outputs []backend.Value) error {
	for i, v := range r.values {
		var err error
		if v == nil {
			v, err = wrapOutput(r.outputs[i])
			r.values[i] = v
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
