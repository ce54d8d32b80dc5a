package compliance

import (
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/backend/openai/tokenserver"
	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/run"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

type quiet struct{}

func (quiet) Phase(string)             {}
func (quiet) Loading(int, int)         {}
func (quiet) Items(int, int)           {}
func (quiet) Traffic(loadgen.Progress) {}
func (quiet) Note(string)              {}

// The data set of TEST07 has other questions than that of performance, and fewer.
func TestGPTOSSIsAskedEachQuestionOfTEST07Once(t *testing.T) {
	testenv.SkipLong(t, "asks a server 990 times")
	t.Setenv("MLPERF_CACHE_DIR", t.TempDir())
	server := httptest.NewServer(tokenserver.New(tokenserver.Options{}))
	defer server.Close()
	var rows strings.Builder
	for i := range samples07 {
		fmt.Fprintf(&rows, `{"tok_input": [1006, %d, 7], "dataset": "gpqa", "ground_truth": "A"}`+"\n", 5+i%900)
	}
	data := filepath.Join(t.TempDir(), "gpqa.jsonl")
	if err := os.WriteFile(data, []byte(rows.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	for score, want := range map[string]bool{"60.698": true, "60.6": false} {
		q := Request{Test: Test07, Options: Options{Score: "grep -c qsl_idx {accuracy_log}; echo \"'exact_match': " + score + `"`}}
		q.Request = run.Request{
			Model: "gpt-oss-120b", Scenario: "offline", DatasetPath: data, Output: t.TempDir(), NoReport: true, Anyway: true,
			Engine:   run.Engine{Name: run.OpenAI, Remote: run.Remote{Endpoints: []string{server.URL}, Model: "tiny"}},
			Settings: []config.Override{{Key: "target_qps", Value: "10", Origin: "test"}},
		}
		v, err := Run(t.Context(), q, quiet{})
		if err != nil {
			t.Fatal(err)
		}
		if text := v.texts[accuracyFile]; v.Passed != want || !strings.HasPrefix(text, "990\n") {
			t.Errorf("a score of %s: passed = %v, want %v, with 990 answers; the text is\n%s", score, v.Passed, want, text)
		}
		for _, name := range []string{accuracyFile, "performance/run_1/mlperf_log_detail.txt", "accuracy/mlperf_log_accuracy.json"} {
			if _, err := os.Stat(filepath.Join(q.Output, Test07, name)); err != nil {
				t.Error(err)
			}
		}
	}
}
