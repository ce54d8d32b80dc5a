package harness

import (
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend/simulated"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/report"
)

// near says whether two numbers differ by less than a thousandth.
func near(a, b float64) bool { return math.Abs(a-b) <= 1e-3*math.Abs(b) }

func setting(r *report.Results, key string) report.Setting {
	for _, s := range r.Settings {
		if s.Key == key {
			return s
		}
	}
	return report.Setting{}
}

// TestCalibrationChoosesATargetAndSaysSo has two workers that take 5 ms for a sample and
// 12 ms for eight.
func TestCalibrationChoosesATargetAndSaysSo(t *testing.T) {
	t.Parallel()
	tests := []struct {
		scenario loadgen.Scenario
		want     report.Calibration
		key      string
		value    string
		reason   string
	}{
		{loadgen.SingleStream, report.Calibration{Chosen: report.Metric{Name: "expected latency", Value: 5, Unit: "ms"}},
			"target_latency", "5ms", "median of a few runs"},
		{loadgen.MultiStream, report.Calibration{Chosen: report.Metric{Name: "expected query latency", Value: 12, Unit: "ms"}},
			"target_latency", "12ms", "8 samples take 1 × 12ms"},
		{loadgen.Offline, report.Calibration{SamplesPerSecond: 8 / 0.008, Chosen: report.Metric{Name: "target_qps", Value: 1.25 * 8 / 0.008, Unit: "samples/s"}},
			"target_qps", "1250", "measured 1000 samples/s with 2 workers; a quarter more makes the test long enough"},
		{loadgen.Server, report.Calibration{SamplesPerSecond: 400, Chosen: report.Metric{Name: "target_qps", Value: 240, Unit: "queries/s"}},
			"target_qps", "240", "measured 400 samples/s with 2 workers, one by one; using 60 % to keep latency below 100ms"},
	}
	for _, test := range tests {
		t.Run(test.scenario.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := newNumbers(100)
				cfg := config(t, n, test.scenario, loadgen.PerformanceOnly)
				spoilTargets(&cfg.Settings)
				cfg.Calibrate = true
				r := mustRun(t, n, cfg)
				c := r.Calibration
				if c == nil {
					t.Fatal("nothing was calibrated")
				}
				if c.BatchOneLatencyNS != 5e6 || !near(c.SamplesPerSecond, test.want.SamplesPerSecond) || !near(c.Chosen.Value, test.want.Chosen.Value) ||
					c.Chosen.Name != test.want.Chosen.Name || c.Chosen.Unit != test.want.Chosen.Unit || c.Reason != test.reason {
					t.Errorf("calibration %+v, want %+v, because %s", c, test.want, test.reason)
				}
				if s := setting(r, test.key); s.Value != test.value || s.Origin != "calibration" {
					t.Errorf("setting %+v, want %s = %s, by the calibration", s, test.key, test.value)
				}
				if !r.Valid() {
					t.Errorf("with that target the run is %s: %v", r.Result, r.Problems)
				}
				o := cfg.Observer.(*observer)
				if !o.noted("no target given: using "+test.want.Chosen.Name, test.reason) || !strings.Contains(strings.Join(o.phases, " "), "warm-up calibration traffic") {
					t.Errorf("phases %q, notes %q", o.phases, o.notes)
				}
			})
		})
	}
}

// spoilTargets puts targets that no run is VALID with in the place of all.
func spoilTargets(s *loadgen.TestSettings) {
	s.ServerTargetQPS, s.OfflineExpectedQPS = 1e6, 1e-3
	s.SingleStreamExpectedLatencyNS, s.MultiStreamExpectedLatencyNS = 1e12, 1e12
}

func TestAGivenTargetIsNotMeasured(t *testing.T) {
	t.Parallel()
	for _, scenario := range loadgen.Scenarios() {
		synctest.Test(t, func(t *testing.T) {
			n := newNumbers(100)
			cfg := config(t, n, scenario, loadgen.PerformanceOnly)
			cfg.Made = []report.Setting{{Key: "target_qps", Value: "200", Origin: "user.conf"}}
			r := mustRun(t, n, cfg)
			if r.Calibration != nil || len(r.Settings) != 1 || strings.Contains(strings.Join(cfg.Observer.(*observer).phases, " "), "calibration") {
				t.Errorf("%v: calibration %+v, settings %v", scenario, r.Calibration, r.Settings)
			}
		})
	}
}

func TestASmallerBatchThanTheQueryTakesSeveralRounds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := newNumbers(100)
		cfg := config(t, n, loadgen.MultiStream, loadgen.PerformanceOnly)
		cfg.Calibrate, cfg.MaxBatch = true, 3 // 8 samples are 3 batches, 2 rounds for 2 workers, of 7 ms
		if r := mustRun(t, n, cfg); r.Calibration.Chosen.Value != 14 || r.Calibration.Reason != "8 samples take 2 × 7ms" {
			t.Errorf("calibration %+v", r.Calibration)
		}
	})
}

func TestASlowModelIsMeasuredOnlyOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNumbers(10)
		cfg := config(t, n, loadgen.SingleStream, loadgen.AccuracyOnly)
		cfg.Engine = engine(t, simulated.Config{Latency: 10 * time.Second})
		cfg.Instances = 1
		began := time.Now()
		r := mustRun(t, n, cfg)
		// One run of the worker, one that is measured, and ten samples.
		if took := time.Since(began); took != 12*10*time.Second || r.Phases[2].Seconds != 20 || r.Backend.WarmUp.Stable {
			t.Errorf("it took %v, the warm-up %v s", took, r.Phases[2].Seconds)
		}
	})
}

// A slow model is measured with several batches of each worker, and what one of them idles
// while the other has not finished does not count.
func TestASlowModelIsMeasuredForLongEnough(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNumbers(100)
		cfg := config(t, n, loadgen.Offline, loadgen.PerformanceOnly)
		cfg.Calibrate, cfg.MaxBatch = true, 1
		cfg.Engine = engine(t, simulated.Config{Latency: 700 * time.Millisecond})
		r := mustRun(t, n, cfg)
		if got, want := r.Calibration.SamplesPerSecond, 2/0.7; math.Abs(got/want-1) > 0.001 {
			t.Errorf("measured %v samples/s, want %v", got, want)
		}
		i := slices.IndexFunc(r.Phases, func(p report.PhaseTime) bool { return p.Name == "calibration" })
		if i < 0 || r.Phases[i].Seconds > (leastBatches+1.5)*0.7 { // one worker may have begun another batch
			t.Errorf("phases %+v, want a calibration of %d batches", r.Phases, leastBatches)
		}
		if !r.Valid() {
			t.Errorf("%s: %q", r.Result, r.Problems)
		}
	})
}

// A machine that was busy while it was measured makes the Offline query too short.
func TestAnOfflineTestThatWasTooShortByOurFaultIsMadeAgain(t *testing.T) {
	t.Parallel()
	for _, calibrate := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			n := newNumbers(100)
			cfg := config(t, n, loadgen.Offline, loadgen.PerformanceOnly)
			cfg.Calibrate = calibrate
			cfg.Settings.OfflineExpectedQPS = 300
			var rested atomic.Bool // told by one goroutine, asked by the workers
			cfg.Observer.(*observer).on = func(what string) {
				if what == "traffic" {
					rested.Store(true)
				}
			}
			n.predict = func(int64) error {
				if !rested.Load() {
					time.Sleep(50 * time.Millisecond)
				}
				return nil
			}
			r := mustRun(t, n, cfg)
			again := cfg.Observer.(*observer).noted("running it again with more samples")
			if again != calibrate || r.Valid() != calibrate {
				t.Errorf("calibrated %v: %s, %q, made again %v", calibrate, r.Result, r.Problems, again)
			}
			if calibrate && r.Calibration.SamplesPerSecond < 900 {
				t.Errorf("calibration %+v", r.Calibration)
			}
		})
	}
}
