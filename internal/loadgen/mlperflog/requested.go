package mlperflog

import (
	"errors"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf/internal/loadgen"
)

// Requested returns the settings that the test was asked to have. Those that the log does not
// have, or not as it should, keep the value of base, but for two switches: LoadGen logs
// them only if they are on.
func (d *Detail) Requested(base loadgen.TestSettings) (loadgen.TestSettings, error) {
	s := base
	s.UseTokenLatencies, s.InferTokenLatencies = false, false
	r := &settingsReader{detail: d}
	if text, err := d.Text("requested_test_mode"); err == nil {
		mode, err := loadgen.ParseMode(text)
		keep(r, &s.Mode, mode, err)
	}
	scenario, err := d.Scenario()
	keep(r, &s.Scenario, scenario, err)
	for key, field := range requestedFields(&s) {
		switch field := field.(type) {
		case *uint64:
			v, err := d.Uint(key)
			keep(r, field, v, err)
		case *float64:
			v, err := d.Float(key)
			keep(r, field, v, err)
		case *bool:
			v, err := d.Bool(key)
			keep(r, field, v, err)
		case *time.Duration:
			v, err := d.Time(key)
			keep(r, field, v, err)
		}
	}
	return s, errors.Join(r.errs...)
}

// keep stores a value that could be read.
func keep[T any](r *settingsReader, field *T, value T, err error) {
	r.note(err)
	if err == nil {
		*field = value
	}
}

// Time returns a time in nanoseconds, or of a key that ends with _duration_ms in milliseconds
// (early_stopping_latency_ms is named for MultiStream).
func (d *Detail) Time(key string) (time.Duration, error) {
	unit := time.Nanosecond
	if strings.HasSuffix(key, "_duration_ms") {
		unit = time.Millisecond
	}
	v, err := d.Uint(key)
	if err != nil {
		return 0, err
	}
	if v > uint64(longest/unit) {
		e, _ := d.First(key)
		return 0, d.wrong(e, "a time below 292 years")
	}
	return time.Duration(v) * unit, nil
}

// requestedFields says which field of the settings a key of the log is about.
func requestedFields(s *loadgen.TestSettings) map[string]any {
	return map[string]any{
		"requested_single_stream_target_latency_percentile": &s.SingleStreamTargetLatencyPercentile,
		"requested_multi_stream_target_latency_percentile":  &s.MultiStreamTargetLatencyPercentile,
		"requested_multi_stream_samples_per_query":          &s.MultiStreamSamplesPerQuery,
		"requested_multi_stream_target_qps":                 &s.MultiStreamQPS,
		"requested_server_target_latency_ns":                &s.ServerTargetLatency,
		"requested_server_target_latency_percentile":        &s.ServerTargetLatencyPercentile,
		"requested_server_ttft_latency":                     &s.ServerTTFTLatency,
		"requested_server_tpot_latency":                     &s.ServerTPOTLatency,
		"requested_server_coalesce_queries":                 &s.ServerCoalesceQueries,
		"requested_server_max_async_queries":                &s.ServerMaxAsyncQueries,
		"requested_min_duration_ms":                         &s.MinDuration,
		"requested_max_duration_ms":                         &s.MaxDuration,
		"requested_min_query_count":                         &s.MinQueryCount,
		"requested_max_query_count":                         &s.MaxQueryCount,
		"requested_qsl_rng_seed":                            &s.QSLRNGSeed,
		"requested_sample_index_rng_seed":                   &s.SampleIndexRNGSeed,
		"requested_schedule_rng_seed":                       &s.ScheduleRNGSeed,
		"requested_performance_issue_unique":                &s.PerformanceIssueUnique,
		"requested_performance_issue_same":                  &s.PerformanceIssueSame,
		"requested_performance_sample_count_override":       &s.PerformanceSampleCountOverride,
		"requested_accuracy_sample_count_override":          &s.AccuracySampleCountOverride,
		"requested_sample_concatenate_permutation":          &s.SampleConcatenatePermutation,
		"requested_use_token_latencies":                     &s.UseTokenLatencies,
		"requested_infer_token_latencies":                   &s.InferTokenLatencies,
		"requested_token_latency_scaling_factor":            &s.TokenLatencyScalingFactor,
	}
}
