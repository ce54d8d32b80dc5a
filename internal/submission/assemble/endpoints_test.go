package assemble

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/submission/checker"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// served asks for a tree of runs on a server of text, which testdata/README.md describes.
func served(t *testing.T) Request {
	t.Helper()
	dir := t.TempDir()
	testenv.Extract(t, "testdata/endpoint_runs.tar.gz", dir)
	return Request{
		Tree: filepath.Join(t.TempDir(), "tree"), Runs: []string{filepath.Join(dir, "runs")}, Rules: "v6.1", Division: "closed", Submitter: "ExampleOrg", System: "board1",
		Description: complete(t, "closed", "datacenter"), Measurements: allMeasured, ModelSource: "the official weights", Bandwidth: "a loopback device",
		Calibration: filepath.Join(dir, "runs", "offline", "performance", "mlperf.conf"),
	}
}

// Results on servers have the files of mlcommons/endpoints, and pass both profiles.
func TestTreeOfServersPasses(t *testing.T) {
	t.Parallel()
	q := served(t)
	built, err := Build(t.Context(), q)
	ok(t, err)
	if !built.Check.Passes || len(built.Check.Results) != 2 {
		t.Errorf("%d results; the tree breaks %v", len(built.Check.Results), rulesOf(built.Check))
	}
	r, err := checker.Check(t.Context(), checker.Options{Tree: q.Tree, Rules: "v6.1"})
	ok(t, err)
	if !r.Passes {
		t.Errorf("profile reference: the tree breaks %v", rulesOf(r))
	}
	offline := filepath.Join(q.Tree, home, "results/board1/gpt-oss-120b/Offline")
	found, err := fileio.Files(t.Context(), offline)
	ok(t, err)
	var names []string
	for _, f := range found {
		names = append(names, f.Name)
	}
	want := []string{
		"README.md", "accuracy/accuracy_results.json", "audit/audit_output_caching_test.json", "audit/output_caching/config.yaml",
		"audit/output_caching/performance/result_summary.json", "audit/reference/config.yaml", "audit/reference/performance/result_summary.json",
		"audit/verify_OUTPUT_CACHING_TEST.txt", "config.yaml", "measurements.json", "performance/result_summary.json",
	}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	for i, p := range []Placed{{Scenario: "Offline", Unit: "Samples/s", Value: 11.895972788962808}, {Scenario: "Server", Unit: "Tokens/s", Value: 19510.024700147274}} {
		if got := built.Results[i]; got.Scenario != p.Scenario || got.Unit != p.Unit || got.Value != p.Value { // as the official checker reports them
			t.Errorf("%+v, want %+v", got, p)
		}
	}
}

func TestLogsOfServers(t *testing.T) {
	t.Parallel()
	q := served(t)
	q.Logs = LoadGen
	_, err := Build(t.Context(), q)
	ok(t, err)
	if log := filepath.Join(q.Tree, home, "results/board1/gpt-oss-120b/Server/performance/run_1/mlperf_log_detail.txt"); !fileio.Exists(log) {
		t.Errorf("%s is missing", log)
	}
	q.Logs, q.Force = "paper", true
	if _, err := Build(t.Context(), q); !testenv.Names(err, "logs … paper … endpoints") {
		t.Errorf("an unknown kind of logs: %v", err)
	}
}

func TestServedRunsThatMayNotEnter(t *testing.T) {
	t.Parallel()
	summary := "offline/performance/endpoints/performance/result_summary.json"
	for name, c := range map[string]struct {
		change func(t *testing.T, q *Request)
		want   string
	}{
		"models of unknown source":  {func(_ *testing.T, q *Request) { q.ModelSource = "" }, "servers have the model … model-source"},
		"a summary that was edited": {func(t *testing.T, q *Request) { edit(t, filepath.Join(q.Runs[0], summary), `"qps": 1`, `"qps": 9`) }, "CHANGED"},
		"no summary": {func(t *testing.T, q *Request) {
			q.Logs = Endpoints
			ok(t, os.RemoveAll(filepath.Join(q.Runs[0], "offline/performance/endpoints")))
		}, "offline/performance"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q := served(t)
			c.change(t, &q)
			if _, err := Build(t.Context(), q); !testenv.Names(err, c.want) {
				t.Errorf("%v, want %s", err, c.want)
			}
		})
	}
}

// edit replaces a part of a file.
func edit(t *testing.T, path, old, with string) {
	t.Helper()
	text, err := os.ReadFile(path)
	ok(t, err)
	if !strings.Contains(string(text), old) {
		t.Fatalf("%s lacks %q", path, old)
	}
	write(t, path, strings.Replace(string(text), old, with, 1))
}
