package checker

import (
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/config/rounds"
	"github.com/mlperf-go/mlperf/internal/submission/python"
)

func TestValuesAreFoundAtPathsWithPoints(t *testing.T) {
	v := decoded(t, `{"a": {"b": {"c": 1}, "b.c": 2, "0": 0, "no": [], "none": {}, "false": false}, "a.b": {"d": 3}, "n": 5, "p": {"99.00": 7, "50": 8}}`)
	for path, want := range map[string]string{
		"a.b.c": "None", // a.b has the most of its name, and it has no c
		"a.b.d": "3", "a.b": "{'d': 3}", "n": "5", "n.0": "5", "n.1": "None", "n.0.0": "None", "a.0": "0", "a.false": "False",
		"a.no": "None", "a.none": "None", "p.99.00": "7", "p.50.0": "8", "p.50": "8", "p.9": "None", "": "None", "x": "None", "x.y": "None", ".": "None",
	} {
		if got := python.Str(nested(v, path)); got != want {
			t.Errorf("%q is %s, want %s", path, got, want)
		}
	}
	if got := nested(decoded(t, "[1]"), "0"); got != nil {
		t.Errorf("a list has %v", got)
	}
}

func TestScenariosOfEndpoints(t *testing.T) {
	for _, c := range []struct {
		kind         python.Value
		folder, want string
	}{
		{"online", "Server", "Server"}, {"Online", "server", "Server"}, {"offline", "Offline", "offline"}, {"interactive", "Server", "Interactive"},
		{"online", "interactive", "Interactive"}, {"online", "SingleStream", "SingleStream"}, {nil, "singlestream", "SingleStream"}, {nil, "Server", ""},
		{int64(5), "Server", ""}, {int64(5), "Interactive", "Interactive"}, {"burst", "Offline", "burst"},
	} {
		if got := endpointsScenario(c.kind, c.folder); got != c.want {
			t.Errorf("%v in %s is %q, want %q", c.kind, c.folder, got, c.want)
		}
	}
}

func TestScoresOfEndpointsAreNumbersOrHaveOne(t *testing.T) {
	metrics := []rounds.Metric{{Name: "F1_HIERARCHICAL", Bound: 1}}
	for text, want := range map[string]string{
		`0.79`: "0.79", `"0.79"`: "0.79", `true`: "1", `{"F1_HIERARCHICAL": 0.5, "f1": 1}`: "0.5", `{"f1_hierarchical": 0.6}`: "0.6", `{"hierarchical": 0.7}`: "0.7",
		`{"f1": "0.8"}`: "0.8", `{"score": 2, "accuracy": 3}`: "2", `{"f1": "high", "accuracy": 3}`: "3", `{"F1": 1}`: "the score is not a number",
		`"high"`: `"high" is not a number`, `[1]`: "[1] is not a number", `null`: "None is not a number", `{}`: "the score is not a number",
	} {
		score, err := scoreOf(decoded(t, text), metrics)
		got := python.Str(score)
		if err != nil {
			got = err.Error()
		}
		if strings.TrimSuffix(got, ".0") != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

func TestSamplesOfAllDataSetsForAccuracyAreAdded(t *testing.T) {
	const set = `{"dataset_type": "accuracy", "total_samples": 10, "score": 0.5}`
	for _, c := range []struct{ name, scores, samples, score, want string }{
		{"one", set, "10", "0.5", ""},
		{"three", set + "," + set + "," + set, "30", "0.5", ""},
		{"of no type", `{"total_samples": "12", "score": 1}`, "12", "1", ""},
		{"one for performance", set + `, {"dataset_type": "performance", "total_samples": 99, "score": 2}`, "10", "0.5", ""},
		{"the first score counts", `{"total_samples": 1}, {"score": 7}, {"score": 8}`, "1", "7", ""},
		{"by what was issued", `{"response_counts": {"issued": 5}, "score": 1}`, "5", "1", ""},
		{"by nothing", `{"response_counts": {"done": 5}, "score": 1}`, "no such key", "1", ""},
		{"by no counts at all", `{"score": 1}`, "no such key", "1", ""},
		{"none", "", "no such key", "no such key", ""},
		{"a score of null", `{"score": null}`, "no such key", "no such key", ""},
		{"a count in words", `{"total_samples": "all"}`, "no such key", "no such key", `accuracy_scores 0: "all" is not a whole number`},
		{"counts that are a list", set + `, {"response_counts": []}`, "no such key", "0.5", "accuracy_scores 1: response_counts is [], want an object"},
		{"a number as a data set", set + ", 5", "no such key", "0.5", "accuracy_scores 1: 5 is not an object"},
	} {
		e := &endpointsFiles{results: decoded(t, `{"accuracy_scores": [`+c.scores+`]}`)}
		log := &detailLog{values: map[string]entry{}}
		wantText(t, c.name, e.addScores(log), c.want)
		if samples, score := log.show("effective_accuracy_sample_count"), log.show("accuracy_score"); samples != c.samples || score != c.score {
			t.Errorf("%s: %s samples and the score %s, want %s and %s", c.name, samples, score, c.samples, c.score)
		}
	}
	for text, want := range map[string]string{`{}`: "", `[]`: "is not an object", `{"accuracy_scores": {}}`: "[accuracy_scores] is {}, want a list"} {
		e := &endpointsFiles{results: decoded(t, text)}
		wantText(t, text, e.addScores(&detailLog{values: map[string]entry{}}), want)
	}
}

func TestARateIsMadeOfACountAndADuration(t *testing.T) {
	const online, offline = "result_completed_samples_per_sec", "result_samples_per_second"
	for _, c := range []struct{ name, count, duration, kind, key, want, says string }{
		{"online", "100", "2000000000", `"online"`, online, "50.0", ""},
		{"offline, in any letters", "100", "2e9", `"OffLine"`, offline, "50.0", ""},
		{"of no count", "0", "1", `"online"`, online, "no such key", ""},
		{"of no duration", "1", "0", `"online"`, online, "no such key", ""},
		{"of no kind", "1", "1", `""`, online, "no such key", ""},
		{"of a kind that is a number", "1", "1", "5", online, "no such key", "log-format log: the type in the configuration is not a text; found 5; want online, offline or interactive"},
		{"of a duration in words", "1", `"long"`, `"online"`, online, "no such key", "log-format log: queries per second: count and duration are not both numbers; found 1 in long ns; want two numbers"},
		{"of more than a number can be", "1" + strings.Repeat("0", 400), "1", `"online"`, online, "no such key", "too large"},
	} {
		b := newBench(t, "v6.1", "llama3.1-8b", "Server")
		e := &endpointsFiles{judgement: b.g}
		log := &detailLog{path: "log", values: map[string]entry{}}
		for key, text := range map[string]string{"generated_query_count": c.count, "generated_query_duration": c.duration, "effective_scenario": c.kind} {
			log.values[key] = entry{value: decoded(t, text), whole: true}
		}
		e.addRate(log)
		if got := log.show(c.key); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
		switch {
		case c.says == "":
			wantSaid(t, b.g.findings, "")
		case strings.HasPrefix(c.says, "log-format"):
			wantSaid(t, b.g.findings, "", c.says)
		case len(b.g.findings) != 1 || !strings.Contains(b.g.findings[0].Message, c.says):
			t.Errorf("%s: %v, want %q", c.name, b.g.findings, c.says)
		}
	}
	log := &detailLog{values: map[string]entry{online: {value: 7.0, whole: true}, "generated_query_count": {value: int64(1)}, "generated_query_duration": {value: int64(1)}, "effective_scenario": {value: "online"}}}
	if (&endpointsFiles{}).addRate(log); log.values[online].value != 7.0 {
		t.Error("a rate that is there was changed")
	}
}

func TestAuditsOfEndpointsSayThatTheyPassed(t *testing.T) {
	const path = "audit/audit_output_caching_test.json"
	good := `{"test": "output_caching_test", "passed": true}`
	for _, c := range []struct{ name, model, text, want string }{
		{"passed", "wan-2.2-t2v-a14b", good, ""},
		{"passed with a text", "wan-2.2-t2v-a14b", strings.Replace(good, "true", `"no"`, 1), ""},
		{"did not pass", "wan-2.2-t2v-a14b", strings.Replace(good, "true", "false", 1), "audit-result " + path + ": TEST04 did not pass; found test output_caching_test, passed False; want test output_caching_test, passed true"},
		{"another test", "wan-2.2-t2v-a14b", strings.Replace(good, "caching", "other", 1), "audit-result " + path + ": TEST04 did not pass; found test output_other_test, passed True; want test output_caching_test, passed true"},
		{"says nothing", "wan-2.2-t2v-a14b", "{}", "audit-result " + path + ": TEST04 did not pass; found test None, passed None; want test output_caching_test, passed true"},
		{"a list", "wan-2.2-t2v-a14b", "[]", "audit-result " + path + ": TEST04 did not pass; found test None, passed None; want test output_caching_test, passed true"},
		{"cut", "wan-2.2-t2v-a14b", "{\n", "audit-files " + path + ":2: cannot be read: byte 2: want a name in quotes"},
		{"missing where it is needed", "wan-2.2-t2v-a14b", "", "audit-missing " + path + ": TEST04 is missing; want the result of the audit output_caching_test"},
		{"missing where it is not", "llama3.1-8b", "", ""},
	} {
		b := newBench(t, "v6.1", c.model, "Offline")
		b.g.performance = &detailLog{path: "log", values: map[string]entry{}}
		if c.text != "" {
			b.write(path, c.text)
		}
		if b.g.checkEndpointsAudits(); c.want == "" {
			wantSaid(t, b.g.findings, b.g.folder)
		} else {
			wantSaid(t, b.g.findings, b.g.folder, c.want)
		}
	}
}

func TestTheMeanLengthOfOutputsHasBoundsBehindEndpoints(t *testing.T) {
	bounds := rounds.EndpointKeys().OutputTokens
	for _, c := range []struct {
		value python.Value
		ok    bool
	}{{bounds.Least, true}, {bounds.Most, true}, {bounds.Least - 0.01, false}, {bounds.Most + 0.01, false}, {nil, false}, {"1200", false}, {int64(1200), true}} {
		b := newBench(t, "v6.1", "gpt-oss-120b", "Offline")
		b.g.performance = &detailLog{path: "log", values: map[string]entry{"mean_output_tokens": {value: c.value, whole: true}}}
		if b.g.checkEndpointsAudits(); c.ok != (len(b.g.findings) == 0) {
			t.Errorf("%v: %v", c.value, b.g.findings)
		}
	}
}
