package harness

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/machine/clock"
	"github.com/mlperf-go/mlperf/internal/models/workload"
)

const (
	// The last runs of a warm-up are stable if they differ by less than this share.
	stableRuns  = 5
	stableShare = 0.1
	// warmUpBudget bounds how long warming up one worker takes.
	warmUpBudget = 2 * time.Second
)

// A warmUp says how long the model takes for one sample, before the test.
type warmUp struct {
	latency time.Duration // of one sample by one worker, the median of the last runs
	least   time.Duration // of all runs: other programs only make a run longer
	runs    int
	stable  bool // the last runs took about as long as each other
}

// warmUp runs the model outside the measured time until it takes about the same time
// again and again: the first runs allocate memory and plan kernels.
func (r *run) warmUp(ctx context.Context) error {
	return r.phase(ctx, "warm-up", func() error {
		if err := r.tryModel(ctx); err != nil {
			return err
		}
		return r.widen(ctx, runtime.GOMAXPROCS(0))
	})
}

// tryModel has every worker answer a batch of each size that it will see, as far as time allows, and the first one a
// sample until that is stable. A device that compiles the model for each size has to see them all.
func (r *run) tryModel(ctx context.Context) error {
	items, err := r.sampleRows(ctx, r.model.shape.batch)
	if err != nil {
		return err
	}
	start := clock.Now()
	if r.cfg.Longest > 0 {
		if err := tryOut(ctx, r.model.predictors[0], items[:1]); err != nil {
			return err
		}
		one := max(clock.Since(start), 1)
		if r.warm = (warmUp{latency: one, least: one, runs: 1}); !r.fits(2 * one) {
			return nil
		}
	}
	for _, p := range r.model.predictors {
		if r.asksServers() && clock.Since(start) > warmUpBudget {
			break // all workers ask the same servers
		}
		if !r.fits(clock.Since(start)) {
			break // as many workers as there is time for
		}
		began := clock.Now()
		for i, n := range r.warmSizes() {
			if i > 0 && !r.compiles() && clock.Since(began) > warmUpBudget || !r.fits(r.warm.latency*time.Duration(n)) {
				break
			}
			if err := tryOut(ctx, p, items[:n]); err != nil {
				return err
			}
		}
	}
	if err := r.warmLengths(ctx); err != nil {
		return err
	}
	r.warm, err = stableTime(ctx, r.model.predictors[0], items[:1])
	return err
}

// asksServers reports whether the model runs on servers.
func (r *run) asksServers() bool {
	_, asks := r.cfg.Engine.(backend.Remote)
	return asks
}

// warmSizes are those of the batches that workers are warmed up with.
func (r *run) warmSizes() []int {
	if r.model.prompts() != nil {
		return []int{1} // servers of text need no more
	}
	return r.shapeInput(1).sizes(r.model.shape.batch)
}

// compiles reports whether the device may compile the model anew for each size of a batch.
func (r *run) compiles() bool { return r.cfg.Backend.Device != "" && r.cfg.Backend.Device != "cpu" }

// warmLengths has every worker answer samples of every length that samples are padded to, in
// batches of each size, where a device may compile the model for each of them.
func (r *run) warmLengths(ctx context.Context) error {
	padded := r.workload.PaddedLength
	if padded == nil || !r.compiles() {
		return nil
	}
	seen := map[int]bool{}
	for index := range r.workload.Samples {
		if seen[padded(index)] {
			continue
		}
		seen[padded(index)] = true
		items, err := r.rowsOf(ctx, []int{index}, r.model.shape.batch)
		if err != nil {
			return err
		}
		for _, p := range r.model.predictors {
			for _, n := range r.warmSizes() {
				if err := tryOut(ctx, p, items[:n]); err != nil {
					return err
				}
			}
		}
	}
	_, err := r.sampleRows(ctx, r.model.shape.batch)
	return err
}

// warmRemainder has every worker answer as many samples as the last batch of Offline has.
func (r *run) warmRemainder(ctx context.Context) error {
	if r.cfg.Settings.Scenario != loadgen.Offline || !r.compiles() || r.workload.Batch > 0 {
		return nil
	}
	e := r.cfg.Settings.Effective(uint64(r.qsl.performance), uint64(r.workload.Samples))
	rest := int(e.SamplesPerQuery % uint64(r.model.shape.batch))
	if rest == 0 {
		return nil
	}
	items, err := r.sampleRows(ctx, rest)
	for _, p := range r.model.predictors {
		if err == nil {
			err = tryOut(ctx, p, items)
		}
	}
	return err
}

// sampleRows loads samples of the data set and returns items for a number of rows. They repeat samples
// if the data set has fewer.
func (r *run) sampleRows(ctx context.Context, rows int) ([]workload.Item, error) {
	return r.rowsOf(ctx, typical(r.workload, rows), rows)
}

// rowsOf is sampleRows for chosen samples.
func (r *run) rowsOf(ctx context.Context, samples []int, rows int) ([]workload.Item, error) {
	store, err := r.qsl.newStore(samples)
	if err != nil {
		return nil, err
	}
	for i, index := range samples {
		err := context.Cause(ctx)
		if err == nil {
			err = r.qsl.load(store, i, index)
		}
		if err != nil {
			return nil, errors.Join(err, store.Close())
		}
	}
	items := make([]workload.Item, rows)
	for i := range items {
		items[i] = workload.Item{Row: i % len(samples), Index: samples[i%len(samples)], Ticket: i}
	}
	return items, r.qsl.swap(store)
}

// typical returns at most n samples to measure with: the first ones, or if samples differ in
// size some of all sizes, so that any few of them are about as large as the others.
func typical(w *workload.Workload, n int) []int {
	all := make([]int, w.Samples)
	for i := range all {
		all[i] = i
	}
	n = min(n, len(all))
	if !differ(w) {
		return all[:n]
	}
	slices.SortStableFunc(all, func(a, b int) int { return cmp.Compare(sizeOf(w, a), sizeOf(w, b)) })
	var chosen []int
	const golden = 0.6180339887498949 // any few of its multiples are spread evenly
	for at := 0.5; len(chosen) < n; at += golden {
		i := int((at - math.Floor(at)) * float64(len(all)))
		for slices.Contains(chosen, all[i]) {
			i = (i + 1) % len(all)
		}
		chosen = append(chosen, all[i])
	}
	return chosen
}

// sizeOf is the size of a sample, compared with others.
func sizeOf(w *workload.Workload, index int) int64 {
	if w.Length != nil {
		return int64(w.Length(index))
	}
	return w.RowBytes(index)
}

// differ reports whether samples are of different sizes.
func differ(w *workload.Workload) bool {
	for i := 1; i < w.Samples; i++ {
		if sizeOf(w, i) != sizeOf(w, 0) {
			return true
		}
	}
	return false
}

// stableTime measures how long a predictor takes for the items, never less than 1 ns.
func stableTime(ctx context.Context, p workload.Predictor, items []workload.Item) (warmUp, error) {
	var last []time.Duration // at most stableRuns
	w := warmUp{}
	for begin := clock.Now(); !w.stable && (w.runs == 0 || clock.Since(begin) < warmUpBudget); w.runs++ {
		start := clock.Now()
		if err := tryOut(ctx, p, items); err != nil {
			return w, err
		}
		took := max(clock.Since(start), 1)
		if w.least == 0 || took < w.least {
			w.least = took
		}
		if last = append(last, took); len(last) > stableRuns {
			last = last[1:]
		}
		most, least := slices.Max(last), slices.Min(last)
		w.stable = len(last) == stableRuns && float64(most-least) <= stableShare*float64(most)
	}
	slices.Sort(last)
	w.latency = last[len(last)/2]
	return w, nil
}

// batchTime measures how long one worker takes for a batch of n.
func (r *run) batchTime(ctx context.Context, n int) (time.Duration, error) {
	items, err := r.sampleRows(ctx, n)
	if err != nil {
		return 0, err
	}
	w, err := stableTime(ctx, r.model.predictors[0], items)
	return w.latency, err
}

// tryOut has a predictor answer items, outside a test.
func tryOut(ctx context.Context, p workload.Predictor, items []workload.Item) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	var replies counter
	if err := predict(ctx, p, items, &replies); err != nil {
		return err
	}
	if int(replies) != len(items) {
		return fmt.Errorf("the model answered %d of %d samples", replies, len(items))
	}
	return nil
}

// A counter counts replies and drops them.
type counter int

func (c *counter) FirstToken(int, []byte) {}
func (c *counter) Done(int, []byte, int)  { *c++ }
