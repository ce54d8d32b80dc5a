package run_test

import (
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/run"
)

func TestARunSaysBeforeWhatItsResultWillBe(t *testing.T) {
	t.Chdir(t.TempDir())
	own := run.Request{Model: "resnet50", Scenario: "server", ModelPath: "my.onnx", DatasetPath: "imagenet", Settings: []config.Override{{Key: "target_qps", Value: "10"}}}
	for _, c := range []struct {
		name   string
		change func(*run.Request)
		want   string
	}{
		{"nothing speaks against it", func(*run.Request) {}, ""},
		{"built in", func(q *run.Request) { q.ModelPath, q.DatasetPath = "", "" }, "not be a result under the rules: built-in model and data"},
		{"quick", func(q *run.Request) { q.Quick = true }, "not be a result under the rules: quick run: "},
		{"a part of the data", func(q *run.Request) { q.Count = 3 }, "the first 3 samples"},
		{"a built-in model", func(q *run.Request) { q.ModelPath = "" }, "not be a result under the rules: built-in model"},
		{"built-in data", func(q *run.Request) { q.DatasetPath = "" }, "not be a result under the rules: built-in data"},
		{"the Network division here", func(q *run.Request) { q.Division = "network" }, "not of the Network division: the system under test is on this machine"},
		{"an accuracy run", func(q *run.Request) {
			q.Mode = "accuracy"
			q.Settings = append(q.Settings, config.Override{Key: "max_query_count", Value: "1"})
		}, ""},
		{"too few of one stream", func(q *run.Request) {
			q.Scenario = "single-stream"
			q.Settings = []config.Override{{Key: "max_query_count", Value: "60"}, {Key: "min_query_count", Value: "10"}}
		}, "cannot be VALID: at most 60 queries are issued, and early stopping needs 64"},
		{"simulated", func(q *run.Request) { q.Engine.Name = run.Simulated }, "the engine is simulated"},
		{"too few for early stopping", func(q *run.Request) {
			q.Settings = append(q.Settings, config.Override{Key: "max_query_count", Value: "300"}, config.Override{Key: "min_query_count", Value: "100"})
		}, "cannot be VALID: at most 300 queries are issued, and early stopping needs 459"},
		{"fewer than the least", func(q *run.Request) {
			q.Settings = append(q.Settings, config.Override{Key: "max_query_count", Value: "99"})
		}, "cannot be VALID: at most 99 queries are issued, and min_query_count is 100"},
		{"shorter than the least", func(q *run.Request) {
			q.Settings = append(q.Settings, config.Override{Key: "max_duration", Value: "5000"})
		}, "cannot be VALID: max_duration is 5s, and min_duration 10m0s"},
	} {
		q := own
		q.Settings = append([]config.Override(nil), own.Settings...)
		c.change(&q)
		r, err := run.Resolve(q)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got := r.Foretold(); (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
