//go:build ort

package run_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/config/limitation"
	"github.com/mlperf-go/mlperf/internal/harness"
	"github.com/mlperf-go/mlperf/internal/run"
	"github.com/mlperf-go/mlperf/internal/run/engine"
	"github.com/mlperf-go/mlperf/internal/run/rescore"
	"github.com/mlperf-go/mlperf/internal/serve/tokenserver"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// E2E-RAG with everything built in: the score is what the server knows, a test of performance sends the requests that the log has, and another
// judge may score the log.
func TestORTQuestions(t *testing.T) {
	server := tokenserver.New(tokenserver.Options{Right: 1})
	s := httptest.NewServer(server)
	defer s.Close()
	q := ortRequest(t)
	q.Engine = engine.Config{Name: engine.OpenAI, Library: q.Engine.Library, Remote: engine.Remote{Endpoints: []string{s.URL}}}
	q.Model, q.ModelPath, q.DatasetPath, q.Scenario, q.Count, q.NoReport = "e2e-rag-qna", "", "", "offline", 2, true
	q.Settings = []config.Override{{Key: "min_query_count", Value: "2", Origin: "flag --min-query-count", Role: limitation.Flag}}
	q.Mode, q.Output = "accuracy", "scored"
	r, err := run.Do(t.Context(), q, harness.Silent{})
	testenv.Must(t, err)
	if r.Accuracy == nil || r.Accuracy.Value != 100 || r.Accuracy.Lines[0] != "Accuracy: 100.0000" {
		t.Fatalf("score %+v, problems %q", r.Accuracy, r.Problems)
	}
	calls := r.Generation.Answers

	q.Mode, q.Output, q.Options = "performance", "timed", map[string]string{"recorded-replies": "scored/llm_logs.json"}
	r, err = run.Do(t.Context(), q, harness.Silent{})
	testenv.Must(t, err)
	if !r.Valid() || r.Generation.Answers != calls || r.Limitations.Has(limitation.NotReplayed) || r.Limitations.Has(limitation.UnrecordedCalls) {
		t.Errorf("%s: %d calls, want the %d of the log; %v", r.Result, r.Generation.Answers, calls, r.Limitations)
	}
	delete(q.Options, "recorded-replies")
	q.Output, q.AccuracyRun = "joined", "scored" // of a suite or a submission
	r, err = run.Do(t.Context(), q, harness.Silent{})
	testenv.Must(t, err)
	if !r.Valid() || r.Generation.Answers != calls || r.Limitations.Has(limitation.NotReplayed) {
		t.Errorf("after the accuracy run: %s, %d calls, want the %d of its log; %v", r.Result, r.Generation.Answers, calls, r.Limitations)
	}
	joined := r.Fingerprint
	q.Output, q.AccuracyRun = "real", "missing"
	r, err = run.Do(t.Context(), q, harness.Silent{})
	testenv.Must(t, err)
	if !r.Limitations.Has(limitation.NotReplayed) || r.Fingerprint == joined {
		t.Errorf("limitations %v, fingerprint %s, which must not be that of a run with replies", r.Limitations, r.Fingerprint)
	}
	q.AccuracyRun = ""
	q.Count, q.Output, q.Options = 3, "more", map[string]string{"recorded-replies": "scored/llm_logs.json"}
	if _, err = run.Do(t.Context(), q, harness.Silent{}); !testenv.Names(err, "recorded-replies … 1 of 3 questions … question 2") {
		t.Errorf("a log of other questions: %v", err)
	}

	strict := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { // it calls nothing right
		w.Header().Set("Content-Type", "application/json")
		reply := `{"data":[{"id":"judge"}]}`
		if r.Method == http.MethodPost {
			reply = `{"choices":[{"index":0,"message":{"content":"{\"correct\": \"false\"}"},"finish_reason":"stop"}],"usage":{"completion_tokens":2}}`
		}
		_, _ = w.Write([]byte(reply))
	}))
	defer strict.Close()
	other, err := rescore.Score(t.Context(), rescore.Request{Run: "scored", Options: map[string]string{"judge-endpoint": strict.URL}}, nil)
	testenv.Must(t, err)
	if text := strings.Join(other.Warnings, "\n"); other.Value != 100 || !strings.Contains(text, "2 replies of the judge are not true") || !strings.Contains(text, " 0 %") {
		t.Errorf("%v, warnings %s", other.Value, text)
	}
}
