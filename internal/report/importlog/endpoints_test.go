package importlog

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// clientFolders are folders that the official client wrote; see the README there.
const clientFolders = "../endpoints/testdata"

func TestFoldersOfTheOfficialClient(t *testing.T) {
	for folder, want := range map[string]struct {
		about                           About
		model, scenario, result, metric string
		value, score                    float64
		problem                         string
	}{
		"out_online":  {About{}, "qwen3-vl-235b-a22b", "Server", report.Invalid, "completed samples", 9.779692995598062, 0, "latency"},
		"out_offline": {About{}, "qwen3-vl-235b-a22b", "Offline", report.Invalid, "samples", 36 / 0.109464443, 0, "duration"},
		"out_edge":    {About{}, "qwen3.6-27b", "SingleStream", report.Valid, "mean latency", 28.430262333333332, 0, ""},
		"out_wan":     {About{Model: "wan-2.2-t2v-a14b"}, "wan-2.2-t2v-a14b", "Offline", report.Invalid, "samples", 10 / 0.078927432, math.NaN(), "duration"},
	} {
		r, err := Read(filepath.Join(clientFolders, folder), want.about)
		if err != nil {
			t.Errorf("%s: %v", folder, err)
			continue
		}
		if r.Model != want.model || r.Scenario != want.scenario || r.Result != want.result || r.Rules != "v6.1" || !strings.HasPrefix(r.Program, "mlcommons/endpoints 0.1.0") {
			t.Errorf("%s: %s %s %s %s of %s", folder, r.Model, r.Scenario, r.Result, r.Rules, r.Program)
		}
		if r.Metric == nil || r.Metric.Name != want.metric || math.Abs(r.Metric.Value/want.value-1) > 1e-9 {
			t.Errorf("%s: metric %+v, want %g %s", folder, r.Metric, want.value, want.metric)
		}
		if (r.Accuracy == nil) != math.IsNaN(want.score) || r.Accuracy != nil && r.Accuracy.Value != want.score {
			t.Errorf("%s: accuracy %+v, want %g", folder, r.Accuracy, want.score)
		}
		if want.problem != "" && !slices.ContainsFunc(r.Problems, func(p string) bool { return strings.HasPrefix(p, want.problem) }) {
			t.Errorf("%s: problems %q, want one of %s", folder, r.Problems, want.problem)
		}
	}
}

// Seeds of no round, and a test that is shorter than the rules', limit a result.
func TestClientSettingsAreCompared(t *testing.T) {
	r, err := Read(filepath.Join(clientFolders, "out_edge"), About{})
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for _, l := range r.Limitations {
		keys = append(keys, l.Key)
	}
	if diff := cmp.Diff([]string{"min_duration", "sample_index_rng_seed"}, keys); diff != "" {
		t.Errorf("limitations (-want +got):\n%s", diff)
	}
}

// changedClient copies a folder of the official client and changes one of its files.
func changedClient(t *testing.T, folder, file, old, with string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(clientFolders, folder))); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, file)
	text, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(text), old) {
		t.Fatalf("%v, or %s lacks %q", err, path, old)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(text), old, with, 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

const (
	summaryFile = "performance/result_summary.json"
	scoresFile  = "accuracy/accuracy_results.json"
)

// What the official checker passes and makes a result worthless is a problem here.
func TestClientRunsThatDidNotEndWell(t *testing.T) {
	for name, c := range map[string]struct{ file, old, with, result, problem string }{
		"interrupted":     {summaryFile, `"state": "complete"`, `"state": "interrupted"`, report.Interrupted, "interrupted"},
		"not complete":    {summaryFile, `"complete": true`, `"complete": false`, report.Invalid, "complete is false"},
		"failed requests": {summaryFile, `"n_samples_failed": 0`, `"n_samples_failed": 3`, report.Invalid, "3 of 12 requests failed"},
	} {
		r, err := Read(changedClient(t, "out_edge", c.file, c.old, c.with), About{})
		if err != nil {
			t.Fatal(err)
		}
		if r.Result != c.result || !strings.Contains(strings.Join(r.Problems, "\n"), c.problem) {
			t.Errorf("%s: %s, %q", name, r.Result, r.Problems)
		}
	}
}

// The inline score of the performance run is not the accuracy; missing answers make that incomplete.
func TestClientScores(t *testing.T) {
	r, err := Read(changedClient(t, "out_edge", scoresFile, `"score": 0.0`, `"score": 0.86`), About{})
	if err != nil {
		t.Fatal(err)
	}
	if a := r.Accuracy; a.Value != 86 || a.Unit != "%" || !a.Met || a.Samples != 36 || len(a.Lines) != 2 || !strings.Contains(a.Lines[1], "performance run") {
		t.Errorf("%+v", a)
	}
	r, err = Read(changedClient(t, "out_edge", scoresFile, `"missing": 0`, `"missing": 2`), About{})
	if err != nil || !r.Accuracy.Partial || r.Accuracy.Met {
		t.Errorf("%v, %+v", err, r.Accuracy)
	}
}

func TestBrokenClientFolders(t *testing.T) {
	for name, c := range map[string]struct{ file, old, with, want string }{
		"a count that is a text":  {summaryFile, `"n_samples_issued": 12`, `"n_samples_issued": "12"`, summaryFile + " … n_samples_issued … string … number"},
		"a list for a spread":     {summaryFile, `"ttft": {`, `"ttft": [{`, summaryFile},
		"scores that are no list": {scoresFile, `"accuracy_scores": [`, `"accuracy_scores": 3, "x": [`, scoresFile + " … accuracy_scores … list"},
		"a score of words":        {scoresFile, `"score": 0.0`, `"score": "good"`, scoresFile + " … 0 … score … good … number"},
		"no score":                {scoresFile, `"score": 0.0,`, ``, scoresFile + " … score … number"},
		"a seed that is a text":   {"config.yaml", "scheduler_random_seed: 42", "scheduler_random_seed: many", "config.yaml … line"},
	} {
		_, err := Read(changedClient(t, "out_edge", c.file, c.old, c.with), About{})
		if !testenv.Names(err, filepath.FromSlash(c.want)) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
	dir := changedClient(t, "out_edge", "config.yaml", "name", "name")
	if err := os.Remove(filepath.Join(dir, "config.yaml")); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(dir, About{}); !testenv.Names(err, "config.yaml") {
		t.Errorf("without config.yaml: %v", err)
	}
}

func FuzzClient(f *testing.F) {
	for _, folder := range []string{"out_online", "out_edge"} {
		var files [3][]byte
		for i, name := range []string{"config.yaml", summaryFile, scoresFile} {
			var err error
			if files[i], err = os.ReadFile(filepath.Join(clientFolders, folder, name)); err != nil {
				f.Fatal(err)
			}
		}
		f.Add(files[0], files[1], files[2])
	}
	f.Fuzz(func(t *testing.T, config, summary, scores []byte) {
		dir := t.TempDir()
		for name, data := range map[string][]byte{"config.yaml": config, summaryFile: summary, scoresFile: scores} {
			path := filepath.Join(dir, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, data, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		r, err := Read(dir, About{})
		if err != nil {
			return
		}
		if err := r.Write(dir); err != nil { // what was read can be kept
			t.Fatal(err)
		}
		if _, err := report.Read(dir); err != nil {
			t.Fatal(err)
		}
	})
}
