package loadgen

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// atIntervals are settings for a query every 50 ms.
func atIntervals() TestSettings {
	s := quick(MultiStream)
	s.MultiStreamQPS, s.WithoutEarlyStopping = 20, true
	s.MinDuration, s.MinQueryCount = 10*time.Second, 200
	return s
}

func TestMultiStreamAtFixedIntervals(t *testing.T) {
	t.Run("a query is issued every interval", func(t *testing.T) {
		inFakeTime(t, func(t *testing.T) {
			r := mustRun(t, after(49*time.Millisecond), &fakeQSL{total: 100, performance: 100}, atIntervals(), timers)
			p := r.Performance
			if !r.Valid() || p.Skips != 0 || p.IntervalsTarget != 1 || p.QueryCount != 200 {
				t.Errorf("valid %v, %d skips in %d queries: %v", r.Valid(), p.Skips, p.QueryCount, p.Problems())
			}
			if p.QueryLatency.Max != 49*time.Millisecond {
				t.Errorf("latency %v, want 49ms from the interval on", p.QueryLatency.Max)
			}
		})
	})
	t.Run("a query that is too slow skips the next interval", func(t *testing.T) {
		inFakeTime(t, func(t *testing.T) {
			r := mustRun(t, after(60*time.Millisecond), &fakeQSL{total: 100, performance: 100}, atIntervals(), timers)
			p := r.Performance
			if r.Valid() || p.IntervalsTarget != 2 || p.Skips != p.QueryCount-1 {
				t.Errorf("valid %v, %d skips in %d queries", r.Valid(), p.Skips, p.QueryCount)
			}
			if problems := fmt.Sprint(p.Problems()); !strings.Contains(problems, "intervals: 2 intervals, want at most 1 interval at the 99th percentile") {
				t.Errorf("problems %s", problems)
			}
		})
	})
}

func TestASUTHasNotStalledBeforeItsFirstInterval(t *testing.T) {
	inFakeTime(t, func(t *testing.T) {
		s := atIntervals()
		s.MultiStreamQPS, s.MinDuration, s.MinQueryCount = 1./3600, 0, 2
		r := mustRun(t, after(49*time.Millisecond), &fakeQSL{total: 100, performance: 100}, s, timers)
		if len(r.Faults) > 0 || r.Performance.QueryCount != 2 {
			t.Errorf("%d queries, faults %v", r.Performance.QueryCount, r.Faults)
		}
	})
}

func TestAtMostOneQueryInAHundredMayMakeAnIntervalBeSkipped(t *testing.T) {
	for _, test := range []struct {
		queries, slow int
		valid         bool
	}{{200, 1, true}, {200, 2, false}, {1000, 9, true}, {1000, 10, false}} {
		inFakeTime(t, func(t *testing.T) {
			n := 0
			sut := &fakeSUT{issue: func(q Query) {
				latency := time.Millisecond
				if n++; n <= test.slow {
					latency = 60 * time.Millisecond
				}
				time.AfterFunc(latency, func() { answer(q) })
			}}
			s := atIntervals()
			s.MinDuration, s.MinQueryCount = 0, uint64(test.queries)
			r := mustRun(t, sut, &fakeQSL{total: 100, performance: 100}, s, timers)
			p := r.Performance
			if r.Valid() != test.valid || p.PerfConstraintsMet != test.valid || p.Skips != uint64(test.slow) {
				t.Errorf("%d slow queries of %d: valid %v, want %v; %d skips", test.slow, p.QueryCount, r.Valid(), test.valid, p.Skips)
			}
		})
	}
}

func TestALongQuerySkipsAsManyIntervalsAsItLasts(t *testing.T) {
	inFakeTime(t, func(t *testing.T) {
		n := 0
		sut := &fakeSUT{issue: func(q Query) {
			latency := 10 * time.Millisecond
			if n++; n == 5 {
				latency = 1020 * time.Millisecond // of 50 ms each
			}
			time.AfterFunc(latency, func() { answer(q) })
		}}
		s := atIntervals()
		s.MinQueryCount, s.MinDuration = 10, 0
		r := mustRun(t, sut, &fakeQSL{total: 100, performance: 100}, s, timers)
		var starts []time.Duration
		r.Performance.EachSample(func(s SampleRecord) {
			if s.ID%8 == 0 {
				starts = append(starts, s.Start/(50*time.Millisecond))
			}
		})
		if want := []time.Duration{1, 2, 3, 4, 5, 26, 27, 28, 29, 30}; !slices.Equal(starts, want) {
			t.Errorf("queries began at the intervals %v, want %v", starts, want)
		}
		if r.Performance.Intervals[0] != 1 || r.Performance.Intervals[len(percentiles)-1] != 21 {
			t.Errorf("intervals %v, want 1 … 21", r.Performance.Intervals)
		}
	})
}

func TestProgressCountsToWhatTheTestNeeds(t *testing.T) {
	streams := func(scenario Scenario, expected time.Duration) TestSettings {
		s := quick(scenario)
		s.MinDuration, s.MinQueryCount, s.WithoutEarlyStopping = 10*time.Second, 150, true
		s.SingleStreamExpectedLatencyNS, s.MultiStreamExpectedLatencyNS = float64(expected), float64(expected)
		return s
	}
	many := atIntervals()
	many.MinQueryCount = 300
	few := atIntervals()
	few.MinQueryCount, few.MaxQueryCount = 20, 100
	for _, test := range []struct {
		name     string
		settings TestSettings
		planned  uint64 // 0: as many as were issued
	}{
		{"the duration decides at fixed intervals", atIntervals(), 200},
		{"the number of queries decides at fixed intervals", many, 300},
		{"there are at most so many queries", few, 100},
		{"SingleStream as fast as expected", streams(SingleStream, 10*time.Millisecond), 1001},
		{"MultiStream as fast as expected", streams(MultiStream, 10*time.Millisecond), 1001},
		{"slower than expected", streams(SingleStream, 5*time.Millisecond), 2001},
		{"much faster than expected", streams(SingleStream, time.Second), 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			inFakeTime(t, func(t *testing.T) {
				var last Progress
				opts := timers
				opts.Progress = func(p Progress) { last = p }
				r := mustRun(t, after(10*time.Millisecond), &fakeQSL{total: 100, performance: 100}, test.settings, opts)
				perQuery := r.Performance.Effective.SamplesPerQuery
				if test.planned == 0 {
					test.planned = last.Issued
				}
				if last.Planned != test.planned || last.Samples != test.planned*perQuery || last.Completed > last.Samples {
					t.Errorf("progress counts to %d queries and %d samples, want %d queries of %d: there were %d",
						last.Planned, last.Samples, test.planned, perQuery, r.Performance.QueryCount)
				}
			})
		})
	}
}

func TestAnInterruptedIntervalIssuesNothing(t *testing.T) {
	inFakeTime(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(125*time.Millisecond, cancel)
		sut := atOnce()
		r, err := Run(ctx, sut, &fakeQSL{total: 100, performance: 100}, atIntervals(), timers)
		if err != nil {
			t.Fatal(err)
		}
		if len(sut.queries) != 2 || r.Performance.QueryCount != 2 || r.Valid() {
			t.Errorf("%d queries issued, %d counted; want 2 in 125ms", len(sut.queries), r.Performance.QueryCount)
		}
	})
}

func TestNoQueryNoInterval(t *testing.T) {
	inFakeTime(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(10*time.Millisecond, cancel)
		r, err := Run(ctx, atOnce(), &fakeQSL{total: 100, performance: 100}, atIntervals(), timers)
		if err != nil {
			t.Fatal(err)
		}
		if p := r.Performance; p.QueryCount != 0 || p.IntervalsTarget != 0 || p.Skips != 0 || r.Valid() {
			t.Errorf("%d queries, %d intervals, valid %v", p.QueryCount, p.IntervalsTarget, r.Valid())
		}
	})
}

func TestTheNextIntervalIsTheFirstThatIsNotOver(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		c := intervalClock{qps: math.Exp(r.Float64()*20 - 2)} // 0.1 to 65 million a second
		now, tick := int64(0), uint64(0)
		for range 20 {
			before := tick
			for tick++; nanoseconds(float64(tick)/c.qps) < now; tick++ { // one by one, as the reference
			}
			if at, passed := c.next(now); at != nanoseconds(float64(tick)/c.qps) || uint64(passed) != tick-before {
				t.Fatalf("at %g intervals a second, %d ns: the next is at %d ns, %d on; want number %d, %d on", c.qps, now, at, passed, tick, tick-before)
			}
			now = nanoseconds(float64(tick)/c.qps) + r.Int64N(1+int64(5e9/c.qps))
		}
	}
	// Far behind at a high rate, the intervals are not counted one by one.
	c := intervalClock{qps: 1e9}
	if at, passed := c.next(int64(time.Hour)); at != int64(time.Hour) || passed != math.MaxUint32 {
		t.Errorf("after an hour the next interval is at %d ns, %d on", at, passed)
	}
}
