package rescore_test

import (
	"bytes"
	"errors"
	"math"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/config/limitation"
	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/harness"
	"github.com/mlperf-go/mlperf/internal/loadgen/mlperflog"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/run"
	"github.com/mlperf-go/mlperf/internal/run/engine"
	"github.com/mlperf-go/mlperf/internal/run/rescore"
	"github.com/mlperf-go/mlperf/internal/run/runtest"
	"github.com/mlperf-go/mlperf/internal/serve/tokenserver"
	"github.com/mlperf-go/mlperf/internal/testenv"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

const log = "out/mlperf_log_accuracy.json"

// accuracyRun leaves the folder of an accuracy run, out.
func accuracyRun(t *testing.T) {
	t.Helper()
	q := runtest.Request(t)
	q.Mode, q.Output, q.Settings = "accuracy", "out", nil
	synctest.Test(t, func(t *testing.T) {
		_, err := run.Do(t.Context(), q, harness.Silent{})
		testenv.Must(t, err)
	})
}

func score(t *testing.T, q rescore.Request) *rescore.Result {
	t.Helper()
	s, err := rescore.Score(t.Context(), q, nil)
	testenv.Must(t, err)
	return s
}

func TestScoreOfARunIsKept(t *testing.T) {
	accuracyRun(t)
	before, err := report.Read("out")
	testenv.Must(t, err)
	testenv.Must(t, os.Remove("out/accuracy.txt"))
	before.NotScored = "too early"
	testenv.Must(t, before.Write("out"))
	for _, q := range []rescore.Request{
		{Run: "out"}, {Run: "out", Options: map[string]string{"verbose": "true"}},
		{Run: "out", Model: "resnet50", Log: "./out/../" + log, DatasetPath: "./imagenet"},
	} {
		s := score(t, q)
		if s.Top5 == nil || *s.Top5 != *before.Accuracy.Top5 {
			t.Errorf("%+v: Top-5 is lost", q)
		}
		if s.Value != before.Accuracy.Value || s.Samples != 4 || s.Kept != filepath.Join("out", "accuracy.txt") || !bytes.Contains(testenv.Read(t, s.Kept), []byte("accuracy=")) {
			t.Errorf("%+v: the score is %v of %d samples in %q, that of the run %v", q, s.Value, s.Samples, s.Kept, before.Accuracy.Value)
		}
		if r, err := report.Read("out"); err != nil || r.NotScored != "" {
			t.Errorf("%v, %v: the run is scored now", r, err)
		}
	}
}

func TestWhatIfLeavesTheRecord(t *testing.T) {
	accuracyRun(t)
	testenv.Must(t, os.WriteFile("copy.json", testenv.Read(t, log), 0o644))
	testenv.Must(t, os.CopyFS("twin", os.DirFS("imagenet")))
	record, text := testenv.Read(t, "out/results.json"), testenv.Read(t, "out/accuracy.txt")
	for warning, q := range map[string]rescore.Request{
		"what-if (model)":                 {Run: "out", Model: "mobilenet"},
		"what-if (log)":                   {Run: "out", Log: "copy.json"},
		"what-if (dataset path)":          {Run: "out", DatasetPath: "twin"},
		"what-if (options of the script)": {Run: "out", Options: map[string]string{"dtype": "float32"}},
		"":                                {Model: "resnet50", Log: log, DatasetPath: "imagenet"},
	} {
		s := score(t, q)
		if s.Kept != "" || !strings.Contains(strings.Join(s.Warnings, "\n"), warning) {
			t.Errorf("kept in %q with warnings %q, want %q", s.Kept, s.Warnings, warning)
		}
		if !bytes.Equal(testenv.Read(t, "out/results.json"), record) || !bytes.Equal(testenv.Read(t, "out/accuracy.txt"), text) {
			t.Errorf("%s: the record of the run was changed", warning)
		}
	}
	testenv.Must(t, os.Mkdir("logs", 0o755))
	testenv.Must(t, os.Rename("copy.json", "logs/log.json"))
	alone := rescore.Request{Model: "resnet50", Log: "logs/log.json", DatasetPath: "imagenet"}
	s := score(t, alone)
	if beside, err := filepath.Glob("logs/*"); err != nil || s.Run != nil || s.Kept != "" || len(beside) != 1 {
		t.Errorf("%+v, %q: a log alone may lie among data of others: want nothing beside it", s, beside)
	}
	alone.Output = "logs"
	if s := score(t, alone); s.Kept != filepath.Join("logs", "accuracy.txt") || !bytes.Equal(testenv.Read(t, s.Kept), text) {
		t.Errorf("%+v, want the score in the folder that was named", s)
	}
	testenv.Must(t, os.WriteFile("logs/accuracy.txt", []byte("of the user\n"), 0o600))
	if _, err := rescore.Score(t.Context(), alone, nil); err == nil || !strings.HasPrefix(err.Error(), "output: ") || string(testenv.Read(t, "logs/accuracy.txt")) != "of the user\n" {
		t.Errorf("%v: the user's file was replaced", err)
	}
}

// A log with forged answers gives their score, and a mark.
func TestChangedLogIsMarked(t *testing.T) {
	accuracyRun(t)
	changedLog := limitation.Limitation{ID: limitation.FileChanged, Key: mlperflog.AccuracyFile}
	text := testenv.Read(t, log)
	changed := bytes.Replace(text, []byte("\n"), []byte("\n "), 1)
	for i, content := range [][]byte{text, changed, changed, text} {
		testenv.Must(t, os.WriteFile(log, content, 0o600))
		warned := slices.Contains(score(t, rescore.Request{Run: "out"}).Warnings, report.Sentence(changedLog))
		r, err := report.Read("out")
		testenv.Must(t, err)
		want := bytes.Equal(content, changed)
		if marked := slices.Equal(r.Doubts(), report.Limitations{changedLog}); warned != want || marked != want {
			t.Errorf("time %d: warned %t, limitations %v", i, warned, r.Limitations)
		}
		if r.Limitations.Has(limitation.RecordChanged) {
			t.Error("the program's own change counts as one of the user")
		}
	}
}

func TestScoreNamesWhatIsMissing(t *testing.T) {
	t.Chdir(t.TempDir())
	for want, q := range map[string]rescore.Request{
		"model: ":                       {Model: "alexnet", Log: "log", DatasetPath: "."},
		"colour":                        {Model: "resnet50", Log: "log", DatasetPath: ".", Options: map[string]string{"colour": "red"}},
		"a model, a log and a data set": {Model: "resnet50", DatasetPath: "."},
		"nowhere":                       {Run: "nowhere"},
		"log.json":                      {Model: "resnet50", Log: "log.json", DatasetPath: "."},
	} {
		if _, err := rescore.Score(t.Context(), q, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	of := &userinput.Error{}
	if _, err := rescore.Score(t.Context(), rescore.Request{Model: "alexnet", Log: "log", DatasetPath: "."}, nil); !errors.As(err, &of) || of.Field != "model" {
		t.Errorf("%v, want an error of the field model", err)
	}
}

// The annotations of the environment are those of OpenImages only, and an option wins.
func TestAnnotationsOfTheEnvironment(t *testing.T) {
	t.Chdir(t.TempDir())
	testenv.Tree(t, ".", map[string]string{"log.json": "[]"})
	for _, c := range []struct{ model, option, want string }{
		{"retinanet", "", "env.json"}, {"retinanet", "mine.json", "mine.json"}, {"ssd-mobilenet", "", "instances_val2017.json"},
	} {
		q := rescore.Request{Model: c.model, Log: "log.json", DatasetPath: ".", OpenImagesAnnotations: "env.json"}
		if c.option != "" {
			q.Options = map[string]string{"annotations": c.option}
		}
		if _, err := rescore.Score(t.Context(), q, nil); err == nil || !strings.Contains(err.Error(), c.want) || q.Options["annotations"] != c.option {
			t.Errorf("%s with the option %q: %v, want an error that names %s", c.model, c.option, err, c.want)
		}
	}
}

// programsRun reports whether this test may run programs that answer questions, which takes a while.
func programsRun() bool {
	_, err := exec.LookPath("python3")
	return err == nil && testenv.Long()
}

// questioned has the built-in questions answered by a server that knows a share of them.
func questioned(t *testing.T, model, scenario string, right float64, execute bool) (*tokenserver.Server, *report.Results, string) {
	t.Helper()
	s := tokenserver.New(tokenserver.Options{Tokens: 64, Right: right})
	server := httptest.NewServer(s)
	defer server.Close()
	q := run.Request{
		Program: "mlperf test", Model: model, Scenario: scenario, Mode: "accuracy", Output: filepath.Join(t.TempDir(), "out"),
		Engine: engine.Config{Name: engine.OpenAI, Remote: engine.Remote{Endpoints: []string{server.URL}}},
	}
	if scenario != "singlestream" {
		q.Settings = []config.Override{{Key: "target_qps", Value: "200", Origin: "test"}}
	}
	if execute {
		q.Options = map[string]string{"execute-code": "true"}
	}
	r, err := run.Do(t.Context(), q, harness.Silent{})
	testenv.Must(t, err)
	return s, r, q.Output
}

func TestScoreOfBuiltInQuestions(t *testing.T) {
	t.Setenv("MLPERF_CACHE_DIR", t.TempDir())
	for _, c := range []struct {
		model, scenario string
		right           float64
		execute         bool
	}{
		{"deepseek-r1", "offline", 0.6, true}, {"deepseek-r1", "server", 0.6, true}, {"gpt-oss-120b", "offline", 1, true}, {"gpt-oss-120b", "offline", 0, false},
		{"llama3.1-405b", "offline", 1, false},
	} {
		if c.execute && !programsRun() {
			continue
		}
		s, r, dir := questioned(t, c.model, c.scenario, c.right, c.execute)
		want := 100 * float64(s.Rights()) / 64
		if math.Abs(r.Accuracy.Value-want) > 1e-9 || c.right == 0.6 && (want < 40 || want > 80) || r.Accuracy.Below() != (want < 99) || r.Accuracy.Samples != 64 {
			t.Errorf("%+v: %g %% of %d, %d of 64 answers were right", c, r.Accuracy.Value, r.Accuracy.Samples, s.Rights())
		}
		if text := testenv.Read(t, filepath.Join(dir, "accuracy.txt")); !bytes.Contains(text, []byte("'exact_match': ")) {
			t.Errorf("%+v: accuracy.txt is %s", c, text)
		}
	}
}

// Of products the answer is in the picture: the server says what a right one is, and the F1 of a share of them follows from their levels.
func TestScoreOfBuiltInProducts(t *testing.T) {
	t.Setenv("MLPERF_CACHE_DIR", t.TempDir())
	const model = "qwen3-vl-235b-a22b"
	for scenario, samples := range map[string]uint64{"offline": 64, "server": 64, "interactive": 32} {
		levels := map[uint64]int{}
		for _, right := range []float64{1, 0.6} {
			s, r, dir := questioned(t, model, scenario, right, false)
			answers, err := fileio.Open(filepath.Join(dir, "mlperf_log_accuracy.json"))
			testenv.Must(t, err)
			found, all := 0, 0
			for rec, err := range accuracy.Records(answers) {
				testenv.Must(t, err)
				known := strings.HasPrefix(string(rec.Data), `{"category"`)
				if right == 1 {
					levels[rec.QSLIndex] = 1 + strings.Count(string(rec.Data), " > ")
				}
				if all += levels[rec.QSLIndex]; known {
					found += levels[rec.QSLIndex]
				}
			}
			testenv.Must(t, answers.Close())
			want := float64(found) / float64(all)
			if right == 0.6 && (want < 0.35 || want > 0.85) || right == 1 && want != 1 || s.Rights() == 0 {
				t.Errorf("%s: %d of %d levels are right, the server was to know %g of the products", scenario, found, all, right)
			}
			a := r.Accuracy
			if math.Abs(a.Value-want) > 1e-12 || a.Metric != "f1" || a.Reference != 1 || a.Below() != (right < 1) || a.Samples != samples || r.Interactive != (scenario == "interactive") {
				t.Errorf("%s, %g of the answers right: %+v, want %g", scenario, right, a, want)
			}
			if again := score(t, rescore.Request{Run: dir}); again.Value != a.Value || again.Target != a.Target {
				t.Errorf("%s: scored again %+v, want %+v", scenario, again.Accuracy, a)
			}
		}
	}
}

// The share of the built-in calls that a server gets right is the score.
func TestScoreOfBuiltInCalls(t *testing.T) {
	t.Setenv("MLPERF_CACHE_DIR", t.TempDir())
	const questions = 72
	for _, right := range []float64{0, 0.6, 1} {
		s, r, dir := questioned(t, "qwen3.6-27b", "singlestream", right, false)
		want := math.Round(1e4*float64(s.Rights())/questions) / 100
		if r.Accuracy.Value != want || right == 0.6 && (want < 40 || want > 80) || right != 0.6 && want != 100*right || r.Accuracy.Samples != questions ||
			r.Accuracy.Breakdown.Overall != want || r.Accuracy.Below() != (right != 1) {
			t.Errorf("%v right: %v %%, %d of %d answers were right: %+v", right, r.Accuracy.Value, s.Rights(), questions, r.Accuracy)
		}
		again := score(t, rescore.Request{Run: dir})
		if again.Value != want || !slices.Equal(again.Lines, r.Accuracy.Lines) {
			t.Errorf("%v right: %v again: %v", right, again.Value, again.Lines)
		}
	}
}

// A score made again is compared as the one before, or as the run would have compared it.
func TestReferenceOfARun(t *testing.T) {
	t.Setenv("MLPERF_CACHE_DIR", t.TempDir())
	_, r, dir := questioned(t, "gpt-oss-120b", "offline", 0, false)
	before := *r.Accuracy
	for _, part := range []bool{false, true} {
		r.Accuracy, r.Input.Part = nil, part
		testenv.Must(t, r.Write(dir))
		if s := score(t, rescore.Request{Run: dir}); s.Reference != 100 || s.Target != before.Target || (s.NoTarget == "") == part {
			t.Errorf("of a part of the data (%t): %+v, want the reference and target of %+v", part, s.Accuracy, before)
		}
	}
	r.Accuracy = &before
	r.Accuracy.Reference, r.Accuracy.NoTarget, r.Input.Reference = 50, "a part", 0
	testenv.Must(t, r.Write(dir))
	if s := score(t, rescore.Request{Run: dir}); s.Reference != 50 || s.NoTarget != "a part" {
		t.Errorf("%+v, want the reference and the reason of %+v", s.Accuracy, r.Accuracy)
	}
}

// The score of a run without its programs is completed later, and kept with the run.
func TestProgramsAfterTheRun(t *testing.T) {
	t.Setenv("MLPERF_CACHE_DIR", t.TempDir())
	_, r, dir := questioned(t, "deepseek-r1", "offline", 1, false)
	const programs = 12 // of 64 questions; every fifth is one of LiveCodeBench
	if r.Accuracy.Value != 100*(64.0-programs)/64 || !r.Accuracy.Below() || !strings.Contains(strings.Join(r.Accuracy.Warnings, "\n"), "the programs of 12 answers to LiveCodeBench were not run") {
		t.Errorf("without programs: %+v, warnings %q", r.Accuracy, r.Accuracy.Warnings)
	}
	if !programsRun() {
		t.Skip("programs run only in long tests: make test")
	}
	s := score(t, rescore.Request{Run: dir, Options: map[string]string{"execute-code": "true"}})
	kept, err := report.Read(dir)
	if err != nil || s.Value != 100 || kept.Accuracy.Value != 100 || len(kept.Accuracy.Warnings) != 1 || !strings.Contains(kept.Accuracy.Warnings[0], "programs that the model wrote were executed") {
		t.Errorf("with programs: %+v, warnings %q; the run keeps %+v, %v", s.Accuracy, s.Warnings, kept.Accuracy, err)
	}
}
