package run_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/harness"
	"github.com/mlperf-go/mlperf/internal/models"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/run"
	"github.com/mlperf-go/mlperf/internal/run/engine"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// Every number of the results of every benchmark is one, also where one or two samples make the score: one that they do not define is
// left out, with the reason. The answers of the simulated engine stand for a model's.
func TestResultsAreFinite(t *testing.T) {
	if testing.Short() {
		t.Skip("long under the race detector, and of one goroutine")
	}
	short := []string{"deeplab-v3plus", "dlrm"}
	dir := t.TempDir()
	t.Setenv("MLPERF_CACHE_DIR", filepath.Join(dir, "cache"))
	t.Chdir(dir)
	for _, model := range models.All() {
		t.Run(model.Name, func(t *testing.T) {
			if !slices.Contains(short, model.Name) {
				testenv.SkipLong(t, "models and data of all benchmarks")
			}
			if model.Open == nil {
				t.Skip("servers of text answer")
			}
			for count := range 3 {
				q := run.Request{
					Program: "mlperf test", Model: model.Name, Scenario: "offline", Mode: "accuracy", Count: max(1, count), Output: filepath.Join(model.Name, strconv.Itoa(count)),
					Quick: true, Anyway: true, NoReport: true, Engine: engine.Config{Name: engine.Simulated, Latency: time.Millisecond},
				}
				if count == 0 {
					q.Mode, q.Scenario = "", "server"
					q.Settings = []config.Override{
						{Key: "min_duration", Value: "1ms"}, {Key: "min_query_count", Value: "1"}, {Key: "target_qps", Value: "100"}, {Key: "target_latency", Value: "1m"},
					}
				}
				_, err := run.Do(t.Context(), q, harness.Silent{})
				if err != nil {
					t.Log(err)
				}
				var document any
				testenv.Must(t, json.Unmarshal(testenv.Read(t, filepath.Join(q.Output, report.FileName)), &document))
				if at := null(document); at != "" {
					t.Errorf("count %d: no value at %s", count, at)
				}
				r, err2 := report.Read(q.Output)
				testenv.Must(t, err2)
				if scored := r.Accuracy != nil || r.NotScored != "" || r.Result == report.Invalid; count > 0 && !scored || err != nil && r.NotScored == "" {
					t.Errorf("count %d: %v; the results have no score, and do not say why", count, err)
				}
				if a := r.Accuracy; a != nil {
					t.Log(count, a.Metric, a.Value, a.Lines)
				} else {
					t.Log(count, r.Result, r.NotScored)
				}
			}
		})
	}
}

// null finds a null in a document; "": there is none.
func null(v any) string {
	switch v := v.(type) {
	case nil:
		return " "
	case map[string]any:
		for key, value := range v {
			if at := null(value); at != "" {
				return "." + key + at
			}
		}
	case []any:
		for i, value := range v {
			if at := null(value); at != "" {
				return fmt.Sprintf("[%d]%s", i, at)
			}
		}
	}
	return ""
}
