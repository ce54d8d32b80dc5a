package report

import (
	"errors"
	"fmt"
	"time"

	"github.com/mlperf-go/mlperf/internal/config/limitation"
	"github.com/mlperf-go/mlperf/internal/loadgen"
)

const ms = time.Millisecond

// latencies are those of n samples around a time.
func latencies(n uint64, middle time.Duration) loadgen.LatencyStats {
	s := loadgen.LatencyStats{Count: n, Min: middle / 2, Mean: middle + middle/50, Max: 4 * middle, Target: 2 * middle}
	for i, tenths := range []time.Duration{10, 14, 16, 18, 20, 30} {
		s.Percentiles[i] = middle * tenths / 10
	}
	return s
}

// passed is the outcome of a phase that keeps all rules.
func passed(s loadgen.Scenario) *loadgen.Performance {
	p := &loadgen.Performance{
		QueryCount: 3000, SampleCount: 3000,
		SampleLatency:       latencies(3000, 5*ms),
		FinalQueryScheduled: 60100 * ms, FinalQueryIssued: 60101 * ms, FinalQueryCompleted: 60108 * ms,
		LastCompletion:     60110 * ms,
		EarlyStopping:      loadgen.EarlyStopping{Met: true, Processed: 3000, Needed: 662, Percentile: 0.99},
		PerfConstraintsMet: true, TTFTMet: true, TPOTMet: true, MinDurationMet: true, MinQueriesMet: true, GeneratorMet: true,
		GC: loadgen.GCStats{Cycles: 3, Pause: 210 * time.Microsecond},
	}
	p.Effective = loadgen.EffectiveSettings{
		Scenario: s, Mode: loadgen.PerformanceOnly, SamplesPerQuery: 1, TargetQPS: 50, TargetLatencyPercentile: 0.99, MinSampleCount: 100,
		Common: loadgen.Common{MinDuration: time.Minute, MinQueryCount: 100},
	}
	switch s {
	case loadgen.Server:
		p.Effective.TargetLatency, p.Overlatency = 15*ms, 12
		p.IssueDelay, p.GeneratorDelay, p.MaxIssueDelay = latencies(3000, 20*time.Microsecond), latencies(3000, 20*time.Microsecond), 7500*time.Microsecond
	case loadgen.SingleStream:
		p.Effective.TargetLatencyPercentile = 0.9
		p.EarlyStopping.Estimate, p.EarlyStopping.Percentile, p.EarlyStopping.MultiStreamEstimate = 7200*time.Microsecond, 0.9, 11*ms
	case loadgen.MultiStream:
		p.Effective.SamplesPerQuery, p.SampleCount = 8, 24000
		p.Effective.MinSampleCount = 800
		p.QueryLatency = latencies(3000, 20*ms)
		p.EarlyStopping.Estimate = 41 * ms
	case loadgen.Offline:
		p.QueryCount, p.SampleCount = 1, 24576
		p.Effective.SamplesPerQuery, p.Effective.MinQueryCount, p.Effective.MinSampleCount = 24576, 1, 24576
		p.SampleLatency = latencies(24576, 15*time.Second)
		p.EarlyStopping = loadgen.EarlyStopping{Met: true}
	}
	return p
}

// staying makes the SUT delay later queries.
func staying(p *loadgen.Performance) *loadgen.Performance {
	p.IssueDelay = latencies(3000, 3*ms)
	return p
}

// tokens makes a phase one of a model that writes text.
func tokens(p *loadgen.Performance) *loadgen.Performance {
	p.Effective.UseTokenLatencies = true
	p.Effective.ServerTTFTLatency, p.Effective.ServerTPOTLatency = 2*time.Second, 200*ms
	p.TokenCount = 384000
	if p.Effective.Scenario != loadgen.Offline {
		p.FirstToken, p.TimePerOutputToken = latencies(3000, 400*ms), latencies(3000, 40*ms)
	}
	p.EarlyStopping.Estimate, p.EarlyStopping.MultiStreamEstimate = 81*ms, 0
	p.FirstTokenEarlyStopping = loadgen.EarlyStopping{Met: true, Processed: 3000, Needed: 700, Percentile: 0.99}
	return p
}

func tested(p *loadgen.Performance) *loadgen.Result {
	return &loadgen.Result{SUTName: "mlperf-go resnet50", Effective: p.Effective, Performance: p}
}

// base is what a run knows beside the outcome of the test.
func base() *Results {
	return &Results{
		Schema: Schema, Program: "mlperf 1.2.3", Created: time.Date(2026, 7, 8, 9, 10, 11, 0, time.UTC),
		Model: "resnet50", Rules: "v6.1",
		Limitations: Limitations{{ID: limitation.Unofficial}}, Problems: []string{}, Warnings: []string{},
		Settings: []Setting{{"min_duration", "60000 ms", "rules v6.1", limitation.RuleSet}, {"target_qps", "50 /s", "user.conf:2", limitation.UserConf}},
		Backend: Backend{
			Engine: "onnxruntime 1.24.3", Library: "/usr/lib/libonnxruntime.so.1", Devices: map[string]int{"cpu": 120, "cuda": -1},
			Instances: 2, MaxBatch: 8, MaxDelay: "0s", Facts: map[string]string{"intra_threads": "1"},
		},
		Input: Input{
			ModelPath: "resnet50.onnx", ModelSHA256: "4f33fb8e", ModelBytes: 102495762, DatasetPath: "imagenet", Samples: 1024,
			Binding: []string{"input: float32 NCHW 224×224", "label = ArgMax:0 − 1 (the model has a background class)"},
		},
		Operations: &Operations{
			Parameters: 25557032, WeightBytes: 102228128, SampleBytes: 602112, MACs: 4089184256,
			GFLOPS: 817.8368512, Ceiling: &Ceiling{GFLOPS: 1635.6737024, GBytesPerSecond: 25.5, Precision: "fp32"},
		},
		Phases: []PhaseTime{{"data", 0.125}, {"model", 1.5}, {"warm-up", 0.25}, {"traffic", 60.1}},
	}
}

// setBy is the origin of a setting in the fixtures.
func setBy(key string) string { return "rules v6.1 (" + key + ")" }

func filled(test *loadgen.Result) *Results {
	r := base()
	r.Fill(test, setBy)
	return r
}

func scored(r *Results, value float64) *Results {
	r.Accuracy = &Accuracy{
		Metric: "accuracy", Value: value, Unit: "%", Top5: new(93.125), Reference: 76.46, Target: 76.46 * 0.99, Met: value >= 76.46*0.99,
		Lines: []string{fmt.Sprintf("accuracy=%.3f%%, good=%.0f, total=1024", value, value*10.24)}, Samples: 1024,
		Resampled: []byte{0, 0, 128, 63, 0, 0, 0, 64}, Classes: &Classes{Metric: "Top-1", Unit: "%", Of: "samples", Values: map[string]float64{"7": 66.6667, "9": 100}, Counts: map[string]int{"7": 3, "9": 1}},
	}
	return r
}

// A fixture is the document of a constructed run.
type fixture struct {
	name string
	r    *Results
}

func fixtures() []fixture {
	return []fixture{
		{"Server, VALID, with easier settings", limited(filled(tested(passed(loadgen.Server))))},
		{"Server, VALID, a SUT that stays inside IssueQuery", filled(tested(staying(passed(loadgen.Server))))},
		{"Server, INVALID for every reason", filled(tested(failed(passed(loadgen.Server))))},
		{"SingleStream, VALID, a target that was measured", calibrated()},
		{"SingleStream, INTERRUPTED", filled(interrupted())},
		{"MultiStream, VALID", filled(tested(passed(loadgen.MultiStream)))},
		{"Offline, VALID", queued(filled(tested(passed(loadgen.Offline))))},
		{"Offline, too short", filled(tested(failed(passed(loadgen.Offline))))},
		{"Offline, a sample failed", filled(faulty())},
		{"accuracy, target reached", scored(accuracyOnly(), 76.5)},
		{"accuracy, target missed", scored(accuracyOnly(), 70.25)},
		{"accuracy of some samples", partial()},
		{"submission", submission()},
		{"LoadGen's find-peak", filled(peak(true))},
		{"LoadGen's find-peak, none found", filled(peak(false))},
		{"find-peak", searched()},
		{"the lowest of five runs", fiveRuns()},
		{"MultiStream at fixed intervals, VALID", filled(tested(atIntervals(true)))},
		{"MultiStream at fixed intervals, INVALID", filled(tested(atIntervals(false)))},
		{"Server with token latencies, VALID", filled(tested(tokens(passed(loadgen.Server))))},
		{"Server with token latencies, INVALID", filled(tested(failed(tokens(passed(loadgen.Server)))))},
		{"Offline with token latencies", filled(tested(tokens(passed(loadgen.Offline))))},
		{"SingleStream with token latencies", filled(tested(tokens(passed(loadgen.SingleStream))))},
	}
}

// failed breaks every rule of a scenario.
func failed(p *loadgen.Performance) *loadgen.Performance {
	p.MinDurationMet = false
	p.FinalQueryScheduled, p.FinalQueryIssued, p.FinalQueryCompleted, p.LastCompletion = 4000*ms, 4001*ms, 4040*ms, 4050*ms
	if p.Effective.Scenario == loadgen.Offline {
		p.SampleCount, p.SampleLatency = 2000, latencies(2000, time.Second)
		return p
	}
	p.QueryCount, p.SampleCount = 60, 60*p.Effective.SamplesPerQuery
	p.EarlyStopping = loadgen.EarlyStopping{Processed: 60, Needed: 4100, Percentile: 0.99}
	if p.Effective.Scenario == loadgen.Server {
		p.PerfConstraintsMet, p.GeneratorMet, p.Overlatency = false, false, 48
		p.SampleLatency, p.IssueDelay, p.GeneratorDelay = latencies(60, 50*ms), latencies(60, 30*ms), latencies(60, 30*ms)
	}
	if p.Effective.UseTokenLatencies {
		p.TTFTMet, p.TPOTMet = false, false
		p.FirstToken, p.TimePerOutputToken = latencies(60, 3*time.Second), latencies(60, 300*ms)
	}
	return p
}

// limited has settings that are easier than the rules', some of a quick run.
func limited(r *Results) *Results {
	r.Limitations = append(Limitations{
		{ID: limitation.Setting, Key: "min_duration", Value: "1m0s", Want: "10m0s", Origin: "my.conf:3", Role: limitation.UserConf},
		{ID: limitation.Setting, Key: "min_query_count", Value: "64", Want: "100", Origin: "quick run", Role: limitation.QuickRun},
		{ID: limitation.Setting, Key: "target_latency_percentile", Value: "90 %", Want: "99 %", Origin: "quick run", Role: limitation.QuickRun},
	}, r.Limitations...)
	return r
}

func calibrated() *Results {
	r := filled(tested(passed(loadgen.SingleStream)))
	r.Calibration = &Calibration{
		BatchOneLatencyNS: 5123456, Chosen: Metric{Name: "expected latency", Value: 5.123456, Unit: "ms"}, Reason: "that is the median of a few runs",
	}
	r.Workers = []WorkerStats{{Batches: 3000, Samples: 3000, Busy: 59.9}}
	return r
}

func interrupted() *loadgen.Result {
	p := failed(passed(loadgen.SingleStream))
	p.LastCompletion = 4002 * ms
	test := tested(p)
	test.Interrupted = errors.New("interrupted")
	return test
}

func queued(r *Results) *Results {
	r.Queue = &QueueStats{Peak: 24576, PeakSeconds: 0.0015}
	r.System = map[string]any{"cpu": "a processor", "cores": 8}
	return r
}

func faulty() *loadgen.Result {
	p := passed(loadgen.Offline)
	test := tested(p)
	test.Faults = []error{errors.New("the SUT could not answer sample 7 (data index 3): out of memory (and 4 more of this kind)")}
	test.Events = []loadgen.Event{
		{Key: "generic_message", Value: "performance mode begins"},
		{Key: "warning_generic_message", Value: "the monotonic and the system clock differ", IsWarning: true},
		{Key: "error_runtime", Value: "the SUT could not answer sample 7", IsError: true},
	}
	return test
}

func accuracyOnly() *Results {
	return filled(&loadgen.Result{
		Effective:       loadgen.EffectiveSettings{Scenario: loadgen.Offline, Mode: loadgen.AccuracyOnly},
		AccuracySamples: 1024,
	})
}

func partial() *Results {
	r := scored(accuracyOnly(), 76.5)
	r.Accuracy.Partial, r.Accuracy.Samples = true, 128
	return r
}

func submission() *Results {
	test := tested(passed(loadgen.Offline))
	test.Effective.Mode = loadgen.SubmissionRun
	return scored(filled(test), 76.5)
}

func searched() *Results {
	r := filled(tested(passed(loadgen.Server)))
	r.Mode = "FindPeak"
	r.Peak = &Peak{Unit: "queries/s", Best: 48.5, UserConf: "resnet50.Server.target_qps = 48.5", Steps: []PeakStep{
		{Load: 40, Met: true, Seconds: 12.5, LatencyNS: 9e6},
		{Load: 60, Seconds: 8.25, LatencyNS: 31e6, Reason: "latency: the 99 % percentile is 31 ms, the limit 15 ms"},
		{Load: 50, Met: true, Seconds: 10.125, LatencyNS: 14e6},
		{Load: 50, Full: true, Seconds: 60.25, LatencyNS: 15.5e6, Reason: "early stopping: 3,000 queries are too few"},
		{Load: 48.5, Met: true, Full: true, Seconds: 60.125, LatencyNS: 13.5e6},
	}}
	return r
}

func fiveRuns() *Results {
	r := filled(tested(passed(loadgen.Server)))
	for i := range 5 {
		r.Runs = append(r.Runs, RunOutcome{Folder: fmt.Sprintf("run_%d", i+1), Result: Valid, Metric: &Metric{Name: r.Metric.Name, Value: r.Metric.Value + float64(i%3), Unit: r.Metric.Unit}})
	}
	return r
}

// atIntervals is a MultiStream run of rules before v2.0.
func atIntervals(kept bool) *loadgen.Performance {
	p := passed(loadgen.MultiStream)
	p.Effective.FixedInterval, p.Effective.WithoutEarlyStopping = true, true
	p.Effective.SamplesPerQuery, p.Effective.TargetLatency, p.Effective.TargetQPS = 4, 50*ms, 20
	p.IssueDelay, p.GeneratorDelay = latencies(3000, 40*time.Microsecond), latencies(3000, 40*time.Microsecond)
	p.MaxIssueDelay, p.IssuePriority = 25*ms, "SCHED_FIFO"
	p.Skips, p.IntervalsTarget = 12, 1
	if !kept {
		p.Skips, p.IntervalsTarget, p.PerfConstraintsMet = 90, 2, false
	}
	return p
}

func peak(found bool) *loadgen.Result {
	p := passed(loadgen.Server)
	if !found {
		p.PerfConstraintsMet = false
	}
	test := tested(p)
	test.Effective.Mode = loadgen.FindPeakPerformance
	test.Peak = []loadgen.PeakStep{{TargetQPS: 50, PerfConstraintsMet: found}}
	if found {
		test.Peak = append(test.Peak, loadgen.PeakStep{TargetQPS: 100}, loadgen.PeakStep{TargetQPS: 75, PerfConstraintsMet: true}, loadgen.PeakStep{TargetQPS: 87.5})
	}
	return test
}
