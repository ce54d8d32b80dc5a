package compliance

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/builtin/arch"
	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/onnx"
	"github.com/mlperf-go/mlperf/internal/run"
	"github.com/mlperf-go/mlperf/internal/testenv"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// classifier asks for runs of a tiny classifier of four pictures on the simulated engine.
func classifier(t *testing.T, test, scenario string) Request {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("MLPERF_CACHE_DIR", filepath.Join(dir, "cache"))
	b := arch.NewBuilder("tiny", 1)
	x := b.Input("image", onnx.Float32, onnx.Batched(3, 224, 224))
	x = b.Flatten("features", b.MaxPool("grid", x, arch.Pool{Kernel: arch.Axes{56}, Strides: arch.Axes{56}}))
	b.Output(b.Softmax("softmax", b.Dense("scores", x, arch.Dense{Units: 1000}), 1))
	model, _, err := b.Model()
	if err == nil {
		err = model.WriteFile(t.Context(), filepath.Join(dir, "tiny.onnx"))
	}
	truth := ""
	for i := range 4 {
		picture := image.NewRGBA(image.Rect(0, 0, 32, 32))
		for at := range 32 * 32 {
			picture.Set(at%32, at/32, color.RGBA{uint8(60 * i), 100, uint8(7 * at), 255})
		}
		var data bytes.Buffer
		err = errors.Join(err, jpeg.Encode(&data, picture, nil))
		err = errors.Join(err, writeFile(filepath.Join(dir, "data/val", fmt.Sprintf("%d.JPEG", i)), &data))
		truth += fmt.Sprintf("val/%d.JPEG %d\n", i, i)
	}
	if err = errors.Join(err, writeFile(filepath.Join(dir, "data/val_map.txt"), strings.NewReader(truth))); err != nil {
		t.Fatal(err)
	}
	q := Request{Test: test}
	q.Request = run.Request{
		Model: "resnet50", Scenario: scenario, ModelPath: filepath.Join(dir, "tiny.onnx"), DatasetPath: filepath.Join(dir, "data"),
		Output: filepath.Join(dir, "out"), NoReport: true, Quick: true, Engine: run.Engine{Name: run.Simulated, Latency: 50 * time.Microsecond},
		Settings: []config.Override{{Key: "min_duration", Value: "10ms", Origin: "test"}, {Key: "min_query_count", Value: "70", Origin: "test"}},
	}
	return q
}

// tree lists the files below a folder.
func tree(t *testing.T, dir string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			rel, _ := filepath.Rel(dir, path)
			names = append(names, filepath.ToSlash(rel))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func TestATestIsRunVerifiedAndWritten(t *testing.T) {
	q := classifier(t, "test04", "single-stream")
	v, err := Run(t.Context(), q, quiet{})
	if err != nil {
		t.Fatal(err)
	}
	if v.Test != Test04 || v.Folder != filepath.Join(q.Output, Test04) || len(v.Facts) == 0 || len(v.Caveats) == 0 {
		t.Errorf("the verdict is %+v", v)
	}
	want := []string{"performance/run_1/mlperf_log_detail.txt", "performance/run_1/mlperf_log_summary.txt", "verify_performance.txt"}
	if got := tree(t, v.Folder); !slices.Equal(got, want) {
		t.Errorf("the folder has %v, want %v", got, want)
	}
	conf, err := os.ReadFile(filepath.Join(q.Output, "runs", Test04, confFile))
	if wanted, _ := Conf(Test04, "resnet50", ""); err != nil || string(conf) != wanted {
		t.Errorf("the run had the settings %q, %v, want %q", conf, err, wanted)
	}
	for run, same := range map[string]bool{"performance": false, Test04: true} {
		r, err := readRun(filepath.Join(q.Output, "runs", run))
		if err != nil || r.settings.PerformanceIssueSame != same || r.settings.Mode != loadgen.PerformanceOnly {
			t.Errorf("the run %s: %+v, %v", run, r, err)
		}
	}
	runsAgain(t, q, v.Folder)
}

// runsAgain makes a test once more: not unasked, and by force with the runs that are there.
func runsAgain(t *testing.T, q Request, folder string) {
	t.Helper()
	var exists *run.ExistsError
	if _, err := Run(t.Context(), q, quiet{}); !errors.As(err, &exists) || exists.Folder != folder {
		t.Errorf("a second time: %v, want an error that the folder %s is there", err, folder)
	}
	again := q
	again.Force, again.Performance = true, filepath.Join(q.Output, "runs/performance")
	before, _ := os.Stat(filepath.Join(again.Performance, "mlperf_log_detail.txt"))
	if _, err := Run(t.Context(), again, quiet{}); err != nil {
		t.Errorf("by force: %v", err)
	}
	if after, err := os.Stat(filepath.Join(again.Performance, "mlperf_log_detail.txt")); err != nil || !os.SameFile(before, after) || before.ModTime() != after.ModTime() {
		t.Errorf("the run that was given is another now: %v", err)
	}
}

func TestTest01ScoresAndKeepsItsResponses(t *testing.T) {
	q := classifier(t, Test01, "single-stream")
	v, err := Run(t.Context(), q, quiet{})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"accuracy/accuracy.txt", "accuracy/mlperf_log_accuracy.json", "performance/run_1/mlperf_log_detail.txt", "performance/run_1/mlperf_log_summary.txt",
		"verify_accuracy.txt", "verify_performance.txt",
	}
	if got := tree(t, v.Folder); !slices.Equal(got, want) {
		t.Errorf("the folder has %v, want %v", got, want)
	}
	if !strings.Contains(v.texts[accuracyFile], "num_perf_log_data_mismatch = 0\n") || !strings.Contains(v.texts[accuracyFile], "\nTEST PASS\n") {
		t.Errorf("%s:\n%s", accuracyFile, v.texts[accuracyFile])
	}
	for run, mode := range map[string]loadgen.Mode{"performance": loadgen.PerformanceOnly, "accuracy": loadgen.AccuracyOnly, Test01: loadgen.PerformanceOnly} {
		if r, err := readRun(filepath.Join(q.Output, "runs", run)); err != nil || r.settings.Mode != mode {
			t.Errorf("the run %s: %+v, %v, want the mode %v", run, r, err, mode)
		}
	}
}

func TestTheAuditSetComparesWithTheSameRuns(t *testing.T) {
	testenv.SkipLong(t, "makes nine runs")
	q := classifier(t, "", "single-stream")
	var told []string
	err := RunSet(t.Context(), q, quiet{}, func(v *Verdict) error {
		told = append(told, v.Test)
		return nil
	})
	if want := []string{Test01, Test03, Test04, Test05}; err != nil || !slices.Equal(told, want) {
		t.Fatalf("verdicts on %v, %v, want %v", told, err, want)
	}
	want := []string{"TEST01", "TEST03", "TEST04-A", "TEST04-B", "TEST05", "runs"}
	if got := namesIn(t, q.Output); !slices.Equal(got, want) {
		t.Errorf("the folder has %v, want %v", got, want)
	}
	runs := []string{"TEST01", "TEST03", "TEST04", "TEST04-A", "TEST05", "accuracy", "data", "performance"}
	if got := namesIn(t, filepath.Join(q.Output, "runs")); !slices.Equal(got, runs) {
		t.Errorf("the runs are %v, want %v", got, runs)
	}
	unique, err := readRun(filepath.Join(q.Output, "runs", test04A))
	if err != nil || !unique.settings.PerformanceIssueUnique || unique.settings.PerformanceIssueSame {
		t.Errorf("TEST04-A ran with %+v, %v", unique, err)
	}
	if _, err := os.Stat(filepath.Join(q.DatasetPath, "val/0.JPEG")); err != nil {
		t.Error(err)
	}
	stop := errors.New("enough")
	q.Output += "2"
	if err := RunSet(t.Context(), q, quiet{}, func(*Verdict) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("telling ends with %v, and so should the set", err)
	}
}

func TestARunThatIsCancelledLeavesNoVerdict(t *testing.T) {
	q := classifier(t, Test04, "single-stream")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if v, err := Run(ctx, q, quiet{}); v != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("Run = %v, %v", v, err)
	}
	if _, err := os.Stat(filepath.Join(q.Output, Test04)); err == nil {
		t.Error("there is a folder of the test")
	}
}

func TestWhatCannotEndWellIsRefusedBeforeAnythingRuns(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(q *Request)
		field  string
		want   string
	}{
		{"no such test", func(q *Request) { q.Test = "TEST02" }, "test", `test is "TEST02", want one of TEST01, TEST03, TEST04, TEST05, TEST06, TEST07, TEST08, TEST09`},
		{"a test of other rounds", func(q *Request) { q.Test, q.Rules = Test09, "v5.1" }, "rules", "TEST09 is of the rules from v6.0 on, not of v5.1"},
		{"rules that are none", func(q *Request) { q.Rules = "v9.9" }, "rules", "v9.9"},
		{"a mode of one's own", func(q *Request) { q.Mode = "accuracy" }, "mode", "a test has the modes it needs"},
		{"settings of one's own", func(q *Request) { q.AuditConf = "x" }, "audit_conf", "the test makes its own"},
		{"a tolerance below 0", func(q *Request) { q.Options.Tolerance = -1 }, "tolerance", "tolerance is -1, want a number from 0 on"},
		{"a pattern that finds nothing", func(q *Request) { q.Options.Pattern = "(" }, "score_pattern", "want a regular expression with a group for the number"},
		{"a test of language models", func(q *Request) { q.Test = Test06 }, "test", "TEST06 is not for resnet50, whose tests are TEST01, TEST04"},
		{"a model that nobody knows", func(q *Request) { q.Model = "hal" }, "model", "hal"},
		{"no scenario", func(q *Request) { q.Scenario = "" }, "scenario", "scenario"},
	} {
		t.Run(c.name, func(t *testing.T) {
			q := Request{Test: Test04}
			q.Request = run.Request{Model: "resnet50", Scenario: "offline", Output: filepath.Join(t.TempDir(), "out")}
			c.change(&q)
			_, err := Run(t.Context(), q, quiet{})
			var wrong *userinput.Error
			if !errors.As(err, &wrong) || wrong.Field != c.field || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v (%+v), want %q about %s", err, wrong, c.want, c.field)
			}
			if _, err := os.Stat(q.Output); err == nil {
				t.Error("something ran")
			}
		})
	}
}

func TestTestsThatAreTwoRunsNeedBothFolders(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{Test04, test04B} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for version, want := range map[string]string{"v2.0": test04B, "v2.1": Test04} {
		r := &runner{version: version}
		r.Test, r.Output = Test04, dir
		var exists *run.ExistsError
		if err := r.free(); !errors.As(err, &exists) || filepath.Base(exists.Folder) != want {
			t.Errorf("%s: %v, want that %s is there", version, err, want)
		}
		if r.Force = true; r.free() != nil {
			t.Errorf("%s: not even by force", version)
		}
	}
}

func TestTheRunUnderATestHasTheTargetOfTheResult(t *testing.T) {
	for _, c := range []struct {
		scenario string
		auto     bool
		want     string
	}{
		{"Offline", false, "target_qps=12.5"}, {"Offline", true, "target_qps=12.5"}, {"SingleStream", true, ""},
		{"Server", false, "target_qps=12.5"}, {"Server", true, "target_qps=12.5 target_latency=20ms"},
	} {
		f := fakeRun{scenario: c.scenario, metric: 1, settings: map[string]any{"effective_target_qps": 12.5, "effective_target_latency_ns": 20000000}}
		r := &runner{}
		r.Performance = f.write(t)
		q := run.Request{AutoLatency: c.auto}
		if err := r.sameTarget(&q); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, s := range q.Settings {
			got = append(got, s.Key+"="+s.Value)
			if s.Origin != "the performance run" {
				t.Errorf("%s comes from %q", s.Key, s.Origin)
			}
		}
		if text := strings.Join(got, " "); text != c.want || q.AutoLatency && c.scenario == "Server" {
			t.Errorf("%s, automatic %v: %s (still automatic: %v), want %s", c.scenario, c.auto, text, q.AutoLatency, c.want)
		}
	}
	r := &runner{}
	if r.Performance = t.TempDir(); r.sameTarget(&run.Request{}) == nil {
		t.Error("a folder without logs is no run of the result")
	}
}

func TestDataAreChangedOnlyWhereTheyAreKnown(t *testing.T) {
	r := &runner{observer: quiet{}}
	r.Test, r.Output = Test03, t.TempDir()
	err := r.custom(t.Context())
	var wrong *userinput.Error
	if want := "TEST03 changes the data of the result's runs: want their folder, or the changed data"; !errors.As(err, &wrong) || wrong.Field != "dataset_path" || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %q", err, want)
	}
}

// A listener keeps what is noted.
type listener struct {
	quiet
	notes []string
}

func (l *listener) Note(text string) { l.notes = append(l.notes, text) }

func TestTEST07HasItsOwnNumberOfQuestions(t *testing.T) {
	for test := range kinds {
		own := ownData(test)
		if test != Test07 && len(own) > 0 || test == Test07 && (len(own) != 1 || own[0].Key != "performance_sample_count_override" || own[0].Value != "990") {
			t.Errorf("%s has the settings %v", test, own)
		}
	}
}

func TestDataThatAreChangedAreThoseOfTheRequest(t *testing.T) {
	heard := &listener{}
	r := &runner{observer: heard}
	r.Test, r.Output, r.DatasetPath = Test03, t.TempDir(), t.TempDir()
	if err := r.custom(t.Context()); err == nil || !strings.HasPrefix(err.Error(), r.DatasetPath+" has neither JPEG pictures nor sentences") {
		t.Errorf("error %v, want that there is nothing to change in %s", err, r.DatasetPath)
	}
	if want := "changing the data of " + r.DatasetPath + " into " + filepath.Join(r.Output, "runs", "data"); !slices.Equal(heard.notes, []string{want}) {
		t.Errorf("noted %q, want %q", heard.notes, want)
	}
}

func TestTheRunIsMadeUnderTheTargetOfTheResult(t *testing.T) {
	heard := &listener{}
	r := &runner{Request: classifier(t, Test04, "offline"), observer: heard}
	if err := r.prepare(); err != nil {
		t.Fatal(err)
	}
	r.Performance = fakeRun{scenario: "Offline", metric: 1, settings: map[string]any{"effective_target_qps": 1234.5}}.write(t)
	if err := r.audit(t.Context()); err != nil {
		t.Fatal(err)
	}
	run, err := readRun(r.work(Test04))
	if err != nil || run.settings.TargetQPS != 1234.5 || run.settings.Mode != loadgen.PerformanceOnly || !run.settings.PerformanceIssueSame {
		t.Errorf("the run had %+v, %v, want the target of the result, 1234.5", run, err)
	}
	if want := "run for TEST04: logs and results go to " + r.work(Test04); !slices.Contains(heard.notes, want) {
		t.Errorf("noted %q, want %q", heard.notes, want)
	}
}

func TestEachTestNeedsItsRuns(t *testing.T) {
	for _, c := range []struct {
		test, version string
		want          int
	}{{Test01, "v6.1", 3}, {Test03, "v0.5", 3}, {Test04, "v2.0", 2}, {Test04, "v2.1", 3}, {Test09, "v6.1", 3}} {
		r := &runner{version: c.version}
		if r.Test = c.test; len(r.steps()) != c.want {
			t.Errorf("%s of %s has %d steps, want %d", c.test, c.version, len(r.steps()), c.want)
		}
	}
	given := &runner{}
	if given.Performance = "elsewhere"; given.unique(t.Context()) != nil {
		t.Error("TEST04-A is run although it is there")
	}
	for test, k := range kinds { // runs that no test compares with are not made
		r := &runner{kind: k}
		if r.Test = test; !k.performance && r.performance(t.Context()) != nil || !k.accuracy && r.accuracy(t.Context()) != nil {
			t.Errorf("%s makes a run that it does not need", test)
		}
	}
}

func TestTheLogIsScoredThatIsAskedFor(t *testing.T) {
	log := filepath.Join(t.TempDir(), "responses.json")
	if _, err := ScoreWith("resnet50", t.TempDir())(t.Context(), log); err == nil || !strings.Contains(err.Error(), log) {
		t.Errorf("error %v, want one about %s", err, log)
	}
}
