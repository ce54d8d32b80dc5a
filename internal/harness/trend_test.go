package harness

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/report"
)

// A server with one place and 5 ms for each query can do 200/s: at 140 nothing grows, at 240 the queue does, in nearly each of 20
// tests of 400 queries that begin with other seeds.
func TestTrendOfAQueue(t *testing.T) {
	for rate, want := range map[float64]struct{ least, most int }{100: {0, 0}, 140: {0, 1}, 240: {19, 20}} {
		grew := 0
		for seed := range uint64(20) {
			synctest.Test(t, func(t *testing.T) {
				n := newNumbers(100)
				cfg := configOf(t, n, loadgen.Server, loadgen.PerformanceOnly)
				cfg.Instances, cfg.MaxBatch = 1, 1
				p, err := OpenProbe(context.Background(), cfg)
				if err != nil {
					t.Fatal(err)
				}
				defer p.Close()
				s := cfg.Settings
				s.ServerTargetQPS, s.MinQueryCount, s.MinDuration, s.ScheduleRNGSeed = rate, report.TrendQueries, time.Second, seed
				s.ServerTargetLatency = time.Minute
				test, err := p.Test(context.Background(), s)
				if err != nil {
					t.Fatal(err)
				}
				if report.TrendOf(test.Performance).Grew {
					grew++
				}
			})
		}
		if grew < want.least || grew > want.most {
			t.Errorf("at %g/s the queue grew in %d of 20 tests, want %d to %d", rate, grew, want.least, want.most)
		}
	}
}
