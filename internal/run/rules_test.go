package run

import (
	"cmp"
	"fmt"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/config/limitation"
	"github.com/mlperf-go/mlperf/internal/run/engine"
)

func TestJudge(t *testing.T) {
	for _, c := range []struct {
		name, division string
		quick          bool
		key, value     string
		limited        string // keys and values of settings; empty: none
		role           limitation.Role
		note           string // empty: none
	}{
		{"the rules", "", false, "", "", "", "", ""},
		{"a shorter run", "", false, "min_duration", "1s", "min_duration 1s 10m0s", limitation.Flag, ""},
		{"a longer run", "", false, "min_duration", "20m", "", "", "harder than the rules"},
		{"a looser bound", "", false, "target_latency", "1s", "target_latency 1s 15ms", limitation.Flag, ""},
		{"a looser bound in the open division", "open", false, "target_latency", "1s", "", "", "open division: the latency bound is 1 s"},
		{"a shorter run in the open division", "open", false, "min_duration", "1s", "min_duration 1s 10m0s", limitation.Flag, ""},
		{"a quick run", "", true, "", "", "target_latency_percentile 90 % 99 %, min_duration 10s 10m0s", limitation.QuickRun, ""},
	} {
		q := here()
		if q.Scenario, q.Division, q.Quick = "server", c.division, c.quick; c.key != "" {
			q.Settings = []config.Override{set(c.key, c.value)}
		}
		r := resolved(t, q)
		limitations, notes := r.judge(r.Settings, r.made())
		var settings []string
		for _, l := range limitations {
			if settings = append(settings, l.Key+" "+l.Value+" "+l.Want); l.ID != limitation.Setting || l.Role != c.role {
				t.Errorf("%s: %+v, want a setting by %s", c.name, l, c.role)
			}
		}
		if got := strings.Join(settings, ", "); got != c.limited || (c.note == "") != (len(notes) == 0) || !strings.Contains(strings.Join(notes, "\n"), c.note) {
			t.Errorf("%s: %q, notes %q, want %q, %q", c.name, got, notes, c.limited, c.note)
		}
	}
}

func TestJudgeData(t *testing.T) {
	const few, part = "samples_in_memory 4 1024", "dataset_size 4 50000"
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
		{"mobilenet", "accuracy", "v0.5", 8, 8, 0, "dataset_size 8 50000"},
		{"mobilenet", "", "", 4, 4, 0, few}, // the round does not have the model
		{"3d-unet", "accuracy", "v2.0", 42, 42, 0, ""},
		{"3d-unet", "accuracy", "v5.1", 42, 42, 0, "dataset_size 42 43"},
		{"ssd-mobilenet", "accuracy", "v0.5", 256, 4952, 0, ""},
		{"ssd-mobilenet", "accuracy", "v0.5", 256, 5000, 0, ""},
		{"resnet50", "accuracy", "", 1024, 50000, 49999, "copies 49999 50000"},
		{"resnet50", "", "", 1024, 50000, 3000, "copies 3000 50000"},
		{"resnet50", "accuracy", "", 1024, 50000, 60, ""}, // as the official images
		{"3d-unet", "accuracy", "v5.1", 43, 43, 1, ""},    // case_00400
	} {
		q := here()
		q.Model, q.Mode, q.Rules = c.model, c.mode, c.rules
		var list []string
		for _, l := range resolved(t, q).judgeData(c.loaded, c.all, c.all, c.all-c.copies) {
			list = append(list, fmt.Sprintf("%s %s %s", l.ID, l.Value, cmp.Or(l.Want, l.Of)))
		}
		if got := strings.Join(list, "; "); got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
}

func TestBenchmarkOutsideTheRound(t *testing.T) {
	for _, c := range []struct{ model, rules, scenario, want string }{
		{"resnet50", "v0.5", "offline", ""}, {"mobilenet", "v0.5", "multistream", ""}, {"gnmt", "v0.5", "server", ""},
		{"resnet50", "v6.1", "offline", ""}, {"bert-99.9", "v6.1", "offline", ""}, {"llama2-70b-99.9", "v6.1", "interactive", ""}, {"llama3.1-8b-edge", "v6.1", "offline", ""},
		{"mobilenet", "v6.1", "offline", "no_benchmark mobilenet rules v6.1"}, {"retinanet", "v6.1", "server", "no_benchmark retinanet rules v6.1"},
		{"llama2-70b", "v0.5", "offline", "no_benchmark llama2-70b rules v0.5"},
		{"llama2-70b", "v6.1", "interactive", "no_benchmark llama2-70b llama2-70b-99.9 rules v6.1"},
		{"3d-unet", "v6.1", "server", "no_scenario 3d-unet Server rules v6.1"}, {"bert", "v6.1", "multistream", "no_scenario bert MultiStream rules v6.1"},
		{"3d-unet-brats19", "v6.1", "offline", "no_benchmark 3d-unet-brats19 rules v6.1"}, {"3d-unet", "v0.7", "offline", ""}, {"3d-unet-kits19", "v0.7", "offline", "no_benchmark 3d-unet rules v0.7"},
		{"resnet50", "v6.1", "server", ""}, {"bert", "v4.1", "server", ""}, {"rnnt", "v0.7", "multistream", "no_scenario rnnt MultiStream rules v0.7"},
		{"resnet50", "v1.1", "multistream", "no_scenario resnet50 MultiStream rules v1.1"}, {"resnet50", "v1.1", "singlestream", ""}, {"resnet50", "v1.0", "multistream", ""},
	} {
		got := ""
		if list := resolved(t, Request{Model: c.model, Rules: c.rules, Scenario: c.scenario}).limitations(); len(list) > 0 {
			l := list[0]
			got = strings.Join(strings.Fields(strings.Join([]string{string(l.ID), l.Key, l.Value, l.Want, l.Origin}, " ")), " ")
		}
		if got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
}

// inference_policies of the rounds before v1.0: the lowest of five Server runs.
func TestServerRuns(t *testing.T) {
	for _, c := range []struct {
		scenario, rules, mode string
		quick                 bool
		runs                  int
		limited               bool
	}{
		{"server", "v0.5", "", false, 5, false}, {"server", "v0.5", "", true, 1, true}, {"server", "v0.5", FindPeak, false, 5, true}, {"server", "v0.5", FindPeak, true, 5, true},
		{"server", "v0.5", "submission", false, 1, true}, {"server", "v0.5", "accuracy", false, 1, false}, {"offline", "v0.5", "", false, 1, false},
		{"server", "v1.0", "", false, 1, false}, {"server", "", "", false, 1, false},
	} {
		q := here()
		q.Scenario, q.Rules, q.Mode, q.Quick = c.scenario, c.rules, c.mode, c.quick
		r := resolved(t, q)
		if list := r.limitations(); r.runs() != c.runs || list.Has(limitation.OneServerRun) != c.limited {
			t.Errorf("%+v: %d runs, limitations %v", c, r.runs(), list)
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
