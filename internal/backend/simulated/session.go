package simulated

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync/atomic"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

type session struct {
	engine *Engine
	info   backend.Info
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
	if s.closed.Swap(true) {
		return nil
	}
	s.engine.mu.Lock()
	defer s.engine.mu.Unlock()
	s.engine.sessions--
	return nil
}

// Run takes its time, then answers; if the context is done before, it ends with its cause.
func (s *session) Run(ctx context.Context, inputs, outputs []backend.Value) error {
	if err := s.run(ctx, inputs, outputs); err != nil {
		return fmt.Errorf("running the simulated model: %w", err)
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
	in, out := make([]tensor.Tensor, len(inputs)), make([]tensor.Tensor, len(outputs))
	var err error
	for i, v := range inputs {
		if in[i], err = backend.Viewed(v, s.info.Inputs[i], "input"); err != nil {
			return err
		}
	}
	for i, v := range outputs {
		port := s.info.Outputs[i]
		if v == nil {
			out[i] = tensor.New(port.Type, s.filled(port, in)...)
		} else if out[i], err = backend.Viewed(v, port, "output"); err != nil {
			return err
		}
	}
	k, config := s.engine.runs.Add(1), &s.engine.config
	if err := s.engine.serve(ctx, config.duration(k, s.samples(in, outputs, out))); err != nil {
		return err
	}
	if every(k, config.FailEvery) {
		return fmt.Errorf("run %d: %w", k, ErrInjected)
	}
	if err := config.Answer(in, out); err != nil {
		return err
	}
	if every(k, config.NaNEvery) {
		poison(out)
	}
	for i, t := range out {
		if outputs[i] == nil {
			if outputs[i], err = backend.NewView(t); err != nil {
				return err
			}
		}
	}
	return nil
}

// serve takes the time of a run, in one of the engine's places.
func (e *Engine) serve(ctx context.Context, d time.Duration) error {
	if e.places != nil {
		select {
		case e.places <- struct{}{}:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		defer func() { <-e.places }()
	}
	return sleep(ctx, d)
}

// samples is the extent of the first axis of an output that was given, and whose axis no input has: those of a graph have nodes. Else it is
// the batch.
func (s *session) samples(in []tensor.Tensor, given []backend.Value, out []tensor.Tensor) int {
	for i, port := range s.info.Outputs {
		shared := func(input backend.Port) bool { return backend.FirstAxes(input, port) != backend.Differ }
		if given[i] != nil && len(port.Shape) > 0 && port.Axis(0) != "" && !slices.ContainsFunc(s.info.Inputs, shared) {
			return int(out[i].Shape[0])
		}
	}
	return batchOf(in)
}

// batchOf is the extent of the first axis of the first input; 1 if there is none.
func batchOf(inputs []tensor.Tensor) int {
	if len(inputs) == 0 || len(inputs[0].Shape) == 0 {
		return 1
	}
	return int(inputs[0].Shape[0])
}

// filled gives the free axes of an output the extents of the inputs' axes of the same names, or else the batch if it is the first one,
// and 1.
func (s *session) filled(port backend.Port, in []tensor.Tensor) tensor.Shape {
	named := map[string]int64{}
	for i, input := range s.info.Inputs {
		for k, extent := range in[i].Shape {
			if name := input.Axis(k); name != "" {
				named[name] = extent
			}
		}
	}
	full := slices.Clone(port.Shape)
	for k, d := range full {
		switch extent, known := named[port.Axis(k)]; {
		case d >= 0:
		case known:
			full[k] = extent
		case k == 0:
			full[k] = int64(batchOf(in))
		default:
			full[k] = 1
		}
	}
	return full
}

// poison fills all floating point outputs with NaN.
func poison(outputs []tensor.Tensor) {
	for _, t := range outputs {
		switch t.Type {
		case tensor.Float32:
			fill(tensor.Data[float32](t), float32(math.NaN()))
		case tensor.Float64:
			fill(tensor.Data[float64](t), math.NaN())
		case tensor.Float16:
			fill(tensor.Data[uint16](t), 0x7e00)
		case tensor.BFloat16:
			fill(tensor.Data[uint16](t), 0x7fc0)
		}
	}
}

func fill[T any](data []T, v T) {
	for i := range data {
		data[i] = v
	}
}
