package loadgen

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// speaking is a SUT whose samples have the first token after a time, and ten at the end.
func speaking(firstToken, end time.Duration) *fakeSUT {
	return &fakeSUT{issue: func(q Query) {
		time.AfterFunc(firstToken, func() { q.FirstToken(tokensOf(q, 1)) })
		time.AfterFunc(end, func() { q.Complete(tokensOf(q, 10)) })
	}}
}

func tokensOf(q Query, n int32) []QuerySampleResponse {
	responses := make([]QuerySampleResponse, len(q.Samples))
	for i, s := range q.Samples {
		responses[i] = QuerySampleResponse{ID: s.ID, NTokens: n, Data: []byte{1}}
	}
	return responses
}

func TestTokenLatencies(t *testing.T) {
	tokens := func(s *TestSettings) { s.UseTokenLatencies, s.MinQueryCount = true, 700 }
	for _, scenario := range []Scenario{SingleStream, MultiStream, Server} {
		r := runFake(t, speaking(20*time.Millisecond, 65*time.Millisecond), quick(scenario, tokens), Options{})
		p := r.Performance
		if !r.Valid() || p.FirstToken.Mean != 20*time.Millisecond || p.TimePerOutputToken.Mean != 5*time.Millisecond || p.TokenCount != int64(10*p.SampleCount) {
			t.Errorf("%v: TTFT %v, TPOT %v, %d tokens, want 20ms, 5ms and ten for each sample: %v", scenario, p.FirstToken.Mean, p.TimePerOutputToken.Mean, p.TokenCount, r.Problems())
		}
		p.EachSample(func(s SampleRecord) {
			if s.FirstToken-s.Start != 20*time.Millisecond || s.Tokens != 10 {
				t.Fatalf("%v: record %+v", scenario, s)
			}
		})
	}
	// Offline needs no first token.
	r := runFake(t, &fakeSUT{issue: func(q Query) { q.Complete(tokensOf(q, 3)) }}, quick(Offline, tokens, count(30)), Options{})
	if !r.Valid() || r.Performance.TokenCount != 90 {
		t.Errorf("Offline: %d tokens: %v", r.Performance.TokenCount, r.Problems())
	}
	log := &memoryLog{}
	runFake(t, speaking(20*time.Millisecond, 65*time.Millisecond), quick(Server, tokens, accuracyOnly), Options{AccuracyLog: log})
	for _, r := range log.records {
		if !r.HasTokens || r.NTokens != 10 || len(r.TokenData) != 1 {
			t.Errorf("record %+v", r)
		}
	}
	// Without tokens nothing is estimated.
	p := runFake(t, after(time.Millisecond), quick(SingleStream, tokens, count(64)), Options{}).Performance
	if p.FirstToken.Count != 0 || p.TimePerOutputToken.Count != 0 || p.EarlyStopping.Estimate != 0 || p.TokenCount != 0 {
		t.Errorf("without tokens: TTFT %+v, TPOT %+v, estimate %v, %d tokens", p.FirstToken, p.TimePerOutputToken, p.EarlyStopping.Estimate, p.TokenCount)
	}
}

func TestTokenConstraints(t *testing.T) {
	const ttft, tpot = 20 * time.Millisecond, 5 * time.Millisecond
	for name, test := range map[string]struct {
		sut      *fakeSUT
		queries  uint64
		problems []string // how they begin
	}{
		"both at their limit":   {speaking(ttft, ttft+9*tpot), 459, nil},
		"first token too late":  {speaking(ttft+1, ttft+1+9*tpot), 459, []string{"time to first token: ", "first token early stopping: "}},
		"other tokens too late": {speaking(ttft, ttft+9*tpot+9), 459, []string{"time per output token: ", "early stopping: "}},
		"both too late":         {speaking(ttft+1, ttft+9*tpot+10), 459, []string{"time to first token: ", "time per output token: ", "early stopping: "}},
		"too few queries":       {speaking(ttft, ttft+9*tpot), 458, []string{"early stopping: 458 "}},
	} {
		s := quick(Server, count(test.queries))
		s.UseTokenLatencies, s.ServerTTFTLatency, s.ServerTPOTLatency = true, ttft, tpot
		s.ServerTargetLatency = 50 * time.Millisecond // which is not looked at
		r := runFake(t, test.sut, s, Options{})
		problems := r.Problems()
		broken := slices.ContainsFunc(problems, func(p string) bool { return strings.HasPrefix(p, "time ") })
		if !slices.EqualFunc(problems, test.problems, strings.HasPrefix) || r.Valid() != (len(problems) == 0) || r.Performance.PerfConstraintsMet == broken {
			t.Errorf("%s: valid %v, constraints met %v, problems %q, want %q", name, r.Valid(), r.Performance.PerfConstraintsMet, problems, test.problems)
		}
	}
	// As in TestSlowQueryNeedsMoreQueries, with one first token that is late.
	for queries, valid := range map[uint64]bool{661: false, 662: true} {
		s := quick(Server, count(queries))
		s.UseTokenLatencies = true
		p := runFake(t, firstThenSpeaking(func(q Query) { speaking(time.Second, time.Second+9*time.Millisecond).issue(q) }), s, Options{}).Performance
		if p.Valid() != valid || !p.PerfConstraintsMet || !p.EarlyStopping.Met || p.OverlatencyFirstToken != 1 {
			t.Errorf("%d queries: valid %v, want %v: %v", queries, p.Valid(), valid, p.Problems())
		}
	}
}

// firstThenSpeaking is a SUT that treats the first query in its own way.
func firstThenSpeaking(first func(Query)) *fakeSUT {
	n := 0
	return &fakeSUT{issue: func(q Query) {
		if n++; n == 1 {
			first(q)
			return
		}
		speaking(time.Millisecond, 10*time.Millisecond).issue(q)
	}}
}

func TestTokenFaults(t *testing.T) {
	for name, test := range map[string]struct {
		wrong func(Query)
		fault string
	}{
		"no first token": {func(q Query) { q.Complete(tokensOf(q, 10)) }, "without having reported its first token"},
		"the first token after the last": {func(q Query) {
			q.Complete(tokensOf(q, 10))
			q.FirstToken(tokensOf(q, 1))
		}, "without having reported its first token"},
		"no number of tokens": {func(q Query) {
			q.FirstToken(tokensOf(q, 1))
			q.Complete(tokensOf(q, 0))
		}, "with 0 tokens, expected at least 2"},
		"a single token": {func(q Query) {
			q.FirstToken(tokensOf(q, 1))
			q.Complete(tokensOf(q, 1))
		}, "with 1 tokens, expected at least 2"},
		"the first token twice": {func(q Query) {
			q.FirstToken(tokensOf(q, 1))
			q.FirstToken(tokensOf(q, 1))
			q.Complete(tokensOf(q, 10))
		}, "reported the first token of sample 0 more than once"},
		"a first token of an unknown id": {func(q Query) {
			q.FirstToken([]QuerySampleResponse{{ID: 1 << 31}})
			speaking(1, 100).issue(q)
		}, "first token of response id 2147483648, which was not issued"},
		"a first token of a later sample": {func(q Query) {
			q.FirstToken([]QuerySampleResponse{{ID: 60}})
			speaking(1, 100).issue(q)
		}, "first token of response id 60, which was not issued"},
		"a failed sample has no tokens": {func(q Query) {
			q.Fail(q.Samples[0].ID, errors.New("bad prompt"))
		}, "[the SUT could not answer sample 0 (data index "}, // and no other fault
	} {
		s := quick(SingleStream, count(64))
		s.UseTokenLatencies = true
		r := runFake(t, firstThenSpeaking(test.wrong), s, Options{})
		if text := fmt.Sprint(r.Faults); r.Valid() || !strings.Contains(text, test.fault) || strings.HasPrefix(test.fault, "[") && len(r.Faults) != 1 {
			t.Errorf("%s: valid %v, faults %s, want %q", name, r.Valid(), text, test.fault)
		}
	}
	// After the end.
	inFakeTime(t, func(t *testing.T) {
		s := quick(Server, count(100))
		s.UseTokenLatencies = true
		var last Query
		sut := &fakeSUT{issue: func(q Query) {
			last = q
			speaking(time.Millisecond, 2*time.Millisecond).issue(q)
		}}
		qsl := samples()
		qsl.unloading = func() { last.FirstToken(tokensOf(last, 1)) }
		mustFault(t, mustRun(t, sut, qsl, s, timers), "reported a first token of sample 99 after its part of the test had ended")
	})
}
