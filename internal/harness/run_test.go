package harness

import (
	"fmt"
	"os"
	"path/filepath"
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
)

// mustRun runs in fake time, wants no error, and that everything is closed again.
func mustRun(t *testing.T, n *numbers, cfg Config) *report.Results {
	t.Helper()
	r, err := Run(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	checkClosed(t, n, cfg)
	return r
}

// checkClosed wants the engine's sessions, the predictors and the samples to be freed, and
// not while something used them.
func checkClosed(t *testing.T, n *numbers, cfg Config) {
	t.Helper()
	if err := cfg.Engine.Close(); err != nil {
		t.Error(err)
	}
	if c := n.closed.Load(); c != int64(cfg.Instances) {
		t.Errorf("%d predictors were closed, want %d", c, cfg.Instances)
	}
	if c := n.tornDown.Load(); c != 0 {
		t.Errorf("under %d predictions the model or the samples were freed", c)
	}
}

func TestEveryScenarioAndModeRunsToItsEnd(t *testing.T) {
	t.Parallel()
	for _, scenario := range loadgen.Scenarios() {
		for _, mode := range []loadgen.Mode{loadgen.PerformanceOnly, loadgen.AccuracyOnly, loadgen.SubmissionRun} {
			t.Run(fmt.Sprintf("%v %v", scenario, mode), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					n := newNumbers(100)
					n.wrong = 8
					cfg := config(t, n, scenario, mode)
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
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(r, back, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("results.json (-returned +written):\n%s", diff)
	}
	detail, err := mlperflog.ReadDetail(filepath.Join(cfg.OutputDir, mlperflog.DetailFile))
	if err != nil {
		t.Fatal(err)
	}
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
	if err != nil {
		t.Fatal(err)
	}
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
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	n := 0
	for _, err := range accuracy.Records(f) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	return n
}

func TestFindPeakFindsWhatTheModelCanDo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNumbers(100)
		cfg := config(t, n, loadgen.Server, loadgen.FindPeakPerformance)
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

func TestTokensAreTimed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNumbers(100)
		n.tokens = 11
		cfg := config(t, n, loadgen.Server, loadgen.SubmissionRun)
		cfg.Settings.UseTokenLatencies, cfg.Settings.ServerTargetQPS, cfg.Settings.MinQueryCount = true, 5, 500
		r := mustRun(t, n, cfg)
		p := r.Performance
		if !r.Valid() || p.Tokens != 11*int64(p.Samples) || p.FirstTokenNS.P50 != 5e6 || p.TimePerOutputTokenNS.P50 != 2e6 || r.Metric.Unit != "tokens/s" {
			t.Errorf("%s %v: %d tokens, first %+v, others %+v, metric %+v", r.Result, r.Problems, p.Tokens, p.FirstTokenNS, p.TimePerOutputTokenNS, r.Metric)
		}
		checkFiles(t, cfg, r)
	})
}

func TestADataSetThatSomebodyGaveIsComparedWithTheRules(t *testing.T) {
	for name, c := range map[string]struct {
		override uint64
		loaded   int
	}{"as many as the model has": {0, 64}, "fewer": {8, 8}, "an override of more than there are": {5000, 100}} {
		synctest.Test(t, func(t *testing.T) {
			n := newNumbers(100)
			cfg := config(t, n, loadgen.SingleStream, loadgen.PerformanceOnly)
			cfg.Model.PerformanceSampleCount, cfg.Settings.PerformanceSampleCountOverride = 64, c.override
			cfg.JudgeData = func(loaded, all int) []string { return []string{fmt.Sprintf("%d of %d", loaded, all)} }
			r := mustRun(t, n, cfg)
			if want := fmt.Sprintf("%d of 100", c.loaded); len(r.Caveats) == 0 || r.Caveats[0] != want {
				t.Errorf("%s: caveats %q, want %q first", name, r.Caveats, want)
			}
		})
	}
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestAModelFileThatCannotBeHashedIsAWarning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNumbers(10)
		cfg := config(t, n, loadgen.Offline, loadgen.AccuracyOnly)
		cfg.Backend.ModelPath = "nowhere/model"
		r := mustRun(t, n, cfg)
		if len(r.Warnings) != 1 || !strings.HasPrefix(r.Warnings[0], "the model file cannot be hashed: ") {
			t.Errorf("warnings %q", r.Warnings)
		}
	})
}

func TestAnAccuracyBelowTheTargetIsNotMet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNumbers(100)
		n.wrong = 11
		cfg := config(t, n, loadgen.Offline, loadgen.AccuracyOnly)
		cfg.Reference = 89.95
		r := mustRun(t, n, cfg)
		if a := r.Accuracy; a.Value != 89 || a.Reference != 89.95 || a.Met != (89 >= 89.95*0.99) {
			t.Errorf("accuracy %+v", a)
		}
		n.wrong = 12
		cfg = config(t, n, loadgen.Offline, loadgen.AccuracyOnly)
		n.closed.Store(0)
		if r := mustRun(t, n, cfg); r.Accuracy.Met || r.Accuracy.Reference != 90 || !r.Valid() {
			t.Errorf("%s, accuracy %+v", r.Result, r.Accuracy)
		}
	})
}

func TestAnAccuracyRunOverSomeSamplesSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNumbers(100)
		cfg := config(t, n, loadgen.Offline, loadgen.AccuracyOnly)
		cfg.Settings.AccuracySampleCountOverride = 30
		if a := mustRun(t, n, cfg).Accuracy; !a.Partial || a.Samples != 30 {
			t.Errorf("accuracy %+v, want a partial one of 30 samples", a)
		}
	})
}
