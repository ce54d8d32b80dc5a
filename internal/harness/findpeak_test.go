package harness

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/config/limitation"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// peakConfig searches the peak of one worker that takes 5 ms for a sample: 200/s, less for
// the bound of 15 ms.
func peakConfig(t *testing.T, n *numbers) Config {
	cfg := configOf(t, n, loadgen.Server, loadgen.PerformanceOnly)
	cfg.FindPeak = true
	cfg.Instances, cfg.MaxBatch = 1, 1
	cfg.Settings.ServerTargetQPS, cfg.Settings.ServerTargetLatency = 60, 15*time.Millisecond
	cfg.Settings.MinDuration, cfg.Settings.MinQueryCount = 30*time.Second, 1000
	return cfg
}

func TestPeakIsConfirmed(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("a search is one test after the other: the race detector has seen those")
	}
	synctest.Test(t, func(t *testing.T) {
		n := newNumbers(100)
		cfg := peakConfig(t, n)
		r := mustRun(t, n, cfg)
		p := r.Peak
		if !r.Valid() || p == nil || p.Best < 50 || p.Best > 80 {
			t.Fatalf("%s %v: %+v", r.Result, r.Problems, p)
		}
		i := slices.IndexFunc(p.Steps, func(s report.PeakStep) bool { return s.Full && s.Met && s.Load == p.Best })
		if i < 0 || p.Steps[i].Seconds < 30 || r.Performance.DurationNS < 30e9 || r.Test.TargetQPS != p.Best {
			t.Errorf("%g is confirmed by step %d of %+v, %d ns at %g/s", p.Best, i, p.Steps, r.Performance.DurationNS, r.Test.TargetQPS)
		}
		for _, step := range p.Steps {
			if !step.Full && step.Seconds > 28 || step.Met != (step.Reason == "") {
				t.Errorf("step %+v", step)
			}
		}
		if !strings.HasPrefix(string(p.UserConf), "numbers.Server.target_qps = ") {
			t.Errorf("user.conf: %q", p.UserConf)
		}
		checkFiles(t, cfg, r)
		again, err := report.Read(cfg.OutputDir)
		if err != nil || cmp.Diff(p, again.Peak) != "" {
			t.Errorf("in the file: %v, %s", err, cmp.Diff(p, again.Peak))
		}
	})
}

func TestInterruptedSearchContinues(t *testing.T) {
	testenv.SkipLong(t, "takes long")
	synctest.Test(t, func(t *testing.T) {
		n := newNumbers(100)
		whole := mustRun(t, n, peakConfig(t, n)).Peak

		stopped := errors.New("that is enough")
		cfg := peakConfig(t, n)
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		go func() {
			time.Sleep(25 * time.Second)
			cancel(stopped)
		}()
		part, err := measure(ctx, cfg)
		if !errors.Is(err, stopped) || part.Result != report.Interrupted || len(part.Peak.Steps) == 0 || part.Peak.Best != 0 {
			t.Fatalf("%v, %+v", err, part)
		}
		if !strings.Contains(strings.Join(part.Problems, "; "), "output folder "+cfg.OutputDir) {
			t.Errorf("problems: %v", part.Problems)
		}
		done := len(part.Peak.Steps)
		cfg.Engine = peakConfig(t, n).Engine
		r, err := measure(t.Context(), cfg)
		if err != nil || !r.Valid() {
			t.Fatalf("%v, %+v", err, r)
		}
		if diff := cmp.Diff(part.Peak.Steps, r.Peak.Steps[:done]); diff != "" {
			t.Errorf("what was tried was tried again: %s", diff)
		}
		if r.Peak.Best != whole.Best || len(r.Peak.Steps) != len(whole.Steps) {
			t.Errorf("the peak is %v after %d steps, without interruption %v after %d", r.Peak.Best, len(r.Peak.Steps), whole.Best, len(whole.Steps))
		}
	})
}

func TestSearchWithOtherSettings(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := newNumbers(100)
		cfg := peakConfig(t, n)
		mustRun(t, n, cfg)
		finished, err := os.ReadFile(filepath.Join(cfg.OutputDir, report.FileName))
		testenv.Must(t, err)

		cfg.Engine = peakConfig(t, n).Engine
		again, err := measure(t.Context(), cfg)
		if err != nil || !again.Valid() || again.Peak.Best == 0 {
			t.Errorf("a search that is over: %+v, %v", again, err)
		}
		if now, _ := os.ReadFile(filepath.Join(cfg.OutputDir, report.FileName)); string(now) != string(finished) {
			t.Error("its results changed")
		}

		cfg.Engine = peakConfig(t, n).Engine
		cfg.Settings.ServerTargetLatency = 20 * time.Millisecond
		if _, err := measure(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), PeakFile) {
			t.Errorf("with another bound: %v", err)
		}
		if err := os.WriteFile(filepath.Join(cfg.OutputDir, PeakFile), []byte("{"), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := measure(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), PeakFile) {
			t.Errorf("with a broken file: %v", err)
		}
	})
}

func TestSearchWithoutAPeak(t *testing.T) {
	testenv.SkipLong(t, "much arithmetic")
	synctest.Test(t, func(t *testing.T) {
		n := newNumbers(100)
		cfg := peakConfig(t, n)
		cfg.Settings.ServerTargetLatency, cfg.Anyway = 4*time.Millisecond, true
		r := mustRun(t, n, cfg)
		if r.Valid() || r.Peak.Best != 0 || r.Peak.UserConf != "" || len(r.Peak.Steps) < 3 {
			t.Errorf("%s: %+v", r.Result, r.Peak)
		}
		if text := strings.Join(r.Problems, "; "); !strings.Contains(text, "no load") {
			t.Errorf("problems: %s", text)
		}
	})
}

func TestPeakOfStreams(t *testing.T) {
	testenv.SkipLong(t, "takes long")
	synctest.Test(t, func(t *testing.T) {
		n := newNumbers(100)
		cfg := configOf(t, n, loadgen.MultiStream, loadgen.PerformanceOnly)
		cfg.FindPeak, cfg.Instances, cfg.MaxBatch = true, 1, 100
		cfg.Settings.MultiStreamQPS, cfg.Settings.MultiStreamSamplesPerQuery = 20, 4 // 50 ms
		cfg.Settings.WithoutEarlyStopping = true
		r := mustRun(t, n, cfg)
		// 5 ms for the first sample and 1 ms for each further one.
		if p := r.Peak; !r.Valid() || p.Best < 44 || p.Best > 46 || p.UserConf == "" || r.Metric.Value != p.Best {
			t.Errorf("%s %v: %+v, metric %+v", r.Result, r.Problems, p, r.Metric)
		}
	})
}

func TestFindPeakNeedsABound(t *testing.T) {
	for _, scenario := range []loadgen.Scenario{loadgen.SingleStream, loadgen.MultiStream, loadgen.Offline} {
		synctest.Test(t, func(t *testing.T) {
			cfg := configOf(t, newNumbers(100), scenario, loadgen.PerformanceOnly)
			cfg.FindPeak = true
			if _, err := measure(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), scenario.String()) {
				t.Errorf("%v: %v", scenario, err)
			}
		})
	}
}

// Five searches on a machine that stops for a second now and then, each time elsewhere, find
// nearly the same.
func TestPeakOnADisturbedMachine(t *testing.T) {
	testenv.SkipLong(t, "takes long")
	low, high := math.Inf(1), 0.0
	for seed := range uint64(5) {
		synctest.Test(t, func(t *testing.T) {
			n := newNumbers(100)
			chance := rand.New(rand.NewPCG(seed, 1))
			began, stop := time.Now(), time.Duration(chance.Float64()*10*float64(time.Second)) // the first is soon
			var mu sync.Mutex
			due := func() bool { // reports whether a worker is to stop for a while
				mu.Lock()
				defer mu.Unlock()
				if time.Since(began) <= stop {
					return false
				}
				stop = time.Since(began) + time.Second + time.Duration((0.5+chance.Float64())*90*float64(time.Second))
				return true
			}
			n.predict = func(int64) error {
				if due() {
					time.Sleep(time.Second)
				}
				return nil
			}
			p := mustRun(t, n, peakConfig(t, n)).Peak
			low, high = min(low, p.Best), max(high, p.Best)
		})
	}
	if low == 0 || high/low > 1.05 {
		t.Errorf("the peaks are between %v and %v, which differ by %.1f %%", low, high, 100*(high/low-1))
	}
}

func TestUserConfOfAPeak(t *testing.T) {
	r := newRun(Config{Model: newNumbers(1).model()})
	r.cfg.Settings = settings(loadgen.Server)
	r.cfg.Settings.ServerTargetLatency, r.cfg.Settings.ServerTargetLatencyPercentile = 250*time.Millisecond, 0.9
	if got, want := r.userConf(48.567), "numbers.Server.target_qps = 48.56"; got != want {
		t.Errorf("with the rules' bound: %q, want %q", got, want)
	}
	r.set("target_latency", "250ms", "flag --target-latency", limitation.Flag)
	r.set("target_latency_percentile", "90", "quick run", limitation.QuickRun)
	want := "numbers.Server.target_qps = 48.56\nnumbers.Server.target_latency = 250\nnumbers.Server.target_latency_percentile = 90"
	if got := r.userConf(48.567); got != want {
		t.Errorf("with another bound: %q, want %q", got, want)
	}
}

// A short test is long enough to know the percentile, and ends when its queue cannot drain any more.
func TestShortTest(t *testing.T) {
	few := loadgen.NeededQueries(1, 0.99)
	server := loadgen.TestSettings{
		Scenario: loadgen.Server, ServerTargetQPS: 1, ServerTargetLatency: 15 * time.Millisecond, ServerTargetLatencyPercentile: 0.99,
		MultiStreamTargetLatencyPercentile: 0.9, MultiStreamSamplesPerQuery: 3,
		Common: loadgen.Common{MinDuration: 10 * time.Minute, MinQueryCount: 270336},
	}
	for _, c := range []struct {
		name   string
		load   float64
		change func(*loadgen.TestSettings)
		want   func(*loadgen.TestSettings)
	}{
		{"a twentieth of the time", 100, func(*loadgen.TestSettings) {}, func(s *loadgen.TestSettings) {
			s.ServerTargetQPS, s.ServerMaxAsyncQueries, s.MinDuration, s.MinQueryCount, s.MaxDuration = 100, 4*100*15/1000+64, 30*time.Second, few, 240*time.Second
		}},
		{"forty bounds, if they are longer", 100, func(s *loadgen.TestSettings) { s.ServerTargetLatency = time.Second }, func(s *loadgen.TestSettings) {
			s.ServerTargetQPS, s.ServerMaxAsyncQueries, s.MinDuration, s.MinQueryCount, s.MaxDuration = 100, 4*100+64, 40*time.Second, few, 320*time.Second
		}},
		{"two seconds at least, and no longer than a full one", 100, func(s *loadgen.TestSettings) { s.MinDuration = time.Second }, func(s *loadgen.TestSettings) {
			s.ServerTargetQPS, s.ServerMaxAsyncQueries, s.MinQueryCount = 100, 4*100*15/1000+64, few
			s.MaxDuration = 8 * time.Duration(float64(few)/100*1e9)
		}},
		{"as many queries as show a trend, if a full one has them", 100, func(s *loadgen.TestSettings) { s.MinQueryCount = 10 }, func(s *loadgen.TestSettings) {
			s.ServerTargetQPS, s.ServerMaxAsyncQueries, s.MinQueryCount, s.MinDuration, s.MaxDuration = 100, 4*100*15/1000+64, report.TrendQueries, 30*time.Second, 240*time.Second
		}},
		{"fewer queries, if a full one has fewer", 100, func(s *loadgen.TestSettings) { s.MinQueryCount, s.MinDuration = 10, 3*time.Second }, func(s *loadgen.TestSettings) {
			s.ServerTargetQPS, s.ServerMaxAsyncQueries, s.MinQueryCount, s.MinDuration, s.MaxDuration = 100, 4*100*15/1000+64, 300, 2*time.Second, 24*time.Second
		}},
		{"no bound on the queue, where tokens have bounds", 100, func(s *loadgen.TestSettings) { s.UseTokenLatencies = true }, func(s *loadgen.TestSettings) {
			s.ServerTargetQPS, s.MinDuration, s.MinQueryCount, s.MaxDuration = 100, 30*time.Second, few, 240*time.Second
		}},
		{"streams at intervals", 5, func(s *loadgen.TestSettings) {
			s.Scenario, s.MultiStreamQPS, s.ServerTargetLatency = loadgen.MultiStream, 20, 0
		}, func(s *loadgen.TestSettings) {
			s.MultiStreamSamplesPerQuery, s.MinDuration, s.MinQueryCount, s.MaxDuration = 5, 30*time.Second, loadgen.NeededQueries(1, 0.9), 240*time.Second
		}},
	} {
		r := &run{cfg: Config{Settings: server}}
		c.change(&r.cfg.Settings)
		want := r.cfg.Settings
		c.want(&want)
		if diff := cmp.Diff(want, shortTest(r.cfg.Settings, c.load)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
		if r.cfg.Settings.ServerTargetQPS != 1 || r.cfg.Settings.MultiStreamSamplesPerQuery != 3 {
			t.Errorf("%s: the run's own load is %g, %d now", c.name, r.cfg.Settings.ServerTargetQPS, r.cfg.Settings.MultiStreamSamplesPerQuery)
		}
	}
}
