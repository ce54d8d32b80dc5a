package loadgen

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func TestALatenessOfAnySizeIsKept(t *testing.T) {
	for _, ns := range []int64{0, 1, 999, 1e9, coarse - 1, coarse, 4_300_000_000, 60e9, 3600e9, 8000e9} {
		got := latenessOf(ns).ns()
		if exact := ns < coarse; exact && got != ns || got > ns || ns-got >= 1<<coarseShift {
			t.Errorf("%d ns are kept as %d", ns, got)
		}
	}
	if latenessOf(-5) != 0 {
		t.Error("what is early is late")
	}
	if got := latenessOf(1 << 62).ns(); got < int64(2*time.Hour) {
		t.Errorf("a lateness of years is kept as %d ns", got)
	}
}

func TestTheIdealGeneratorWaitsForTheSUTAndForNothingElse(t *testing.T) {
	type query struct{ scheduled, issued, returned, own int64 }
	for name, queries := range map[string][]query{
		"everybody is on time":                     {{10, 10, 11, 0}, {20, 20, 21, 0}},
		"the SUT stays inside":                     {{10, 10, 45, 0}, {20, 45, 46, 0}, {30, 46, 47, 0}},
		"the generator sleeps too long":            {{10, 40, 41, 30}, {20, 41, 42, 21}, {30, 42, 43, 12}, {50, 50, 51, 0}},
		"both, and the SUT's part is that of both": {{10, 15, 25, 5}, {12, 25, 26, 5}, {40, 40, 41, 0}},
	} {
		b := newIdealGenerator()
		for i, q := range queries {
			if got := b.issue(q.scheduled, q.issued).ns(); got != q.own {
				t.Errorf("%s: query %d is %d late by the generator's fault, want %d", name, i, got, q.own)
			}
			b.returned(q.returned)
		}
	}
}

// staying is a SUT that answers at once and then stays inside IssueQuery.
func staying(d time.Duration) *fakeSUT {
	return &fakeSUT{issue: func(q Query) {
		answer(q)
		time.Sleep(d)
	}}
}

func TestASUTThatStaysInsideIssueQueryIsNotTheGeneratorsFault(t *testing.T) {
	inFakeTime(t, func(t *testing.T) {
		s := quick(Server)
		s.ServerTargetQPS, s.ServerTargetLatency = 380, time.Second
		opts := Options{MaxIssueDelay: 2 * time.Millisecond, NewPacer: func() Pacer { return latePacer{by: time.Millisecond} }}
		r := mustRun(t, staying(2500*time.Microsecond), &fakeQSL{total: 500, performance: 80}, s, opts)
		p := r.Performance
		if !p.GeneratorMet || p.GeneratorDelay.Target > time.Millisecond || p.IssueDelay.Target < 10*time.Millisecond {
			t.Errorf("generator met %v, its own delay %v of %v", p.GeneratorMet, p.GeneratorDelay.Target, p.IssueDelay.Target)
		}
		said := slices.ContainsFunc(r.Events, func(e Event) bool {
			return e.IsWarning && strings.Contains(e.Value.(string), "the SUT was still inside IssueQuery")
		})
		if !said || !r.Valid() {
			t.Errorf("said %v, problems %v", said, r.Problems())
		}
	})
}

func TestADelayOfManySecondsReachesTheResult(t *testing.T) {
	inFakeTime(t, func(t *testing.T) {
		s := quick(Server)
		s.MinDuration, s.MinQueryCount, s.ServerTargetQPS, s.ServerTargetLatency = 0, 100, 10, time.Hour
		p := mustRun(t, staying(time.Second), &fakeQSL{total: 500, performance: 80}, s, timers).Performance
		if late := p.FinalQueryIssued - p.FinalQueryScheduled; late < 80*time.Second || p.IssueDelay.Max < late || p.GeneratorDelay.Max != 0 {
			t.Errorf("the last query was %v late, the most are %v, of which the generator's %v", late, p.IssueDelay.Max, p.GeneratorDelay.Max)
		}
	})
}

func TestWithTokenLatenciesTheGeneratorHasTheBoundOfTheFirstToken(t *testing.T) {
	inFakeTime(t, func(t *testing.T) {
		s := quick(Server)
		s.UseTokenLatencies, s.ServerTargetLatency, s.ServerTTFTLatency, s.ServerTPOTLatency = true, 0, 20*time.Millisecond, time.Second
		s.ServerTargetQPS, s.MinDuration, s.MinQueryCount = 10, 0, 500
		opts := Options{NewPacer: func() Pacer { return latePacer{by: 10*time.Millisecond + 1} }}
		p := mustRun(t, speaking(time.Millisecond, 2*time.Millisecond), &fakeQSL{total: 100, performance: 100}, s, opts).Performance
		if p.GeneratorMet || p.MaxIssueDelay != 10*time.Millisecond {
			t.Errorf("generator met %v, its bound is %v", p.GeneratorMet, p.MaxIssueDelay)
		}
	})
}
