package serve

import (
	"errors"

	"github.com/mlperf-go/mlperf/internal/oip"
	"github.com/mlperf-go/mlperf/internal/workload"
)

// An answerer answers one sample at a time with a predictor of its own.
type answerer struct {
	predictor workload.Predictor
	store     *workload.Store // of one sample; where samples vary: of this one
	response  []byte
}

// take returns an answerer that has nothing to do, or a new one, with room for a sample.
func (m *taskModel) take(row []workload.Slot) (*answerer, error) {
	a, err := m.unoccupied()
	if err == nil && a.store == nil {
		err = a.use(row)
	}
	if err != nil {
		return nil, oip.Errorf(oip.Internal, "a sample more: %w", err)
	}
	return a, nil
}

// use gives an answerer memory for a sample, or closes it.
func (a *answerer) use(row []workload.Slot) (err error) {
	if a.store, err = workload.NewStore(1, func(int) []workload.Slot { return row }); err == nil {
		err = a.predictor.Use(a.store)
	}
	if err != nil {
		err = errors.Join(err, a.close())
	}
	return err
}

func (m *taskModel) unoccupied() (*answerer, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if n := len(m.idle); n > 0 {
		a := m.idle[n-1]
		m.idle = m.idle[:n-1]
		return a, nil
	}
	p, err := m.workload.NewPredictor(m.sessions, 1)
	return &answerer{predictor: p}, err
}

// giveBack keeps an answerer for the next sample. Where samples vary, the memory of this one is freed.
func (m *taskModel) giveBack(a *answerer) {
	if m.free {
		err := a.predictor.Use(nil)
		if err = errors.Join(err, a.store.Close()); err != nil {
			_ = a.predictor.Close() // which makes no sense any more
			return
		}
		a.store = nil
	}
	m.mu.Lock()
	m.idle = append(m.idle, a)
	m.mu.Unlock()
}

func (a *answerer) close() error {
	err := a.predictor.Close()
	if a.store != nil {
		err = errors.Join(err, a.store.Close())
	}
	return err
}

// close frees all answerers, which have nothing to do.
func (m *taskModel) close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	var errs []error
	for _, a := range m.idle {
		errs = append(errs, a.close())
	}
	m.idle = nil
	return errors.Join(errs...)
}
