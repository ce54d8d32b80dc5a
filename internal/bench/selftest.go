package bench

import (
	"context"
	"runtime"
	"time"

	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/machine"
)

// A SelfTest measures the load generator with a system that answers at once.
type SelfTest struct {
	Scenario  loadgen.Scenario
	TargetQPS float64       // Server: queries per second; Offline: samples per second of Duration
	Duration  time.Duration // how long the traffic lasts
	NewPacer  func() loadgen.Pacer
}

// SelfTestResult is what a SelfTest finds. A query of Offline is counted as its samples.
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
	PostRunNS       int64   `json:"post_run_ns"` // from the last completion to the result
	PeakRSSBytes    uint64  `json:"peak_rss_bytes"`
}

// selfTestSamples is the size of the data set that a self-test pretends to have, the
// performance sample count of ResNet-50.
const selfTestSamples = 1024

// Run runs the self-test.
func (s SelfTest) Run(ctx context.Context) (*SelfTestResult, error) {
	t := loadgen.DefaultSettings()
	t.Scenario = s.Scenario
	t.MinDuration, t.MinQueryCount = s.Duration, 1
	t.ServerTargetQPS = s.TargetQPS
	t.SingleStreamExpectedLatencyNS, t.MultiStreamExpectedLatencyNS = 1e6, 1e6
	if s.Scenario == loadgen.Offline {
		t.OfflineExpectedQPS = s.TargetQPS
		t.MinQueryCount, t.MinDuration = max(1, uint64(s.TargetQPS*s.Duration.Seconds())), 0
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	r, err := loadgen.Run(ctx, &nullSUT{}, nullQSL{}, t, loadgen.Options{
		NewPacer: s.NewPacer,
	})
	if err != nil {
		return nil, err
	}
	ended := time.Now()
	if r.Interrupted != nil {
		return nil, r.Interrupted
	}
	runtime.ReadMemStats(&after)
	mallocs := after.Mallocs - before.Mallocs
	runtime.GC()
	runtime.ReadMemStats(&after)
	p := r.Performance
	n := float64(p.SampleCount)
	result := &SelfTestResult{
		Scenario:        s.Scenario.String(),
		Queries:         p.QueryCount,
		DurationNS:      int64(p.LastCompletion),
		LatencyMeanNS:   int64(p.SampleLatency.Mean),
		LatencyP50NS:    int64(p.SampleLatency.Percentiles[0]),
		LatencyP99NS:    int64(p.SampleLatency.Percentiles[4]),
		IssueDelayP50NS: int64(p.IssueDelay.Percentiles[0]),
		IssueDelayP99NS: int64(p.IssueDelay.Percentiles[4]),
		BytesPerQuery:   float64(int64(after.HeapAlloc)-int64(before.HeapAlloc)) / n,
		AllocsPerQuery:  float64(mallocs) / n,
		PostRunNS:       int64(ended.Sub(r.StartTime.Add(p.Started)) - p.LastCompletion),
		PeakRSSBytes:    machine.PeakRSS(),
	}
	if s.Scenario == loadgen.Offline {
		result.Queries = p.SampleCount
	}
	result.IssuedQPS = float64(result.Queries) / p.LastCompletion.Seconds()
	runtime.KeepAlive(r)
	return result, nil
}

// nullSUT answers every query at once, in batches.
type nullSUT struct {
	responses [256]loadgen.QuerySampleResponse
}

func (*nullSUT) Name() string { return "null SUT" }

func (s *nullSUT) IssueQuery(q loadgen.Query) {
	for rest := q.Samples; len(rest) > 0; {
		n := min(len(rest), len(s.responses))
		for i, sample := range rest[:n] {
			s.responses[i].ID = sample.ID
		}
		q.Complete(s.responses[:n])
		rest = rest[n:]
	}
}

func (*nullSUT) FlushQueries() {}

// nullQSL has samples without content.
type nullQSL struct{}

func (nullQSL) Name() string                                                       { return "null QSL" }
func (nullQSL) TotalSampleCount() int                                              { return selfTestSamples }
func (nullQSL) PerformanceSampleCount() int                                        { return selfTestSamples }
func (nullQSL) LoadSamplesToRAM(context.Context, []loadgen.QuerySampleIndex) error { return nil }
func (nullQSL) UnloadSamplesFromRAM([]loadgen.QuerySampleIndex) error              { return nil }
