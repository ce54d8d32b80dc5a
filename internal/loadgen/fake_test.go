package loadgen

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mlperf-go/mlperf/internal/testenv"
)

// A fakeQSL has samples without content and remembers what was loaded.
type fakeQSL struct {
	total, performance int
	loads              [][]QuerySampleIndex
	loadErr, unloadErr error
	loading, unloading func() // called meanwhile, if not nil
	ignoresContext     bool
}

func (*fakeQSL) Name() string                  { return "fake QSL" }
func (q *fakeQSL) TotalSampleCount() int       { return q.total }
func (q *fakeQSL) PerformanceSampleCount() int { return q.performance }
func (q *fakeQSL) LoadSamplesToRAM(ctx context.Context, set []QuerySampleIndex) error {
	q.loads = append(q.loads, set)
	if q.loading != nil {
		q.loading()
	}
	if q.loadErr != nil || q.ignoresContext {
		return q.loadErr
	}
	return ctx.Err()
}
func (q *fakeQSL) UnloadSamplesFromRAM([]QuerySampleIndex) error {
	if q.unloading != nil {
		q.unloading()
	}
	return q.unloadErr
}

// samples is a QSL of 500 samples, 100 of them in memory.
func samples() *fakeQSL { return &fakeQSL{total: 500, performance: 100} }

// A fakeSUT hands every query to a function and remembers it.
type fakeSUT struct {
	issue func(Query)
	flush func() // nil: nothing to do

	mu      sync.Mutex
	queries [][]QuerySampleIndex
	flushed int
}

func (*fakeSUT) Name() string { return "fake SUT" }

func (s *fakeSUT) IssueQuery(q Query) {
	indices := make([]QuerySampleIndex, len(q.Samples))
	for i, sample := range q.Samples {
		indices[i] = sample.Index
	}
	s.mu.Lock()
	s.queries = append(s.queries, indices)
	s.mu.Unlock()
	s.issue(q)
}

func (s *fakeSUT) FlushQueries() {
	s.mu.Lock()
	s.flushed++
	s.mu.Unlock()
	if s.flush != nil {
		s.flush()
	}
}

// answer completes all samples of a query with their data index as the response.
func answer(q Query) {
	responses := make([]QuerySampleResponse, len(q.Samples))
	for i, s := range q.Samples {
		responses[i] = QuerySampleResponse{ID: s.ID, Data: []byte{byte(s.Index)}}
	}
	q.Complete(responses)
}

// atOnce is a SUT that answers inside IssueQuery.
func atOnce() *fakeSUT { return &fakeSUT{issue: answer} }

// after is a SUT that answers every query by itself after a time.
func after(latency time.Duration) *fakeSUT {
	return &fakeSUT{issue: func(q Query) { time.AfterFunc(latency, func() { answer(q) }) }}
}

// blocking is a SUT that answers inside IssueQuery after a time, and then stays inside.
func blocking(latency, stay time.Duration) *fakeSUT {
	return &fakeSUT{issue: func(q Query) {
		time.Sleep(latency)
		answer(q)
		time.Sleep(stay)
	}}
}

// A nullSUT is a function without memory.
type nullSUT func(Query)

func (nullSUT) Name() string         { return "null SUT" }
func (f nullSUT) IssueQuery(q Query) { f(q) }
func (nullSUT) FlushQueries()        {}

// inFakeTime runs a test whose clock stands still unless all goroutines wait. It fails a test that leaves goroutines.
func inFakeTime(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, f)
}

// timers are options with which a test runs in fake time.
var timers = Options{NewPacer: func() Pacer { return TimerPacer{} }}

func mustRun(t *testing.T, sut SUT, qsl QSL, s TestSettings, opts Options) *Result {
	t.Helper()
	r, err := Run(t.Context(), sut, qsl, s, opts)
	testenv.Must(t, err)
	return r
}

// runFake runs a test of 500 samples, 100 of them in memory, in fake time.
func runFake(t *testing.T, sut SUT, s TestSettings, opts Options) (r *Result) {
	t.Helper()
	if opts.NewPacer == nil {
		opts.NewPacer = timers.NewPacer
	}
	inFakeTime(t, func(t *testing.T) { r = mustRun(t, sut, samples(), s, opts) })
	return r
}

// quick returns settings for a scenario that a run of a few seconds satisfies, with changes.
func quick(s Scenario, changes ...func(*TestSettings)) TestSettings {
	settings := DefaultSettings()
	settings.Scenario = s
	settings.MinDuration = 5 * time.Second
	settings.MinQueryCount = 100
	settings.ServerTargetQPS = 1000
	settings.OfflineExpectedQPS = 1000
	settings.SingleStreamExpectedLatencyNS = 1e6
	settings.QSLRNGSeed, settings.SampleIndexRNGSeed, settings.ScheduleRNGSeed = 1, 2, 3
	for _, change := range changes {
		change(&settings)
	}
	return settings
}

// accuracyOnly and count are changes of settings.
func accuracyOnly(s *TestSettings) { s.Mode = AccuracyOnly }

func count(queries uint64) func(*TestSettings) {
	return func(s *TestSettings) { s.MinDuration, s.MinQueryCount = 0, queries }
}

// A memoryLog is an AccuracyLog that keeps its records.
type memoryLog struct {
	records []AccuracyRecord
	each    time.Duration // that a record takes
	err     error
	panics  bool
}

func (l *memoryLog) Append(r AccuracyRecord) error {
	time.Sleep(l.each)
	if l.panics {
		panic("no memory")
	}
	r.Data = slices.Clone(r.Data)
	l.records = append(l.records, r)
	return l.err
}

// check fails unless the records are those of the first n samples of the traffic in order.
func (l *memoryLog) check(t *testing.T, n uint64) {
	t.Helper()
	if uint64(len(l.records)) != n {
		t.Errorf("%d records, want %d", len(l.records), n)
	}
	for i, r := range l.records {
		if r.SeqID != uint64(i) || len(r.Data) != 1 || r.Data[0] != byte(r.QSLIndex) {
			t.Fatalf("record %d is %+v", i, r)
		}
	}
}

func hasEvent(r *Result, text string) bool {
	return slices.ContainsFunc(r.Events, func(e Event) bool { return strings.Contains(fmt.Sprint(e.Value), text) })
}

// mustFault checks that a run is INVALID and names a fault.
func mustFault(t *testing.T, r *Result, fault string) {
	t.Helper()
	if text := fmt.Sprint(r.Faults); r.Valid() || !strings.Contains(text, fault) {
		t.Errorf("valid %v, faults %s, want %q", r.Valid(), text, fault)
	}
	if !hasEvent(r, fault) || r.Errors() == 0 {
		t.Errorf("no event names %q: %v", fault, r.Events)
	}
}
