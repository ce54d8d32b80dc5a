package loadgen

import (
	"context"
	"math"
	"sync/atomic"
	"time"

	"github.com/mlperf-go/mlperf/internal/machine/clock"
)

// The state of a sample is kept in one word, its slot: not issued, issued, failed, or the
// instant of its completion. Instants are nanoseconds since the start of the phase.
const (
	slotFailed  = -1 // it has no latency: an error may come faster than any answer
	slotIdle    = 0
	slotPending = 1
	slotDone    = 2 // slotDone + n: completed n ns after the start
)

// A lateness is how much later than scheduled a query was issued, in 32 bits: whole
// nanoseconds below 2.1 s, and from there on units of 4.1 µs, up to 2.4 hours.
type lateness uint32

const (
	coarse      = 1 << 31 // marks the larger unit
	coarseShift = 12
)

func latenessOf(ns int64) lateness {
	switch {
	case ns < 0:
		return 0
	case ns < coarse:
		return lateness(ns)
	}
	return lateness(coarse | min(uint64(ns)>>coarseShift, coarse-1))
}

func (l lateness) ns() int64 {
	if l < coarse {
		return int64(l)
	}
	return int64(l-coarse) << coarseShift
}

// A block holds the records of some consecutive queries. Blocks are allocated before
// their queries are issued and never move, so that completions need no lock.
type block struct {
	samples []QuerySample  // handed to the SUT; perQuery for each query
	slots   []atomic.Int64 // for each sample
	// start is the instant from which a query's latency counts: its scheduled instant in
	// Server, its issue in SingleStream and MultiStream (its interval, if they are
	// fixed), 0 in Offline.
	start []int64
	// late is how much later than scheduled a query was issued, and own how much of that was
	// the generator's fault; nil without a schedule.
	late, own []lateness
	// intervals is how many intervals passed since the query before, in MultiStream at
	// fixed intervals; nil otherwise.
	intervals []uint32
	// logged marks the samples whose responses the accuracy log keeps, one bit
	// each; nil: none.
	logged []uint64

	// Only with token latencies, for each sample:
	firstToken []atomic.Int64 // as slots
	tokens     []atomic.Int32
	paused     []atomic.Int64 // ns between the first token and the completion that are none of the tokens
}

// blockSamples is the number of samples in a block: large enough to be allocated
// seldom, small enough that allocating one takes well below a millisecond.
const blockSamples = 1 << 16

// A recorder owns the records of one phase. The issue loop
// appends queries, completions fill slots; each slot is written by one goroutine.
type recorder struct {
	base     ResponseID // of the first sample
	perQuery uint32
	shift    uint // a block has 1<<shift queries
	tokens   bool
	blocks   []atomic.Pointer[block]
	queries  atomic.Uint64 // prepared; grows in SingleStream and MultiStream
	nextID   ResponseID

	started time.Time

	// completed counts answered samples, and those that failed. When it reaches awaited, the waiter is
	// woken if it has parked.
	completed atomic.Int64
	failed    atomic.Int64
	awaited   atomic.Int64
	parked    atomic.Bool
	wake      chan struct{}
	closed    atomic.Bool
	cutShort  atomic.Bool // the phase was ended before its time

	log    *responseLog // nil: no responses are kept
	faults *faults      // of the test

	needsFirstToken bool // of every sample, before it is complete
}

// newRecorder makes room for at most limit queries, without allocating it.
func newRecorder(base ResponseID, perQuery int, limit uint64, tokens bool) *recorder {
	r := &recorder{
		base: base, nextID: base, perQuery: uint32(perQuery), tokens: tokens, wake: make(chan struct{}, 1), faults: &faults{},
	}
	for 1<<(r.shift+1)*perQuery <= blockSamples {
		r.shift++
	}
	limit = min(limit, (math.MaxUint32-uint64(base))/uint64(perQuery))
	r.blocks = make([]atomic.Pointer[block], (limit+1<<r.shift-1)>>r.shift)
	r.awaited.Store(math.MaxInt64)
	return r
}

// grow appends a block and fills it from the traffic: to the brim if that is
// endless, with its remaining queries otherwise. It returns false without such queries, or if the
// test has no more ids. keep says which responses are logged; nil: all or none.
func (r *recorder) grow(t *traffic, e *EffectiveSettings, keep func() bool) bool {
	next := int(r.queries.Load() >> r.shift)
	if next == len(r.blocks) || !t.endless && !t.wanted() {
		return false
	}
	queries := 1 << r.shift
	samples := queries * int(r.perQuery)
	b := &block{
		samples: make([]QuerySample, 0, samples),
		slots:   make([]atomic.Int64, samples),
		start:   make([]int64, queries),
	}
	if e.onSchedule() {
		b.late, b.own = make([]lateness, queries), make([]lateness, queries)
	}
	if e.FixedInterval {
		b.intervals = make([]uint32, queries)
	}
	if keep != nil {
		b.logged = make([]uint64, (samples+63)/64)
	}
	if r.tokens {
		b.firstToken = make([]atomic.Int64, samples)
		b.tokens = make([]atomic.Int32, samples)
		b.paused = make([]atomic.Int64, samples)
	}
	n := 0
	for ; n < queries && (t.endless || t.wanted()); n++ {
		indices, at := t.next()
		if e.Scenario == Server {
			b.start[n] = at
		}
		for _, index := range indices {
			if i := len(b.samples); keep != nil && keep() {
				b.logged[i/64] |= 1 << (i % 64)
			}
			b.samples = append(b.samples, QuerySample{ID: r.nextID, Index: index})
			r.nextID++
		}
	}
	b.start, b.slots = b.start[:n], b.slots[:len(b.samples)]
	r.blocks[next].Store(b)
	r.queries.Add(uint64(n))
	return true
}

// query returns the block of a prepared query, and its number in it.
func (r *recorder) query(q uint64) (*block, int) {
	return r.blocks[q>>r.shift].Load(), int(q & (1<<r.shift - 1))
}

// arm marks the samples of a query as issued and returns the query.
func (r *recorder) arm(b *block, q int) Query {
	first, end := q*int(r.perQuery), (q+1)*int(r.perQuery)
	for i := first; i < end; i++ {
		b.slots[i].Store(slotPending)
	}
	return Query{Samples: b.samples[first:end:end], to: r}
}

// sample returns the block of an id and its number in it, or nil for an id that this
// phase has not given out.
func (r *recorder) sample(id ResponseID) (*block, int) {
	local := uint32(id - r.base) // an id of an earlier phase becomes large
	q := local
	if r.perQuery != 1 {
		q /= r.perQuery
	}
	n := q >> r.shift
	if int(n) >= len(r.blocks) {
		return nil, 0
	}
	b := r.blocks[n].Load()
	if b == nil {
		return nil, 0
	}
	i := int(local - n<<r.shift*r.perQuery)
	if i >= len(b.slots) {
		return nil, 0
	}
	return b, i
}

// now is the time since the start of the phase in nanoseconds.
func (r *recorder) now() int64 { return int64(clock.Since(r.started)) }

// expect sets how many samples await waits for, counted from the start of the phase.
func (r *recorder) expect(n int64) { r.awaited.Store(n) }

// await blocks until as many samples are complete as are expected. Only one goroutine
// may wait at a time. The order of the steps makes a lost wake-up impossible:
// either the waiter sees the last completion after it has parked, or the last completion
// sees the parked waiter.
func (r *recorder) await(ctx context.Context) error {
	n := r.awaited.Load()
	if r.completed.Load() >= n {
		return nil
	}
	r.parked.Store(true)
	if r.completed.Load() >= n && r.parked.CompareAndSwap(true, false) {
		return nil
	}
	select {
	case <-r.wake:
		return nil
	case <-ctx.Done():
		if !r.parked.CompareAndSwap(true, false) {
			<-r.wake // the last completion came at the same moment
			return nil
		}
		return context.Cause(ctx)
	}
}

// close ends the phase. Later completions do not count; they are faults, unless the phase
// was cut short and the SUT could not know.
func (r *recorder) close(cutShort bool) {
	r.cutShort.Store(cutShort)
	r.closed.Store(true)
}

// The following functions run in the SUT's goroutines.

// complete records the answers of samples.
func (r *recorder) complete(responses []QuerySampleResponse) {
	now := r.now()
	if len(responses) == 0 || r.over("the SUT completed sample %d after its part of the test had ended", responses[0].ID) {
		return
	}
	n := int64(0)
	for i := range responses {
		b, slot := r.take(responses[i].ID, slotDone+now)
		if b == nil {
			continue
		}
		n++
		if b.tokens != nil {
			b.tokens[slot].Store(responses[i].NTokens)
			b.paused[slot].Store(int64(responses[i].Paused))
			r.checkTokens(b, slot)
		}
		if r.logs(b, slot) {
			r.log.add(b.samples[slot], &responses[i])
		}
	}
	r.count(n)
}

// fail records that a sample could not be answered.
func (r *recorder) fail(id ResponseID, err error) {
	if r.over("the SUT completed sample %d after its part of the test had ended", id) {
		return
	}
	b, i := r.take(id, slotFailed)
	if b == nil {
		return
	}
	r.failed.Add(1)
	if r.logs(b, i) {
		r.log.add(b.samples[i], &QuerySampleResponse{})
	}
	r.faults.add(faultSample, "the SUT could not answer sample %d (data index %d): %w", id, b.samples[i].Index, err)
	r.count(1)
}

// firstToken records the first tokens of samples.
func (r *recorder) firstToken(responses []QuerySampleResponse) {
	now := r.now()
	for i := range responses {
		id := responses[i].ID
		b, n := r.sample(id)
		switch {
		case r.over("the SUT reported a first token of sample %d after its part of the test had ended", id):
		case b == nil || b.slots[n].Load() == slotIdle:
			r.faults.add(faultUnknownID, "the SUT reported a first token of response id %d, which was not issued in this part of the test", id)
		case b.firstToken == nil:
			r.faults.add(faultToken, "the SUT reports first tokens, but use_token_latencies is off")
		case !b.firstToken[n].CompareAndSwap(slotIdle, slotDone+now):
			r.faults.add(faultToken, "the SUT reported the first token of sample %d more than once", id)
		case r.logs(b, n):
			r.log.addToken(id, responses[i].Data)
		}
	}
}

// over reports whether the phase has ended, and notes as a fault that the SUT did not know.
func (r *recorder) over(fault string, id ResponseID) bool {
	if !r.closed.Load() {
		return false
	}
	if !r.cutShort.Load() {
		r.faults.add(faultAfterEnd, fault, id)
	}
	return true
}

// take fills the slot of a sample. It returns its block and its number there, or nil if the
// sample cannot be completed.
func (r *recorder) take(id ResponseID, outcome int64) (*block, int) {
	b, i := r.sample(id)
	switch {
	case b != nil && b.slots[i].CompareAndSwap(slotPending, outcome):
		return b, i
	case b == nil || b.slots[i].Load() == slotIdle:
		r.faults.add(faultUnknownID, "the SUT completed response id %d, which this part of the test has not issued", id)
	default:
		r.faults.add(faultTwice, "the SUT completed sample %d (data index %d) more than once", id, b.samples[i].Index)
	}
	return nil, 0
}

// leastTokens is how many tokens a sample must have, because the time per output token is
// that of those after the first (loadgen/logging.cc, RecordSampleCompletion).
const leastTokens = 2

// checkTokens finds answers whose token latencies would not count, and so be 0.
func (r *recorder) checkTokens(b *block, i int) {
	s := b.samples[i]
	if n := b.tokens[i].Load(); n < leastTokens {
		r.faults.add(faultToken, "the SUT completed sample %d (data index %d) with %d tokens, expected at least %d", s.ID, s.Index, n, leastTokens)
	}
	if r.needsFirstToken && b.firstToken[i].Load() == slotIdle {
		r.faults.add(faultToken, "the SUT completed sample %d (data index %d) without having reported its first token", s.ID, s.Index)
	}
}

// logs reports whether the accuracy log keeps the response of a sample.
func (r *recorder) logs(b *block, i int) bool {
	return r.log != nil && (b.logged == nil || b.logged[i/64]>>(i%64)&1 != 0)
}

// count adds samples to those that are complete, and wakes the goroutine that awaits the last.
func (r *recorder) count(n int64) {
	if n == 0 || r.completed.Add(n) != r.awaited.Load() {
		return
	}
	if r.parked.CompareAndSwap(true, false) {
		r.wake <- struct{}{}
	}
}
