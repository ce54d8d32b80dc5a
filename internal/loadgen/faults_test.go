package loadgen

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
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

// mustFault checks that a run is INVALID and names a fault.
func mustFault(t *testing.T, r *Result, fault string) {
	t.Helper()
	if r.Valid() {
		t.Error("the run is VALID")
	}
	if text := fmt.Sprint(r.Faults); !strings.Contains(text, fault) {
		t.Errorf("faults %s, want %q", text, fault)
	}
	if !hasEvent(r, fault) || r.Errors() == 0 {
		t.Errorf("no event names %q: %v", fault, r.Events)
	}
}

func TestMisbehavingSUTsAreNamed(t *testing.T) {
	twice := func(q Query) {
		time.Sleep(100 * time.Microsecond)
		answer(q)
		answer(q)
	}
	always := func(f func(Query)) func(Query) { return f }
	all, issuedOneByOne := Scenarios(), []Scenario{SingleStream, MultiStream, Server}
	tests := []struct {
		name  string
		in    []Scenario
		when  func(func(Query)) func(Query)
		wrong func(Query)
		fault string
	}{
		{"completes a sample twice", all, firstQuery, twice, "more than once"},
		{"completes every sample twice", all, always, twice, "more of this kind"},
		{"completes an id of nobody", all, firstQuery, func(q Query) {
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
		{"reports tokens that nobody asked for", all, firstQuery, func(q Query) {
			q.FirstToken([]QuerySampleResponse{{ID: q.Samples[0].ID}})
			answer(q)
		}, "use_token_latencies is off"},
	}
	for _, test := range tests {
		for _, scenario := range test.in {
			t.Run(scenario.String()+" "+test.name, func(t *testing.T) {
				inFakeTime(t, func(t *testing.T) {
					began := time.Now()
					s := quick(scenario)
					s.MinDuration = 2 * time.Second
					r := mustRun(t, &fakeSUT{issue: test.when(test.wrong)}, &fakeQSL{total: 500, performance: 100}, s, timers)
					mustFault(t, r, test.fault)
					if took := time.Since(began); took > 6*time.Minute {
						t.Errorf("the test took %v to notice", took)
					}
					time.Sleep(2 * time.Hour) // a blocked goroutine returns
				})
			})
		}
	}
}

func TestTheWatchdogWaitsAsLongAsItIsTold(t *testing.T) {
	for _, test := range []struct {
		name  string
		sut   func() *fakeSUT
		fault string // "" if none
	}{
		{"never completes", func() *fakeSUT { return &fakeSUT{issue: func(Query) {}} }, "for 10s it has completed none of the 1 samples"},
		{"blocks in IssueQuery", func() *fakeSUT { return &fakeSUT{issue: func(Query) { time.Sleep(time.Minute) }} }, "for 10s it has not returned from IssueQuery"},
		{"is slower than that", func() *fakeSUT { return after(11 * time.Second) }, "for 10s it has completed none"},
		{"is a little faster", func() *fakeSUT { return after(9 * time.Second) }, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			inFakeTime(t, func(t *testing.T) {
				began := time.Now()
				opts := timers
				opts.StallTimeout = 10 * time.Second
				s := quick(SingleStream)
				s.MinDuration, s.MinQueryCount, s.WithoutEarlyStopping = 0, 3, true
				r := mustRun(t, test.sut(), &fakeQSL{total: 500, performance: 100}, s, opts)
				took := time.Since(began)
				if test.fault == "" {
					if !r.Valid() || took != 27*time.Second {
						t.Errorf("valid %v after %v: %v", r.Valid(), took, r.Faults)
					}
					return
				}
				mustFault(t, r, test.fault)
				if took < 10*time.Second || took > 12*time.Second {
					t.Errorf("the test took %v to notice, want about 10s", took)
				}
				time.Sleep(time.Minute) // the blocked goroutine returns
			})
		})
	}
}

// An answer of many tokens may take longer than a stalled SUT is waited for.
func TestASUTThatWorksOnALongAnswerHasNotStalled(t *testing.T) {
	for works, fault := range map[time.Duration]string{40 * time.Second: "", 15 * time.Second: "for 10s it has completed none of the 1 samples"} {
		inFakeTime(t, func(t *testing.T) {
			began := time.Now()
			opts := timers
			opts.StallTimeout = 10 * time.Second
			opts.Working = func() int64 { return int64(min(time.Since(began), works) / (3 * time.Second)) }
			s := quick(SingleStream)
			s.MinDuration, s.MinQueryCount, s.WithoutEarlyStopping = 0, 1, true
			r := mustRun(t, after(40*time.Second), &fakeQSL{total: 500, performance: 100}, s, opts)
			if fault != "" {
				mustFault(t, r, fault)
			} else if !r.Valid() {
				t.Errorf("with work for %v it is not valid: %v", works, r.Faults)
			}
			time.Sleep(time.Minute) // the answer comes
		})
	}
}

func TestASUTThatFailsInFlushQueriesIsNamed(t *testing.T) {
	for name, test := range map[string]struct {
		flush func()
		fault string
	}{
		"blocks": {func() { time.Sleep(time.Hour) }, "has not returned from FlushQueries"},
		"panics": {func() { panic("no such device") }, "panicked: no such device"},
	} {
		for _, scenario := range []Scenario{SingleStream, Server, Offline} {
			t.Run(scenario.String()+" "+name, func(t *testing.T) {
				inFakeTime(t, func(t *testing.T) {
					s := quick(scenario)
					s.MinDuration = 0
					r := mustRun(t, &fakeSUT{issue: answer, flush: test.flush}, &fakeQSL{total: 500, performance: 100}, s, timers)
					mustFault(t, r, test.fault)
					if r.Performance.SampleCount < 100 {
						t.Errorf("%d samples were kept, want all", r.Performance.SampleCount)
					}
					time.Sleep(time.Hour)
				})
			})
		}
	}
}

func TestASUTThatPanicsWithItsLockHeldDoesNotHangTheTest(t *testing.T) {
	inFakeTime(t, func(t *testing.T) {
		locked := make(chan struct{})
		sut := &fakeSUT{issue: func(Query) { panic("index out of range") }, flush: func() { <-locked }}
		began := time.Now()
		r := mustRun(t, sut, &fakeQSL{total: 500, performance: 100}, quick(Server), timers)
		mustFault(t, r, "panicked: index out of range")
		mustFault(t, r, "has not returned from IssueQuery or FlushQueries")
		if took := time.Since(began); took > time.Second {
			t.Errorf("the test took %v to end", took)
		}
		close(locked)
	})
}

func TestCompletionAfterTheEndChangesNothing(t *testing.T) {
	inFakeTime(t, func(t *testing.T) {
		var kept []Query
		sut := &fakeSUT{issue: func(q Query) {
			kept = append(kept, q)
			answer(q)
		}}
		s := quick(Offline)
		s.MinDuration = 0
		r := mustRun(t, sut, &fakeQSL{total: 500, performance: 100}, s, timers)
		before := *r.Performance
		time.Sleep(time.Second)
		answer(kept[0])
		if kept[0].to.faults.counts[faultAfterEnd] != 1 || r.Performance.SampleLatency != before.SampleLatency {
			t.Error("an answer after the end was not refused")
		}
	})
}

func TestAnAnswerWhileTheTestCleansUpIsNamed(t *testing.T) {
	inFakeTime(t, func(t *testing.T) {
		var last Query
		sut := &fakeSUT{issue: func(q Query) {
			last = q
			answer(q)
		}}
		s := quick(Server)
		s.MinDuration = 0
		qsl := &fakeQSL{total: 500, performance: 100, unloading: func() { answer(last) }}
		mustFault(t, mustRun(t, sut, qsl, s, timers), "after its part of the test had ended")
	})
}

// earlierSet runs an accuracy test of two sets; in the second, stale is called with the
// first query and the second.
func earlierSet(t *testing.T, stale func(first, second Query)) *Result {
	t.Helper()
	var first *Query
	s := quick(Offline)
	s.Mode = AccuracyOnly
	sut := &fakeSUT{issue: func(q Query) {
		if first == nil {
			first = &q
		} else {
			stale(*first, q)
		}
		answer(q)
	}}
	return mustRun(t, sut, &fakeQSL{total: 500, performance: 250}, s, timers)
}

func TestAnswersToAnEarlierSetAreRefused(t *testing.T) {
	inFakeTime(t, func(t *testing.T) {
		r := earlierSet(t, func(first, second Query) { // as if the SUT had mixed up its bookkeeping
			second.Complete([]QuerySampleResponse{{ID: first.Samples[0].ID}})
		})
		mustFault(t, r, "has not issued")
	})
	inFakeTime(t, func(t *testing.T) {
		r := earlierSet(t, func(first, _ Query) {
			first.Complete(nil) // says nothing
			answer(first)
		})
		mustFault(t, r, "after its part of the test had ended")
		if len(r.Faults) != 1 || r.AccuracySamples != 500 {
			t.Errorf("faults %v, %d accuracy samples", r.Faults, r.AccuracySamples)
		}
	})
}

func TestAFaultInTheAccuracyPartSpoilsASubmissionRun(t *testing.T) {
	inFakeTime(t, func(t *testing.T) {
		s := quick(Server)
		s.Mode = SubmissionRun
		r := mustRun(t, &fakeSUT{issue: firstQuery(func(q Query) {
			answer(q)
			answer(q)
		})}, &fakeQSL{total: 500, performance: 100}, s, timers)
		mustFault(t, r, "more than once")
		if r.Performance == nil || !r.Performance.Valid() {
			t.Error("the performance part was not measured, or is INVALID by itself")
		}
	})
}

func TestManyGoroutinesMayGetItWrongAtOnce(t *testing.T) {
	const workers = 8
	s := quick(MultiStream)
	s.MinDuration, s.MinQueryCount = 0, 500
	var running sync.WaitGroup
	sut := &fakeSUT{issue: func(q Query) {
		for range workers { // every one of them believes that it has to answer
			running.Go(func() { answer(q) })
		}
		running.Wait()
	}}
	r := mustRun(t, sut, &fakeQSL{total: 500, performance: 100}, s, Options{})
	mustFault(t, r, "more than once")
	if r.Performance.SampleCount != 500*8 || r.Performance.QueryCount != 500 {
		t.Errorf("%d samples of %d queries were counted, want 4000 of 500", r.Performance.SampleCount, r.Performance.QueryCount)
	}
	if want := "(and 27999 more of this kind)"; !strings.Contains(fmt.Sprint(r.Faults), want) {
		t.Errorf("faults %v, want %s", r.Faults, want)
	}
}

func TestInterruptionKeepsWhatWasMeasured(t *testing.T) {
	for _, scenario := range Scenarios() {
		t.Run(scenario.String(), func(t *testing.T) {
			inFakeTime(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				why := errors.New("somebody pressed Ctrl-C")
				time.AfterFunc(2*time.Second, func() { cancel(why) })
				sut := after(time.Millisecond)
				if scenario == Offline {
					sut = after(time.Minute)
				}
				began := time.Now()
				r, err := Run(ctx, sut, &fakeQSL{total: 500, performance: 100}, quick(scenario), timers)
				if err != nil {
					t.Fatal(err)
				}
				if took := time.Since(began); took > 3*time.Second {
					t.Errorf("the test took %v to stop", took)
				}
				if r.Valid() || !errors.Is(r.Interrupted, why) || !hasEvent(r, "somebody pressed Ctrl-C") {
					t.Errorf("valid %v, interrupted by %v", r.Valid(), r.Interrupted)
				}
				if got := r.Performance.SampleCount; scenario != Offline && got < 1500/8 {
					t.Errorf("%d samples were kept", got)
				}
				time.Sleep(time.Minute)
				if len(r.Faults) > 0 {
					t.Errorf("a SUT that was interrupted is blamed: %v", r.Faults)
				}
			})
		})
	}
}

func TestInterruptionAtAnyPointIsAResult(t *testing.T) {
	why := errors.New("enough")
	for _, test := range []struct {
		name string
		mode Mode
		// Where the interruption comes: while the n-th set is loaded, after so many
		// queries, or while a SUT does not return.
		load, query int
		blocked     bool
		accuracy    uint64 // samples answered
		performance bool   // there is a performance part
	}{
		{name: "while the first set is loaded", mode: PerformanceOnly, load: 1},
		{name: "in the accuracy part", mode: AccuracyOnly, query: 7, accuracy: 7},
		{name: "while the second set is loaded", mode: AccuracyOnly, load: 2, accuracy: 100},
		{name: "in the accuracy part of a submission run", mode: SubmissionRun, query: 150, accuracy: 150},
		{name: "in the performance part of a submission run", mode: SubmissionRun, query: 510, accuracy: 500, performance: true},
		{name: "in a search for the peak", mode: FindPeakPerformance, query: 50},
		{name: "while the SUT blocks", mode: PerformanceOnly, query: 3, blocked: true, performance: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			inFakeTime(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				qsl := &fakeQSL{total: 500, performance: 100}
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
				s := quick(Server)
				s.Mode = test.mode
				r, err := Run(ctx, sut, qsl, s, timers)
				if err != nil {
					t.Fatal(err)
				}
				if r.Valid() || !errors.Is(r.Interrupted, why) {
					t.Errorf("valid %v, interrupted by %v", r.Valid(), r.Interrupted)
				}
				if r.AccuracySamples != test.accuracy || (r.Performance != nil) != test.performance {
					t.Errorf("%d accuracy samples, performance %v; want %d, %v", r.AccuracySamples, r.Performance != nil, test.accuracy, test.performance)
				}
				if got := len(r.Faults) > 0; got != test.blocked {
					t.Errorf("faults %v", r.Faults)
				}
				time.Sleep(time.Hour)
			})
		})
	}
}

func TestSamplesThatCannotBeLoadedEndTheTest(t *testing.T) {
	broken := errors.New("disk on fire")
	for _, mode := range []Mode{PerformanceOnly, AccuracyOnly, SubmissionRun} {
		inFakeTime(t, func(t *testing.T) {
			s := quick(SingleStream)
			s.Mode = mode
			qsl := &fakeQSL{total: 10, performance: 10, loadErr: broken}
			_, err := Run(t.Context(), after(time.Millisecond), qsl, s, timers)
			if !errors.Is(err, broken) || !strings.Contains(err.Error(), "loading 10 samples: ") {
				t.Errorf("%v: error %v, want %v", mode, err, broken)
			}
			if len(qsl.loads) != 1 {
				t.Errorf("%v: the test went on after the error", mode)
			}
		})
	}
}

func TestSamplesThatCannotBeUnloadedAreAWarning(t *testing.T) {
	for _, mode := range []Mode{PerformanceOnly, AccuracyOnly, SubmissionRun} {
		inFakeTime(t, func(t *testing.T) {
			s := quick(SingleStream)
			s.Mode = mode
			r := mustRun(t, after(time.Millisecond), &fakeQSL{total: 10, performance: 10, unloadErr: errors.New("disk on fire")}, s, timers)
			warned := slices.ContainsFunc(r.Events, func(e Event) bool { return e.IsWarning && e.Value == "unloading 10 samples: disk on fire" })
			if !r.Valid() || !warned || mode != AccuracyOnly && r.Performance == nil {
				t.Errorf("%v: problems %v, events %v", mode, r.Problems(), r.Events)
			}
		})
	}
}

// A panickingQSL panics when it loads or unloads.
type panickingQSL struct {
	fakeQSL
	load, unload bool
}

func (q *panickingQSL) LoadSamplesToRAM(ctx context.Context, list []QuerySampleIndex) error {
	if q.load {
		panic("no such tensor")
	}
	return q.fakeQSL.LoadSamplesToRAM(ctx, list)
}

func (q *panickingQSL) UnloadSamplesFromRAM(list []QuerySampleIndex) error {
	if q.unload {
		panic("no such tensor")
	}
	return q.fakeQSL.UnloadSamplesFromRAM(list)
}

func TestAQSLThatPanicsMakesARunInvalid(t *testing.T) {
	for _, qsl := range []*panickingQSL{{load: true}, {unload: true}} {
		inFakeTime(t, func(t *testing.T) {
			qsl.total, qsl.performance = 10, 10
			r := mustRun(t, after(time.Millisecond), qsl, quick(SingleStream), timers)
			mustFault(t, r, "the QSL panicked: no such tensor")
			if measured := r.Performance != nil; measured != qsl.unload {
				t.Errorf("measured %v", measured)
			}
		})
	}
}

func TestAnEndedTestHasNoGoroutinesLeft(t *testing.T) {
	// synctest fails a test whose goroutines are still there when it returns.
	for _, scenario := range Scenarios() {
		inFakeTime(t, func(t *testing.T) {
			mustRun(t, after(time.Millisecond), &fakeQSL{total: 50, performance: 50}, quick(scenario), timers)
		})
	}
}

func TestEventsAreInOrder(t *testing.T) {
	inFakeTime(t, func(t *testing.T) {
		s := quick(Server)
		s.Mode = SubmissionRun
		r := mustRun(t, atOnce(), &fakeQSL{total: 300, performance: 100}, s, timers)
		if !slices.IsSortedFunc(r.Events, func(a, b Event) int { return a.Time.Compare(b.Time) }) {
			t.Error("the events are not in the order of their time")
		}
		if r.Errors() != 0 || r.Warnings() != 0 {
			t.Errorf("%d errors, %d warnings in a good run", r.Errors(), r.Warnings())
		}
		for key, want := range map[string]int{"loaded_qsl_set": 4, "power_begin": 4, "power_end": 4, "generated_query_count": 4} {
			n := 0
			for _, e := range r.Events {
				if e.Key == key {
					n++
				}
			}
			if n != want {
				t.Errorf("%d events %s, want %d", n, key, want)
			}
		}
	})
}
