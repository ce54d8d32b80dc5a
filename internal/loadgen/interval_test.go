package loadgen

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/testenv"
)

// atIntervals are settings for 200 queries, one every 50 ms.
func atIntervals() TestSettings {
	s := quick(MultiStream)
	s.MultiStreamQPS, s.WithoutEarlyStopping = 20, true
	s.MinDuration, s.MinQueryCount = 10*time.Second, 200
	return s
}

func TestFixedIntervals(t *testing.T) {
	r := runFake(t, after(49*time.Millisecond), atIntervals(), Options{})
	if p := r.Performance; !r.Valid() || p.Skips != 0 || p.IntervalsTarget != 1 || p.QueryCount != 200 || p.QueryLatency.Max != 49*time.Millisecond || !p.HasPerfConstraints() {
		t.Errorf("valid %v, %d skips in %d queries, latency %v: %v", r.Valid(), p.Skips, p.QueryCount, p.QueryLatency.Max, r.Problems())
	}
	// A query that is too slow skips the next interval.
	r = runFake(t, after(60*time.Millisecond), atIntervals(), Options{})
	if p := r.Performance; r.Valid() || p.IntervalsTarget != 2 || p.Skips != p.QueryCount-1 ||
		!strings.HasPrefix(r.Problems()[0], "intervals: 2 intervals, must be at most 1 interval at the 99th percentile") {
		t.Errorf("valid %v, %d skips in %d queries: %v", r.Valid(), p.Skips, p.QueryCount, r.Problems())
	}
	// A SUT has not stalled before its first interval.
	s := atIntervals()
	s.MultiStreamQPS, s.MinDuration, s.MinQueryCount = 1./3600, 0, 2
	if r := runFake(t, after(49*time.Millisecond), s, Options{}); len(r.Faults) > 0 || r.Performance.QueryCount != 2 {
		t.Errorf("%d queries, faults %v", r.Performance.QueryCount, r.Faults)
	}
}

func TestOnePercentOfIntervalsMayBeSkipped(t *testing.T) {
	for _, test := range []struct {
		queries, slow uint64
		valid         bool
	}{{200, 1, true}, {200, 2, false}, {1000, 9, true}, {1000, 10, false}} {
		n := uint64(0)
		sut := &fakeSUT{issue: func(q Query) {
			latency := time.Millisecond
			if n++; n <= test.slow {
				latency = 60 * time.Millisecond
			}
			time.AfterFunc(latency, func() { answer(q) })
		}}
		s := atIntervals()
		count(test.queries)(&s)
		r := runFake(t, sut, s, Options{})
		if p := r.Performance; r.Valid() != test.valid || p.PerfConstraintsMet != test.valid || p.Skips != test.slow {
			t.Errorf("%d slow queries of %d: valid %v, want %v; %d skips", test.slow, p.QueryCount, r.Valid(), test.valid, p.Skips)
		}
	}
}

func TestLongQuerySkipsIntervals(t *testing.T) {
	n := 0
	sut := &fakeSUT{issue: func(q Query) {
		latency := 10 * time.Millisecond
		if n++; n == 5 {
			latency = 1020 * time.Millisecond // of 50 ms each
		}
		time.AfterFunc(latency, func() { answer(q) })
	}}
	s := atIntervals()
	count(10)(&s)
	p := runFake(t, sut, s, Options{}).Performance
	var starts []time.Duration
	p.EachSample(func(s SampleRecord) {
		if s.ID%8 == 0 {
			starts = append(starts, s.Start/(50*time.Millisecond))
		}
	})
	if want := []time.Duration{1, 2, 3, 4, 5, 26, 27, 28, 29, 30}; !slices.Equal(starts, want) {
		t.Errorf("queries began at the intervals %v, want %v", starts, want)
	}
	if p.Intervals[0] != 1 || p.Intervals[len(percentiles)-1] != 21 {
		t.Errorf("intervals %v, want 1 … 21", p.Intervals)
	}
}

func TestInterruptedIntervalIssuesNothing(t *testing.T) {
	for after, want := range map[time.Duration]int{10 * time.Millisecond: 0, 125 * time.Millisecond: 2} {
		inFakeTime(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), after)
			defer cancel()
			sut := atOnce()
			r, err := Run(ctx, sut, samples(), atIntervals(), timers)
			testenv.Must(t, err)
			if p := r.Performance; len(sut.queries) != want || p.QueryCount != uint64(want) || p.Skips != 0 || r.Valid() {
				t.Errorf("%d queries issued in %v, %d counted; want %d", len(sut.queries), after, p.QueryCount, want)
			}
		})
	}
}

func TestIntervalClock(t *testing.T) {
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
