package mlperflog

import "github.com/mlperf-go/mlperf/internal/loadgen"

// requested writes the settings that were asked for
// (loadgen/test_settings_internal.cc, LogRequestedTestSettings).
func (d *detailWriter) requested(r *loadgen.Result) {
	s := r.Requested
	if s.Test05 { // the reference has replaced them by now
		s.Mode = r.Effective.Mode
		s.QSLRNGSeed, s.SampleIndexRNGSeed, s.ScheduleRNGSeed = r.Effective.QSLRNGSeed, r.Effective.SampleIndexRNGSeed, r.Effective.ScheduleRNGSeed
	}
	d.log("requested_scenario", s.Scenario.String())
	d.log("requested_test_mode", s.Mode.String())
	d.requestedOfScenario(s)
	d.log("requested_min_duration_ms", s.MinDuration.Milliseconds())
	d.log("requested_max_duration_ms", s.MaxDuration.Milliseconds())
	d.log("requested_min_query_count", s.MinQueryCount)
	d.log("requested_max_query_count", s.MaxQueryCount)
	d.log("requested_qsl_rng_seed", s.QSLRNGSeed)
	d.log("requested_sample_index_rng_seed", s.SampleIndexRNGSeed)
	d.log("requested_schedule_rng_seed", s.ScheduleRNGSeed)
	d.log("requested_accuracy_log_rng_seed", s.AccuracyLogRNGSeed)
	d.log("requested_accuracy_log_probability", s.AccuracyLogProbability)
	d.log("requested_accuracy_log_sampling_target", s.AccuracyLogSamplingTarget)
	d.log("requested_print_timestamps", s.PrintTimestamps)
	d.log("requested_performance_issue_unique", s.PerformanceIssueUnique)
	d.log("requested_performance_issue_same", s.PerformanceIssueSame)
	d.log("requested_performance_issue_same_index", s.PerformanceIssueSameIndex)
	d.log("requested_performance_sample_count_override", s.PerformanceSampleCountOverride)
	d.log("requested_accuracy_sample_count_override", s.AccuracySampleCountOverride)
	d.log("requested_sample_concatenate_permutation", s.SampleConcatenatePermutation)
	if !s.UseTokenLatencies {
		return
	}
	d.log("requested_use_token_latencies", s.UseTokenLatencies)
	if s.Scenario != loadgen.Offline {
		d.log("requested_server_ttft_latency", s.ServerTTFTLatency.Nanoseconds())
		d.log("requested_server_tpot_latency", s.ServerTPOTLatency.Nanoseconds())
	}
}

func (d *detailWriter) requestedOfScenario(s loadgen.TestSettings) {
	switch s.Scenario {
	case loadgen.SingleStream:
		d.log("requested_single_stream_expected_latency_ns", s.SingleStreamExpectedLatencyNS)
		d.log("requested_single_stream_target_latency_percentile", s.SingleStreamTargetLatencyPercentile)
	case loadgen.MultiStream:
		d.log("requested_multi_stream_expected_latency_ns", s.MultiStreamExpectedLatencyNS)
		d.log("requested_multi_stream_target_latency_percentile", s.MultiStreamTargetLatencyPercentile)
		d.log("requested_multi_stream_samples_per_query", s.MultiStreamSamplesPerQuery)
	case loadgen.Server:
		d.log("requested_server_target_qps", s.ServerTargetQPS)
		d.log("requested_server_target_latency_ns", s.ServerTargetLatency.Nanoseconds())
		d.log("requested_server_target_latency_percentile", s.ServerTargetLatencyPercentile)
		d.log("requested_server_coalesce_queries", s.ServerCoalesceQueries)
		d.log("requested_server_find_peak_qps_decimals_of_precision", s.ServerFindPeakQPSDecimalsOfPrecision)
		d.log("requested_server_find_peak_qps_boundary_step_size", s.ServerFindPeakQPSBoundaryStepSize)
		d.log("requested_server_max_async_queries", s.ServerMaxAsyncQueries)
		d.log("requested_server_num_issue_query_threads", s.ServerNumIssueQueryThreads)
	case loadgen.Offline:
		d.log("requested_offline_expected_qps", s.OfflineExpectedQPS)
	}
}

// effective writes what the test made of them (ibid., LogEffectiveSettings).
func (d *detailWriter) effective(e loadgen.EffectiveSettings) {
	d.log("effective_scenario", e.Scenario.String())
	d.log("effective_test_mode", e.Mode.String())
	d.log("effective_samples_per_query", e.SamplesPerQuery)
	d.log("effective_target_qps", e.TargetQPS)
	d.log("effective_target_latency_ns", e.TargetLatency.Nanoseconds())
	d.log("effective_target_latency_percentile", e.TargetLatencyPercentile)
	d.log("effective_max_async_queries", e.MaxAsyncQueries)
	d.log("effective_target_duration_ms", e.TargetDuration.Milliseconds())
	d.log("effective_min_duration_ms", e.MinDuration.Milliseconds())
	d.log("effective_max_duration_ms", e.MaxDuration.Milliseconds())
	d.log("effective_min_query_count", e.MinQueryCount)
	d.log("effective_max_query_count", e.MaxQueryCount)
	d.log("effective_min_sample_count", e.MinSampleCount)
	d.log("effective_qsl_rng_seed", e.QSLRNGSeed)
	d.log("effective_sample_index_rng_seed", e.SampleIndexRNGSeed)
	d.log("effective_schedule_rng_seed", e.ScheduleRNGSeed)
	d.log("effective_accuracy_log_rng_seed", e.AccuracyLogRNGSeed)
	d.log("effective_accuracy_log_probability", e.AccuracyLogProbability)
	d.log("effective_accuracy_log_sampling_target", e.AccuracyLogSamplingTarget)
	d.log("effective_print_timestamps", e.PrintTimestamps)
	d.log("effective_performance_issue_unique", e.PerformanceIssueUnique)
	d.log("effective_performance_issue_same", e.PerformanceIssueSame)
	d.log("effective_performance_issue_same_index", e.PerformanceIssueSameIndex)
	d.log("effective_performance_sample_count", e.PerformanceSampleCount)
	d.log("effective_accuracy_sample_count", e.AccuracySampleCount)
	d.log("effective_sample_concatenate_permutation", e.SampleConcatenatePermutation)
}
