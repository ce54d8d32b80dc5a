package harness

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend/simulated"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// TestAccuracyRunHasNoDefaultRate would take 100 s at one query per second.
func TestAccuracyRunHasNoDefaultRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNumbers(100)
		cfg := configOf(t, n, loadgen.Server, loadgen.AccuracyOnly)
		cfg.Settings.ServerTargetQPS = 1
		cfg.Calibrate = true
		began := time.Now()
		r := mustRun(t, n, cfg)
		if took := time.Since(began); took > 2*time.Second {
			t.Errorf("it took %v", took)
		}
		if s := setting(r, "target_qps"); s.Value != "400" || s.Origin != "calibration" || r.Calibration != nil {
			t.Errorf("setting %+v, calibration %v", s, r.Calibration)
		}
	})
}

func TestAutoLatencyRaisesTheBound(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	tests := []struct {
		name    string
		auto    bool
		latency time.Duration // of a sample
		want    time.Duration // the bound, of 15 ms
		noted   string
	}{
		{"out of reach", true, 20 * ms, 80 * ms, "one sample takes 20 ms; two samples do not fit into the latency bound of 15 ms: using 80 ms (open division)"},
		{"just within, with no room for a wait", true, 8 * ms, 32 * ms, "one sample takes 8 ms"},
		{"rounded up to whole milliseconds", true, 20100 * time.Microsecond, 81 * ms, "using 81 ms"},
		{"within reach", true, 7 * ms, 15 * ms, ""},
		{"not asked for", false, 20 * ms, 15 * ms, "one sample takes at least 20 ms, the latency bound is 15 ms: no rate can meet it"},
		{"not asked for, within reach", false, 15 * ms, 15 * ms, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := newNumbers(100)
				cfg := configOf(t, n, loadgen.Server, loadgen.PerformanceOnly)
				cfg.Engine = engine(t, simulated.Config{Latency: test.latency})
				cfg.Settings.ServerTargetLatency, cfg.Settings.ServerTargetQPS = 15*ms, 10
				cfg.Calibrate, cfg.AutoLatency = test.auto, test.auto
				cfg.Settings.MinDuration, cfg.Anyway = time.Minute, true
				r := mustRun(t, n, cfg)
				raised := test.want != 15*ms
				if s := setting(r, "target_latency"); raised != (s.Value == test.want.String() && strings.HasPrefix(s.Origin, "auto: 4 × the ")) {
					t.Errorf("setting %+v, want %v", s, test.want)
				}
				if o := cfg.Observer.(*observer); test.noted != "" && !o.noted(test.noted) || test.noted == "" && (o.noted("bound") || o.noted("limit")) {
					t.Errorf("notes %q, want %q", o.notes, test.noted)
				}
				if test.auto && !r.Valid() {
					t.Errorf("with that bound the run is %s: %v", r.Result, r.Problems)
				}
				if got := r.Constraints[0].Required; got.Value != float64(test.want) {
					t.Errorf("required is %s, want %v", got, test.want)
				}
			})
		})
	}
}

func TestAutoLatencyLeavesTokenBounds(t *testing.T) {
	o := &observer{t: t}
	r := &run{cfg: Config{AutoLatency: true, Observer: o, Settings: settings(loadgen.Server)}, warm: warmUp{latency: time.Hour}}
	r.cfg.Settings.UseTokenLatencies = true
	if err := r.chooseLatencyBound(); err != nil || len(o.notes) > 0 || r.cfg.Settings.ServerTargetLatency != settings(loadgen.Server).ServerTargetLatency {
		t.Errorf("notes %q, %v", o.notes, err)
	}
}

// TestMaxDelayLeavesRoomForTheBatch has a bound of 100 ms and batches that take 30 ms.
func TestMaxDelayLeavesRoomForTheBatch(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name        string
		scenario    loadgen.Scenario
		bound       time.Duration
		asked, want time.Duration
	}{
		{"short enough", loadgen.Server, 100 * time.Millisecond, 70 * time.Millisecond, 70 * time.Millisecond},
		{"too long", loadgen.Server, 100 * time.Millisecond, 71 * time.Millisecond, 70 * time.Millisecond},
		{"no time at all", loadgen.Server, 20 * time.Millisecond, 5 * time.Millisecond, 0},
		{"no bound", loadgen.Offline, 100 * time.Millisecond, time.Second, time.Second},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := newNumbers(100)
				cfg := configOf(t, n, test.scenario, loadgen.PerformanceOnly)
				cfg.Engine = engine(t, simulated.Config{Latency: 15 * time.Millisecond, PerSample: 5 * time.Millisecond})
				cfg.MaxBatch, cfg.MaxDelay = 4, test.asked
				cfg.Settings.ServerTargetLatency, cfg.Settings.ServerTargetQPS = test.bound, 50
				seen := cfg.Observer.(*observer)
				r := mustRun(t, n, cfg)
				if r.Backend.MaxDelay != test.want.String() {
					t.Errorf("samples wait at most %s, want %v", r.Backend.MaxDelay, test.want)
				}
				if noted := strings.Contains(strings.Join(seen.notes, "\n"), "samples wait at most"); noted != (test.want < test.asked) {
					t.Errorf("notes %q", seen.notes)
				}
			})
		})
	}
}

// Where 64 queries take over 20 s, a test that may have few has 11, or 22 in Server, and is
// judged by the median.
func TestFewQueriesForSlowModels(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		scenario loadgen.Scenario
		latency  time.Duration
		few      bool
		change   func(*Config)
		queries  uint64
	}{
		{"slow", loadgen.SingleStream, time.Second, true, nil, 11},
		{"slow, a given target", loadgen.SingleStream, time.Second, true, func(c *Config) { c.Calibrate = false }, 11},
		{"slow samples of a query", loadgen.MultiStream, 100 * time.Millisecond, true, func(c *Config) { c.MaxBatch = 1 }, 11},
		{"not asked for", loadgen.SingleStream, time.Second, false, nil, 64},
		{"fast", loadgen.SingleStream, 300 * time.Millisecond, true, nil, 64},
		{"few already", loadgen.SingleStream, time.Minute, true, func(c *Config) { c.Settings.MinQueryCount = 10 }, 10},
		{"Server", loadgen.Server, time.Second, true, func(c *Config) {
			c.Calibrate, c.Settings.ServerTargetQPS, c.Settings.ServerTargetLatency = false, 0.3, 8*time.Second
			c.Settings.ServerTargetLatencyPercentile = 0.9
		}, 22},
		{"one query", loadgen.Offline, time.Minute, true, func(c *Config) { c.Settings.OfflineExpectedQPS = 1 }, 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := newNumbers(100)
				cfg := configOf(t, n, test.scenario, loadgen.PerformanceOnly)
				cfg.Engine = engine(t, simulated.Config{Latency: test.latency})
				cfg.Instances, cfg.FewQueries, cfg.Calibrate = 1, test.few, true
				s := &cfg.Settings
				s.MinQueryCount, s.SingleStreamTargetLatencyPercentile, s.MultiStreamTargetLatencyPercentile = 64, 0.9, 0.9
				s.SingleStreamExpectedLatencyNS, s.MinDuration = float64(test.latency), time.Millisecond
				if test.change != nil {
					test.change(&cfg)
				}
				r := mustRun(t, n, cfg)
				if r.Performance.Queries != test.queries {
					t.Errorf("%d queries, want %d", r.Performance.Queries, test.queries)
				}
				few := test.queries == 11 || test.queries == 22
				if count, percentile := setting(r, "min_query_count"), setting(r, "target_latency_percentile"); few && (count.Value != fmt.Sprint(test.queries) || percentile.Value != "50") {
					t.Errorf("the results say %v and %v", count, percentile)
				}
				if few && !r.Valid() {
					t.Errorf("%s: %v", r.Result, r.Problems)
				}
			})
		})
	}
}

// A model judged by its token latencies is the slowest of all: what spares the others spares it too.
func TestFewQueriesForSlowModelsOfTokens(t *testing.T) {
	cfg := configOf(t, newNumbers(100), loadgen.Server, loadgen.PerformanceOnly)
	cfg.FewQueries = true
	cfg.Settings = settings(loadgen.Server)
	r := &run{cfg: cfg}
	r.cfg.Settings.UseTokenLatencies, r.cfg.Settings.ServerTargetQPS, r.cfg.Settings.MinQueryCount = true, 0.08, 128
	if err := r.chooseQueryCount(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s := r.cfg.Settings; s.MinQueryCount != 22 || s.ServerTargetLatencyPercentile != 0.5 {
		t.Errorf("%d queries, judged at the %v quantile; want 22 and the median", s.MinQueryCount, s.ServerTargetLatencyPercentile)
	}
}

func TestImpossibleBoundEndsTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNumbers(100)
		cfg := configOf(t, n, loadgen.Server, loadgen.PerformanceOnly)
		cfg.Engine = engine(t, simulated.Config{Latency: 20 * time.Millisecond})
		cfg.Settings.ServerTargetLatency = 15 * time.Millisecond
		results, err := measure(t.Context(), cfg)
		var impossible *LatencyBoundError
		if !errors.As(err, &impossible) || results != nil || impossible.Latency != 20*time.Millisecond || impossible.Bound != 15*time.Millisecond {
			t.Errorf("Run = %v, %v, want a LatencyBoundError", results, err)
		}
	})
}

// A run of performance leaves ten seconds at the rate that the machine sustains, and says why they are INVALID.
func TestImpossibleBoundIsShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNumbers(100)
		cfg := configOf(t, n, loadgen.Server, loadgen.PerformanceOnly)
		cfg.Engine = engine(t, simulated.Config{Latency: 20 * time.Millisecond})
		cfg.Settings.ServerTargetLatency, cfg.Settings.MinDuration, cfg.Settings.MinQueryCount = 15*time.Millisecond, 10*time.Minute, 270336
		cfg.Brief, cfg.Calibrate, cfg.Runs, cfg.Instances = true, true, 5, 1
		r := mustRun(t, n, cfg)
		if d := time.Duration(r.Performance.DurationNS); r.Valid() || d < 10*time.Second || d > 12*time.Second || math.Abs(r.Performance.SamplesPerSecond-45) > 5 ||
			len(r.Problems) == 0 || r.Problems[0] != "one sample takes at least 20 ms, the latency bound is 15 ms: no rate can meet it" || setting(r, "min_duration").Value != "10s" {
			t.Errorf("%s after %v at %v/s: %q", r.Result, d, r.Performance.SamplesPerSecond, r.Problems)
		}
	})
}

// Who gave a length that an impossible bound does not shorten stays its origin.
func TestImpossibleBoundKeepsOrigins(t *testing.T) {
	r := &run{cfg: Config{Settings: settings(loadgen.Server), Brief: true, Observer: &observer{t: t}}, warm: warmUp{latency: 20 * time.Millisecond, least: 19 * time.Millisecond}}
	r.cfg.Settings.ServerTargetLatency, r.cfg.Settings.MinDuration, r.cfg.Settings.MinQueryCount = 15*time.Millisecond, 3*time.Second, 270336
	r.set("min_duration", "3s", "--min-duration", "")
	if err := r.chooseLatencyBound(); err != nil {
		t.Fatal(err)
	}
	origin := func(key string) string { return report.MadeBy(r.cfg.Made, key).Origin }
	if duration, count := origin("min_duration"), origin("min_query_count"); duration != "--min-duration" || count != "no rate can meet the latency bound" {
		t.Errorf("origins %q and %q", duration, count)
	}
}

func TestImpossibleBoundCountsTheQuickestRun(t *testing.T) {
	const bound = 15 * time.Millisecond
	for name, test := range map[string]struct {
		warm warmUp
		want bool // that it is called so
	}{
		"others take the processor for most runs": {warmUp{latency: 629 * time.Millisecond, least: 2 * time.Millisecond}, false},
		"no run was quick enough":                 {warmUp{latency: 20 * time.Millisecond, least: 19 * time.Millisecond}, true},
	} {
		r := &run{cfg: Config{Settings: settings(loadgen.Server)}, warm: test.warm}
		r.cfg.Settings.ServerTargetLatency = bound
		var impossible *LatencyBoundError
		if err := r.chooseLatencyBound(); errors.As(err, &impossible) != test.want {
			t.Errorf("%s: error %v, want one: %v", name, err, test.want)
		} else if test.want && impossible.Latency != test.warm.least {
			t.Errorf("%s: a sample takes %v at least, want %v", name, impossible.Latency, test.warm.least)
		}
	}
}

// A latePacer is late by more than a generator should be.
type latePacer struct{ loadgen.TimerPacer }

func (p latePacer) WaitUntil(ctx context.Context, start time.Time, offset time.Duration) time.Duration {
	return p.TimerPacer.WaitUntil(ctx, start, offset+5*time.Millisecond)
}

func TestHeadroomWarning(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		target float64
		pacer  func() loadgen.Pacer
		warns  bool
	}{
		{"a generator that keeps up", 6000, inFakeTime.NewPacer, false},
		{"a low target", 500, func() loadgen.Pacer { return latePacer{} }, false},
		{"a generator that does not keep up", 6000, func() loadgen.Pacer { return latePacer{} }, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			n := newNumbers(100)
			cfg := configOf(t, n, loadgen.Server, loadgen.PerformanceOnly)
			cfg.Settings.ServerTargetQPS, cfg.Settings.MinDuration, cfg.Settings.MinQueryCount = c.target, 100*time.Millisecond, 1
			cfg.NewPacer = c.pacer
			r := mustRun(t, n, cfg)
			if warned := strings.Contains(strings.Join(r.Warnings, "; "), "more than half"); warned != c.warns {
				t.Errorf("%s: warnings %v", c.name, r.Warnings)
			}
		})
	}
}

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

// TestCalibrationChoosesATarget has two workers that take 5 ms for a sample and
// 12 ms for eight.
func TestCalibrationChoosesATarget(t *testing.T) {
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
			"target_latency", "12ms", "8 samples take 1 × 12 ms"},
		{loadgen.Offline, report.Calibration{SamplesPerSecond: 8 / 0.008, Chosen: report.Metric{Name: "target_qps", Value: 1.25 * 8 / 0.008, Unit: "samples/s"}},
			"target_qps", "1250", "measured 1,000 samples/s with 2 workers; a quarter more makes the test long enough"},
		{loadgen.Server, report.Calibration{SamplesPerSecond: 400, Chosen: report.Metric{Name: "target_qps", Value: 240, Unit: "queries/s"}},
			"target_qps", "240", "measured 400 samples/s with 2 workers, one by one; using 60 % to keep latency below 100 ms"},
	}
	for _, test := range tests {
		t.Run(test.scenario.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := newNumbers(100)
				cfg := configOf(t, n, test.scenario, loadgen.PerformanceOnly)
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

func TestNoCalibrationOfAGivenTarget(t *testing.T) {
	t.Parallel()
	for _, scenario := range loadgen.Scenarios() {
		synctest.Test(t, func(t *testing.T) {
			n := newNumbers(100)
			cfg := configOf(t, n, scenario, loadgen.PerformanceOnly)
			cfg.Made = []report.Setting{{Key: "target_qps", Value: "200", Origin: "user.conf"}}
			r := mustRun(t, n, cfg)
			if r.Calibration != nil || len(r.Settings) != 1 || strings.Contains(strings.Join(cfg.Observer.(*observer).phases, " "), "calibration") {
				t.Errorf("%v: calibration %+v, settings %v", scenario, r.Calibration, r.Settings)
			}
		})
	}
}

func TestQueryTakesSeveralRounds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := newNumbers(100)
		cfg := configOf(t, n, loadgen.MultiStream, loadgen.PerformanceOnly)
		cfg.Calibrate, cfg.MaxBatch = true, 3 // 8 samples are 3 batches, 2 rounds for 2 workers, of 7 ms
		if r := mustRun(t, n, cfg); r.Calibration.Chosen.Value != 14 || r.Calibration.Reason != "8 samples take 2 × 7 ms" {
			t.Errorf("calibration %+v", r.Calibration)
		}
	})
}

func TestSlowModelIsMeasuredOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNumbers(10)
		cfg := configOf(t, n, loadgen.SingleStream, loadgen.AccuracyOnly)
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
func TestThroughputOfASlowModel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNumbers(100)
		cfg := configOf(t, n, loadgen.Offline, loadgen.PerformanceOnly)
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
func TestShortOfflineTestRunsAgain(t *testing.T) {
	t.Parallel()
	for _, calibrate := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			n := newNumbers(100)
			cfg := configOf(t, n, loadgen.Offline, loadgen.PerformanceOnly)
			cfg.Calibrate = calibrate
			cfg.Settings.OfflineExpectedQPS = 300
			var rested atomic.Bool // set by one goroutine, read by the workers
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
		if load := safeLoad(4, 7*ms, bound, 0.99); load != 0.9 {
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
					cfg := configOf(t, n, loadgen.Server, loadgen.PerformanceOnly)
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

// TestWaitingTimeIsThatOfMD1 compares with the M/D/1 queue, in which a share of
// (1-ρ)·e^ρ waits for at most one service time.
func TestWaitingTimeIsThatOfMD1(t *testing.T) {
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

// What a run is calibrated by is what it then reaches: sequences are admitted while others run.
func TestThroughputOfDecoders(t *testing.T) {
	t.Parallel()
	calibrated := func(t *testing.T, scenario loadgen.Scenario, change func(*Config)) *report.Results {
		cfg := sequenceConfig(t, scenario, loadgen.PerformanceOnly, nil)
		spoilTargets(&cfg.Settings)
		cfg.Calibrate = true
		change(&cfg)
		r, err := measure(t.Context(), cfg)
		if err != nil || !r.Valid() {
			t.Fatalf("%v: %v, %+v", scenario, err, r)
		}
		return r
	}
	asItIs := func(*Config) {}
	t.Run("Offline", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r := calibrated(t, loadgen.Offline, asItIs)
			if ratio := r.Calibration.SamplesPerSecond / r.Metric.Value; ratio < 0.95 || ratio > 1.05 {
				t.Errorf("%.4g samples/s were measured before, the test reached %.4g", r.Calibration.SamplesPerSecond, r.Metric.Value)
			}
		})
	})
	t.Run("Server", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			pulled := calibrated(t, loadgen.Server, asItIs)
			if c := pulled.Calibration; !strings.Contains(c.Reason, "samples/s with 1 worker, 4 at a time") {
				t.Errorf("calibration %+v", c)
			}
			open := toyTranslation(func(int, []int) {}).Open
			one := calibrated(t, loadgen.Server, func(c *Config) { c.Model.Open = closedBatches(open) })
			if ratio := pulled.Calibration.Chosen.Value / one.Calibration.Chosen.Value; ratio < 1.5 {
				t.Errorf("pulling is given %.2f times the rate of one by one: %v, %v", ratio, pulled.Calibration, one.Calibration)
			}
		})
	})
}

// One answer in eight has 2000 tokens, the others 4: those that end while a decoder is measured are nearly all short.
func TestThroughputCountsLongAnswers(t *testing.T) {
	const slots, step, short, long, every = 4, 10 * time.Millisecond, 4, 2000, 8
	synctest.Test(t, func(t *testing.T) {
		items := make([]workload.Item, 64)
		for i := range items {
			items[i].Row = i
		}
		serve := func(_ context.Context, s workload.Source) error {
			left := map[int]int{} // tokens, by ticket
			for open := true; open || len(left) > 0; {
				var admitted []workload.Item
				if open {
					admitted, open = s.Admit(nil, slots-len(left), false)
				}
				for _, item := range admitted {
					left[item.Ticket] = short
					if item.Row%every == every-1 {
						left[item.Ticket] = long
					}
				}
				time.Sleep(step)
				for ticket, n := range left {
					s.Token(ticket, nil)
					if left[ticket]--; n == 1 {
						delete(left, ticket)
						s.Done(ticket, nil, 0)
					}
				}
			}
			return nil
		}
		m := speedTest{items: items, batch: slots, least: leastBatches * slots, enough: func() {}, stop: func() bool { return false }}
		rate, err := m.throughput(t.Context(), predictor{decoder: fakeDecoder{serve: serve}})
		mean := float64((every-1)*short+long) / every
		if want := slots / (mean * step.Seconds()); err != nil || rate < 0.8*want || rate > 1.25*want {
			t.Errorf("%.4g samples/s, %v, want about %.4g", rate, err, want)
		}
	})
}

func TestThroughputErrorsOfDecoders(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errStopped)
	for _, test := range []struct {
		name  string
		ctx   context.Context
		serve func(context.Context, workload.Source) error
		want  string
	}{
		{"it fails", t.Context(), func(context.Context, workload.Source) error { return errors.New("out of memory") }, "out of memory"},
		{"it panics", t.Context(), func(context.Context, workload.Source) error { panic("no memory") }, "panic … no memory"},
		{"it admits nothing", t.Context(), func(context.Context, workload.Source) error { return nil }, "0 … 0 samples"},
		{"it answers too few", t.Context(), func(_ context.Context, s workload.Source) error {
			items, _ := s.Admit(nil, 3, true)
			s.Done(items[0].Ticket, nil, 0)
			return nil
		}, "1 … 3 samples"},
		{"it is interrupted", ctx, func(_ context.Context, s workload.Source) error {
			for open := true; open; _, open = s.Admit(nil, 1, true) {
			}
			return nil
		}, errStopped.Error()},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := speedTest{items: make([]workload.Item, 8), batch: 4, least: leastBatches * 4, enough: func() {}, stop: func() bool { return false }}
			if _, err := m.throughput(test.ctx, predictor{decoder: fakeDecoder{serve: test.serve}}); !testenv.Names(err, test.want) {
				t.Errorf("error %v, want %s", err, test.want)
			}
		})
	}
}

// Queries of four samples come every 50 ms; a run of the model takes 2 ms and so long for each
// sample.
func TestFitStreamsAndAutoLatency(t *testing.T) {
	t.Parallel()
	const fit, auto = true, true
	for _, c := range []struct {
		name      string
		perSample time.Duration
		fit, auto bool
		samples   uint64
		interval  time.Duration
		valid     bool
	}{
		{"they fit", 5 * time.Millisecond, fit, auto, 4, 50 * time.Millisecond, true},
		{"with fewer samples", 15 * time.Millisecond, fit, auto, 2, 50 * time.Millisecond, true},
		{"with fewer samples, whether or not the interval may be longer", 15 * time.Millisecond, fit, !auto, 2, 50 * time.Millisecond, true},
		{"with one sample at longer intervals", 98 * time.Millisecond, fit, auto, 1, 200 * time.Millisecond, true},
		{"with the given number of samples, at longer intervals", 24500 * time.Microsecond, !fit, auto, 4, 200 * time.Millisecond, true},
		{"not asked for", 20 * time.Millisecond, !fit, !auto, 4, 50 * time.Millisecond, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := newNumbers(100)
				cfg := configOf(t, n, loadgen.MultiStream, loadgen.PerformanceOnly)
				cfg.Engine = engine(t, simulated.Config{Latency: 2*time.Millisecond + c.perSample, PerSample: c.perSample})
				cfg.Instances, cfg.Calibrate, cfg.FitStreams, cfg.AutoLatency = 1, true, c.fit, c.auto
				s := &cfg.Settings
				s.MultiStreamQPS, s.MultiStreamSamplesPerQuery, s.MinQueryCount, s.MinDuration, s.WithoutEarlyStopping = 20, 4, 64, time.Second, true
				r := mustRun(t, n, cfg)
				if test := r.Test; test.SamplesPerQuery != c.samples || test.TargetLatency.Round(time.Millisecond) != c.interval {
					t.Errorf("queries of %d samples every %v, want %d every %v", test.SamplesPerQuery, test.TargetLatency, c.samples, c.interval)
				}
				if r.Valid() != c.valid {
					t.Errorf("%s: %v", r.Result, r.Problems)
				}
				for key, changed := range map[string]bool{"samples_per_query": c.samples != 4, "target_qps": c.interval != 50*time.Millisecond} {
					if made := setting(r, key); changed != (made.Origin != "") {
						t.Errorf("%s is %+v", key, made)
					}
				}
				if notes := strings.Join(cfg.Observer.(*observer).notes, "\n"); (c.samples != 4) != strings.Contains(notes, " per query") ||
					(c.interval != 50*time.Millisecond) != strings.Contains(notes, "the official interval is 50 ms: using 200 ms (open division)") {
					t.Errorf("notes\n%s", notes)
				}
			})
		})
	}
}
