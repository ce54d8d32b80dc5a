package config_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/models"
)

func differences(t *testing.T, q config.Request, division config.Division) []string {
	t.Helper()
	r, err := config.Resolve(q)
	if err != nil {
		t.Fatal(err)
	}
	list, err := r.Differences(r.Settings, division)
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, d := range list {
		kind := "harder: "
		switch {
		case d.Allowed:
			kind = "allowed: "
		case d.Easier:
			kind = "easier: "
		}
		texts = append(texts, fmt.Sprintf("%s%s %s, expected %s (%s)", kind, d.Key, d.Value, d.Want, d.Origin))
	}
	return texts
}

func known(t *testing.T, name string) config.Model {
	t.Helper()
	m, ok := models.Rules(name)
	if !ok {
		t.Fatalf("no rules know %s", name)
	}
	return m
}

func rules(t *testing.T, version string) *config.RuleSet {
	t.Helper()
	r, err := config.Rules(version)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestNoDifference(t *testing.T) {
	for _, version := range config.Versions() {
		set := rules(t, version)
		for _, s := range loadgen.Scenarios() {
			for _, model := range []string{"resnet50", "ssd-resnet34", "bert", "gnmt", "llama2-70b", "mobilenet"} {
				q := config.Request{Model: known(t, model), Scenario: s, Rules: set, Options: []config.Override{
					{Key: "mode", Value: "performance", Origin: "flag --mode"},
				}}
				if list := differences(t, q, config.Closed); len(list) > 0 {
					t.Errorf("%s %v under %s: %s", model, s, version, strings.Join(list, "; "))
				}
			}
		}
	}
}

func TestDifferences(t *testing.T) {
	for _, c := range []struct {
		name     string
		scenario loadgen.Scenario
		version  string
		key      string
		value    string
		division config.Division
		want     string // empty: no difference
	}{
		{name: "a lower percentile", scenario: loadgen.Server, key: "target_latency_percentile", value: "0.5",
			want: "easier: target_latency_percentile 0.5 %, expected 99 % (user.conf:1)"},
		{name: "the same in the open division", scenario: loadgen.Server, key: "target_latency_percentile", value: "0.5", division: config.Open,
			want: "allowed: target_latency_percentile 0.5 %, expected 99 % (user.conf:1)"},
		{name: "a higher percentile", scenario: loadgen.SingleStream, key: "target_latency_percentile", value: "99",
			want: "harder: target_latency_percentile 99 %, expected 90 % (user.conf:1)"},
		{name: "a looser bound", scenario: loadgen.Server, key: "target_latency", value: "100",
			want: "easier: target_latency 100ms, expected 15ms (user.conf:1)"},
		{name: "a tighter bound", scenario: loadgen.Server, key: "target_latency", value: "5",
			want: "harder: target_latency 5ms, expected 15ms (user.conf:1)"},
		{name: "an expected latency is the submitter's", scenario: loadgen.SingleStream, key: "target_latency", value: "5"},
		{name: "so is the rate", scenario: loadgen.Server, key: "target_qps", value: "50"},
		{name: "one sample again and again", scenario: loadgen.Server, key: "performance_issue_same", value: "1",
			want: "easier: performance_issue_same true, expected false (user.conf:1)"},
		{name: "fewer queries", scenario: loadgen.MultiStream, key: "min_query_count", value: "10",
			want: "easier: min_query_count 10, expected 662 (user.conf:1)"},
		{name: "fewer samples in memory", scenario: loadgen.Offline, key: "performance_sample_count_override", value: "8",
			want: "easier: performance_sample_count_override 8, expected 1024 (user.conf:1)"},
		{name: "all samples in memory", scenario: loadgen.Offline, key: "performance_sample_count_override", value: "0",
			want: "harder: performance_sample_count_override all, expected 1024 (user.conf:1)"},
		{name: "fixed counts before early stopping", scenario: loadgen.MultiStream, version: "v0.5", key: "min_query_count", value: "1250",
			want: "easier: min_query_count 1250, expected 270336 (user.conf:1)"},
		{name: "a longer interval", scenario: loadgen.MultiStream, version: "v0.5", key: "target_qps", value: "10",
			want: "easier: target_qps 10, expected 20 (user.conf:1)"},
		{name: "samples per query are the result at fixed intervals", scenario: loadgen.MultiStream, version: "v0.5", key: "samples_per_query", value: "3"},
		{name: "another seed, where user.conf may set it", scenario: loadgen.Offline, version: "v4.1", key: "qsl_rng_seed", value: "7",
			want: "easier: qsl_rng_seed 7, expected 3066443479025735752 (user.conf:1)"},
		{name: "a rate that makes a small query has no effect", scenario: loadgen.Offline, version: "v0.5", key: "target_qps", value: "20"},
		{name: "a smaller query", scenario: loadgen.Offline, version: "v0.5", key: "min_query_count", value: "8167",
			want: "easier: min_query_count 8167, expected 24576 (user.conf:1)"},
		{name: "a larger query", scenario: loadgen.Offline, version: "v0.5", key: "min_query_count", value: "24577",
			want: "harder: min_query_count 24577, expected 24576 (user.conf:1)"},
		{name: "a slow system since then, whose query is as large as mlperf.conf says", scenario: loadgen.Offline, key: "target_qps", value: "0.1"},
		{name: "an end by the clock", scenario: loadgen.Offline, key: "max_duration", value: "900000",
			want: "harder: max_duration 15m0s, expected none (user.conf:1)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.version == "" {
				c.version = config.Newest
			}
			conf, err := config.ParseConf("user.conf", []byte("*."+c.scenario.String()+"."+c.key+" = "+c.value+"\n"), config.ParseOptions{})
			if err != nil {
				t.Fatal(err)
			}
			got := strings.Join(differences(t, config.Request{Model: known(t, "resnet50"), Scenario: c.scenario, Rules: rules(t, c.version), UserConf: conf}, c.division), "; ")
			if got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestDifferencesOfAnAccuracyRun(t *testing.T) {
	q := config.Request{Model: known(t, "resnet50"), Scenario: loadgen.Offline, Options: []config.Override{
		{Key: "mode", Value: "accuracy"}, {Key: "min_duration", Value: "1s"}, {Key: "accuracy_sample_count_override", Value: "12"},
	}}
	got := strings.Join(differences(t, q, config.Closed), "; ")
	if want := "easier: accuracy_sample_count_override 12, expected all ()"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// With TEST05, LoadGen makes a performance run of any test.
func TestDifferencesOfAnAccuracyRunWithTEST05(t *testing.T) {
	conf, err := config.ParseConf("mlperf.conf", []byte("*.*.test05 = 1\n*.Offline.min_duration = 1000\n*.Offline.min_query_count = 24576\n*.*.qsl_rng_seed = 7\n"), config.ParseOptions{})
	if err != nil {
		t.Fatal(err)
	}
	q := config.Request{Model: known(t, "resnet50"), Scenario: loadgen.Offline, MLPerfConf: conf, Options: []config.Override{{Key: "mode", Value: "accuracy"}}}
	got := strings.Join(differences(t, q, config.Closed), "; ")
	for _, want := range []string{"easier: test05 true", "easier: min_duration 1s, expected 10m0s (mlperf.conf:2)", "qsl_rng_seed 7"} {
		if !strings.Contains(got, want) {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

func TestOtherArrivalsAreNotOfTheRules(t *testing.T) {
	for _, division := range []config.Division{config.Closed, config.Open} {
		got := differences(t, config.Request{
			Model: known(t, "resnet50"), Scenario: loadgen.Server, Rules: rules(t, config.Newest),
			Options: []config.Override{{Key: "arrivals", Value: "burst:4x500ms", Origin: "flag --arrivals"}},
		}, division)
		if want := "easier: arrivals burst:4x500ms, expected poisson (flag --arrivals)"; len(got) != 1 || got[0] != want {
			t.Errorf("%v: %q, want %q", division, got, want)
		}
	}
}
