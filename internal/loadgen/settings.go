package loadgen

import (
	"fmt"
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

// A Mode says what a test does with the traffic.
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
	return 0, fmt.Errorf("unknown %s %q, want one of %s", kind, name, strings.Join(choices, ", "))
}

// TestSettings are the requested settings of a test, with the meaning, the units
// and the defaults (DefaultSettings) of the reference (loadgen/test_settings.h).
// Fields of other scenarios than the one that runs are ignored.
type TestSettings struct {
	Scenario Scenario
	Mode     Mode

	// Expected latencies only decide how many queries are prepared. They are
	// float64 nanoseconds, as in the reference, because their reciprocal is a rate.
	SingleStreamExpectedLatencyNS       float64
	SingleStreamTargetLatencyPercentile float64 // fraction, e.g. 0.9
	MultiStreamExpectedLatencyNS        float64
	MultiStreamTargetLatencyPercentile  float64
	MultiStreamSamplesPerQuery          uint64
	// MultiStreamQPS makes MultiStream what it was before rules v2.0: a query is issued at
	// fixed intervals, and an interval at which the one before still runs is skipped.
	// 0: the next query follows the answer.
	MultiStreamQPS float64

	ServerTargetQPS                      float64
	ServerTargetLatency                  time.Duration
	ServerTargetLatencyPercentile        float64
	ServerCoalesceQueries                bool
	ServerFindPeakQPSDecimalsOfPrecision int
	ServerFindPeakQPSBoundaryStepSize    float64
	ServerMaxAsyncQueries                uint64 // 0: no limit
	ServerNumIssueQueryThreads           uint64 // 0 and 1: one thread

	OfflineExpectedQPS float64

	// SampleConcatenatePermutation is the equal-issue mode: whole permutations of
	// the loaded set are issued one after another.
	SampleConcatenatePermutation bool

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

	Test05                   bool
	Test05QSLRNGSeed         uint64
	Test05SampleIndexRNGSeed uint64
	Test05ScheduleRNGSeed    uint64

	PrintTimestamps                bool
	PerformanceIssueUnique         bool
	PerformanceIssueSame           bool
	PerformanceIssueSameIndex      uint64
	PerformanceSampleCountOverride uint64 // 0: the QSL's
	AccuracySampleCountOverride    uint64 // 0: all of the QSL

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
		MinDuration:        10 * time.Second,
		MinQueryCount:      100,
		ServerTTFTLatency:  100 * time.Millisecond,
		ServerTPOTLatency:  100 * time.Millisecond,
	}
}

// SetTargetQPS sets the rate in every scenario's own terms: queries per second of Server, samples per second
// of Offline, and the reciprocal of the latency that SingleStream and MultiStream expect.
func (s *TestSettings) SetTargetQPS(qps float64) {
	s.ServerTargetQPS, s.OfflineExpectedQPS = qps, qps
	s.SingleStreamExpectedLatencyNS, s.MultiStreamExpectedLatencyNS = 1e9/qps, 1e9/qps
}
