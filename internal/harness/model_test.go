package harness

import (
	"context"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/backend/simulated"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// A threadedEngine divides the time that one thread takes by the number of threads. It
// notes what it opened.
type threadedEngine struct {
	*simulated.Engine
	t   *testing.T
	one time.Duration

	mu     sync.Mutex
	opened []int // threads
}

func (e *threadedEngine) Open(ctx context.Context, opts backend.Options) (backend.Session, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.opened = append(e.opened, opts.IntraThreads)
	return engine(e.t, simulated.Config{Latency: e.one / time.Duration(max(1, opts.IntraThreads))}).Open(ctx, opts)
}

// opened warms a Server run up on four cores and returns the shape that it has then.
func warmedUp(t *testing.T, one, bound time.Duration, change func(*Config)) (shape, *observer) {
	t.Helper()
	n := newNumbers(100)
	cfg := config(t, n, loadgen.Server, loadgen.PerformanceOnly)
	cfg.Instances = 0
	cfg.Settings.ServerTargetLatency = bound
	cfg.Engine = &threadedEngine{Engine: engine(t, simulated.Config{}), t: t, one: one}
	change(&cfg)
	r := newRun(cfg)
	defer r.close()
	if err := r.open(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := r.reopen(t.Context(), r.shapeInput(4).shape()); err != nil {
		t.Fatal(err)
	}
	if err := r.widen(t.Context(), 4); err != nil {
		t.Fatal(err)
	}
	return r.model.shape, cfg.Observer.(*observer)
}

func TestAWorkerHasAllCoresWhereOneIsTooSlowForTheBound(t *testing.T) {
	nothing := func(*Config) {}
	for _, c := range []struct {
		name       string
		one, bound time.Duration
		change     func(*Config)
		want       shape
	}{
		{"room enough", 5 * time.Millisecond, 15 * time.Millisecond, nothing, shape{4, 1, 1}},
		{"no room to wait", 10 * time.Millisecond, 15 * time.Millisecond, nothing, shape{1, 4, serverBatch}},
		{"out of reach for one thread", 40 * time.Millisecond, 15 * time.Millisecond, nothing, shape{1, 4, serverBatch}},
		{"out of reach for all", 100 * time.Millisecond, 15 * time.Millisecond, nothing, shape{4, 1, 1}},
		{"a bound that may be raised", 40 * time.Millisecond, 15 * time.Millisecond, func(c *Config) { c.AutoLatency = true }, shape{4, 1, 1}},
		{"a bound that need not be raised", 20 * time.Millisecond, 15 * time.Millisecond, func(c *Config) { c.AutoLatency = true }, shape{1, 4, serverBatch}},
		{"a batch that was asked for", 10 * time.Millisecond, 15 * time.Millisecond, func(c *Config) { c.MaxBatch = 2 }, shape{1, 4, 2}},
		{"workers that were asked for", 10 * time.Millisecond, 15 * time.Millisecond, func(c *Config) { c.Instances = 4 }, shape{4, 1, 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				got, o := warmedUp(t, c.one, c.bound, c.change)
				if got != c.want {
					t.Errorf("the shape is %+v, want %+v", got, c.want)
				}
				if wide := c.want.workers == 1; o.noted("one worker has all cores") != wide {
					t.Errorf("notes %q", o.notes)
				}
			})
		})
	}
}

func TestWorkersWithThreadsHaveSessionsOfTheirOwn(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ workers, threads, sessions int }{{3, 1, 1}, {3, 2, 3}, {1, 2, 1}} {
		synctest.Test(t, func(t *testing.T) {
			n := newNumbers(100)
			cfg := config(t, n, loadgen.Offline, loadgen.PerformanceOnly)
			cfg.Instances, cfg.Backend.IntraThreads = c.workers, c.threads
			cfg.Settings.MinDuration, cfg.Settings.OfflineExpectedQPS = time.Second, 6000
			r := mustRun(t, n, cfg)
			if b := r.Backend; b.Sessions != c.sessions || b.Instances != c.workers || b.Threads != c.threads || !b.WarmUp.Stable || b.WarmUp.LatencyNS != 5e6 {
				t.Errorf("%+v, want %d sessions", b, c.sessions)
			}
		})
	}
}

func TestAModelFileThatIsReplacedDuringTheRunIsWarnedOf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNumbers(10)
		cfg := config(t, n, loadgen.Offline, loadgen.AccuracyOnly)
		cfg.Backend.ModelPath = filepath.Join(t.TempDir(), "model")
		write(t, cfg.Backend.ModelPath, "the old one")
		cfg.Observer.(*observer).on = func(what string) {
			if what == "traffic" {
				write(t, cfg.Backend.ModelPath, "another one")
			}
		}
		r := mustRun(t, n, cfg)
		if len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], "changed during the run") || r.Input.ModelSHA256 != "" {
			t.Errorf("warnings %q, sum %q", r.Warnings, r.Input.ModelSHA256)
		}
	})
}

// An overloaded system is found out, and the test ends in time.
func TestAnOverloadEndsInTimeAndIsNamed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		target float64
		most   time.Duration
	}{
		{"slightly above the capacity", 480, 75 * time.Second},
		{"far above the capacity", 5000, 30 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.target > 1000 {
				testenv.SkipLong(t, "it issues 150,000 queries")
			}
			synctest.Test(t, func(t *testing.T) {
				n := newNumbers(100)
				cfg := config(t, n, loadgen.Server, loadgen.PerformanceOnly)
				cfg.MaxBatch = 1 // two workers do 400/s
				cfg.Settings.ServerTargetQPS, cfg.Settings.MinDuration = c.target, time.Minute
				began := time.Now()
				r := mustRun(t, n, cfg)
				if took := time.Since(began); took > c.most {
					t.Errorf("it took %v", took)
				}
				if r.Valid() || !strings.Contains(strings.Join(r.Problems, "; "), "overload: the queue grew from 0.") {
					t.Errorf("%s: %q", r.Result, r.Problems)
				}
				if q := r.Queue; q == nil || q.Backlog < 1000 || q.GrewSeconds > 2 {
					t.Errorf("queue %+v", q)
				}
			})
		})
	}
}

func TestABurstIsNoOverload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNumbers(100)
		cfg := config(t, n, loadgen.Server, loadgen.PerformanceOnly)
		cfg.Settings.ServerTargetQPS = 200
		if r := mustRun(t, n, cfg); !r.Valid() || r.Queue.Backlog != 0 || r.Queue.Peak == 0 {
			t.Errorf("%s %q: %+v", r.Result, r.Problems, r.Queue)
		}
	})
}
