package singlepass

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// predictor returns a predictor of a session that uses a store of ten rows.
func predictor(t testing.TB, s *fakeSession, maxBatch int) (*Predictor, *workload.Store) {
	t.Helper()
	p, err := New(s, s.row(), maxBatch, fakeRespond)
	if err != nil {
		t.Fatal(err)
	}
	store := numberedStore(t, s.row(), 10, 50)
	if err := p.Use(store); err != nil {
		t.Fatal(err)
	}
	return p, store
}

// ask has a predictor answer the samples in some rows, and wants the right answers.
func ask(t testing.TB, p *Predictor, base int, rows ...int) {
	t.Helper()
	got := replies{}
	if err := p.Predict(t.Context(), itemsOf(rows...), got); err != nil {
		t.Fatalf("Predict(rows %v): %v", rows, err)
	}
	if len(got) != len(rows) {
		t.Fatalf("rows %v got %d answers", rows, len(got))
	}
	for i, row := range rows {
		if want := byte(base + row); !slices.Equal(got[i], []byte{want}) {
			t.Errorf("rows %v: answer %d is %v, want [%d]", rows, i, got[i], want)
		}
	}
}

// sameMemory says whether two tensors are the same view.
func sameMemory(a, b tensor.Tensor) bool { return &a.Bytes()[0] == &b.Bytes()[0] && a.Len() == b.Len() }

func TestNeighboursAreNotCopied(t *testing.T) {
	s := fakeModel(-1, 2, tensor.Shape{-1})
	p, store := predictor(t, s, 4)
	ask(t, p, 50, 3, 4, 5)
	for k, in := range s.in {
		if want := store.Slot(k, 3, 3); !sameMemory(in, want) || !slices.Equal(in.Shape, want.Shape) {
			t.Errorf("input %d is a copy, or %v instead of %v", k, in.Shape, want.Shape)
		}
	}
	bound := len(s.bound)
	ask(t, p, 50, 3, 4, 5)
	if len(s.bound) != bound {
		t.Errorf("the second time, %d values were bound anew", len(s.bound)-bound)
	}
	ask(t, p, 50, 9)
	if !sameMemory(s.in[0], store.Slot(0, 9, 1)) {
		t.Error("a batch of one is a copy")
	}
}

func TestRowsAreCopiedInOrder(t *testing.T) {
	for _, rows := range [][]int{{5, 1, 4}, {2, 1}, {7, 7}, {0, 1, 3}, {9, 8, 7, 6}} {
		t.Run(fmt.Sprint(rows), func(t *testing.T) {
			s := fakeModel(-1, 2, tensor.Shape{-1})
			p, store := predictor(t, s, 4)
			before := slices.Clone(store.Slot(0, 0, 10).Bytes())
			ask(t, p, 50, rows...)
			for k, in := range s.in {
				if n := in.Shape[0]; n != int64(len(rows)) {
					t.Fatalf("input %d has %d rows", k, n)
				}
				for i, row := range rows {
					if got, want := in.Rows(i, 1).Bytes(), store.Slot(k, row, 1).Bytes(); !slices.Equal(got, want) {
						t.Errorf("input %d, row %d holds %v, want that of row %d: %v", k, i, got, row, want)
					}
				}
			}
			if !slices.Equal(before, store.Slot(0, 0, 10).Bytes()) {
				t.Error("the store was changed")
			}
		})
	}
}

func TestFixedBatchIsFilledUp(t *testing.T) {
	s := fakeModel(4, 1, tensor.Shape{4})
	p, store := predictor(t, s, 2)
	for _, test := range []struct {
		rows []int
		want []float32
	}{
		{[]int{6}, []float32{56, 56, 56, 56}},
		{[]int{2, 3}, []float32{52, 53, 53, 53}},
		{[]int{8, 0}, []float32{58, 50, 50, 50}},
	} {
		ask(t, p, 50, test.rows...)
		var marks []float32
		for i := range 4 {
			marks = append(marks, tensor.Data[float32](s.in[0])[2*i])
		}
		if !slices.Equal(marks, test.want) {
			t.Errorf("rows %v went in as %v, want %v", test.rows, marks, test.want)
		}
	}
	ask(t, p, 50, 4, 5, 6, 7)
	if !sameMemory(s.in[0], store.Slot(0, 4, 4)) {
		t.Error("a full batch of neighbours is a copy")
	}
}

func TestBatchBeyondFixed(t *testing.T) {
	s := fakeModel(4, 1, tensor.Shape{4})
	if _, err := New(s, s.row(), 5, fakeRespond); err == nil || !strings.Contains(err.Error(), "batches of 4, expected 5") {
		t.Errorf("error %v", err)
	}
}

// Sizes that no memory has are errors, or the engine's to allocate.
func TestImpossibleSizes(t *testing.T) {
	s := fakeModel(-1, 1, tensor.Shape{-1})
	row := []workload.Slot{{Type: tensor.Float32, Shape: tensor.Shape{1 << 40, 1 << 40}}}
	if _, err := New(s, row, 1, fakeRespond); !testenv.Names(err, "input 0 … [1 1099511627776 1099511627776]") {
		t.Errorf("an input: %v", err)
	}
	s = fakeModel(-1, 1, tensor.Shape{-1, 1 << 36})
	p, err := New(s, s.row(), 2, fakeRespond)
	if err != nil || p.outputs != nil {
		t.Errorf("an output of 1 TiB: %v, allocated %d", err, len(p.outputs))
	}
}

func TestEngineOutputsAreClosed(t *testing.T) {
	tests := []struct {
		name    string
		batch   int64
		outputs []tensor.Shape
		axis    string // the first of the outputs
	}{
		{"an axis is free", -1, []tensor.Shape{{-1, -1}}, "N"},
		{"a scalar", -1, []tensor.Shape{{}}, ""},
		{"a free first axis beside a fixed batch", 2, []tensor.Shape{{-1}}, "N"},
		{"the second output only", -1, []tensor.Shape{{-1}, {-1, -1}}, "N"},
		{"a first axis of another name", -1, []tensor.Shape{{-1}}, "num_dets"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := fakeModel(test.batch, 1, test.outputs...)
			for i := range s.info.Outputs {
				s.info.Outputs[i].Axes = []string{test.axis}
			}
			p, _ := predictor(t, s, 2)
			ask(t, p, 50, 3, 4)
			ask(t, p, 50, 8, 1)
			if want := 2 * len(test.outputs); len(s.made) != want {
				t.Errorf("the engine made %d outputs in two runs, want %d", len(s.made), want)
			}
			if err := p.Close(); err != nil {
				t.Fatal(err)
			}
			s.checkClosed(t)
		})
	}
}

// An axis without a name, or with the name of the batch, is taken for the batch until a run shows that it is not.
func TestFirstAxisIsNotTheBatch(t *testing.T) {
	for _, axis := range []string{"", "N"} {
		t.Run(axis, func(t *testing.T) { anotherFirstAxis(t, axis) })
	}
}

func anotherFirstAxis(t *testing.T, axis string) {
	s := fakeModel(-1, 1, tensor.Shape{-1})
	s.info.Outputs[0].Axes = []string{axis}
	p, _ := predictor(t, s, 2)
	ask(t, p, 50, 3, 4)
	if len(s.made) != 0 {
		t.Errorf("the engine made %d outputs", len(s.made))
	}
	s.rows = func(n int) int { return n + 1 }
	s.answers = func(n int) int64 { return int64(n + 1) }
	ask(t, p, 50, 8, 1)
	ask(t, p, 50, 8, 1)
	if len(s.made) != 2 || s.runs != 4 {
		t.Errorf("the engine made %d outputs in %d runs, want 2 in 4", len(s.made), s.runs)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	s.checkClosed(t)
}

func TestEngineOutputsAreClosedOnError(t *testing.T) {
	s := fakeModel(-1, 1, tensor.Shape{-1, -1})
	s.answers = func(n int) int64 { return int64(n) - 1 }
	p, _ := predictor(t, s, 3)
	got := replies{}
	err := p.Predict(t.Context(), itemsOf(2, 3, 4), got)
	if !testenv.Names(err, "sample 104 … answer") || len(got) != 2 {
		t.Errorf("error %v, %d answers; want that sample 104 has none, and two", err, len(got))
	}
	s.answers, s.runErr = nil, errors.New("out of memory")
	if err := p.Predict(t.Context(), itemsOf(2, 3, 4), replies{}); !errors.Is(err, s.runErr) {
		t.Errorf("error %v, want that of the run", err)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	s.checkClosed(t)
}

func TestUseClosesOldValues(t *testing.T) {
	s := fakeModel(-1, 1, tensor.Shape{-1})
	p, old := predictor(t, s, 4)
	ask(t, p, 50, 0, 1, 2)
	ask(t, p, 50, 4)
	other := numberedStore(t, s.row(), 5, 200)
	if err := p.Use(other); err != nil {
		t.Fatal(err)
	}
	for _, v := range s.bound {
		overOld := sameMemory(v.tensor, old.Slot(0, 0, 3)) || sameMemory(v.tensor, old.Slot(0, 4, 1))
		if overOld != (v.closed == 1) {
			t.Errorf("value %v over the old store %v, closed %d times", v.tensor, overOld, v.closed)
		}
	}
	ask(t, p, 200, 0, 1, 2)
	if !sameMemory(s.in[0], other.Slot(0, 0, 3)) {
		t.Error("the new store is not used")
	}
	if err := p.Use(nil); err != nil {
		t.Fatal(err)
	}
	if err := p.Predict(t.Context(), itemsOf(0), replies{}); !testenv.Names(err, "samples") {
		t.Errorf("without a store the error is %v", err)
	}
}

func TestCloseClosesValuesOnce(t *testing.T) {
	s := fakeModel(-1, 2, tensor.Shape{-1}, tensor.Shape{-1, 7})
	p, _ := predictor(t, s, 4)
	ask(t, p, 50, 0, 1, 2)
	ask(t, p, 50, 3, 1)
	ask(t, p, 50, 9)
	if err := p.Use(numberedStore(t, s.row(), 10, 100)); err != nil {
		t.Fatal(err)
	}
	ask(t, p, 100, 5, 6, 7, 8)
	ask(t, p, 100, 8, 7, 6, 5)
	for range 2 {
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
	}
	// 2 inputs over 3 windows, and over copies of 2 and 4 rows; 2 outputs for 1, 2, 3 and 4.
	if want := 2*3 + 2*2 + 2*4; len(s.bound) != want {
		t.Errorf("%d values were bound, want %d", len(s.bound), want)
	}
	s.checkClosed(t)
}

func TestBindFailure(t *testing.T) {
	refused := errors.New("out of memory")
	for _, rows := range [][]int{{0, 1}, {1, 0}} {
		s := fakeModel(-1, 2, tensor.Shape{-1})
		p, _ := predictor(t, s, 4)
		calls := 0
		s.bindErr = func(tensor.Tensor) error {
			if calls++; calls == 2 {
				return refused
			}
			return nil
		}
		if err := p.Predict(t.Context(), itemsOf(rows...), replies{}); !errors.Is(err, refused) {
			t.Errorf("rows %v: error %v", rows, err)
		}
		s.checkClosed(t)
		ask(t, p, 50, rows...) // it was refused only once
	}
}

func TestPredictAllocatesNothing(t *testing.T) {
	tests := []struct {
		name  string
		batch int64
		rows  []int
	}{
		{"neighbours", -1, []int{2, 3, 4}},
		{"copies", -1, []int{4, 2, 3}},
		{"one sample", -1, []int{7}},
		{"a fixed batch", 4, []int{2, 3}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := fakeModel(test.batch, 2, tensor.Shape{test.batch})
			p, _ := predictor(t, s, 4)
			items, reply, ctx := itemsOf(test.rows...), new(discard), t.Context()
			allocs := testing.AllocsPerRun(100, func() {
				if err := p.Predict(ctx, items, reply); err != nil {
					t.Fatal(err)
				}
			})
			if allocs != 0 {
				t.Errorf("%v allocations in each prediction", allocs)
			}
		})
	}
}

// discard counts answers and drops them.
type discard int

func (d *discard) FirstToken(int, []byte) {}
func (d *discard) Done(int, []byte, int)  { *d++ }

// A steadySession gives out the same outputs again and again.
type steadySession struct {
	backend.Session
	outputs []*fakeValue
}

func (s steadySession) Run(_ context.Context, _, outputs []backend.Value) error {
	for i, v := range s.outputs {
		outputs[i] = v
	}
	return nil
}

func TestEngineOutputsAllocateNothing(t *testing.T) {
	fake := fakeModel(1, 1, tensor.Shape{-1})
	s := steadySession{fake, []*fakeValue{{tensor: tensor.Of([]int64{7}, 1)}}}
	p, err := New(s, fake.row(), 1, fakeRespond)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Use(numberedStore(t, fake.row(), 4, 0)); err != nil {
		t.Fatal(err)
	}
	items := itemsOf(2)
	reply := &lastReply{}
	run := func() {
		if err := p.Predict(t.Context(), items, reply); err != nil {
			t.Fatal(err)
		}
	}
	run()
	if n := testing.AllocsPerRun(20, run); n > 0 || reply.last != 7 || s.outputs[0].closed != 22 {
		t.Errorf("%v allocations, answer %d, closed %d times after 22 runs", n, reply.last, s.outputs[0].closed)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}

type lastReply struct{ last byte }

func (*lastReply) FirstToken(int, []byte)               {}
func (r *lastReply) Done(_ int, response []byte, _ int) { r.last = response[0] }

func TestOtherFloatScores(t *testing.T) {
	session := fakeModel(-1, 1, tensor.Shape{-1})
	session.info.Outputs[0].Type = tensor.Float64
	p, err := New(session, session.row(), 2, nil)
	if err != nil {
		t.Fatal(err)
	}
	got := p.readable([]tensor.Tensor{tensor.Of([]float64{0.5, 2}, 2)})
	if data := tensor.Data[float32](got[0]); data[0] != 0.5 || data[1] != 2 {
		t.Errorf("the scores are %v", data)
	}
}
