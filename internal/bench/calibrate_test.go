package bench

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
	"github.com/mlperf-go/mlperf/internal/longtest"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/workload"
)

// close says whether two numbers differ by less than a thousandth.
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
	tests := []struct {
		scenario loadgen.Scenario
		want     report.Calibration
		key      string
		value    string
		reason   string
	}{
		{loadgen.SingleStream, report.Calibration{Chosen: report.Metric{Name: "expected latency", Value: 5, Unit: "ms"}},
			"target_latency", "5ms", "that is the median of a few runs"},
		{loadgen.MultiStream, report.Calibration{Chosen: report.Metric{Name: "expected query latency", Value: 12, Unit: "ms"}},
			"target_latency", "12ms", "8 samples take 1 × 12ms"},
		{loadgen.Offline, report.Calibration{SamplesPerSecond: 8 / 0.008, Chosen: report.Metric{Name: "target_qps", Value: 1.25 * 8 / 0.008, Unit: "samples/s"}},
			"target_qps", "1250", "2 workers reached 1000 samples/s, and a quarter more makes the test long enough"},
		{loadgen.Server, report.Calibration{SamplesPerSecond: 400, Chosen: report.Metric{Name: "target_qps", Value: 240, Unit: "queries/s"}},
			"target_qps", "240", "2 workers reached 400 samples/s one by one, and at 60 % of that the queue should keep latencies below 100ms"},
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
				if !o.noted("nobody gave a target: "+test.want.Chosen.Name, test.reason) || !strings.Contains(strings.Join(o.phases, " "), "warm-up calibration traffic") {
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
	synctest.Test(t, func(t *testing.T) {
		n := newNumbers(100)
		cfg := config(t, n, loadgen.MultiStream, loadgen.PerformanceOnly)
		cfg.Calibrate, cfg.MaxBatch = true, 3 // 8 samples are 3 batches, 2 rounds for 2 workers, of 7 ms
		if r := mustRun(t, n, cfg); r.Calibration.Chosen.Value != 14 || r.Calibration.Reason != "8 samples take 2 × 7ms" {
			t.Errorf("calibration %+v", r.Calibration)
		}
	})
}

// TestAnAccuracyRunDoesNotWaitForTheDefaultRate would take 100 s at one query per second.
func TestAnAccuracyRunDoesNotWaitForTheDefaultRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNumbers(100)
		cfg := config(t, n, loadgen.Server, loadgen.AccuracyOnly)
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

func TestAutoLatencyRaisesABoundThatCannotBeMet(t *testing.T) {
	const ms = time.Millisecond
	tests := []struct {
		name    string
		auto    bool
		latency time.Duration // of a sample
		want    time.Duration // the bound, of 15 ms
		noted   string
	}{
		{"out of reach", true, 20 * ms, 80 * ms, "one sample takes 20ms, too long for the official bound of 15ms: the bound is 80ms"},
		{"just within, with no room for a wait", true, 8 * ms, 32 * ms, "one sample takes 8ms"},
		{"rounded up to whole milliseconds", true, 20100 * time.Microsecond, 81 * ms, "the bound is 81ms"},
		{"within reach", true, 7 * ms, 15 * ms, ""},
		{"not asked for", false, 20 * ms, 15 * ms, "this machine takes 20ms for one sample, the latency bound is 15ms: no rate can meet it"},
		{"not asked for, within reach", false, 15 * ms, 15 * ms, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := newNumbers(100)
				cfg := config(t, n, loadgen.Server, loadgen.PerformanceOnly)
				cfg.Engine = engine(t, simulated.Config{Latency: test.latency})
				cfg.Settings.ServerTargetLatency, cfg.Settings.ServerTargetQPS = 15*ms, 10
				cfg.Calibrate, cfg.AutoLatency = test.auto, test.auto
				cfg.Settings.MinDuration, cfg.Anyway = time.Minute, true
				r := mustRun(t, n, cfg)
				raised := test.want != 15*ms
				if s := setting(r, "target_latency"); raised != (s.Value == test.want.String() && strings.HasPrefix(s.Origin, "auto: 4 × the ")) {
					t.Errorf("setting %+v, want %v", s, test.want)
				}
				if o := cfg.Observer.(*observer); test.noted != "" && !o.noted(test.noted) || test.noted == "" && o.noted("bound") {
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

func TestTokenLatenciesHaveNoBoundToRaise(t *testing.T) {
	o := &observer{t: t}
	r := &run{cfg: Config{AutoLatency: true, Observer: o}, settings: settings(loadgen.Server), warm: warmUp{latency: time.Hour}}
	r.settings.UseTokenLatencies = true
	if err := r.chooseLatencyBound(); err != nil || len(o.notes) > 0 || r.settings.ServerTargetLatency != settings(loadgen.Server).ServerTargetLatency {
		t.Errorf("notes %q, %v", o.notes, err)
	}
}

// TestSafeLoadIsMonotone holds for all numbers of workers, times and bounds: a larger
// bound, and more workers, allow at least the same load.
func TestSafeLoadIsMonotone(t *testing.T) {
	longtest.Skip(t, "much arithmetic")
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
	longtest.Skip(t, "much arithmetic")
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

func TestAModelFasterThanTheClockIsCalibratedToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNumbers(100)
		cfg := config(t, n, loadgen.SingleStream, loadgen.AccuracyOnly)
		cfg.Engine = engine(t, simulated.Config{})
		r := newRun(cfg)
		defer r.close()
		if err := r.open(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := r.warmUp(t.Context()); err != nil || r.warm.latency < 1 {
			t.Errorf("latency %v, error %v", r.warm.latency, err)
		}
	})
}

// TestNoSampleWaitsLongerThanTheBoundLeaves has a bound of 100 ms and batches that take 30 ms.
func TestNoSampleWaitsLongerThanTheBoundLeaves(t *testing.T) {
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
				cfg := config(t, n, test.scenario, loadgen.PerformanceOnly)
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
func TestASlowModelMayHaveFewQueries(t *testing.T) {
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
				cfg := config(t, n, test.scenario, loadgen.PerformanceOnly)
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

func TestARunThatNoRateCanSaveStopsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNumbers(100)
		cfg := config(t, n, loadgen.Server, loadgen.PerformanceOnly)
		cfg.Engine = engine(t, simulated.Config{Latency: 20 * time.Millisecond})
		cfg.Settings.ServerTargetLatency = 15 * time.Millisecond
		results, err := Run(t.Context(), cfg)
		var hopeless *HopelessError
		if !errors.As(err, &hopeless) || results != nil || hopeless.Latency != 20*time.Millisecond || hopeless.Bound != 15*time.Millisecond {
			t.Errorf("Run = %v, %v, want a HopelessError", results, err)
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
		if !r.Valid() {
			t.Errorf("%s: %q", r.Result, r.Problems)
		}
	})
}

// A machine that was busy while it was measured makes the Offline query too short.
func TestAnOfflineTestThatWasTooShortByOurFaultIsMadeAgain(t *testing.T) {
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
			again := cfg.Observer.(*observer).noted("it is made again with more samples")
			if again != calibrate || r.Valid() != calibrate {
				t.Errorf("calibrated %v: %s, %q, made again %v", calibrate, r.Result, r.Problems, again)
			}
			if calibrate && r.Calibration.SamplesPerSecond < 900 {
				t.Errorf("calibration %+v", r.Calibration)
			}
		})
	}
}

func TestSamplesToMeasureWithAreOfAllSizes(t *testing.T) {
	w := &toySequences{samples: 70} // 10 of each length from 1 to 7
	sum := 0
	for i, index := range typical(w, 7) {
		length := w.Length(index)
		if sum += length; i == 0 && length != 4 {
			t.Errorf("the first sample is of length %d, want one in the middle", length)
		}
	}
	if sum < 26 || sum > 30 {
		t.Errorf("seven samples have %d numbers in all, want about 28", sum)
	}
	if got := typical(w, 1000); len(got) != 70 || len(slices.Compact(slices.Sorted(slices.Values(got)))) != 70 {
		t.Errorf("of all samples there are %d", len(got))
	}
	if got := typical(newNumbers(100), 3); !slices.Equal(got, []int{0, 1, 2}) {
		t.Errorf("of samples of the same size %v are taken", got)
	}
}

// What a device compiles for each size of a batch it compiles before the test.
func TestEveryWorkerIsWarmedUpWithEverySize(t *testing.T) {
	for _, test := range []struct {
		name string
		wish wish
		size int
		want []int
	}{
		{"Server", wish{scenario: loadgen.Server, fixed: -1}, 3, []int{3, 2, 1}},
		{"Offline", wish{scenario: loadgen.Offline, fixed: -1}, 4, []int{4}},
		{"SingleStream", wish{scenario: loadgen.SingleStream, fixed: -1}, 4, []int{1}},
		{"MultiStream", wish{scenario: loadgen.MultiStream, samplesPerQuery: 8, fixed: -1}, 3, []int{3, 2}},
		{"MultiStream in one batch", wish{scenario: loadgen.MultiStream, samplesPerQuery: 8, fixed: -1}, 16, []int{8}},
		{"a fixed batch", wish{scenario: loadgen.Server, fixed: 8}, 8, []int{8}},
	} {
		if got := test.wish.sizes(test.size); !slices.Equal(got, test.want) {
			t.Errorf("%s in batches of %d: %v, want %v", test.name, test.size, got, test.want)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		n := newNumbers(100)
		cfg := config(t, n, loadgen.Server, loadgen.PerformanceOnly)
		cfg.MaxBatch = 3
		r := newRun(cfg)
		defer r.close()
		if err := r.open(t.Context()); err != nil {
			t.Fatal(err)
		}
		var sizes []int
		for i, p := range r.model.predictors {
			r.model.predictors[i] = sizesOf{p, &sizes}
		}
		if err := r.tryModel(t.Context()); err != nil {
			t.Fatal(err)
		}
		if want := []int{3, 2, 1, 3, 2, 1}; !slices.Equal(sizes[:min(6, len(sizes))], want) {
			t.Errorf("batches of %v, want two workers with %v", sizes, want)
		}
	})
}

// sizesOf keeps the sizes of the batches of a predictor.
type sizesOf struct {
	workload.Predictor
	sizes *[]int
}

func (s sizesOf) Predict(ctx context.Context, items []workload.Item, reply workload.Reply) error {
	*s.sizes = append(*s.sizes, len(items))
	return s.Predictor.Predict(ctx, items, reply)
}
