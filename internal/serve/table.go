package serve

import (
	"context"
	"math/bits"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend/oip/protocol"
	"github.com/mlperf-go/mlperf/internal/harness"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// A table has the room for requests: each has a row of it while it is under way.
type table struct {
	room     int
	ports    workload.Ports
	batched  bool // samples may run side by side
	store    *workload.Store
	service  *harness.Service
	requests []request
	free     *freeRows

	budget int64        // bytes that requests of several samples may take together
	used   atomic.Int64 // by them
	count  counts
}

// A request is what lies in a row.
type request struct {
	whole   []tensor.Tensor // inputs of a request that runs as it is; nil: they are in the store
	outputs []tensor.Tensor
	err     error
	done    chan struct{}

	submitted, started time.Time
	samples            int
	first              bool // of those that ran together
}

func newTable(room int) *table {
	t := &table{room: room, requests: make([]request, room), free: newFreeRows(room)}
	for i := range room {
		t.requests[i].done = make(chan struct{}, 1)
	}
	return t
}

func (t *table) request(row int) *request { return &t.requests[row] }

// slots are the tensors of a sample; a byte where samples differ.
func (t *table) slots() []workload.Slot {
	if !t.batched {
		return []workload.Slot{{Type: tensor.Uint8, Shape: tensor.Shape{1}}}
	}
	var list []workload.Slot
	for _, p := range t.ports.Inputs {
		list = append(list, workload.Slot{Type: p.Type, Shape: p.Shape[1:]})
	}
	return list
}

// take returns a row if there is one.
func (t *table) take() (row int, ok bool) { return t.free.take() }

// wait waits for a row.
func (t *table) wait(ctx context.Context) (int, error) { return t.free.wait(ctx) }

// give gives a row back.
func (t *table) give(row int) {
	r := &t.requests[row]
	*r = request{done: r.done}
	t.free.give(row)
}

// reserve takes bytes from the budget, unless it is used up.
func (t *table) reserve(bytes int64) bool {
	if used := t.used.Add(bytes); used > t.budget && used > bytes {
		t.used.Add(-bytes)
		return false
	}
	return true
}

// begin says that a request runs now, alone or with others; first is true for one of these.
func (r *request) begin(first bool) { r.started, r.first = time.Now(), first }

// answer has a row answered, and waits for that: a worker may be using it.
func (t *table) answer(row, samples int) ([]tensor.Tensor, error) {
	r := &t.requests[row]
	r.submitted, r.samples = time.Now(), samples
	t.service.Submit(row)
	<-r.done
	t.count.add(r, time.Now())
	return r.outputs, r.err
}

// done is told by a worker that a row has been answered.
func (t *table) done(row int, _ []byte, _ int, err error) {
	r := &t.requests[row]
	if err != nil {
		r.err = err
	}
	r.done <- struct{}{}
}

// counts are the statistics.
type counts struct {
	mu    sync.Mutex
	total protocol.ModelStatistics
}

func (c *counts) add(r *request, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := &c.total
	one := func(sum *protocol.Sum, d time.Duration) {
		sum.Count++
		sum.NS += uint64(max(d, 0))
	}
	if r.err != nil {
		one(&s.InferenceStats.Fail, now.Sub(r.submitted))
		return
	}
	s.LastInference = uint64(now.UnixMilli())
	s.InferenceCount += uint64(r.samples)
	if r.first {
		s.ExecutionCount++
	}
	one(&s.InferenceStats.Success, now.Sub(r.submitted))
	one(&s.InferenceStats.Queue, r.started.Sub(r.submitted))
	one(&s.InferenceStats.ComputeInfer, now.Sub(r.started))
	s.InferenceStats.ComputeInput.Count++
	s.InferenceStats.ComputeOutput.Count++
}

func (c *counts) read(name, version string) protocol.ModelStatistics {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.total
	s.Name, s.Version = name, version
	return s
}

// freeRows are those in which no request lies. The first one is taken each time: so few rows are used as there are
// requests at once, which stay in the caches of the processor, and those that arrive together lie side by side.
type freeRows struct {
	room chan struct{} // one of each

	mu   sync.Mutex
	free []uint64 // a bit for each
}

func newFreeRows(n int) *freeRows {
	f := &freeRows{room: make(chan struct{}, n), free: make([]uint64, (n+63)/64)}
	for row := range n {
		f.give(row)
	}
	return f
}

// take returns a row if there is one.
func (f *freeRows) take() (row int, ok bool) {
	select {
	case <-f.room:
		return f.first(), true
	default:
		return 0, false
	}
}

// wait waits for a row.
func (f *freeRows) wait(ctx context.Context) (int, error) {
	select {
	case <-f.room:
		return f.first(), nil
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
}

// first takes the first free row; the caller has taken one of room.
func (f *freeRows) first() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, word := range f.free {
		if word != 0 {
			bit := bits.TrailingZeros64(word)
			f.free[i] &^= 1 << bit
			return 64*i + bit
		}
	}
	panic("a row is given away twice")
}

// give gives a row back.
func (f *freeRows) give(row int) {
	f.mu.Lock()
	f.free[row/64] |= 1 << (row % 64)
	f.mu.Unlock()
	f.room <- struct{}{}
}
