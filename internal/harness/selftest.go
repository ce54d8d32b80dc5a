package harness

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/loadgen/mlperflog"
	"github.com/mlperf-go/mlperf/internal/machine"
)

// A SelfTest measures the load generator with a system that answers at once.
type SelfTest struct {
	Scenario loadgen.Scenario
	// TargetQPS is the rate of Server queries, the Offline samples per second of Duration, and in
	// the stream scenarios the rate for which queries are prepared; 0 there: 1000.
	TargetQPS float64
	Duration  time.Duration // how long the traffic lasts
	// Responses is how many samples the system answers with one call of Complete; 0: 256, and
	// all of the query if it is negative.
	Responses int
	// Accuracy issues TargetQPS times Duration samples once, in accuracy mode, with responses of
	// four bytes each.
	Accuracy  bool
	OutputDir string // for logs; empty: none are written
	NewPacer  func() loadgen.Pacer
}

// SelfTestResult is what a SelfTest finds. A query of Offline, and of accuracy mode, is counted
// as its samples.
type SelfTestResult struct {
	Scenario        string  `json:"scenario"`
	Queries         uint64  `json:"queries"`
	DurationNS      int64   `json:"duration_ns"` // until the last completion
	IssuedQPS       float64 `json:"issued_qps"`
	LatencyMeanNS   int64   `json:"latency_mean_ns"`
	LatencyP50NS    int64   `json:"latency_p50_ns"`
	LatencyP99NS    int64   `json:"latency_p99_ns"`
	IssueDelayP50NS int64   `json:"issue_delay_p50_ns"`
	IssueDelayP99NS int64   `json:"issue_delay_p99_ns"`
	BytesPerQuery   float64 `json:"bytes_per_query"`
	AllocsPerQuery  float64 `json:"allocs_per_query"`
	PostRunNS       int64   `json:"post_run_ns"` // from the last completion until the result is there, and the logs if they are asked for
	PeakRSSBytes    uint64  `json:"peak_rss_bytes"`
}

// selfTestSamples is the size of the data set that a self-test pretends to have, the
// performance sample count of ResNet-50.
const selfTestSamples = 1024

// defaultResponses is how many samples are answered at once if nobody says how many.
const defaultResponses = 256

// Run runs the self-test.
func (s SelfTest) Run(ctx context.Context) (*SelfTestResult, error) {
	sut, qsl := newNullSUT(s.responses(), s.Accuracy), nullQSL(selfTestSamples)
	sut.timed = s.timedBySUT()
	if s.Accuracy {
		qsl = nullQSL(s.samples())
	}
	before := heap()
	r, err := s.issue(ctx, sut, qsl)
	if err != nil {
		return nil, err
	}
	ended := time.Now()
	var after runtime.MemStats
	runtime.ReadMemStats(&after)
	mallocs := after.Mallocs - before.Mallocs
	after = heap()
	result := s.measured(r, sut)
	if sut.timed {
		result.PostRunNS = int64(ended.Sub(sut.ended))
	} else {
		result.PostRunNS = int64(ended.Sub(r.StartTime.Add(r.Performance.Started)) - r.Performance.LastCompletion)
	}
	n := float64(result.Queries)
	result.BytesPerQuery = float64(int64(after.HeapAlloc)-int64(before.HeapAlloc)) / n
	result.AllocsPerQuery = float64(mallocs) / n
	result.PeakRSSBytes = machine.PeakRSS()
	runtime.KeepAlive(r)
	return result, nil
}

// Check finds what no self-test is possible with.
func (s SelfTest) Check() error {
	settings := s.settings()
	samples := uint64(selfTestSamples)
	if s.Accuracy {
		samples = s.samples()
	}
	if err := settings.Validate(); err != nil {
		return err
	}
	if err := settings.Effective(samples, samples).Validate(samples); err != nil {
		return err
	}
	need, free := float64(s.samples())*selfTestBytes, machine.AvailableMemory()
	if need > float64(free) {
		return fmt.Errorf("%d queries or samples take about %.3g GiB, of which this machine has %.3g", s.samples(), need/(1<<30), float64(free)/(1<<30))
	}
	return nil
}

// timedBySUT reports whether the system tells when it was called: in accuracy mode there are no latencies, and in
// Offline the one latency has the making of the responses in it.
func (s SelfTest) timedBySUT() bool { return s.Accuracy || s.Scenario == loadgen.Offline }

// selfTestBytes is what a query, and in Offline a sample, takes at least.
const selfTestBytes = 24

// samples is the size of the Offline query and of the data set of accuracy mode.
func (s SelfTest) samples() uint64 { return max(1, uint64(s.TargetQPS*s.Duration.Seconds())) }

func (s SelfTest) responses() int {
	switch {
	case s.Responses > 0:
		return s.Responses
	case s.Responses < 0 && (s.Accuracy || s.Scenario == loadgen.Offline):
		return int(s.samples())
	}
	return defaultResponses
}

func (s SelfTest) settings() loadgen.TestSettings {
	t := loadgen.DefaultSettings()
	t.Scenario = s.Scenario
	t.MinDuration, t.MinQueryCount = s.Duration, 1
	if s.TargetQPS > 0 || s.Scenario == loadgen.Server || s.Scenario == loadgen.Offline { // which need one
		t.SetTargetQPS(s.TargetQPS)
	}
	if s.Scenario == loadgen.Offline {
		t.MinQueryCount, t.MinDuration = s.samples(), 0
	}
	if s.Accuracy {
		t.Mode = loadgen.AccuracyOnly
	}
	return t
}

// issue runs the test and writes its logs.
func (s SelfTest) issue(ctx context.Context, sut loadgen.SUT, qsl loadgen.QSL) (*loadgen.Result, error) {
	opts := loadgen.Options{NewPacer: s.NewPacer}
	finish := func() error { return nil }
	if s.OutputDir != "" {
		file, err := os.Create(filepath.Join(s.OutputDir, mlperflog.AccuracyFile))
		if err != nil {
			return nil, fmt.Errorf("opening the accuracy log: %w", err)
		}
		log := mlperflog.NewAccuracyLog(file, s.Scenario)
		opts.AccuracyLog = log
		finish = func() error { return errors.Join(log.Close(), file.Close()) }
	}
	r, err := loadgen.Run(ctx, sut, qsl, s.settings(), opts)
	err = errors.Join(err, finish())
	switch {
	case err != nil:
		return nil, err
	case r.Interrupted != nil:
		return nil, r.Interrupted
	case s.OutputDir == "":
		return r, nil
	}
	return r, mlperflog.WriteFiles(s.OutputDir, r, mlperflog.About{Version: "selftest", PID: os.Getpid()})
}

// measured is what the test itself says.
func (s SelfTest) measured(r *loadgen.Result, sut *nullSUT) *SelfTestResult {
	result := &SelfTestResult{Scenario: s.Scenario.String(), Queries: r.AccuracySamples, DurationNS: max(1, int64(sut.ended.Sub(sut.begun)))}
	if p := r.Performance; p != nil {
		result.Queries, result.DurationNS = p.QueryCount, int64(p.LastCompletion)
		if s.Scenario == loadgen.Offline {
			result.Queries = p.SampleCount
		}
		result.LatencyMeanNS = int64(p.SampleLatency.Mean)
		result.LatencyP50NS, result.LatencyP99NS = int64(p.SampleLatency.Percentiles[0]), int64(p.SampleLatency.Percentiles[4])
		result.IssueDelayP50NS, result.IssueDelayP99NS = int64(p.IssueDelay.Percentiles[0]), int64(p.IssueDelay.Percentiles[4])
	}
	result.IssuedQPS = float64(result.Queries) / time.Duration(result.DurationNS).Seconds()
	return result
}

// heap is the memory in use after a collection.
func heap() runtime.MemStats {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m
}

// A nullSUT answers every query at once, with a number of samples in each call. The responses
// are made before the clock starts.
type nullSUT struct {
	responses    []loadgen.QuerySampleResponse
	timed        bool
	begun, ended time.Time // if it is timed: the first query, and the last call of Complete
}

// nullLabel is the answer to all samples, where answers are kept.
var nullLabel = [4]byte{7}

func newNullSUT(responses int, withData bool) *nullSUT {
	s := &nullSUT{responses: make([]loadgen.QuerySampleResponse, responses)}
	for i := range s.responses { // all memory is there
		s.responses[i].NTokens = 0
		if withData {
			s.responses[i].Data = nullLabel[:]
		}
	}
	return s
}

func (*nullSUT) Name() string { return "null SUT" }

func (s *nullSUT) IssueQuery(q loadgen.Query) {
	if s.timed && s.begun.IsZero() {
		s.begun = time.Now()
	}
	for rest := q.Samples; len(rest) > 0; {
		n := min(len(rest), len(s.responses))
		for i, sample := range rest[:n] {
			s.responses[i].ID = sample.ID
		}
		if s.timed {
			s.ended = time.Now()
		}
		q.Complete(s.responses[:n])
		rest = rest[n:]
	}
}

func (*nullSUT) FlushQueries() {}

// A nullQSL has so many samples, all without content.
type nullQSL int

func (nullQSL) Name() string                                                       { return "null QSL" }
func (q nullQSL) TotalSampleCount() int                                            { return int(q) }
func (q nullQSL) PerformanceSampleCount() int                                      { return int(q) }
func (nullQSL) LoadSamplesToRAM(context.Context, []loadgen.QuerySampleIndex) error { return nil }
func (nullQSL) UnloadSamplesFromRAM([]loadgen.QuerySampleIndex) error              { return nil }
