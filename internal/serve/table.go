package serve

import (
	"context"
	"math/bits"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend/oip/protocol"
	"github.com/mlperf-go/mlperf/internal/harness"
	"github.com/mlperf-go/mlperf/internal/machine/clock"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// A table has the requests to a file of the model. Each has a row while it is under way.
type table struct {
	room     int
	ports    workload.Ports
	batched  bool // samples may run side by side
	store    *workload.Store
	service  *harness.Service
	requests []request
	free     *freeRows

	budget int64        // bytes of all requests outside the store
	used   atomic.Int64 // of the budget
	count  counts
}

// A request is in a row of the table.
type request struct {
	inputs  []tensor.Tensor // of a request that runs alone; nil: the inputs are in the store
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

// slots are the tensors of a sample; a byte where samples differ in shape.
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

// release frees a row.
func (t *table) release(row int) {
	r := &t.requests[row]
	*r = request{done: r.done}
	t.free.release(row)
}

// reserve takes bytes from the budget, if it has them or a request is alone.
func (t *table) reserve(bytes int64) bool {
	if used := t.used.Add(bytes); used > t.budget && used > bytes {
		t.used.Add(-bytes)
		return false
	}
	return true
}

// answer submits a row and waits for its answer, also for a client that has gone: a worker may be using the row.
func (t *table) answer(row, samples int) ([]tensor.Tensor, error) {
	r := &t.requests[row]
	r.submitted, r.samples = clock.Now(), samples
	t.service.Submit(row)
	<-r.done
	t.count.add(r, clock.Now())
	return r.outputs, r.err
}

// done is called by a worker that has answered a row.
func (t *table) done(row int, _ []byte, _ int, err error) {
	r := &t.requests[row]
	if err != nil {
		r.err = err
	}
	r.done <- struct{}{}
}

// close ends the workers and frees the rows, unless a worker may still use them.
func (t *table) close() error { return closeService(t.service, t.store) }

func closeService(service *harness.Service, store *workload.Store) error {
	var err error
	if service != nil {
		err = service.Close()
	}
	if err != nil || store == nil {
		return err
	}
	return store.Close()
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

// freeRows are the rows without a request. It gives the lowest one: so few rows are used as
// requests are under way at once, which stay in the caches of the processor, and rows of requests that arrive together lie side by side.
type freeRows struct {
	room chan struct{} // one of each

	mu   sync.Mutex
	free []uint64 // a bit for each
}

func newFreeRows(n int) *freeRows {
	f := &freeRows{room: make(chan struct{}, n), free: make([]uint64, (n+63)/64)}
	for row := range n {
		f.release(row)
	}
	return f
}

// acquire takes a row, or fails at once with protocol.Unavailable.
func (f *freeRows) acquire() (row int, err error) {
	select {
	case <-f.room:
		return f.lowest(), nil
	default:
		return 0, protocol.Errorf(protocol.Unavailable, "the queue is full: %d requests are under way", cap(f.room))
	}
}

// wait waits for a row.
func (f *freeRows) wait(ctx context.Context) (int, error) {
	select {
	case <-f.room:
		return f.lowest(), nil
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
}

// lowest takes the lowest free row; the caller has taken one of room.
func (f *freeRows) lowest() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, word := range f.free {
		if word != 0 {
			bit := bits.TrailingZeros64(word)
			f.free[i] &^= 1 << bit
			return 64*i + bit
		}
	}
	panic("a row was taken twice")
}

// release frees a row.
func (f *freeRows) release(row int) {
	f.mu.Lock()
	f.free[row/64] |= 1 << (row % 64)
	f.mu.Unlock()
	f.room <- struct{}{}
}
