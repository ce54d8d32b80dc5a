// Package selftest measures the load generator on this machine: with a system that answers at once, and in the tests by
// which it is judged.
package selftest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/loadgen/mlperflog"
	"github.com/mlperf-go/mlperf/internal/machine"
	"github.com/mlperf-go/mlperf/internal/machine/clock"
	"github.com/mlperf-go/mlperf/internal/units"
)

// A Test runs the load generator with a system that answers at once.
type Test struct {
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

// A Result is that of a Test. In Offline and in accuracy mode its queries are samples.
type Result struct {
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
	PostRunNS       int64   `json:"post_run_ns"` // from the last completion until the result exists, and the logs if they are written
	PeakRSSBytes    uint64  `json:"peak_rss_bytes"`
	IssuePriority   string  `json:"issue_priority,omitempty"` // as loadgen.Performance has it
}

const (
	// datasetSamples is the size of the data set: the performance sample count of ResNet-50.
	datasetSamples = 1024
	// queryBytes is the least memory of a query, and in Offline of a sample.
	queryBytes = 24
)

// Run runs the test.
func (s Test) Run(ctx context.Context) (*Result, error) {
	sut, qsl := &nullSUT{responses: make([]loadgen.QuerySampleResponse, s.responses()), timed: s.timedBySUT()}, nullQSL(datasetSamples)
	for i := range sut.responses { // all memory is there
		sut.responses[i].NTokens = 0
		if s.Accuracy {
			sut.responses[i].Data = nullLabel[:]
		}
	}
	if s.Accuracy {
		qsl = nullQSL(s.samples())
	}
	before := heap()
	r, err := s.issue(ctx, sut, qsl)
	if err != nil {
		return nil, err
	}
	ended := clock.Now()
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

// Check finds settings, and sizes, that the test cannot run with.
func (s Test) Check() error {
	settings := s.settings()
	samples := uint64(datasetSamples)
	if s.Accuracy {
		samples = s.samples()
	}
	if err := settings.Validate(); err != nil {
		return err
	}
	if err := settings.Effective(samples, samples).Validate(samples); err != nil {
		return err
	}
	need, free := float64(s.samples())*queryBytes, machine.AvailableMemory()
	if need > float64(free) {
		return fmt.Errorf("%s queries or samples need about %s of memory, %s are free", units.Number(float64(s.samples())),
			units.Memory(uint64(need)), units.Memory(free))
	}
	return nil
}

// timedBySUT reports whether the system notes when it was called: accuracy mode has no latencies, and the one latency of
// Offline includes the making of the responses.
func (s Test) timedBySUT() bool { return s.Accuracy || s.Scenario == loadgen.Offline }

// samples is the size of the Offline query and of the data set of accuracy mode.
func (s Test) samples() uint64 { return max(1, uint64(s.TargetQPS*s.Duration.Seconds())) }

func (s Test) responses() int {
	switch {
	case s.Responses > 0:
		return s.Responses
	case s.Responses < 0 && (s.Accuracy || s.Scenario == loadgen.Offline):
		return int(s.samples())
	}
	return 256
}

func (s Test) settings() loadgen.TestSettings {
	t := loadgen.DefaultSettings()
	t.Scenario = s.Scenario
	t.MinDuration, t.MinQueryCount = s.Duration, 1
	if s.TargetQPS > 0 || s.Scenario == loadgen.Server || s.Scenario == loadgen.Offline { // these need a rate
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
func (s Test) issue(ctx context.Context, sut loadgen.SUT, qsl loadgen.QSL) (*loadgen.Result, error) {
	opts := loadgen.Options{NewPacer: s.NewPacer, DropInterrupted: true}
	finish := func() error { return nil }
	if s.OutputDir != "" {
		file, err := fileio.CreateIn(s.OutputDir, mlperflog.AccuracyFile)
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
	_, err = mlperflog.WriteFiles(s.OutputDir, r, mlperflog.ThisProgram("selftest"))
	return r, err
}

// measured is the result as far as the test itself tells.
func (s Test) measured(r *loadgen.Result, sut *nullSUT) *Result {
	result := &Result{Scenario: s.Scenario.String(), Queries: r.AccuracySamples, DurationNS: max(1, int64(sut.ended.Sub(sut.begun)))}
	if p := r.Performance; p != nil {
		result.Queries, result.DurationNS = p.QueryCount, int64(p.LastCompletion)
		if s.Scenario == loadgen.Offline {
			result.Queries = p.SampleCount
		}
		result.LatencyMeanNS = int64(p.SampleLatency.Mean)
		result.LatencyP50NS, result.LatencyP99NS = int64(p.SampleLatency.Percentiles[0]), int64(p.SampleLatency.Percentiles[4])
		result.IssueDelayP50NS, result.IssueDelayP99NS = int64(p.IssueDelay.Percentiles[0]), int64(p.IssueDelay.Percentiles[4])
		result.IssuePriority = p.IssuePriority
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

// A nullSUT answers every query at once, with a number of samples in each call. The responses exist before the clock
// starts.
type nullSUT struct {
	responses    []loadgen.QuerySampleResponse
	timed        bool
	begun, ended time.Time // if it is timed: the first query, and the last call of Complete
}

// nullLabel is the response to all samples, where responses are logged.
var nullLabel = [4]byte{7}

func (*nullSUT) Name() string { return "null SUT" }

func (s *nullSUT) IssueQuery(q loadgen.Query) {
	if s.timed && s.begun.IsZero() {
		s.begun = clock.Now()
	}
	for rest := q.Samples; len(rest) > 0; {
		n := min(len(rest), len(s.responses))
		for i, sample := range rest[:n] {
			s.responses[i].ID = sample.ID
		}
		if s.timed {
			s.ended = clock.Now()
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

// A Measure is a number by which the load generator is judged.
type Measure struct {
	Name  string
	Test  Test // in a process of its own, so that memory is that of one test
	Busy  bool // while all cores compute
	Of    func(*Result) float64
	Unit  string
	Least bool // less is better
}

// A Figure is what a test that ran several times gave.
type Figure struct {
	Median float64 `json:"median"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
}

// Figure is that of the results of a test.
func (m Measure) Figure(results []*Result) Figure {
	var values []float64
	for _, r := range results {
		values = append(values, m.Of(r))
	}
	slices.Sort(values)
	return Figure{values[len(values)/2], values[0], values[len(values)-1]}
}

// Measures lists the numbers by which the load generator is judged: how many queries it issues, how late it is, how much
// memory a query takes, and how long the logs take. Several belong to the same test.
func Measures() []Measure {
	stream := Test{Scenario: loadgen.SingleStream, TargetQPS: 1e6, Duration: 2 * time.Second, Responses: 1}
	multi := Test{Scenario: loadgen.MultiStream, TargetQPS: 4e5, Duration: time.Second, Responses: 8} // a query has 8 samples
	kept := Test{Scenario: loadgen.Offline, TargetQPS: 2e6, Duration: time.Second, Responses: 256, Accuracy: true}
	list := []Measure{
		{Name: "SingleStream, queries per second", Test: stream, Of: (*Result).issued, Unit: "/s"},
		{Name: "SingleStream, peak memory per query", Test: stream, Of: (*Result).memory, Unit: "B", Least: true},
		{Name: "SingleStream, until the logs of a million queries are written", Test: stream, Of: (*Result).logging, Unit: "s", Least: true},
		{Name: "MultiStream, queries per second", Test: multi, Of: (*Result).issued, Unit: "/s"},
		{Name: "Server at 1,000 QPS, latency p50", Test: serverTest(1e3), Of: (*Result).p50, Unit: "ns", Least: true},
		{Name: "Server at 1,000 QPS, latency p99", Test: serverTest(1e3), Of: (*Result).p99, Unit: "ns", Least: true},
		{Name: "Server at 10,000 QPS, latency p50", Test: serverTest(1e4), Of: (*Result).p50, Unit: "ns", Least: true},
		{Name: "Server at 10,000 QPS, latency p99", Test: serverTest(1e4), Of: (*Result).p99, Unit: "ns", Least: true},
		{Name: "Server at 400,000 QPS, mean latency", Test: serverTest(4e5), Of: (*Result).mean, Unit: "ns", Least: true},
		{Name: "Server at 400,000 QPS, peak memory per query", Test: serverTest(4e5), Of: (*Result).memory, Unit: "B", Least: true},
		{Name: "Offline, 256 responses in a call: until the last call", Test: offlineTest(256), Of: (*Result).issued, Unit: "/s"},
		{Name: "Offline, 256 responses in a call: until the logs are written", Test: offlineTest(256), Of: (*Result).inAll, Unit: "/s"},
		{Name: "Offline, all responses in a call: until the call", Test: offlineTest(-1), Of: (*Result).issued, Unit: "/s"},
		{Name: "Offline, all responses in a call: until the logs are written", Test: offlineTest(-1), Of: (*Result).inAll, Unit: "/s"},
		{Name: "Offline, 256 responses in a call: peak memory per sample", Test: offlineTest(256), Of: (*Result).memory, Unit: "B", Least: true},
		{Name: "accuracy mode, responses of 4 bytes, until they are written", Test: kept, Of: (*Result).inAll, Unit: "/s"},
	}
	for _, qps := range []float64{500, 1e3, 2e3, 4e3, 6e3, 1e4, 2e4, 5e4} {
		test := serverTest(qps)
		test.Duration = time.Second
		name := fmt.Sprintf("Server at %s QPS while all cores compute, latency p99", units.Number(qps))
		list = append(list, Measure{Name: name, Test: test, Busy: true, Of: (*Result).p99, Unit: "ns", Least: true})
	}
	return list
}

func serverTest(qps float64) Test {
	return Test{Scenario: loadgen.Server, TargetQPS: qps, Duration: 2 * time.Second, Responses: 1}
}

func offlineTest(responses int) Test {
	return Test{Scenario: loadgen.Offline, TargetQPS: 11e6, Duration: time.Second, Responses: responses}
}

func (r *Result) issued() float64 { return r.IssuedQPS }
func (r *Result) mean() float64   { return float64(r.LatencyMeanNS) }
func (r *Result) p50() float64    { return float64(r.LatencyP50NS) }
func (r *Result) p99() float64    { return float64(r.LatencyP99NS) }
func (r *Result) memory() float64 { return float64(r.PeakRSSBytes) / float64(r.Queries) }

// inAll is the rate with the time until the logs are written.
func (r *Result) inAll() float64 {
	return float64(r.Queries) / time.Duration(r.DurationNS+r.PostRunNS).Seconds()
}

// logging is the time, in seconds, that the logs of a million queries take.
func (r *Result) logging() float64 {
	return float64(r.PostRunNS) / float64(r.Queries) * 1e6 / 1e9
}
