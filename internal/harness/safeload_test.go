package harness

import (
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend/simulated"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// TestSafeLoadIsMonotone holds for all numbers of workers, times and bounds: a larger
// bound, and more workers, allow at least the same load.
func TestSafeLoadIsMonotone(t *testing.T) {
	testenv.SkipLong(t, "much arithmetic")
	const ms = time.Millisecond
	for _, percentile := range []float64{0.9, 0.99} {
		for _, s := range []time.Duration{1, 7 * ms} {
			fewer := map[time.Duration]float64{}
			for _, c := range []int{1, 2, 100} {
				last := 0.0
				for _, tenths := range []time.Duration{10, 11, 14, 15, 20, 25, 40, 1000} {
					bound := s * tenths / 10
					load := safeLoad(c, s, bound, percentile)
					if !(load >= 0.01 && load <= 0.6) || load < last || load < fewer[bound]-0.01 {
						t.Errorf("safeLoad(%d, %v, %v, %v) = %v, with a smaller bound %v, with fewer workers %v",
							c, s, bound, percentile, load, last, fewer[bound])
					}
					last, fewer[bound] = load, load
				}
			}
		}
	}
	for _, bound := range []time.Duration{0, 1, 7*ms - 1} {
		if load := safeLoad(4, 7*ms, bound, 0.99); load != 0.1 {
			t.Errorf("safeLoad of a bound of %v that no load keeps is %v", bound, load)
		}
	}
}

// TestSafeLoadKeepsTheBound runs Server traffic at the load that safeLoad allows.
func TestSafeLoadKeepsTheBound(t *testing.T) {
	testenv.SkipLong(t, "much arithmetic")
	const service = 5 * time.Millisecond
	for _, workers := range []int{1, 2, 4} {
		for _, bound := range []time.Duration{6 * time.Millisecond, 8 * time.Millisecond, 10 * time.Millisecond, 15 * time.Millisecond, 40 * time.Millisecond} {
			for _, percentile := range []float64{0.9, 0.99} {
				synctest.Test(t, func(t *testing.T) {
					n := newNumbers(100)
					cfg := config(t, n, loadgen.Server, loadgen.PerformanceOnly)
					cfg.Settings.ServerTargetLatency, cfg.Settings.ServerTargetLatencyPercentile = bound, percentile
					load := safeLoad(workers, service, bound, percentile)
					cfg.Settings.ServerTargetQPS = load * float64(workers) / service.Seconds()
					cfg.Settings.MinDuration, cfg.Settings.MinQueryCount = 5*time.Second, 1600
					cfg.Engine = engine(t, simulated.Config{Latency: service})
					cfg.Instances = workers
					if r := mustRun(t, n, cfg); load > 0.01 && !r.Valid() {
						t.Errorf("%d workers, bound %v, percentile %v, load %.3f: %s, %v", workers, bound, percentile, load, r.Result, r.Problems)
					}
				})
			}
		}
	}
}

// TestWaitingTimeIsThatOfTheTextbook compares with the M/D/1 queue, in which a share of
// (1-ρ)·e^ρ waits for at most one service time.
func TestWaitingTimeIsThatOfTheTextbook(t *testing.T) {
	for _, load := range []float64{0.1, 0.3, 0.5} {
		share := (1 - load) * math.Exp(load)
		if got := waitingTime(1, load, share-0.005); got > 1 {
			t.Errorf("at load %v, the percentile %.4f is %v, want at most 1", load, share-0.005, got)
		}
		if got := waitingTime(1, load, share+0.005); got < 1 {
			t.Errorf("at load %v, the percentile %.4f is %v, want at least 1", load, share+0.005, got)
		}
	}
}
