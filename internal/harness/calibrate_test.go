package harness

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend/simulated"
	"github.com/mlperf-go/mlperf/internal/loadgen"
)

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
	t.Parallel()
	const ms = time.Millisecond
	tests := []struct {
		name    string
		auto    bool
		latency time.Duration // of a sample
		want    time.Duration // the bound, of 15 ms
		noted   string
	}{
		{"out of reach", true, 20 * ms, 80 * ms, "one sample takes 20ms; the official limit is 15ms: using 80ms (open division)"},
		{"just within, with no room for a wait", true, 8 * ms, 32 * ms, "one sample takes 8ms"},
		{"rounded up to whole milliseconds", true, 20100 * time.Microsecond, 81 * ms, "using 81ms"},
		{"within reach", true, 7 * ms, 15 * ms, ""},
		{"not asked for", false, 20 * ms, 15 * ms, "one sample takes at least 20ms, the latency bound is 15ms: no rate can meet it"},
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

func TestTokenLatenciesHaveNoBoundToRaise(t *testing.T) {
	o := &observer{t: t}
	r := &run{cfg: Config{AutoLatency: true, Observer: o, Settings: settings(loadgen.Server)}, warm: warmUp{latency: time.Hour}}
	r.cfg.Settings.UseTokenLatencies = true
	if err := r.chooseLatencyBound(); err != nil || len(o.notes) > 0 || r.cfg.Settings.ServerTargetLatency != settings(loadgen.Server).ServerTargetLatency {
		t.Errorf("notes %q, %v", o.notes, err)
	}
}

// TestNoSampleWaitsLongerThanTheBoundLeaves has a bound of 100 ms and batches that take 30 ms.
func TestNoSampleWaitsLongerThanTheBoundLeaves(t *testing.T) {
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

// A model judged by its token latencies is the slowest of all: what spares the others spares it too.
func TestASlowModelOfTokensMayHaveFewQueries(t *testing.T) {
	cfg := config(t, newNumbers(100), loadgen.Server, loadgen.PerformanceOnly)
	cfg.FewQueries = true
	cfg.Settings = settings(loadgen.Server)
	r := &run{cfg: cfg}
	r.cfg.Settings.UseTokenLatencies, r.cfg.Settings.ServerTargetQPS, r.cfg.Settings.MinQueryCount = true, 0.08, 128
	r.chooseQueryCount()
	if s := r.cfg.Settings; s.MinQueryCount != 22 || s.ServerTargetLatencyPercentile != 0.5 {
		t.Errorf("%d queries, judged at the %v quantile; want 22 and the median", s.MinQueryCount, s.ServerTargetLatencyPercentile)
	}
}

func TestARunThatNoRateCanSaveStopsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNumbers(100)
		cfg := config(t, n, loadgen.Server, loadgen.PerformanceOnly)
		cfg.Engine = engine(t, simulated.Config{Latency: 20 * time.Millisecond})
		cfg.Settings.ServerTargetLatency = 15 * time.Millisecond
		results, err := Run(t.Context(), cfg)
		var impossible *LatencyBoundError
		if !errors.As(err, &impossible) || results != nil || impossible.Latency != 20*time.Millisecond || impossible.Bound != 15*time.Millisecond {
			t.Errorf("Run = %v, %v, want a LatencyBoundError", results, err)
		}
	})
}

func TestAMachineThatOthersDisturbIsNotCalledTooSlow(t *testing.T) {
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
