package loadgen

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"
	"sync"
	"time"

	"github.com/mlperf-go/mlperf/internal/machine/clock"
	"github.com/mlperf-go/mlperf/internal/machine/priority"
	"github.com/mlperf-go/mlperf/internal/units"
)

// This file watches over a phase while its queries are issued and answered.

// errGivenUp is the cause with which a phase is stopped whose SUT has stalled or
// panicked, or whose accuracy log has failed; the faults say what happened.
var errGivenUp = errors.New("the SUT was given up")

// graceAfterStop is how long a stopped test waits for the SUT to return from IssueQuery.
const graceAfterStop = 500 * time.Millisecond

// supervise runs the issue loops, waits for the last answer, and gives up a SUT that makes no progress.
func (t *test) supervise(ctx context.Context, p *phase) error {
	running, stop := context.WithCancelCause(ctx)
	p.stop = stop
	if !p.e.onSchedule() {
		defer priority.LowerMonitor()()
	}
	issued := make(chan struct{})
	go func() {
		defer close(issued)
		p.run(running)
		p.issued.Store(true)
		p.flushing.Store(true)
		p.guard(func() ending {
			p.sut.FlushQueries()
			return endScheduled
		})
		p.flushing.Store(false)
	}()
	<-p.started
	var watching sync.WaitGroup
	watching.Go(func() { t.watch(running, p) })

	complete := false
	select {
	case <-issued:
		p.rec.expect(p.returned.Load() * int64(p.rec.perQuery))
		complete = t.drain(running, p) && ending(p.early.Load()) != endStopped
	case <-running.Done():
		select {
		case <-issued:
		case <-time.After(graceAfterStop):
			p.rec.faults.add(faultStall, "the SUT has not returned from IssueQuery or FlushQueries")
		}
	}
	stop(nil)
	watching.Wait()
	switch {
	case complete:
		return nil
	case ctx.Err() != nil:
		return t.interrupted(ctx)
	}
	return errOver
}

// drain waits for the last answer and reports whether it came: in a test that ended by Options.MaxOutstanding for at most MaxDrain.
func (t *test) drain(ctx context.Context, p *phase) bool {
	limit := t.opts.MaxDrain
	if limit <= 0 || ending(p.early.Load()) != endOutstanding || p.e.MaxAsyncQueries != 0 {
		return p.rec.await(ctx) == nil
	}
	p.dropAt.Store(p.rec.now() + int64(limit))
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if p.rec.await(limited) == nil {
		return true
	}
	if ctx.Err() == nil {
		p.rec.faults.add(faultDropped, "too many queries were outstanding when issuing ended, and %d samples had no answer %s later: they are dropped",
			p.rec.awaited.Load()-p.rec.completed.Load(), units.Duration(limit))
	}
	return false
}

// watch reports progress, saves checkpoints, and gives up a SUT or a log that makes no progress.
func (t *test) watch(ctx context.Context, p *phase) {
	opts, saved := t.opts, clock.Now()
	ticker := time.NewTicker(opts.ProgressEvery)
	defer ticker.Stop()
	scratch := make([]int64, 0, recentQueries)
	last, since := int64(-1), clock.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-ticker.C:
			if opts.Progress != nil {
				opts.Progress(p.progress(now, scratch))
			}
			if p.rec.log != nil {
				if err, _ := p.rec.log.failure(now); err != nil {
					p.stop(errGivenUp) // runPhase says why
					return
				}
			}
			if now.Sub(saved) >= opts.CheckpointEvery {
				t.checkpoint(p)
				saved = clock.Now()
			}
			work := p.rec.completed.Load() + p.entered() + p.returned.Load() + opts.Working()
			if owed := p.owes(); work != last || owed == "" {
				last, since = work, now
			} else if idle := now.Sub(since); idle >= opts.StallTimeout {
				p.rec.faults.add(faultStall, "the SUT has stalled: for %s it %s", units.Duration(idle.Round(time.Second)), owed)
				p.stop(errGivenUp)
				return
			}
		}
	}
}

// owes names the part that the test waits for; empty if it waits for the schedule.
func (p *phase) owes() string {
	entered, returned := p.entered(), p.returned.Load()
	outstanding := returned*int64(p.rec.perQuery) - p.rec.completed.Load()
	switch {
	case entered > returned:
		return "has not returned from IssueQuery"
	case p.flushing.Load():
		return "has not returned from FlushQueries"
	case outstanding > 0:
		return fmt.Sprintf("has completed none of the %d samples that it has", outstanding)
	}
	return ""
}

// recentQueries is how many queries the latency shown as progress comes from.
const recentQueries = 2048

func (p *phase) progress(now time.Time, scratch []int64) Progress {
	all, issued := p.e.Scenario == Server && p.issued.Load(), uint64(p.returned.Load())
	planned := max(p.planned(), issued)
	if all {
		planned = issued
	}
	g := Progress{
		Accuracy:  p.accuracy,
		Set:       p.number,
		Sets:      p.of,
		Elapsed:   now.Sub(p.rec.started),
		Issued:    issued,
		AllIssued: all,
		Planned:   planned,
		Completed: p.rec.answered(),
		Samples:   planned * uint64(p.rec.perQuery),
		Test:      &p.e,
	}
	if at := p.dropAt.Load(); at > 0 {
		g.DropIn = max(time.Duration(at)-g.Elapsed, 1)
	}
	if p.e.Scenario == Offline {
		return g
	}
	if !p.accuracy && p.e.TargetDuration > 0 && !p.e.PerformanceIssueUnique {
		g.PlannedDuration = p.e.TargetDuration
	}
	if recent := p.rec.recentLatencies(issued, scratch); len(recent) > 0 {
		slices.Sort(recent)
		at := func(share float64) time.Duration {
			return time.Duration(recent[percentileRank(uint64(len(recent)), share)])
		}
		g.RecentP50, g.RecentP90, g.RecentP99, g.RecentTarget = at(0.5), at(0.9), at(0.99), at(p.e.TargetLatencyPercentile)
		if limit := int64(p.e.TargetLatency); limit > 0 {
			g.RecentWithin = float64(sort.Search(len(recent), func(i int) bool { return recent[i] > limit })) / float64(len(recent))
		}
	}
	return g
}

// planned is how many queries end the phase if the SUT is as fast as expected. Where
// the clock ends it, twice as many are prepared.
func (p *phase) planned() uint64 {
	if !p.traffic.endless {
		return p.traffic.count
	}
	lasts := uint64(math.Ceil(seconds(p.e.TargetDuration) * p.e.TargetQPS))
	if !p.e.FixedInterval {
		lasts++ // the first is issued at once, not after an interval
	}
	n := max(p.e.MinQueryCount, lasts)
	if most := p.e.MaxQueryCount; most != 0 {
		n = min(n, most)
	}
	return n
}

// ErrUnfinished is why a checkpoint is the result of an interrupted test.
var ErrUnfinished = errors.New("the test has not ended")

// checkpointQueries bounds how many queries a checkpoint is computed from: beyond it the
// time for that would be missing elsewhere.
const checkpointQueries = 1 << 20

// checkpoint passes on the result so far, while a phase runs, or with nil before the first.
func (t *test) checkpoint(p *phase) {
	if t.opts.Checkpoint == nil {
		return
	}
	select {
	case t.saving <- struct{}{}:
	default:
		return // the one before is still being saved
	}
	partial := *t.result
	partial.Interrupted = fmt.Errorf("%w: this is what was known after %s", ErrUnfinished, units.Duration(clock.Since(t.result.StartTime)))
	partial.Events = append(t.events.snapshot(), Event{
		Time: clock.Now(), Key: "error_runtime", Value: partial.Interrupted.Error(), IsError: true,
	})
	partial.Faults = t.faults.list()
	// Statistics of fixed intervals are read from where the issue thread writes.
	if p != nil && !p.accuracy && !p.e.FixedInterval && p.returned.Load() > 0 && p.rec.answered() <= checkpointQueries {
		partial.Performance = p.performance(t.result.StartTime, t.opts.MaxIssueDelay)
	}
	go func() {
		defer func() { <-t.saving }()
		t.opts.Checkpoint(&partial)
	}()
}

// endCheckpoints waits for the last checkpoint, so that it does not replace the files written
// after the test. It gives up storage that takes nothing.
func (t *test) endCheckpoints() {
	select {
	case t.saving <- struct{}{}:
	case <-time.After(t.opts.LogTimeout):
		t.faults.add(faultAccuracyLog, "a checkpoint has not been saved within %v", t.opts.LogTimeout)
	}
}
