package singlepass

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// A fakeSession is a model whose output is the first number of each sample. It counts
// what is bound and closed.
type fakeSession struct {
	info    backend.Info
	in      []tensor.Tensor // inputs of the last run
	bound   []*fakeValue
	made    []*fakeValue      // outputs that Run allocated
	answers func(n int) int64 // extent of an allocated output for n samples; nil: n
	bindErr func(tensor.Tensor) error
	runErr  error
	rows    func(n int) int // rows of an output for n samples; nil: n
	runs    int
}

// A fakeValue counts how often it is closed.
type fakeValue struct {
	tensor tensor.Tensor
	closed int
}

func (v *fakeValue) Tensor() tensor.Tensor { return v.tensor }

func (v *fakeValue) Close() error {
	v.closed++
	return nil
}

// fakeModel has inputs of two float32 per sample, and outputs of the given shapes.
func fakeModel(batch int64, inputs int, outputs ...tensor.Shape) *fakeSession {
	s := &fakeSession{}
	for i := range inputs {
		s.info.Inputs = append(s.info.Inputs, backend.Port{Name: fmt.Sprintf("in%d", i), Type: tensor.Float32, Shape: tensor.Shape{batch, 2}, Axes: []string{"N", ""}})
	}
	for i, shape := range outputs {
		s.info.Outputs = append(s.info.Outputs, backend.Port{Name: fmt.Sprintf("out%d", i), Type: tensor.Int64, Shape: shape, Axes: []string{"N"}})
	}
	return s
}

// row is what a sample of a fakeModel consists of.
func (s *fakeSession) row() []workload.Slot {
	var row []workload.Slot
	for range s.info.Inputs {
		row = append(row, workload.Slot{Type: tensor.Float32, Shape: tensor.Shape{2}})
	}
	return row
}

func (s *fakeSession) Info() backend.Info { return s.info }

func (s *fakeSession) Bind(t tensor.Tensor) (backend.Value, error) {
	if s.bindErr != nil {
		if err := s.bindErr(t); err != nil {
			return nil, err
		}
	}
	v := &fakeValue{tensor: t}
	s.bound = append(s.bound, v)
	return v, nil
}

func (s *fakeSession) Run(_ context.Context, inputs, outputs []backend.Value) error {
	s.runs++
	s.in = s.in[:0]
	for i, v := range inputs {
		if v.(*fakeValue).closed > 0 {
			return errors.New("an input value is closed")
		}
		if got, want := v.Tensor().Shape, s.info.Inputs[i].Shape; want[0] >= 0 && got[0] != want[0] {
			return fmt.Errorf("input %d is %v, want %v", i, got, want)
		}
		s.in = append(s.in, v.Tensor())
	}
	n := int(s.in[0].Shape[0])
	for i := range outputs {
		if outputs[i] == nil {
			outputs[i] = s.allocate(n)
		}
		if got := outputs[i].Tensor().Shape; s.rows != nil && got[0] != int64(s.rows(n)) {
			return fmt.Errorf("output %d has room for %v, the answer has %d rows", i, got, s.rows(n))
		}
		s.compute(outputs[i].Tensor(), n)
	}
	return s.runErr
}

func (s *fakeSession) allocate(n int) *fakeValue {
	extent := int64(n)
	if s.answers != nil {
		extent = s.answers(n)
	}
	v := &fakeValue{tensor: tensor.New(tensor.Int64, extent)}
	s.made = append(s.made, v)
	return v
}

func (s *fakeSession) compute(out tensor.Tensor, n int) {
	marks, to := tensor.Data[float32](s.in[0]), tensor.Data[int64](out)
	for k := range min(n, len(to)) {
		to[k] = int64(marks[2*k])
	}
}

func (s *fakeSession) Close() error { return nil }

// checkClosed wants every value to have been closed exactly once.
func (s *fakeSession) checkClosed(t *testing.T) {
	t.Helper()
	for i, v := range append(append([]*fakeValue{}, s.bound...), s.made...) {
		if v.closed != 1 {
			t.Errorf("value %d (%v) was closed %d times", i, v.tensor, v.closed)
		}
	}
}

// fakeRespond answers with the number that the model gave, as one byte.
func fakeRespond(dst []byte, outputs []tensor.Tensor, k int, _ workload.Item) ([]byte, error) {
	numbers := tensor.Data[int64](outputs[0])
	if k >= len(numbers) {
		return dst, errors.New("no answer")
	}
	return append(dst, byte(numbers[k])), nil
}

// numberedStore has rows; row i holds base+i and then noise.
func numberedStore(t testing.TB, row []workload.Slot, rows, base int) *workload.Store {
	t.Helper()
	store, err := workload.NewStore(rows, func(int) []workload.Slot { return row })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	for i := range rows {
		for k, slot := range store.Row(i) {
			data := tensor.Data[float32](slot)
			data[0], data[1] = float32(base+i), float32(1000*k+i)
		}
	}
	return store
}

// itemsOf are samples in the given rows. Their data index is 100 more.
func itemsOf(rows ...int) []workload.Item {
	var items []workload.Item
	for _, row := range rows {
		items = append(items, workload.Item{Row: row, Index: 100 + row})
	}
	return items
}

// replies keeps what a predictor answers.
type replies map[int][]byte

func (r replies) FirstToken(int, []byte) {}

func (r replies) Done(item int, response []byte, _ int) {
	r[item] = append(append([]byte(nil), response...), r[item]...) // a second answer shows
}
