package loadgen

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"
)

// aWorker is a SUT of one worker that takes a time for each query. It ends with the test.
func aWorker(t *testing.T, each time.Duration) *fakeSUT {
	queue, done := make(chan Query, 1<<16), make(chan struct{})
	t.Cleanup(func() {
		close(queue)
		<-done
	})
	go func() {
		defer close(done)
		for q := range queue {
			time.Sleep(each)
			answer(q)
		}
	}()
	return &fakeSUT{issue: func(q Query) { queue <- q }}
}

func peakSettings() TestSettings {
	s := quick(Server)
	s.Mode = FindPeakPerformance
	s.ServerTargetQPS, s.MinDuration, s.ServerTargetLatency = 10, 30*time.Second, 500*time.Millisecond
	s.ServerFindPeakQPSDecimalsOfPrecision = 0
	return s
}

func TestFindPeakPerformance(t *testing.T) {
	// 10 ms a query: 100 queries per second is the end.
	inFakeTime(t, func(t *testing.T) {
		s := peakSettings()
		r := mustRun(t, aWorker(t, 10*time.Millisecond), &fakeQSL{total: 100, performance: 100}, s, timers)
		peak := r.Performance.Effective.TargetQPS
		if peak < 80 || peak > 105 || !r.Performance.PerfConstraintsMet || len(r.Faults) > 0 {
			t.Errorf("peak at %g queries per second, want a little below 100; faults %v", peak, r.Faults)
		}
		// The reference's search, step by step: double until it fails, then halve the interval.
		low, high := 10.0, math.Inf(1)
		for i, step := range r.Peak {
			want := 10.0
			switch {
			case i > 0 && math.IsInf(high, 1):
				want = 2 * low
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
	})
}

// The reference loads samples for the first rate and for each that widens the bounds, and then once.
func TestASearchLoadsSamplesOnceWhileItNarrows(t *testing.T) {
	inFakeTime(t, func(t *testing.T) {
		qsl := &fakeQSL{total: 100, performance: 100}
		r := mustRun(t, aWorker(t, 10*time.Millisecond), qsl, peakSettings(), timers)
		widened := slices.IndexFunc(r.Peak, func(s PeakStep) bool { return !s.PerfConstraintsMet }) + 1
		if len(qsl.loads) != widened+1 || len(r.Peak) < widened+3 {
			t.Errorf("samples were loaded %d times for %d rates, of which %d widen the bounds", len(qsl.loads), len(r.Peak), widened)
		}
	})
}

func TestTheStepOfTheSearchIsASetting(t *testing.T) {
	inFakeTime(t, func(t *testing.T) {
		s := peakSettings()
		s.ServerFindPeakQPSBoundaryStepSize, s.ServerFindPeakQPSDecimalsOfPrecision, s.ServerTargetQPS = 0.5, 1, 60
		r := mustRun(t, aWorker(t, 10*time.Millisecond), &fakeQSL{total: 100, performance: 100}, s, timers)
		if len(r.Peak) < 4 || r.Peak[1].TargetQPS != 90 {
			t.Fatalf("tried %v", r.Peak)
		}
		high := math.Inf(1)
		for _, step := range r.Peak {
			if !step.PerfConstraintsMet {
				high = min(high, step.TargetQPS)
			}
		}
		if peak := r.Performance.Effective.TargetQPS; high-peak > 0.2 {
			t.Errorf("the search ended with [%g, %g), want one decimal", peak, high)
		}
	})
}

func TestNoPeakBelowTheFirstRate(t *testing.T) {
	inFakeTime(t, func(t *testing.T) {
		s := peakSettings()
		s.ServerTargetQPS = 200
		r := mustRun(t, aWorker(t, 10*time.Millisecond), &fakeQSL{total: 100, performance: 100}, s, timers)
		if r.Valid() || len(r.Peak) != 1 || r.Peak[0].PerfConstraintsMet || !hasEvent(r, "lower the target QPS") {
			t.Errorf("valid %v, tried %v, events %v", r.Valid(), r.Peak, r.Events)
		}
		if problems := fmt.Sprint(r.Performance.Problems()); !strings.Contains(problems, "latency: ") {
			t.Errorf("problems %s", problems)
		}
	})
}

func TestASearchThatIsCutShort(t *testing.T) {
	why := errors.New("no time left")
	for name, steps := range map[string]int{"at the first rate": 0, "while the bounds are widened": 2, "while they are narrowed": 6} {
		t.Run(name, func(t *testing.T) {
			inFakeTime(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				// A step takes its 30 seconds, and one that fails a little longer.
				time.AfterFunc(time.Duration(steps)*30*time.Second+20*time.Second, func() { cancel(why) })
				r, err := Run(ctx, aWorker(t, 10*time.Millisecond), &fakeQSL{total: 100, performance: 100}, peakSettings(), timers)
				if err != nil {
					t.Fatal(err)
				}
				if r.Valid() || !errors.Is(r.Interrupted, why) {
					t.Errorf("valid %v, interrupted by %v", r.Valid(), r.Interrupted)
				}
				if steps == 0 {
					if r.Performance != nil {
						t.Error("a rate that was not tried to its end is called the peak")
					}
					return
				}
				best := 0.0
				for _, step := range r.Peak {
					if step.PerfConstraintsMet {
						best = max(best, step.TargetQPS)
					}
				}
				if got := r.Performance.Effective.TargetQPS; got != best {
					t.Errorf("the best rate is %g, want %g of %v", got, best, r.Peak)
				}
			})
		})
	}
}

func TestASearchStopsWithTheSUT(t *testing.T) {
	inFakeTime(t, func(t *testing.T) {
		n := 0
		sut := &fakeSUT{issue: func(q Query) {
			if n++; n == 500 {
				panic("out of memory")
			}
			answer(q)
		}}
		r := mustRun(t, sut, &fakeQSL{total: 100, performance: 100}, peakSettings(), timers)
		mustFault(t, r, "panicked: out of memory")
		if len(r.Peak) != 2 {
			t.Errorf("tried %v, want two rates", r.Peak)
		}
	})
}

func TestASearchMustBeAbleToEnd(t *testing.T) {
	for want, change := range map[string]func(*TestSettings){
		"server_find_peak_qps_boundary_step_size must be positive, is 0":           func(s *TestSettings) { s.ServerFindPeakQPSBoundaryStepSize = 0 },
		"server_find_peak_qps_boundary_step_size must be positive, is -1":          func(s *TestSettings) { s.ServerFindPeakQPSBoundaryStepSize = -1 },
		"server_find_peak_qps_decimals_of_precision must be at most 6, is 20":      func(s *TestSettings) { s.ServerFindPeakQPSDecimalsOfPrecision = 20 },
		"FindPeakPerformance mode exists for the Server scenario only, not for Of": func(s *TestSettings) { s.Scenario = Offline },
	} {
		s := peakSettings()
		change(&s)
		if _, err := Run(t.Context(), atOnce(), &fakeQSL{total: 10, performance: 10}, s, timers); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}
