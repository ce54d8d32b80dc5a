package loadgen

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestTokenLatencies(t *testing.T) {
	// First token after 20 ms, then 9 more at 5 ms each.
	sut := func() *fakeSUT {
		return &fakeSUT{issue: func(q Query) {
			time.AfterFunc(20*time.Millisecond, func() {
				for _, s := range q.Samples {
					q.FirstToken([]QuerySampleResponse{{ID: s.ID, Data: []byte{1}}})
				}
			})
			time.AfterFunc(65*time.Millisecond, func() {
				for _, s := range q.Samples {
					q.Complete([]QuerySampleResponse{{ID: s.ID, NTokens: 10, Data: []byte{1, 2}}})
				}
			})
		}}
	}
	tokens := func(s TestSettings) TestSettings {
		s.UseTokenLatencies = true
		s.MinQueryCount = 700
		return s
	}
	for _, scenario := range []Scenario{SingleStream, MultiStream, Server} {
		t.Run(scenario.String(), func(t *testing.T) {
			inFakeTime(t, func(t *testing.T) {
				r := mustRun(t, sut(), &fakeQSL{total: 100, performance: 100}, tokens(quick(scenario)), timers)
				p := r.Performance
				if !r.Valid() {
					t.Errorf("INVALID: %v %v", p.Problems(), r.Faults)
				}
				if p.FirstToken.Mean != 20*time.Millisecond || p.TimePerOutputToken.Mean != 5*time.Millisecond {
					t.Errorf("TTFT %v, TPOT %v, want 20ms and 5ms", p.FirstToken.Mean, p.TimePerOutputToken.Mean)
				}
				if want := int64(10 * p.SampleCount); p.TokenCount != want {
					t.Errorf("%d tokens, want %d", p.TokenCount, want)
				}
			})
		})
	}
	t.Run("Offline needs no first token", func(t *testing.T) {
		inFakeTime(t, func(t *testing.T) {
			s := tokens(quick(Offline))
			s.MinDuration, s.MinQueryCount = 0, 30
			r := mustRun(t, &fakeSUT{issue: func(q Query) {
				for _, sample := range q.Samples {
					q.Complete([]QuerySampleResponse{{ID: sample.ID, NTokens: 3}})
				}
			}}, &fakeQSL{total: 100, performance: 100}, s, timers)
			if !r.Valid() || r.Performance.TokenCount != 90 {
				t.Errorf("valid %v, %d tokens, faults %v", r.Valid(), r.Performance.TokenCount, r.Faults)
			}
		})
	})
	t.Run("the accuracy log has the tokens", func(t *testing.T) {
		inFakeTime(t, func(t *testing.T) {
			s := tokens(quick(Server))
			s.Mode = AccuracyOnly
			log := &memoryLog{}
			opts := timers
			opts.AccuracyLog = log
			mustRun(t, sut(), &fakeQSL{total: 10, performance: 10}, s, opts)
			for _, r := range log.records {
				if !r.HasTokens || r.NTokens != 10 || len(r.TokenData) != 1 {
					t.Errorf("record %+v", r)
				}
			}
		})
	})
}

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
		responses[i] = QuerySampleResponse{ID: s.ID, NTokens: n}
	}
	return responses
}

func TestTokenConstraints(t *testing.T) {
	const ttft, tpot = 20 * time.Millisecond, 5 * time.Millisecond
	for _, test := range []struct {
		name     string
		sut      *fakeSUT
		queries  uint64
		problems []string // how they begin
	}{
		{"both at their limit", speaking(ttft, ttft+9*tpot), 459, nil},
		{"the first token above its limit", speaking(ttft+1, ttft+1+9*tpot), 459, []string{"time to first token: ", "first token early stopping: "}},
		{"the other tokens above their limit", speaking(ttft, ttft+9*tpot+9), 459, []string{"time per output token: ", "early stopping: "}},
		{"both above", speaking(ttft+1, ttft+9*tpot+10), 459, []string{"time to first token: ", "time per output token: ", "early stopping: "}},
		{"a total that would be above the target latency does not count", speaking(ttft, ttft+9*tpot), 500, nil},
		{"too few queries", speaking(ttft, ttft+9*tpot), 458, []string{"early stopping: 458 "}},
	} {
		t.Run(test.name, func(t *testing.T) {
			inFakeTime(t, func(t *testing.T) {
				s := quick(Server)
				s.UseTokenLatencies, s.MinDuration, s.MinQueryCount = true, 0, test.queries
				s.ServerTTFTLatency, s.ServerTPOTLatency, s.ServerTargetLatency = ttft, tpot, 50*time.Millisecond
				r := mustRun(t, test.sut, &fakeQSL{total: 100, performance: 100}, s, timers)
				problems := r.Performance.Problems()
				if !slices.EqualFunc(problems, test.problems, strings.HasPrefix) || r.Valid() != (len(problems) == 0) {
					t.Errorf("valid %v, problems %q, want %q", r.Valid(), problems, test.problems)
				}
				// Either bound is a constraint on performance, as the summary says it.
				broken := slices.ContainsFunc(problems, func(p string) bool { return strings.HasPrefix(p, "time ") })
				if r.Performance.PerfConstraintsMet == broken {
					t.Errorf("constraints met: %v, problems %q", r.Performance.PerfConstraintsMet, problems)
				}
			})
		})
	}
}

func TestFirstTokensNeedEnoughQueriesToo(t *testing.T) {
	// As in TestASlowQueryMustBeMadeUpFor, with one first token that is late.
	for queries, valid := range map[uint64]bool{661: false, 662: true} {
		inFakeTime(t, func(t *testing.T) {
			s := quick(Server)
			s.UseTokenLatencies, s.MinDuration, s.MinQueryCount = true, 0, queries
			n := 0
			sut := &fakeSUT{issue: func(q Query) {
				if n++; n == 1 {
					speaking(time.Second, time.Second+9*time.Millisecond).issue(q)
					return
				}
				speaking(time.Millisecond, 10*time.Millisecond).issue(q)
			}}
			p := mustRun(t, sut, &fakeQSL{total: 100, performance: 100}, s, timers).Performance
			if p.Valid() != valid || !p.PerfConstraintsMet || !p.EarlyStopping.Met || p.OverlatencyFirstToken != 1 {
				t.Errorf("%d queries: valid %v, want %v: %v", queries, p.Valid(), valid, p.Problems())
			}
		})
	}
}

func TestTokensThatAreNotReportedAsTheyShouldBeAreFaults(t *testing.T) {
	for _, test := range []struct {
		name  string
		wrong func(Query)
		fault string
	}{
		{"no first token", func(q Query) { q.Complete(tokensOf(q, 10)) }, "without having reported its first token"},
		{"the first token after the last", func(q Query) {
			q.Complete(tokensOf(q, 10))
			q.FirstToken(tokensOf(q, 1))
		}, "without having reported its first token"},
		{"no number of tokens", func(q Query) {
			q.FirstToken(tokensOf(q, 1))
			q.Complete(tokensOf(q, 0))
		}, "with 0 tokens, want at least 2"},
		{"a single token", func(q Query) {
			q.FirstToken(tokensOf(q, 1))
			q.Complete(tokensOf(q, 1))
		}, "with 1 tokens, want at least 2"},
		{"the first token twice", func(q Query) {
			q.FirstToken(tokensOf(q, 1))
			q.FirstToken(tokensOf(q, 1))
			q.Complete(tokensOf(q, 10))
		}, "reported the first token of sample 0 more than once"},
		{"a first token of nobody", func(q Query) {
			q.FirstToken([]QuerySampleResponse{{ID: 1 << 31}})
			speaking(1, 100).issue(q)
		}, "first token of response id 2147483648, which was not issued"},
		{"a first token of a sample that comes later", func(q Query) {
			q.FirstToken([]QuerySampleResponse{{ID: 60}})
			speaking(1, 100).issue(q)
		}, "first token of response id 60, which was not issued"},
		{"a sample that could not be answered has no tokens", func(q Query) {
			q.Fail(q.Samples[0].ID, errors.New("bad prompt"))
		}, "[the SUT could not answer sample 0 (data index 4): bad prompt]"}, // and no other fault
	} {
		t.Run(test.name, func(t *testing.T) {
			inFakeTime(t, func(t *testing.T) {
				s := quick(SingleStream)
				s.UseTokenLatencies, s.MinDuration, s.MinQueryCount = true, 0, 64
				good := speaking(time.Millisecond, 10*time.Millisecond)
				n := 0
				sut := &fakeSUT{issue: func(q Query) {
					if n++; n == 1 {
						test.wrong(q)
						return
					}
					good.issue(q)
				}}
				r := mustRun(t, sut, &fakeQSL{total: 10, performance: 10}, s, timers)
				if text := fmt.Sprint(r.Faults); r.Valid() || !strings.Contains(text, test.fault) {
					t.Errorf("valid %v, faults %s, want %q", r.Valid(), text, test.fault)
				}
			})
		})
	}
}

func TestAFirstTokenAfterTheEndIsNamed(t *testing.T) {
	inFakeTime(t, func(t *testing.T) {
		s := quick(Server)
		s.UseTokenLatencies, s.MinDuration = true, 0
		var last Query
		sut := &fakeSUT{issue: func(q Query) {
			last = q
			speaking(time.Millisecond, 2*time.Millisecond).issue(q)
		}}
		qsl := &fakeQSL{total: 10, performance: 10, unloading: func() { last.FirstToken(tokensOf(last, 1)) }}
		mustFault(t, mustRun(t, sut, qsl, s, timers), "reported a first token of sample 99 after its part of the test had ended")
	})
}

func TestASUTThatNeverSpeaksHasNoEstimate(t *testing.T) {
	inFakeTime(t, func(t *testing.T) {
		s := quick(SingleStream)
		s.UseTokenLatencies, s.MinDuration, s.MinQueryCount = true, 0, 64
		p := mustRun(t, after(time.Millisecond), &fakeQSL{total: 10, performance: 10}, s, timers).Performance
		if p.FirstToken.Count != 0 || p.TimePerOutputToken.Count != 0 || p.EarlyStopping.Estimate != 0 || p.TokenCount != 0 {
			t.Errorf("TTFT %+v, TPOT %+v, estimate %v, %d tokens", p.FirstToken, p.TimePerOutputToken, p.EarlyStopping.Estimate, p.TokenCount)
		}
	})
}
