package harness

import (
	"context"

	"github.com/mlperf-go/mlperf/internal/machine"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// cores are the processors of a worker, one for each of its threads and its own first; nil: any.
func (c Config) cores(s shape, worker int) []int {
	if len(c.Processors) == 0 {
		return nil
	}
	return c.Processors[worker*s.threads:][:s.threads]
}

// checkProcessors refuses to pin more threads than there are processors.
func (c Config) checkProcessors(s shape) error {
	if n := len(c.Processors); n > 0 && s.workers > n/s.threads {
		return userinput.Errorf("pin", "%d workers with %d threads want a processor each, this process may use %d", s.workers, s.threads, n)
	}
	return nil
}

// pinned has a predictor run on a processor of its own; on any if there are none.
func pinned(p predictor, cores []int) predictor {
	if len(cores) == 0 {
		return p
	}
	on := pinnedPredictor{p.Predictor, cores[0]}
	if p.decoder != nil {
		p.decoder = pinnedDecoder{on, p.decoder}
	}
	p.Predictor = on
	return p
}

type pinnedPredictor struct {
	workload.Predictor
	core int
}

// Predict implements workload.Predictor. Pinning takes microseconds, and holds for the warm-up,
// the measurements before a test, and the thread that issues just as well.
func (p pinnedPredictor) Predict(ctx context.Context, items []workload.Item, reply workload.Reply) error {
	release, err := machine.Pin(p.core)
	if err != nil {
		return err
	}
	defer release()
	return p.Predictor.Predict(ctx, items, reply)
}

type pinnedDecoder struct {
	pinnedPredictor
	decoder workload.Decoder
}

// Serve implements workload.Decoder.
func (p pinnedDecoder) Serve(ctx context.Context, source workload.Source) error {
	release, err := machine.Pin(p.core)
	if err != nil {
		return err
	}
	defer release()
	return p.decoder.Serve(ctx, source)
}

// pinnedTo are the processors of all workers.
func (r *run) pinnedTo() []int {
	s := r.model.shape
	return r.cfg.Processors[:min(s.workers*s.threads, len(r.cfg.Processors))]
}
