package loadgen

import (
	"runtime"
	"sync"
	"testing"
	"time"
)

func TestTwoTestsMayRunAtOnce(t *testing.T) {
	inFakeTime(t, func(t *testing.T) {
		results := make(chan *Result)
		for _, scenario := range Scenarios() {
			go func() {
				sut := after(time.Millisecond)
				if scenario == Offline {
					sut = after(6 * time.Second)
				}
				r, err := Run(t.Context(), sut, &fakeQSL{total: 500, performance: 100}, quick(scenario), timers)
				if err != nil {
					t.Error(err)
				}
				results <- r
			}()
		}
		for range Scenarios() {
			if r := <-results; !r.Valid() {
				t.Errorf("%v is INVALID: %v %v", r.Effective.Scenario, r.Performance.Problems(), r.Faults)
			}
		}
	})
}

// spread is a SUT of some workers that answer in any order.
func spread(t *testing.T, workers int) *fakeSUT {
	work := make(chan Query, 1<<12)
	t.Cleanup(func() { close(work) })
	for range workers {
		go func() {
			for q := range work {
				answer(q)
			}
		}()
	}
	return &fakeSUT{issue: func(q Query) { work <- q }}
}

func TestRunsAtOnceDoNotDisturbEachOther(t *testing.T) {
	// In real time, with the pacer that a program uses, each scenario several times at once,
	// with different seeds: every run issues what it would alone.
	settings := func(scenario Scenario, seed uint64) TestSettings {
		s := quick(scenario)
		s.MinDuration, s.MinQueryCount, s.WithoutEarlyStopping = 0, 300, true
		s.ServerTargetQPS, s.ServerNumIssueQueryThreads, s.ServerTargetLatency = 10000, 2, time.Minute
		s.QSLRNGSeed, s.SampleIndexRNGSeed, s.ScheduleRNGSeed = seed, seed+1, seed+2
		return s
	}
	var running sync.WaitGroup
	for _, scenario := range Scenarios() {
		for seed := range uint64(3) {
			running.Go(func() {
				s := settings(scenario, seed)
				log := &memoryLog{}
				s.AccuracyLogProbability = 1
				r, err := Run(t.Context(), spread(t, 2), &fakeQSL{total: 500, performance: 100}, s, Options{AccuracyLog: log, MaxIssueDelay: time.Minute})
				if err != nil {
					t.Error(err)
					return
				}
				trace, err := NewTrace(s, 100, 500)
				if err != nil {
					t.Error(err)
					return
				}
				if !r.Valid() || r.Performance.SampleCount != uint64(len(trace.Samples)) {
					t.Errorf("%v: %d samples, want %d: %v %v", scenario, r.Performance.SampleCount, len(trace.Samples), r.Performance.Problems(), r.Faults)
				}
				for _, record := range log.records {
					if want := trace.Samples[record.SeqID]; record.QSLIndex != want || record.Data[0] != byte(want) {
						t.Errorf("%v: sample %d was of index %d with answer %d, want %d", scenario, record.SeqID, record.QSLIndex, record.Data[0], want)
						return
					}
				}
				if len(log.records) != len(trace.Samples) {
					t.Errorf("%v: %d records, want %d", scenario, len(log.records), len(trace.Samples))
				}
			})
		}
	}
	running.Wait()
}

func TestCompletionFromManyGoroutines(t *testing.T) {
	s := quick(SingleStream)
	s.MinDuration, s.MinQueryCount = 0, 10000
	r := mustRun(t, spread(t, 8), &fakeQSL{total: 500, performance: 100}, s, Options{})
	if !r.Valid() || r.Performance.SampleCount != 10000 {
		t.Errorf("valid %v, %d samples, faults %v", r.Valid(), r.Performance.SampleCount, r.Faults)
	}
}

func TestTheSamplesOfAQueryMayBeAnsweredByManyGoroutines(t *testing.T) {
	for _, scenario := range []Scenario{MultiStream, Offline} {
		s := quick(scenario)
		s.MinDuration, s.MinQueryCount, s.WithoutEarlyStopping = 0, 1000, true
		var answering sync.WaitGroup
		sut := nullSUT(func(q Query) {
			for i := range q.Samples {
				answering.Go(func() { answer(Query{Samples: q.Samples[i : i+1], to: q.to}) })
			}
		})
		r := mustRun(t, sut, &fakeQSL{total: 500, performance: 100}, s, Options{})
		answering.Wait()
		want := uint64(1000)
		if scenario == MultiStream {
			want *= s.MultiStreamSamplesPerQuery
		}
		if !r.Valid() || r.Performance.SampleCount != want {
			t.Errorf("%v: valid %v, %d samples, faults %v", scenario, r.Valid(), r.Performance.SampleCount, r.Faults)
		}
	}
}

func TestABatchMayAnswerManyQueries(t *testing.T) {
	// Ten queries are held back and then answered through the last of them.
	inFakeTime(t, func(t *testing.T) {
		var held []QuerySampleResponse
		var last Query
		sut := &fakeSUT{}
		sut.issue = func(q Query) {
			last = q
			if held = append(held, QuerySampleResponse{ID: q.Samples[0].ID}); len(held) == 10 {
				q.Complete(held)
				held = nil
			}
		}
		sut.flush = func() { last.Complete(held) }
		s := quick(Server)
		s.ServerTargetLatency = time.Second
		if r := mustRun(t, sut, &fakeQSL{total: 500, performance: 100}, s, timers); !r.Valid() {
			t.Errorf("INVALID: %v %v", r.Performance.Problems(), r.Faults)
		}
	})
}

func TestIssuingAndCompletingAllocateNothing(t *testing.T) {
	for _, scenario := range []Scenario{SingleStream, MultiStream, Server} {
		s := quick(scenario)
		s.MinDuration, s.ServerTargetQPS, s.MinQueryCount = 0, 1e9, 5000
		responses := make([]QuerySampleResponse, s.MultiStreamSamplesPerQuery)
		var before, after runtime.MemStats
		n := 0
		sut := nullSUT(func(q Query) {
			if n++; n == 1000 {
				runtime.ReadMemStats(&before)
			} else if n == 5000 {
				runtime.ReadMemStats(&after)
			}
			for i, sample := range q.Samples {
				responses[i].ID = sample.ID
			}
			q.Complete(responses[:len(q.Samples)])
		})
		mustRun(t, sut, &fakeQSL{total: 500, performance: 100}, s, Options{})
		if got := after.Mallocs - before.Mallocs; n < 5000 || got > 20 { // those of the runtime and of the watchdog
			t.Errorf("%v: 4000 queries made %d allocations", scenario, got)
		}
	}
}
