package session

import (
	"errors"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/field"
	"github.com/mlperf-go/mlperf/internal/loadgen"
)

// atServers is a request that can be run.
func atServers() Request {
	return Request{Scenario: "server", Engine: Engine{Name: OpenAI, Remote: Remote{Endpoints: []string{"http://host"}, Model: "org/m"}}, Prompts: Prompts{Synthetic: 5}}
}

func TestWhatIsSaidAboutServersHasToFit(t *testing.T) {
	for name, test := range map[string]struct {
		change      func(*Request)
		field, want string
	}{
		"no address":                {func(q *Request) { q.Engine.Remote.Endpoints = nil }, "endpoint", "http://host:8000"},
		"no prompts":                {func(q *Request) { q.Prompts.Synthetic = 0 }, "dataset_path", "a file of prompts"},
		"two kinds of prompts":      {func(q *Request) { q.DatasetPath = "x" }, "synthetic_prompts", "one of the two"},
		"words of a file":           {func(q *Request) { q.Prompts = Prompts{Words: 5}; q.DatasetPath = "x" }, "prompt_words", "synthetic_prompts"},
		"a negative number":         {func(q *Request) { q.Engine.Remote.Retry = -1 }, "retry", "from 0 to 100"},
		"too many":                  {func(q *Request) { q.Prompts.Synthetic = 1 << 30 }, "synthetic_prompts", "from 1 to"},
		"a negative time":           {func(q *Request) { q.Engine.Remote.Timeout = -1 }, "request_timeout", "a time"},
		"a way to stream":           {func(q *Request) { q.Prompts.Stream = "maybe" }, "stream", "auto, on or off"},
		"accuracy without truth":    {func(q *Request) { q.Mode = "accuracy" }, "mode", "no truth"},
		"a model file":              {func(q *Request) { q.ModelPath = "m.onnx" }, "model_path", "up to the servers"},
		"workers":                   {func(q *Request) { q.Instances = 2 }, "instances", "by itself"},
		"servers of another engine": {func(q *Request) { q.Engine.Name, q.Model = Simulated, "resnet50" }, "endpoint", "or openai"},
		"prompts of another engine": {func(q *Request) { q.Engine.Name, q.Model, q.Engine.Remote = "", "resnet50", Remote{} }, "synthetic_prompts", "want openai"},
		"no such engine":            {func(q *Request) { q.Engine.Name, q.Model = "vllm", "resnet50" }, "backend", "openai"},
	} {
		q := atServers()
		test.change(&q)
		_, err := Resolve(q)
		var f *field.Error
		if !errors.As(err, &f) || f.Field != test.field || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %s: %s", name, err, test.field, test.want)
		}
	}
}

func TestPromptsWithoutABenchmarkHaveBoundsOfTheirOwn(t *testing.T) {
	for scenario, first := range map[string]string{"server": "2s", "interactive": "450ms"} {
		q := atServers()
		q.Scenario = scenario
		r, err := Resolve(q)
		if err != nil {
			t.Fatal(err)
		}
		if s := r.Settings; s.Scenario != loadgen.Server || !s.UseTokenLatencies || s.ServerTTFTLatency.String() != first || s.MinQueryCount != 662 {
			t.Errorf("%s: %+v", scenario, s)
		}
		if caveats, _ := r.judge(r.Settings, r.resolved.Origin); len(caveats) != 0 || len(r.caveats()) != 2 {
			t.Errorf("%s: caveats %q, %q", scenario, caveats, r.caveats())
		}
		if r.model.Name != "org_m" || !strings.Contains(r.Request.Output, "org_m") {
			t.Errorf("the model is called %s, its results are in %s", r.model.Name, r.Request.Output)
		}
	}
}

func TestOnlyOfflineHasALimitOfItsOwn(t *testing.T) {
	for scenario, want := range map[string]struct {
		limit  int // at most; 0: that of the system
		stream bool
	}{"offline": {256, false}, "server": {0, true}, "single-stream": {0, true}} {
		q := atServers()
		q.Scenario = scenario
		r, err := Resolve(q)
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Request.Engine.Remote.Concurrency; want.limit != 0 && got != want.limit || want.limit == 0 && got != 0 && got < 512 || r.Request.streams(r.Settings.Scenario) != want.stream {
			t.Errorf("%s: at most %d at once", scenario, got)
		}
	}
}
