package harness

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/mlperf-go/mlperf/internal/backend/openai/tokenserver"
	"github.com/mlperf-go/mlperf/internal/backend/openai/tokenserver/tokentest"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/models"
	"github.com/mlperf-go/mlperf/internal/report"
)

// answerOf is what a server of tokens says to a prompt of token ids.
func answerOf(t *testing.T, s *tokenserver.Server, ids []int, most int) string {
	t.Helper()
	body, err := json.Marshal(map[string]any{"prompt": ids, "max_tokens": most})
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/v1/completions", strings.NewReader(string(body))))
	var answer struct{ Choices []struct{ Text string } }
	if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || len(answer.Choices) != 1 {
		t.Fatalf("%s: %v", w.Body, err)
	}
	return answer.Choices[0].Text
}

// articles makes a data set whose truth is what the server says.
func articles(t *testing.T, s *tokenserver.Server, n int) string {
	t.Helper()
	var rows []map[string]any
	for i := range n {
		ids := []int{i, 2 * i % 64, 7}
		rows = append(rows, map[string]any{"tok_input": ids, "output": answerOf(t, s, ids, 128)})
	}
	text, err := json.Marshal(rows)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, content := range map[string][]byte{"cnn_eval.json": text, "tokenizer.json": tokentest.Tokenizer(t)} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// askedModel is a run of llama3.1-8b at a server of tokens.
func askedModel(t *testing.T, s loadgen.Scenario) Config {
	t.Helper()
	server := tokenserver.New(tokenserver.Options{Prefill: known, PerToken: known / 7, Tokens: 21})
	m, err := models.LookupAsked("llama3.1-8b")
	if err != nil {
		t.Fatal(err)
	}
	cfg := askingServer(t, server, s, nil)
	cfg.Model, cfg.DatasetDir = m.Remote(), articles(t, server, 24)
	cfg.Settings.PerformanceSampleCountOverride = 24
	return cfg
}

func TestACatalogueModelIsScoredAtAServer(t *testing.T) {
	t.Parallel()
	for _, s := range []loadgen.Scenario{loadgen.Offline, loadgen.Server} {
		synctest.Test(t, func(t *testing.T) {
			cfg := askedModel(t, s)
			cfg.Settings.Mode = loadgen.AccuracyOnly
			r, err := Run(t.Context(), cfg)
			if err != nil || r.Accuracy == nil || r.Accuracy.Metric != "rouge1" || r.Accuracy.Value != 100 || r.Accuracy.Samples != 24 {
				t.Fatalf("%v: %v, %+v", s, err, r)
			}
			if g := r.Generation; g.Tokens != 24*21 || g.Counted != "the token ids of the answers" || g.Tokenized != 0 {
				t.Errorf("%v: %+v", s, g)
			}
		})
	}
}

func TestACatalogueModelIsMeasuredAtAServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, err := Run(t.Context(), askedModel(t, loadgen.Server))
		if err != nil || r.Result != report.Valid || r.Performance.TimePerOutputTokenNS.P99 != 10e6 || r.Generation.Counted != "usage, as the server tells it" {
			t.Errorf("%v, %+v", err, r)
		}
	})
}
