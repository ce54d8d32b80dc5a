package run_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/config/limitation"
	"github.com/mlperf-go/mlperf/internal/harness"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/run"
	"github.com/mlperf-go/mlperf/internal/run/engine"
	"github.com/mlperf-go/mlperf/internal/serve/tokenserver"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// A talk records the requests of conversations, and fails some.
type talk struct {
	http.Handler
	fails func(session string, messages int) bool

	mu       sync.Mutex
	sessions []string
	fields   []string // of the last request, in order
	messages []int
}

func (s *talk) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	session := r.Header.Get("X-Session-ID")
	if session == "" {
		s.Handler.ServeHTTP(w, r)
		return
	}
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(strings.NewReader(string(body)))
	var request struct{ Messages []any }
	_ = json.Unmarshal(body, &request)
	s.mu.Lock()
	s.sessions, s.messages = append(s.sessions, session), append(s.messages, len(request.Messages))
	s.fields = nil
	d := json.NewDecoder(strings.NewReader(string(body)))
	_, _ = d.Token()
	for d.More() {
		name, _ := d.Token()
		var value json.RawMessage
		_ = d.Decode(&value)
		s.fields = append(s.fields, name.(string))
	}
	s.mu.Unlock()
	if s.fails(session, len(request.Messages)) {
		http.Error(w, "no", http.StatusInternalServerError)
		return
	}
	s.Handler.ServeHTTP(w, r)
}

// replay has the built-in conversations answered.
func replay(t *testing.T, right float64, fails func(session string, messages int) bool) (*talk, *report.Results, string) {
	t.Helper()
	s := &talk{Handler: tokenserver.New(tokenserver.Options{Tokens: 64, Right: right}), fails: fails}
	server, dir := httptest.NewServer(s), t.TempDir()
	defer server.Close()
	q := run.Request{
		Program: "mlperf test", Model: "qwen3.6-27b", Scenario: "singlestream", Output: filepath.Join(dir, "out"),
		Prompts: run.Prompts{Artifacts: filepath.Join(dir, "endpoints")},
		Engine:  engine.Config{Name: engine.OpenAI, Remote: engine.Remote{Endpoints: []string{server.URL}}},
		Settings: []config.Override{
			{Key: "target_latency", Value: "10", Origin: "test"}, {Key: "min_duration", Value: "1", Origin: "test"}, {Key: "min_query_count", Value: "64", Origin: "test"},
		},
	}
	r, err := run.Do(t.Context(), q, harness.Silent{})
	if err != nil && r == nil {
		t.Fatal(err)
	}
	return s, r, q.Output
}

// Turns follow each other in their order, each behind what was recorded, and the agreement of the answers with the recorded ones is the share
// that is right. The metric is the mean latency.
func TestRecordedConversations(t *testing.T) {
	t.Setenv("MLPERF_CACHE_DIR", t.TempDir())
	for _, right := range []float64{0, 1} {
		s, r, dir := replay(t, right, func(string, int) bool { return false })
		p := r.Generation.Replay
		if r.Result != report.Valid || r.Metric == nil || r.Metric.Name != report.MeanLatency || p == nil || p.Score != right || p.Missing != 0 || p.Issued != p.Compared || p.Issued < 64 {
			t.Fatalf("%v right: %s, %+v, %+v", right, r.Result, r.Metric, p)
		}
		if r.Metric.Value != float64(r.Performance.LatencyNS.Mean)/1e6 {
			t.Errorf("metric %v, mean %v", r.Metric.Value, r.Performance.LatencyNS.Mean)
		}
		traffic := s.sessions[len(s.sessions)-p.Issued:]
		if !slices.IsSorted(traffic[:slices.Index(traffic, "built-in-2")]) || traffic[0] != "built-in-0" {
			t.Errorf("conversations in the order %v", traffic)
		}
		if m := s.messages[len(s.messages)-p.Issued:]; m[0] != 2 || m[1] != 4 || m[2] != 6 {
			t.Errorf("messages of the first turns: %v", m[:3])
		}
		if got := strings.Join(s.fields, " "); got != "model messages temperature max_completion_tokens stream seed tools" {
			t.Errorf("fields %s", got)
		}
		var document struct {
			Score float64
			Turns map[string]int
		}
		if err := json.Unmarshal(testenv.Read(t, filepath.Join(dir, report.ReplayFile)), &document); err != nil || document.Score != right || document.Turns["issued"] != p.Issued {
			t.Errorf("%v, %+v", err, document)
		}
		events, turns := testenv.Read(t, filepath.Join(dir, "..", "endpoints", "events.jsonl")), []string{}
		for line := range strings.Lines(string(events)) {
			var e struct {
				Type string `json:"event_type"`
				ID   string `json:"conversation_id"`
				Turn int
			}
			if testenv.Must(t, json.Unmarshal([]byte(line), &e)); e.Type == "sample.issued" {
				turns = append(turns, fmt.Sprintf("%s %d", e.ID, e.Turn))
			}
		}
		if len(turns) != p.Issued || turns[0] != "built-in-0 1" || turns[1] != "built-in-0 3" || !slices.Contains(turns, "built-in-2 1") {
			t.Errorf("%d events of %v", len(turns), turns[:2])
		}
		if r.Files[report.ReplayFile] == "" {
			t.Error("the record has no sum of scores.json")
		}
	}
}

// A turn that fails ends its conversation: what follows is not sent, counts as missing, and the run is INVALID.
func TestBrokenConversations(t *testing.T) {
	t.Setenv("MLPERF_CACHE_DIR", t.TempDir())
	const broken, length = "built-in-1", 4 // not the first conversation, which the warm-up asks
	failed := false
	s, r, _ := replay(t, 1, func(session string, messages int) bool {
		fails := !failed && session == broken && messages == length
		failed = failed || fails
		return fails
	})
	p := r.Generation.Replay
	if r.Result != report.Invalid || p == nil || p.Missing < 1 || p.Score >= 1 || p.Score < 0.5 {
		t.Fatalf("%s, %+v", r.Result, p)
	}
	at := slices.Index(s.sessions, broken) + 1 // the second turn
	if s.messages[at] != length {
		t.Fatalf("%s has %d messages in its second turn, want %d", broken, s.messages[at], length)
	}
	for i, session := range s.sessions[at+1:] {
		if session == s.sessions[at] && s.messages[at+1+i] > s.messages[at] {
			t.Errorf("%s went on with %d messages after a failure at %d", session, s.messages[at+1+i], s.messages[at])
		}
		if session != s.sessions[at] {
			break
		}
	}
	if len(r.Generation.Failures) == 0 || r.Limitations.Has(limitation.Retried) {
		t.Errorf("%+v", r.Generation.Failures)
	}
}
