package rescore_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/harness"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/run"
	"github.com/mlperf-go/mlperf/internal/run/engine"
	"github.com/mlperf-go/mlperf/internal/run/rescore"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// A run whose videos others score ends without an error and without a score; that of VBench's results is kept with it.
func TestVideosAreScoredByOthers(t *testing.T) {
	t.Setenv("MLPERF_CACHE_DIR", t.TempDir())
	video := []byte("\x00\x00\x00\x08ftyp")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/videos/generations" {
			http.NotFound(w, r)
			return
		}
		var q struct {
			Prompt string
			Format string `json:"response_format"`
		}
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil || q.Format != "video_bytes" {
			t.Errorf("%+v, %v: scored answers are asked for as bytes", q, err)
		}
		w.Header().Set("Content-Type", "application/json")
		text, err := json.Marshal(map[string]any{"video_id": q.Prompt, "video_bytes": append(bytes.Clone(video), q.Prompt...)})
		if err != nil {
			t.Error(err)
		}
		fmt.Fprintf(w, "%s", text)
	}))
	defer server.Close()
	dir := t.TempDir()
	testenv.Tree(t, dir, map[string]string{"data/vbench_prompts.txt": "a cat\na dog\na bird\n"})
	out := filepath.Join(dir, "out")
	r, err := run.Do(t.Context(), run.Request{
		Program: "mlperf test", Model: "wan-2.2-t2v-a14b", Scenario: "offline", Mode: "accuracy", Output: out, DatasetPath: filepath.Join(dir, "data"),
		Engine:   engine.Config{Name: engine.OpenAI, Remote: engine.Remote{Endpoints: []string{server.URL}}},
		Settings: []config.Override{{Key: "target_qps", Value: "200", Origin: "test"}},
	}, harness.Silent{})
	if err != nil || r.Result != report.Valid || !r.Unscored() || !testenv.Tells(r.NotScored, workload.ErrScoredElsewhere.Error()) || r.Generation.Videos != 3 || len(r.Limitations) != 4 {
		t.Fatalf("%+v, %v", r, err)
	}
	if got, err := os.ReadFile(filepath.Join(out, "videos", "1.mp4")); err != nil || string(got) != string(video)+"a dog" {
		t.Errorf("%q, %v", got, err)
	}
	results := map[string]any{}
	for i, name := range []string{"subject_consistency", "background_consistency", "motion_smoothness", "dynamic_degree", "appearance_style", "scene"} {
		results[name] = []any{0.25 * float64(i%3), []any{}}
	}
	text, err := json.Marshal(results)
	testenv.Must(t, err)
	testenv.Tree(t, dir, map[string]string{"results.json": string(text)})
	s := score(t, rescore.Request{Run: out, Options: map[string]string{"vbench-results": filepath.Join(dir, "results.json")}})
	if s.Value != 25 || s.Kept != filepath.Join(out, "accuracy.txt") || string(testenv.Read(t, s.Kept)) != "{'vbench_score': 25.0}\n" {
		t.Errorf("%+v, %q", s, testenv.Read(t, s.Kept))
	}
	if r, err := report.Read(out); err != nil || r.Accuracy == nil || r.Accuracy.Value != 25 || r.NotScored != "" || len(r.Accuracy.Warnings) != 1 {
		t.Errorf("%+v, %v", r.Accuracy, err)
	}
}
