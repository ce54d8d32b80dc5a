package loadgen

import (
	"errors"
	"fmt"
	"time"
)

// ErrUnfinished is why a checkpoint is the result of an interrupted test.
var ErrUnfinished = errors.New("the test has not ended")

// checkpointQueries bounds how many queries a checkpoint is computed from: beyond it the
// time for that would be missing elsewhere.
const checkpointQueries = 1 << 20

// checkpoint passes on what is known while a phase runs, or before the first.
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
	partial.Interrupted = fmt.Errorf("%w: this is what was known after %v", ErrUnfinished, Round(time.Since(t.result.StartTime)))
	partial.Events = append(t.events.snapshot(), Event{
		Time: time.Now(), Key: "error_runtime", Value: partial.Interrupted.Error(), IsError: true,
	})
	partial.Faults = t.faults.list()
	if p != nil && p.measurable() {
		partial.Performance = p.performance(t.result.StartTime, t.opts)
	}
	go func() {
		defer func() { <-t.saving }()
		t.opts.Checkpoint(&partial)
	}()
}

// endCheckpoints waits for the last checkpoint, so that it does not replace what is written
// after the test. Storage that takes nothing is not waited for.
func (t *test) endCheckpoints() {
	select {
	case t.saving <- struct{}{}:
	case <-time.After(t.opts.LogTimeout):
		t.faults.add(faultAccuracyLog, "a checkpoint has not been saved within %v", t.opts.LogTimeout)
	}
}

// measurable reports whether statistics may be made while the phase runs. Those of fixed
// intervals are read from where the issue thread writes.
func (p *phase) measurable() bool {
	return !p.accuracy && !p.e.FixedInterval && p.returned.Load() > 0 && p.rec.answered() <= checkpointQueries
}
