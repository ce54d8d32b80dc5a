package loadgen

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/testenv"
)

// firstQuery applies wrong to the first query and answers the others after 1 ms.
func firstQuery(wrong func(Query)) func(Query) {
	done := false
	return func(q Query) {
		if done {
			time.AfterFunc(time.Millisecond, func() { answer(q) })
			return
		}
		done = true
		wrong(q)
	}
}

func TestFaultsOfTheSUT(t *testing.T) {
	twice := func(q Query) {
		time.Sleep(100 * time.Microsecond)
		answer(q)
		answer(q)
	}
	always := func(f func(Query)) func(Query) { return f }
	all, issuedOneByOne := Scenarios(), []Scenario{SingleStream, MultiStream, Server}
	for _, test := range []struct {
		name  string
		in    []Scenario
		when  func(func(Query)) func(Query)
		wrong func(Query)
		fault string
	}{
		{"completes a sample twice", all, firstQuery, twice, "more than once"},
		{"completes every sample twice", all, always, twice, "more of this kind"},
		{"completes an unknown id", all, firstQuery, func(q Query) {
			q.Complete([]QuerySampleResponse{{ID: 1 << 31}})
			answer(q)
		}, "has not issued"},
		{"completes an id that comes later", issuedOneByOne, firstQuery, func(q Query) {
			q.Complete([]QuerySampleResponse{{ID: 4000}})
			answer(q)
		}, "has not issued"},
		{"completes the next query before its time", []Scenario{Server}, firstQuery, func(q Query) {
			time.AfterFunc(time.Microsecond, func() { q.Complete([]QuerySampleResponse{{ID: q.Samples[0].ID + 1}}) })
			answer(q)
		}, "has not issued"},
		{"never completes", all, firstQuery, func(Query) {}, "has completed none of the"},
		{"never completes one of many", []Scenario{MultiStream, Offline}, firstQuery, func(q Query) {
			answer(Query{Samples: q.Samples[1:], to: q.to})
		}, "has completed none of the 1 samples"},
		{"blocks in IssueQuery", all, firstQuery, func(q Query) {
			time.Sleep(time.Hour)
			answer(q)
		}, "has not returned from IssueQuery"},
		{"panics", all, firstQuery, func(Query) { panic("out of memory") }, "panicked: out of memory"},
		{"panics after it has answered", all, firstQuery, func(q Query) {
			answer(q)
			panic("out of memory")
		}, "panicked: out of memory"},
		{"fails a sample", all, firstQuery, func(q Query) {
			q.Fail(q.Samples[0].ID, errors.New("bad tensor"))
			answer(Query{Samples: q.Samples[1:], to: q.to})
		}, "bad tensor"},
		{"reports unwanted tokens", all, firstQuery, func(q Query) {
			q.FirstToken([]QuerySampleResponse{{ID: q.Samples[0].ID}})
			answer(q)
		}, "use_token_latencies is off"},
	} {
		for _, scenario := range test.in {
			t.Run(scenario.String()+" "+test.name, func(t *testing.T) {
				inFakeTime(t, func(t *testing.T) {
					began := time.Now()
					s := quick(scenario, func(s *TestSettings) { s.MinDuration = 2 * time.Second })
					mustFault(t, mustRun(t, &fakeSUT{issue: test.when(test.wrong)}, samples(), s, timers), test.fault)
					if took := time.Since(began); took > 6*time.Minute {
						t.Errorf("the test took %v to notice", took)
					}
					time.Sleep(2 * time.Hour) // a blocked goroutine returns
				})
			})
		}
	}
}

// An error comes faster than an answer: it must not lower the latency, nor raise the throughput.
func TestFailuresHaveNoLatency(t *testing.T) {
	for _, scenario := range []Scenario{SingleStream, Server} {
		s := quick(scenario, func(s *TestSettings) { s.MinDuration = 10 * time.Second })
		n := 0
		sut := &fakeSUT{issue: func(q Query) {
			if n++; n > 10 {
				time.Sleep(time.Millisecond)
				q.Fail(q.Samples[0].ID, errors.New("the server has gone"))
				return
			}
			time.AfterFunc(70*time.Millisecond, func() { answer(q) })
		}}
		r := runFake(t, sut, s, Options{})
		p := r.Performance
		if r.Valid() || p.SampleCount != 10 || p.SampleLatency.Count != 10 || p.SampleLatency.Min != 70*time.Millisecond || p.SampleLatency.Mean != 70*time.Millisecond {
			t.Errorf("%v: valid %v, %d samples, %+v, want INVALID and ten of 70 ms", scenario, r.Valid(), p.SampleCount, p.SampleLatency)
		}
		if scenario == Server && !(p.CompletedQPS() <= 9/p.LastCompletion.Seconds()) {
			t.Errorf("%v samples per second with 10 answers until %v", p.CompletedQPS(), p.LastCompletion)
		}
	}
}

func TestStallTimeout(t *testing.T) {
	began := time.Time{}
	working := func(works time.Duration) func() int64 {
		return func() int64 { return int64(min(time.Since(began), works) / (3 * time.Second)) }
	}
	for name, test := range map[string]struct {
		sut     *fakeSUT
		working func() int64
		took    time.Duration // at least, and a little more
		fault   string        // "" if none
	}{
		"never completes":                 {&fakeSUT{issue: func(Query) {}}, nil, 10 * time.Second, "for 10 s it has completed none of the 1 samples"},
		"blocks in IssueQuery":            {blocking(time.Minute, 0), nil, 10 * time.Second, "for 10 s it has not returned from IssueQuery"},
		"is slower":                       {after(11 * time.Second), nil, 10 * time.Second, "for 10 s it has completed none"},
		"is a little faster":              {after(9 * time.Second), nil, 27 * time.Second, ""},
		"works on a long answer":          {after(40 * time.Second), working(time.Hour), 120 * time.Second, ""},
		"no longer works on it after 15s": {after(40 * time.Second), working(15 * time.Second), 25 * time.Second, "for 10 s it has completed none of the 1 samples"},
	} {
		t.Run(name, func(t *testing.T) {
			inFakeTime(t, func(t *testing.T) {
				began = time.Now()
				opts := timers
				opts.StallTimeout, opts.Working = 10*time.Second, test.working
				r := mustRun(t, test.sut, samples(), quick(SingleStream, count(3), func(s *TestSettings) { s.WithoutEarlyStopping = true }), opts)
				if took := time.Since(began); took < test.took || took > test.took+2*time.Second {
					t.Errorf("the test took %v, want about %v", took, test.took)
				}
				if test.fault != "" {
					mustFault(t, r, test.fault)
				} else if !r.Valid() {
					t.Errorf("INVALID: %v", r.Faults)
				}
				time.Sleep(time.Minute) // the blocked goroutine returns, or the answer comes
			})
		})
	}
}

func TestFlushQueriesMayFail(t *testing.T) {
	for fault, flush := range map[string]func(){
		"has not returned from FlushQueries": func() { time.Sleep(time.Hour) },
		"panicked: no such device":           func() { panic("no such device") },
	} {
		for _, scenario := range []Scenario{SingleStream, Server, Offline} {
			inFakeTime(t, func(t *testing.T) {
				r := mustRun(t, &fakeSUT{issue: answer, flush: flush}, samples(), quick(scenario, count(100)), timers)
				mustFault(t, r, fault)
				if r.Performance.SampleCount < 100 {
					t.Errorf("%v: %d samples were kept, want all", scenario, r.Performance.SampleCount)
				}
				time.Sleep(time.Hour)
			})
		}
	}
	// A SUT that panics with its lock held, for which its FlushQueries waits.
	inFakeTime(t, func(t *testing.T) {
		locked := make(chan struct{})
		sut := &fakeSUT{issue: func(Query) { panic("index out of range") }, flush: func() { <-locked }}
		began := time.Now()
		r := mustRun(t, sut, samples(), quick(Server), timers)
		mustFault(t, r, "panicked: index out of range")
		mustFault(t, r, "has not returned from IssueQuery or FlushQueries")
		if took := time.Since(began); took > time.Second {
			t.Errorf("the test took %v to end", took)
		}
		close(locked)
	})
}

func TestLateAnswersAreRefused(t *testing.T) {
	var first, last Query
	sut := func(issue func(Query)) *fakeSUT {
		first = Query{}
		return &fakeSUT{issue: func(q Query) {
			if first.Samples == nil {
				first = q
			} else {
				issue(q)
			}
			last = q
			answer(q)
		}}
	}
	t.Run("while the test cleans up", func(t *testing.T) {
		inFakeTime(t, func(t *testing.T) {
			qsl := samples()
			qsl.unloading = func() { answer(last) }
			mustFault(t, mustRun(t, sut(func(Query) {}), qsl, quick(Server, count(100)), timers), "after its part of the test had ended")
		})
	})
	t.Run("after the end", func(t *testing.T) {
		r := runFake(t, sut(func(Query) {}), quick(Offline, count(100)), Options{})
		before := *r.Performance
		answer(last)
		if last.to.faults.counts[faultAfterEnd] != 1 || r.Performance.SampleLatency != before.SampleLatency {
			t.Error("an answer after the end was not refused")
		}
	})
	t.Run("of an earlier set", func(t *testing.T) {
		r := runFake(t, sut(func(Query) {
			first.Complete(nil) // answers nothing
			answer(first)
		}), quick(Offline, accuracyOnly), Options{})
		mustFault(t, r, "after its part of the test had ended")
		if len(r.Faults) != 1 || r.AccuracySamples != 500 {
			t.Errorf("faults %v, %d accuracy samples", r.Faults, r.AccuracySamples)
		}
	})
	t.Run("of an earlier set, as one of this set", func(t *testing.T) {
		r := runFake(t, sut(func(q Query) { q.Complete([]QuerySampleResponse{{ID: first.Samples[0].ID}}) }), quick(Offline, accuracyOnly), Options{})
		mustFault(t, r, "has not issued")
	})
}

func TestFaultsOfTheAccuracyPart(t *testing.T) {
	r := runFake(t, &fakeSUT{issue: firstQuery(func(q Query) {
		answer(q)
		answer(q)
	})}, quick(Server, func(s *TestSettings) { s.Mode = SubmissionRun }), Options{})
	mustFault(t, r, "more than once")
	if r.Performance == nil || !r.Performance.Valid() {
		t.Error("the performance part was not measured, or is INVALID by itself")
	}
}

func TestConcurrentFaultsAreCounted(t *testing.T) {
	var running sync.WaitGroup
	sut := &fakeSUT{issue: func(q Query) {
		for range 8 { // every one of them believes that it has to answer
			running.Go(func() { answer(q) })
		}
		running.Wait()
	}}
	r := mustRun(t, sut, samples(), quick(MultiStream, count(500)), Options{})
	mustFault(t, r, "more than once")
	if r.Performance.SampleCount != 500*8 || r.Performance.QueryCount != 500 || !strings.Contains(fmt.Sprint(r.Faults), "(and 27999 more of this kind)") {
		t.Errorf("%d samples of %d queries were counted, want 4000 of 500; faults %v", r.Performance.SampleCount, r.Performance.QueryCount, r.Faults)
	}
}

func TestInterruptionKeepsWhatWasMeasured(t *testing.T) {
	for _, scenario := range Scenarios() {
		inFakeTime(t, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			why := errors.New("interrupted by Ctrl-C")
			time.AfterFunc(2*time.Second, func() { cancel(why) })
			sut := after(time.Millisecond)
			if scenario == Offline {
				sut = after(time.Minute)
			}
			began := time.Now()
			r, err := Run(ctx, sut, samples(), quick(scenario), timers)
			testenv.Must(t, err)
			if took := time.Since(began); took > 3*time.Second || r.Valid() || !errors.Is(r.Interrupted, why) || !hasEvent(r, "Ctrl-C") {
				t.Errorf("%v: after %v: valid %v, interrupted by %v", scenario, took, r.Valid(), r.Interrupted)
			}
			if got := r.Performance.SampleCount; scenario != Offline && got < 1500/8 {
				t.Errorf("%v: %d samples were kept", scenario, got)
			}
			time.Sleep(time.Minute)
			if len(r.Faults) > 0 {
				t.Errorf("%v: an interrupted SUT is blamed: %v", scenario, r.Faults)
			}
		})
	}
}

// Who drops an interrupted test does not wait for its statistics, which take seconds where the SUT answers at once.
func TestDropInterrupted(t *testing.T) {
	for _, scenario := range Scenarios() {
		inFakeTime(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			defer cancel()
			sut := after(time.Millisecond)
			if scenario == Offline {
				sut = after(time.Minute)
			}
			opts := timers
			opts.DropInterrupted = true
			r, err := Run(ctx, sut, samples(), quick(scenario), opts)
			if err != nil || r.Valid() || r.Interrupted == nil || r.Performance != nil {
				t.Errorf("%v: %+v, %v", scenario, r, err)
			}
			time.Sleep(time.Minute)
		})
	}
}

func TestInterruptionAtAnyPointIsAResult(t *testing.T) {
	why := errors.New("enough")
	for name, test := range map[string]struct {
		mode Mode
		// When the interruption comes: while the n-th set is loaded, after so many
		// queries, or while a SUT does not return.
		load, query int
		blocked     bool
		ignored     bool   // the QSL goes on loading
		accuracy    uint64 // samples answered
		performance bool   // there is a performance part
	}{
		"while the first set is loaded":                {mode: PerformanceOnly, load: 1},
		"while traffic is drawn":                       {mode: PerformanceOnly, load: 1, ignored: true},
		"in the accuracy part":                         {mode: AccuracyOnly, query: 7, accuracy: 7},
		"while the second set is loaded":               {mode: AccuracyOnly, load: 2, accuracy: 100},
		"in the accuracy part of a submission run":     {mode: SubmissionRun, query: 150, accuracy: 150},
		"in the performance part of a submission run":  {mode: SubmissionRun, query: 510, accuracy: 500, performance: true},
		"in a search for the peak, at its first rate":  {mode: FindPeakPerformance, query: 50},
		"in a search for the peak, at its second rate": {mode: FindPeakPerformance, query: 6000, performance: true},
		"while the SUT blocks":                         {mode: PerformanceOnly, query: 3, blocked: true, performance: true},
	} {
		t.Run(name, func(t *testing.T) {
			inFakeTime(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				qsl := samples()
				qsl.ignoresContext = test.ignored
				qsl.loading = func() {
					if len(qsl.loads) == test.load {
						cancel(why)
					}
				}
				n := 0
				sut := &fakeSUT{issue: func(q Query) {
					if n++; n == test.query {
						cancel(why)
						if test.blocked {
							time.Sleep(time.Hour)
							return
						}
					}
					answer(q)
				}}
				r, err := Run(ctx, sut, qsl, quick(Server, func(s *TestSettings) { s.Mode = test.mode }), timers)
				testenv.Must(t, err)
				if r.Valid() || !errors.Is(r.Interrupted, why) || test.query > 0 && n != test.query || test.ignored && n > 0 {
					t.Errorf("valid %v, interrupted by %v, %d queries", r.Valid(), r.Interrupted, n)
				}
				if r.AccuracySamples != test.accuracy || (r.Performance != nil) != test.performance || (len(r.Faults) > 0) != test.blocked {
					t.Errorf("%d accuracy samples, performance %v, faults %v; want %d, %v", r.AccuracySamples, r.Performance != nil, r.Faults, test.accuracy, test.performance)
				}
				time.Sleep(time.Hour)
			})
		})
	}
}

// With one processor the issue loop ends before any other goroutine sees the interruption.
func TestInterruptionAtTheEnd(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	why := errors.New("enough")
	for range 20 { // without the check each run fails half of the time
		ctx, cancel := context.WithCancelCause(t.Context())
		r, err := Run(ctx, nullSUT(func(q Query) { cancel(why); answer(q) }), samples(), quick(SingleStream), Options{})
		testenv.Must(t, err)
		if !errors.Is(r.Interrupted, why) || r.Performance.SampleCount != 1 {
			t.Fatalf("interrupted by %v, %d samples", r.Interrupted, r.Performance.SampleCount)
		}
	}
}

func TestFaultsOfTheQSL(t *testing.T) {
	broken := errors.New("disk on fire")
	run := func(t *testing.T, qsl *fakeQSL, mode Mode) (r *Result, err error) {
		inFakeTime(t, func(t *testing.T) {
			r, err = Run(t.Context(), after(time.Millisecond), qsl, quick(SingleStream, func(s *TestSettings) { s.Mode = mode }), timers)
		})
		return r, err
	}
	for _, mode := range []Mode{PerformanceOnly, AccuracyOnly, SubmissionRun} {
		qsl := &fakeQSL{total: 10, performance: 10, loadErr: broken}
		if _, err := run(t, qsl, mode); !errors.Is(err, broken) || !strings.Contains(err.Error(), "loading 10 samples: ") || len(qsl.loads) != 1 {
			t.Errorf("%v: error %v after %d loads, want %v", mode, err, len(qsl.loads), broken)
		}
		r, err := run(t, &fakeQSL{total: 10, performance: 10, unloadErr: broken}, mode)
		if err != nil || !r.Valid() || r.Warnings() == 0 || !hasEvent(r, "unloading 10 samples: disk on fire") || mode != AccuracyOnly && r.Performance == nil {
			t.Errorf("%v: %v, problems %v, events %v", mode, err, r.Problems(), r.Events)
		}
	}
	fail := func() { panic("no such tensor") }
	for _, qsl := range []*fakeQSL{{total: 10, performance: 10, loading: fail}, {total: 10, performance: 10, unloading: fail}} {
		r, err := run(t, qsl, PerformanceOnly)
		if err != nil || (r.Performance != nil) != (qsl.unloading != nil) {
			t.Errorf("%v, performance %v", err, r.Performance)
		}
		mustFault(t, r, "the QSL panicked: no such tensor")
	}
}

func TestEventsAreInOrder(t *testing.T) {
	r := runFake(t, atOnce(), quick(Server, func(s *TestSettings) { s.Mode = SubmissionRun }), Options{})
	if !slices.IsSortedFunc(r.Events, func(a, b Event) int { return a.Time.Compare(b.Time) }) || r.Errors() != 0 || r.Warnings() != 0 {
		t.Errorf("%d errors, %d warnings in a good run, or not in order: %v", r.Errors(), r.Warnings(), r.Events)
	}
	n := map[string]int{}
	for _, e := range r.Events {
		n[e.Key]++
	}
	for _, key := range []string{"loaded_qsl_set", "power_begin", "power_end", "generated_query_count"} {
		if n[key] != 6 { // five sets of accuracy mode, and that of performance mode
			t.Errorf("%d events %s, want 6", n[key], key)
		}
	}
}
