package serve

import (
	"context"
	"fmt"
	"slices"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// A shared session is what predictors of tasks run the model with: each run waits in the queue, beside
// those of others.
type shared struct {
	table *table
	info  backend.Info
}

// newShared makes a session with some of the outputs; nil: all.
func newShared(t *table, info backend.Info, outputs []string) (*shared, error) {
	if outputs != nil {
		var list []backend.Port
		for _, name := range outputs {
			p := portOf(info.Outputs, name)
			if p == nil {
				return nil, fmt.Errorf("the model has no output %q", name)
			}
			list = append(list, *p)
		}
		info.Outputs = list
	}
	return &shared{t, info}, nil
}

// A view is a value of a shared session.
type view struct{ tensor tensor.Tensor }

func (v *view) Tensor() tensor.Tensor { return v.tensor }

func (*view) Close() error { return nil }

// Info implements backend.Session.
func (s *shared) Info() backend.Info { return s.info }

// Bind implements backend.Session.
func (*shared) Bind(t tensor.Tensor) (backend.Value, error) { return &view{t}, nil }

// Close implements backend.Session.
func (*shared) Close() error { return nil }

// Run implements backend.Session.
func (s *shared) Run(ctx context.Context, inputs, outputs []backend.Value) error {
	t := s.table
	row, err := t.wait(ctx)
	if err != nil {
		return err
	}
	defer t.give(row)
	list, err := t.answer(row, t.put(row, inputs))
	if err != nil {
		return err
	}
	return s.give(list, outputs)
}

// put puts the inputs of a run into a row, or beside it where they are more than a sample. It returns how many they are.
func (t *table) put(row int, inputs []backend.Value) (samples int) {
	samples = 1
	if shape := inputs[0].Tensor().Shape; len(shape) > 0 && t.batched {
		samples = int(shape[0])
	}
	r := t.request(row)
	for k, in := range inputs {
		if t.batched && samples == 1 {
			copy(t.store.RowBytes(k, row), in.Tensor().Bytes())
		} else {
			r.whole = append(r.whole, in.Tensor())
		}
	}
	return samples
}

// give hands over those of all outputs that the session has.
func (s *shared) give(list []tensor.Tensor, outputs []backend.Value) error {
	t := s.table
	for i, p := range s.info.Outputs {
		k := slices.IndexFunc(t.ports.Outputs, func(q backend.Port) bool { return q.Name == p.Name })
		if outputs[i] == nil {
			outputs[i] = &view{list[k]}
			continue
		}
		if err := fill(outputs[i].Tensor(), list[k], p.Name); err != nil {
			return err
		}
	}
	return nil
}

// fill copies an output to where it belongs.
func fill(dst, src tensor.Tensor, name string) error {
	if dst.Type != src.Type || !slices.Equal(dst.Shape, src.Shape) {
		return fmt.Errorf("output %s: got %v, there is room for %v", name, src, dst)
	}
	copy(dst.Bytes(), src.Bytes())
	copy(dst.Strings(), src.Strings())
	return nil
}

func clone(t tensor.Tensor) tensor.Tensor {
	c := tensor.New(t.Type, t.Shape...)
	copy(c.Bytes(), t.Bytes())
	copy(c.Strings(), t.Strings())
	return c
}
