package loadgen

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// everythingWrong is a Server phase with token latencies that breaks all its rules.
func everythingWrong() *Performance {
	return &Performance{
		Effective: EffectiveSettings{
			Scenario: Server, UseTokenLatencies: true, MinDuration: time.Minute, MinQueryCount: 9, MinSampleCount: 9,
			ServerTTFTLatency: time.Second, ServerTPOTLatency: time.Millisecond, TargetLatencyPercentile: 0.99,
		},
		FirstToken:         LatencyStats{Count: 6, Target: 2 * time.Second},
		TimePerOutputToken: LatencyStats{Count: 6, Target: 2 * time.Millisecond},
		QueryCount:         7, SampleCount: 6, FinalQueryScheduled: 5 * time.Second,
		EarlyStopping:           EarlyStopping{Met: true, Processed: 7, Needed: 5},
		FirstTokenEarlyStopping: EarlyStopping{Processed: 7, Needed: 64},
		GeneratorDelay:          LatencyStats{Count: 6, Target: time.Hour}, MaxIssueDelay: time.Second,
	}
}

func TestProblemsNameObservationRequirementAndAdvice(t *testing.T) {
	p := everythingWrong()
	p.GeneratorMet = true
	p.MaxIssueDelay = 2 * time.Hour
	want := []string{
		"time to first token: 2s, want at most 1s at the 99th percentile; lower the target QPS, or make the system faster",
		"time per output token: 2ms, want at most 1ms at the 99th percentile; lower the target QPS, or make the system faster",
		"duration: 5s, want at least 1m0s; the test ended early; the detail log says why",
		"queries: 7 queries, want at least 9 queries; the test ended early; the detail log says why",
		"samples: 6 samples, want at least 9 samples; the test ended early; the detail log says why",
		"first token early stopping: 7 queries, want at least 64 queries; keep the bound of the latencies first: while so many queries are beyond it, a longer run asks for more of them again",
	}
	if diff := cmp.Diff(want, p.Problems()); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

func TestConstraintsAreNumbersWithUnits(t *testing.T) {
	got, err := json.Marshal(everythingWrong().Constraints()[0])
	want := `{"id":"time_to_first_token","bound":"at_most","required":{"value":1000000000,"unit":"ns"},"observed":{"value":2000000000,"unit":"ns"},` +
		`"percentile":0.99,"met":false,"setting":"ttft_latency","advice":"measure again on a machine that is less busy: the generator's own delay is part of this latency"}`
	if err != nil || string(got) != want {
		t.Errorf("constraint %s, %v; want %s", got, err, want)
	}
}

// TestAdviceDoesNotContradictItself breaks everything at once, for each reason why a phase
// may have ended: the same setting is never to be raised and lowered.
func TestAdviceDoesNotContradictItself(t *testing.T) {
	for _, late := range []bool{false, true} {
		for end := range endStopped + 1 {
			p := everythingWrong()
			p.GeneratorMet, p.ended = !late, end
			if end == endScheduled { // a Server schedule is never too short
				p.MinDurationMet = true
			}
			text := strings.Join(p.Problems(), "\n")
			if strings.Contains(text, "raise the target QPS") && strings.Contains(text, "lower the target QPS") {
				t.Errorf("ending %d, generator late %v: the target QPS is to be raised and lowered:\n%s", end, late, text)
			}
			if late && end != endOutstanding && strings.Contains(text, "lower the target QPS") {
				t.Errorf("ending %d: the SUT is blamed beside a late generator:\n%s", end, text)
			}
		}
	}
}

func TestKeptConstraintsHaveNoAdvice(t *testing.T) {
	inFakeTime(t, func(t *testing.T) {
		p := mustRun(t, after(time.Millisecond), &fakeQSL{total: 50, performance: 50}, quick(Server), timers).Performance
		var ids []ConstraintID
		for _, c := range p.Constraints() {
			ids = append(ids, c.ID)
			if !c.Met || c.Advice != "" || c.Observed == nil || c.Setting == "" && c.ID != ConstraintEarlyStopping && c.ID != ConstraintGenerator {
				t.Errorf("constraint %+v", c)
			}
		}
		want := []ConstraintID{ConstraintLatency, ConstraintDuration, ConstraintQueries, ConstraintSamples, ConstraintEarlyStopping, ConstraintGenerator}
		if diff := cmp.Diff(want, ids); diff != "" {
			t.Errorf("constraints (-want +got):\n%s", diff)
		}
	})
}

func TestWhatWasNotMeasuredIsNotMet(t *testing.T) {
	for _, scenario := range Scenarios() {
		p := &Performance{Effective: quick(scenario).Effective(10, 10)}
		for _, c := range p.Constraints() {
			if c.Met {
				t.Errorf("%v: %v is met in a phase without a sample", scenario, c)
			}
		}
	}
}

func TestTheReasonOfAnEarlyEndIsTheAdvice(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(*TestSettings)
		want   string
	}{
		{"max_query_count", func(s *TestSettings) { s.MaxQueryCount = 50 }, "max_query_count ended the test"},
		{"max_duration", func(s *TestSettings) { s.MaxDuration = time.Second }, "max_duration ended the test"},
		{"unique samples", func(s *TestSettings) { s.PerformanceIssueUnique = true }, "performance_issue_unique allows"},
	} {
		t.Run(test.name, func(t *testing.T) {
			inFakeTime(t, func(t *testing.T) {
				s := quick(Server)
				test.change(&s)
				p := mustRun(t, after(time.Millisecond), &fakeQSL{total: 50, performance: 50}, s, timers).Performance
				i := slices.IndexFunc(p.Constraints(), func(c Constraint) bool { return c.ID == ConstraintDuration })
				if advice := p.Constraints()[i].Advice; !strings.HasPrefix(advice, test.want) {
					t.Errorf("advice %q, want %q", advice, test.want)
				}
			})
		})
	}
}

// TestARunThatTheReferenceWouldRefuseSaysWhatItWants asks for the expected latency that the
// constraint names: then the reference would have prepared enough.
func TestARunThatTheReferenceWouldRefuseSaysWhatItWants(t *testing.T) {
	for _, scenario := range []Scenario{SingleStream, MultiStream} {
		t.Run(scenario.String(), func(t *testing.T) {
			inFakeTime(t, func(t *testing.T) {
				s := quick(scenario)
				s.MinQueryCount, s.MinDuration = 1, 10*time.Second
				s.SingleStreamExpectedLatencyNS, s.MultiStreamExpectedLatencyNS = 5e7, 5e7 // five times too slow
				r := mustRun(t, after(10*time.Millisecond), &fakeQSL{total: 10, performance: 10}, s, timers)
				list := r.Performance.Constraints()
				c := list[len(list)-1]
				if c.ID != ConstraintExpectedLatency || c.Met || !c.ReferenceOnly || c.Required.Unit != "ns" || c.Setting != "target_latency" {
					t.Fatalf("the last constraint is %+v", c)
				}
				warned := slices.ContainsFunc(r.Events, func(e Event) bool {
					return e.IsWarning && strings.Contains(e.Value.(string), "reference LoadGen would have run out")
				})
				if !r.Valid() || !warned || len(r.Problems()) > 0 {
					t.Errorf("valid %v, problems %q, events %v", r.Valid(), r.Problems(), r.Events)
				}
				s.SingleStreamExpectedLatencyNS, s.MultiStreamExpectedLatencyNS = c.Required.Value, c.Required.Value
				p := mustRun(t, after(10*time.Millisecond), &fakeQSL{total: 10, performance: 10}, s, timers).Performance
				if p.QueryCount > p.Prepared || slices.ContainsFunc(p.Constraints(), func(c Constraint) bool { return c.ReferenceOnly }) {
					t.Errorf("with %v the reference would have prepared %d queries for %d", c.Required, p.Prepared, p.QueryCount)
				}
				if c.Required.Value < 1.8e7 { // twice what is measured, nearly
					t.Errorf("%v is smaller than needed", c.Required)
				}
			})
		})
	}
}

func TestQuantitiesAreReadable(t *testing.T) {
	for q, want := range map[Quantity]string{
		{1 << 63, "ns"}:    "9223372036854776000 ns", // which no time.Duration holds
		{-(1 << 63), "ns"}: "-9223372036854776000 ns",
		{0, "ns"}:          "0s", {999, "ns"}: "999ns", {12345, "ns"}: "12.35µs", {123456789, "ns"}: "123.46ms", {1234567890, "ns"}: "1.235s",
		{75.4e9, "ns"}: "1m15s", {1, "queries"}: "1 query", {270336, "queries"}: "270336 queries", {0, "samples"}: "0 samples", {1e300, "ns"}: "1" + strings.Repeat("0", 300) + " ns",
		{5, ""}: "5",
	} {
		if got := q.String(); got != want {
			t.Errorf("%v %s is written %q, want %q", q.Value, q.Unit, got, want)
		}
	}
}

func TestABrokenConstraintNeverLooksKept(t *testing.T) {
	c := Constraint{ID: ConstraintLatency, Bound: AtMost, Required: Quantity{15e6, "ns"}, Observed: &Quantity{15e6 + 1, "ns"}, Percentile: 0.999}
	if got, want := c.String(), "latency: 15.000001ms, want at most 15ms at the 99.9th percentile"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := c.RequiredText(), "≤ 15ms at the 99.9th percentile"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestOrdinalsAreEnglish(t *testing.T) {
	for fraction, want := range map[float64]string{.9: "90th", .91: "91st", .92: "92nd", .93: "93rd", .99: "99th", .11: "11th", .12: "12th", .13: "13th", .999: "99.9th", .01: "1st"} {
		if got := Ordinal(fraction); got != want {
			t.Errorf("Ordinal(%v) = %s, want %s", fraction, got, want)
		}
	}
}

// TestMoreQueriesAreAskedForOnlyWhereTheyHelp: early stopping needs more queries the more of them are beyond the bound.
func TestMoreQueriesAreAskedForOnlyWhereTheyHelp(t *testing.T) {
	const longer, first = "run longer", "keep the bound of the latencies first"
	for _, c := range []struct {
		name     string
		scenario Scenario
		tokens   bool
		kept     func(*Performance)
		want     string
	}{
		{"Server that keeps its bound", Server, false, func(p *Performance) { p.PerfConstraintsMet = true }, longer},
		{"Server that does not", Server, false, func(*Performance) {}, first},
		{"tokens in time", Server, true, func(p *Performance) { p.TTFTMet, p.TPOTMet, p.PerfConstraintsMet = true, true, true }, longer},
		{"first tokens late", Server, true, func(p *Performance) { p.TPOTMet = true }, first},
		{"further tokens late", Server, true, func(p *Performance) { p.TTFTMet = true }, first},
		{"SingleStream, which has no bound", SingleStream, false, func(*Performance) {}, longer},
	} {
		p := &Performance{Effective: EffectiveSettings{Scenario: c.scenario, UseTokenLatencies: c.tokens}, EarlyStopping: EarlyStopping{Processed: 7, Needed: 64}}
		c.kept(p)
		for _, got := range p.Constraints() {
			if (got.ID == ConstraintEarlyStopping || got.ID == ConstraintFirstTokenStopping) && !strings.HasPrefix(got.Advice, c.want) {
				t.Errorf("%s: %s, want %s", c.name, got.Advice, c.want)
			}
		}
	}
}
