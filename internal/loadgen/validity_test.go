package loadgen

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestValidityRules(t *testing.T) {
	tests := []struct {
		name    string
		change  func(*TestSettings)
		sut     *fakeSUT
		problem string // part of the first problem; "" if valid
	}{
		{"Server within its latency", func(s *TestSettings) { *s = quick(Server) }, after(100 * time.Millisecond), ""},
		{"Server above its latency", func(s *TestSettings) { *s = quick(Server) }, after(101 * time.Millisecond), "latency: "},
		{"Server too short", func(s *TestSettings) { *s = quick(Server); s.MaxQueryCount = 2000 }, after(1), "duration: "},
		{"Server with too few queries for early stopping", func(s *TestSettings) {
			*s = quick(Server)
			s.MinDuration, s.MinQueryCount = 0, 400
		}, after(1), "early stopping: 400 "},
		{"Server with just enough queries for early stopping", func(s *TestSettings) {
			*s = quick(Server)
			s.MinDuration, s.MinQueryCount = 0, 459
		}, after(1), ""},
		{"SingleStream too few queries", func(s *TestSettings) {
			s.MinDuration, s.MinQueryCount, s.MaxQueryCount = 0, 100, 99
		}, after(1), "queries: 99 "},
		{"SingleStream with too few queries for early stopping", func(s *TestSettings) {
			s.MinDuration, s.MinQueryCount = 0, 63
		}, after(1), "early stopping: 63 "},
		{"SingleStream with just enough queries for early stopping", func(s *TestSettings) {
			s.MinDuration, s.MinQueryCount = 0, 64
		}, after(1), ""},
		{"SingleStream cut by max_duration", func(s *TestSettings) { s.MaxDuration = 4 * time.Second }, after(time.Millisecond), "duration: "},
		{"SingleStream out of unique samples", func(s *TestSettings) {
			s.PerformanceIssueUnique, s.MinDuration = true, 0
		}, after(time.Millisecond), "queries: 80 "},
		{"MultiStream with too few queries for early stopping", func(s *TestSettings) {
			s.Scenario, s.MinDuration, s.MinQueryCount = MultiStream, 0, 661
		}, after(1), "early stopping: 661 "},
		{"MultiStream with just enough queries for early stopping", func(s *TestSettings) {
			s.Scenario, s.MinDuration, s.MinQueryCount = MultiStream, 0, 662
		}, after(1), ""},
		{"Server with too few queries for early stopping, under rules without it", func(s *TestSettings) {
			*s = quick(Server)
			s.MinDuration, s.MinQueryCount, s.WithoutEarlyStopping = 0, 400, true
		}, after(1), ""},
		{"Server too few queries", func(s *TestSettings) {
			*s = quick(Server)
			s.MinDuration, s.MinQueryCount, s.MaxQueryCount = 0, 500, 499
		}, after(1), "queries: 499 "},
		{"Server that never reaches max_query_count", func(s *TestSettings) {
			*s = quick(Server)
			s.MinDuration, s.MinQueryCount, s.MaxQueryCount = 0, 500, 501
		}, after(1), ""},
		{"SingleStream that has enough queries when max_query_count comes", func(s *TestSettings) {
			s.MinDuration, s.MinQueryCount, s.MaxQueryCount = 0, 100, 100
		}, after(1), ""},
		{"SingleStream with too few queries for early stopping, under rules without it", func(s *TestSettings) {
			s.MinDuration, s.MinQueryCount, s.WithoutEarlyStopping = 0, 63, true
		}, after(1), ""},
		{"SingleStream long enough when max_duration comes", func(s *TestSettings) { s.MaxDuration = 6 * time.Second }, after(time.Millisecond), ""},
		{"SingleStream with enough unique samples", func(s *TestSettings) {
			s.PerformanceIssueUnique, s.MinDuration, s.MinQueryCount = true, 0, 80
		}, after(time.Millisecond), ""},
		{"MultiStream too short", func(s *TestSettings) {
			s.Scenario, s.MaxQueryCount, s.MinQueryCount = MultiStream, 700, 662
		}, after(time.Millisecond), "duration: "},
		{"MultiStream long enough", func(s *TestSettings) { s.Scenario = MultiStream }, after(time.Millisecond), ""},
		{"MultiStream too few queries", func(s *TestSettings) {
			s.Scenario, s.MinDuration, s.MinQueryCount, s.MaxQueryCount = MultiStream, 0, 800, 799
		}, after(1), "queries: 799 "},
		{"Offline too short", func(s *TestSettings) { *s = quick(Offline) }, after(4 * time.Second), "duration: "},
		{"Offline long enough", func(s *TestSettings) { *s = quick(Offline) }, after(5 * time.Second), ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			inFakeTime(t, func(t *testing.T) {
				s := quick(SingleStream)
				test.change(&s)
				sut := &fakeSUT{issue: test.sut.issue}
				r := mustRun(t, sut, &fakeQSL{total: 500, performance: 80}, s, timers)
				problems := r.Performance.Problems()
				if test.problem == "" {
					if !r.Valid() || len(problems) > 0 {
						t.Errorf("INVALID: %v, want VALID", problems)
					}
					return
				}
				if r.Valid() || len(problems) == 0 || !strings.Contains(problems[0], test.problem) {
					t.Errorf("problems %q, want one with %q", problems, test.problem)
				}
			})
		})
	}
}

func TestStreamsGoOnBeyondWhatWasPrepared(t *testing.T) {
	inFakeTime(t, func(t *testing.T) {
		s := quick(SingleStream)
		s.SingleStreamExpectedLatencyNS = 1e9 // 100 times too slow
		s.MinQueryCount = 1
		r := mustRun(t, after(10*time.Millisecond), &fakeQSL{total: 10, performance: 10}, s, timers)
		if !r.Valid() || r.Performance.QueryCount < 500 {
			t.Errorf("%d queries, valid: %v; want 500 and VALID", r.Performance.QueryCount, r.Valid())
		}
	})
}

// A latePacer returns later than it should, by always the same time.
type latePacer struct {
	TimerPacer
	by time.Duration
}

func (p latePacer) WaitUntil(ctx context.Context, start time.Time, offset time.Duration) time.Duration {
	return p.TimerPacer.WaitUntil(ctx, start, offset+p.by)
}

func TestALateGeneratorIsToldFromASlowSUT(t *testing.T) {
	server := func(latency time.Duration) TestSettings {
		s := quick(Server)
		s.MinDuration, s.MinQueryCount, s.ServerTargetQPS, s.ServerTargetLatency = 0, 459, 2, latency
		return s
	}
	intervals := quick(MultiStream)
	intervals.MinDuration, intervals.MinQueryCount, intervals.MultiStreamQPS, intervals.WithoutEarlyStopping = 0, 200, 20, true
	for _, test := range []struct {
		name     string
		settings TestSettings
		late     time.Duration
		bound    time.Duration // MaxIssueDelay
		problems []string      // how they begin
	}{
		{"Server, half the latency bound late", server(100 * time.Millisecond), 50 * time.Millisecond, 0, nil},
		{"Server, later than half the latency bound", server(100 * time.Millisecond), 50*time.Millisecond + 1, 0,
			[]string{"generator: 50.000001ms, want at most 50ms at the 99th percentile; "}},
		{"Server, at a bound of its own", server(100 * time.Millisecond), time.Millisecond, time.Millisecond, nil},
		{"Server, above a bound of its own", server(100 * time.Millisecond), time.Millisecond + 1, time.Millisecond, []string{"generator: "}},
		{"Server without a latency bound has no bound of lateness either", server(0), time.Millisecond, 0, []string{"latency: ", "early stopping: "}},
		{"fixed intervals, half of one late", intervals, 25 * time.Millisecond, 0, nil},
		{"fixed intervals, more than half of one late", intervals, 25*time.Millisecond + 1, 0, []string{"generator: "}},
	} {
		t.Run(test.name, func(t *testing.T) {
			inFakeTime(t, func(t *testing.T) {
				opts := Options{MaxIssueDelay: test.bound, NewPacer: func() Pacer { return latePacer{by: test.late} }}
				r := mustRun(t, atOnce(), &fakeQSL{total: 500, performance: 80}, test.settings, opts)
				p := r.Performance
				if p.IssueDelay.Target != test.late {
					t.Errorf("the issue delay is %v, want %v", p.IssueDelay.Target, test.late)
				}
				problems := p.Problems()
				same := slices.EqualFunc(problems, test.problems, strings.HasPrefix)
				if !same || r.Valid() != (len(problems) == 0) {
					t.Errorf("valid %v, problems %q, want %q", r.Valid(), problems, test.problems)
				}
			})
		})
	}
}

func TestMaxAsyncQueriesEndsARun(t *testing.T) {
	for _, test := range []struct {
		name    string
		latency time.Duration
		limit   uint64
		queries uint64 // 0: all
	}{
		{"more outstanding than the limit", time.Second, 10, 11},
		{"never more outstanding than the limit", time.Nanosecond, 1, 0},
		{"no limit", time.Second, 0, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			inFakeTime(t, func(t *testing.T) {
				s := quick(Server)
				s.ServerMaxAsyncQueries, s.ServerTargetLatency, s.MinQueryCount = test.limit, time.Second, 459
				r := mustRun(t, after(test.latency), &fakeQSL{total: 500, performance: 100}, s, timers)
				n, ended := r.Performance.QueryCount, hasEvent(r, "outstanding")
				if test.queries == 0 {
					if !r.Valid() || ended || n < 4500 {
						t.Errorf("%d queries, valid %v, events %v; want about 5000, VALID", n, r.Valid(), r.Events)
					}
				} else if r.Valid() || !ended || n != test.queries {
					t.Errorf("%d queries, valid %v, events %v; want %d, INVALID", n, r.Valid(), r.Events, test.queries)
				}
			})
		})
	}
}

func TestMaxQueryCountIsSharedByTheIssueThreads(t *testing.T) {
	for _, threads := range []uint64{1, 2, 3, 7} {
		inFakeTime(t, func(t *testing.T) {
			s := quick(Server)
			s.ServerNumIssueQueryThreads, s.MaxQueryCount = threads, 10
			r := mustRun(t, atOnce(), &fakeQSL{total: 500, performance: 100}, s, timers)
			if r.Valid() || r.Performance.QueryCount != 10 || !hasEvent(r, "max_query_count is reached") {
				t.Errorf("%d threads: %d queries, valid %v; want 10, INVALID", threads, r.Performance.QueryCount, r.Valid())
			}
		})
	}
}

func TestMaxDurationEndsARun(t *testing.T) {
	for _, scenario := range []Scenario{SingleStream, MultiStream, Server} {
		inFakeTime(t, func(t *testing.T) {
			s := quick(scenario)
			s.MaxDuration = 2 * time.Second
			r := mustRun(t, after(time.Millisecond), &fakeQSL{total: 500, performance: 100}, s, timers)
			if got := r.Performance.LastCompletion; got < 2*time.Second || got > 2100*time.Millisecond {
				t.Errorf("%v: the test lasted %v, want little more than 2s", scenario, got)
			}
			if r.Valid() || !hasEvent(r, "max_duration is reached") || r.Performance.MinDurationMet {
				t.Errorf("%v: valid %v, events %v", scenario, r.Valid(), r.Events)
			}
		})
	}
}

func TestASlowQueryMustBeMadeUpFor(t *testing.T) {
	// Early stopping wants 662 queries if one of them is above the limit, although 1 of 661
	// is well below the percentile.
	for queries, valid := range map[uint64]bool{661: false, 662: true} {
		inFakeTime(t, func(t *testing.T) {
			s := quick(Server)
			s.MinDuration, s.MinQueryCount = 0, queries
			sut := &fakeSUT{issue: firstQuery(func(q Query) { time.AfterFunc(time.Second, func() { answer(q) }) })}
			p := mustRun(t, sut, &fakeQSL{total: 500, performance: 100}, s, timers).Performance
			if p.Valid() != valid || !p.PerfConstraintsMet || p.Overlatency != 1 {
				t.Errorf("%d queries, %d above the limit: valid %v, want %v: %v", queries, p.Overlatency, p.Valid(), valid, p.Problems())
			}
			if es := p.EarlyStopping; es.Processed != queries || es.Needed != 662 {
				t.Errorf("early stopping %+v", es)
			}
		})
	}
}

func hasEvent(r *Result, text string) bool {
	return slices.ContainsFunc(r.Events, func(e Event) bool { return e.IsError && strings.Contains(fmt.Sprint(e.Value), text) })
}
