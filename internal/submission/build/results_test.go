package build

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/report"
)

// made has this program's results lie beside all logs of the golden runs: what it would have
// written of them, changed for the runs whose folder ends so.
func made(t *testing.T, q Request, end string, change func(*report.Results)) Request {
	t.Helper()
	q.Model = "" // which the results say
	ok(t, filepath.WalkDir(q.Runs[0], func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.Name() != "mlperf_log_detail.txt" {
			return err
		}
		r := report.Results{
			Schema: report.Schema, Result: report.Valid, Program: "mlperf 1.2", Model: "resnet50", Rules: "v6.1",
			Input:    report.Input{ModelSHA256: "abc", Precision: "fp32", ModelPath: "/m/resnet50_v1.onnx", DatasetPath: "/d", Binding: []string{"images go in as float32 NCHW"}, Samples: 50000},
			Backend:  report.Backend{Engine: "onnxruntime", Instances: 2, Threads: 3, MaxBatch: 8},
			Settings: []report.Setting{{Key: "min_duration", Value: "10m0s", Origin: "rules v6.1"}, {Key: "target_qps", Value: "40", Origin: "flag --target-qps"}},
			Notes:    []string{"the machine was quiet"},
			Caveats:  []string{report.CaveatUnofficial},
		}
		if strings.HasSuffix(filepath.Dir(path), "/accuracy") {
			r.Accuracy = &report.Accuracy{Metric: "Top-1", Value: 76.0125, Unit: "%"}
		}
		if change != nil && strings.HasSuffix(filepath.Dir(path), end) {
			change(&r)
		}
		return r.Write(filepath.Dir(path))
	}))
	return q
}

func TestAReadmeSaysWhatTheResultsSay(t *testing.T) {
	t.Parallel()
	q := made(t, foreign(t, "v6.1"), "", nil)
	q.Measurements, q.Calibration, q.Source = nil, "", ""
	built, err := Build(t.Context(), q)
	ok(t, err)
	if built.Results[1].Accuracy != "Top-1 76.012 %" {
		t.Errorf("the accuracy is %q, want five figures of 76.0125", built.Results[1].Accuracy)
	}
	text := read(t, q.Tree, home, "results/board1/resnet/Offline/README.md")
	for _, want := range []string{
		"- Accuracy: Top-1 76.012 % (five", "- Program: mlperf 1.2, which is not an official LoadGen\n", "- Model: resnet50_v1.onnx, SHA-256 abc, precision fp32\n",
		"- Model: images go in as float32 NCHW\n", "- Data: 50000 samples\n", "- Engine: onnxruntime, 2 instances with 3 threads each, batches of 8 at most\n",
		"\n## Settings\n\nWhat the test had besides the defaults of the rules:\n\n- target_qps = 40 (flag --target-qps)\n\nthe machine was quiet.\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("README.md lacks %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, "min_duration") {
		t.Errorf("README.md has settings of the rules:\n%s", text)
	}
	if text := read(t, q.Tree, home, "src/README.md"); !strings.Contains(text, "made with mlperf 1.2") {
		t.Errorf("src/README.md is %q", text)
	}
	if text := read(t, q.Tree, home, "documentation/calibration.md"); !strings.Contains(text, "FP32") {
		t.Errorf("calibration.md is %q", text)
	}
	if len(built.Check.Results) != 3 || !built.Check.Passes {
		t.Errorf("the tree breaks %v", rulesOf(built.Check))
	}
}

func TestRunsOfDifferentTestsMakeNoResult(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		end    string
		change func(*report.Results)
		want   string
	}{
		"another model file":            {"Offline/accuracy", func(r *report.Results) { r.Input.ModelSHA256 = "def" }, `are of different tests: model file "abc" and "def"`},
		"another precision":             {"Offline/accuracy", func(r *report.Results) { r.Input.Precision = "int8" }, `precision "fp32" and "int8"`},
		"another engine":                {"Offline/TEST04/performance/run_1", func(r *report.Results) { r.Backend.Engine = "oip" }, `engine "onnxruntime" and "oip"`},
		"another data set":              {"Offline/TEST01/performance/run_1", func(r *report.Results) { r.Input.DatasetPath = "/e" }, `data set "/d" and "/e"`},
		"other rules":                   {"Offline/accuracy", func(r *report.Results) { r.Rules = "v6.0" }, `rules "v6.1" and "v6.0"`},
		"another benchmark":             {"Offline/accuracy", func(r *report.Results) { r.Model = "bert" }, "there is no"},
		"a benchmark that nobody knows": {"Offline/accuracy", func(r *report.Results) { r.Model = "alexnet" }, `rules v6.1 have no benchmark "alexnet"`},
		"a caveat":                      {"Offline/accuracy", func(r *report.Results) { r.Caveats = []string{"a subset of the samples"} }, "may not enter the division closed: it has a caveat: a subset of the samples"},
		"a caveat of a test's setting": {"Offline/performance/run_1", func(r *report.Results) {
			r.Caveats = []string{"closed division: performance_issue_same is true instead of the official false (audit.config:7)"}
		}, "it has a caveat: closed division: performance_issue_same"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q := made(t, foreign(t, "v6.1"), c.end, c.change)
			if _, err := Build(t.Context(), q); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}

func TestLogsOfOthersFitToResultsOfOurs(t *testing.T) {
	t.Parallel()
	q := made(t, foreign(t, "v6.1"), "", nil)
	q.Model = "resnet50"
	ok(t, os.Remove(filepath.Join(q.Runs[0], home, "results/board1/resnet50/Offline/accuracy/results.json")))
	built, err := Build(t.Context(), q)
	ok(t, err)
	if len(built.Results) != 3 || built.Results[1].Scenario != "Offline" || built.Results[1].Accuracy != "76.012" {
		t.Errorf("%+v, want the accuracy of accuracy.txt where nothing else says it", built.Results)
	}
}

func TestWhatIsInATreeStaysWhenItGrows(t *testing.T) {
	t.Parallel()
	q := foreign(t, "v6.1")
	q.Division, q.Name, q.Description = "open", "first", whole(t, "open", "datacenter")
	q.Calibration, q.Source, q.Bandwidth = "", "", "a cable"
	_, err := Build(t.Context(), q)
	ok(t, err)
	kept := map[string]string{"systems/board1.json": "{}", "src/README.md": "# Mine\n", "documentation/bandwidth.md": "mine\n"}
	for path, text := range kept {
		write(t, filepath.Join(q.Tree, "open/ExampleOrg", path), text)
	}
	q.Add, q.Name, q.Bandwidth = true, "second", "another cable"
	_, err = Build(t.Context(), q)
	ok(t, err)
	for path, want := range kept {
		if got := read(t, q.Tree, "open/ExampleOrg", path); got != want {
			t.Errorf("%s has become %q", path, got)
		}
	}
	if got := read(t, q.Tree, "open/ExampleOrg/model_mapping.json"); got != "{\n  \"first\": \"resnet\",\n  \"second\": \"resnet\"\n}\n" {
		t.Errorf("model_mapping.json is %s", got)
	}
	q.Force = true
	_, err = Build(t.Context(), q)
	ok(t, err)
	if got := read(t, q.Tree, "open/ExampleOrg/systems/board1.json"); got == "{}" {
		t.Error("with force the description of the system is not replaced")
	}
	write(t, filepath.Join(q.Tree, "open/ExampleOrg/model_mapping.json"), `["resnet"]`)
	if _, err := Build(t.Context(), q); err == nil || !strings.Contains(err.Error(), "model_mapping.json: ") {
		t.Errorf("a mapping that is none: %v", err)
	}
}

func TestTestsKeepWhatTheCheckerWantsOfThem(t *testing.T) {
	t.Parallel()
	log := strings.Repeat("x", 20000)
	from := t.TempDir()
	write(t, from+"/accuracy/mlperf_log_accuracy.json", log)
	write(t, from+"/accuracy/accuracy.txt", "score\n")
	write(t, from+"/accuracy/baseline_accuracy.txt", "a\n")
	write(t, from+"/accuracy/compliance_accuracy.txt", "b\n")
	write(t, from+"/verify_accuracy.txt", "TEST PASS\n")
	write(t, from+"/notes.txt", "x")
	for test, want := range map[string]struct{ size, lines int }{"TEST01": {8199, 3}, "TEST07": {8199, 1}, "TEST09": {8199, 1}, "TEST06": {20000, 0}} {
		b := &builder{root: t.TempDir()}
		ok(t, b.audits(t.Context(), &audit{folder: from, test: test}, "to"))
		if got := read(t, b.at("to/accuracy/mlperf_log_accuracy.json")); len(got) != want.size {
			t.Errorf("%s: the log has %d bytes, want %d", test, len(got), want.size)
		}
		text, _ := os.ReadFile(b.at("to/accuracy/accuracy.txt"))
		if n := strings.Count(string(text), "\n"); n != want.lines || want.lines > 0 && !strings.HasSuffix(string(text), "hash="+hashOf(log)+"\n") {
			t.Errorf("%s: accuracy.txt is %q, want %d lines, the last with the hash", test, text, want.lines)
		}
		if there(b.at("to/notes.txt")) || read(t, b.at("to/verify_accuracy.txt")) != "TEST PASS\n" || read(t, b.at("to/accuracy/baseline_accuracy.txt")) != "a\n" {
			t.Errorf("%s: files are missing or too many", test)
		}
	}
	ok(t, os.Remove(from+"/accuracy/accuracy.txt"))
	b := &builder{root: t.TempDir()}
	ok(t, b.audits(t.Context(), &audit{folder: from, test: "TEST01"}, "to"))
	if got := read(t, b.at("to/accuracy/accuracy.txt")); got != "\nhash="+hashOf(log)+"\n" {
		t.Errorf("TEST01 without a score has %q", got)
	}
}

func TestTheSearchForRunsEndsWithItsContext(t *testing.T) {
	t.Parallel()
	enough := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(enough)
	b := &builder{Request: Request{Runs: []string{t.TempDir()}}}
	if _, err := b.find(ctx); !errors.Is(err, enough) {
		t.Errorf("error %v, want %v", err, enough)
	}
}
