package harness

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/machine/clock"
	"github.com/mlperf-go/mlperf/internal/models/workload"
)

// batchCosts say how long batches of samples of different lengths take, as measured before a test.
type batchCosts struct {
	lengths []int           // that were measured, ascending
	one     []time.Duration // of one sample of each length
	full    []time.Duration // of a batch of most of them
	most    int
	limit   time.Duration // of a batch, if a sample alone takes less; 0: none
}

// worthwhile is the share of the time of single samples that a batch of them may take. A batch that gains less
// only has one sample wait for the other.
const worthwhile = 0.95

// of returns the time that n samples take, the longest of this length: interpolated between the measurements.
func (c *batchCosts) of(n, length int) time.Duration {
	one, full := c.between(c.one, length), c.between(c.full, length)
	return one + (full-one)*time.Duration(n-1)/time.Duration(c.most-1)
}

// between interpolates the time of a length.
func (c *batchCosts) between(times []time.Duration, length int) time.Duration {
	at, exact := slices.BinarySearch(c.lengths, length)
	switch {
	case exact || at == 0:
		return times[at]
	case at == len(times):
		return times[at-1]
	}
	from, to := c.lengths[at-1], c.lengths[at]
	return times[at-1] + (times[at]-times[at-1])*time.Duration(length-from)/time.Duration(to-from)
}

// A batchGroup is a batch that is put together.
type batchGroup struct {
	costs      *batchCosts
	n, longest int
	takes      time.Duration
}

// join adds a sample, and reports whether it did: if that takes less time than the sample takes alone, and
// the batch no longer than it may.
func (g *batchGroup) join(length int) bool {
	longest := max(g.longest, length)
	takes := g.costs.of(g.n+1, longest)
	alone := g.costs.of(1, length)
	if float64(takes-g.takes) > worthwhile*float64(alone) || g.costs.limit > 0 && takes > g.costs.limit {
		return false
	}
	g.n, g.longest, g.takes = g.n+1, longest, takes
	return true
}

// measureCosts measures how long batches take, where samples of different lengths wait for each other in closed
// batches. A batch may take half of the bound: a sample that arrives just after it has begun is in the next one.
func (r *run) measureCosts(ctx context.Context) error {
	w := r.workload
	if w.Length == nil || r.model.predictors[0].decoder != nil || r.cfg.Settings.Scenario != loadgen.Server || r.model.shape.batch == 1 || !differ(w) {
		return nil
	}
	return r.phase(ctx, "costs of batches", func() error {
		c := &batchCosts{most: r.model.shape.batch, limit: r.cfg.Settings.ServerTargetLatency / 2}
		for _, index := range oneOfThreeLengths(w) {
			items, err := r.rowsOf(ctx, []int{index}, c.most)
			if err != nil {
				return err
			}
			one, errOne := quickest(ctx, r.model.predictors[0], items[:1])
			full, errFull := quickest(ctx, r.model.predictors[0], items)
			if err := errors.Join(errOne, errFull); err != nil {
				return err
			}
			c.add(w.Length(index), one, full)
		}
		r.costs = c
		_, err := r.sampleRows(ctx, c.most)
		return err
	})
}

// quickest returns the shortest time that a predictor takes for items, of a few runs if these are short: other programs
// only make a run longer.
func quickest(ctx context.Context, p workload.Predictor, items []workload.Item) (best time.Duration, err error) {
	const runs, budget = 3, time.Second / 2
	began := clock.Now()
	for i := 0; i < runs && (i == 0 || clock.Since(began) < budget); i++ {
		start := clock.Now()
		if err := tryOut(ctx, p, items); err != nil {
			return 0, err
		}
		if took := clock.Since(start); i == 0 || took < best {
			best = took
		}
	}
	return best, nil
}

// add adds the times of a length above those before. They are no less than the times of those, even if the machine was
// busy then, and a full batch takes no less than a sample.
func (c *batchCosts) add(length int, one, full time.Duration) {
	if n := len(c.lengths); n > 0 {
		one, full = max(one, c.one[n-1]), max(full, c.full[n-1])
	}
	c.lengths, c.one, c.full = append(c.lengths, length), append(c.one, one), append(c.full, max(one, full))
}

// oneOfThreeLengths returns a shortest sample, one of the middle and a longest one, each of another length.
func oneOfThreeLengths(w *workload.Workload) []int {
	all := make([]int, w.Samples)
	for i := range all {
		all[i] = i
	}
	slices.SortStableFunc(all, func(a, b int) int { return w.Length(a) - w.Length(b) })
	chosen := []int{all[0], all[len(all)/2], all[len(all)-1]}
	return slices.CompactFunc(chosen, func(a, b int) bool { return w.Length(a) == w.Length(b) })
}
