package report

import (
	"encoding/json"
	"errors"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/loadgen"
)

// find returns the constraint of a name, and how many there are.
func find(t *testing.T, list []Constraint, name string) Constraint {
	t.Helper()
	i := slices.IndexFunc(list, func(c Constraint) bool { return c.Name == name })
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
		{"latency", loadgen.Server, false, func(p *loadgen.Performance) { p.PerfConstraintsMet, p.SampleLatency.Target = false, 16*ms }, "16ms", "target_latency"},
		{"time to first token", loadgen.Server, true, func(p *loadgen.Performance) {
			p.PerfConstraintsMet, p.TTFTMet, p.FirstToken.Target = false, false, 2100*ms
		}, "2.1s", "ttft_latency"},
		{"time per output token", loadgen.Server, true, func(p *loadgen.Performance) {
			p.PerfConstraintsMet, p.TPOTMet, p.TimePerOutputToken.Target = false, false, 210*ms
		}, "210ms", "tpot_latency"},
		{"duration", loadgen.Server, false, func(p *loadgen.Performance) { p.MinDurationMet, p.FinalQueryScheduled = false, 59*time.Second }, "59s", "min_duration"},
		{"duration", loadgen.SingleStream, false, func(p *loadgen.Performance) { p.MinDurationMet, p.FinalQueryIssued = false, 58*time.Second }, "58s", "min_duration"},
		{"duration", loadgen.MultiStream, false, func(p *loadgen.Performance) { p.MinDurationMet, p.FinalQueryIssued = false, 57*time.Second }, "57s", "min_duration"},
		{"duration", loadgen.Offline, false, func(p *loadgen.Performance) { p.MinDurationMet, p.SampleLatency.Max = false, 56*time.Second }, "56s", "min_duration"},
		{"queries", loadgen.Server, false, func(p *loadgen.Performance) { p.MinQueriesMet, p.QueryCount = false, 99 }, "99 with 3000 samples", "min_query_count"},
		{"queries", loadgen.MultiStream, false, func(p *loadgen.Performance) { p.MinQueriesMet, p.SampleCount = false, 799 }, "3000 with 799 samples", "min_query_count"},
		{"queries", loadgen.Offline, false, func(p *loadgen.Performance) { p.MinQueriesMet, p.SampleCount = false, 7 }, "1 with 7 samples", "min_query_count"},
		{"early stopping", loadgen.Server, false, func(p *loadgen.Performance) { p.EarlyStopping.Met, p.EarlyStopping.Processed = false, 50 }, "50 queries", ""},
		{"early stopping", loadgen.SingleStream, false, func(p *loadgen.Performance) { p.EarlyStopping.Met, p.EarlyStopping.Processed = false, 51 }, "51 queries", ""},
		{"early stopping", loadgen.Server, true, func(p *loadgen.Performance) {
			p.FirstTokenEarlyStopping.Met, p.FirstTokenEarlyStopping.Processed = false, 52
		}, "52 queries", ""},
		{"early stopping", loadgen.Server, true, func(p *loadgen.Performance) {
			p.EarlyStopping = loadgen.EarlyStopping{Processed: 53, Needed: 700}
		}, "53 queries", ""},
		{"generator", loadgen.Server, false, func(p *loadgen.Performance) { p.GeneratorMet, p.IssueDelay.Target = false, 8*ms }, "8ms at the target percentile", ""},
	}
	for _, test := range tests {
		t.Run(test.scenario.String()+" "+test.rule, func(t *testing.T) {
			p := passed(test.scenario)
			if test.tokens {
				p = tokens(p)
			}
			r := filled(tested(p))
			kept := find(t, r.Constraints, test.rule)
			if !kept.Met || kept.Advice != "" || r.Result != Valid || len(r.Problems) != 0 {
				t.Errorf("a run that keeps all rules: %+v, result %s, problems %v", kept, r.Result, r.Problems)
			}
			test.breaks(p)
			r = filled(tested(p))
			broken := find(t, r.Constraints, test.rule)
			if broken.Met || broken.Advice == "" || broken.Observed != test.observed || broken.Required != kept.Required {
				t.Errorf("the broken constraint is %+v, want %q observed, %q required, and advice", broken, test.observed, kept.Required)
			}
			if test.origin != "" && broken.Origin != setBy(test.origin) || test.origin == "" && broken.Origin != "" {
				t.Errorf("it was set by %q, want %q", broken.Origin, test.origin)
			}
			if r.Result != Invalid || len(r.Problems) != 1 {
				t.Errorf("result %s, problems %v; want INVALID for one reason", r.Result, r.Problems)
			}
			for _, c := range r.Constraints {
				if c.Name != test.rule && !c.Met {
					t.Errorf("%s is not met either", c.Name)
				}
			}
		})
	}
}

func TestOnlyRulesOfTheScenarioAreConstraints(t *testing.T) {
	tests := []struct {
		scenario loadgen.Scenario
		tokens   bool
		want     []string
	}{
		{loadgen.Server, false, []string{"latency", "duration", "queries", "early stopping", "generator"}},
		{loadgen.Server, true, []string{"time to first token", "time per output token", "duration", "queries", "early stopping", "generator"}},
		{loadgen.SingleStream, false, []string{"duration", "queries", "early stopping"}},
		{loadgen.MultiStream, false, []string{"duration", "queries", "early stopping"}},
		{loadgen.Offline, false, []string{"duration", "queries"}},
	}
	for _, test := range tests {
		p := passed(test.scenario)
		if test.tokens {
			p = tokens(p)
		}
		var got []string
		for _, c := range filled(tested(p)).Constraints {
			got = append(got, c.Name)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%v (-want +got):\n%s", test.scenario, diff)
		}
	}
	p := passed(loadgen.Server)
	p.MaxIssueDelay = 0 // no latency bound, none for the generator
	if c := constraints(p, setBy); slices.ContainsFunc(c, func(c Constraint) bool { return c.Name == "generator" }) {
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
	if r := filled(late); r.Result != Interrupted || r.Problems[0] != "a sample was answered twice" || len(r.Problems) != 5 {
		t.Errorf("result %s, problems %q", r.Result, r.Problems)
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
		got := *metric(test.p)
		if got.Name != test.want.Name || got.Unit != test.want.Unit || math.Abs(got.Value-test.want.Value) > 1e-9 {
			t.Errorf("%s: %+v, want %+v", test.name, got, test.want)
		}
	}
}

func TestOrdinalsAreEnglish(t *testing.T) {
	for x, want := range map[float64]string{90: "90th", 91: "91st", 92: "92nd", 93: "93rd", 99: "99th", 11: "11th", 12: "12th", 13: "13th", 99.9: "99.9th", 1: "1st"} {
		if got := ordinal(x); got != want {
			t.Errorf("ordinal(%v) = %s, want %s", x, got, want)
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
				if r.Metric.Value != 0 || r.Performance.SamplesPerSecond != 0 {
					t.Errorf("%v, tokens %v, %d samples: metric %v, %v samples/s; want 0", scenario, withTokens, samples, r.Metric, r.Performance.SamplesPerSecond)
				}
			}
		}
	}
}

func TestTimesAreShortenedToAboutFourDigits(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", 999: "999ns", 12345: "12.35µs", 1234567: "1.23ms", 123456789: "123.46ms", 1234567890: "1.235s", 75400 * ms: "1m15s",
	} {
		if got := round(d).String(); got != want {
			t.Errorf("round(%v) = %s, want %s", int64(d), got, want)
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
