package workload

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/mlperf-go/mlperf/internal/tensor"
)

// An Answerer has a predictor answer single samples. It must be closed.
type Answerer struct {
	workload  *Workload
	predictor Predictor
	store     *Store
	response  []byte
}

// Answerer opens a predictor for single samples.
func (w *Workload) Answerer(sessions Sessions) (*Answerer, error) {
	p, err := w.OpenPredictor(sessions, 1)
	if err != nil {
		return nil, err
	}
	return &Answerer{workload: w, predictor: p}, nil
}

// load prepares a sample, in the store of the one before if it has the same shapes.
func (a *Answerer) load(i int) error {
	row := func(int) []Slot { return a.workload.Row(i) }
	if a.store == nil || !slices.EqualFunc(a.store.Row(0), row(0), func(t tensor.Tensor, s Slot) bool { return slices.Equal(t.Shape, s.Shape) }) {
		store, err := NewStore(1, row)
		if err != nil {
			return err
		}
		old := a.store
		a.store = store
		if err := a.predictor.Use(store); err != nil {
			return err
		}
		if old != nil {
			if err := old.Close(); err != nil {
				return err
			}
		}
	}
	return a.workload.Prepare(i, a.store.Row(0))
}

// Answer is the response to a sample; ErrNoAnswer: the predictor gave none.
func (a *Answerer) Answer(ctx context.Context, i int) ([]byte, error) {
	if err := a.load(i); err != nil {
		return nil, err
	}
	a.response = nil
	err := a.predictor.Predict(ctx, []Item{{Row: 0, Index: i}}, a)
	if err == nil && a.response == nil {
		err = fmt.Errorf("sample %d: %w", i, ErrNoAnswer)
	}
	return a.response, err
}

// FirstToken implements Reply.
func (a *Answerer) FirstToken(int, []byte) {}

// Done implements Reply.
func (a *Answerer) Done(_ int, response []byte, _ int) {
	a.response = slices.Clone(response)
	if a.response == nil {
		a.response = []byte{}
	}
}

// Close closes the predictor and the store.
func (a *Answerer) Close() error {
	errs := []error{a.predictor.Close()}
	if a.store != nil {
		errs = append(errs, a.store.Close())
	}
	return errors.Join(errs...)
}
