package config

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/loadgen"
)

// A switch and what needs it may be given in any order.
func TestOptionsThatNeedASwitchMayComeBeforeIt(t *testing.T) {
	options := []Override{
		{"ttft_latency", "7ms", "flag --ttft-latency"}, {"use_token_latencies", "true", "flag --use-token-latencies"}, {"tpot_latency", "3ms", "flag --tpot-latency"},
		{"token_latency_scaling_factor", "5", "flag --scaling"}, {"infer_token_latencies", "true", "flag --infer"},
	}
	slices.Reverse(options)
	for range 2 {
		given := slices.Clone(options)
		r := mustResolve(t, Request{Model: Model{Name: "resnet50"}, Scenario: loadgen.Server, Options: options})
		s := r.Settings
		if !s.UseTokenLatencies || s.ServerTTFTLatency != 7*time.Millisecond || s.ServerTPOTLatency != 3*time.Millisecond || s.TokenLatencyScalingFactor != 5 {
			t.Errorf("in the order %v: %+v", options, s)
		}
		if !slices.Equal(options, given) {
			t.Errorf("the options of the request are %v now", options)
		}
		slices.Reverse(options)
	}
	// Of two values of one setting the later counts, wherever the switch stands.
	twice := []Override{{"min_query_count", "5", "quick run"}, {"use_token_latencies", "true", "flag"}, {"min_query_count", "9", "flag --min-query-count"}}
	r := mustResolve(t, Request{Model: Model{Name: "resnet50"}, Scenario: loadgen.Server, Options: twice})
	if s, _ := r.Setting("min_query_count"); r.Settings.MinQueryCount != 9 || s.Replaces == nil || s.Replaces.Origin != "quick run" {
		t.Errorf("min_query_count is %d, made by %+v", r.Settings.MinQueryCount, s)
	}
}

// A model may have several names in conf files. For each pattern of LoadGen's order they are tried one after the other.
func TestOfSeveralNamesTheFirstThatTheFileHasCounts(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       string // the value for Server; empty: there is none
	}{
		{"the first name", "a.Server.min_query_count = 1\nb.Server.min_query_count = 2\n", "1"},
		{"the second name", "b.Server.min_query_count = 2\nc.Server.min_query_count = 3\n", "2"},
		{"an exact scenario goes before a name", "a.*.min_query_count = 1\nb.Server.min_query_count = 2\n", "2"},
		{"any model goes before any scenario", "a.*.min_query_count = 1\n*.Server.min_query_count = 4\n", "4"},
		{"any scenario goes before anything", "b.*.min_query_count = 2\n*.*.min_query_count = 5\n", "2"},
		{"anything", "c.Server.min_query_count = 3\n*.*.min_query_count = 5\n", "5"},
		{"nothing", "c.Server.min_query_count = 3\n*.Offline.min_query_count = 6\n", ""},
	} {
		conf := mustParse(t, "user.conf", c.text)
		if e, ok := conf.Lookup("Server", "min_query_count", "a", "b"); ok != (c.want != "") || e.Value != c.want {
			t.Errorf("%s: %+v, %t, want %q", c.name, e, ok, c.want)
		}
	}
}

func TestAModelIsCalledByItsAliasesInInteractiveToo(t *testing.T) {
	m := Model{Name: "a", Aliases: []string{"b", "c"}}
	if got := m.confNames(false); !slices.Equal(got, []string{"a", "b", "c"}) {
		t.Errorf("the names are %q", got)
	}
	if got := m.confNames(true); !slices.Equal(got, []string{"a-interactive", "b-interactive", "c-interactive"}) {
		t.Errorf("the names of Interactive are %q", got)
	}
	user := mustParse(t, "user.conf", "second.Server.target_qps = 5\n")
	r := mustResolve(t, Request{Model: Model{Name: "first", Aliases: []string{"second"}}, Scenario: loadgen.Server, UserConf: user})
	if r.Settings.ServerTargetQPS != 5 {
		t.Errorf("by its alias it has the rate %g", r.Settings.ServerTargetQPS)
	}
	for _, w := range r.Warnings {
		if strings.Contains(w, "second") {
			t.Errorf("its alias is warned of: %s", w)
		}
	}
}

func TestWhereASecondDocumentBegins(t *testing.T) {
	for text, want := range map[string]int{
		"": 0, "a: 1\n": 0, "---\na: 1\n": 0, "a: 1\n---\n": 0, "a: 1\n---\n# only this\n...\n": 0, "%YAML 1.2\n---\na: 1\n": 0, "# a\n\n--- # b\na: 1\n...\n": 0,
		"a: 1\n---\nb: 2\n": 2, "a: 1\n...\n---\n\nb: 2\n": 2, "--- {a: 1}\n--- {b: 2}\n": 2, "a: 1\r\n---\r\nb: 2\r\n": 2, "a: |\n  ---\nb: 1\n": 0, "a: --- b\n---c: 1\n": 0,
	} {
		if got := secondDocument([]byte(text)); got != want {
			t.Errorf("in %q it begins in line %d, want %d", text, got, want)
		}
	}
}

func TestAFlagIsSetToEachValueOrToAllOfThem(t *testing.T) {
	for _, c := range []struct {
		value any
		each  bool
		want  []string
	}{
		{"a", false, []string{"a"}}, {"a", true, []string{"a"}}, {"a,b", true, []string{"a,b"}},
		{[]string{"a", "b"}, false, []string{"a,b"}}, {[]string{"a", "b"}, true, []string{"a", "b"}}, {[]string{}, false, []string{""}}, {[]string{}, true, []string{}},
	} {
		if got := textsOf(c.value, c.each); !slices.Equal(got, c.want) {
			t.Errorf("textsOf(%v, %t) = %q, want %q", c.value, c.each, got, c.want)
		}
	}
}
