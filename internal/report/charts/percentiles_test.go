package charts

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat"

	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// TestIntervalsHold simulates minutes of Server traffic. The intervals of percentiles have to hold
// that of an endless run in 90 to 100 of 100 cases where 95 are meant, or to be absent:
// intervals of independent order statistics hold it in 13 to 54.
func TestIntervalsHold(t *testing.T) {
	testenv.SkipLong(t, "simulates thousands of minutes")
	const runs, seconds = 100, 60
	for _, c := range []struct {
		load          float64
		with, without []float64 // percentiles that have an interval in nearly all, or nearly no runs
	}{
		{0.3, []float64{0.5, 0.9, 0.95, 0.99}, nil},
		{0.6, []float64{0.5, 0.9, 0.95, 0.99}, []float64{0.999}},
		{0.75, []float64{0.5, 0.9, 0.95, 0.99}, []float64{0.999}},
		{0.9, []float64{0.5, 0.9}, []float64{0.99, 0.999}},
	} {
		t.Run(fmt.Sprintf("load %g", c.load), func(t *testing.T) {
			t.Parallel()
			qps := 200 * c.load // of two workers that take 10 ms
			var truth []int64
			for _, r := range queue(1<<40, int(10_000*qps), qps, c.load) {
				truth = append(truth, int64(r.Completed-r.Start))
			}
			slices.Sort(truth)
			held, some := map[float64]int{}, map[float64]int{}
			for i := range uint64(runs) {
				for _, p := range source(loadgen.Server, queue(i, int(seconds*qps), qps, c.load)).Charts().Percentiles {
					if p.UpperNS == 0 {
						continue
					}
					some[p.Percentile]++
					if want := truth[int(p.Percentile*float64(len(truth)))]; p.LowerNS <= want && want <= p.UpperNS {
						held[p.Percentile]++
					}
				}
			}
			for _, p := range c.with {
				share := float64(held[p]) / float64(some[p])
				t.Logf("%g: %d intervals, %.1f %% hold", p, some[p], 100*share)
				if some[p] < runs*85/100 || share < 0.90-0.02 { // a standard deviation of the simulation
					t.Errorf("%g: %d of %d runs have an interval, %.1f %% hold", p, some[p], runs, 100*share)
				}
			}
			for _, p := range c.without {
				if some[p] > runs*5/100 {
					t.Errorf("%g: %d of %d runs have an interval, which cannot be known", p, some[p], runs)
				}
			}
		})
	}
}

func TestPercentilesLieInTheirIntervals(t *testing.T) {
	for seed := range uint64(5) {
		c := source(loadgen.Server, queue(seed, 20000, 200, 0.75)).Charts()
		if !slices.IsSortedFunc(c.Percentiles, func(a, b Percentile) int { return int(math.Copysign(1, a.Percentile-b.Percentile)) }) {
			t.Errorf("percentiles are not in order: %+v", c.Percentiles)
		}
		for _, p := range c.Percentiles {
			slack := p.ValueNS / 100 // the width of a bucket
			if p.LowerNS > 0 && (p.LowerNS > p.ValueNS+slack || p.UpperNS < p.ValueNS-slack) || p.Effective > 20000 || p.Effective < 0 {
				t.Errorf("%+v is not in its interval", p)
			}
		}
	}
}

// TestEffectiveQueries: for batches of a known correlation the number follows by hand.
func TestEffectiveQueries(t *testing.T) {
	alternating, same, rising := make([]float64, batchCount), make([]float64, batchCount), make([]float64, batchCount)
	for i := range batchCount {
		alternating[i], same[i], rising[i] = 0.1*float64(i%2), 0.5, float64(i)/batchCount
	}
	for _, c := range []struct {
		name  string
		above []float64
		want  float64
	}{
		{"uncorrelated batches count as they vary", alternating, 0.25 * batchCount / stat.Variance(alternating, nil)},
		{"equal batches are worth all queries", same, 1e6},
		{"fully correlated batches are worth a nineteenth", rising, 0.25 * batchCount / stat.Variance(rising, nil) / 19},
		{"too few batches", rising[1:], 0},
	} {
		l := limit{fraction: 0.5, above: c.above}
		if got := l.effective(1e6); math.Abs(got-c.want) > 0.02*c.want {
			t.Errorf("%s: %g, want %g", c.name, got, c.want)
		}
	}
}

func TestBatchesHaveAllQueriesOnce(t *testing.T) {
	for n, want := range map[int]int{1: 0, 19: 0, 20: 20, 21: 20, 39: 20, 12345: 20} {
		c := source(loadgen.Server, queue(uint64(n), n, 100, 0.75)).Charts()
		total, least, most := uint64(0), uint64(math.MaxUint64), uint64(0)
		for i, b := range c.Batches {
			total, least, most = total+b.Queries, min(least, b.Queries), max(most, b.Queries)
			if i > 0 && b.StartNS <= c.Batches[i-1].StartNS || len(b.QuantilesNS) != len(BatchPercentiles()) || !slices.IsSorted(b.QuantilesNS) || b.MeanNS > b.QuantilesNS[len(b.QuantilesNS)-1] {
				t.Errorf("%d queries: batch %d is %+v", n, i, b)
			}
		}
		if len(c.Batches) != want || want > 0 && (total != uint64(n) || most-least > 1) {
			t.Errorf("%d queries: %d batches of %d to %d with %d in all", n, len(c.Batches), least, most, total)
		}
		if want == 0 && slices.ContainsFunc(c.Percentiles, func(p Percentile) bool { return p.UpperNS > 0 }) {
			t.Errorf("%d queries: intervals %+v", n, c.Percentiles)
		}
	}
}
