package loadgen

import "time"

// A Setting is a row of the table of settings: all that conf files, the command line, the logs and the rules know of a field. The
// walkers of the table need no change for a new row.
type Setting struct {
	Key      string // the name in conf files, of options and in texts
	Scenario string // the only one that looks it up in files; empty: all. Those with another meaning in each have a row for each
	Kind     Kind
	Source   Source
	Needs    string // the switch, by its key, without which LoadGen does not look it up
	// FixedInterval settings exist for MultiStream before v2.0.
	FixedInterval bool
	// Speed marks the setting of each scenario that says how fast the system is or is to be, which the rules leave open.
	Speed bool
	// IfSet settings are in the logs only if they are not zero, which the reference's tests are.
	IfSet bool

	// The names in the detail log, behind requested_ and effective_, and in the summary; empty: it is not there.
	RequestedKey, EffectiveKey, Label string
	// JSON is the tag of the effective value in the test of results.json: a name, and options as those of encoding/json; empty: it is not there.
	JSON string

	// Rule is how its values make a test easier than the official ones do.
	Rule      Rule
	Open      bool // the open division leaves it to the submitter
	Accuracy  bool // it also decides what an accuracy run is worth
	Unlimited bool // 0 means all
	// Applies reports whether it has an effect beside the others and the official ones; nil: in the scenarios that have it.
	Applies func(s, official *TestSettings) bool

	// Help is a sentence for the flag that sets it in any scenario, its kind of value in back quotes; empty: it has no flag of its own.
	Help string

	// The fields: one of both, or those of TestSettings and EffectiveSettings.
	common    func(*Common) any
	requested func(*TestSettings) any
	effective func(*EffectiveSettings) any
}

// A Kind is the type of a setting's value in files and options.
type Kind uint8

// The kinds. Those up to KindWholeMillis are whole numbers in files.
const (
	KindCount       Kind = iota // 64 bits
	KindSmallCount              // LoadGen casts it to int
	KindSwitch                  // 0 or 1
	KindMode                    // 0 to 3
	KindWholeMillis             // milliseconds that LoadGen keeps as an integer
	KindMillis                  // milliseconds that LoadGen keeps as a double
	KindPercentile              // percent, above 0 and below 100; the field has a fraction
	KindProbability             // percent, 0 to 100; the field has a fraction
	KindRate                    // per second
	KindNumber                  // any
	KindArrivals                // poisson, burst:4x500ms, ramp:30s or replay:FILE
)

// A Source is who may make a setting.
type Source uint8

// The sources.
const (
	FromFiles      Source = iota // any file, and options
	FromMLPerfConf               // LoadGen's own: since v5.0 not user.conf and audit.config
	FromOptions                  // a field of TestSettings that no file sets
	FromNowhere                  // it follows from the round, or from others
)

// A Rule is how the rules see a setting (inference_policies, "Scenarios" and "LoadGen Operation"; loadgen/mlperf.conf of the
// rounds, which marks the settings that only the open division may change; compliance/nvidia for those of its tests).
type Rule uint8

// The rules. RuleFree is for the submitter's own settings, those that matter beside another one only, and those that decide
// what is logged. Queries that are due together may be coalesced: latencies count from the schedule all the same, and 37 closed
// Server results of v5.1 do so.
const (
	_           Rule = iota // a field needs one
	RuleFree                // any value
	RuleLeast               // less than the official value is easier
	RuleMost                // more is easier
	RuleExactly             // any other makes another test, which counts as easier
	RuleHarder              // any other can only make the test harder
)

// withoutTokens and withTokens: a Server test is judged by the latency of answers, or by those of tokens.
func withoutTokens(s, official *TestSettings) bool {
	return s.Scenario == Server && !s.UseTokenLatencies && !official.UseTokenLatencies
}

func withTokens(s, official *TestSettings) bool {
	return s.Scenario == Server && s.UseTokenLatencies && official.UseTokenLatencies
}

// asksForFewer: Offline has one query, whose samples count: as many as min_query_count, or as last for min_duration at the
// expected rate.
func asksForFewer(s, official *TestSettings) bool {
	return s.Scenario != Offline || s.MinQueryCount > official.MinQueryCount || s.Effective(0, 0).SamplesPerQuery < official.MinQueryCount
}

// Settings returns the table, in the order of the logs; each switch is before those that need it. It is shared: it must not be changed.
func Settings() []*Setting { return table }

// Requested returns a pointer to the field of requested settings; nil: they have none.
func (s *Setting) Requested(of *TestSettings) any {
	switch {
	case s.common != nil:
		return s.common(&of.Common)
	case s.requested != nil:
		return s.requested(of)
	}
	return nil
}

// Effective returns a pointer to the field of effective settings; nil: they have none.
func (s *Setting) Effective(of *EffectiveSettings) any {
	switch {
	case s.common != nil:
		return s.common(&of.Common)
	case s.effective != nil:
		return s.effective(of)
	}
	return nil
}

// Value returns the value of a field that Requested or Effective points to.
func Value(field any) any {
	switch f := field.(type) {
	case *uint64:
		return *f
	case *int:
		return *f
	case *bool:
		return *f
	case *float64:
		return *f
	case *time.Duration:
		return *f
	case *Scenario:
		return *f
	case *Mode:
		return *f
	case *Arrivals:
		return *f
	}
	return nil
}

// In reports whether a scenario has the setting.
func (s *Setting) In(scenario Scenario) bool {
	return s.Scenario == "" || s.Scenario == scenario.String()
}

// IsSet reports whether requested settings have a value that is not zero, in a scenario that has the setting.
func (s *Setting) IsSet(of *TestSettings) bool {
	return s.In(of.Scenario) && Value(s.Requested(of)) != Value(s.Requested(&TestSettings{}))
}

// table has the settings. The fields with a name in one of the logs are in its order (loadgen/test_settings_internal.cc,
// LogRequestedTestSettings, LogEffectiveSettings; loadgen/results.cc, LogSummary).
var table = []*Setting{
	// What all scenarios have first in the logs.
	{Key: "scenario", Source: FromNowhere, RequestedKey: "scenario", EffectiveKey: "scenario", Rule: RuleFree,
		requested: func(s *TestSettings) any { return &s.Scenario },
		effective: func(e *EffectiveSettings) any { return &e.Scenario }},
	{Key: "mode", Kind: KindMode, RequestedKey: "test_mode", EffectiveKey: "test_mode", Rule: RuleFree,
		requested: func(s *TestSettings) any { return &s.Mode },
		effective: func(e *EffectiveSettings) any { return &e.Mode }},

	// SingleStream and MultiStream. Their target_latency is the expected one.
	{Key: "target_latency", Scenario: SingleStream.String(), Kind: KindMillis,
		RequestedKey: "single_stream_expected_latency_ns",
		Speed:        true, Rule: RuleFree,
		requested: func(s *TestSettings) any { return &s.SingleStreamExpectedLatencyNS }},
	{Key: "target_latency_percentile", Scenario: SingleStream.String(), Kind: KindPercentile,
		RequestedKey: "single_stream_target_latency_percentile",
		Rule:         RuleLeast, Open: true,
		requested: func(s *TestSettings) any { return &s.SingleStreamTargetLatencyPercentile }},
	{Key: "target_latency", Scenario: MultiStream.String(), Kind: KindMillis,
		RequestedKey: "multi_stream_expected_latency_ns",
		Speed:        true, Rule: RuleFree,
		requested: func(s *TestSettings) any { return &s.MultiStreamExpectedLatencyNS }},
	{Key: "target_latency_percentile", Scenario: MultiStream.String(), Kind: KindPercentile,
		RequestedKey: "multi_stream_target_latency_percentile",
		Rule:         RuleLeast, Open: true,
		requested: func(s *TestSettings) any { return &s.MultiStreamTargetLatencyPercentile }},
	{Key: "samples_per_query", Scenario: MultiStream.String(),
		RequestedKey: "multi_stream_samples_per_query", EffectiveKey: "samples_per_query", Label: "samples_per_query", JSON: "samples_per_query",
		Help: "`number` of samples of a MultiStream query",
		Rule: RuleLeast, Open: true, Applies: func(s, _ *TestSettings) bool { return s.Scenario == MultiStream && s.MultiStreamQPS == 0 },
		requested: func(s *TestSettings) any { return &s.MultiStreamSamplesPerQuery },
		effective: func(e *EffectiveSettings) any { return &e.SamplesPerQuery }},
	{Key: "target_qps", Scenario: MultiStream.String(), Kind: KindRate, FixedInterval: true,
		RequestedKey: "multi_stream_target_qps",
		Rule:         RuleLeast, Open: true,
		requested: func(s *TestSettings) any { return &s.MultiStreamQPS }},
	{Key: "max_async_queries", Scenario: MultiStream.String(), Kind: KindSmallCount, FixedInterval: true, Rule: RuleFree,
		requested: func(s *TestSettings) any { return &s.MultiStreamMaxAsyncQueries }},

	// Server. The effective values of other scenarios have the places of its own.
	{Key: "target_qps", Scenario: Server.String(), Kind: KindRate,
		RequestedKey: "server_target_qps", EffectiveKey: "target_qps", Label: "target_qps", JSON: "target_qps,omitempty",
		Help:  "Server: `rate` of queries per second; Offline: of samples, expected",
		Speed: true, Rule: RuleFree,
		requested: func(s *TestSettings) any { return &s.ServerTargetQPS },
		effective: func(e *EffectiveSettings) any { return &e.TargetQPS }},
	{Key: "arrivals", Scenario: Server.String(), Kind: KindArrivals, Source: FromOptions, IfSet: true,
		RequestedKey: "arrivals", Label: "Arrivals (not of the rules)", JSON: "arrivals,omitzero",
		Help: "Server: a `process` not of the rules: burst:4x500ms, bursts of 500ms on average with 4 times the target rate, then pauses; " +
			"ramp:30s, from nothing to the target rate in 30 s; " +
			"replay:FILE, at the time stamps of a file, or replay:2x:FILE, twice as fast (default: poisson)",
		Rule:      RuleExactly,
		requested: func(s *TestSettings) any { return &s.ServerArrivals },
		effective: func(e *EffectiveSettings) any { return &e.ServerArrivals }},
	{Key: "target_latency", Scenario: Server.String(), Kind: KindWholeMillis,
		RequestedKey: "server_target_latency_ns", EffectiveKey: "target_latency_ns", Label: "target_latency (ns)", JSON: "target_latency_ns,omitempty",
		Help: "Server: latency bound, a `duration` or auto; others: expected latency (rules to v1.0: MultiStream's interval, or auto)",
		Rule: RuleMost, Open: true, Applies: withoutTokens,
		requested: func(s *TestSettings) any { return &s.ServerTargetLatency },
		effective: func(e *EffectiveSettings) any { return &e.TargetLatency }},
	{Key: "target_latency_percentile", Scenario: Server.String(), Kind: KindPercentile,
		RequestedKey: "server_target_latency_percentile", EffectiveKey: "target_latency_percentile", JSON: "target_latency_percentile,omitempty",
		Rule: RuleLeast, Open: true,
		requested: func(s *TestSettings) any { return &s.ServerTargetLatencyPercentile },
		effective: func(e *EffectiveSettings) any { return &e.TargetLatencyPercentile }},
	{Key: "coalesce_queries", Scenario: Server.String(), Kind: KindSwitch, RequestedKey: "server_coalesce_queries", Rule: RuleFree,
		requested: func(s *TestSettings) any { return &s.ServerCoalesceQueries },
		effective: func(e *EffectiveSettings) any { return &e.ServerCoalesceQueries }},
	{Key: "find_peak_qps_decimals_of_precision", Scenario: Server.String(), Kind: KindSmallCount, Source: FromOptions,
		RequestedKey: "server_find_peak_qps_decimals_of_precision",
		Rule:         RuleFree,
		requested:    func(s *TestSettings) any { return &s.ServerFindPeakQPSDecimalsOfPrecision }},
	{Key: "find_peak_qps_boundary_step_size", Scenario: Server.String(), Kind: KindRate, Source: FromOptions,
		RequestedKey: "server_find_peak_qps_boundary_step_size",
		Rule:         RuleFree,
		requested:    func(s *TestSettings) any { return &s.ServerFindPeakQPSBoundaryStepSize }},
	{Key: "max_async_queries", Scenario: Server.String(), Kind: KindSmallCount,
		RequestedKey: "server_max_async_queries", EffectiveKey: "max_async_queries", Label: "max_async_queries",
		Rule:      RuleHarder,
		requested: func(s *TestSettings) any { return &s.ServerMaxAsyncQueries },
		effective: func(e *EffectiveSettings) any { return &e.MaxAsyncQueries }},
	{Key: "num_issue_query_threads", Scenario: Server.String(), Kind: KindSmallCount, Source: FromOptions,
		RequestedKey: "server_num_issue_query_threads",
		Rule:         RuleFree,
		requested:    func(s *TestSettings) any { return &s.ServerNumIssueQueryThreads }},
	{Key: "target_duration", Scenario: Server.String(), Kind: KindWholeMillis, EffectiveKey: "target_duration_ms",
		effective: func(e *EffectiveSettings) any { return &e.TargetDuration }},

	// Offline.
	{Key: "target_qps", Scenario: Offline.String(), Kind: KindRate, RequestedKey: "offline_expected_qps", Speed: true, Rule: RuleFree,
		requested: func(s *TestSettings) any { return &s.OfflineExpectedQPS }},
	{Key: "target_latency_percentile", Scenario: Offline.String(), Kind: KindPercentile},

	// All scenarios.
	{Key: "min_duration", Kind: KindWholeMillis,
		RequestedKey: "min_duration_ms", EffectiveKey: "min_duration_ms", Label: "min_duration (ms)", JSON: "min_duration_ns",
		Help:   "shortest test, a `duration` (60s, 10m)",
		Rule:   RuleLeast,
		common: func(c *Common) any { return &c.MinDuration }},
	{Key: "max_duration", Kind: KindWholeMillis,
		RequestedKey: "max_duration_ms", EffectiveKey: "max_duration_ms", Label: "max_duration (ms)", JSON: "max_duration_ns,omitempty",
		Help:   "longest test, a `duration`",
		Rule:   RuleHarder,
		common: func(c *Common) any { return &c.MaxDuration }},
	{Key: "min_query_count", RequestedKey: "min_query_count", EffectiveKey: "min_query_count", Label: "min_query_count", JSON: "min_query_count",
		Help: "least `number` of queries; in Offline of samples",
		Rule: RuleLeast, Applies: asksForFewer,
		common: func(c *Common) any { return &c.MinQueryCount }},
	{Key: "max_query_count", RequestedKey: "max_query_count", EffectiveKey: "max_query_count", Label: "max_query_count", JSON: "max_query_count,omitempty",
		Help:   "greatest `number` of queries",
		Rule:   RuleHarder,
		common: func(c *Common) any { return &c.MaxQueryCount }},
	{Key: "min_sample_count", Source: FromNowhere, EffectiveKey: "min_sample_count", JSON: "min_sample_count",
		effective: func(e *EffectiveSettings) any { return &e.MinSampleCount }},
	{Key: "qsl_rng_seed", Source: FromMLPerfConf,
		RequestedKey: "qsl_rng_seed", EffectiveKey: "qsl_rng_seed", Label: "qsl_rng_seed", JSON: "qsl_rng_seed,string",
		Rule:   RuleExactly,
		common: func(c *Common) any { return &c.QSLRNGSeed }},
	{Key: "sample_index_rng_seed", Source: FromMLPerfConf,
		RequestedKey: "sample_index_rng_seed", EffectiveKey: "sample_index_rng_seed", Label: "sample_index_rng_seed", JSON: "sample_index_rng_seed,string",
		Rule:   RuleExactly,
		common: func(c *Common) any { return &c.SampleIndexRNGSeed }},
	{Key: "schedule_rng_seed", Source: FromMLPerfConf,
		RequestedKey: "schedule_rng_seed", EffectiveKey: "schedule_rng_seed", Label: "schedule_rng_seed", JSON: "schedule_rng_seed,string",
		Rule: RuleExactly, Applies: func(s, _ *TestSettings) bool { return s.Scenario == Server },
		common: func(c *Common) any { return &c.ScheduleRNGSeed }},
	{Key: "accuracy_log_rng_seed",
		RequestedKey: "accuracy_log_rng_seed", EffectiveKey: "accuracy_log_rng_seed", Label: "accuracy_log_rng_seed",
		Rule:   RuleFree,
		common: func(c *Common) any { return &c.AccuracyLogRNGSeed }},
	{Key: "accuracy_log_probability", Kind: KindProbability, Source: FromMLPerfConf,
		RequestedKey: "accuracy_log_probability", EffectiveKey: "accuracy_log_probability", Label: "accuracy_log_probability",
		Rule:   RuleFree,
		common: func(c *Common) any { return &c.AccuracyLogProbability }},
	{Key: "accuracy_log_sampling_target",
		RequestedKey: "accuracy_log_sampling_target", EffectiveKey: "accuracy_log_sampling_target", Label: "accuracy_log_sampling_target",
		Rule:   RuleFree,
		common: func(c *Common) any { return &c.AccuracyLogSamplingTarget }},
	{Key: "print_timestamps", Kind: KindSwitch,
		RequestedKey: "print_timestamps", EffectiveKey: "print_timestamps", Label: "print_timestamps",
		Rule:   RuleFree,
		common: func(c *Common) any { return &c.PrintTimestamps }},
	{Key: "performance_issue_unique", Kind: KindSwitch,
		RequestedKey: "performance_issue_unique", EffectiveKey: "performance_issue_unique", Label: "performance_issue_unique",
		Rule:   RuleExactly,
		common: func(c *Common) any { return &c.PerformanceIssueUnique }},
	{Key: "performance_issue_same", Kind: KindSwitch,
		RequestedKey: "performance_issue_same", EffectiveKey: "performance_issue_same", Label: "performance_issue_same",
		Rule:   RuleExactly,
		common: func(c *Common) any { return &c.PerformanceIssueSame }},
	{Key: "performance_issue_same_index",
		RequestedKey: "performance_issue_same_index", EffectiveKey: "performance_issue_same_index", Label: "performance_issue_same_index",
		Rule:   RuleFree,
		common: func(c *Common) any { return &c.PerformanceIssueSameIndex }},
	{Key: "performance_sample_count_override",
		RequestedKey: "performance_sample_count_override", EffectiveKey: "performance_sample_count", Label: "performance_sample_count",
		JSON: "performance_sample_count",
		Help: "`number` of samples to keep in memory",
		Rule: RuleLeast, Unlimited: true,
		requested: func(s *TestSettings) any { return &s.PerformanceSampleCountOverride },
		effective: func(e *EffectiveSettings) any { return &e.PerformanceSampleCount }},
	{Key: "accuracy_sample_count_override",
		RequestedKey: "accuracy_sample_count_override", EffectiveKey: "accuracy_sample_count", Label: "accuracy_sample_count",
		Rule: RuleLeast, Unlimited: true, Accuracy: true,
		Applies:   func(s, _ *TestSettings) bool { return s.Mode != PerformanceOnly },
		requested: func(s *TestSettings) any { return &s.AccuracySampleCountOverride },
		effective: func(e *EffectiveSettings) any { return &e.AccuracySampleCount }},
	{Key: "sample_concatenate_permutation", Kind: KindSwitch,
		RequestedKey: "sample_concatenate_permutation", EffectiveKey: "sample_concatenate_permutation",
		Rule:   RuleExactly,
		common: func(c *Common) any { return &c.SampleConcatenatePermutation }},
	{Key: "early_stopping", Kind: KindSwitch, Source: FromNowhere,
		Rule:   RuleExactly,
		common: func(c *Common) any { return &c.WithoutEarlyStopping }},

	// Token latencies. LoadGen does not log how tokens are inferred.
	{Key: "use_token_latencies", Kind: KindSwitch, IfSet: true, RequestedKey: "use_token_latencies",
		Rule: RuleExactly, Open: true,
		common: func(c *Common) any { return &c.UseTokenLatencies }},
	{Key: "ttft_latency", Scenario: Server.String(), Kind: KindWholeMillis, Needs: "use_token_latencies",
		RequestedKey: "server_ttft_latency", Label: "ttft_latency (ns)", JSON: "ttft_latency_ns,omitempty",
		Help: "Server and Interactive: greatest `time` to the first token (500ms)",
		Rule: RuleMost, Open: true, Applies: withTokens,
		common: func(c *Common) any { return &c.ServerTTFTLatency }},
	{Key: "tpot_latency", Scenario: Server.String(), Kind: KindWholeMillis, Needs: "use_token_latencies",
		RequestedKey: "server_tpot_latency", Label: "tpot_latency (ns)", JSON: "tpot_latency_ns,omitempty",
		Help: "Server and Interactive: greatest `time` per further token (50ms)",
		Rule: RuleMost, Open: true, Applies: withTokens,
		common: func(c *Common) any { return &c.ServerTPOTLatency }},
	{Key: "infer_token_latencies", Kind: KindSwitch,
		Rule: RuleExactly, Open: true,
		common: func(c *Common) any { return &c.InferTokenLatencies }},
	{Key: "token_latency_scaling_factor", Needs: "infer_token_latencies",
		Rule: RuleExactly, Open: true, Applies: func(s, _ *TestSettings) bool { return s.InferTokenLatencies },
		common: func(c *Common) any { return &c.TokenLatencyScalingFactor }},

	// Compliance tests. The last three are for the scripts of TEST07 and TEST09, in audit.config: LoadGen ignores them.
	{Key: "test05", Kind: KindSwitch, Source: FromMLPerfConf,
		Rule:      RuleExactly,
		requested: func(s *TestSettings) any { return &s.Test05 }},
	{Key: "test05_qsl_rng_seed", Source: FromMLPerfConf, Rule: RuleFree,
		requested: func(s *TestSettings) any { return &s.Test05QSLRNGSeed }},
	{Key: "test05_sample_index_rng_seed", Source: FromMLPerfConf, Rule: RuleFree,
		requested: func(s *TestSettings) any { return &s.Test05SampleIndexRNGSeed }},
	{Key: "test05_schedule_rng_seed", Source: FromMLPerfConf, Rule: RuleFree,
		requested: func(s *TestSettings) any { return &s.Test05ScheduleRNGSeed }},
	{Key: "test07_accuracy_threshold", Kind: KindNumber},
	{Key: "test09_min_output_tokens", Kind: KindNumber},
	{Key: "test09_max_output_tokens", Kind: KindNumber},
}
