package report

import (
	"encoding/json"
	"errors"
	"math"
	"os"
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
		t.Fatalf("no constraint %q among %v", name, list)
	}
	return list[i]
}

func TestFillVerdict(t *testing.T) {
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

// TestMetricByRound compares the result of each scenario with the key of the detail log that the round's own checker reads.
func TestMetricByRound(t *testing.T) {
	data, err := os.ReadFile("testdata/result_fields.json") // of make_result_fields.py
	if err != nil {
		t.Fatal(err)
	}
	fields := map[string]map[string]json.RawMessage{}
	if err := json.Unmarshal(data, &fields); err != nil {
		t.Fatal(err)
	}
	check := func(rules, scenario, key string, tokens bool) {
		s, err := loadgen.ParseScenario(scenario)
		if err != nil {
			return // Interactive is Server
		}
		p := passed(s)
		p.SampleLatency.Target, p.QueryLatency.Target, p.Effective.UseTokenLatencies, p.TokenCount = 6*ms, 39*ms, tokens, 5000
		p.Effective.FixedInterval = s == loadgen.MultiStream && key == "effective_samples_per_query"
		want := map[string]float64{
			"result_samples_per_second": p.SamplesPerSecond(), "result_scheduled_samples_per_sec": p.ScheduledQPS(), "result_completed_samples_per_sec": p.CompletedQPS(),
			"result_90.00_percentile_latency_ns": 6, "early_stopping_latency_ss": 7.2, "early_stopping_latency_ms": 41, "effective_samples_per_query": 8,
			"result_tokens_per_second": 5000 / p.SampleLatency.Max.Seconds(), "result_completed_tokens_per_second": 5000 / p.FinalQueryCompleted.Seconds(),
		}[key]
		r := base()
		r.Rules = rules
		if r.Fill(tested(p), setBy); want == 0 || r.Metric.Value != want {
			t.Errorf("%s %s: the metric is %+v, want %s, %v", rules, scenario, *r.Metric, key, want)
		}
	}
	fields[""] = fields["v6.1"] // no round: as the newest
	for rules, scenarios := range fields {
		for scenario, value := range scenarios {
			var key string
			var ofTokens map[string]string
			if json.Unmarshal(value, &key) == nil {
				check(rules, scenario, key, false)
			} else if err := json.Unmarshal(value, &ofTokens); err != nil {
				t.Fatal(err)
			}
			for scenario, key := range ofTokens {
				check(rules, scenario, key, true)
			}
		}
	}
}

func TestReferenceOnlyConstraint(t *testing.T) {
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

func TestFillKeepsProblemsAndWarnings(t *testing.T) {
	r := base()
	r.Problems, r.Warnings = []string{"a problem"}, []string{"a warning"}
	r.Fill(faulty(), setBy)
	if len(r.Problems) != 2 || r.Problems[0] != "a problem" || len(r.Warnings) != 2 || r.Warnings[0] != "a warning" {
		t.Errorf("problems %q, warnings %q", r.Problems, r.Warnings)
	}
}

// TestEmptyPhasesAreJSON has phases that ended before anything was
// measured: all their rates are a division by nothing.
func TestEmptyPhasesAreJSON(t *testing.T) {
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

func TestSeedsSurviveJSON(t *testing.T) {
	e := passed(loadgen.Server).Effective
	e.QSLRNGSeed, e.SampleIndexRNGSeed, e.ScheduleRNGSeed = math.MaxUint64, 1<<53+1, 0
	e.TargetQPS, e.TargetLatencyPercentile = math.Inf(1), math.NaN()
	data, err := json.Marshal(NewTest(e))
	if err != nil {
		t.Fatal(err)
	}
	var back Test
	if err := json.Unmarshal(data, &back); err != nil || back.QSLRNGSeed != math.MaxUint64 || back.SampleIndexRNGSeed != 1<<53+1 || back.ScheduleRNGSeed != 0 {
		t.Errorf("%+v, %v, want the seeds as they were", back, err)
	}
	if !strings.Contains(string(data), `"qsl_rng_seed":"18446744073709551615"`) || back.TargetQPS != 0 || back.TargetLatencyPercentile != 0 {
		t.Errorf("%s, want seeds as texts and nothing that JSON has not", data)
	}
	if back.ServerTTFTLatency != 0 {
		t.Error("a model without tokens has bounds of them")
	}
	tokened := NewTest(tokens(passed(loadgen.Server)).Effective)
	if tokened.ServerTTFTLatency != 2e9 || tokened.ServerTPOTLatency != 2e8 {
		t.Errorf("bounds of tokens are %d and %d ns", tokened.ServerTTFTLatency, tokened.ServerTPOTLatency)
	}
	if offline := NewTest(tokens(passed(loadgen.Offline)).Effective); offline.ServerTTFTLatency != 0 {
		t.Error("Offline has a bound of the first token")
	}
}
