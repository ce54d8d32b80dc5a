package harness

import (
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/machine"
	"github.com/mlperf-go/mlperf/internal/report/charts"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

func TestGaugesAreThinnedOut(t *testing.T) {
	for _, c := range []struct {
		name     string
		seconds  int
		readings int
		every    time.Duration
	}{{"a short run", 30, 30, time.Second}, {"a long run", 3000, 375, 8 * time.Second}} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start, reads, shown := time.Now(), 0.0, gaugeObserver{}
				g, stop := watch([]machine.Gauge{
					{Name: "reads", Unit: "times", Read: func() float64 { reads++; return reads }},
					{Name: "silent", Read: func() float64 { return math.NaN() }},
				}, &shown)
				time.Sleep(time.Duration(c.seconds)*time.Second + time.Second/2)
				stop()
				got := g.since(start)
				if n := float64(shown.n); n != 2*(reads-1) { // the first reading only begins the rates
					t.Errorf("an observer got %v values of %v readings of two gauges", n, reads)
				}
				if len(got.Series) != 1 || got.Series[0].Name != "reads" {
					t.Fatalf("series %+v", got.Series)
				}
				n := len(got.AtNS)
				if n != c.readings || len(got.Series[0].Values) != n || got.AtNS[n-1]-got.AtNS[n-2] != float64(c.every) {
					t.Errorf("%d readings, %d values, the last %g ns apart; want %d, %v apart", n, len(got.Series[0].Values), got.AtNS[n-1]-got.AtNS[n-2], c.readings, c.every)
				}
			})
		})
	}
	var none *gauges
	if got := none.since(time.Now()); got != nil {
		t.Errorf("readings of nothing: %+v", got)
	}
}

// A gaugeObserver counts the values that it gets.
type gaugeObserver struct {
	Silent
	n int
}

func (o *gaugeObserver) Gauge(string, string, time.Time, float64) { o.n++ }

func TestRunWritesCharts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := configOf(t, newNumbers(100), loadgen.Server, loadgen.PerformanceOnly)
		r, err := measure(t.Context(), cfg)
		testenv.Must(t, err)
		c, err := charts.Read(cfg.OutputDir)
		if err != nil || c == nil {
			t.Fatalf("charts %v, %v", c, err)
		}
		batches, samples := uint64(0), uint64(0)
		for _, s := range c.BatchSizes {
			batches, samples = batches+s.Batches, samples+s.Batches*uint64(s.Samples)
		}
		worked := int64(0)
		for _, w := range r.Workers {
			worked += w.Batches
		}
		if c.Latency.Count() != r.Performance.Samples || samples != r.Performance.Samples || batches != uint64(worked) {
			t.Errorf("%d latencies, %d samples in %d batches; the results have %d samples in %d batches", c.Latency.Count(), samples, batches, r.Performance.Samples, worked)
		}
		if c.Gauges == nil || c.Gauges.Series[0].Name != "workers busy" {
			t.Errorf("gauges %+v", c.Gauges)
		}
	})
}
