package loadgen

import (
	"errors"
	"fmt"
	"time"

	"github.com/mlperf-go/mlperf/internal/units"
)

// EffectiveSettings are the settings of a test in effect: the requested ones, reduced
// to its scenario and completed by the QSL's sample counts
// (loadgen/test_settings_internal.cc).
type EffectiveSettings struct {
	Scenario Scenario
	Mode     Mode

	SamplesPerQuery         uint64
	TargetQPS               float64
	ServerArrivals          Arrivals        // of Server; none: the Poisson process of the rules
	ServerReplay            []time.Duration // when queries arrive, if the arrivals are those of a file
	TargetLatency           time.Duration   // Server, and MultiStream at fixed intervals
	TargetLatencyPercentile float64         // fraction
	ServerCoalesceQueries   bool
	MaxAsyncQueries         uint64
	IssueQueryThreads       int
	FixedInterval           bool          // MultiStream at fixed intervals, TargetQPS of them
	TargetDuration          time.Duration // how much traffic is generated
	Common
	MinSampleCount         uint64
	PerformanceSampleCount uint64
	AccuracySampleCount    uint64
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
	e := EffectiveSettings{
		Scenario: s.Scenario, Mode: s.Mode, Common: s.Common,
		SamplesPerQuery: 1, TargetQPS: 1, IssueQueryThreads: 1, TargetDuration: s.MinDuration,
		PerformanceSampleCount: qslPerformanceSampleCount, AccuracySampleCount: qslTotalSampleCount,
	}
	if s.PerformanceSampleCountOverride != 0 {
		e.PerformanceSampleCount = s.PerformanceSampleCountOverride
	}
	if s.AccuracySampleCountOverride != 0 {
		e.AccuracySampleCount = s.AccuracySampleCountOverride
	}
	switch s.Scenario {
	case SingleStream:
		e.TargetQPS = 1e9 / s.SingleStreamExpectedLatencyNS
		e.TargetLatencyPercentile = s.SingleStreamTargetLatencyPercentile
		e.MaxAsyncQueries = 1
		if s.SampleConcatenatePermutation && qslPerformanceSampleCount > 0 {
			e.MinQueryCount = max(e.MinQueryCount, uint64(equalIssueSlack*seconds(e.TargetDuration)*e.TargetQPS))
			// The next multiple, which always adds at least one query.
			e.MinQueryCount += qslPerformanceSampleCount - e.MinQueryCount%qslPerformanceSampleCount
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
		e.ServerArrivals, e.ServerReplay = s.ServerArrivals, s.ServerReplay
		e.ServerCoalesceQueries = s.ServerCoalesceQueries
		e.IssueQueryThreads = max(1, int(s.ServerNumIssueQueryThreads))
	case Offline:
		e.TargetQPS = s.OfflineExpectedQPS
		e.TargetLatencyPercentile = 0.99 // not used, but logged
		e.MaxAsyncQueries = 1
		// All queries become one, and a number of queries becomes one of samples.
		e.SamplesPerQuery = max(s.MinQueryCount, uint64(offlineSlack*seconds(e.TargetDuration)*e.TargetQPS))
		if s.PerformanceIssueUnique {
			e.SamplesPerQuery = e.PerformanceSampleCount
		}
		e.MinQueryCount = 1
		e.TargetDuration = 0
	}
	e.MinSampleCount = e.MinQueryCount * e.SamplesPerQuery
	return e
}

// seconds divides once, as the reference does; time.Duration.Seconds rounds twice.
func seconds(d time.Duration) float64 { return float64(d) / 1e9 }

// onSchedule reports whether queries are issued at given instants, and not when the one before is answered.
func (e EffectiveSettings) onSchedule() bool { return e.Scenario == Server || e.FixedInterval }

// Prepared returns how many queries are drawn before the performance phase is issued, and the least memory that they take, in bytes.
func (e EffectiveSettings) Prepared() (queries, memory float64) {
	const ofQuery, ofSample = 8, 16 // start; name, answer
	switch {
	case e.Mode == AccuracyOnly:
		return 0, 0
	case e.PerformanceIssueUnique:
		queries = float64(e.MinQueryCount)
	case e.Scenario == Server:
		queries = max(float64(e.MinQueryCount), seconds(e.TargetDuration)*e.TargetQPS)
	default:
		queries = max(float64(e.MinQueryCount), 2*seconds(e.TargetDuration)*e.TargetQPS) // the SUT may be faster than expected
	}
	return queries, queries * (ofQuery + ofSample*float64(e.SamplesPerQuery))
}

// Validate reports the errors that only the QSL's sample counts show.
func (e EffectiveSettings) Validate(qslTotalSampleCount uint64) error {
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	loaded := min(e.PerformanceSampleCount, qslTotalSampleCount)
	check(loaded > 0, "the query sample library is empty, or its performance sample count is 0")
	check(e.Scenario == Offline || e.TargetQPS >= minRate && e.TargetQPS <= maxRate,
		"the target QPS, or what the expected latency makes of it, must be between %g and %g, is %g", minRate, maxRate, e.TargetQPS)
	check(e.ServerArrivals.Replay == "" || len(e.ServerReplay) > 0, "the times of the replay of %s are missing", e.ServerArrivals.Replay)
	check(e.ServerArrivals.Replay == "" || e.Mode == PerformanceOnly, "arrivals are replayed in performance mode, not in %v", e.Mode)
	if a := e.ServerArrivals; a.Burst > 0 {
		n := a.Factor * e.TargetQPS * a.Burst.Seconds()
		check(n >= 1, "bursts of %v at %g times %s have %s queries on average, expected at least one", a.Burst, a.Factor,
			units.Text(e.TargetQPS, "queries/s"), units.Number(n))
	}
	check(e.SamplesPerQuery > 0 || e.Mode == AccuracyOnly, // whose query is the loaded set
		"the query would have no samples: min_query_count and target_qps times min_duration are both 0")

	smallest := loaded // of the sets that are loaded: the last one of accuracy mode may have fewer samples
	if loaded > 0 && (e.Mode == AccuracyOnly || e.Mode == SubmissionRun) {
		if rest := min(e.AccuracySampleCount, qslTotalSampleCount) % loaded; rest != 0 {
			smallest = rest
		}
	}
	check(!e.PerformanceIssueSame || e.PerformanceIssueSameIndex < smallest,
		"performance_issue_same_index %d is not below the %d samples of the smallest set that is loaded", e.PerformanceIssueSameIndex, smallest)

	queries, _ := e.Prepared()
	check(queries*float64(e.SamplesPerQuery) <= maxSamples,
		"%s of %s are more than the %s a test can have", units.Count(queries, "query"), units.Count(e.SamplesPerQuery, "sample"),
		units.Count(uint64(maxSamples), "sample"))
	return errors.Join(errs...)
}
