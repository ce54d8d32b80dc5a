package loadgen

import (
	"context"
	"errors"
	"math"
	"strings"
	"sync"
	"testing"
	"time"
)

// findPeak runs FindPeakPerformance with a SUT of one worker that takes 10 ms for each query: 100 queries per second are the end.
func findPeak(t *testing.T, qsl QSL, limit time.Duration, changes ...func(*TestSettings)) (r *Result) {
	t.Helper()
	inFakeTime(t, func(t *testing.T) {
		queue := make(chan Query, 1<<16)
		var worker sync.WaitGroup
		worker.Go(func() {
			for q := range queue {
				time.Sleep(10 * time.Millisecond)
				answer(q)
			}
		})
		defer worker.Wait()
		defer close(queue)
		s := quick(Server)
		s.Mode = FindPeakPerformance
		s.ServerTargetQPS, s.MinDuration, s.ServerTargetLatency = 10, 30*time.Second, 500*time.Millisecond
		s.ServerFindPeakQPSDecimalsOfPrecision = 0
		for _, change := range changes {
			change(&s)
		}
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		defer cancel()
		var err error
		if r, err = Run(ctx, &fakeSUT{issue: func(q Query) { queue <- q }}, qsl, s, timers); err != nil {
			t.Fatal(err)
		}
	})
	return r
}

func TestFindPeakPerformance(t *testing.T) {
	qsl := samples()
	r := findPeak(t, qsl, time.Hour)
	peak := r.Performance.Effective.TargetQPS
	if peak < 80 || peak > 105 || !r.Performance.PerfConstraintsMet || len(r.Faults) > 0 {
		t.Errorf("peak at %g queries per second, want a little below 100; faults %v", peak, r.Faults)
	}
	// The reference's search, step by step: double until it fails, then halve the interval.
	low, high, widened := 10.0, math.Inf(1), 0
	for i, step := range r.Peak {
		want := 10.0
		switch {
		case i > 0 && math.IsInf(high, 1):
			want = 2 * low
			widened++
		case i > 0:
			want = low + (high-low)/2
		}
		if step.TargetQPS != want {
			t.Fatalf("step %d tried %g queries per second, want %g: %v", i, step.TargetQPS, want, r.Peak)
		}
		if step.PerfConstraintsMet {
			low = step.TargetQPS
		} else {
			high = step.TargetQPS
		}
	}
	if low != peak || math.Floor(low)+1 < math.Floor(high) || high > 120 {
		t.Errorf("the search ended with [%g, %g), peak %g", low, high, peak)
	}
	// The reference loads samples for the first rate and for each that widens the bounds, and then once.
	if len(qsl.loads) != 1+widened+1 || len(r.Peak) < widened+3 {
		t.Errorf("samples were loaded %d times for %d rates; %d of them widened the bounds", len(qsl.loads), len(r.Peak), widened)
	}
}

func TestFindPeakStepAndPrecision(t *testing.T) {
	r := findPeak(t, samples(), time.Hour, func(s *TestSettings) {
		s.ServerFindPeakQPSBoundaryStepSize, s.ServerFindPeakQPSDecimalsOfPrecision, s.ServerTargetQPS = 0.5, 1, 60
	})
	high := math.Inf(1)
	for _, step := range r.Peak {
		if !step.PerfConstraintsMet {
			high = min(high, step.TargetQPS)
		}
	}
	if peak := r.Performance.Effective.TargetQPS; r.Peak[1].TargetQPS != 90 || high-peak > 0.2 {
		t.Errorf("the search tried %v and ended with [%g, %g), want one decimal", r.Peak, peak, high)
	}
}

func TestFindPeakBelowTheFirstRate(t *testing.T) {
	r := findPeak(t, samples(), time.Hour, func(s *TestSettings) { s.ServerTargetQPS = 200 })
	if r.Valid() || len(r.Peak) != 1 || r.Peak[0].PerfConstraintsMet || !hasEvent(r, "lower the target QPS") || !strings.HasPrefix(r.Problems()[0], "latency: ") {
		t.Errorf("valid %v, tried %v, problems %q", r.Valid(), r.Peak, r.Problems())
	}
}

func TestFindPeakCutShortKeepsTheBestRate(t *testing.T) {
	for name, steps := range map[string]int{"at the first rate": 0, "while the bounds are widened": 2, "while they are narrowed": 6} {
		// A step takes its 30 seconds, and one that fails a little longer.
		r := findPeak(t, samples(), time.Duration(steps)*30*time.Second+20*time.Second)
		if r.Valid() || !errors.Is(r.Interrupted, context.DeadlineExceeded) || (r.Performance == nil) != (steps == 0) {
			t.Fatalf("%s: valid %v, interrupted by %v", name, r.Valid(), r.Interrupted)
		}
		best := 0.0
		for _, step := range r.Peak {
			if step.PerfConstraintsMet {
				best = max(best, step.TargetQPS)
			}
		}
		if steps > 0 && r.Performance.Effective.TargetQPS != best {
			t.Errorf("%s: the best rate is %g, want %g of %v", name, r.Performance.Effective.TargetQPS, best, r.Peak)
		}
	}
}

func TestFindPeakStopsWithTheSUT(t *testing.T) {
	n := 0
	r := runFake(t, &fakeSUT{issue: func(q Query) {
		if n++; n == 500 {
			panic("out of memory")
		}
		answer(q)
	}}, quick(Server, func(s *TestSettings) {
		s.Mode, s.ServerTargetQPS, s.MinDuration = FindPeakPerformance, 10, 30*time.Second
	}), Options{})
	mustFault(t, r, "panicked: out of memory")
	if len(r.Peak) != 2 {
		t.Errorf("tried %v, want two rates", r.Peak)
	}
}
