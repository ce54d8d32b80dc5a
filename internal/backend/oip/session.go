package oip

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/backend/oip/client"
	"github.com/mlperf-go/mlperf/internal/backend/oip/protocol"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

type session struct {
	engine *Engine
	model  *remote
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
	if s.closed.Load() {
		return errors.New("running the model: the session is closed")
	}
	if err := s.run(ctx, inputs, outputs); err != nil {
		return fmt.Errorf("running the model: %w", err)
	}
	return nil
}

func (s *session) run(ctx context.Context, inputs, outputs []backend.Value) error {
	r, err := s.request(inputs, outputs)
	if err != nil {
		return err
	}
	a := answer{session: s, outputs: outputs}
	r.Accept = a.accept
	begin := time.Now()
	if _, err := s.engine.client.Infer(ctx, r); err != nil {
		return err
	}
	s.engine.took.Add(int64(time.Since(begin)))
	s.engine.answered.Add(1)
	for i, t := range a.fresh {
		if outputs[i] != nil {
			continue
		}
		if outputs[i], err = backend.NewView(t); err != nil {
			return err
		}
	}
	return nil
}

// request is what a run asks for.
func (s *session) request(inputs, outputs []backend.Value) (*client.Request, error) {
	if len(inputs) != len(s.info.Inputs) || len(outputs) != len(s.info.Outputs) {
		return nil, fmt.Errorf("got %d inputs and %d outputs, it has %d and %d", len(inputs), len(outputs), len(s.info.Inputs), len(s.info.Outputs))
	}
	r := &client.Request{Model: s.model.name, Version: s.engine.config.Version, Wanted: s.wanted}
	for i, in := range inputs {
		t, err := backend.Viewed(in, s.info.Inputs[i], "input")
		if err != nil {
			return nil, err
		}
		r.Tensors = append(r.Tensors, t)
		r.Specs = append(r.Specs, protocol.Spec{Name: s.info.Inputs[i].Name, Type: t.Type, Shape: t.Shape})
	}
	return r, nil
}

// An answer says where the outputs of a run go.
type answer struct {
	session *session
	outputs []backend.Value
	fresh   []tensor.Tensor // memory for outputs that have none
}

// accept looks at the head of an answer.
func (a *answer) accept(h *protocol.Head) (protocol.Place, error) {
	s := a.session
	if h.Model != "" && h.Model != s.model.name {
		return nil, fmt.Errorf("the answer is of the model %q, asked was %q", h.Model, s.model.name)
	}
	if err := s.model.sameVersion(h.Version); err != nil {
		return nil, err
	}
	if len(h.Tensors) != len(s.wanted) {
		return nil, fmt.Errorf("the answer has %d outputs, asked were %d", len(h.Tensors), len(s.wanted))
	}
	a.fresh = make([]tensor.Tensor, len(s.wanted))
	return a.place, nil
}

// sameVersion sees to it that all answers come from the same version of the model.
func (m *remote) sameVersion(version string) error {
	if known := m.version.Load(); known != nil && *known == version || known == nil && m.version.CompareAndSwap(nil, &version) {
		return nil
	}
	if known := *m.version.Load(); known != version {
		return fmt.Errorf("the answer is of version %q of the model, those before of %q", version, known)
	}
	return nil
}

// mostFresh is how many bytes an output may have of which only the answer knows the shape.
const mostFresh = 1 << 30

// place finds the memory of an output.
func (a *answer) place(_ int, spec protocol.Spec) (tensor.Tensor, error) {
	i := slices.Index(a.session.wanted, spec.Name)
	if i < 0 {
		return tensor.Tensor{}, fmt.Errorf("nobody asked for it; asked were %v", a.session.wanted)
	}
	port := a.session.info.Outputs[i]
	if !port.Fits(spec.Type, spec.Shape) {
		return tensor.Tensor{}, fmt.Errorf("it is %v%v, the model has %v%v", spec.Type, spec.Shape, port.Type, port.Shape)
	}
	if a.outputs[i] == nil {
		if n := spec.Shape.Len(); n > mostFresh/int64(max(1, spec.Type.Size())) {
			return tensor.Tensor{}, fmt.Errorf("it has %d elements, which is more than there is room for", n)
		}
		a.fresh[i] = tensor.New(spec.Type, spec.Shape...)
		return a.fresh[i], nil
	}
	t, err := backend.Viewed(a.outputs[i], port, "output")
	if err == nil && !slices.Equal(t.Shape, spec.Shape) {
		err = fmt.Errorf("it has the shape %v, want %v", spec.Shape, t.Shape)
	}
	return t, err
}
