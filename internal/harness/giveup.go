package harness

import (
	"context"
	"errors"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend"
)

// failOnce returns what the SUT is to call when a prediction fails: the test ends then,
// because nothing that follows could make it valid.
func (r *run) failOnce(stop context.CancelCauseFunc) func(error) {
	return func(err error) {
		if r.failure.CompareAndSwap(nil, &err) {
			stop(err)
		}
	}
}

// unlessOthersAnswer leaves a test alone that loses one of several servers: the samples that it had
// fail, which makes the run INVALID, and those that follow go to the others.
func unlessOthersAnswer(failed func(error)) func(error) {
	return func(err error) {
		var loss backend.Loss
		if errors.As(err, &loss) && loss.Survivors() > 0 {
			return
		}
		failed(err)
	}
}

const (
	hopelessWork   = 10 * time.Second
	hopelessBounds = 4
	hopelessLeast  = 1000
)

// hopeless is how many queries of a Server test may be outstanding before it ends: as many
// as are 10 s of work, or come within four latency bounds, and at least 1000. A system with
// such a queue has long missed its bound, and answering it all would only take longer than
// the test was to last, and memory.
// Where tokens have bounds and queries have none, there is no such number, and none for servers: what
// a server makes of its load is what is measured.
func (r *run) hopeless() uint64 {
	if r.settings.UseTokenLatencies || r.model.prompts() != nil {
		return 0
	}
	work := float64(hopelessWork) / float64(r.warm.latency) * float64(r.model.shape.workers*r.model.shape.batch)
	return uint64(work + hopelessBounds*r.settings.ServerTargetQPS*r.settings.ServerTargetLatency.Seconds() + hopelessLeast)
}

// stallTimeout is how long the test waits for an answer: much longer than a batch takes.
func (r *run) stallTimeout() time.Duration {
	return max(2*time.Minute, 20*r.warm.latency*time.Duration(r.model.shape.batch))
}
