package loadgen

import (
	"errors"
	"reflect"
	"testing"
	"time"
)

// progressOf runs a test with a SUT and returns what was reported meanwhile, but for the settings.
func progressOf(t *testing.T, sut SUT, s TestSettings) (seen []Progress, r *Result) {
	t.Helper()
	r = runFake(t, sut, s, Options{Progress: func(p Progress) {
		if p.Test == nil || p.Test.Scenario != s.Scenario {
			t.Errorf("a report of %+v, want the test's settings", p.Test)
		}
		p.Test = nil
		seen = append(seen, p)
	}})
	return seen, r
}

func TestProgress(t *testing.T) {
	const ms = time.Millisecond
	intervals := atIntervals()
	intervals.MultiStreamQPS, intervals.MinDuration, intervals.MinQueryCount = 1, 0, 2
	server := quick(Server)
	server.ServerTargetLatency = 4 * ms
	for name, c := range map[string]struct {
		settings TestSettings
		latency  time.Duration
		reports  int
		report   int // which one is compared
		want     Progress
	}{
		"SingleStream": {quick(SingleStream), 7 * ms, 10, 8, Progress{
			Set: 1, Sets: 1, Elapsed: 4500 * ms, PlannedDuration: 5 * time.Second, Issued: 643, Planned: 5001, Completed: 642, Samples: 5001,
			RecentP50: 7 * ms, RecentP90: 7 * ms, RecentP99: 7 * ms, RecentTarget: 7 * ms,
		}},
		"Offline is one query": {quick(Offline), 1200 * ms, 2, 1, Progress{Set: 1, Sets: 1, Elapsed: time.Second, Issued: 1, Planned: 1, Samples: 5500}},
		"accuracy mode counts loaded sets": {quick(SingleStream, accuracyOnly), 9 * ms, 5, 2, Progress{
			Accuracy: true, Set: 3, Sets: 5, Elapsed: 500 * ms, Issued: 56, Planned: 100, Completed: 55, Samples: 100,
			RecentP50: 9 * ms, RecentP90: 9 * ms, RecentP99: 9 * ms, RecentTarget: 9 * ms,
		}},
		"before the first query": {intervals, 0, 4, 0, Progress{Set: 1, Sets: 1, Elapsed: 500 * ms, Planned: 2, Samples: 16}},
	} {
		t.Run(name, func(t *testing.T) {
			seen, _ := progressOf(t, after(c.latency), c.settings)
			if len(seen) != c.reports || seen[c.report] != c.want {
				t.Errorf("%d reports, want %d; number %d is\n%+v, want\n%+v", len(seen), c.reports, c.report, seen[c.report], c.want)
			}
		})
	}
	// Against a bound, with latencies of 1 to 5 ms in turn.
	n := 0
	seen, _ := progressOf(t, &fakeSUT{issue: func(q Query) {
		n++
		time.AfterFunc(time.Duration(1+n%5)*ms, func() { answer(q) })
	}}, server)
	last := seen[len(seen)-1]
	if last.RecentP50 != 3*ms || last.RecentP90 != 5*ms || last.RecentWithin < 0.79 || last.RecentWithin > 0.81 {
		t.Errorf("the last report is %+v, want a median of 3ms, and four in five within the bound", last)
	}
}

func TestProgressCountsToWhatTheTestNeeds(t *testing.T) {
	streams := func(scenario Scenario, expected time.Duration) TestSettings {
		s := quick(scenario)
		s.MinDuration, s.MinQueryCount, s.WithoutEarlyStopping = 10*time.Second, 150, true
		s.SingleStreamExpectedLatencyNS, s.MultiStreamExpectedLatencyNS = float64(expected), float64(expected)
		return s
	}
	many, few := atIntervals(), atIntervals()
	many.MinQueryCount = 300
	few.MinQueryCount, few.MaxQueryCount = 20, 100
	for name, c := range map[string]struct {
		settings TestSettings
		planned  uint64 // 0: as many as were issued
	}{
		"intervals of the duration":            {atIntervals(), 200},
		"as many intervals as queries":         {many, 300},
		"max_query_count":                      {few, 100},
		"SingleStream as fast as expected":     {streams(SingleStream, 10*time.Millisecond), 1001},
		"MultiStream as fast as expected":      {streams(MultiStream, 10*time.Millisecond), 1001},
		"SingleStream slower than expected":    {streams(SingleStream, 5*time.Millisecond), 2001},
		"SingleStream much faster than wanted": {streams(SingleStream, time.Second), 0},
	} {
		seen, r := progressOf(t, after(10*time.Millisecond), c.settings)
		last, perQuery := seen[len(seen)-1], r.Performance.Effective.SamplesPerQuery
		if c.planned == 0 {
			c.planned = last.Issued
		}
		if last.Planned != c.planned || last.Samples != c.planned*perQuery || last.Completed > last.Samples {
			t.Errorf("%s: progress counts to %d queries and %d samples, want %d queries of %d", name, last.Planned, last.Samples, c.planned, perQuery)
		}
	}
}

func TestCheckpointIsAnInterruptedResult(t *testing.T) {
	for _, scenario := range Scenarios() {
		var kept []*Result
		opts := Options{Checkpoint: func(r *Result) { kept = append(kept, r) }, CheckpointEvery: time.Second}
		r := runFake(t, after(100*time.Millisecond), quick(scenario), opts)
		want := 4
		if scenario == Offline {
			want = 1 // it is over too soon
		}
		if len(kept) < want || r.Interrupted != nil {
			t.Fatalf("%v: %d checkpoints, want one at the start and one every second; interrupted by %v", scenario, len(kept), r.Interrupted)
		}
		last := uint64(0)
		for i, k := range kept {
			if k.Valid() || !errors.Is(k.Interrupted, ErrUnfinished) || !reflect.DeepEqual(k.Effective, r.Effective) || k.Errors() != 1 || (k.Performance == nil) != (i == 0) {
				t.Fatalf("%v, checkpoint %d: valid %v, interrupted by %v, %d errors, performance %v", scenario, i, k.Valid(), k.Interrupted, k.Errors(), k.Performance)
			}
			if p := k.Performance; p != nil {
				if p.SampleCount <= last || p.SampleLatency.Count != p.SampleCount {
					t.Errorf("%v: checkpoint %d has %d samples, the one before %d", scenario, i, p.SampleCount, last)
				}
				last = p.SampleCount
			}
		}
	}
}

func TestCheckpointInterval(t *testing.T) {
	n := 0
	s := quick(Server, func(s *TestSettings) { s.MinDuration, s.ServerTargetQPS = 130*time.Second, 10 })
	runFake(t, after(time.Millisecond), s, Options{Checkpoint: func(*Result) { n++ }})
	if n != 3 {
		t.Errorf("%d checkpoints in 130 seconds, want one at the start and one each minute", n)
	}
}

func TestUnsavedCheckpointDoesNotHangTheTest(t *testing.T) {
	inFakeTime(t, func(t *testing.T) {
		release := make(chan struct{})
		defer close(release)
		opts := timers
		opts.Checkpoint, opts.LogTimeout = func(*Result) { <-release }, 7*time.Second
		mustFault(t, mustRun(t, after(time.Millisecond), samples(), quick(Server), opts), "a checkpoint has not been saved within 7s")
	})
}
