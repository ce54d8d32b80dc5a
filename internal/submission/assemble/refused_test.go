package assemble

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/config/limitation"
	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/testenv"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

func TestFailedBuildLeavesNothing(t *testing.T) {
	t.Parallel()
	q := golden(t, "v6.1")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Build(ctx, q); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want %v", err, context.Canceled)
	}
	write(t, filepath.Join(q.Runs[0], home, "results/board1/resnet50/Offline/accuracy/accuracy.txt"), "accuracy=76.012%\nhash=abc\n")
	ok(t, os.Truncate(filepath.Join(q.Runs[0], home, "results/board1/resnet50/Offline/accuracy/mlperf_log_accuracy.json"), 100))
	if _, err := Build(t.Context(), q); !testenv.Names(err, "hash … abc") {
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

func TestWrongRequests(t *testing.T) {
	t.Parallel()
	right := golden(t, "v6.1")
	empty := t.TempDir()
	write(t, filepath.Join(empty, ".git/config"), "x")
	for name, c := range map[string]struct {
		field  string
		change func(*Request)
	}{
		"an unknown round":     {"rules", func(q *Request) { q.Rules = "v9" }},
		"an unknown division":  {"division", func(q *Request) { q.Division = "Closed" }},
		"a path":               {"submitter", func(q *Request) { q.Submitter = "../x" }},
		"a space":              {"submitter", func(q *Request) { q.Submitter = "a b" }},
		"a backslash":          {"submitter", func(q *Request) { q.Submitter = `a\b` }},
		"an invisible space":   {"system", func(q *Request) { q.System = "a\u200bb" }},
		"no system":            {"system", func(q *Request) { q.System = "" }},
		"a hidden folder":      {"implementation", func(q *Request) { q.Implementation = ".x" }},
		"an unknown field":     {"measurement", func(q *Request) { q.Measurements = map[string]string{"weights": "x"} }},
		"a field of no model":  {"measurement", func(q *Request) { q.Measurements = map[string]string{"alexnet/retraining": "no"} }},
		"a name in closed":     {"name", func(q *Request) { q.Name = "mine" }},
		"a network of closed":  {"network", func(q *Request) { q.Network = q.Calibration }},
		"no tree to add to":    {"add", func(q *Request) { q.Add = true }},
		"no model":             {"model", func(q *Request) { q.Model = "" }},
		"a file as source":     {"source", func(q *Request) { q.Source = right.Calibration }},
		"a missing source":     {"source", func(q *Request) { q.Source = "missing" }},
		"a source of no files": {"source", func(q *Request) { q.Source = empty }},
		"a model without name": {"name", func(q *Request) {
			q.Model, q.Division, q.Description = "mobilenet", "open", complete(t, "open", "edge")
		}},
		"results without name": {"name", func(q *Request) {
			*q = withResults(t, golden(t, "v6.1"), "", nil)
			q.Division, q.Description = "open", complete(t, "open", "edge")
			copyAs(t, *q, "mobilenet")
		}},
	} {
		q := right
		c.change(&q)
		_, err := Build(t.Context(), q)
		var of *userinput.Error
		if !errors.As(err, &of) || of.Field != c.field || fileio.Exists(q.Tree) {
			t.Errorf("%s: error %v, want one of %s, and no tree", name, err, c.field)
		}
	}
}

func TestMissingAndWrongRuns(t *testing.T) {
	t.Parallel()
	// replace replaces a text in the log of Offline's performance run.
	replace := func(old, text string) func(t *testing.T, runs string, q *Request) {
		return func(t *testing.T, runs string, _ *Request) {
			log := runs + "/Offline/performance/run_1/mlperf_log_detail.txt"
			write(t, log, strings.Replace(read(t, log), old, text, 1))
		}
	}
	remove := func(path string) func(t *testing.T, runs string, q *Request) {
		return func(t *testing.T, runs string, _ *Request) { ok(t, os.RemoveAll(runs+"/"+path)) }
	}
	for name, c := range map[string]struct {
		change func(t *testing.T, runs string, q *Request)
		want   string
	}{
		"a folder":            {func(_ *testing.T, _ string, q *Request) { q.Runs = []string{"nowhere"} }, "nowhere"},
		"all runs":            {func(t *testing.T, _ string, q *Request) { q.Runs = []string{t.TempDir()} }, "no runs in"},
		"the accuracy run":    {remove("Offline/accuracy"), "resnet Offline has no accuracy run"},
		"the performance run": {remove("Offline/performance"), "resnet Offline has no performance run"},
		"the score":           {remove("Offline/accuracy/accuracy.txt"), "score the run first"},
		"logs of a test":      {remove("Offline/TEST04/performance"), "TEST04 has no logs of its run"},
		"the hash of cut logs": {func(t *testing.T, runs string, _ *Request) {
			write(t, runs+"/Offline/accuracy/accuracy.txt", "accuracy=76.012%\n")
		}, "the log was cut already"},
		"an unknown model": {func(_ *testing.T, _ string, q *Request) { q.Model = "alexnet" }, `rules v6.1 have no benchmark "alexnet"`},
		"another network":  {func(_ *testing.T, _ string, q *Request) { q.Model = "mobilenet" }, "mobilenet is not resnet: the division closed has the reference's model"},
		"a path as scenario": {replace(`"effective_scenario", "value": "Offline"`, `"effective_scenario", "value": "../../../Offline"`),
			`unknown effective_scenario "../../../Offline"`},
		"two runs": {func(t *testing.T, runs string, _ *Request) {
			ok(t, os.CopyFS(runs+"/again", os.DirFS(runs+"/Offline/performance")))
		}, "resnet Offline: performance: 2 runs are possible"},
		"an INVALID run":    {replace(`"result_validity", "value": "VALID"`, `"result_validity", "value": "INVALID"`), "may not enter the division closed: the run is INVALID"},
		"a run with errors": {replace(`"is_error": false`, `"is_error": true`), "the log has 1 errors"},
		"results.json":      {replace(`"loadgen_version", "value": "`, `"loadgen_version", "value": "mlperf 1 `), "results.json, which lists the limitations, is missing"},
		"an inferred result of a datacenter": {func(t *testing.T, _ string, q *Request) {
			q.Infer, q.Description = true, complete(t, "closed", "datacenter")
		}, `system_type is "datacenter"`},
		"a link in the source": {func(t *testing.T, _ string, q *Request) {
			ok(t, os.Symlink("/etc/hostname", filepath.Join(q.Source, "link")))
		}, "link is a link or a special file"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q := golden(t, "v6.1")
			c.change(t, filepath.Join(q.Runs[0], home, "results/board1/resnet50"), &q)
			if _, err := Build(t.Context(), q); !testenv.Names(err, c.want) || fileio.Exists(q.Tree) {
				t.Errorf("error %v, want %q, and no tree", err, c.want)
			}
		})
	}
}

func TestRunsThatMayNotEnter(t *testing.T) {
	type limitations = report.Limitations
	setting := func(key, origin string, role limitation.Role) limitation.Limitation {
		return limitation.Limitation{ID: limitation.Setting, Key: key, Value: "1", Want: "0", Origin: origin, Role: role}
	}
	ownSeed := setting("accuracy_log_rng_seed", "my-test01.conf:2", limitation.AuditConf) // a file of any name
	sameIssued := setting("performance_issue_same", "audits/t04.txt:3", limitation.AuditConf)
	unofficial, quick, unknown := limitation.Limitation{ID: limitation.Unofficial}, setting("min_duration", "quick run", limitation.QuickRun), limitation.Limitation{ID: limitation.UnknownModel, Key: "my.onnx", Value: "ab"}
	limited := func(list ...limitation.Limitation) func(*report.Results) {
		return func(r *report.Results) { r.Limitations = list }
	}
	refused := func(l limitation.Limitation) string { return "it has a limitation: " + report.Sentence(l) }
	for _, c := range []struct {
		name, part, division string
		change               func(r *report.Results)
		want, source         string
	}{
		{"the usual limitation", "performance", "closed", limited(unofficial), "", ""},
		{"INVALID", "performance", "closed", func(r *report.Results) { r.Result = report.Invalid }, "the run is INVALID", ""},
		{"a simulated engine", "accuracy", "open", func(r *report.Results) { r.Backend.Simulated = true }, "the engine is simulated", ""},
		{"built-in data", "performance", "open", func(r *report.Results) { r.Input.BuiltInData = true }, report.Sentence(limitation.Limitation{ID: limitation.BuiltInData}), ""},
		{"a built-in model in closed", "performance", "closed", func(r *report.Results) { r.Input.BuiltIn = true }, report.Sentence(limitation.Limitation{ID: limitation.BuiltInModel}), ""},
		{"a built-in model in open", "performance", "open", func(r *report.Results) {
			r.Input.BuiltIn, r.Limitations = true, limitations{{ID: limitation.BuiltInModel}}
		}, "", ""},
		{"a test's own setting", "TEST01", "closed", limited(ownSeed), "", ""},
		{"settings of TEST04", "TEST04", "closed", limited(sameIssued, setting("min_query_count", "audits/t04.txt:4", limitation.AuditConf), unofficial), "", ""},
		{"the same setting of a result", "performance", "closed", limited(ownSeed), refused(ownSeed), ""},
		{"another test's setting", "TEST04", "closed", limited(ownSeed), refused(ownSeed), ""},
		{"a test's own setting by a flag", "TEST06", "closed", limited(setting("min_duration", "flag --min-duration", limitation.Flag)), refused(setting("min_duration", "flag --min-duration", limitation.Flag)), ""},
		{"by a user.conf that is called audit.config", "TEST04", "closed", limited(setting("performance_issue_same", "audit.config:3", limitation.UserConf)), refused(setting("performance_issue_same", "audit.config:3", limitation.UserConf)), ""},
		{"by an older record", "TEST04", "closed", limited(limitation.Limitation{ID: limitation.Older, Value: "closed division: performance_issue_same is true (audit.config:3)"}),
			"it has a limitation: closed division: performance_issue_same is true (audit.config:3)", ""},
		{"one of several", "TEST01", "closed", limited(unofficial, quick), refused(quick), ""},
		{"an unknown model", "TEST01", "closed", limited(unknown), refused(unknown) + ": state where the file comes from by --model-source", " "},
		{"an unknown model in open", "performance", "open", limited(unknown), "", ""},
		{"a stated model", "performance", "closed", limited(unknown), "", "exported from the official weights"},
		{"a stated model and more", "performance", "closed", limited(unknown, quick), refused(quick), "exported"},
	} {
		r := runOf(t, `result_validity "VALID"`)
		r.results = &report.Results{Result: report.Valid, Backend: report.Backend{Engine: "onnxruntime 1.24"}}
		c.change(r.results)
		b := &builder{Request: Request{Division: c.division, ModelSource: c.source}}
		if got := b.refuse(r, c.part); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestRunsOfDifferentTests(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		end    string
		change func(*report.Results)
		want   string
	}{
		"another model file":   {"Offline/accuracy", func(r *report.Results) { r.Input.ModelSHA256 = "def" }, `are of different tests: model file "abc" and "def"`},
		"another precision":    {"Offline/accuracy", func(r *report.Results) { r.Input.Precision = "int8" }, `precision "fp32" and "int8"`},
		"another engine":       {"Offline/TEST04/performance/run_1", func(r *report.Results) { r.Backend.Engine = "oip" }, `engine "onnxruntime" and "oip"`},
		"another data set":     {"Offline/TEST01/performance/run_1", func(r *report.Results) { r.Input.DatasetPath = "/e" }, `data set "/d" and "/e"`},
		"other rules":          {"Offline/accuracy", func(r *report.Results) { r.Rules = "v6.0" }, `rules "v6.1" and "v6.0"`},
		"another benchmark":    {"Offline/accuracy", func(r *report.Results) { r.Model = "bert" }, "has no"},
		"an unknown benchmark": {"Offline/accuracy", func(r *report.Results) { r.Model = "alexnet" }, `rules v6.1 have no benchmark "alexnet"`},
	} {
		q := withResults(t, golden(t, "v6.1"), c.end, c.change)
		if _, err := Build(t.Context(), q); !testenv.Names(err, c.want) {
			t.Errorf("%s: error %v, want %q", name, err, c.want)
		}
	}
}

func TestRunsOfOtherModelsAreLeftOut(t *testing.T) {
	t.Parallel()
	for model, why := range map[string]string{
		"alexnet":   `rules v6.1 have no benchmark "alexnet"`,
		"mobilenet": "mobilenet is not resnet: the division closed has the reference's model",
	} {
		q := withResults(t, golden(t, "v6.1"), "", nil)
		other := copyAs(t, q, model)
		built, err := Build(t.Context(), q)
		ok(t, err)
		var want []string
		for _, folder := range []string{"TEST01/performance/run_1", "TEST04/performance/run_1", "accuracy", "performance/run_1"} {
			want = append(want, filepath.Join(other, folder)+": "+why)
		}
		if !slices.Equal(built.LeftOut, want) || len(built.Results) != 3 {
			t.Errorf("%d results; left out:\n%s\nwant\n%s", len(built.Results), strings.Join(built.LeftOut, "\n"), strings.Join(want, "\n"))
		}
		q.Runs, q.Force = []string{other}, true
		_, err = Build(t.Context(), q)
		for _, want := range []string{"no runs in " + other + ": expected folders with mlperf_log_detail.txt", why} {
			if !testenv.Names(err, want) {
				t.Errorf("a folder of %s alone: error %v, want %q", model, err, want)
			}
		}
		if lines := userinput.ErrorLines(err); !strings.HasPrefix(lines[len(lines)-1], "no runs in ") {
			t.Errorf("the last line is %q, want the error behind the runs that were left out", lines[len(lines)-1])
		}
	}
}
