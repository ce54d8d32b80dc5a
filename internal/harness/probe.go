package harness

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/machine/clock"
)

// A Probe takes short measurements of an opened model, to compare ways to run it. It writes, judges and keeps
// nothing. One goroutine uses it.
type Probe struct{ r *run }

// OpenProbe opens the model and data of a run. What only concerns whole runs (OutputDir,
// Runs, FindPeak, …) is ignored. If instances or threads are left open, the model is also
// warmed up as in a run, because the choice may depend on that; if not, Times warms it up,
// and should come before Test.
func OpenProbe(ctx context.Context, cfg Config) (*Probe, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	p := &Probe{newRun(cfg)}
	err := p.r.open(ctx)
	if err == nil && (cfg.Instances == 0 || cfg.Backend.IntraThreads == 0) {
		err = p.r.warmUp(ctx)
	}
	if err == nil {
		err = p.r.measureCosts(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

// Close frees the model and the data.
func (p *Probe) Close() error { return p.r.close() }

// Shape says how many workers there are, how many threads each has, and how many samples
// it takes at most, as given or chosen.
func (p *Probe) Shape() (workers, threads, batch int) {
	s := p.r.model.shape
	return s.workers, s.threads, s.batch
}

// FixedBatch is how many samples the model takes in one run; 0: any number.
func (p *Probe) FixedBatch() int { return p.r.workload.Batch }

// LatencyBound is the Server bound: that of the settings, or if Config.AutoLatency asks for
// it and the machine cannot keep that one, one that it can.
func (p *Probe) LatencyBound() time.Duration {
	_ = p.r.chooseLatencyBound() // measurements show whether it can be met
	return p.r.cfg.Settings.ServerTargetLatency
}

// Times has the first workers run the model at once, each on a batch of its own, again and
// again for about a while. It returns how long the runs took, in ascending order: at least
// one of each worker, after one that does not count.
func (p *Probe) Times(ctx context.Context, workers, batch int, d time.Duration) ([]time.Duration, error) {
	if s := p.r.model.shape; workers < 1 || workers > s.workers || batch < 1 || batch > s.batch {
		return nil, fmt.Errorf("timing %d workers with batches of %d: there are %d with batches of up to %d", workers, batch, s.workers, s.batch)
	}
	items, err := p.r.sampleRows(ctx, batch)
	if err != nil {
		return nil, err
	}
	times, errs := make([][]time.Duration, workers), make([]error, workers)
	var wg sync.WaitGroup
	var begin time.Time
	measure := func(runs func(i int)) {
		begin = clock.Now()
		for i := range workers {
			wg.Go(func() { runs(i) })
		}
		wg.Wait()
	}
	measure(func(i int) { errs[i] = tryOut(ctx, p.r.model.predictors[i], items) })
	measure(func(i int) {
		for errs[i] == nil && (len(times[i]) == 0 || clock.Since(begin) < d) {
			start := clock.Now()
			errs[i] = tryOut(ctx, p.r.model.predictors[i], items)
			times[i] = append(times[i], clock.Since(start))
		}
	})
	all := slices.Concat(times...)
	slices.Sort(all)
	return all, errors.Join(errs...)
}

// Test has the load generator run a test of these settings. A test that was cut short is an
// error.
func (p *Probe) Test(ctx context.Context, s loadgen.TestSettings) (*loadgen.Result, error) {
	test, err := p.r.traffic(ctx, s, nil, nil)
	if failure := p.r.failure.Load(); failure != nil {
		return nil, *failure
	}
	if err == nil && test.Interrupted != nil {
		err = test.Interrupted
	}
	if err != nil {
		return nil, err
	}
	return test, errors.Join(test.Faults...)
}
