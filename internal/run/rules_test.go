package run

import (
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/run/engine"
)

func TestJudge(t *testing.T) {
	for _, c := range []struct {
		name          string
		division      string
		quick         bool
		key, value    string
		caveats, note string // empty: none
	}{
		{"the rules", "", false, "", "", "", ""},
		{"a shorter run", "", false, "min_duration", "1s", "min_duration is 1s instead of the official 10m0s (flag --min_duration)", ""},
		{"a longer run", "", false, "min_duration", "20m", "", "harder than the rules"},
		{"a looser bound", "", false, "target_latency", "1s", "the latency bound is 1s instead of the official 15ms", ""},
		{"a looser bound in the open division", "open", false, "target_latency", "1s", "", "open division: the latency bound is 1s"},
		{"a shorter run in the open division", "open", false, "min_duration", "1s", "min_duration is 1s", ""},
		{"a quick run", "", true, "", "", "quick run: ", ""},
	} {
		q := here()
		if q.Scenario, q.Division, q.Quick = "server", c.division, c.quick; c.key != "" {
			q.Settings = []config.Override{set(c.key, c.value)}
		}
		r := resolved(t, q)
		caveats, notes := r.judge(r.Settings, r.Origin)
		for want, list := range map[string][]string{c.caveats: caveats, c.note: notes} {
			if (want == "") != (len(list) == 0) || len(list) > 1 || want != "" && !strings.Contains(list[0], want) {
				t.Errorf("%s: caveats %q, notes %q", c.name, caveats, notes)
			}
		}
	}
}

func TestJudgeData(t *testing.T) {
	const few, part = "4 samples are in memory at once instead of the official 1024", "the data set has 4 samples instead of the official 50000"
	for _, c := range []struct {
		model, mode, rules string
		loaded, all        int
		copies             int // of as many samples as there are
		want               string
	}{
		{"resnet50", "submission", "", 1024, 50000, 0, ""},
		{"resnet50", "", "", 4, 4, 0, few},
		{"resnet50", "", "", 4, 50000, 0, few},
		{"resnet50", "", "", 1024, 2000, 0, ""},
		{"resnet50", "accuracy", "", 4, 4, 0, part},
		{"resnet50", "submission", "", 4, 4, 0, few + "; " + part},
		{"resnet50", "accuracy", "v4.1", 4, 4, 0, part}, // the checker of the round asks for no number of samples
		{"mobilenet", "accuracy", "v0.5", 8, 8, 0, "the data set has 8 samples instead of the official 50000"},
		{"mobilenet", "", "", 4, 4, 0, few}, // the round does not have the model
		{"3d-unet", "accuracy", "v2.0", 42, 42, 0, ""},
		{"3d-unet", "accuracy", "v5.1", 42, 42, 0, "the data set has 42 samples instead of the official 43"},
		{"ssd-mobilenet", "accuracy", "v0.5", 256, 4952, 0, ""},
		{"ssd-mobilenet", "accuracy", "v0.5", 256, 5000, 0, ""},
		{"resnet50", "accuracy", "", 1024, 50000, 49999, "49999 of 50000 samples are copies of others by their content"},
		{"resnet50", "", "", 1024, 50000, 3000, "3000 of 50000 samples are copies of others by their content"},
		{"resnet50", "accuracy", "", 1024, 50000, 60, ""}, // as the official images
		{"3d-unet", "accuracy", "v5.1", 43, 43, 1, ""},    // case_00400
	} {
		q := here()
		q.Model, q.Mode, q.Rules = c.model, c.mode, c.rules
		if got := strings.Join(resolved(t, q).judgeData(c.loaded, c.all, c.all, c.all-c.copies), "; "); got != c.want {
			t.Errorf("%+v: caveats %q", c, got)
		}
	}
}

func TestBenchmarkOutsideTheRound(t *testing.T) {
	for _, c := range []struct{ model, rules, scenario, want string }{
		{"resnet50", "v0.5", "offline", ""}, {"mobilenet", "v0.5", "multistream", ""}, {"gnmt", "v0.5", "server", ""},
		{"resnet50", "v6.1", "offline", ""}, {"bert-99.9", "v6.1", "offline", ""}, {"llama2-70b-99.9", "v6.1", "interactive", ""}, {"llama3.1-8b-edge", "v6.1", "offline", ""},
		{"mobilenet", "v6.1", "offline", "rules v6.1 have no benchmark mobilenet"}, {"retinanet", "v6.1", "server", "rules v6.1 have no benchmark retinanet"},
		{"llama2-70b", "v0.5", "offline", "rules v0.5 have no benchmark llama2-70b"},
		{"llama2-70b", "v6.1", "interactive", "rules v6.1 have no benchmark llama2-70b but llama2-70b-99.9:"},
		{"3d-unet", "v6.1", "server", "rules v6.1 have no Server of 3d-unet"}, {"bert", "v6.1", "multistream", "rules v6.1 have no MultiStream of bert"},
		{"resnet50", "v6.1", "server", ""}, {"bert", "v4.1", "server", ""}, {"rnnt", "v0.7", "multistream", "rules v0.7 have no MultiStream of rnnt"},
		{"resnet50", "v1.1", "multistream", "rules v1.1 have no MultiStream of resnet50"}, {"resnet50", "v1.1", "singlestream", ""}, {"resnet50", "v1.0", "multistream", ""},
	} {
		got := strings.Join(resolved(t, Request{Model: c.model, Rules: c.rules, Scenario: c.scenario}).caveats(), "; ")
		if (c.want == "") != (got == "") || !strings.HasPrefix(got, c.want) {
			t.Errorf("%+v: caveats %q", c, got)
		}
	}
}

// inference_policies of the rounds before v1.0: the lowest of five Server runs.
func TestServerRuns(t *testing.T) {
	for _, c := range []struct {
		scenario, rules, mode string
		quick                 bool
		runs                  int
		caveat                bool
	}{
		{"server", "v0.5", "", false, 5, false}, {"server", "v0.5", "", true, 1, true}, {"server", "v0.5", FindPeak, false, 5, true}, {"server", "v0.5", FindPeak, true, 5, true},
		{"server", "v0.5", "submission", false, 1, true}, {"server", "v0.5", "accuracy", false, 1, false}, {"offline", "v0.5", "", false, 1, false},
		{"server", "v1.0", "", false, 1, false}, {"server", "", "", false, 1, false},
	} {
		q := here()
		q.Scenario, q.Rules, q.Mode, q.Quick = c.scenario, c.rules, c.mode, c.quick
		r := resolved(t, q)
		if got := strings.Contains(strings.Join(r.caveats(), "\n"), "one Server run"); r.runs() != c.runs || got != c.caveat {
			t.Errorf("%+v: %d runs, caveats %q", c, r.runs(), r.caveats())
		}
	}
}

func TestForecast(t *testing.T) {
	limits := func(list ...config.Override) func(*Request) {
		return func(q *Request) { q.Settings = append(q.Settings, list...) }
	}
	for _, c := range []struct {
		name string
		edit func(*Request)
		want string
	}{
		{"rule-compliant", func(*Request) {}, ""},
		{"built in", func(q *Request) { q.ModelPath, q.DatasetPath = "", "" }, "not rule-compliant: built-in model and data"},
		{"a built-in model", func(q *Request) { q.ModelPath = "" }, "not rule-compliant: built-in model"},
		{"built-in data", func(q *Request) { q.DatasetPath = "" }, "not rule-compliant: built-in data"},
		{"quick", func(q *Request) { q.Quick = true }, ""},
		{"a part of the data", func(q *Request) { q.Count = 3 }, "the first 3 samples"},
		{"simulated", func(q *Request) { q.Engine.Name = engine.Simulated }, "the engine is simulated"},
		{"the Network division here", func(q *Request) { q.Division = "network" }, "not of the Network division: the system under test is on this machine"},
		{"accuracy", func(q *Request) { q.Mode = "accuracy"; limits(set("max_query_count", "1"))(q) }, ""},
		{"too few queries for early stopping", limits(set("max_query_count", "300"), set("min_query_count", "100")), "cannot be VALID: at most 300 queries are issued, and early stopping needs 459"},
		{"and of SingleStream", func(q *Request) {
			q.Scenario, q.Settings = "single-stream", []config.Override{set("max_query_count", "60"), set("min_query_count", "10")}
		}, "cannot be VALID: at most 60 queries are issued, and early stopping needs 64"},
		{"fewer queries than the least", limits(set("max_query_count", "99")), "cannot be VALID: at most 99 queries are issued, and min_query_count is 100"},
		{"shorter than the least", limits(set("max_duration", "5000")), "cannot be VALID: max_duration is 5s, and min_duration 10m0s"},
	} {
		q := Request{Model: "resnet50", Scenario: "server", ModelPath: "my.onnx", DatasetPath: "imagenet", Settings: []config.Override{set("target_qps", "10")}}
		c.edit(&q)
		if got := resolved(t, q).Forecast(); (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
