package loadgen

import (
	"context"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mlperf-go/mlperf/internal/machine/clock"
)

// This file issues the queries (loadgen/issue_query_controller.cc).

// A phase issues the traffic of one loaded set and collects the answers. Accuracy
// mode has a phase for each loaded set, performance mode has one.
type phase struct {
	e        EffectiveSettings
	accuracy bool
	sut      SUT
	pacer    func() Pacer
	traffic  *traffic
	keep     func() bool // which responses are logged; nil: all, or none if rec.log is nil
	rec      *recorder
	events   *eventLog
	number   int // of this phase's loaded set, counted from 1, …
	of       int // … of how many
	gc       GCStats

	maxOutstanding uint64 // Server, where the settings give no limit; 0: none

	starting atomic.Int64            // issue threads that are not ready
	started  chan struct{}           // closed when the clock runs
	stop     context.CancelCauseFunc // gives the phase up
	issued   atomic.Bool             // all queries
	dropAt   atomic.Int64            // when answers are no longer awaited, in ns since the start; 0: never
	flushing atomic.Bool             // inside FlushQueries
	early    atomic.Uint32           // the first ending that was not planned
	priority atomic.Value            // of the issue threads, in words
	// Of queries: handed to IssueQuery (in Server; see entered), and returned from it.
	handed   atomic.Int64
	returned atomic.Int64
}

// entered is how many queries were handed to IssueQuery. Where a query waits for the one
// before, that is how many are expected to be answered.
func (p *phase) entered() int64 {
	if p.e.Scenario == Server {
		return p.handed.Load()
	}
	return p.rec.awaited.Load() / int64(p.rec.perQuery)
}

// An ending says why an issue loop stopped.
type ending uint8

const (
	endScheduled   ending = iota // all prepared queries are out
	endNatural                   // enough queries and time
	endRanOut                    // all queries are out, and they were not enough
	endMaxQueries                // max_query_count
	endMaxDuration               // max_duration
	endOutstanding               // max_async_queries
	endStopped                   // cancelled, or the SUT panicked
)

// prepare draws all queries that the reference would draw before its clock starts.
func (p *phase) prepare(ctx context.Context) error {
	for p.traffic.wanted() {
		if err := ctx.Err(); err != nil {
			return err
		}
		if !p.rec.grow(p.traffic, &p.e, p.keep) {
			return fmt.Errorf("the test would have more than %d samples", uint64(math.MaxUint32))
		}
	}
	if p.e.Scenario == Offline {
		b, q := p.rec.query(0)
		p.rec.arm(b, q) // marking millions of samples is not part of the test
	}
	return nil
}

// run issues all queries, from a goroutine for each issue thread, and
// returns when the last loop has ended. Loops end early when ctx is done.
func (p *phase) run(ctx context.Context) {
	if p.e.Scenario != Server {
		p.starting.Store(1)
		p.report(0, p.guard(func() ending { return p.issueInTurn(ctx) }))
		return
	}
	var wg sync.WaitGroup
	threads := uint64(p.e.IssueQueryThreads)
	p.starting.Store(int64(threads))
	for thread := range threads {
		wg.Go(func() {
			pacer := p.pacer()
			p.priority.Store(pacer.Begin(meanGap(p.e.TargetQPS / float64(threads))))
			defer pacer.End()
			p.startClock()
			p.report(thread, p.guard(func() ending { return p.issueOnSchedule(ctx, pacer, threads, thread) }))
		})
	}
	wg.Wait()
}

// startClock starts the clock when the last issue thread calls it: until a thread is there and has its priority, a busy
// system lets milliseconds pass.
func (p *phase) startClock() {
	if p.starting.Add(-1) == 0 {
		p.rec.started = clock.Now()
		close(p.started)
	}
	<-p.started
}

// meanGap is the mean time between two queries of an issue thread.
func meanGap(qps float64) time.Duration { return time.Duration(float64(time.Second) / qps) }

// guard turns a panic of the SUT into a fault: what was measured until then is
// still reported.
func (p *phase) guard(loop func() ending) (end ending) {
	defer func() {
		if v := recover(); v != nil {
			p.rec.faults.add(faultPanic, "the SUT panicked: %v", v)
			p.stop(errGivenUp)
			end = endStopped
		}
	}()
	return loop()
}

// issueInTurn is the issue loop of SingleStream and MultiStream, which wait for the
// answer before they go on, and of Offline, which has one query.
func (p *phase) issueInTurn(ctx context.Context) ending {
	p.rec.expect(0)
	perQuery := int64(p.rec.perQuery)
	var pacer Pacer // of fixed intervals
	clock := intervalClock{qps: p.e.TargetQPS}
	if p.e.FixedInterval {
		pacer = p.pacer()
		p.priority.Store(pacer.Begin(meanGap(p.e.TargetQPS)))
		defer pacer.End()
	}
	p.startClock()
	for n := uint64(0); ctx.Err() == nil; {
		if n == p.rec.queries.Load() && (!p.traffic.endless || !p.rec.grow(p.traffic, &p.e, p.keep)) {
			if p.accuracy {
				return endScheduled
			}
			return endRanOut
		}
		p.waitForLog(ctx)
		b, q := p.rec.query(n)
		var query Query
		var now int64
		switch {
		case p.e.Scenario == Offline: // armed already, and begins with the test
			query, now = Query{Samples: b.samples, to: p.rec}, p.rec.now()
		case pacer == nil:
			query = p.rec.arm(b, q)
			now = p.rec.now()
			b.start[q] = now
		default:
			tick, passed := clock.next(p.rec.now())
			now = int64(pacer.WaitUntil(ctx, p.rec.started, time.Duration(tick)))
			if ctx.Err() != nil {
				return endStopped
			}
			b.start[q], b.late[q], b.intervals[q] = tick, latenessOf(now-tick), passed
			b.own[q] = b.late[q] // an interval that begins inside IssueQuery is skipped
			query = p.rec.arm(b, q)
		}
		n++
		p.rec.expect(int64(n) * perQuery)
		p.sut.IssueQuery(query)
		p.returned.Store(int64(n))

		end := p.ends(n, now, p.e.MaxQueryCount)
		if p.e.Scenario != Offline && p.rec.await(ctx) != nil {
			return endStopped
		}
		if end != endScheduled {
			return end
		}
	}
	return endStopped
}

// issueOnSchedule is an issue loop of Server: every threads-th query, each at its scheduled instant.
func (p *phase) issueOnSchedule(ctx context.Context, pacer Pacer, threads, thread uint64) ending {
	rec := p.rec
	most := p.e.MaxQueryCount / threads // the thread's share
	if thread < p.e.MaxQueryCount%threads {
		most++
	}
	outstanding := p.e.MaxAsyncQueries
	if outstanding == 0 {
		outstanding = p.maxOutstanding
	}
	issued, ideal := uint64(0), newIdealGenerator()
	for n := thread; n < rec.queries.Load(); n += threads {
		p.waitForLog(ctx)
		b, q := rec.query(n)
		now := rec.now()
		ideal.returned(now)
		if now < b.start[q] {
			now = int64(pacer.WaitUntil(ctx, rec.started, time.Duration(b.start[q])))
		} else {
			now = int64(pacer.Rest(rec.started, time.Duration(now)))
		}
		if ctx.Err() != nil {
			return endStopped
		}
		query := rec.arm(b, q) // not before, or an answer that comes too early would count
		b.late[q], b.own[q] = latenessOf(now-b.start[q]), ideal.issue(b.start[q], now)
		count := uint64(1)
		if p.e.ServerCoalesceQueries {
			query, count = p.coalesce(query, n, threads, &ideal)
			n += (count - 1) * threads
		}
		p.handed.Add(int64(count))
		p.sut.IssueQuery(query)
		p.returned.Add(int64(count))
		issued += count
		if outstanding != 0 && !p.accuracy && p.returned.Load()-rec.completed.Load() > int64(outstanding) {
			return endOutstanding
		}
		if end := p.ends(issued, now, most); end != endScheduled {
			return end
		}
	}
	return endScheduled
}

// coalesce adds to a query those whose time has also come, and returns how many
// queries it holds then.
func (p *phase) coalesce(query Query, n, threads uint64, ideal *idealGenerator) (Query, uint64) {
	count, now := uint64(1), ideal.issued
	for next := n + threads; next < p.rec.queries.Load(); next += threads {
		b, q := p.rec.query(next)
		if now < b.start[q] {
			break
		}
		p.rec.arm(b, q)
		b.late[q], b.own[q] = latenessOf(now-b.start[q]), ideal.delay(b.start[q])
		count++
	}
	if count == 1 {
		return query, 1
	}
	first, q := p.rec.query(n)
	if last, _ := p.rec.query(n + count - 1); threads == 1 && last == first {
		query.Samples = first.samples[q : q+int(count) : q+int(count)]
		return query, count
	}
	// The samples do not lie side by side. This is the only allocation of a loop, and
	// only of a loop that is late already.
	samples := make([]QuerySample, 0, count)
	for i := range count {
		b, q := p.rec.query(n + i*threads)
		samples = append(samples, b.samples[q])
	}
	query.Samples = samples
	return query, count
}

// waitForLog holds back queries of accuracy mode while the log has too much to write.
func (p *phase) waitForLog(ctx context.Context) {
	for p.accuracy && p.rec.log != nil && !p.rec.log.room(p.returned.Load()*int64(p.rec.perQuery)-p.rec.completed.Load()) {
		select {
		case <-time.After(time.Millisecond):
		case <-ctx.Done():
			return
		}
	}
}

// ends reports whether an issue loop, which may issue most queries if the settings limit them, ends after its n-th,
// issued at now.
func (p *phase) ends(n uint64, now int64, most uint64) ending {
	e := &p.e
	switch {
	case p.accuracy:
		return endScheduled
	case e.Scenario != Server && n >= e.MinQueryCount && now >= int64(e.TargetDuration):
		return endNatural
	case e.MaxQueryCount != 0 && n >= most:
		return endMaxQueries
	case e.MaxDuration != 0 && now > int64(e.MaxDuration):
		return endMaxDuration
	}
	return endScheduled
}

// report records why a loop ended, under the keys of the reference.
func (p *phase) report(thread uint64, end ending) {
	if end != endNatural {
		p.early.CompareAndSwap(uint32(endScheduled), uint32(end))
	}
	issued := p.returned.Load()
	early := func(format string, args ...any) {
		p.events.fail(fmt.Sprintf("issue thread %d ended early: ", thread)+format, args...)
	}
	switch end {
	case endNatural:
		p.events.message("issuing ended as planned: minimum query count and test duration are reached")
	case endRanOut:
		early("all prepared queries are issued, but the minimum query count or test duration is not reached; " +
			"correct the expected latency or target QPS in the settings")
	case endMaxQueries:
		early("max_query_count is reached after %d queries", issued)
	case endMaxDuration:
		early("max_duration is reached after %d ns", p.rec.now())
	case endOutstanding:
		early("too many queries are outstanding: %d of the %d issued", issued-p.rec.completed.Load(), issued)
	}
}

// An intervalClock ticks at fixed intervals (loadgen/issue_query_controller.cc at v1.0,
// QueryScheduler for MultiStream).
type intervalClock struct {
	qps  float64
	tick uint64
}

// next returns the first tick that is not over yet, and how many intervals it is after the
// one before: more than 1 says that intervals were skipped.
func (c *intervalClock) next(now int64) (at int64, passed uint32) {
	before := c.tick
	if due := uint64(seconds(time.Duration(now)) * c.qps); due > c.tick {
		c.tick = due - 1 // one tick early at most, whatever the rounding
	}
	for {
		c.tick++
		if at = nanoseconds(float64(c.tick) / c.qps); at >= now {
			return at, uint32(min(c.tick-before, math.MaxUint32))
		}
	}
}

// An idealGenerator tells the delay of an issue thread from that of the SUT, which delays later
// queries if it stays inside IssueQuery when they are due. It follows what a generator
// without any delay would do with the same SUT: such a generator issues a query at its
// scheduled instant, or when IssueQuery has returned. What is later than that is the
// thread's own delay. Instants are nanoseconds since the start of the phase.
type idealGenerator struct {
	at     int64 // when the ideal generator issued the last query; then, when it was free again
	issued int64 // when the thread issued it
}

func newIdealGenerator() idealGenerator { return idealGenerator{math.MinInt64, math.MinInt64} }

// returned records that IssueQuery has returned.
func (g *idealGenerator) returned(now int64) {
	if g.issued != math.MinInt64 {
		g.at += now - g.issued
	}
}

// issue records that a query is issued now, and returns the thread's own delay.
func (g *idealGenerator) issue(scheduled, now int64) lateness {
	g.at, g.issued = max(g.at, scheduled), now
	return g.delay(scheduled)
}

// delay is the thread's own part of the lateness of a query that is issued with the last.
func (g *idealGenerator) delay(scheduled int64) lateness {
	return latenessOf(g.issued - max(g.at, scheduled))
}
