// settings MODEL SCENARIO USER_CONF AUDIT_CONFIG prints the TestSettings that the reference LoadGen has after these files. make_settings.py builds it.
#include <cstdio>

#include "test_settings.h"

namespace mlperf {
static const std::string none;
const std::string& LoadgenVersion() { return none; }
const std::string& LoadgenGitRevision() { return none; }
const std::string& LoadgenGitCommitDate() { return none; }
const std::string& LoadgenGitStatus() { return none; }
const std::string& LoadgenGitLog() { return none; }
const std::string& LoadgenBuildDateLocal() { return none; }
const std::string& LoadgenBuildDateUtc() { return none; }
const std::string& LoadgenSha1OfFiles() { return none; }
}  // namespace mlperf

static void whole(const char* key, uint64_t value) { printf("%s %llu\n", key, (unsigned long long)value); }
static void real(const char* key, double value) { printf("%s %a\n", key, value); }

int main(int, char** argv) {
  mlperf::TestSettings s;
  s.FromConfig(argv[3], argv[1], argv[2], 1);  // after the built-in mlperf.conf
  s.FromConfig(argv[4], argv[1], argv[2], 2);  // as a SUT calls it
  s.FromConfig(argv[4], "*", argv[2], 2);      // as StartTest does
  const uint64_t ms = 1000000;
  whole("Mode", uint64_t(s.mode));
  real("SingleStreamExpectedLatencyNS", s.single_stream_expected_latency_ns);
  real("SingleStreamTargetLatencyPercentile", s.single_stream_target_latency_percentile);
  real("MultiStreamExpectedLatencyNS", s.multi_stream_expected_latency_ns);
  real("MultiStreamTargetLatencyPercentile", s.multi_stream_target_latency_percentile);
  whole("MultiStreamSamplesPerQuery", s.multi_stream_samples_per_query);
  real("ServerTargetQPS", s.server_target_qps);
  whole("ServerTargetLatency", s.server_target_latency_ns);
  real("ServerTargetLatencyPercentile", s.server_target_latency_percentile);
  whole("ServerCoalesceQueries", s.server_coalesce_queries);
  whole("ServerMaxAsyncQueries", s.server_max_async_queries);
  real("OfflineExpectedQPS", s.offline_expected_qps);
  whole("SampleConcatenatePermutation", s.sample_concatenate_permutation);
  whole("MinDuration", s.min_duration_ms * ms);
  whole("MaxDuration", s.max_duration_ms * ms);
  whole("MinQueryCount", s.min_query_count);
  whole("MaxQueryCount", s.max_query_count);
  whole("QSLRNGSeed", s.qsl_rng_seed);
  whole("SampleIndexRNGSeed", s.sample_index_rng_seed);
  whole("ScheduleRNGSeed", s.schedule_rng_seed);
  whole("AccuracyLogRNGSeed", s.accuracy_log_rng_seed);
  real("AccuracyLogProbability", s.accuracy_log_probability);
  whole("AccuracyLogSamplingTarget", s.accuracy_log_sampling_target);
  whole("Test05", s.test05);
  whole("Test05QSLRNGSeed", s.test05_qsl_rng_seed);
  whole("Test05SampleIndexRNGSeed", s.test05_sample_index_rng_seed);
  whole("Test05ScheduleRNGSeed", s.test05_schedule_rng_seed);
  whole("PrintTimestamps", s.print_timestamps);
  whole("PerformanceIssueUnique", s.performance_issue_unique);
  whole("PerformanceIssueSame", s.performance_issue_same);
  whole("PerformanceIssueSameIndex", s.performance_issue_same_index);
  whole("PerformanceSampleCountOverride", s.performance_sample_count_override);
  whole("AccuracySampleCountOverride", s.accuracy_sample_count_override);
  whole("UseTokenLatencies", s.use_token_latencies);
  whole("ServerTTFTLatency", s.server_ttft_latency);
  whole("ServerTPOTLatency", s.server_tpot_latency);
  whole("InferTokenLatencies", s.infer_token_latencies);
  whole("TokenLatencyScalingFactor", s.token_latency_scaling_factor);
}
