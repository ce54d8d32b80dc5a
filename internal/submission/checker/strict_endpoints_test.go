package checker

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/config/rounds"
)

// endpointRules are those by which the profile strict judges a result without LoadGen.
var endpointRules = []string{"perf-errors", "perf-validity", "perf-min-query-count", "acc-value", "acc-errors", "acc-missing", "acc-number", "acc-target"}

// closedServed leaves in closed the results of one model without LoadGen: whole and good but for a change to the first of its
// scenarios.
func closedServed(model string, change func(s *served)) func(e *edit) {
	benchmarks := map[string]struct {
		scenarios string
		queries   int
		sets      func() []any
	}{
		"qwen3-vl-235b-a22b": {"Offline Server", 48289, func() []any { return []any{set("accuracy", 48289, 0.79)} }},
		"qwen3.6-27b":        {"SingleStream", 1007, func() []any { return []any{set("accuracy", 995, 0.8623), set("performance", 1007, 0.6335)} }},
		"wan-2.2-t2v-a14b":   {"SingleStream Offline", 50, func() []any { return []any{set("accuracy", 248, 0.7049)} }},
		"gpt-oss-120b": {"Offline Server", 6396, func() []any {
			return []any{set("accuracy", 240, 0.83), set("accuracy", 990, 0.77), set("accuracy", 3165, 0.84)}
		}},
		"deepseek-r1": {"Offline Server", 4388, func() []any { return []any{set("accuracy", 4388, 81.5)} }},
		"llama3.1-8b": {"Offline Server", 13368, func() []any {
			return []any{set("accuracy", 13368, object{"rouge1": 38.7, "rouge2": 15.9, "rougeL": 24.4, "rougeLsum": 35.7, "gen_len": 8167644})}
		}},
	}
	return func(e *edit) {
		b := benchmarks[model]
		if model != "qwen3.6-27b" {
			e.system("system_type", `"datacenter"`)
		}
		for i, scenario := range strings.Fields(b.scenarios) {
			kind := "online"
			if scenario == "Offline" {
				kind = "offline"
			}
			serve(e, home+"/results/board1/"+model, scenario, kind, func(s *served) {
				if model == "wan-2.2-t2v-a14b" {
					wan(s)
				}
				if model == "gpt-oss-120b" {
					gpt(1200.5)(s)
				}
				s.summary["state"], s.summary["complete"] = "complete", true
				s.summary["n_samples_issued"], s.summary["n_samples_completed"] = b.queries, b.queries
				s.results["accuracy_scores"] = b.sets()
				if i == 0 {
					change(s)
				}
			})
		}
		e.remove(home + "/results/board1/resnet50")
	}
}

func set(kind string, samples int, score any) object {
	return object{
		"dataset_type": kind, "total_samples": samples, "score": score, "complete": true,
		"response_counts": object{"issued": samples, "scored": samples, "empty": 0, "missing": 0},
	}
}

func TestStrictEndpoints(t *testing.T) {
	t.Parallel()
	base := extract(t, "v6.1")
	const q3vl, edge, video, oss, r1, llama = "qwen3-vl-235b-a22b", "qwen3.6-27b", "wan-2.2-t2v-a14b", "gpt-oss-120b", "deepseek-r1", "llama3.1-8b"
	scored := func(v any) func(s *served) { return func(s *served) { s.score(0)["score"] = v } }
	for name, c := range map[string]struct {
		model  string
		change func(s *served)
		rule   string // "": strict finds nothing
	}{
		"a good one of images":     {q3vl, func(*served) {}, ""},
		"a good one of calls":      {edge, func(*served) {}, ""},
		"a good one of videos":     {video, func(*served) {}, ""},
		"a good one of three sets": {oss, func(*served) {}, ""},
		"a good one in percent":    {r1, func(*served) {}, ""},
		"a good one by names":      {llama, func(*served) {}, ""},
		"calls at the target":      {edge, scored(0.853677), ""},
		"calls below the target":   {edge, scored(0.853676), "acc-target"},
		"few right calls":          {edge, scored(0.1), "acc-target"},
		"poor videos":              {video, scored(0.01), "acc-target"},
		"videos in percent":        {video, scored(70.49), "acc-value"},
		"F1 in percent":            {q3vl, scored(79.01), "acc-value"},
		"F1 in percent by name":    {q3vl, scored(object{"f1": "79.01"}), "acc-value"},
		"one poor set of three":    {oss, func(s *served) { s.score(2)["score"] = 0.5 }, "acc-target"},
		"a poor set that counts no samples": {oss, func(s *served) {
			s.score(1)["score"] = 0.1
			s.score(1)["total_samples"] = 0
			s.score(2)["total_samples"] = 4155
		}, "acc-target"},
		"a set without a score":     {oss, func(s *served) { s.score(1)["score"] = nil }, "acc-number"},
		"percent below the target":  {r1, scored(80.5), "acc-target"},
		"a fraction for percent":    {r1, scored(0.815), "acc-target"},
		"one name below its target": {llama, scored(object{"rouge1": 38.7, "rouge2": 15.9, "rougeL": 24.4, "rougeLsum": 3}), "acc-target"},
		"a name that is missing":    {llama, scored(object{"rouge1": 38.7, "rouge2": 15.9, "rougeL": 24.4}), "acc-number"},
		"a score below 0":           {video, scored(-0.5), "acc-value"},
		"a score in words":          {edge, scored("good"), "acc-number"},
		"the inline score first": {edge, func(s *served) {
			slices.Reverse(s.results["accuracy_scores"].([]any))
		}, "acc-value"},
		"a good inline score first": {edge, func(s *served) {
			s.results["accuracy_scores"] = []any{set("performance", 1007, 0.9), set("accuracy", 995, 0.1)}
		}, "acc-target"},
		"accuracy that is not complete": {edge, func(s *served) { s.score(0)["complete"] = false }, "acc-errors"},
		"answers that are missing":      {edge, func(s *served) { s.score(0)["response_counts"].(object)["missing"] = 3 }, "acc-errors"},
		"failed queries":                {q3vl, func(s *served) { s.summary["n_samples_failed"], s.summary["n_samples_completed"] = 5, 48284 }, "perf-errors"},
		"queries without an answer":     {q3vl, func(s *served) { s.summary["n_samples_completed"] = 48284 }, "perf-errors"},
		"interrupted":                   {q3vl, func(s *served) { s.summary["state"] = "interrupted" }, "perf-validity"},
		"not complete":                  {q3vl, func(s *served) { s.summary["complete"] = false }, "perf-validity"},
		"20 videos":                     {video, func(s *served) { s.summary["n_samples_issued"], s.summary["n_samples_completed"] = 20, 20 }, "perf-min-query-count"},
		"49 videos":                     {video, func(s *served) { s.summary["n_samples_issued"], s.summary["n_samples_completed"] = 49, 49 }, "perf-min-query-count"},
		"a part of the images": {q3vl, func(s *served) {
			s.summary["n_samples_issued"], s.summary["n_samples_completed"] = 48288, 48288
		}, "perf-min-query-count"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := &edit{t, t.TempDir()}
			e.link(base)
			closedServed(c.model, c.change)(e)
			if r := check(t, e.root, Reference); !r.Passes {
				t.Errorf("reference: %s", findingsOf(r))
			}
			got := rulesOf(check(t, e.root, Strict))
			if c.rule != "" && !slices.Contains(got, c.rule) {
				t.Errorf("strict: rules %v, want %s", got, c.rule)
			}
			if c.rule == "" && slices.ContainsFunc(got, func(rule string) bool { return slices.Contains(endpointRules, rule) }) {
				t.Errorf("strict: rules %v, want none of %v", got, endpointRules)
			}
		})
	}
}

func TestStrictTarget(t *testing.T) {
	t.Parallel()
	base := extract(t, "v6.1")
	graph := func(text string) func(e *edit) {
		return func(e *edit) {
			language(e, "rgat", "788379", text)
			e.remove(home + "/results/board1/rgat/Server")
			log := perf(home + "/results/board1/rgat/Offline")
			e.set(log, "effective_samples_per_query", "788379")
		}
	}
	normalised := func(ne string) func(e *edit) {
		return func(e *edit) {
			recommender(e)
			for _, s := range []string{"Server", "Offline"} {
				e.sub(home+"/results/board1/dlrm-v3/"+s+"/accuracy/accuracy.txt", "lifetime_ne/rating: 0.87", "lifetime_ne/rating: "+ne)
			}
		}
	}
	for name, c := range map[string]struct {
		make func(e *edit)
		rule string // of a finding about accuracy.txt; "": none
	}{
		"NE of the reference":     {normalised("0.86687"), ""},
		"NE at the target":        {normalised("0.867737"), ""},
		"NE above the target":     {normalised("0.867739"), "acc-target"},
		"NE of a model of no use": {normalised("1.3"), "acc-target"},
		"DLRM_ACC in percent": {func(e *edit) {
			normalised("0.86687")(e)
			e.sub(home+"/results/board1/dlrm-v3/Offline/accuracy/accuracy.txt", "rating: 0.7\n", "rating: 70\n")
		}, "acc-value"},
		"a graph at the target":    {graph("accuracy=72.132%"), ""},
		"a graph below the target": {graph("accuracy=72.131%"), "acc-target"},
		"a graph of one percent":   {graph("accuracy=1.000%"), "acc-target"},
		"a graph of less than one": {graph("accuracy=0.729%"), "acc-target"},
		"a graph of more than all": {graph("accuracy=101.0%"), "acc-value"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := &edit{t, t.TempDir()}
			e.link(base)
			c.make(e)
			if r := check(t, e.root, Reference); len(accuracyFindings(r)) > 0 {
				t.Errorf("reference: %s", findingsOf(r))
			}
			got := accuracyFindings(check(t, e.root, Strict))
			if c.rule == "" && len(got) > 0 || c.rule != "" && !slices.Contains(got, c.rule) {
				t.Errorf("strict: rules %v, want %q", got, c.rule)
			}
		})
	}
}

func TestStrictTargetSays(t *testing.T) {
	for _, c := range []struct {
		metric, model, text string
		want                string // level and part of the message; "": nothing
	}{
		{"mAP", "pointpainting", "54.25", ""},
		{"mAP", "pointpainting", "54.19", "error: mAP is in percent and below its target"},
		{"mAP", "pointpainting", "0.5425", "error: mAP is in percent and below its target"},
		{"DLRM_NE", "dlrm-v3", "0.8", "note: DLRM_NE keeps the rules, in which lower is better"},
		{"DLRM_NE", "dlrm-v3", "0.9", "error: DLRM_NE is above its target; lower is better"},
		{"DICE", "3d-unet-99", "86.17", "error: DICE is above 1: percent in place of a fraction"},
		{"mAP", "retinanet", "37.5", ""},
	} {
		round, err := rounds.Find("v6.0")
		if err != nil {
			t.Fatal(err)
		}
		v, err := strconv.ParseFloat(c.text, 64)
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(round.Model(c.model).Accuracy[""], func(m rounds.Metric) bool { return m.Name == c.metric })
		r := &resultCheck{}
		r.strictTarget("accuracy.txt", 1, round.Model(c.model).Accuracy[""][i], c.text, v)
		got := ""
		for _, f := range r.found {
			got += string(f.Level) + ": " + f.Message
		}
		if (got == "") != (c.want == "") || !strings.HasPrefix(got, c.want) {
			t.Errorf("%s %s: %q, want %q", c.model, c.text, got, c.want)
		}
	}
}

// accuracyFindings lists the rules that a value of accuracy.txt breaks.
func accuracyFindings(r *Report) (names []string) {
	for _, name := range rulesOf(r) {
		if name == "acc-target" || name == "acc-value" {
			names = append(names, name)
		}
	}
	return names
}
