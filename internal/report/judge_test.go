package report

import (
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/loadgen"
)

// find returns the constraint of a name.
func find(t *testing.T, list []Constraint, name string) Constraint {
	t.Helper()
	i := slices.IndexFunc(list, func(c Constraint) bool { return c.ID.String() == name })
	if i < 0 {
		t.Fatalf("there is no constraint %q among %v", name, list)
	}
	return list[i]
}

// TestEveryRuleIsAConstraintThatCanBeMetOrNot breaks one rule at a time: its constraint says
// so, with advice, and no other does.
func TestEveryRuleIsAConstraintThatCanBeMetOrNot(t *testing.T) {
	tests := []struct {
		rule     string
		scenario loadgen.Scenario
		tokens   bool
		breaks   func(*loadgen.Performance)
		observed string
		origin   string
	}{
		{"latency", loadgen.Server, false, func(p *loadgen.Performance) { p.PerfConstraintsMet, p.SampleLatency.Target = false, 16*ms }, "16ms", setBy("target_latency")},
		{"time to first token", loadgen.Server, true, func(p *loadgen.Performance) {
			p.PerfConstraintsMet, p.TTFTMet, p.FirstToken.Target = false, false, 2100*ms
		}, "2.1s", setBy("ttft_latency")},
		{"time per output token", loadgen.Server, true, func(p *loadgen.Performance) {
			p.PerfConstraintsMet, p.TPOTMet, p.TimePerOutputToken.Target = false, false, 210*ms
		}, "210ms", setBy("tpot_latency")},
		{"duration", loadgen.Server, false, func(p *loadgen.Performance) { p.MinDurationMet, p.FinalQueryScheduled = false, 59*time.Second }, "59s", setBy("min_duration")},
		{"duration", loadgen.SingleStream, false, func(p *loadgen.Performance) { p.MinDurationMet, p.FinalQueryIssued = false, 58*time.Second }, "58s", setBy("min_duration")},
		{"duration", loadgen.MultiStream, false, func(p *loadgen.Performance) { p.MinDurationMet, p.FinalQueryIssued = false, 57*time.Second }, "57s", setBy("min_duration")},
		{"duration", loadgen.Offline, false, func(p *loadgen.Performance) { p.MinDurationMet, p.SampleLatency.Max = false, 56*time.Second }, "56s", setBy("min_duration")},
		{"queries", loadgen.Server, false, func(p *loadgen.Performance) { p.QueryCount = 99 }, "99 queries", setBy("min_query_count")},
		{"samples", loadgen.MultiStream, false, func(p *loadgen.Performance) { p.SampleCount = 799 }, "799 samples", setBy("min_query_count")},
		{"samples", loadgen.Offline, false, func(p *loadgen.Performance) { p.SampleCount = 7 }, "7 samples", setBy("min_query_count")},
		{"early stopping", loadgen.Server, false, func(p *loadgen.Performance) { p.EarlyStopping.Met, p.EarlyStopping.Processed = false, 50 }, "50 queries", ""},
		{"early stopping", loadgen.SingleStream, false, func(p *loadgen.Performance) { p.EarlyStopping.Met, p.EarlyStopping.Processed = false, 51 }, "51 queries", ""},
		{"first token early stopping", loadgen.Server, true, func(p *loadgen.Performance) {
			p.FirstTokenEarlyStopping.Met, p.FirstTokenEarlyStopping.Processed = false, 52
		}, "52 queries", ""},
		{"early stopping", loadgen.Server, true, func(p *loadgen.Performance) {
			p.EarlyStopping = loadgen.EarlyStopping{Processed: 53, Needed: 700}
		}, "53 queries", ""},
		{"generator", loadgen.Server, false, func(p *loadgen.Performance) { p.GeneratorMet, p.GeneratorDelay.Target = false, 8*ms }, "8ms", ""},
	}
	for _, test := range tests {
		t.Run(test.scenario.String()+" "+test.rule, func(t *testing.T) {
			p := passed(test.scenario)
			if test.tokens {
				p = tokens(p)
			}
			kept := find(t, filled(tested(p)).Constraints, test.rule)
			test.breaks(p)
			r := filled(tested(p))
			broken, early := find(t, r.Constraints, test.rule), test.rule == "early stopping" // which needs as many as were too slow
			if broken.Met || broken.Advice == "" || broken.ObservedText() != test.observed || !early && broken.Required != kept.Required {
				t.Errorf("the broken constraint is %+v, want %q observed, %q required, and advice", broken, test.observed, kept.RequiredText())
			}
			if broken.Origin != test.origin {
				t.Errorf("it was set by %q, want %q", broken.Origin, test.origin)
			}
			if r.Result != Invalid || len(r.Problems) != 1 {
				t.Errorf("result %s, problems %v; want INVALID for one reason", r.Result, r.Problems)
			}
			for _, c := range r.Constraints {
				if c.ID.String() != test.rule && !c.Met {
					t.Errorf("%v is not met either", c.ID)
				}
			}
		})
	}
}

// A run that keeps them all is VALID.
func TestOnlyRulesOfTheScenarioAreConstraints(t *testing.T) {
	tests := []struct {
		scenario loadgen.Scenario
		tokens   bool
		want     []string
	}{
		{loadgen.Server, false, []string{"latency", "duration", "queries", "samples", "early stopping", "generator"}},
		{loadgen.Server, true, []string{"time to first token", "time per output token", "duration", "queries", "samples", "early stopping", "first token early stopping", "generator"}},
		{loadgen.SingleStream, false, []string{"duration", "queries", "samples", "early stopping"}},
		{loadgen.MultiStream, false, []string{"duration", "queries", "samples", "early stopping"}},
		{loadgen.Offline, false, []string{"duration", "queries", "samples"}},
	}
	for _, test := range tests {
		p := passed(test.scenario)
		if test.tokens {
			p = tokens(p)
		}
		var got []string
		r := filled(tested(p))
		for _, c := range r.Constraints {
			got = append(got, c.ID.String())
			if !c.Met || c.Advice != "" {
				t.Errorf("%v: a run that keeps all rules does not keep %+v", test.scenario, c)
			}
		}
		if r.Result != Valid || len(r.Problems) != 0 {
			t.Errorf("%v: result %s, problems %v", test.scenario, r.Result, r.Problems)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%v (-want +got):\n%s", test.scenario, diff)
		}
	}
	p := passed(loadgen.Server)
	p.MaxIssueDelay = 0 // no latency bound, none for the generator
	if c := constraints(p, setBy); slices.ContainsFunc(c, func(c Constraint) bool { return c.ID == loadgen.ConstraintGenerator }) {
		t.Error("the generator is judged without a bound")
	}
}

func TestFillSaysWhatBecameOfTheTest(t *testing.T) {
	stopped := tested(passed(loadgen.Server))
	stopped.Interrupted = errors.New("interrupted")
	early := &loadgen.Result{Effective: stopped.Effective, Interrupted: errors.New("interrupted")}
	late := interrupted()
	late.Faults = []error{errors.New("a sample was answered twice")}
	tests := []struct {
		name     string
		test     *loadgen.Result
		want     string
		problems []string
		metric   bool
	}{
		{"all is well", tested(passed(loadgen.Server)), Valid, []string{}, true},
		{"the SUT did wrong", faulty(), Invalid, []string{"the SUT could not answer sample 7 (data index 3): out of memory (and 4 more of this kind)"}, true},
		{"stopped, though all rules are kept", stopped, Interrupted, []string{"the test was stopped early: interrupted"}, true},
		{"stopped before anything was measured", early, Interrupted, []string{"the test was stopped early: interrupted"}, false},
		{"accuracy only", &loadgen.Result{}, Valid, []string{}, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := filled(test.test)
			if diff := cmp.Diff(test.problems, r.Problems); r.Result != test.want || diff != "" {
				t.Errorf("result %s, want %s; problems (-want +got):\n%s", r.Result, test.want, diff)
			}
			if (r.Metric != nil) != test.metric || (r.Performance != nil) != test.metric {
				t.Errorf("metric %v, performance %v", r.Metric, r.Performance)
			}
		})
	}
	if r := filled(late); r.Result != Interrupted || r.Problems[0] != "a sample was answered twice" || len(r.Problems) != 6 {
		t.Errorf("result %s, problems %q", r.Result, r.Problems)
	}
}

func TestRoundsUntilV40CompareScheduledSamples(t *testing.T) {
	for rules, want := range map[string]string{
		"v0.5": "scheduled samples", "v0.7": "scheduled samples", "v1.0": "scheduled samples", "v3.1": "scheduled samples", "v4.0": "scheduled samples",
		"v4.1": "completed samples", "v5.0": "completed samples", "v6.1": "completed samples", "": "completed samples", "my own": "completed samples",
	} {
		r := base()
		r.Rules = rules
		p := passed(loadgen.Server)
		if r.Fill(tested(p), setBy); r.Metric.Name != want || r.Metric.Value != map[bool]float64{true: p.ScheduledQPS(), false: p.CompletedQPS()}[want == "scheduled samples"] {
			t.Errorf("under %q the metric is %+v, want %s", rules, *r.Metric, want)
		}
	}
}

func TestAResultThatTheReferenceWouldRefuseSaysSo(t *testing.T) {
	p := passed(loadgen.SingleStream)
	p.Prepared, p.Effective.TargetDuration, p.Effective.TargetQPS = 2000, time.Minute, 10
	r := filled(tested(p))
	c := find(t, r.Constraints, "expected latency")
	if r.Result != Valid || len(r.Problems) > 0 || c.Met || !c.ReferenceOnly || c.Origin != setBy("target_latency") || c.Required != (loadgen.Quantity{Value: 40e6, Unit: "ns"}) {
		t.Errorf("result %s, problems %q, constraint %+v", r.Result, r.Problems, c)
	}
	var out strings.Builder
	if err := Explain(&out, r); err != nil || !strings.Contains(out.String(), "not for the reference") || !strings.Contains(out.String(), "lower the expected latency") {
		t.Errorf("%v:\n%s", err, out.String())
	}
}

func TestFillKeepsWhatWasKnownBefore(t *testing.T) {
	r := base()
	r.Problems, r.Warnings = []string{"a problem"}, []string{"a warning"}
	r.Fill(faulty(), setBy)
	if len(r.Problems) != 2 || r.Problems[0] != "a problem" || len(r.Warnings) != 2 || r.Warnings[0] != "a warning" {
		t.Errorf("problems %q, warnings %q", r.Problems, r.Warnings)
	}
}

func TestTheMetricIsTheOneThatRulesCompare(t *testing.T) {
	noEstimate := passed(loadgen.SingleStream)
	noEstimate.EarlyStopping.Met = false
	tests := []struct {
		name string
		p    *loadgen.Performance
		want Metric
	}{
		{"SingleStream", passed(loadgen.SingleStream), Metric{"90th percentile latency (early stopping estimate)", 7.2, "ms"}},
		{"SingleStream without an estimate", noEstimate, Metric{"90th percentile latency", 10, "ms"}},
		{"MultiStream", passed(loadgen.MultiStream), Metric{"99th percentile query latency (early stopping estimate)", 41, "ms"}},
		{"Server", passed(loadgen.Server), Metric{"completed samples", 2999 / 60.108, "samples/s"}},
		{"Offline", passed(loadgen.Offline), Metric{"samples", 24576. / 60, "samples/s"}},
		{"Server with tokens", tokens(passed(loadgen.Server)), Metric{"completed tokens", 384000 / 60.108, "tokens/s"}},
		{"Offline with tokens", tokens(passed(loadgen.Offline)), Metric{"tokens", 384000. / 60, "tokens/s"}},
		{"SingleStream with tokens", tokens(passed(loadgen.SingleStream)), Metric{"90th percentile latency", 10, "ms"}},
	}
	for _, test := range tests {
		got := *metric(test.p, false)
		if got.Name != test.want.Name || got.Unit != test.want.Unit || math.Abs(got.Value-test.want.Value) > 1e-9 {
			t.Errorf("%s: %+v, want %+v", test.name, got, test.want)
		}
	}
}

// TestNothingThatJSONCannotHoldReachesIt has phases that ended before anything was
// measured: all their rates are a division by nothing.
func TestNothingThatJSONCannotHoldReachesIt(t *testing.T) {
	for _, scenario := range loadgen.Scenarios() {
		for _, withTokens := range []bool{false, true} {
			for _, samples := range []uint64{0, 1, 2} {
				e := passed(scenario).Effective
				e.UseTokenLatencies = withTokens
				p := &loadgen.Performance{Effective: e, SampleCount: samples, QueryCount: samples}
				r := filled(&loadgen.Result{Effective: e, Performance: p, Interrupted: errors.New("interrupted")})
				if _, err := json.Marshal(r); err != nil {
					t.Errorf("%v, tokens %v, %d samples: %v", scenario, withTokens, samples, err)
				}
				if r.Metric != nil || r.Performance.SamplesPerSecond != 0 || r.Performance.LatencyNS != nil {
					t.Errorf("%v, tokens %v, %d samples: metric %v, %v samples/s, latency %v; want none", scenario, withTokens, samples, r.Metric,
						r.Performance.SamplesPerSecond, r.Performance.LatencyNS)
				}
			}
		}
	}
}

func TestNumbersOfAnySizeAreReadable(t *testing.T) {
	for m, want := range map[Metric]string{
		{"", 22.34567, "samples/s"}: "22.346 samples/s", {"", 1234567.8, "samples/s"}: "1234568 samples/s", {"", 0, ""}: "0", {"", 0.0123456, "ms"}: "0.012346 ms",
	} {
		if got := number(m); got != want {
			t.Errorf("number(%v) = %q, want %q", m, got, want)
		}
	}
}
