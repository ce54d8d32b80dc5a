package build

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/userinput"
)

func TestNothingIsInferredForADatacenter(t *testing.T) {
	t.Parallel()
	q := foreign(t, "v6.1")
	q.Infer, q.Description = true, whole(t, "closed", "datacenter")
	if _, err := Build(t.Context(), q); err == nil || !strings.Contains(err.Error(), `system_type is "datacenter"`) {
		t.Errorf("error %v", err)
	}
}

func TestATreeIsNeverReplacedWithoutBeingAsked(t *testing.T) {
	t.Parallel()
	q := foreign(t, "v6.1")
	_, err := Build(t.Context(), q)
	ok(t, err)
	path := filepath.Join(q.Tree, home, "systems/board1.json")
	write(t, path, "mine")
	var exists *ExistsError
	if _, err := Build(t.Context(), q); !errors.As(err, &exists) {
		t.Errorf("a second build: error %v, want one that says that the tree is there", err)
	}
	q.Add = true
	if _, err := Build(t.Context(), q); !errors.As(err, &exists) || !strings.Contains(exists.Path, "resnet/MultiStream") {
		t.Errorf("the same results once more: error %v, want one that names them", err)
	}
	q.System = "board2"
	built, err := Build(t.Context(), q)
	ok(t, err)
	if len(built.Check.Results) != 6 || read(t, path) != "mine" {
		t.Errorf("after adding a system: %d results, want 6; the other system is %.10q", len(built.Check.Results), read(t, path))
	}
	q.Add, q.Force = false, true
	built, err = Build(t.Context(), q)
	ok(t, err)
	if len(built.Check.Results) != 3 || there(path) {
		t.Errorf("after replacing: %d results, board1 there: %v", len(built.Check.Results), there(path))
	}
	if left, err := filepath.Glob(filepath.Join(filepath.Dir(q.Tree), "*tree*")); err != nil || len(left) != 1 {
		t.Errorf("beside the tree lie %v", left)
	}
}

func TestOnlySubmissionsAreReplaced(t *testing.T) {
	t.Parallel()
	q := foreign(t, "v6.1")
	q.Force = true
	write(t, filepath.Join(q.Tree, "thesis.tex"), "years of work")
	if _, err := Build(t.Context(), q); err == nil || !strings.Contains(err.Error(), "it has thesis.tex") {
		t.Errorf("error %v", err)
	}
	if read(t, q.Tree, "thesis.tex") != "years of work" {
		t.Error("it is gone")
	}
}

func TestABuildThatEndsEarlyLeavesNothing(t *testing.T) {
	t.Parallel()
	q := foreign(t, "v6.1")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Build(ctx, q); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want %v", err, context.Canceled)
	}
	write(t, filepath.Join(q.Runs[0], home, "results/board1/resnet50/Offline/accuracy/accuracy.txt"), "accuracy=76.012%\nhash=abc\n")
	ok(t, os.Truncate(filepath.Join(q.Runs[0], home, "results/board1/resnet50/Offline/accuracy/mlperf_log_accuracy.json"), 100))
	if _, err := Build(t.Context(), q); err == nil || !strings.Contains(err.Error(), "has the hash of another log, abc") {
		t.Errorf("a broken hash: error %v", err)
	}
	entries, err := os.ReadDir(filepath.Dir(q.Tree))
	ok(t, err)
	for _, e := range entries {
		if e.Name() != "src" && e.Name() != "calibration.md" {
			t.Errorf("%s was left", e.Name())
		}
	}
}

func TestWrongRequestsAreRefused(t *testing.T) {
	t.Parallel()
	right := foreign(t, "v6.1")
	for name, change := range map[string]func(*Request){
		"rules": func(q *Request) { q.Rules = "v9" }, "division": func(q *Request) { q.Division = "Closed" },
		"submitter": func(q *Request) { q.Submitter = "../x" }, "system": func(q *Request) { q.System = "" },
		"implementation": func(q *Request) { q.Implementation = ".x" }, "measurement": func(q *Request) { q.Measurements = map[string]string{"weights": "x"} },
		"name": func(q *Request) { q.Name = "mine" }, "add": func(q *Request) { q.Add = true }, "model": func(q *Request) { q.Model = "" },
	} {
		q := right
		change(&q)
		_, err := Build(t.Context(), q)
		var of *userinput.Error
		if !errors.As(err, &of) || of.Field != name {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

func TestWhatIsMissingIsNamed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(t *testing.T, runs string, q *Request)
		want   string
	}{
		"a folder":            {func(_ *testing.T, _ string, q *Request) { q.Runs = []string{"nowhere"} }, "nowhere"},
		"all runs":            {func(t *testing.T, _ string, q *Request) { q.Runs = []string{t.TempDir()} }, "no runs in"},
		"the accuracy run":    {func(t *testing.T, runs string, _ *Request) { ok(t, os.RemoveAll(runs+"/Offline/accuracy")) }, "resnet Offline: there is no accuracy run"},
		"the performance run": {func(t *testing.T, runs string, _ *Request) { ok(t, os.RemoveAll(runs+"/Offline/performance")) }, "resnet Offline: there is no performance run"},
		"the score":           {func(t *testing.T, runs string, _ *Request) { ok(t, os.Remove(runs+"/Offline/accuracy/accuracy.txt")) }, "score the run first"},
		"the hash of cut logs": {func(t *testing.T, runs string, _ *Request) {
			write(t, runs+"/Offline/accuracy/accuracy.txt", "accuracy=76.012%\n")
		}, "the log was cut already"},
		"logs of a test":  {func(t *testing.T, runs string, _ *Request) { ok(t, os.RemoveAll(runs+"/Offline/TEST04/performance")) }, "TEST04 has no logs of its run"},
		"a model":         {func(_ *testing.T, _ string, q *Request) { q.Model = "alexnet" }, `rules v6.1 have no benchmark "alexnet"`},
		"another network": {func(_ *testing.T, _ string, q *Request) { q.Model = "mobilenet" }, "mobilenet is not resnet: the division closed has the reference's model"},
		"a detector":      {func(_ *testing.T, _ string, q *Request) { q.Model = "ssd-mobilenet" }, `rules v6.1 have no benchmark "ssd-mobilenet"`},
		"a name of its own": {func(t *testing.T, _ string, q *Request) {
			q.Model, q.Division, q.Description = "mobilenet", "open", whole(t, "open", "edge")
		}, "name: "},
		"a scenario that leaves the tree": {func(t *testing.T, runs string, _ *Request) {
			log := runs + "/Offline/performance/run_1/mlperf_log_detail.txt"
			write(t, log, strings.Replace(read(t, log), `"effective_scenario", "value": "Offline"`, `"effective_scenario", "value": "../../../Offline"`, 1))
		}, `effective_scenario is "../../../Offline", which is no scenario`},
		"a choice": {func(t *testing.T, runs string, _ *Request) {
			ok(t, os.CopyFS(runs+"/again", os.DirFS(runs+"/Offline/performance")))
		}, "resnet Offline: performance: 2 runs could be it"},
		"validity": {func(t *testing.T, runs string, _ *Request) {
			log := runs + "/Offline/performance/run_1/mlperf_log_detail.txt"
			write(t, log, strings.Replace(read(t, log), `"result_validity", "value": "VALID"`, `"result_validity", "value": "INVALID"`, 1))
		}, "may not enter the division closed: the run is INVALID"},
		"who made them": {func(t *testing.T, runs string, _ *Request) {
			log := runs + "/Offline/accuracy/mlperf_log_detail.txt"
			write(t, log, strings.Replace(read(t, log), `"loadgen_version", "value": "`, `"loadgen_version", "value": "mlperf 1 `, 1))
		}, "results.json is gone"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q := foreign(t, "v6.1")
			c.change(t, filepath.Join(q.Runs[0], home, "results/board1/resnet50"), &q)
			if _, err := Build(t.Context(), q); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
			if _, err := os.Lstat(q.Tree); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("there is a tree: %v", err)
			}
		})
	}
}

func TestNamesThatNoFolderMayHaveAreRefused(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"", "a b", "a/b", `a\b`, ".hidden", "..", "a\tb", "a\nb", "a\x00b", "a\u00a0b", "a\u202eb", "a\u200bb"} {
		for name, set := range map[string]func(q *Request){
			"submitter": func(q *Request) { q.Submitter = bad }, "system": func(q *Request) { q.System = bad }, "implementation": func(q *Request) { q.Implementation = bad },
		} {
			if bad == "" && name == "implementation" {
				continue // which then is the usual one
			}
			q := Request{Rules: "v6.1", Division: "closed", Submitter: "Org", System: "box", Tree: filepath.Join(t.TempDir(), "tree")}
			set(&q)
			var wrong *userinput.Error
			if _, err := Build(t.Context(), q); !errors.As(err, &wrong) || wrong.Field != name || !strings.Contains(err.Error(), "the name of a folder, without spaces") {
				t.Errorf("%s %q: error %v, want one of the field that says what is right", name, bad, err)
			}
		}
	}
}
