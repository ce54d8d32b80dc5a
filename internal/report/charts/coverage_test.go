package charts

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// twoServers simulates Server queries that wait for two workers, which take 10 ms with 3 % of
// jitter for each.
func twoServers(seed uint64, load float64, seconds float64) []loadgen.SampleRecord {
	arrivals, service := rand.New(rand.NewPCG(seed, 11)), rand.New(rand.NewPCG(seed, 12))
	const each = 0.01
	var free [2]float64
	var records []loadgen.SampleRecord
	for at := arrivals.ExpFloat64() / (load * 2 / each); at < seconds; at += arrivals.ExpFloat64() / (load * 2 / each) {
		w := 0
		if free[1] < free[0] {
			w = 1
		}
		free[w] = max(at, free[w]) + each*math.Exp(0.03*service.NormFloat64())
		start := time.Duration(at * 1e9)
		records = append(records, loadgen.SampleRecord{Query: uint64(len(records)), Start: start, Issued: start, Completed: time.Duration(free[w] * 1e9), FirstToken: -1})
	}
	return records
}

// TestIntervalsHold simulates minutes of Server traffic, and wants the intervals of percentiles to
// hold that of an endless run in 90 to 100 of 100 cases where 95 are meant, or not to be there:
// intervals of independent order statistics hold it in 13 to 54.
func TestIntervalsHold(t *testing.T) {
	testenv.SkipLong(t, "simulates thousands of minutes")
	const runs = 100
	for _, c := range []struct {
		load, seconds float64
		with, without []float64 // percentiles that have an interval in nearly all, or nearly no runs
	}{
		{0.3, 60, []float64{0.5, 0.9, 0.95, 0.99}, nil},
		{0.6, 60, []float64{0.5, 0.9, 0.95, 0.99}, []float64{0.999}},
		{0.75, 60, []float64{0.5, 0.9, 0.95, 0.99}, []float64{0.999}},
		{0.9, 60, []float64{0.5, 0.9}, []float64{0.99, 0.999}},
	} {
		t.Run(fmt.Sprintf("load %g, %g s", c.load, c.seconds), func(t *testing.T) {
			t.Parallel()
			truth := latenciesOf(twoServers(1<<40, c.load, 10_000))
			held, some := map[float64]int{}, map[float64]int{}
			for i := range uint64(runs) {
				for _, p := range source(loadgen.Server, twoServers(i, c.load, c.seconds)).Charts().Percentiles {
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

func latenciesOf(records []loadgen.SampleRecord) []int64 {
	var all []int64
	for _, r := range records {
		all = append(all, int64(r.Completed-r.Start))
	}
	slices.Sort(all)
	return all
}
