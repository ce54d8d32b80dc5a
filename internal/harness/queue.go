package harness

import (
	"slices"
	"sync"
	"time"

	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/machine/clock"
)

// A task is a sample that waits for a worker.
type task struct {
	query  loadgen.Query
	sample loadgen.QuerySample
	added  time.Time // zero where it does not matter
}

// A queue holds the queries that no worker has taken yet, oldest first. Workers take
// batches of samples from it: the samples of one large query, or one each of several.
type queue struct {
	batchOptions

	mu      sync.Mutex
	ready   sync.Cond // there may be something to take
	spans   ring
	samples int    // in all spans
	taken   uint64 // samples that were moved to batches, where order counts
	flushed bool   // nothing will be added: do not wait for it
	closed  bool
	active  int         // workers between take and done
	full    *time.Timer // wakes a worker when the oldest sample has waited long enough

	oldest []queuedSample // that were taken from spans to compare their lengths

	peak     int       // largest number of samples that waited
	peakTime time.Time // when that was
	emptied  time.Time // when the last sample that waited was taken
	backlog  backlog   // when the last query had been added
}

// batchOptions say how workers gather samples.
type batchOptions struct {
	maxBatch int
	maxDelay time.Duration                      // how long the oldest sample may wait for a batch to fill
	order    func(n uint64) int                 // the sample that is answered as the n-th, where the benchmark says; nil: LoadGen does
	length   func(loadgen.QuerySampleIndex) int // of a sample; nil: all are alike
	overtake time.Duration                      // how long a sample may be overtaken; 0: always
	costs    *batchCosts                        // of samples of different lengths; nil: not known
	bound    time.Duration                      // after which the answer of a sample is late; 0: never
}

// A backlog is the queue when the last query has been added.
type backlog struct {
	samples int
	since   time.Time // when nothing waited for the last time; zero: never
	at      time.Time // when the last query had been added
}

// A span is the part of a query that no worker has taken.
type span struct {
	query loadgen.Query
	next  int // of query.Samples
	added time.Time
}

func newQueue(b batchOptions) *queue {
	q := &queue{batchOptions: b}
	q.ready.L = &q.mu
	return q
}

// add appends a query. It is called by the thread that keeps the schedule and takes
// well below a microsecond.
func (q *queue) add(query loadgen.Query) {
	n := len(query.Samples)
	s := span{query: query}
	if q.maxDelay > 0 || q.length != nil {
		s.added = clock.Now()
	}
	q.mu.Lock()
	q.spans.push(s)
	q.samples += n
	q.flushed = false
	if q.samples > q.peak {
		q.peak, q.peakTime = q.samples, clock.Now()
	}
	q.mu.Unlock()
	if n > q.maxBatch {
		q.ready.Broadcast()
		return
	}
	q.ready.Signal()
}

// waiting reports whether there are samples that no worker has taken.
func (q *queue) waiting() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.samples > 0 && !q.closed
}

// flush ends the wait for full batches: no query follows for now.
func (q *queue) flush() {
	q.mu.Lock()
	q.flushed = true
	q.backlog = backlog{q.samples, q.emptied, clock.Now()}
	q.mu.Unlock()
	q.ready.Broadcast()
}

// close makes take return nothing, now and later.
func (q *queue) close() {
	q.mu.Lock()
	q.closed = true
	if q.full != nil {
		q.full.Stop()
	}
	q.mu.Unlock()
	q.ready.Broadcast()
}

// isClosed reports whether the queue is closed.
func (q *queue) isClosed() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.closed
}

// stats returns the largest number of samples that waited, when that was, and the backlog.
func (q *queue) stats() (peak int, when time.Time, left backlog) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.peak, q.peakTime, q.backlog
}

// take fills batch with the oldest samples, at most as many as it has room for, and
// waits until there is at least one. The worker calls done when it has answered them.
// It returns an empty batch once the queue is closed.
func (q *queue) take(batch []task) []task {
	batch, _ = q.admit(batch, q.maxBatch, true, true)
	return batch
}

// admit is take for at most n samples. It only waits if it is to. A worker that has no
// samples yet is idle; it calls done when it has none again. False: the queue is closed.
func (q *queue) admit(batch []task, n int, idle, wait bool) ([]task, bool) {
	batch = batch[:0]
	q.mu.Lock()
	defer q.mu.Unlock()
	for wait && !q.closed && !q.due() {
		q.ready.Wait()
	}
	if q.closed || q.samples == 0 {
		return batch, !q.closed
	}
	batch = q.fill(batch, n)
	if q.samples == 0 {
		q.emptied = clock.Now()
	}
	if idle {
		q.active++
	}
	return batch, true
}

// fill moves at most n samples to a batch.
func (q *queue) fill(batch []task, n int) []task {
	if q.length != nil {
		return q.fillByLength(batch, n)
	}
	for len(batch) < n && q.samples > 0 {
		s := q.spans.front()
		k := min(n-len(batch), len(s.query.Samples)-s.next)
		for _, sample := range s.query.Samples[s.next : s.next+k] {
			if q.order != nil {
				sample.Index = loadgen.QuerySampleIndex(q.order(q.taken))
				q.taken++
			}
			batch = append(batch, task{s.query, sample, s.added})
		}
		q.samples -= k
		if s.next += k; s.next == len(s.query.Samples) {
			q.spans.pop()
		}
	}
	return batch
}

// done ends the work of a worker on its batch.
func (q *queue) done() {
	q.mu.Lock()
	q.active--
	q.mu.Unlock()
}

// idle reports whether no worker has a batch. It drops the queued samples first: their test is over.
func (q *queue) idle() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.spans, q.oldest, q.samples = ring{}, nil, 0
	return q.active == 0
}

// due reports whether a worker should take a batch now. If the queue waits for a batch to
// fill, a timer wakes the workers in time.
func (q *queue) due() bool {
	if q.samples == 0 {
		return false
	}
	if q.maxDelay == 0 || q.flushed || q.samples >= q.maxBatch {
		return true
	}
	var added time.Time // of the oldest sample
	if len(q.oldest) > 0 {
		added = q.oldest[0].added
	} else {
		added = q.spans.front().added
	}
	rest := q.maxDelay - clock.Since(added)
	if rest <= 0 {
		return true
	}
	if q.full == nil {
		q.full = time.AfterFunc(rest, q.ready.Broadcast)
	} else {
		q.full.Reset(rest)
	}
	return false
}

// A ring is a first-in first-out list that reuses its memory.
type ring struct {
	spans []span
	head  int
	n     int
}

func (r *ring) push(s span) {
	if r.n == len(r.spans) {
		grown := make([]span, max(64, 2*len(r.spans)))
		for i := range r.n {
			grown[i] = r.spans[(r.head+i)%len(r.spans)]
		}
		r.spans, r.head = grown, 0
	}
	r.spans[(r.head+r.n)%len(r.spans)] = s
	r.n++
}

func (r *ring) front() *span { return &r.spans[r.head] }

func (r *ring) pop() {
	r.spans[r.head] = span{}
	r.head = (r.head + 1) % len(r.spans)
	r.n--
}

// A queuedSample is one of the oldest samples, and its length.
type queuedSample struct {
	task
	length int
}

// lookAhead is how many batches of the oldest samples are looked through for those that are
// as long as each other.
const lookAhead = 16

// fillByLength moves the oldest sample to a batch, and with it those that go well with it.
// Because the oldest always goes, none is overtaken by more than lookAhead batches; and none
// is overtaken any more once it has waited longer than q.overtake.
func (q *queue) fillByLength(batch []task, n int) []task {
	for len(q.oldest) < lookAhead*q.maxBatch && len(q.oldest) < q.samples {
		s := q.spans.front()
		sample := s.query.Samples[s.next]
		q.oldest = append(q.oldest, queuedSample{task{s.query, sample, s.added}, q.length(sample.Index)})
		if s.next++; s.next == len(s.query.Samples) {
			q.spans.pop()
		}
	}
	chosen := q.companions(min(n, len(q.oldest)))
	slices.Sort(chosen)
	for _, i := range chosen {
		batch = append(batch, q.oldest[i].task)
	}
	next := 0
	kept := q.oldest[:0]
	for i, w := range q.oldest {
		if next < len(chosen) && chosen[next] == i {
			next++
			continue
		}
		kept = append(kept, w)
	}
	q.oldest = kept
	q.samples -= len(chosen)
	return batch
}

// companions are the oldest sample and at most n-1 others: those nearest to it in length, or
// next in age if it has been overtaken for long enough. Where the costs are known, only those go with it that
// take less time with it than alone.
func (q *queue) companions(n int) []int {
	order := make([]int, len(q.oldest))
	for i := range order {
		order[i] = i
	}
	if q.overtake == 0 || clock.Since(q.oldest[0].added) <= q.overtake {
		length := q.oldest[0].length
		away := func(i int) int { return max(q.oldest[i].length-length, length-q.oldest[i].length) }
		slices.SortStableFunc(order, func(a, b int) int { return away(a) - away(b) })
	}
	if q.costs == nil {
		return order[:n]
	}
	first := q.oldest[order[0]].length
	group := &batchGroup{costs: q.costs, n: 1, longest: first, takes: q.costs.of(1, first)}
	chosen := order[:1]
	for _, i := range order[1:] {
		if len(chosen) < n && group.join(q.oldest[i].length) {
			chosen = append(chosen, i)
		}
	}
	return chosen
}
