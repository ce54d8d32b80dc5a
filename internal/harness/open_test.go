package harness

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/backend/simulated"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/machine"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/testenv"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

func TestWorkersWithThreadsHaveSessions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ workers, threads, sessions int }{{3, 1, 1}, {3, 2, 3}, {1, 2, 1}} {
		synctest.Test(t, func(t *testing.T) {
			n := newNumbers(100)
			cfg := configOf(t, n, loadgen.Offline, loadgen.PerformanceOnly)
			cfg.Instances, cfg.Backend.IntraThreads = c.workers, c.threads
			cfg.Settings.MinDuration, cfg.Settings.OfflineExpectedQPS = time.Second, 6000
			r := mustRun(t, n, cfg)
			if b := r.Backend; b.Sessions != c.sessions || b.Instances != c.workers || b.Threads != c.threads || !b.WarmUp.Stable || b.WarmUp.LatencyNS != 5e6 {
				t.Errorf("%+v, want %d sessions", b, c.sessions)
			}
		})
	}
}

func TestReplacedModelFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNumbers(10)
		cfg := configOf(t, n, loadgen.Offline, loadgen.AccuracyOnly)
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

func TestCheckComesFirst(t *testing.T) {
	tests := []struct {
		name   string
		change func(*Config)
		want   string
	}{
		{"settings", func(c *Config) { c.Settings.OfflineExpectedQPS = 0 }, "test settings: Offline target_qps must be positive"},
		{"batch", func(c *Config) { c.MaxBatch = -1 }, "the largest batch is -1"},
		{"instances", func(c *Config) { c.Instances = -2 }, "the number of instances is -2"},
		{"count", func(c *Config) { c.Count = -3 }, "the number of samples is -3"},
		{"performance samples", func(c *Config) { c.PerformanceSampleCount = -4 }, "the performance sample count is -4"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			cfg := configOf(t, newNumbers(10), loadgen.Offline, loadgen.PerformanceOnly)
			cfg.OutputDir = filepath.Join(cfg.OutputDir, "new")
			test.change(&cfg)
			r, err := measure(t.Context(), cfg)
			if r != nil || err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("results %v, error %v, want %q", r, err, test.want)
			}
			if _, err := os.Stat(cfg.OutputDir); err == nil || len(cfg.Observer.(*observer).phases) > 0 {
				t.Error("something was done before")
			}
		})
	}
}

func TestOpenErrorsCloseEverything(t *testing.T) {
	refused := errors.New("no such device")
	tests := []struct {
		name   string
		change func(*Config, *numbers)
		want   string
	}{
		{"the data set", func(c *Config, _ *numbers) { c.DatasetDir = "missing" }, "data: there are no numbers"},
		{"the model", func(c *Config, _ *numbers) {
			c.Engine = engine(t, simulated.Config{OpenError: refused})
		}, "model: opening a simulated model: no such device"},
		{"the model file", func(c *Config, _ *numbers) {
			c.Engine = bare(t)
			c.Backend.ModelPath = "nowhere/model.onnx"
		}, "data: "},
		{"the batch", func(c *Config, n *numbers) { n.batch, c.MaxBatch = 4, 5 }, "model: the model takes batches of 4"},
		{"too few samples", func(c *Config, _ *numbers) { c.PerformanceSampleCount = 11 }, "performance_sample_count: 11 samples are more than the 10 of the data set"},
		{"a sample in the warm-up", func(_ *Config, n *numbers) {
			n.prepare = func(int) error { return errors.New("damaged file") }
		}, "warm-up: damaged file"},
		{"a sample of the test", func(_ *Config, n *numbers) {
			n.prepare = func(i int) error {
				if i == 9 {
					return errors.New("damaged file")
				}
				return nil
			}
		}, "traffic: loading 10 samples: damaged file"},
		{"the first prediction", func(_ *Config, n *numbers) {
			n.predict = func(int64) error { return errors.New("out of memory") }
		}, "warm-up: out of memory"},
		{"the first prediction, by a panic", func(_ *Config, n *numbers) {
			n.predict = func(int64) error { panic("index out of range") }
		}, "warm-up: panic in the model's code: index out of range"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := newNumbers(10)
				cfg := configOf(t, n, loadgen.Offline, loadgen.PerformanceOnly)
				test.change(&cfg, n)
				r, err := measure(t.Context(), cfg)
				if r != nil || err == nil || !strings.HasPrefix(err.Error(), test.want) {
					t.Errorf("results %v, error %v, want %q", r, err, test.want)
				}
				testenv.Must(t, cfg.Engine.Close())
				if _, err := os.Stat(filepath.Join(cfg.OutputDir, report.FileName)); err == nil {
					t.Error("results were written")
				}
			})
		})
	}
}

// A pinnedEngine notes which processors the threads of its sessions are given.
type pinnedEngine struct {
	*simulated.Engine
	opened [][]int
}

func (e *pinnedEngine) Open(ctx context.Context, opts backend.Options) (backend.Session, error) {
	e.opened = append(e.opened, opts.Cores)
	return e.Engine.Open(ctx, opts)
}

func TestPinnedThreads(t *testing.T) {
	for _, test := range []struct {
		name             string
		processors       []int
		workers, threads int
		sessions         [][]int
		own              []int // processors of the workers' own threads
	}{
		{"not asked for", nil, 2, 2, [][]int{nil, nil}, []int{-1, -1}},
		{"several threads", []int{1, 3, 5, 7, 9}, 2, 2, [][]int{{1, 3}, {5, 7}}, []int{1, 5}},
		{"one thread, a shared session", []int{1, 3, 5}, 3, 1, [][]int{nil}, []int{1, 3, 5}},
		{"one worker", []int{4, 5}, 1, 2, [][]int{{4, 5}}, []int{4}},
	} {
		t.Run(test.name, func(t *testing.T) {
			n := newNumbers(10)
			cfg := configOf(t, n, loadgen.Offline, loadgen.PerformanceOnly)
			e := &pinnedEngine{Engine: engine(t, simulated.Config{})}
			cfg.Engine, cfg.Processors, cfg.Instances, cfg.Backend.IntraThreads = e, test.processors, test.workers, test.threads
			r := newRun(cfg)
			testenv.Must(t, r.open(t.Context()))
			if !slices.EqualFunc(e.opened, test.sessions, slices.Equal) {
				t.Errorf("sessions have the processors %v, want %v", e.opened, test.sessions)
			}
			for i, p := range r.model.predictors {
				own := -1
				if on, is := p.Predictor.(pinnedPredictor); is {
					own = on.core
				}
				if own != test.own[i] {
					t.Errorf("worker %d is on processor %d, want %d", i, own, test.own[i])
				}
			}
			if got, want := r.backend().PinnedTo, test.processors[:min(len(test.processors), test.workers*test.threads)]; !slices.Equal(got, want) {
				t.Errorf("the results say %v, want %v", got, want)
			}
			testenv.Must(t, errors.Join(r.close(), e.Close()))
		})
	}
}

func TestPinningNeedsAProcessorForEachThread(t *testing.T) {
	cfg := configOf(t, newNumbers(10), loadgen.Offline, loadgen.PerformanceOnly)
	cfg.Processors, cfg.Instances, cfg.Backend.IntraThreads = []int{0, 1, 2}, 2, 2
	_, err := measure(t.Context(), cfg)
	var of *userinput.Error
	if !errors.As(err, &of) || of.Field != "pin" || !testenv.Names(err, "2 workers … 2 threads … 3") {
		t.Errorf("error %v", err)
	}
}

// processorsOfThread lists those that the thread which calls may use, as the system does: 0-3,7.
func processorsOfThread(t *testing.T) string {
	status, err := os.ReadFile("/proc/thread-self/status")
	if err != nil {
		t.Error(err)
	}
	_, after, _ := strings.Cut(string(status), "Cpus_allowed_list:")
	list, _, _ := strings.Cut(after, "\n")
	return strings.TrimSpace(list)
}

// Whatever thread a prediction runs on, it has its worker's processor and no other: in the
// warm-up, and in the test, on threads of workers and on the one that issues.
func TestPredictionsArePinned(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("threads are pinned on Linux")
	}
	for _, test := range []struct {
		scenario loadgen.Scenario
		workers  int
	}{{loadgen.SingleStream, 1}, {loadgen.Offline, len(machine.Processors())}} {
		synctest.Test(t, func(t *testing.T) {
			var mu sync.Mutex
			seen := map[string]bool{}
			n := newNumbers(100)
			n.predict = func(int64) error {
				mu.Lock()
				defer mu.Unlock()
				on := processorsOfThread(t)
				if _, err := strconv.Atoi(on); err != nil {
					t.Errorf("a prediction may run on the processors %s", on)
				}
				seen[on] = true
				return nil
			}
			cfg := configOf(t, n, test.scenario, loadgen.PerformanceOnly)
			cfg.Settings.MinDuration = time.Second
			cfg.Processors, cfg.Instances, cfg.Backend.IntraThreads = machine.Processors(), test.workers, 1
			mustRun(t, n, cfg)
			if len(seen) != test.workers {
				t.Errorf("%v: predictions ran on the processors %v, want %d", test.scenario, seen, test.workers)
			}
		})
	}
}

func TestImpossibleShapes(t *testing.T) {
	for _, test := range []struct {
		name     string
		scenario loadgen.Scenario
		change   func(*Config)
		field    string
		want     string
	}{
		{"a batch", loadgen.Offline, func(c *Config) { c.MaxBatch = 1e9 }, "max_batchsize", "2 workers with batches of 1000000000 samples of 4 bytes would take 246 GiB"},
		{"threads", loadgen.Offline, func(c *Config) { c.Backend.IntraThreads = 1e5 }, "intra_threads", "100000 threads are asked for, the "},
		{"threads of all workers", loadgen.Offline, func(c *Config) { c.Instances, c.Backend.IntraThreads = 1000, 1000 }, "intra_threads", "1000000 threads are asked for"},
		{"workers", loadgen.Offline, func(c *Config) { c.Instances = 1e6 }, "instances", "1000000 threads are asked for"},
		{"threads beyond the container's limit", loadgen.Offline, func(c *Config) {
			c.Backend.IntraThreads, c.FreeThreads = 4, func() (int, bool) { return 7, true }
		}, "intra_threads", "8 threads are asked for, the container's limit on processes and threads leaves 7"},
		{"workers beyond the container's limit", loadgen.Offline, func(c *Config) {
			c.FreeThreads = func() (int, bool) { return 1, true }
		}, "instances", "2 threads are asked for, the container's limit on processes and threads leaves 1"},
		{"an Offline query", loadgen.Offline, func(c *Config) { c.Settings.OfflineExpectedQPS = 1e9 }, "target_qps", "a query of 4400000000 samples would take 262 GiB of memory, 8.00 GiB are free"},
		{"many queries", loadgen.SingleStream, func(c *Config) { c.Settings.MinQueryCount = 1 << 31 }, "min_query_count", "drawing 2,147,483,648 queries before the test would take 48.0 GiB of memory, 8.00 GiB are free"},
		{"a long test", loadgen.Server, func(c *Config) { c.Settings.ServerTargetQPS, c.Settings.MinDuration = 1e4, 1000*time.Hour }, "min_duration", "drawing 36,000,000,000 queries before the test would take"},
		{"a high rate", loadgen.Server, func(c *Config) { c.Settings.ServerTargetQPS, c.Settings.MinDuration = 1e308, time.Minute }, "target_qps", "drawing – queries before the test would take"},
		{"a short latency", loadgen.SingleStream, func(c *Config) {
			c.Settings.SingleStreamExpectedLatencyNS, c.Settings.MinDuration = 1, time.Minute
		}, "target_latency", "drawing 120,000,000,000 queries before the test would take"},
		{"a MultiStream query", loadgen.MultiStream, func(c *Config) { c.Settings.MultiStreamSamplesPerQuery = 1e9 }, "samples_per_query", "would take"},
		{"a batch that was not asked for", loadgen.MultiStream, func(c *Config) {
			c.MaxBatch, c.FreeMemory, c.Settings.MultiStreamSamplesPerQuery = 0, func() uint64 { return 8 << 20 }, 1e5
		}, "samples_per_query", "batches of 100000 samples of 4 bytes would take"},
	} {
		synctest.Test(t, func(t *testing.T) {
			n := newNumbers(100)
			cfg := configOf(t, n, test.scenario, loadgen.PerformanceOnly)
			cfg.FreeMemory = func() uint64 { return 8 << 30 }
			test.change(&cfg)
			_, err := measure(t.Context(), cfg)
			var of *userinput.Error
			if !errors.As(err, &of) || of.Field != test.field || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%s: %v, want %s: %s", test.name, err, test.field, test.want)
			}
			testenv.Must(t, cfg.Engine.Close())
		})
	}
}

// TestSlotsMustFitInMemory with what they take and what is free.
func TestSlotsMustFitInMemory(t *testing.T) {
	const free = 1 << 30
	for _, c := range []struct {
		name    string
		each    int64
		batch   int
		refused string // empty: it fits
	}{
		{"as many as there are usually", free / 8, 0, "2 workers with the memory of 8 samples under way each would take 2.00 GiB of memory, 1.00 GiB are free"},
		{"as many as were asked for", free / 100, 64, "the memory of 64 samples under way each would take 1.28 GiB of memory, 1.00 GiB are free"},
		{"fewer", free / 8, 2, ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			n := newNumbers(100)
			cfg := configOf(t, n, loadgen.Offline, loadgen.PerformanceOnly)
			cfg.Model.Open = func(workload.Setup) (*workload.Workload, error) {
				w := n.workload()
				w.Slots, w.PredictorBytes = 8, func(samples int) int64 { return c.each * int64(samples) }
				return w, nil
			}
			cfg.MaxBatch, cfg.FreeMemory = c.batch, func() uint64 { return free }
			r, err := measure(t.Context(), cfg)
			var of *userinput.Error
			if c.refused != "" && (!errors.As(err, &of) || of.Field != "max_batchsize" || !strings.Contains(err.Error(), c.refused) || r != nil) {
				t.Errorf("%s: %v, want max_batchsize: %s", c.name, err, c.refused)
			}
			if c.refused == "" && err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
			testenv.Must(t, cfg.Engine.Close())
		})
	}
}
