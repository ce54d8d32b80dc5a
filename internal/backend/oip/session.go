package oip

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/backend/oip/client"
	"github.com/mlperf-go/mlperf/internal/backend/oip/protocol"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

type session struct {
	engine *Engine
	model  *remoteModel
	info   backend.Info
	wanted []string // outputs
	closed atomic.Bool
}

func (s *session) Info() backend.Info { return s.info }

func (s *session) Bind(t tensor.Tensor) (backend.Value, error) {
	if s.closed.Load() {
		return nil, fmt.Errorf("binding %v: the session is closed", t)
	}
	return backend.NewView(t)
}

func (s *session) Close() error {
	s.closed.Store(true)
	return nil
}

// Run implements backend.Session: it is one request.
func (s *session) Run(ctx context.Context, inputs, outputs []backend.Value) error {
	if err := s.run(ctx, inputs, outputs); err != nil {
		return fmt.Errorf("running the model: %w", err)
	}
	return nil
}

func (s *session) run(ctx context.Context, inputs, outputs []backend.Value) error {
	if s.closed.Load() {
		return errors.New("the session is closed")
	}
	if len(inputs) != len(s.info.Inputs) || len(outputs) != len(s.info.Outputs) {
		return fmt.Errorf("got %d inputs and %d outputs, it has %d and %d", len(inputs), len(outputs), len(s.info.Inputs), len(s.info.Outputs))
	}
	r := &client.Request{Model: s.model.name, Version: s.engine.config.Version, Wanted: s.wanted}
	for i, in := range inputs {
		t, err := backend.Viewed(in, s.info.Inputs[i], "input")
		if err != nil {
			return err
		}
		r.Tensors = append(r.Tensors, t)
		r.Specs = append(r.Specs, protocol.Spec{Name: s.info.Inputs[i].Name, Type: t.Type, Shape: t.Shape})
	}
	fresh := make([]tensor.Tensor, len(outputs)) // memory for outputs that have none
	r.Accept = func(h *protocol.Head) (protocol.Place, error) {
		if err := s.model.accept(h, len(s.wanted)); err != nil {
			return nil, err
		}
		return func(_ int, spec protocol.Spec) (tensor.Tensor, error) { return s.place(spec, outputs, fresh) }, nil
	}
	if err := s.engine.infer(ctx, r); err != nil {
		return err
	}
	for i, t := range fresh {
		if outputs[i] != nil {
			continue
		}
		var err error
		if outputs[i], err = backend.NewView(t); err != nil {
			return err
		}
	}
	return nil
}

// accept checks the head of an answer of the model: a server that was restarted may have another version.
func (m *remoteModel) accept(h *protocol.Head, outputs int) error {
	if h.Model != "" && h.Model != m.name {
		return fmt.Errorf("the answer is of the model %q, asked was %q", h.Model, m.name)
	}
	if len(h.Tensors) != outputs {
		return fmt.Errorf("the answer has %d outputs, asked were %d", len(h.Tensors), outputs)
	}
	m.version.CompareAndSwap(nil, &h.Version)
	if known := *m.version.Load(); known != h.Version {
		return fmt.Errorf("the answer is of version %q of the model, those before of %q", h.Version, known)
	}
	return nil
}

// place returns the memory of an output: fresh memory where none was given.
func (s *session) place(spec protocol.Spec, outputs []backend.Value, fresh []tensor.Tensor) (tensor.Tensor, error) {
	const maxFresh = 1 << 30 // bytes
	i := slices.Index(s.wanted, spec.Name)
	if i < 0 {
		return tensor.Tensor{}, fmt.Errorf("it was not asked for; asked were %v", s.wanted)
	}
	port := s.info.Outputs[i]
	if !port.Fits(spec.Type, spec.Shape) {
		return tensor.Tensor{}, fmt.Errorf("it is %v%v, the model has %v%v", spec.Type, spec.Shape, port.Type, port.Shape)
	}
	if outputs[i] == nil {
		if n := spec.Shape.Len(); n > maxFresh/int64(max(1, spec.Type.Size())) {
			return tensor.Tensor{}, fmt.Errorf("it has %d elements, expected at most %d bytes", n, maxFresh)
		}
		fresh[i] = tensor.New(spec.Type, spec.Shape...)
		return fresh[i], nil
	}
	t, err := backend.Viewed(outputs[i], port, "output")
	if err == nil && !slices.Equal(t.Shape, spec.Shape) {
		err = fmt.Errorf("it has the shape %v, expected %v", spec.Shape, t.Shape)
	}
	return t, err
}
