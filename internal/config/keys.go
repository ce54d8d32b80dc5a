package config

import (
	"time"

	"github.com/mlperf-go/mlperf/internal/loadgen"
)

// A key is a setting that files and flags know. Most are looked up under the scenario
// that runs; some always under one scenario, whatever runs, and those have a row for
// each such scenario.
type key struct {
	name     string
	scenario string // under which LoadGen looks it up; empty: the one that runs
	kind     kind

	// builtIn keys are LoadGen's own: since v5.0 it does not read them from user.conf
	// and audit.config.
	builtIn bool
	// optionOnly keys are fields of TestSettings that no file can set.
	optionOnly bool
	// fixedInterval keys exist for MultiStream before v2.0.
	fixedInterval bool
	// needs names the switch without which LoadGen does not look the key up.
	needs string

	// set stores the value. nil: LoadGen ignores the key, though official files have it.
	set func(*target, value)
}

// target is what settings are stored in.
type target struct {
	loadgen.TestSettings
	runningAtOnce uint64 // max_async_queries of MultiStream
}

// enabled reports whether the switch that the key needs is on.
func (k *key) enabled(t *target) bool {
	switch k.needs {
	case "use_token_latencies":
		return t.UseTokenLatencies
	case "infer_token_latencies":
		return t.InferTokenLatencies
	}
	return true
}

const (
	singleStream = "SingleStream"
	multiStream  = "MultiStream"
	server       = "Server"
	offline      = "Offline"

	interactive       = "Interactive"  // Server, with the settings of another model:
	interactiveSuffix = "-interactive" // behind the model's name
)

// keys lists all settings in the order in which LoadGen looks them up
// (loadgen/test_settings_internal.cc, FromConfig), which matters for those that need
// a switch.
func keys() []key {
	return []key{
		// The mode, and what only mlperf.conf may set.
		{name: "mode", kind: modeNumber, set: func(t *target, v value) { t.Mode = loadgen.Mode(v.whole) }},
		{name: "qsl_rng_seed", builtIn: true, set: func(t *target, v value) { t.QSLRNGSeed = v.whole }},
		{name: "sample_index_rng_seed", builtIn: true, set: func(t *target, v value) { t.SampleIndexRNGSeed = v.whole }},
		{name: "schedule_rng_seed", builtIn: true, set: func(t *target, v value) { t.ScheduleRNGSeed = v.whole }},
		{name: "accuracy_log_probability", kind: probability, builtIn: true,
			set: func(t *target, v value) { t.AccuracyLogProbability = v.real * 0.01 }},
		{name: "test05", kind: toggle, builtIn: true, set: func(t *target, v value) { t.Test05 = v.whole == 1 }},
		{name: "test05_qsl_rng_seed", builtIn: true, set: func(t *target, v value) { t.Test05QSLRNGSeed = v.whole }},
		{name: "test05_sample_index_rng_seed", builtIn: true, set: func(t *target, v value) { t.Test05SampleIndexRNGSeed = v.whole }},
		{name: "test05_schedule_rng_seed", builtIn: true, set: func(t *target, v value) { t.Test05ScheduleRNGSeed = v.whole }},

		// For the open division, if user.conf sets them.
		{name: "use_token_latencies", kind: toggle, set: func(t *target, v value) { t.UseTokenLatencies = v.whole == 1 }},
		{name: "ttft_latency", scenario: server, kind: wholeMillis, needs: "use_token_latencies",
			set: func(t *target, v value) { t.ServerTTFTLatency = time.Duration(v.whole) }},
		{name: "tpot_latency", scenario: server, kind: wholeMillis, needs: "use_token_latencies",
			set: func(t *target, v value) { t.ServerTPOTLatency = time.Duration(v.whole) }},
		{name: "infer_token_latencies", kind: toggle, set: func(t *target, v value) { t.InferTokenLatencies = v.whole == 1 }},
		{name: "token_latency_scaling_factor", needs: "infer_token_latencies",
			set: func(t *target, v value) { t.TokenLatencyScalingFactor = v.whole }},
		{name: "target_latency_percentile", scenario: singleStream, kind: percentile,
			set: func(t *target, v value) { t.SingleStreamTargetLatencyPercentile = v.real * 0.01 }},
		{name: "target_latency_percentile", scenario: multiStream, kind: percentile,
			set: func(t *target, v value) { t.MultiStreamTargetLatencyPercentile = v.real * 0.01 }},
		{name: "samples_per_query", scenario: multiStream, set: func(t *target, v value) { t.MultiStreamSamplesPerQuery = v.whole }},
		{name: "target_latency_percentile", scenario: server, kind: percentile,
			set: func(t *target, v value) { t.ServerTargetLatencyPercentile = v.real * 0.01 }},
		{name: "target_latency", scenario: server, kind: wholeMillis,
			set: func(t *target, v value) { t.ServerTargetLatency = time.Duration(v.whole) }},

		// The submitter's own, within the minima of the rules.
		{name: "performance_issue_unique", kind: toggle, set: func(t *target, v value) { t.PerformanceIssueUnique = v.whole == 1 }},
		{name: "performance_issue_same", kind: toggle, set: func(t *target, v value) { t.PerformanceIssueSame = v.whole == 1 }},
		{name: "performance_issue_same_index", set: func(t *target, v value) { t.PerformanceIssueSameIndex = v.whole }},
		{name: "sample_concatenate_permutation", kind: toggle,
			set: func(t *target, v value) { t.SampleConcatenatePermutation = v.whole == 1 }},
		{name: "coalesce_queries", scenario: server, kind: toggle, set: func(t *target, v value) { t.ServerCoalesceQueries = v.whole == 1 }},
		{name: "max_async_queries", scenario: server, kind: smallCount, set: func(t *target, v value) { t.ServerMaxAsyncQueries = v.whole }},
		{name: "min_duration", kind: wholeMillis, set: func(t *target, v value) { t.MinDuration = time.Duration(v.whole) }},
		{name: "max_duration", kind: wholeMillis, set: func(t *target, v value) { t.MaxDuration = time.Duration(v.whole) }},
		{name: "min_query_count", set: func(t *target, v value) { t.MinQueryCount = v.whole }},
		{name: "max_query_count", set: func(t *target, v value) { t.MaxQueryCount = v.whole }},
		{name: "performance_sample_count_override", set: func(t *target, v value) { t.PerformanceSampleCountOverride = v.whole }},
		{name: "accuracy_sample_count_override", set: func(t *target, v value) { t.AccuracySampleCountOverride = v.whole }},
		{name: "target_latency", scenario: singleStream, kind: millis,
			set: func(t *target, v value) { t.SingleStreamExpectedLatencyNS = v.real }},
		{name: "target_latency", scenario: multiStream, kind: millis,
			set: func(t *target, v value) { t.MultiStreamExpectedLatencyNS = v.real }},
		{name: "target_qps", scenario: server, kind: rate, set: func(t *target, v value) { t.ServerTargetQPS = v.real }},
		{name: "target_qps", scenario: offline, kind: rate, set: func(t *target, v value) { t.OfflineExpectedQPS = v.real }},
		{name: "print_timestamps", kind: toggle, set: func(t *target, v value) { t.PrintTimestamps = v.whole == 1 }},
		{name: "accuracy_log_rng_seed", set: func(t *target, v value) { t.AccuracyLogRNGSeed = v.whole }},
		{name: "accuracy_log_sampling_target", set: func(t *target, v value) { t.AccuracyLogSamplingTarget = v.whole }},

		// Of MultiStream before v2.0.
		{name: "target_qps", scenario: multiStream, kind: rate, fixedInterval: true,
			set: func(t *target, v value) { t.MultiStreamQPS = v.real }},
		{name: "max_async_queries", scenario: multiStream, kind: smallCount, fixedInterval: true,
			set: func(t *target, v value) { t.runningAtOnce = v.whole }},

		// Of official files; LoadGen ignores them. The last three are for the scripts of TEST07 and TEST09, in audit.config.
		{name: "target_duration", scenario: server, kind: wholeMillis},
		{name: "target_latency_percentile", scenario: offline, kind: percentile},
		{name: "test07_accuracy_threshold", kind: number},
		{name: "test09_min_output_tokens", kind: number},
		{name: "test09_max_output_tokens", kind: number},

		// Fields of TestSettings without a key in files.
		{name: "num_issue_query_threads", scenario: server, kind: smallCount, optionOnly: true,
			set: func(t *target, v value) { t.ServerNumIssueQueryThreads = v.whole }},
		{name: "arrivals", scenario: server, kind: arrivals, optionOnly: true, set: func(t *target, v value) { t.ServerArrivals = v.arrivals }},
		{name: "find_peak_qps_decimals_of_precision", scenario: server, kind: smallCount, optionOnly: true,
			set: func(t *target, v value) { t.ServerFindPeakQPSDecimalsOfPrecision = int(v.whole) }},
		{name: "find_peak_qps_boundary_step_size", scenario: server, kind: rate, optionOnly: true,
			set: func(t *target, v value) { t.ServerFindPeakQPSBoundaryStepSize = v.real }},
	}
}
