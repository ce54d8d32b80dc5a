package config

import "github.com/mlperf-go/mlperf/internal/loadgen"

type settings = loadgen.TestSettings

// fieldRules says of every field of TestSettings how it is compared with the rules; a test
// goes over all of them. Sources: inference_policies, "Scenarios" and "LoadGen
// Operation"; loadgen/mlperf.conf of the rounds, which marks what only the open division may
// change; compliance/nvidia for what its tests look for.
func fieldRules() []fieldRule {
	rules := append(latencyRules(), trafficRules()...)
	return append(rules, freeRules()...)
}

// latencyRules are the bounds and percentiles.
func latencyRules() []fieldRule {
	return []fieldRule{
		{field: "SingleStreamTargetLatencyPercentile", key: "target_latency_percentile", kind: least, open: true, percent: true,
			applies: in(loadgen.SingleStream), value: func(s settings) any { return s.SingleStreamTargetLatencyPercentile }},
		{field: "MultiStreamTargetLatencyPercentile", key: "target_latency_percentile", kind: least, open: true, percent: true,
			applies: in(loadgen.MultiStream), value: func(s settings) any { return s.MultiStreamTargetLatencyPercentile }},
		{field: "ServerTargetLatencyPercentile", key: "target_latency_percentile", kind: least, open: true, percent: true,
			applies: in(loadgen.Server), value: func(s settings) any { return s.ServerTargetLatencyPercentile }},
		{field: "ServerTargetLatency", key: "target_latency", kind: most, open: true,
			applies: withoutTokens, value: func(s settings) any { return s.ServerTargetLatency }},
		{field: "ServerTTFTLatency", key: "ttft_latency", kind: most, open: true,
			applies: withTokens, value: func(s settings) any { return s.ServerTTFTLatency }},
		{field: "ServerTPOTLatency", key: "tpot_latency", kind: most, open: true,
			applies: withTokens, value: func(s settings) any { return s.ServerTPOTLatency }},
		{field: "UseTokenLatencies", key: "use_token_latencies", kind: exactly, open: true,
			value: func(s settings) any { return s.UseTokenLatencies }},
		{field: "InferTokenLatencies", key: "infer_token_latencies", kind: exactly, open: true,
			value: func(s settings) any { return s.InferTokenLatencies }},
		{field: "TokenLatencyScalingFactor", key: "token_latency_scaling_factor", kind: exactly, open: true,
			applies: func(s, _ settings) bool { return s.InferTokenLatencies },
			value:   func(s settings) any { return s.TokenLatencyScalingFactor }},
		// The MultiStream of rules before v2.0: the interval follows from the rate.
		{field: "MultiStreamQPS", key: "target_qps", kind: least, open: true,
			applies: in(loadgen.MultiStream), value: func(s settings) any { return s.MultiStreamQPS }},
		{field: "WithoutEarlyStopping", key: "early_stopping", kind: exactly,
			applies: func(s, official settings) bool { return s.WithoutEarlyStopping != official.WithoutEarlyStopping },
			value:   func(s settings) any { return s.WithoutEarlyStopping }},
	}
}

// trafficRules are what is issued, how much of it, and for how long.
func trafficRules() []fieldRule {
	return []fieldRule{
		{field: "MinDuration", key: "min_duration", kind: least, value: func(s settings) any { return s.MinDuration }},
		{field: "MaxDuration", key: "max_duration", kind: harder, value: func(s settings) any { return s.MaxDuration }},
		{field: "MinQueryCount", key: "min_query_count", kind: least, value: func(s settings) any { return s.MinQueryCount }},
		{field: "MaxQueryCount", key: "max_query_count", kind: harder, value: func(s settings) any { return s.MaxQueryCount }},
		// At fixed intervals the samples of a query are the result.
		{field: "MultiStreamSamplesPerQuery", key: "samples_per_query", kind: least, open: true,
			applies: func(s, _ settings) bool { return s.Scenario == loadgen.MultiStream && s.MultiStreamQPS == 0 },
			value:   func(s settings) any { return s.MultiStreamSamplesPerQuery }},
		{field: "QSLRNGSeed", key: "qsl_rng_seed", kind: exactly, value: func(s settings) any { return s.QSLRNGSeed }},
		{field: "SampleIndexRNGSeed", key: "sample_index_rng_seed", kind: exactly, value: func(s settings) any { return s.SampleIndexRNGSeed }},
		{field: "ScheduleRNGSeed", key: "schedule_rng_seed", kind: exactly,
			applies: in(loadgen.Server), value: func(s settings) any { return s.ScheduleRNGSeed }},
		{field: "PerformanceSampleCountOverride", key: "performance_sample_count_override", kind: least, unlimited: true,
			value: func(s settings) any { return s.PerformanceSampleCountOverride }},
		{field: "AccuracySampleCountOverride", key: "accuracy_sample_count_override", kind: least, unlimited: true, accuracy: true,
			applies: func(s, _ settings) bool { return s.Mode != loadgen.PerformanceOnly },
			value:   func(s settings) any { return s.AccuracySampleCountOverride }},
		{field: "PerformanceIssueUnique", key: "performance_issue_unique", kind: exactly, value: func(s settings) any { return s.PerformanceIssueUnique }},
		{field: "PerformanceIssueSame", key: "performance_issue_same", kind: exactly, value: func(s settings) any { return s.PerformanceIssueSame }},
		{field: "SampleConcatenatePermutation", key: "sample_concatenate_permutation", kind: exactly,
			value: func(s settings) any { return s.SampleConcatenatePermutation }},
		{field: "ServerMaxAsyncQueries", key: "max_async_queries", kind: harder,
			applies: in(loadgen.Server), value: func(s settings) any { return s.ServerMaxAsyncQueries }},
		{field: "Test05", key: "test05", kind: exactly, value: func(s settings) any { return s.Test05 }},
	}
}

// freeRules are the submitter's own fields, those that only matter beside another that is
// compared, and those that only decide what is logged. Queries that are due together may be coalesced:
// latencies count from the schedule all the same, and 37 closed Server results of v5.1 do so.
func freeRules() []fieldRule {
	var list []fieldRule
	for _, name := range []string{
		"Scenario", "Mode",
		"SingleStreamExpectedLatencyNS", "MultiStreamExpectedLatencyNS", "ServerTargetQPS", "OfflineExpectedQPS",
		"ServerFindPeakQPSDecimalsOfPrecision", "ServerFindPeakQPSBoundaryStepSize", "ServerNumIssueQueryThreads", "ServerCoalesceQueries",
		"AccuracyLogRNGSeed", "AccuracyLogProbability", "AccuracyLogSamplingTarget", "PrintTimestamps",
		"PerformanceIssueSameIndex", "Test05QSLRNGSeed", "Test05SampleIndexRNGSeed", "Test05ScheduleRNGSeed",
	} {
		list = append(list, fieldRule{field: name})
	}
	return list
}
