package mlperflog

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/mlperf-go/mlperf/internal/loadgen"
)

// longest is the longest time that a time.Duration can hold.
const longest = time.Duration(math.MaxInt64)

// ErrNoKey is the cause of errors about a key that a log does not have.
var ErrNoKey = errors.New("no such key in the log")

// First returns the first message with a key, which is the one that the official
// parsers take.
func (d *Detail) First(key string) (Entry, bool) {
	i, ok := d.first[key]
	if !ok {
		return Entry{}, false
	}
	return d.Entries[i], true
}

// Errors returns the messages that are errors.
func (d *Detail) Errors() []Entry { return d.filter(func(e Entry) bool { return e.IsError }) }

// Warnings returns the messages that are warnings.
func (d *Detail) Warnings() []Entry { return d.filter(func(e Entry) bool { return e.IsWarning }) }

func (d *Detail) filter(f func(Entry) bool) []Entry {
	var list []Entry
	for _, e := range d.Entries {
		if f(e) {
			list = append(list, e)
		}
	}
	return list
}

func (d *Detail) find(key string) (Entry, error) {
	e, ok := d.First(key)
	if !ok {
		return e, fmt.Errorf("%s: %s: %w", d.Name, key, ErrNoKey)
	}
	return e, nil
}

func (d *Detail) wrong(e Entry, want string) error {
	return &syntaxError{d.Name, e.Line, fmt.Sprintf("%s is %s, want %s", shorten(e.Key), shorten(fmt.Sprint(e.Value)), want)}
}

// Text returns a text.
func (d *Detail) Text(key string) (string, error) {
	e, err := d.find(key)
	if err != nil {
		return "", err
	}
	s, ok := e.Value.(string)
	if !ok {
		return "", d.wrong(e, "a text")
	}
	return s, nil
}

// Bool returns a switch.
func (d *Detail) Bool(key string) (bool, error) {
	e, err := d.find(key)
	if err != nil {
		return false, err
	}
	on, ok := e.Value.(bool)
	if !ok {
		return false, d.wrong(e, "true or false")
	}
	return on, nil
}

// Uint returns a whole number that is not negative. LoadGen writes some as 1e+06.
func (d *Detail) Uint(key string) (uint64, error) {
	e, err := d.find(key)
	if err != nil {
		return 0, err
	}
	switch v := e.Value.(type) {
	case uint64:
		return v, nil
	case int64:
		if v >= 0 {
			return uint64(v), nil
		}
	case float64:
		if v >= 0 && v < 1<<63 && v == math.Trunc(v) {
			return uint64(v), nil
		}
	}
	return 0, d.wrong(e, "a whole number that is not negative")
}

// Float returns a number.
func (d *Detail) Float(key string) (float64, error) {
	e, err := d.find(key)
	if err != nil {
		return 0, err
	}
	switch v := e.Value.(type) {
	case float64:
		return v, nil
	case int64:
		return float64(v), nil
	case uint64:
		return float64(v), nil
	}
	return 0, d.wrong(e, "a number")
}

// Valid reports whether the log has a result, and whether that is VALID.
func (d *Detail) Valid() (valid, hasResult bool, err error) {
	text, err := d.Text("result_validity")
	switch {
	case errors.Is(err, ErrNoKey):
		return false, false, nil
	case err != nil:
		return false, false, err
	case text != "VALID" && text != "INVALID":
		e, _ := d.First("result_validity")
		return false, true, d.wrong(e, "VALID or INVALID")
	}
	return text == "VALID", true, nil
}

// Scenario returns the scenario of the test.
func (d *Detail) Scenario() (loadgen.Scenario, error) {
	text, err := d.Text("effective_scenario")
	if err != nil {
		return 0, err
	}
	s, err := loadgen.ParseScenario(text)
	if err != nil {
		e, _ := d.First("effective_scenario")
		return 0, &syntaxError{d.Name, e.Line, shorten(err.Error())}
	}
	return s, nil
}

// Effective returns the effective settings. Those that LoadGen did not have at the
// time, or does not log, are zero.
func (d *Detail) Effective() (loadgen.EffectiveSettings, error) {
	var e loadgen.EffectiveSettings
	r := &settingsReader{detail: d}
	var err error
	e.Scenario, err = d.Scenario()
	r.note(err)
	if text := r.text("effective_test_mode"); text != "" {
		e.Mode, err = loadgen.ParseMode(text)
		r.note(err)
	}
	e.SamplesPerQuery = r.uint("effective_samples_per_query")
	e.TargetQPS = r.float("effective_target_qps")
	e.TargetLatency = r.time("effective_target_latency_ns")
	e.TargetLatencyPercentile = r.float("effective_target_latency_percentile")
	e.MaxAsyncQueries = r.uint("effective_max_async_queries")
	e.TargetDuration = r.time("effective_target_duration_ms")
	e.MinDuration = r.time("effective_min_duration_ms")
	e.MaxDuration = r.time("effective_max_duration_ms")
	e.MinQueryCount = r.uint("effective_min_query_count")
	e.MaxQueryCount = r.uint("effective_max_query_count")
	e.MinSampleCount = r.uint("effective_min_sample_count")
	e.QSLRNGSeed = r.uint("effective_qsl_rng_seed")
	e.SampleIndexRNGSeed = r.uint("effective_sample_index_rng_seed")
	e.ScheduleRNGSeed = r.uint("effective_schedule_rng_seed")
	e.AccuracyLogRNGSeed = r.uint("effective_accuracy_log_rng_seed")
	e.AccuracyLogProbability = r.float("effective_accuracy_log_probability")
	e.AccuracyLogSamplingTarget = r.uint("effective_accuracy_log_sampling_target")
	e.PrintTimestamps = r.bool("effective_print_timestamps")
	e.PerformanceIssueUnique = r.bool("effective_performance_issue_unique")
	e.PerformanceIssueSame = r.bool("effective_performance_issue_same")
	e.PerformanceIssueSameIndex = r.uint("effective_performance_issue_same_index")
	e.PerformanceSampleCount = r.uint("effective_performance_sample_count")
	e.AccuracySampleCount = r.uint("effective_accuracy_sample_count")
	e.SampleConcatenatePermutation = r.bool("effective_sample_concatenate_permutation")
	e.UseTokenLatencies = r.bool("requested_use_token_latencies")
	e.ServerTTFTLatency = r.time("requested_server_ttft_latency")
	e.ServerTPOTLatency = r.time("requested_server_tpot_latency")
	return e, errors.Join(r.errs...)
}

// A settingsReader reads settings that may be missing.
type settingsReader struct {
	detail *Detail
	errs   []error
}

// note remembers an error, unless it says that a key is missing.
func (r *settingsReader) note(err error) {
	if err != nil && !errors.Is(err, ErrNoKey) {
		r.errs = append(r.errs, err)
	}
}

func (r *settingsReader) text(key string) string {
	v, err := r.detail.Text(key)
	r.note(err)
	return v
}

func (r *settingsReader) uint(key string) uint64 {
	v, err := r.detail.Uint(key)
	r.note(err)
	return v
}

func (r *settingsReader) float(key string) float64 {
	v, err := r.detail.Float(key)
	r.note(err)
	return v
}

func (r *settingsReader) bool(key string) bool {
	v, err := r.detail.Bool(key)
	r.note(err)
	return v
}

func (r *settingsReader) time(key string) time.Duration {
	v, err := r.detail.Time(key)
	r.note(err)
	return v
}
