package harness

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/mlperf-go/mlperf/internal/backend/simulated"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/loadgen/mlperflog"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/serve/tokenserver"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// TestKilledProgramLeavesResults looks at the folder while the test runs: that
// is what a killed program would leave.
func TestKilledProgramLeavesResults(t *testing.T) {
	t.Parallel()
	for _, mode := range []loadgen.Mode{loadgen.PerformanceOnly, loadgen.AccuracyOnly} {
		synctest.Test(t, func(t *testing.T) {
			n := newNumbers(400)
			cfg := configOf(t, n, loadgen.Server, mode)
			var checked atomic.Bool // by whichever worker comes first
			n.predict = func(k int64) error {
				if k < 60 || checked.Swap(true) {
					return nil
				}
				r, err := report.Read(cfg.OutputDir)
				if err != nil {
					t.Error(err)
					return nil
				}
				if r.Result != report.Interrupted || len(r.Problems) != 1 || !strings.Contains(r.Problems[0], "the test has not ended") || len(r.Settings) != len(cfg.Made) {
					t.Errorf("result %s, problems %q, settings %v", r.Result, r.Problems, r.Settings)
				}
				d, err := mlperflog.ReadDetail(filepath.Join(cfg.OutputDir, mlperflog.DetailFile))
				if err != nil || len(d.Errors()) != 1 {
					t.Errorf("detail log %v, %v", d, err)
				}
				if s, err := d.Scenario(); err != nil || s != loadgen.Server {
					t.Errorf("scenario %v, %v", s, err)
				}
				return nil
			}
			if r := mustRun(t, n, cfg); r.Result != report.Valid || !checked.Load() {
				t.Errorf("result %s, checked %v: %q", r.Result, checked.Load(), r.Problems)
			}
		})
	}
}

// A failure is something that goes wrong in a prediction of the test, after the warm-up.
type failure struct {
	name  string
	apply func(*testing.T, *Config, *numbers)
	want  string
}

func failures() []failure {
	// later calls f from the 30th prediction on. The warm-up takes 9.
	later := func(f func() error) func(*testing.T, *Config, *numbers) {
		return func(_ *testing.T, _ *Config, n *numbers) {
			n.predict = func(k int64) error {
				if k < 30 {
					return nil
				}
				return f()
			}
		}
	}
	return []failure{
		{"the model returns an error", later(func() error { return errors.New("out of memory") }), "out of memory"},
		{"the model panics", later(func() error { panic("index out of range") }), "panic in the model's code: index out of range"},
		{"the model gives no answer", later(func() error { return errSilent }), "the model gave no answer"},
		{"the engine fails", func(t *testing.T, c *Config, _ *numbers) {
			c.Engine = engine(t, simulated.Config{Latency: 5 * time.Millisecond, FailEvery: 30})
		}, "running the simulated model: run 30: simulated failure"},
		{"the engine answers NaN", func(t *testing.T, c *Config, _ *numbers) {
			c.Engine = engine(t, simulated.Config{Latency: 5 * time.Millisecond, NaNEvery: 30})
		}, "the class is not a number"},
	}
}

func TestFailedPredictionEndsTheRun(t *testing.T) {
	t.Parallel()
	for i, f := range failures() {
		for _, scenario := range loadgen.Scenarios() {
			for _, mode := range []loadgen.Mode{loadgen.PerformanceOnly, loadgen.AccuracyOnly} {
				t.Run(fmt.Sprintf("%s %v %v", f.name, scenario, mode), func(t *testing.T) {
					if i > 0 && (scenario != loadgen.Server || mode != loadgen.PerformanceOnly) {
						testenv.SkipLong(t, "there are 40 runs")
					}
					synctest.Test(t, func(t *testing.T) {
						n := newNumbers(400)
						cfg := configOf(t, n, scenario, mode)
						cfg.MaxBatch = 4
						f.apply(t, &cfg, n)
						began := time.Now()
						r, err := measure(t.Context(), cfg)
						if !errors.Is(err, errFailed) || !strings.Contains(err.Error(), f.want) {
							t.Fatalf("error %v, want one of the model: %s", err, f.want)
						}
						if took := time.Since(began); took > 5*time.Second {
							t.Errorf("it took %v", took)
						}
						checkClosed(t, n, cfg)
						checkFailed(t, cfg, r, report.Invalid, f.want)
					})
				})
			}
		}
	}
}

// checkFailed wants results that are marked, and the same on the disk.
func checkFailed(t *testing.T, cfg Config, r *report.Results, result, problem string) {
	t.Helper()
	if r == nil || r.Result != result || r.Valid() || r.Accuracy != nil {
		t.Fatalf("results %+v, want them %s", r, result)
	}
	if all := strings.Join(r.Problems, "\n"); !strings.Contains(all, problem) {
		t.Errorf("problems %q, want %q among them", all, problem)
	}
	back, err := report.Read(cfg.OutputDir)
	testenv.Must(t, err)
	if diff := cmp.Diff(r, back, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("results.json (-returned +written):\n%s", diff)
	}
	detail, err := mlperflog.ReadDetail(filepath.Join(cfg.OutputDir, mlperflog.DetailFile))
	if err != nil || len(detail.Errors()) == 0 {
		t.Errorf("the detail log tells of no error, %v", err)
	}
	if r.Performance != nil {
		checkSummary(t, cfg, r)
	}
	readAccuracyLog(t, cfg.OutputDir)
}

// A loss is the error of a request to one of several servers.
type loss struct{ others int }

func (loss) Error() string { return "server b: connection reset" }

func (l loss) Survivors() int { return l.others }

func TestLostServerFailsItsSamples(t *testing.T) {
	t.Parallel()
	for _, scenario := range loadgen.Scenarios() {
		synctest.Test(t, func(t *testing.T) {
			n := newNumbers(400)
			cfg := configOf(t, n, scenario, loadgen.PerformanceOnly)
			n.predict = func(k int64) error {
				if k >= 30 && k < 33 {
					return fmt.Errorf("running the model: %w", loss{1})
				}
				return nil
			}
			r, err := measure(t.Context(), cfg)
			if err != nil || r.Result != report.Invalid || r.Performance == nil {
				t.Fatalf("%v: %+v, %v, want results that are INVALID", scenario, r, err)
			}
			if all := strings.Join(r.Problems, "\n"); !testenv.Tells(all, "server b … connection reset … and") {
				t.Errorf("%v: problems %q", scenario, all)
			}
			if d := time.Duration(r.Performance.DurationNS); d < cfg.Settings.MinDuration {
				t.Errorf("%v: the run ended after %v, want %v", scenario, d, cfg.Settings.MinDuration)
			}
			checkClosed(t, n, cfg)
		})
	}
	synctest.Test(t, func(t *testing.T) { // the last one
		n := newNumbers(400)
		cfg := configOf(t, n, loadgen.Server, loadgen.PerformanceOnly)
		n.predict = func(k int64) error {
			if k < 30 {
				return nil
			}
			return loss{0}
		}
		if r, err := measure(t.Context(), cfg); !errors.Is(err, errFailed) || r.Result != report.Invalid {
			t.Errorf("without another server: %v", err)
		}
	})
}

func TestFailedRunWaitsForNoPrediction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNumbers(100)
		cfg := configOf(t, n, loadgen.Offline, loadgen.PerformanceOnly)
		n.predict = func(k int64) error {
			switch {
			case k < 30:
				return nil
			case k == 30:
				time.Sleep(time.Hour)
				return errors.New("a late failure")
			}
			return errors.New("out of memory")
		}
		began := time.Now()
		r, err := measure(t.Context(), cfg)
		if !errors.Is(err, errFailed) || !strings.Contains(err.Error(), "out of memory") {
			t.Errorf("error %v", err)
		}
		if took := time.Since(began); took > 3*time.Second {
			t.Errorf("it took %v", took)
		}
		checkFailed(t, cfg, r, report.Invalid, "out of memory")
		time.Sleep(2 * time.Hour)
		if n.tornDown.Load() > 0 || n.closed.Load() > 0 {
			t.Error("something was freed under a prediction")
		}
	})
}

var errStopped = errors.New("interrupted by the user")

// interruptAfter runs a benchmark and interrupts it a while after it began.
func interruptAfter(t *testing.T, d time.Duration, cfg Config) (r *report.Results, took time.Duration, err error) {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	began := time.Now()
	if d == 0 {
		cancel(errStopped)
	} else {
		time.AfterFunc(d, func() { cancel(errStopped) })
	}
	r, err = measure(ctx, cfg)
	return r, time.Since(began) - d, err
}

func TestInterruptionBeforeTraffic(t *testing.T) {
	slow := func(c simulated.Config) func(*testing.T, *Config, *numbers) {
		return func(t *testing.T, cfg *Config, _ *numbers) { cfg.Engine = engine(t, c) }
	}
	tests := []struct {
		phase string
		after time.Duration
		apply func(*testing.T, *Config, *numbers)
		most  time.Duration // from the interruption to the end
	}{
		{"data", 0, slow(simulated.Config{}), 0},
		{"model", 30 * time.Second, slow(simulated.Config{OpenTime: time.Minute}), 0},
		{"warm-up", 3 * time.Second, slow(simulated.Config{Latency: 2 * time.Second}), 2 * time.Second},
		{"warm-up", 3 * time.Second, func(_ *testing.T, c *Config, n *numbers) {
			n.prepareTime, c.MaxBatch = time.Second, 40
		}, time.Second},
		{"calibration", 500 * time.Millisecond, slow(simulated.Config{Latency: 20 * time.Millisecond}), 20 * time.Millisecond},
	}
	for _, test := range tests {
		t.Run(fmt.Sprintf("%s after %v", test.phase, test.after), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := newNumbers(100)
				cfg := configOf(t, n, loadgen.Server, loadgen.PerformanceOnly)
				cfg.Calibrate = true
				test.apply(t, &cfg, n)
				r, took, err := interruptAfter(t, test.after, cfg)
				if r != nil || !errors.Is(err, errStopped) || !testenv.Names(err, test.phase) {
					t.Errorf("results %v, error %v; want the interruption of the phase %s", r, err, test.phase)
				}
				if took > test.most {
					t.Errorf("it took %v to stop", took)
				}
				testenv.Must(t, cfg.Engine.Close())
			})
		})
	}
}

// stopAt cancels a run when it tells of a phase.
type stopAt struct {
	Silent
	phase  string
	cancel context.CancelCauseFunc
	seen   []string
}

func (o *stopAt) Phase(name string) {
	o.seen = append(o.seen, name)
	if name == o.phase {
		o.cancel(errStopped)
	}
}

// TestInterruptionAtEachPhase interrupts runs on this machine and on servers at the beginning of each of their phases.
func TestInterruptionAtEachPhase(t *testing.T) {
	local := func(s loadgen.Scenario, m loadgen.Mode) func(*testing.T) Config {
		return func(t *testing.T) Config {
			cfg := configOf(t, newNumbers(100), s, m)
			cfg.Calibrate = m == loadgen.PerformanceOnly
			return cfg
		}
	}
	remote := func(s loadgen.Scenario) func(*testing.T) Config {
		return func(t *testing.T) Config { return tokenConfig(t, tokenserver.New(knownServer), s, nil) }
	}
	for name, make := range map[string]func(*testing.T) Config{
		"local Server": local(loadgen.Server, loadgen.PerformanceOnly), "local Offline": local(loadgen.Offline, loadgen.PerformanceOnly),
		"local accuracy": local(loadgen.SingleStream, loadgen.AccuracyOnly), "local find-peak": func(t *testing.T) Config { return peakConfig(t, newNumbers(100)) },
		"remote Server": remote(loadgen.Server), "remote Offline": remote(loadgen.Offline),
		"remote tensors": func(t *testing.T) Config {
			cfg := configOf(t, newNumbers(100), loadgen.Server, loadgen.PerformanceOnly)
			cfg.Engine = remoteEngine{engine(t, simulated.Config{Latency: time.Millisecond})}
			return cfg
		},
	} {
		stop := func(t *testing.T, phase string) (seen []string) {
			synctest.Test(t, func(t *testing.T) {
				cfg := make(t)
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				o := &stopAt{phase: phase, cancel: cancel}
				cfg.Observer = o
				r, err := measure(ctx, cfg)
				seen = o.seen
				if phase == "" {
					testenv.Must(t, err)
				} else if !errors.Is(err, errStopped) || r != nil && r.Result != report.Interrupted {
					t.Errorf("%s, interrupted as %s begins: %v, %+v", name, phase, err, r)
				}
			})
			return seen
		}
		for _, phase := range slices.Compact(slices.Sorted(slices.Values(stop(t, "")))) {
			if phase != "scoring" { // of answers that are all there: it takes no notice
				stop(t, phase)
			}
		}
	}
}

func TestInterruptionOfTraffic(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		mode  loadgen.Mode
		after time.Duration // the warm-up takes 61 ms
		apply func(*numbers)
	}{
		{"while samples are loaded", loadgen.PerformanceOnly, 3 * time.Second, func(n *numbers) { n.prepareTime = 500 * time.Millisecond }},
		{"while queries are issued", loadgen.PerformanceOnly, 2 * time.Second, func(*numbers) {}},
		{"in the accuracy part", loadgen.AccuracyOnly, 100 * time.Millisecond, func(*numbers) {}},
		{"in the accuracy part of a submission", loadgen.SubmissionRun, 100 * time.Millisecond, func(*numbers) {}},
		{"in the performance part of a submission", loadgen.SubmissionRun, 4 * time.Second, func(*numbers) {}},
	}
	for _, test := range tests {
		for _, scenario := range loadgen.Scenarios() {
			t.Run(fmt.Sprintf("%s %v", test.name, scenario), func(t *testing.T) {
				if test.mode == loadgen.SubmissionRun && scenario != loadgen.Server {
					testenv.SkipLong(t, "there are 20 runs")
				}
				synctest.Test(t, func(t *testing.T) {
					n := newNumbers(200)
					test.apply(n)
					cfg := configOf(t, n, scenario, test.mode)
					cfg.MaxBatch = 4
					r, took, err := interruptAfter(t, test.after, cfg)
					if !errors.Is(err, errStopped) || errors.Is(err, errFailed) {
						t.Fatalf("error %v, want the interruption", err)
					}
					if took > time.Second {
						t.Errorf("it took %v to stop", took)
					}
					checkClosed(t, n, cfg)
					checkFailed(t, cfg, r, report.Interrupted, "the test was stopped early: interrupted by the user")
					if strings.Contains(strings.Join(r.Problems, " "), "the SUT") {
						t.Errorf("the SUT is blamed: %q", r.Problems)
					}
				})
			})
		}
	}
}

// An interruption ends predictions that can be ended, and waits for none: on a busy processor that has a second for all.
func TestInterruptionEndsPredictions(t *testing.T) {
	t.Parallel()
	for _, scenario := range loadgen.Scenarios() {
		t.Run(scenario.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := newNumbers(100)
				cfg := configOf(t, n, scenario, loadgen.PerformanceOnly)
				cfg.Engine = engine(t, simulated.Config{Latency: 30 * time.Second})
				cfg.Anyway = true
				cfg.Settings.ServerTargetQPS = 1
				cfg.Backend.ModelPath = filepath.Join(t.TempDir(), "model")
				write(t, cfg.Backend.ModelPath, "gigabytes")
				r, took, err := interruptAfter(t, 160*time.Second, cfg) // 10 s after the warm-up
				if !errors.Is(err, errStopped) || took > 50*time.Millisecond || r.Input.ModelSHA256 != "" || len(r.Warnings) > 0 {
					t.Errorf("error %v, %v after the interruption; hash of the model %q, warnings %q", err, took, r.Input.ModelSHA256, r.Warnings)
				}
				checkClosed(t, n, cfg)
				checkFailed(t, cfg, r, report.Interrupted, "interrupted by the user")
				if strings.Contains(strings.Join(r.Problems, " "), "fail") {
					t.Errorf("predictions are blamed: %q", r.Problems)
				}
			})
		})
	}
}

// TestMemoryInUseIsNotFreed interrupts predictions that go on for
// half a minute, and then use their samples and their model again.
func TestMemoryInUseIsNotFreed(t *testing.T) {
	t.Parallel()
	for _, scenario := range loadgen.Scenarios() {
		t.Run(scenario.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := newNumbers(100)
				cfg := configOf(t, n, scenario, loadgen.PerformanceOnly)
				cfg.Engine = engine(t, simulated.Config{Answer: func(in, out []tensor.Tensor) error {
					time.Sleep(30 * time.Second) // no context ends that
					return simulated.Echo(in, out)
				}})
				cfg.Anyway = true
				cfg.Settings.ServerTargetQPS = 1
				// Two workers, two runs and one that is measured make 150 s.
				r, took, err := interruptAfter(t, 160*time.Second, cfg)
				if !errors.Is(err, errStopped) || took > 2*time.Second {
					t.Errorf("error %v, %v after the interruption", err, took)
				}
				checkFailed(t, cfg, r, report.Interrupted, "interrupted by the user")
				before := n.predictions.Load()
				time.Sleep(time.Minute)
				if n.predictions.Load() == before {
					t.Error("no prediction was under way")
				}
				if n.tornDown.Load() > 0 || n.closed.Load() > 0 {
					t.Error("something was freed under a prediction")
				}
			})
		})
	}
}

func TestUnwritableFolderIsNoticedFirst(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	write(t, file, "")
	tests := []struct {
		name   string
		change func(*Config)
		want   string
	}{
		{"below a file", func(c *Config) { c.OutputDir = filepath.Join(file, "out") }, "making the output folder: "},
		{"a file", func(c *Config) { c.OutputDir = file }, "making the output folder: "},
		{"a conf file is in the way", func(c *Config) {
			c.Files = map[string][]byte{"user.conf": nil}
			testenv.Must(t, os.Mkdir(filepath.Join(c.OutputDir, "user.conf"), 0o755))
		}, "writing to the output folder: "},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			cfg := configOf(t, newNumbers(10), loadgen.Offline, loadgen.PerformanceOnly)
			test.change(&cfg)
			if r, err := measure(t.Context(), cfg); r != nil || err == nil || !strings.HasPrefix(err.Error(), test.want) {
				t.Errorf("results %v, error %v, want %q", r, err, test.want)
			}
			if phases := cfg.Observer.(*observer).phases; len(phases) > 0 {
				t.Errorf("%v came before", phases)
			}
		})
	}
}

// Folders are where files should be. What is measured is complete without the score.
func TestUnwrittenFiles(t *testing.T) {
	t.Parallel()
	for name, result := range map[string]string{
		mlperflog.SummaryFile: report.Invalid, mlperflog.DetailFile: report.Invalid, AccuracyFile: report.Valid, mlperflog.AccuracyFile: "",
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := newNumbers(20)
				cfg := configOf(t, n, loadgen.Offline, loadgen.SubmissionRun)
				testenv.Must(t, os.Mkdir(filepath.Join(cfg.OutputDir, name), 0o755))
				test, err := Run(t.Context(), cfg)
				if err == nil || !strings.Contains(err.Error(), name) {
					t.Errorf("error %v, want one that names %s", err, name)
				}
				checkClosed(t, n, cfg)
				if (test == nil) != (result == "") { // the accuracy log is opened before the test
					t.Fatalf("measured %v", test)
				}
				if test == nil {
					return
				}
				r := test.Results()
				if problems := strings.Join(r.Problems, "\n"); r.Result != result || strings.Contains(problems, "the logs are not complete: ") != (result == report.Invalid) {
					t.Errorf("result %s, problems %q, want %s", r.Result, r.Problems, result)
				}
			})
		})
	}
}

// A panic while samples are loaded, on a goroutine of its own, ends the test with a result.
func TestPanicInTheDataIsInvalid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNumbers(100)
		cfg := configOf(t, n, loadgen.Offline, loadgen.PerformanceOnly)
		n.prepare = func(i int) error {
			if i == 30 {
				panic("no thirty")
			}
			return nil
		}
		cfg.Settings.MinDuration = time.Second
		r, err := measure(t.Context(), cfg)
		if r == nil || r.Result != report.Invalid || !strings.Contains(strings.Join(r.Problems, "; "), "no thirty") {
			t.Fatalf("%+v, %v", r, err)
		}
		if _, err := report.Read(cfg.OutputDir); err != nil {
			t.Error(err)
		}
	})
}
