package loadgen

import (
	"errors"
	"fmt"
	"math"
)

// Validate reports everything in the settings that no test can run with, and
// changes nothing. Where the reference substitutes a value and logs an error, this
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
	check(s.AccuracyLogProbability >= 0 && s.AccuracyLogProbability <= 1, "accuracy_log_probability must be between 0 and 100 %%, is %g %%", s.AccuracyLogProbability*100)
	return errors.Join(errs...)
}

const (
	maxSamples      = math.MaxUint32 // a ResponseID has 32 bits
	maxIssueThreads = 256
	maxPeakDecimals = 6 // a float64 has no more at a billion queries per second

	// Instants are whole nanoseconds, 64 bits of them.
	minRate = 1e-6
	maxRate = 1e9
)

// Validate reports what can only be known with the QSL's sample counts.
func (e EffectiveSettings) Validate(qslTotalSampleCount uint64) error {
	var errs []error
	loaded := min(e.PerformanceSampleCount, qslTotalSampleCount)
	if loaded == 0 {
		errs = append(errs, errors.New("the query sample library is empty, or its performance sample count is 0"))
	}
	if e.Scenario != Offline && (e.TargetQPS < minRate || e.TargetQPS > maxRate) {
		errs = append(errs, fmt.Errorf("the target QPS, or what the expected latency makes of it, must be between %g and %g, is %g",
			minRate, maxRate, e.TargetQPS))
	}
	if e.SamplesPerQuery == 0 && e.Mode != AccuracyOnly { // whose query is the loaded set
		errs = append(errs, errors.New("the query would have no samples: min_query_count and target_qps times min_duration are both 0"))
	}
	if smallest := e.smallestSet(qslTotalSampleCount); e.PerformanceIssueSame && e.PerformanceIssueSameIndex >= smallest {
		errs = append(errs, fmt.Errorf("performance_issue_same_index %d is not below the %d samples of the smallest set that is loaded",
			e.PerformanceIssueSameIndex, smallest))
	}
	if n := e.plannedQueries(); n*float64(e.SamplesPerQuery) > maxSamples {
		errs = append(errs, fmt.Errorf("%.0f queries of %d samples are more than the %d samples a test can have",
			n, e.SamplesPerQuery, uint64(maxSamples)))
	}
	return errors.Join(errs...)
}

// smallestSet is how many samples the smallest set has that the test loads: in accuracy mode the
// last one may have fewer than the others.
func (e EffectiveSettings) smallestSet(qslTotalSampleCount uint64) uint64 {
	loaded := min(e.PerformanceSampleCount, qslTotalSampleCount)
	if e.Mode != AccuracyOnly && e.Mode != SubmissionRun || loaded == 0 {
		return loaded
	}
	all := min(e.AccuracySampleCount, qslTotalSampleCount)
	if rest := all % loaded; rest != 0 {
		return rest
	}
	return loaded
}

// plannedQueries is about how many queries the performance phase has; 0 if there is none.
func (e EffectiveSettings) plannedQueries() float64 {
	n := float64(e.MinQueryCount)
	switch {
	case e.Mode == AccuracyOnly:
		return 0
	case e.PerformanceIssueUnique:
		return n
	}
	return max(n, seconds(e.TargetDuration)*e.TargetQPS)
}
