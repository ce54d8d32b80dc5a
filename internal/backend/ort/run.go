//go:build cgo

package ort

import (
	"context"
	"unsafe"

	"github.com/mlperf-go/mlperf/internal/backend"
)

// A plainRun has the arguments of one run without a binding.
type plainRun struct {
	stopper         *stopper
	inputs, outputs []unsafe.Pointer // OrtValue; an output that is nil is allocated by ONNX Runtime
}

// runPlain runs without a binding. ONNX Runtime allocates the outputs that are nil, in memory that it keeps for the next run.
func (s *session) runPlain(ctx context.Context, inputs, outputs []backend.Value) error {
	r, err := s.takeRun()
	if err != nil {
		return err
	}
	defer s.putRun(r)
	if err := r.stopper.watch(ctx); err != nil {
		return err
	}
	for i, given := range inputs {
		v, err := own(given, &s.inputs[i], "input")
		if err == nil {
			err = v.read()
		}
		if err != nil {
			return err
		}
		r.inputs[i] = v.pointer
	}
	for i, given := range outputs {
		if given == nil {
			continue
		}
		v, err := own(given, &s.outputs[i], "output")
		if err == nil {
			err = v.inProcessorMemory()
		}
		if err != nil {
			return err
		}
		r.outputs[i] = v.pointer
	}
	run := func() {
		err = s.engine.native.run(s.pointer, r.stopper.pointer, s.inputNames, r.inputs, s.outputNames, r.outputs)
	}
	if s.guarded.Load() > 0 {
		s.guarded.Add(-1)
		keepSignals(run)
	} else {
		run()
	}
	made, err := s.wrap(r, outputs, err)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, v := range made {
		if v != nil {
			s.adopt(v)
			outputs[i] = v
		}
	}
	return nil
}

// wrap makes values of what ONNX Runtime allocated, and copies out what it wrote to others. After an error, also one of the
// run, it frees them.
func (s *session) wrap(r *plainRun, outputs []backend.Value, err error) ([]*value, error) {
	n := s.engine.native
	made := make([]*value, len(outputs))
	for i, given := range outputs {
		switch {
		case given == nil && r.outputs[i] != nil:
			made[i] = &value{native: n, pointer: r.outputs[i]}
			if err == nil {
				made[i].tensor, err = n.tensorOf(r.outputs[i])
			}
		case given != nil && err == nil:
			err = given.(*value).written()
		}
	}
	if err != nil {
		for _, v := range made {
			if v != nil {
				v.free()
			}
		}
	}
	return made, err
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
	return &plainRun{stopper, make([]unsafe.Pointer, len(s.inputs)), make([]unsafe.Pointer, len(s.outputs))}, nil
}

func (s *session) putRun(r *plainRun) {
	clear(r.inputs)
	clear(r.outputs)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.idle = append(s.idle, r)
}
