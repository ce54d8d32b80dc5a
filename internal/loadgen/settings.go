package loadgen

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf/internal/userinput"
)

// A Scenario is a pattern of traffic (MLPerf inference rules, "Scenarios").
type Scenario uint8

const (
	// SingleStream issues one sample, waits for its answer, and issues the next.
	// Its result is a percentile of the latency.
	SingleStream Scenario = iota
	// MultiStream issues a query of several samples, waits for all answers, and
	// issues the next. Its result is a percentile of the query latency.
	MultiStream
	// Server issues single samples at the instants of a Poisson process. Its
	// result is whether a percentile of the latency stays below a bound.
	Server
	// Offline issues all samples at once. Its result is samples per second.
	Offline
)

// Scenarios lists all scenarios in the order in which MLPerf reports show them.
func Scenarios() []Scenario { return []Scenario{SingleStream, MultiStream, Server, Offline} }

var scenarioNames = []string{"SingleStream", "MultiStream", "Server", "Offline"}

// String returns the name as log files spell it, e.g. SingleStream.
func (s Scenario) String() string { return nameOf(scenarioNames, int(s), "Scenario") }

// ParseScenario returns the scenario of that name; case, hyphens and underscores do
// not matter.
func ParseScenario(name string) (Scenario, error) {
	i, err := parseName(scenarioNames, name, "scenario")
	return Scenario(i), err
}

// A Mode is the purpose of a test.
type Mode uint8

const (
	// SubmissionRun is AccuracyOnly followed by PerformanceOnly.
	SubmissionRun Mode = iota
	// AccuracyOnly issues every sample once and logs every response.
	AccuracyOnly
	// PerformanceOnly measures the scenario's traffic.
	PerformanceOnly
	// FindPeakPerformance searches the highest Server QPS that meets the latency
	// bound.
	FindPeakPerformance
)

var modeNames = []string{"SubmissionRun", "AccuracyOnly", "PerformanceOnly", "FindPeakPerformance"}

// String returns the name as log files spell it, e.g. PerformanceOnly.
func (m Mode) String() string { return nameOf(modeNames, int(m), "Mode") }

// ParseMode returns the mode of that name; case, hyphens and underscores do not
// matter.
func ParseMode(name string) (Mode, error) {
	i, err := parseName(modeNames, name, "mode")
	return Mode(i), err
}

func nameOf(names []string, i int, kind string) string {
	if i < len(names) {
		return names[i]
	}
	return fmt.Sprintf("%s(%d)", kind, i)
}

func parseName(choices []string, name, kind string) (int, error) {
	for i, n := range choices {
		if userinput.Same(n, name) {
			return i, nil
		}
	}
	return 0, fmt.Errorf("unknown %s %q: must be one of %s", kind, name, strings.Join(choices, ", "))
}

// TestSettings are the requested settings of a test, with the meaning, the units
// and the defaults (DefaultSettings) of the reference (loadgen/test_settings.h).
// Fields of other scenarios are ignored. Each field has a row in the table (table.go).
type TestSettings struct {
	Scenario Scenario
	Mode     Mode
	Common

	// Expected latencies only decide how many queries are prepared. They are
	// float64 nanoseconds, as in the reference, because their reciprocal is a rate.
	SingleStreamExpectedLatencyNS       float64
	SingleStreamTargetLatencyPercentile float64 // fraction, e.g. 0.9
	MultiStreamExpectedLatencyNS        float64
	MultiStreamTargetLatencyPercentile  float64
	MultiStreamSamplesPerQuery          uint64
	// MultiStreamQPS makes MultiStream that of rules before v2.0: a query is issued at
	// fixed intervals, and an interval at which the one before still runs is skipped.
	// 0: the next query follows the answer.
	MultiStreamQPS             float64
	MultiStreamMaxAsyncQueries uint64 // of the same rules; 0 and 1: one query runs at a time, which is all that there is

	ServerTargetQPS float64
	ServerArrivals  Arrivals // beyond the reference: its tests have the zero value
	// ServerReplay is when each query arrives, from 0 on and in order, if the arrivals are those of a file. Each arrives once, with the
	// samples in their own order.
	ServerReplay                         []time.Duration
	ServerTargetLatency                  time.Duration
	ServerTargetLatencyPercentile        float64
	ServerCoalesceQueries                bool
	ServerFindPeakQPSDecimalsOfPrecision int
	ServerFindPeakQPSBoundaryStepSize    float64
	ServerMaxAsyncQueries                uint64 // 0: no limit
	ServerNumIssueQueryThreads           uint64 // 0 and 1: one thread

	OfflineExpectedQPS float64

	PerformanceSampleCountOverride uint64 // 0: the QSL's
	AccuracySampleCountOverride    uint64 // 0: all of the QSL

	Test05                   bool
	Test05QSLRNGSeed         uint64
	Test05SampleIndexRNGSeed uint64
	Test05ScheduleRNGSeed    uint64
}

// Common are the settings that a test uses as they were requested. All scenarios have them.
type Common struct {
	MinDuration   time.Duration
	MaxDuration   time.Duration // 0: no limit
	MinQueryCount uint64
	MaxQueryCount uint64 // 0: no limit

	QSLRNGSeed         uint64 // which samples are loaded together
	SampleIndexRNGSeed uint64 // which of them are issued, in which order
	ScheduleRNGSeed    uint64 // when, in Server
	AccuracyLogRNGSeed uint64 // which responses are logged in performance mode

	AccuracyLogProbability    float64 // fraction of responses logged in performance mode
	AccuracyLogSamplingTarget uint64  // number of them; overrides the probability if not 0

	PrintTimestamps           bool
	PerformanceIssueUnique    bool
	PerformanceIssueSame      bool
	PerformanceIssueSameIndex uint64

	// SampleConcatenatePermutation is the equal-issue mode: whole permutations of
	// the loaded set are issued one after another.
	SampleConcatenatePermutation bool

	// WithoutEarlyStopping is for rules before v2.0, under which fixed numbers of queries
	// decided whether a percentile could be trusted.
	WithoutEarlyStopping bool

	UseTokenLatencies         bool
	ServerTTFTLatency         time.Duration // time to first token
	ServerTPOTLatency         time.Duration // time per output token
	InferTokenLatencies       bool
	TokenLatencyScalingFactor uint64
}

// DefaultSettings returns the reference's defaults (loadgen/test_settings.h).
func DefaultSettings() TestSettings {
	return TestSettings{
		Scenario:                            SingleStream,
		Mode:                                PerformanceOnly,
		SingleStreamExpectedLatencyNS:       1e6,
		SingleStreamTargetLatencyPercentile: 0.90,
		MultiStreamExpectedLatencyNS:        8e6,
		MultiStreamTargetLatencyPercentile:  0.99,
		MultiStreamSamplesPerQuery:          8,
		ServerTargetQPS:                     1,
		ServerTargetLatency:                 100 * time.Millisecond,
		ServerTargetLatencyPercentile:       0.99,

		ServerFindPeakQPSDecimalsOfPrecision: 1,
		ServerFindPeakQPSBoundaryStepSize:    1,

		OfflineExpectedQPS: 1,
		Common: Common{
			MinDuration:       10 * time.Second,
			MinQueryCount:     100,
			ServerTTFTLatency: 100 * time.Millisecond,
			ServerTPOTLatency: 100 * time.Millisecond,
		},
	}
}

// SetTargetQPS sets the rate in every scenario's own terms: queries per second of Server, samples per second
// of Offline, and the reciprocal of the latency that SingleStream and MultiStream expect.
func (s *TestSettings) SetTargetQPS(qps float64) {
	s.ServerTargetQPS, s.OfflineExpectedQPS = qps, qps
	s.SingleStreamExpectedLatencyNS, s.MultiStreamExpectedLatencyNS = 1e9/qps, 1e9/qps
}

const (
	maxSamples      = math.MaxUint32 // a ResponseID has 32 bits
	maxIssueThreads = 256
	maxPeakDecimals = 6 // a float64 has no more digits at a billion queries per second

	// Instants are whole nanoseconds, 64 bits of them.
	minRate = 1e-6
	maxRate = 1e9
)

// Validate reports all settings with which no test can run. Where the reference substitutes a value and logs an error, this
// is an error.
func (s TestSettings) Validate() error {
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	fraction := func(name string, p float64) {
		check(p > 0 && p < 1, "%s must be between 0 and 100 %%, is %g %%", name, p*100)
	}
	positive := func(name string, v float64) {
		check(v > 0 && !math.IsInf(v, 1), "%s must be positive, is %g", name, v)
	}
	switch s.Scenario {
	case SingleStream:
		positive("SingleStream target_latency (expected latency, ns)", s.SingleStreamExpectedLatencyNS)
		fraction("SingleStream target_latency_percentile", s.SingleStreamTargetLatencyPercentile)
	case MultiStream:
		positive("MultiStream target_latency (expected latency, ns)", s.MultiStreamExpectedLatencyNS)
		fraction("MultiStream target_latency_percentile", s.MultiStreamTargetLatencyPercentile)
		check(s.MultiStreamQPS >= 0 && !math.IsInf(s.MultiStreamQPS, 1), "MultiStream target_qps must not be negative, is %g", s.MultiStreamQPS)
		check(s.MultiStreamSamplesPerQuery > 0, "MultiStream samples_per_query must be at least 1")
		check(s.MultiStreamSamplesPerQuery <= maxSamples, "MultiStream samples_per_query must be at most %d", uint64(maxSamples))
	case Server:
		positive("Server target_qps", s.ServerTargetQPS)
		if err := s.ServerArrivals.validate(); err != nil {
			errs = append(errs, err)
		}
		fraction("Server target_latency_percentile", s.ServerTargetLatencyPercentile)
		check(s.ServerTargetLatency >= 0, "Server target_latency must not be negative, is %v", s.ServerTargetLatency)
		check(s.ServerNumIssueQueryThreads <= maxIssueThreads, "server_num_issue_query_threads must be at most %d, is %d",
			maxIssueThreads, s.ServerNumIssueQueryThreads)
	case Offline:
		positive("Offline target_qps", s.OfflineExpectedQPS)
	default:
		check(false, "unknown scenario %v", s.Scenario)
	}
	check(s.Mode <= FindPeakPerformance, "unknown mode %v", s.Mode)
	if s.Mode == FindPeakPerformance {
		check(s.Scenario == Server, "FindPeakPerformance mode exists for the Server scenario only, not for %v", s.Scenario)
		positive("server_find_peak_qps_boundary_step_size", s.ServerFindPeakQPSBoundaryStepSize)
		check(s.ServerFindPeakQPSDecimalsOfPrecision <= maxPeakDecimals, "server_find_peak_qps_decimals_of_precision must be at most %d, is %d",
			maxPeakDecimals, s.ServerFindPeakQPSDecimalsOfPrecision)
	}
	check(s.MinDuration >= 0, "min_duration must not be negative, is %v", s.MinDuration)
	check(s.MaxDuration >= 0, "max_duration must not be negative, is %v", s.MaxDuration)
	check(!s.PerformanceIssueUnique || !s.PerformanceIssueSame, "performance_issue_unique and performance_issue_same exclude each other")
	check(s.AccuracyLogProbability >= 0 && s.AccuracyLogProbability <= 1, "accuracy_log_probability must be between 0 and 100 %%, is %g %%",
		s.AccuracyLogProbability*100)
	return errors.Join(errs...)
}

// resolved returns the settings with the TEST05 switch carried out: the test is a
// performance run with the alternative seeds (loadgen/loadgen.cc, StartTest).
func (s TestSettings) resolved() TestSettings {
	if s.Test05 {
		s.Mode = PerformanceOnly
		s.QSLRNGSeed = s.Test05QSLRNGSeed
		s.SampleIndexRNGSeed = s.Test05SampleIndexRNGSeed
		s.ScheduleRNGSeed = s.Test05ScheduleRNGSeed
	}
	return s
}
