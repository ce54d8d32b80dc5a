package loadgen

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A fakeQSL has samples without content and remembers what was loaded.
type fakeQSL struct {
	total, performance int
	loads              [][]QuerySampleIndex
	loadErr, unloadErr error
	loading, unloading func() // called meanwhile, if not nil
}

func (*fakeQSL) Name() string                  { return "fake QSL" }
func (q *fakeQSL) TotalSampleCount() int       { return q.total }
func (q *fakeQSL) PerformanceSampleCount() int { return q.performance }
func (q *fakeQSL) LoadSamplesToRAM(ctx context.Context, set []QuerySampleIndex) error {
	q.loads = append(q.loads, set)
	if q.loading != nil {
		q.loading()
	}
	if q.loadErr != nil {
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

// inFakeTime runs a test whose clock stands still unless all goroutines wait.
func inFakeTime(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, f)
}

var timers = Options{NewPacer: func() Pacer { return TimerPacer{} }}

func mustRun(t *testing.T, sut SUT, qsl QSL, s TestSettings, opts Options) *Result {
	t.Helper()
	r, err := Run(t.Context(), sut, qsl, s, opts)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// quick returns settings for a scenario that a run of a few seconds satisfies.
func quick(s Scenario) TestSettings {
	settings := DefaultSettings()
	settings.Scenario = s
	settings.MinDuration = 5 * time.Second
	settings.MinQueryCount = 100
	settings.ServerTargetQPS = 1000
	settings.OfflineExpectedQPS = 1000
	settings.SingleStreamExpectedLatencyNS = 1e6
	settings.QSLRNGSeed, settings.SampleIndexRNGSeed, settings.ScheduleRNGSeed = 1, 2, 3
	return settings
}

// A memoryLog is an AccuracyLog that keeps its records.
type memoryLog struct {
	records []AccuracyRecord
	err     error
}

func (l *memoryLog) Append(r AccuracyRecord) error {
	r.Data = append([]byte(nil), r.Data...)
	l.records = append(l.records, r)
	return l.err
}

// A nullSUT is a function without memory.
type nullSUT func(Query)

func (nullSUT) Name() string         { return "null SUT" }
func (f nullSUT) IssueQuery(q Query) { f(q) }
func (nullSUT) FlushQueries()        {}
