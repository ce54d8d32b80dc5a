package loadgen

import (
	"context"
	"fmt"
	"math"
	"sync/atomic"
	"time"
)

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

	stop     context.CancelCauseFunc // gives the phase up
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
		if !p.extend() {
			return fmt.Errorf("the test would have more than %d samples", uint64(math.MaxUint32))
		}
	}
	if p.e.Scenario == Offline {
		b, q := p.rec.query(0)
		p.rec.arm(b, q) // marking millions of samples is not part of the test
	}
	return nil
}

// extend draws one more block of queries. It returns false if there are no more, or
// the test has no more ids to give.
func (p *phase) extend() bool {
	return p.rec.grow(p.traffic, &p.e, p.keep)
}

// run issues all queries, from as many goroutines as there are issue threads, and
// returns when the last loop has ended. Loops end early when ctx is done.
func (p *phase) run(ctx context.Context) {
	if p.e.Scenario == Server {
		p.serve(ctx)
		return
	}
	p.report(0, p.guard(func() ending { return p.stream(ctx) }))
}

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

// stream is the issue loop of SingleStream and MultiStream, which wait for the
// answer before they go on, and of Offline, which has one query.
func (p *phase) stream(ctx context.Context) ending {
	p.rec.expect(0)
	perQuery := int64(p.rec.perQuery)
	clock := intervalClock{qps: p.e.TargetQPS}
	if p.e.FixedInterval {
		clock.pacer = p.pacer()
		p.priority.Store(clock.pacer.Begin(meanGap(p.e.TargetQPS)))
		defer clock.pacer.End()
	}
	for n := uint64(0); ctx.Err() == nil; {
		if n == p.rec.queries.Load() && (!p.traffic.endless || !p.extend()) {
			return p.exhausted()
		}
		p.waitForLog(ctx)
		b, q := p.rec.query(n)
		query, now := p.start(ctx, &clock, b, q)
		if clock.pacer != nil && ctx.Err() != nil {
			return endStopped
		}
		n++
		p.rec.expect(int64(n) * perQuery)
		p.sut.IssueQuery(query)
		p.returned.Store(int64(n))

		end := p.over(n, now, 1, 0)
		if p.e.Scenario != Offline {
			if err := p.rec.await(ctx); err != nil {
				return endStopped
			}
		}
		if end != endScheduled {
			return end
		}
	}
	return endStopped
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

// start arms a query, waits for its interval if there are such, and notes when its
// latency begins.
func (p *phase) start(ctx context.Context, clock *intervalClock, b *block, q int) (Query, int64) {
	if p.e.Scenario == Offline { // armed already, and begins with the test
		return Query{Samples: b.samples, to: p.rec}, p.rec.now()
	}
	if clock.pacer == nil {
		query := p.rec.arm(b, q)
		now := p.rec.now()
		b.start[q] = now
		return query, now
	}
	tick, passed := clock.next(p.rec.now())
	now := int64(clock.pacer.WaitUntil(ctx, p.rec.started, time.Duration(tick)))
	if ctx.Err() != nil {
		return Query{}, now
	}
	b.start[q], b.late[q], b.intervals[q] = tick, latenessOf(now-tick), passed
	b.own[q] = b.late[q] // an interval that begins inside IssueQuery is skipped
	return p.rec.arm(b, q), now
}

// exhausted is the ending when there are no more queries: regular in accuracy mode.
func (p *phase) exhausted() ending {
	if p.accuracy {
		return endScheduled
	}
	return endRanOut
}

// over reports whether an issue loop ends after its n-th query, issued at now.
func (p *phase) over(n uint64, now int64, threads, thread uint64) ending {
	e := &p.e
	switch {
	case p.accuracy:
		return endScheduled
	case e.Scenario != Server && n >= e.MinQueryCount && now >= int64(e.TargetDuration):
		return endNatural
	case e.MaxQueryCount != 0 && n >= share(e.MaxQueryCount, threads, thread):
		return endMaxQueries
	case e.MaxDuration != 0 && now > int64(e.MaxDuration):
		return endMaxDuration
	}
	return endScheduled
}

// share divides a number of queries among the issue threads.
func share(count, threads, thread uint64) uint64 {
	n := count / threads
	if thread < count%threads {
		n++
	}
	return n
}

// ended is why the phase ended before its time; endScheduled if it did not.
func (p *phase) ended() ending { return ending(p.early.Load()) }

// report records why a loop ended, under the keys of the reference.
func (p *phase) report(thread uint64, end ending) {
	if end != endNatural {
		p.early.CompareAndSwap(uint32(endScheduled), uint32(end))
	}
	issued := p.returned.Load()
	early := func(format string, args ...any) {
		p.events.fail("error_runtime", fmt.Sprintf("issue thread %d ended early: ", thread)+format, args...)
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
