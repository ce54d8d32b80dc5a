package loadgen

import (
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
			Scenario: Server, MinSampleCount: 9, TargetLatencyPercentile: 0.99,
			Common: Common{UseTokenLatencies: true, MinDuration: time.Minute, MinQueryCount: 9, ServerTTFTLatency: time.Second, ServerTPOTLatency: time.Millisecond},
		},
		FirstToken:         LatencyStats{Count: 6, Target: 2 * time.Second},
		TimePerOutputToken: LatencyStats{Count: 6, Target: 2 * time.Millisecond},
		QueryCount:         7, SampleCount: 6, FinalQueryScheduled: 5 * time.Second,
		EarlyStopping:           EarlyStopping{Met: true, Processed: 7, Needed: 5},
		FirstTokenEarlyStopping: EarlyStopping{Processed: 7, Needed: 64},
		GeneratorMet:            true, GeneratorDelay: LatencyStats{Count: 6, Target: time.Hour}, MaxIssueDelay: 2 * time.Hour,
	}
}

func TestProblems(t *testing.T) {
	want := []string{
		"time to first token: 2 s, must be at most 1 s at the 99th percentile; lower the target QPS, or make the system faster",
		"time per output token: 2 ms, must be at most 1 ms at the 99th percentile; lower the target QPS, or make the system faster",
		"duration: 5 s, must be at least 60 s; the test ended early; the detail log says why",
		"queries: 7 queries, must be at least 9 queries; the test ended early; the detail log says why",
		"samples: 6 samples, must be at least 9 samples; the test ended early; the detail log says why",
		"first token early stopping: 7 queries, must be at least 64 queries; keep the bound of the latencies first: while so many queries are beyond it, a longer run asks for more of them again",
	}
	if diff := cmp.Diff(want, everythingWrong().Problems()); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

// TestAdviceDoesNotContradictItself breaks everything at once, for each reason why a phase
// may have ended: the same setting is never to be raised and lowered.
func TestAdviceDoesNotContradictItself(t *testing.T) {
	for _, late := range []bool{false, true} {
		for end := range endStopped + 1 {
			p := everythingWrong()
			p.GeneratorMet, p.ended, p.MinDurationMet = !late, end, end == endScheduled // a Server schedule is never too short
			text := strings.Join(p.Problems(), "\n")
			lower := strings.Contains(text, "lower the target QPS")
			if lower && (strings.Contains(text, "raise the target QPS") || late && end != endOutstanding) {
				t.Errorf("ending %d, generator late %v:\n%s", end, late, text)
			}
		}
	}
}

func TestNothingMeasuredMeetsNothing(t *testing.T) {
	for _, scenario := range Scenarios() {
		p := &Performance{Effective: quick(scenario).Effective(10, 10)}
		for _, c := range p.Constraints() {
			if c.Met {
				t.Errorf("%v: %v is met in a phase without a sample", scenario, c)
			}
		}
	}
}

func TestAdviceNamesTheReasonOfAnEarlyEnd(t *testing.T) {
	for want, change := range map[string]func(*TestSettings){
		"max_query_count ended the test":   func(s *TestSettings) { s.MaxQueryCount = 50 },
		"max_duration ended the test":      func(s *TestSettings) { s.MaxDuration = time.Second },
		"performance_issue_unique allows ": func(s *TestSettings) { s.PerformanceIssueUnique = true },
	} {
		list := runFake(t, after(time.Millisecond), quick(Server, change), Options{}).Performance.Constraints()
		i := slices.IndexFunc(list, func(c Constraint) bool { return c.ID == ConstraintDuration })
		if advice := list[i].Advice; !strings.HasPrefix(advice, want) {
			t.Errorf("advice %q, want %q", advice, want)
		}
	}
}

// TestExpectedLatencyConstraint asks for the expected latency that the
// constraint names: then the reference would have prepared enough.
func TestExpectedLatencyConstraint(t *testing.T) {
	for _, scenario := range []Scenario{SingleStream, MultiStream} {
		s := quick(scenario)
		s.MinQueryCount, s.MinDuration = 1, 10*time.Second
		s.SetTargetQPS(20) // five times too slow
		r := runFake(t, after(10*time.Millisecond), s, Options{})
		list := r.Performance.Constraints()
		c := list[len(list)-1]
		if c.ID != ConstraintExpectedLatency || c.Met || !c.ReferenceOnly || !r.Valid() || len(r.Problems()) > 0 || !hasEvent(r, "reference LoadGen would have run out") {
			t.Fatalf("%v: the last constraint is %+v; problems %q, events %v", scenario, c, r.Problems(), r.Events)
		}
		s.SingleStreamExpectedLatencyNS, s.MultiStreamExpectedLatencyNS = c.Required.Value, c.Required.Value
		p := runFake(t, after(10*time.Millisecond), s, Options{}).Performance
		if p.QueryCount > p.Prepared || slices.ContainsFunc(p.Constraints(), func(c Constraint) bool { return c.ReferenceOnly }) {
			t.Errorf("%v: with %v the reference would have prepared %d queries for %d", scenario, c.Required, p.Prepared, p.QueryCount)
		}
		if c.Required.Value < 1.8e7 { // twice what is measured, nearly
			t.Errorf("%v: %v is smaller than needed", scenario, c.Required)
		}
	}
}

func TestQuantitiesAreReadable(t *testing.T) {
	for q, want := range map[Quantity]string{
		{1 << 63, "ns"}:   "2,562,047 h 47 min", // which no time.Duration holds
		{123456789, "ns"}: "123.5 ms", {1, "queries"}: "1 query", {270336, "queries"}: "270,336 queries", {5, ""}: "5",
	} {
		if got := q.String(); got != want {
			t.Errorf("%v %s is written %q, want %q", q.Value, q.Unit, got, want)
		}
	}
	// A broken constraint never looks kept.
	c := Constraint{ID: ConstraintLatency, Bound: AtMost, Required: Quantity{15e6, "ns"}, Observed: &Quantity{15e6 + 1, "ns"}, Percentile: 0.999}
	if got, want := c.String(), "latency: 15.000001 ms, must be at most 15 ms at the 99.9th percentile"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := c.RequiredText(), "≤ 15 ms at the 99.9th percentile"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
