package harness

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/loadgen/mlperflog"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// An overloaded system is found out, and the test ends in time.
func TestOverload(t *testing.T) {
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
				cfg := configOf(t, n, loadgen.Server, loadgen.PerformanceOnly)
				cfg.MaxBatch = 1 // two workers do 400/s
				cfg.Settings.ServerTargetQPS, cfg.Settings.MinDuration = c.target, time.Minute
				began := time.Now()
				r := mustRun(t, n, cfg)
				if took := time.Since(began); took > c.most {
					t.Errorf("it took %v", took)
				}
				if r.Valid() || !strings.Contains(strings.Join(r.Problems, "; "), "overload: the queue grew from ") {
					t.Errorf("%s: %q", r.Result, r.Problems)
				}
				if q := r.Queue; q == nil || q.Backlog < 1000 || q.GrewSeconds > 2 {
					t.Errorf("queue %+v", q)
				}
			})
		})
	}
}

func TestBurstIsNoOverload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNumbers(100)
		cfg := configOf(t, n, loadgen.Server, loadgen.PerformanceOnly)
		cfg.Settings.ServerTargetQPS = 200
		if r := mustRun(t, n, cfg); !r.Valid() || r.Queue.Backlog != 0 || r.Queue.Peak == 0 {
			t.Errorf("%s %q: %+v", r.Result, r.Problems, r.Queue)
		}
	})
}

// Queries that wait at the very end are not the sign of an overload.
func TestBacklogHasGrownForATenthOfTheTest(t *testing.T) {
	began := time.Unix(1e9, 0)
	for _, c := range []struct {
		since time.Time // when the queue was empty for the last time
		want  report.QueueStats
	}{
		{began.Add(9500 * time.Millisecond), report.QueueStats{Peak: 50, PeakSeconds: 10}},
		{began.Add(5 * time.Second), report.QueueStats{Peak: 50, PeakSeconds: 10, Backlog: 40, GrewSeconds: 5}},
		{time.Time{}, report.QueueStats{Peak: 50, PeakSeconds: 10, Backlog: 40}},
	} {
		end := began.Add(10 * time.Second)
		r := &run{sut: &sut{queue: &queue{peak: 50, peakTime: end, backlog: backlog{40, c.since, end}}, workers: make([]*worker, 2)}}
		r.model.shape.batch = 1
		got := r.queueStats(&loadgen.Result{StartTime: began, Effective: loadgen.EffectiveSettings{Scenario: loadgen.Server}})
		if *got != c.want {
			t.Errorf("last empty at %v: %+v, want %+v", c.since, *got, c.want)
		}
	}
}

func TestSeveralRunsAreKept(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := newNumbers(100)
		cfg := configOf(t, n, loadgen.Server, loadgen.PerformanceOnly)
		cfg.Runs = 5
		var kept []string
		cfg.Keep = func(test *Test) error {
			if !test.UnderWay {
				kept = append(kept, filepath.Base(test.Dir)+" "+test.Results().Result)
			}
			return nil
		}
		last, err := Run(t.Context(), cfg)
		testenv.Must(t, err)
		if want := []string{"run_1 VALID", "run_2 VALID", "run_3 VALID", "run_4 VALID", "run_5 VALID"}; !slices.Equal(kept, want) || !last.Kept {
			t.Errorf("kept %q, want %q", kept, want)
		}
		if o := cfg.Observer.(*observer); !o.noted("run 1 of 5") || !o.noted("run 5 of 5") {
			t.Errorf("the observer got %q", o.notes)
		}
		if _, err := os.Stat(filepath.Join(last.Dir, mlperflog.SummaryFile)); err != nil {
			t.Error(err)
		}
	})
}

// measure runs a benchmark and writes records of the measurements, as callers of Run do.
func measure(ctx context.Context, cfg Config) (*report.Results, error) {
	record := func(t *Test) (*report.Results, error) {
		r := t.Results()
		r.Limitations = slices.Concat(t.Servers.Limitations, t.Limitations)
		err := r.Write(t.Dir)
		if t.Charts != nil {
			err = errors.Join(err, t.Charts.Write(t.Dir))
		}
		return r, err
	}
	cfg.Keep = func(t *Test) error {
		_, err := record(t)
		return err
	}
	t, err := Run(ctx, cfg)
	switch {
	case t == nil:
		return nil, err
	case t.Earlier != nil:
		t.FillPeak(t.Earlier)
		return t.Earlier, err
	case t.Kept:
		return t.Results(), err
	}
	r, problem := record(t)
	return r, errors.Join(err, problem)
}

// mustRun runs in fake time, wants no error, and that everything is closed again.
func mustRun(t *testing.T, n *numbers, cfg Config) *report.Results {
	t.Helper()
	r, err := measure(t.Context(), cfg)
	testenv.Must(t, err)
	checkClosed(t, n, cfg)
	return r
}

// checkClosed wants the engine's sessions, the predictors and the samples to be freed, and
// not while something used them.
func checkClosed(t *testing.T, n *numbers, cfg Config) {
	t.Helper()
	testenv.Must(t, cfg.Engine.Close())
	if c := n.closed.Load(); c != int64(cfg.Instances) {
		t.Errorf("%d predictors were closed, want %d", c, cfg.Instances)
	}
	if c := n.tornDown.Load(); c != 0 {
		t.Errorf("under %d predictions the model or the samples were freed", c)
	}
}

func TestScenariosAndModes(t *testing.T) {
	t.Parallel()
	for _, scenario := range loadgen.Scenarios() {
		for _, mode := range []loadgen.Mode{loadgen.PerformanceOnly, loadgen.AccuracyOnly, loadgen.SubmissionRun} {
			t.Run(fmt.Sprintf("%v %v", scenario, mode), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					n := newNumbers(100)
					n.wrong = 8
					cfg := configOf(t, n, scenario, mode)
					r := mustRun(t, n, cfg)
					if !r.Valid() || r.Scenario != scenario.String() || r.Mode != mode.String() {
						t.Fatalf("%s, %s is %s: %v", r.Scenario, r.Mode, r.Result, r.Problems)
					}
					checkMeasurements(t, r, mode)
					checkFiles(t, cfg, r)
				})
			})
		}
	}
}

// checkMeasurements wants what the mode measures, and nothing else.
func checkMeasurements(t *testing.T, r *report.Results, mode loadgen.Mode) {
	t.Helper()
	scored, measured := mode != loadgen.PerformanceOnly, mode != loadgen.AccuracyOnly
	if (r.Accuracy != nil) != scored || (r.Performance != nil) != measured || (r.Metric != nil) != measured {
		t.Fatalf("accuracy %v, performance %v, metric %v", r.Accuracy, r.Performance, r.Metric)
	}
	asked := int64(0)
	if scored {
		checkAccuracy(t, r.Accuracy)
		asked += 100
	}
	if measured {
		asked += int64(r.Performance.Samples)
	}
	answered := int64(0)
	for _, w := range r.Workers {
		answered += w.Samples
	}
	// In the accuracy part MultiStream fills up the last query of each loaded set.
	if answered < asked || r.Scenario != "MultiStream" && answered > asked {
		t.Errorf("the workers answered %d samples, %d were asked for", answered, asked)
	}
	if r.Queue == nil || r.Queue.Peak < 1 || r.Queue.PeakSeconds < 0 {
		t.Errorf("queue %+v", r.Queue)
	}
}

// checkAccuracy wants the first 92 of 100 samples to be right.
func checkAccuracy(t *testing.T, got *report.Accuracy) {
	t.Helper()
	want := &report.Accuracy{
		Metric: "accuracy", Value: 92, Unit: "%", Reference: 90, Target: 0.99 * 90, Met: true, Samples: 100,
		Lines: []string{"accuracy=92.000%, good=92, total=100"},
		Right: []byte{255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 15, 0},
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(report.Accuracy{}, "Classes")); diff != "" {
		t.Errorf("accuracy (-want +got):\n%s", diff)
	}
	if c := got.Classes; c == nil || c.Metric != "Top-1" || c.Counts["-1"] != 8 || c.Values["-1"] != 0 || c.Values["10"] != 100 {
		t.Errorf("accuracy by class %+v, want 8 samples of class -1 wrong and all others right", c)
	}
}

// checkFiles reads everything in the folder of a run back.
func checkFiles(t *testing.T, cfg Config, r *report.Results) {
	t.Helper()
	back, err := report.Read(cfg.OutputDir)
	testenv.Must(t, err)
	if diff := cmp.Diff(r, back, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("results.json (-returned +written):\n%s", diff)
	}
	detail, err := mlperflog.ReadDetail(filepath.Join(cfg.OutputDir, mlperflog.DetailFile))
	testenv.Must(t, err)
	if scenario, err := detail.Scenario(); err != nil || scenario != cfg.Settings.Scenario {
		t.Errorf("the detail log has scenario %v, %v", scenario, err)
	}
	if r.Performance != nil {
		valid, has, err := detail.Valid()
		if err != nil || !has || valid != r.Valid() {
			t.Errorf("the detail log says valid %v (%v, %v), the results say %s", valid, has, err, r.Result)
		}
		checkSummary(t, cfg, r)
	}
	records := readAccuracyLog(t, cfg.OutputDir)
	text, err := os.ReadFile(filepath.Join(cfg.OutputDir, AccuracyFile))
	if r.Accuracy == nil {
		if records != 0 || err == nil {
			t.Errorf("a run without accuracy has %d records and a score, %q", records, text)
		}
		return
	}
	if want := strings.Join(r.Accuracy.Lines, "\n") + "\n"; err != nil || string(text) != want {
		t.Errorf("%s holds %q, %v; want %q", AccuracyFile, text, err, want)
	}
	if uint64(records) < r.Accuracy.Samples {
		t.Errorf("the accuracy log has %d records", records)
	}
}

func checkSummary(t *testing.T, cfg Config, r *report.Results) {
	t.Helper()
	summary, err := mlperflog.ReadSummary(filepath.Join(cfg.OutputDir, mlperflog.SummaryFile))
	testenv.Must(t, err)
	if f, ok := summary.Field("SUT name"); !ok || f != "mlperf-go numbers simulated cpu" {
		t.Errorf("the summary names the SUT %+v", f)
	}
	want := "INVALID"
	if r.Valid() {
		want = "VALID"
	}
	if f, ok := summary.Field("Result is"); !ok || f != want {
		t.Errorf("the summary says %+v, want %s", f, want)
	}
}

// readAccuracyLog counts the records of an accuracy log, which must be whole.
func readAccuracyLog(t *testing.T, dir string) int {
	t.Helper()
	f, err := os.Open(filepath.Join(dir, mlperflog.AccuracyFile))
	testenv.Must(t, err)
	defer f.Close()
	n := 0
	for _, err := range accuracy.Records(f) {
		testenv.Must(t, err)
		n++
	}
	return n
}

func TestFindPeakPerformance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNumbers(100)
		cfg := configOf(t, n, loadgen.Server, loadgen.FindPeakPerformance)
		cfg.Settings.ServerTargetQPS, cfg.Settings.ServerTargetLatency = 50, 15*time.Millisecond
		cfg.Settings.ServerFindPeakQPSDecimalsOfPrecision = -1 // to tens
		cfg.Instances, cfg.MaxBatch = 1, 1
		r := mustRun(t, n, cfg)
		best := 0.0
		for _, step := range r.Peak.Steps {
			if step.Met {
				best = max(best, step.Load)
			}
		}
		// One worker that takes 5 ms can do 200 at most, and half of that within 15 ms.
		if len(r.Peak.Steps) < 3 || best < 70 || best > 180 || r.Peak.Best != best {
			t.Errorf("the peak is %v, of %+v", best, r.Peak.Steps)
		}
		if r.Accuracy != nil {
			t.Error("it was scored")
		}
		checkFiles(t, cfg, r)
	})
}

func TestTokenLatencies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNumbers(100)
		n.tokens = 11
		cfg := configOf(t, n, loadgen.Server, loadgen.SubmissionRun)
		cfg.Settings.UseTokenLatencies, cfg.Settings.ServerTargetQPS, cfg.Settings.MinQueryCount = true, 5, 500
		r := mustRun(t, n, cfg)
		p := r.Performance
		if !r.Valid() || p.Tokens != 11*int64(p.Samples) || p.FirstTokenNS.P50 != 5e6 || p.TimePerOutputTokenNS.P50 != 2e6 || r.Metric.Unit != "tokens/s" {
			t.Errorf("%s %v: %d tokens, first %+v, others %+v, metric %+v", r.Result, r.Problems, p.Tokens, p.FirstTokenNS, p.TimePerOutputTokenNS, r.Metric)
		}
		checkFiles(t, cfg, r)
	})
}

func TestSamplesInMemory(t *testing.T) {
	for name, c := range map[string]struct {
		override uint64
		loaded   int
	}{"as many as the model has": {0, 64}, "fewer": {8, 8}, "an override of more than there are": {5000, 100}} {
		synctest.Test(t, func(t *testing.T) {
			cfg := configOf(t, newNumbers(100), loadgen.SingleStream, loadgen.PerformanceOnly)
			cfg.Model.PerformanceSampleCount, cfg.Settings.PerformanceSampleCountOverride = 64, c.override
			r, err := Run(t.Context(), cfg)
			testenv.Must(t, err)
			if in := r.Input; in.InMemory != c.loaded || in.Samples != 100 || in.Seen != c.loaded || in.Distinct != c.loaded {
				t.Errorf("%s: %+v, want %d in memory", name, in, c.loaded)
			}
		})
	}
}

func TestModelFileWithoutHash(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNumbers(10)
		cfg := configOf(t, n, loadgen.Offline, loadgen.AccuracyOnly)
		cfg.Backend.ModelPath = "nowhere/model"
		r := mustRun(t, n, cfg)
		if len(r.Warnings) != 1 || !testenv.Tells(r.Warnings[0], "model … hashed") {
			t.Errorf("warnings %q", r.Warnings)
		}
	})
}

func TestAccuracyTarget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNumbers(100)
		n.wrong = 11
		cfg := configOf(t, n, loadgen.Offline, loadgen.AccuracyOnly)
		cfg.Reference = 89.95
		r := mustRun(t, n, cfg)
		if a := r.Accuracy; a.Value != 89 || a.Reference != 89.95 || a.Met != (89 >= 89.95*0.99) {
			t.Errorf("accuracy %+v", a)
		}
		n.wrong = 12
		cfg = configOf(t, n, loadgen.Offline, loadgen.AccuracyOnly)
		n.closed.Store(0)
		if r := mustRun(t, n, cfg); r.Accuracy.Met || r.Accuracy.Reference != 90 || !r.Valid() {
			t.Errorf("%s, accuracy %+v", r.Result, r.Accuracy)
		}
	})
}

func TestPartialAccuracy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNumbers(100)
		cfg := configOf(t, n, loadgen.Offline, loadgen.AccuracyOnly)
		cfg.Settings.AccuracySampleCountOverride = 30
		if a := mustRun(t, n, cfg).Accuracy; !a.Partial || a.Samples != 30 {
			t.Errorf("accuracy %+v, want a partial one of 30 samples", a)
		}
	})
}

func TestATestDescribesTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNumbers(100)
		cfg := configOf(t, n, loadgen.Server, loadgen.PerformanceOnly)
		cfg.Made = []report.Setting{
			{Key: "target_latency", Value: "15 ms", Origin: "rules v6.1"},
			{Key: "target_latency", Value: "100 ms", Origin: "user.conf:3"},
			{Key: "min_query_count", Value: "100", Origin: "flag --min-query-count"},
		}
		cfg.Count = 100
		cfg.Files = map[string][]byte{"user.conf": []byte("*.Server.target_qps = 200\n")}
		cfg.Backend.ModelPath = filepath.Join(t.TempDir(), "model")
		write(t, cfg.Backend.ModelPath, "a model")
		test, err := Run(t.Context(), cfg)
		testenv.Must(t, err)
		checkClosed(t, n, cfg)
		r := test.Results()
		origins := map[string]string{}
		for _, c := range r.Constraints {
			origins[c.ID.String()] = c.Origin
		}
		want := map[string]string{"latency": "user.conf:3", "queries": "flag --min-query-count", "samples": "flag --min-query-count", "duration": "default", "early stopping": "", "generator": ""}
		if diff := cmp.Diff(want, origins); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if in := test.Input; in.ModelBytes != 7 || !strings.HasPrefix(in.ModelSHA256, "97ff8a35544d") || in.Samples != 100 || len(in.Binding) != 1 {
			t.Errorf("input %+v", in)
		}
		if r.Backend.Instances != 2 || r.Backend.MaxBatch != 1 || r.Backend.Devices["cpu"] != 1 || r.Backend.Facts["sim_latency"] != "5ms" {
			t.Errorf("backend %+v", r.Backend)
		}
		var phases []string
		for _, p := range r.Phases {
			phases = append(phases, p.Name)
		}
		if diff := cmp.Diff([]string{"data", "model", "warm-up", "traffic"}, phases); diff != "" {
			t.Errorf("phases (-want +got):\n%s", diff)
		}
		if _, err := os.Stat(filepath.Join(cfg.OutputDir, "user.conf")); err != nil {
			t.Error(err)
		}
		if o := cfg.Observer.(*observer); !o.noted("numbers go in as they are") || o.loading == 0 || o.traffic == 0 {
			t.Errorf("the observer got notes %q, %d and %d progress reports", o.notes, o.loading, o.traffic)
		}
	})
}
