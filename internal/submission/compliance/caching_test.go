package compliance

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/run"
	"github.com/mlperf-go/mlperf/internal/run/engine"
	"github.com/mlperf-go/mlperf/internal/serve/tokenserver"
	"github.com/mlperf-go/mlperf/internal/testenv"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// officialAudit is what the official client wrote of an audit, and its phases.
const officialAudit = "../../report/endpoints/testdata/out_wan/audit/"

// summaries writes the summaries of two phases.
func summaries(t *testing.T, ref, audit string) (paths [2]string) {
	t.Helper()
	for i, text := range []string{ref, audit} {
		paths[i] = filepath.Join(t.TempDir(), "result_summary.json")
		if err := os.WriteFile(paths[i], []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return paths
}

func phase(qps float64, completed int) string {
	return fmt.Sprintf(`{"n_samples_completed": %d, "qps": %g, "state": "complete", "complete": true}`, completed, qps)
}

// The files of a verdict are those of the official client, byte for byte.
func TestAuditOfCachingEqualsTheOfficialOne(t *testing.T) {
	paths := summaries(t, phase(128.25356859141925, 10), phase(93.27751905081394, 10))
	v, err := VerifyCaching(paths[0], paths[1], 10, 0.1)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := v.WriteAudit(dir); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"audit_output_caching_test.json", "verify_OUTPUT_CACHING_TEST.txt"} {
		want, err := os.ReadFile(officialAudit + name)
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join(dir, "audit", name))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(strings.TrimRight(string(want), "\n"), strings.TrimRight(string(got), "\n")); diff != "" {
			t.Errorf("%s (-official +ours):\n%s", name, diff)
		}
	}
}

// The bounds are those of verify_output_caching: one sample at the very bound is too fast, and a tenth of the answers may be missing.
func TestAuditOfCaching(t *testing.T) {
	for name, c := range map[string]struct {
		ref, audit string
		threshold  float64
		passed     bool
		want       string // of the reason, or of the error
	}{
		"slower":               {phase(100, 144), phase(50, 144), 0.1, true, "audit_qps=50.0000 < ref_qps * (1 + 10%) = 110.0000"},
		"as much faster":       {phase(100, 144), phase(110.00000000000001, 144), 0.1, false, "audit_qps=110.0000 >= ref_qps * (1 + 10%) = 110.0000"},
		"a stream":             {phase(100, 20), phase(119, 20), 0.2, true, "ref_qps * (1 + 20%)"},
		"nine tenths answered": {phase(100, 130), phase(100, 144), 0.1, true, "<"},
		"fewer answered":       {phase(100, 144), phase(100, 129), 0.1, false, "Phase incomplete: reference 144/144, audit 129/144 (threshold 10%)"},
		"nothing answered":     {phase(100, 144), `{"qps": null, "state": "complete", "complete": true}`, 0.1, false, "qps … answered nothing"},
		"not complete":         {`{"qps": 3, "state": "interrupted", "complete": false}`, phase(1, 144), 0.1, false, "result_summary.json … complete is false"},
	} {
		paths := summaries(t, c.ref, c.audit)
		v, err := VerifyCaching(paths[0], paths[1], map[float64]int{0.1: 144, 0.2: 20}[c.threshold], c.threshold)
		if err != nil {
			if !testenv.Names(err, c.want) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		var file cachingOutcome
		if err := json.Unmarshal([]byte(v.texts[AuditFile]), &file); err != nil {
			t.Fatal(err)
		}
		if v.Passed != c.passed || file.Passed != c.passed || !strings.Contains(file.Reason, c.want) {
			t.Errorf("%s: passed %v, %s", name, v.Passed, file.Reason)
		}
	}
}

// TEST04 on servers runs both phases: of different samples, and of sample 3.
func TestAuditOnAServer(t *testing.T) {
	server := httptest.NewServer(tokenserver.New(tokenserver.Options{}))
	defer server.Close()
	dir := t.TempDir()
	q := Request{Test: "TEST04", Request: run.Request{
		Program: "mlperf test", Model: "gpt-oss-120b", Scenario: "offline", Rules: "v6.1", Output: dir,
		Engine: engine.Config{Name: engine.OpenAI, Remote: engine.Remote{Endpoints: []string{server.URL}, Metrics: []string{engine.MetricsOff}}},
	}}
	t.Setenv("MLPERF_CACHE_DIR", t.TempDir())
	v, err := Run(t.Context(), q, quiet{})
	if err != nil {
		t.Fatal(err)
	}
	if v.Folder != filepath.Join(dir, "audit") {
		t.Errorf("the folder is %s", v.Folder)
	}
	for _, name := range []string{
		"audit_output_caching_test.json", "verify_OUTPUT_CACHING_TEST.txt", "reference/performance/result_summary.json", "output_caching/config.yaml",
	} {
		if !fileio.Exists(filepath.Join(dir, "audit", name)) {
			t.Errorf("%s is missing", name)
		}
	}
	if !strings.Contains(v.texts[AuditFile], `"audit_requested": 64`) { // as many as the built-in data have
		t.Errorf("%s", v.texts[AuditFile])
	}
	var wrong *userinput.Error
	few := q
	few.Output, few.Settings = t.TempDir(), []config.Override{{Key: "min_query_count", Value: "3"}}
	if _, err := Run(t.Context(), few, quiet{}); !errors.As(err, &wrong) || wrong.Field != "min_query_count" || !testenv.Names(err, "3 … at least 4") {
		t.Errorf("too few for sample 3: %v", err)
	}
	q.Scenario, q.Output = "server", t.TempDir()
	if _, err := Run(t.Context(), q, quiet{}); !errors.As(err, &wrong) || wrong.Field != "scenario" {
		t.Errorf("Server: %v", err)
	}
}

// The 20 requests of a stream are too few for LoadGen's verdict, but not for that of the audit: a finished audit is not made again.
func TestFinishedAuditIsKept(t *testing.T) {
	server := httptest.NewServer(tokenserver.New(tokenserver.Options{}))
	defer server.Close()
	t.Setenv("MLPERF_CACHE_DIR", t.TempDir())
	q := Request{Test: "TEST04", Keep: true, Request: run.Request{
		Program: "mlperf test", Model: "gpt-oss-120b", Scenario: "single-stream", Rules: "v6.1", Output: t.TempDir(), Force: true,
		Engine: engine.Config{Name: engine.OpenAI, Remote: engine.Remote{Endpoints: []string{server.URL}, Metrics: []string{engine.MetricsOff}}},
	}}
	audit := func(want bool) {
		t.Helper()
		r := &runner{Request: q, observer: quiet{}}
		if _, err := r.test(t.Context()); err != nil {
			t.Fatal(err)
		}
		if r.kept != want {
			t.Errorf("kept %v, want %v", r.kept, want)
		}
	}
	audit(false)
	audit(true)
	if err := os.RemoveAll(filepath.Join(q.Output, "runs", "reference")); err != nil {
		t.Fatal(err)
	}
	audit(false)
}
