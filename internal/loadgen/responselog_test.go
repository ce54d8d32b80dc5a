package loadgen

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
)

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

// A slowLog needs a while for each record.
type slowLog struct {
	memoryLog
	each time.Duration
}

func (l *slowLog) Append(r AccuracyRecord) error {
	time.Sleep(l.each)
	return l.memoryLog.Append(r)
}

func accuracyOf(s Scenario) TestSettings {
	settings := quick(s)
	settings.Mode = AccuracyOnly
	return settings
}

func TestStorageThatBlocksHangsNeitherTheSUTNorTheTest(t *testing.T) {
	sampled := quick(Server)
	sampled.AccuracyLogProbability = 1
	tests := map[string]TestSettings{"sampled responses": sampled}
	for _, s := range Scenarios() {
		tests[s.String()] = accuracyOf(s)
	}
	for name, s := range tests {
		t.Run(name, func(t *testing.T) {
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
				r := mustRun(t, sut, &fakeQSL{total: 250, performance: 80}, s, opts)
				mustFault(t, r, "the accuracy log: it has not taken a response for 10s")
				mu.Lock()
				defer mu.Unlock()
				if took := time.Since(began); took > 20*time.Second || slowest > 0 {
					t.Errorf("the test took %v, a call of Complete %v", took, slowest)
				}
			})
		})
	}
}

func TestTheIssueLoopsWaitForSlowStorage(t *testing.T) {
	for _, scenario := range []Scenario{SingleStream, MultiStream, Server} {
		inFakeTime(t, func(t *testing.T) {
			log := &slowLog{each: 100 * time.Millisecond}
			opts := timers
			opts.AccuracyLog, opts.LogBuffer, opts.LogTimeout = log, 50*recordBytes, time.Second
			s := accuracyOf(scenario)
			s.ServerTargetQPS = 100
			r := mustRun(t, after(time.Millisecond), &fakeQSL{total: 250, performance: 80}, s, opts)
			if !r.Valid() || len(log.records) < 250 {
				t.Errorf("%v: %d records, %v", scenario, len(log.records), r.Problems())
			}
		})
	}
}

func TestABufferThatIsFullIsAFault(t *testing.T) {
	inFakeTime(t, func(t *testing.T) {
		log := &slowLog{each: 100 * time.Millisecond}
		opts := timers
		opts.AccuracyLog, opts.LogBuffer = log, 50*recordBytes
		r := mustRun(t, after(time.Second), &fakeQSL{total: 250, performance: 250}, accuracyOf(Offline), opts)
		mustFault(t, r, "its buffer is full: the storage is slower than the SUT")
		if n := len(log.records); n == 0 || n > 51 {
			t.Errorf("%d records were written, want those that fitted", n)
		}
	})
}

func TestManySampledResponsesAreWrittenWhileTheTestRuns(t *testing.T) {
	inFakeTime(t, func(t *testing.T) {
		s := quick(Server)
		s.AccuracyLogProbability = 1
		log := &memoryLog{}
		opts := timers
		opts.AccuracyLog, opts.LogBuffer = log, 1600*recordBytes // far less than a run has, and 200 are held back
		early := 0
		sut := &fakeSUT{issue: answer}
		sut.flush = func() { time.Sleep(time.Millisecond); early = len(log.records) }
		r := mustRun(t, sut, &fakeQSL{total: 250, performance: 80}, s, opts)
		if n := r.Performance.SampleCount; !r.Valid() || uint64(len(log.records)) != n || early < int(n)-200 || early == int(n) {
			t.Errorf("%d of %d responses were written while the test ran, %d in all; %v", early, n, len(log.records), r.Problems())
		}
		for i, record := range log.records {
			if record.SeqID != uint64(i) || record.Data[0] != byte(record.QSLIndex) {
				t.Fatalf("record %d is %+v", i, record)
			}
		}
	})
}

func TestALogThatPanicsIsAFault(t *testing.T) {
	inFakeTime(t, func(t *testing.T) {
		opts := timers
		opts.AccuracyLog = panickingLog{}
		r := mustRun(t, atOnce(), &fakeQSL{total: 250, performance: 80}, accuracyOf(Offline), opts)
		mustFault(t, r, "it panicked: no space")
	})
}

type panickingLog struct{}

func (panickingLog) Append(AccuracyRecord) error { panic("no space") }

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
