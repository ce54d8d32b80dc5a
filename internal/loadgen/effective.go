package loadgen

import "time"

// EffectiveSettings are what a test really uses: the requested settings, reduced
// to its scenario and completed by the QSL's sample counts
// (loadgen/test_settings_internal.cc).
type EffectiveSettings struct {
	Scenario Scenario
	Mode     Mode

	SamplesPerQuery         uint64
	TargetQPS               float64
	TargetLatency           time.Duration // Server, and MultiStream at fixed intervals
	TargetLatencyPercentile float64       // fraction
	MaxAsyncQueries         uint64
	TargetDuration          time.Duration // how much traffic is generated
	MinDuration             time.Duration
	MaxDuration             time.Duration
	MinQueryCount           uint64
	MaxQueryCount           uint64
	MinSampleCount          uint64

	QSLRNGSeed         uint64
	SampleIndexRNGSeed uint64
	ScheduleRNGSeed    uint64
	AccuracyLogRNGSeed uint64

	AccuracyLogProbability    float64
	AccuracyLogSamplingTarget uint64

	PrintTimestamps              bool
	PerformanceIssueUnique       bool
	PerformanceIssueSame         bool
	PerformanceIssueSameIndex    uint64
	PerformanceSampleCount       uint64
	AccuracySampleCount          uint64
	SampleConcatenatePermutation bool
	FixedInterval                bool // MultiStream at fixed intervals, TargetQPS of them
	WithoutEarlyStopping         bool

	UseTokenLatencies         bool
	ServerTTFTLatency         time.Duration
	ServerTPOTLatency         time.Duration
	InferTokenLatencies       bool
	TokenLatencyScalingFactor uint64

	ServerCoalesceQueries bool
	IssueQueryThreads     int
}

// offlineSlack makes the Offline query a tenth larger than the expected speed
// needs, and equalIssueSlack the number of SingleStream queries twice as large
// (loadgen/test_settings_internal.cc, kSlack).
const (
	offlineSlack    = 1.1
	equalIssueSlack = 2.0
)

// Effective returns the settings that a test with these requested settings uses
// with a QSL of the given sample counts. It expects settings that Validate accepts.
func (s TestSettings) Effective(qslPerformanceSampleCount, qslTotalSampleCount uint64) EffectiveSettings {
	e := s.common()
	e.PerformanceSampleCount = either(s.PerformanceSampleCountOverride, qslPerformanceSampleCount)
	e.AccuracySampleCount = either(s.AccuracySampleCountOverride, qslTotalSampleCount)
	switch s.Scenario {
	case SingleStream:
		e.TargetQPS = 1e9 / s.SingleStreamExpectedLatencyNS
		e.TargetLatencyPercentile = s.SingleStreamTargetLatencyPercentile
		e.MaxAsyncQueries = 1
		if s.SampleConcatenatePermutation && qslPerformanceSampleCount > 0 {
			e.MinQueryCount = equalIssueQueryCount(e, qslPerformanceSampleCount)
		}
	case MultiStream:
		e.TargetQPS = 1e9 / s.MultiStreamExpectedLatencyNS
		e.TargetLatencyPercentile = s.MultiStreamTargetLatencyPercentile
		e.MaxAsyncQueries = 1
		e.SamplesPerQuery = s.MultiStreamSamplesPerQuery
		if s.MultiStreamQPS > 0 {
			e.FixedInterval, e.TargetQPS = true, s.MultiStreamQPS
			e.TargetLatency = time.Duration(nanoseconds(1 / s.MultiStreamQPS))
		}
	case Server:
		e.TargetQPS = s.ServerTargetQPS
		e.TargetLatency = s.ServerTargetLatency
		e.TargetLatencyPercentile = s.ServerTargetLatencyPercentile
		e.MaxAsyncQueries = s.ServerMaxAsyncQueries
		e.ServerCoalesceQueries = s.ServerCoalesceQueries
		e.IssueQueryThreads = max(1, int(s.ServerNumIssueQueryThreads))
	case Offline:
		e.TargetQPS = s.OfflineExpectedQPS
		e.TargetLatencyPercentile = 0.99 // not used, but logged
		e.MaxAsyncQueries = 1
		// All queries become one, and what was a number of queries is one of samples.
		target := uint64(offlineSlack * seconds(e.TargetDuration) * e.TargetQPS)
		e.SamplesPerQuery = max(s.MinQueryCount, target)
		if s.PerformanceIssueUnique {
			e.SamplesPerQuery = e.PerformanceSampleCount
		}
		e.MinQueryCount = 1
		e.TargetDuration = 0
	}
	e.MinSampleCount = e.MinQueryCount * e.SamplesPerQuery
	return e
}

// common returns the effective settings that are the requested ones in every
// scenario.
func (s TestSettings) common() EffectiveSettings {
	return EffectiveSettings{
		Scenario:                     s.Scenario,
		Mode:                         s.Mode,
		SamplesPerQuery:              1,
		TargetQPS:                    1,
		TargetDuration:               s.MinDuration,
		MinDuration:                  s.MinDuration,
		MaxDuration:                  s.MaxDuration,
		MinQueryCount:                s.MinQueryCount,
		MaxQueryCount:                s.MaxQueryCount,
		QSLRNGSeed:                   s.QSLRNGSeed,
		SampleIndexRNGSeed:           s.SampleIndexRNGSeed,
		ScheduleRNGSeed:              s.ScheduleRNGSeed,
		AccuracyLogRNGSeed:           s.AccuracyLogRNGSeed,
		AccuracyLogProbability:       s.AccuracyLogProbability,
		AccuracyLogSamplingTarget:    s.AccuracyLogSamplingTarget,
		PrintTimestamps:              s.PrintTimestamps,
		PerformanceIssueUnique:       s.PerformanceIssueUnique,
		PerformanceIssueSame:         s.PerformanceIssueSame,
		PerformanceIssueSameIndex:    s.PerformanceIssueSameIndex,
		SampleConcatenatePermutation: s.SampleConcatenatePermutation,
		WithoutEarlyStopping:         s.WithoutEarlyStopping,
		UseTokenLatencies:            s.UseTokenLatencies,
		ServerTTFTLatency:            s.ServerTTFTLatency,
		ServerTPOTLatency:            s.ServerTPOTLatency,
		InferTokenLatencies:          s.InferTokenLatencies,
		TokenLatencyScalingFactor:    s.TokenLatencyScalingFactor,
		IssueQueryThreads:            1,
	}
}

// equalIssueQueryCount raises the number of SingleStream queries to cover twice the
// minimum duration at the expected rate, and then to the next multiple of the QSL's
// performance sample count, which always adds at least one query.
func equalIssueQueryCount(e EffectiveSettings, qslPerformanceSampleCount uint64) uint64 {
	expected := uint64(equalIssueSlack * seconds(e.TargetDuration) * e.TargetQPS)
	n := max(e.MinQueryCount, expected)
	if n > maxSamples {
		return n // more than a test can have, which Validate says; the next multiple may be 0
	}
	return n + qslPerformanceSampleCount - n%qslPerformanceSampleCount
}

// seconds divides once, as the reference does; time.Duration.Seconds rounds twice.
func seconds(d time.Duration) float64 { return float64(d) / 1e9 }

func either(override, otherwise uint64) uint64 {
	if override != 0 {
		return override
	}
	return otherwise
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
