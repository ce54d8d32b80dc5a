package run

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/userinput"
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
		"too many at once":          {func(q *Request) { q.Engine.Remote.Concurrency = 5000 }, "concurrency", "from 1 to 4096"},
		"too many":                  {func(q *Request) { q.Prompts.Synthetic = 1 << 30 }, "synthetic_prompts", "from 1 to"},
		"a negative time":           {func(q *Request) { q.Engine.Remote.Timeout = -1 }, "request_timeout", "a time"},
		"a way to stream":           {func(q *Request) { q.Prompts.Stream = "maybe" }, "stream", "auto, on or off"},
		"accuracy without truth":    {func(q *Request) { q.Mode = "accuracy" }, "mode", "no truth"},
		"a model file":              {func(q *Request) { q.ModelPath = "m.onnx" }, "model_path", "up to the servers"},
		"workers":                   {func(q *Request) { q.Instances = 2 }, "instances", "by itself"},
		"servers of another engine": {func(q *Request) { q.Engine.Name, q.Model = Simulated, "resnet50" }, "endpoint", "or openai"},
		"prompts of another engine": {func(q *Request) { q.Engine.Name, q.Model, q.Engine.Remote = "", "resnet50", Remote{} }, "synthetic_prompts", "want openai"},
		"a model without prompts":   {func(q *Request) { q.Model, q.Prompts = "resnet50", Prompts{} }, "model", "resnet50 takes no prompts"},
		"no model":                  {func(q *Request) { q.Model, q.Prompts = "resnet51", Prompts{} }, "model", "unknown model"},
		"a model without servers":   {func(q *Request) { q.Model, q.Prompts, q.Engine = "deepseek-r1", Prompts{}, Engine{} }, "model", "backend openai"},
		"whole answers":             {func(q *Request) { q.Model, q.Prompts = "llama3.1-8b", Prompts{Stream: "off"} }, "stream", "bounds on tokens"},
		"options of a file": {func(q *Request) {
			q.Model, q.Prompts, q.Options = "llama3.1-8b", Prompts{}, map[string]string{"context": "9"}
		}, "context", ""},
		"no such engine": {func(q *Request) { q.Engine.Name, q.Model = "vllm", "resnet50" }, "backend", "openai"},
	} {
		q := atServers()
		test.change(&q)
		_, err := Resolve(q)
		var f *userinput.Error
		if !errors.As(err, &f) || f.Field != test.field || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %s: %s", name, err, test.field, test.want)
		}
	}
}

// The limits are those of loadgen/mlperf.conf, the counts those of the checker.
func TestBenchmarksAtServersHaveTheRulesOfTheirRound(t *testing.T) {
	const ms = time.Millisecond
	for _, test := range []struct {
		model, scenario, rules string
		first, per             time.Duration
		samples                uint64 // in memory
	}{
		{"llama3.1-8b", "server", "v6.1", 2000 * ms, 100 * ms, 13368}, {"llama3.1-8b", "interactive", "v6.1", 500 * ms, 30 * ms, 13368},
		{"llama2-70b", "interactive", "v5.1", 450 * ms, 40 * ms, 24576}, {"mixtral-8x7b", "server", "v5.0", 2000 * ms, 200 * ms, 15000},
		{"llama3.1-405b", "server", "v6.0", 6000 * ms, 175 * ms, 8313}, {"llama3.1-405b", "interactive", "v5.1", 4500 * ms, 80 * ms, 8313},
		{"deepseek-r1", "server", "v5.1", 2000 * ms, 80 * ms, 4388}, {"deepseek-r1", "interactive", "v6.1", 1500 * ms, 15 * ms, 4388},
		{"gpt-oss-120b", "server", "v6.1", 3000 * ms, 80 * ms, 6396}, {"gpt-oss-120b", "interactive", "v6.0", 2000 * ms, 15 * ms, 6396},
	} {
		q := atServers()
		q.Model, q.Prompts, q.DatasetPath, q.Scenario, q.Rules = test.model, Prompts{}, t.TempDir(), test.scenario, test.rules
		r, err := Resolve(q)
		if err != nil {
			t.Fatal(err)
		}
		s := r.Settings
		if !s.UseTokenLatencies || s.ServerTTFTLatency != test.first || s.ServerTPOTLatency != test.per || s.PerformanceSampleCountOverride != test.samples || s.MinDuration != 10*time.Minute {
			t.Errorf("%s, %s, %s: TTFT %v, TPOT %v, %d samples, %v", test.model, test.scenario, test.rules, s.ServerTTFTLatency, s.ServerTPOTLatency, s.PerformanceSampleCountOverride, s.MinDuration)
		}
		if minima, ok := r.rules.Minima(r.model.Rules); !ok || minima.PerformanceSamples != test.samples {
			t.Errorf("%s: %+v, %v", test.model, minima, ok)
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

// The annotations of the environment are those of OpenImages only, and an option wins.
func TestAnnotationsOfTheEnvironmentAreOfOpenImages(t *testing.T) {
	for _, c := range []struct{ model, option, want string }{
		{"retinanet", "", "env.json"}, {"retinanet", "mine.json", "mine.json"}, {"ssd-mobilenet", "", ""},
	} {
		var given map[string]string
		if c.option != "" {
			given = map[string]string{"annotations": c.option}
		}
		s := &scoring{ScoreRequest: ScoreRequest{Model: c.model, Log: "log", DatasetPath: "data", Options: given, OpenImagesAnnotations: "env.json"}, out: &Scored{}}
		if err := s.fill(); err != nil {
			t.Fatal(err)
		}
		if got := s.Options["annotations"]; got != c.want || (len(s.out.Warnings) == 1) != (got == "env.json") || given["annotations"] != c.option {
			t.Errorf("%s with the option %q: %q, warnings %q", c.model, c.option, got, s.out.Warnings)
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
