package loadgen

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/testenv"
)

func TestSamplerEqualsTheReference(t *testing.T) {
	// Check vector made with the reference: seed of TEST01, probability 4096/300000.
	e := EffectiveSettings{Common: Common{AccuracyLogRNGSeed: 720381539243781796, AccuracyLogProbability: 4096.0 / 300000}}
	s := newSampler(e, 0)
	var kept []int
	for i := range 900 {
		if s.keep() {
			kept = append(kept, i)
		}
	}
	if want := []int{279, 289, 329, 412, 446, 824, 878, 888}; s.offset != 0.49069568815352677 || !slices.Equal(kept, want) {
		t.Errorf("offset %v, logged %v, want %v", s.offset, kept, want)
	}
	if s := newSampler(e, 279); !s.keep() {
		t.Error("a sampler that begins at sample 279 does not log it")
	}
	target := func(n uint64) func(*TestSettings) {
		return func(s *TestSettings) { s.AccuracyLogSamplingTarget = n }
	}
	for _, test := range []struct {
		settings TestSettings
		want     float64
	}{
		{quick(SingleStream), 0},
		{quick(SingleStream, func(s *TestSettings) { s.AccuracyLogProbability = 0.25 }), 0.25},
		{quick(Server, target(500)), 0.1}, // of 5000 expected
		{quick(SingleStream, target(500), func(s *TestSettings) { s.MinQueryCount = 50000 }), 0.01},
		{quick(MultiStream, target(500), func(s *TestSettings) { s.MinQueryCount = 50000 }), 0.00125}, // of 8 samples each
		{quick(Offline, target(550)), 0.1},
	} {
		if got := accuracyLogProbability(test.settings.Effective(100, 500)); got != test.want {
			t.Errorf("%v: probability %g, want %g", test.settings.Scenario, got, test.want)
		}
	}
}

func TestSampledResponsesAreWrittenAfterTheRun(t *testing.T) {
	log := &memoryLog{}
	buffer := []byte{7}
	sut := &fakeSUT{issue: func(q Query) {
		if len(log.records) > 0 {
			t.Fatal("a response was written while queries are issued")
		}
		buffer[0] = byte(q.Samples[0].Index)
		q.Complete([]QuerySampleResponse{{ID: q.Samples[0].ID, Data: buffer}})
		buffer[0] = 255 // the SUT uses its buffer again
	}}
	r := runFake(t, sut, quick(Server, func(s *TestSettings) { s.AccuracyLogProbability = 1 }), Options{AccuracyLog: log})
	log.check(t, r.Performance.SampleCount)

	some := &memoryLog{}
	r = runFake(t, atOnce(), quick(Server, func(s *TestSettings) { s.AccuracyLogRNGSeed, s.AccuracyLogSamplingTarget = 7, 200 }), Options{AccuracyLog: some})
	if n := len(some.records); n < 150 || n > 250 || !r.Valid() {
		t.Errorf("%d responses logged, want about 200", n)
	}
}

func TestManySampledResponsesAreWrittenInTheRun(t *testing.T) {
	log, early := &memoryLog{}, 0
	sut := atOnce()
	sut.flush = func() { time.Sleep(time.Millisecond); early = len(log.records) }
	// The buffer is far smaller than a run's responses, and 200 are held back.
	r := runFake(t, sut, quick(Server, func(s *TestSettings) { s.AccuracyLogProbability = 1 }), Options{AccuracyLog: log, LogBuffer: 1600 * recordBytes})
	n := r.Performance.SampleCount
	if !r.Valid() || early < int(n)-200 || early == int(n) {
		t.Errorf("%d of %d responses were written while the test ran; %v", early, n, r.Problems())
	}
	log.check(t, n)
}

func TestFailingLogIsAFault(t *testing.T) {
	for fault, log := range map[string]*memoryLog{"no space left on device": {err: errors.New("no space left on device")}, "it panicked: no memory": {panics: true}} {
		mustFault(t, runFake(t, atOnce(), quick(Offline, accuracyOnly), Options{AccuracyLog: log}), fault)
	}
}

func TestLateAnswersAreNotLogged(t *testing.T) {
	for _, hold := range []int64{0, 1 << 10} {
		kept := &memoryLog{}
		log := newResponseLog(kept, logLimits{hold: hold, most: 1 << 20, timeout: time.Second}, false)
		log.begin()
		log.add(QuerySample{ID: 1}, &QuerySampleResponse{ID: 1})
		testenv.Must(t, log.close())
		log.add(QuerySample{ID: 2}, &QuerySampleResponse{ID: 2}) // the caller may have closed its file
		if err := log.close(); err != nil || len(kept.records) != 1 || kept.records[0].SeqID != 1 {
			t.Errorf("records %+v, want that of sample 1", kept.records)
		}
	}
}

// A blockedLog takes a number of records and then blocks until it is released.
type blockedLog struct {
	memoryLog
	takes   int
	release chan struct{}
}

func (l *blockedLog) Append(r AccuracyRecord) error {
	if len(l.records) == l.takes {
		<-l.release
		return errors.New("released")
	}
	return l.memoryLog.Append(r)
}

func TestBlockedLogHangsNothing(t *testing.T) {
	list := []TestSettings{quick(Server, func(s *TestSettings) { s.AccuracyLogProbability = 1 })}
	for _, s := range Scenarios() {
		list = append(list, quick(s, accuracyOnly))
	}
	for _, s := range list {
		inFakeTime(t, func(t *testing.T) {
			log := &blockedLog{takes: 3, release: make(chan struct{})}
			defer close(log.release)
			opts := timers
			opts.AccuracyLog, opts.LogTimeout = log, 10*time.Second
			slowest := time.Duration(0)
			var mu sync.Mutex
			sut := &fakeSUT{issue: func(q Query) {
				time.AfterFunc(time.Millisecond, func() {
					began := time.Now()
					answer(q)
					mu.Lock()
					slowest = max(slowest, time.Since(began))
					mu.Unlock()
				})
			}}
			began := time.Now()
			mustFault(t, mustRun(t, sut, samples(), s, opts), "the accuracy log: it has not taken a response for 10 s")
			mu.Lock()
			defer mu.Unlock()
			if took := time.Since(began); took > 20*time.Second || slowest > 0 {
				t.Errorf("%v: the test took %v, a call of Complete %v", s.Scenario, took, slowest)
			}
		})
	}
}

func TestIssueLoopsWaitForASlowLog(t *testing.T) {
	for _, scenario := range []Scenario{SingleStream, MultiStream, Server} {
		log := &memoryLog{each: 100 * time.Millisecond}
		r := runFake(t, after(time.Millisecond), quick(scenario, accuracyOnly, func(s *TestSettings) { s.ServerTargetQPS = 100 }),
			Options{AccuracyLog: log, LogBuffer: 50 * recordBytes, LogTimeout: time.Second})
		if !r.Valid() || len(log.records) < 500 {
			t.Errorf("%v: %d records, %v", scenario, len(log.records), r.Problems())
		}
	}
	// Offline has one query: nothing can be held back.
	log := &memoryLog{each: 100 * time.Millisecond}
	r := runFake(t, after(time.Second), quick(Offline, accuracyOnly), Options{AccuracyLog: log, LogBuffer: 50 * recordBytes})
	mustFault(t, r, "its buffer is full: the storage is slower than the SUT")
	if n := len(log.records); n == 0 || n > 51 {
		t.Errorf("%d records were written, want those that fitted", n)
	}
}

// TestResponsesOfManyGoroutinesAreAllWritten has data of many sizes, so that buffers move.
func TestResponsesOfManyGoroutinesAreAllWritten(t *testing.T) {
	kept := &memoryLog{}
	log := newResponseLog(kept, logLimits{most: 1 << 30, timeout: time.Minute}, false)
	log.begin()
	var adding sync.WaitGroup
	const goroutines, each = 8, 500
	for g := range goroutines {
		adding.Go(func() {
			for i := range each {
				id := ResponseID(g*each + i)
				log.add(QuerySample{ID: id}, &QuerySampleResponse{ID: id, Data: []byte(strings.Repeat(fmt.Sprint(id, " "), i%97))})
			}
		})
	}
	adding.Wait()
	if err := log.close(); err != nil || len(kept.records) != goroutines*each {
		t.Fatalf("%d records, %v", len(kept.records), err)
	}
	for _, r := range kept.records {
		if want := strings.Repeat(fmt.Sprint(r.SeqID, " "), int(r.SeqID%each)%97); string(r.Data) != want {
			t.Fatalf("sample %d has %.40q, want %.40q", r.SeqID, r.Data, want)
		}
	}
	if n := log.waiting.Load(); n != 0 {
		t.Errorf("%d bytes wait in an empty log", n)
	}
}
