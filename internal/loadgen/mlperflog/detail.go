package mlperflog

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"math"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/mlperf-go/mlperf/internal/loadgen"
)

// About describes the program that wrote a detail log.
type About struct {
	Version    string            // e.g. "mlperf 0.9.0"
	Revision   string            // the first ten digits of the commit that it was built from; "" here and below: not known
	CommitDate string            // of that commit
	Status     string            // "modified" if files differed from the commit
	Sources    map[string]string // SHA-1 sums of the load generator's files, by path
	PID        int               // of the process
}

// ThisProgram describes the running program.
func ThisProgram(version string) About {
	about := About{Version: version, Sources: loadgen.Sources(), PID: os.Getpid()}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return about
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			about.Revision = s.Value[:min(len(s.Value), 10)]
		case "vcs.time":
			about.CommitDate = s.Value
		case "vcs.modified":
			if s.Value == "true" {
				about.Status = "modified"
			}
		}
	}
	return about
}

// writeDetail writes mlperf_log_detail.txt.
func writeDetail(w io.Writer, r *loadgen.Result, about About) error {
	d := &detailWriter{w: bufio.NewWriter(w), pid: about.PID, start: r.StartTime, now: r.StartTime}
	sums, err := json.Marshal(about.Sources, json.Deterministic(true))
	if err != nil {
		return err
	}
	const unknown = "NA" // as the reference says
	status := about.Status
	if about.Revision == "" {
		status = unknown
	}
	d.log("loadgen_version", about.Version+" @ "+cmp.Or(about.Revision, unknown))
	d.log("loadgen_build_date_local", unknown) // so that equal sources give equal programs
	d.log("loadgen_build_date_utc", unknown)
	d.log("loadgen_git_commit_date", cmp.Or(about.CommitDate, unknown))
	d.log("loadgen_git_log_message", unknown)
	d.log("loadgen_git_status_message", status)
	d.log("loadgen_file_sha1", jsontext.Value(sums))
	d.log("test_datetime", r.StartTime.UTC().Format("2006-01-02T15:04:05Z"))
	d.log("sut_name", r.SUTName)
	d.log("get_sut_name_duration_ns", r.NamingTook.Nanoseconds())
	d.log("qsl_name", r.QSLName)
	d.log("qsl_reported_total_count", r.QSLTotalSampleCount)
	d.log("qsl_reported_performance_count", r.QSLPerformanceSampleCount)
	events := r.Events
	for len(events) > 0 && (events[0].IsWarning || events[0].IsError) { // of before the test
		d.event(events[0])
		events = events[1:]
	}
	d.now = r.StartTime
	d.requested(r)
	d.effective(r.Effective)
	for _, e := range events {
		d.event(e)
	}
	if r.Performance != nil {
		d.result(r)
	}
	if err := d.w.Flush(); err != nil {
		return fmt.Errorf("writing the detail log: %w", err)
	}
	return nil
}

// A detailWriter writes messages. The first error of any is that of w.Flush.
type detailWriter struct {
	w     *bufio.Writer
	pid   int
	start time.Time // of the log
	now   time.Time // of the messages that follow
	line  []byte
}

func (d *detailWriter) log(key string, value any) { d.message(key, value, false, false) }

// message writes a line. The reference says which line of its source logged it; here that is always mlperf:0.
func (d *detailWriter) message(key string, value any, isError, isWarning bool) {
	ns := max(0, d.now.Sub(d.start).Nanoseconds())
	b := append(d.line[:0], `:::MLLOG {"key": `...)
	b = appendString(b, key)
	b = append(b, `, "value": `...)
	b = appendValue(b, value)
	b = fmt.Appendf(b, `, "time_ms": %d.%06d, "namespace": "mlperf::logging", "event_type": "POINT_IN_TIME", `+
		`"metadata": {"is_error": %t, "is_warning": %t, "file": "mlperf", "line_no": 0, "pid": %d, "tid": %d}}`+"\n",
		ns/1e6, ns%1e6, isError, isWarning, d.pid, d.pid)
	d.line = b
	d.w.Write(b)
}

// appendValue writes a value as JSON.
func appendValue(b []byte, value any) []byte {
	switch v := value.(type) {
	case string:
		return appendString(b, v)
	case float64:
		return append(b, general(v)...)
	case []loadgen.QuerySampleIndex:
		b = append(b, '[')
		for i, index := range v {
			if i > 0 {
				b = append(b, ',')
			}
			b = strconv.AppendUint(b, uint64(index), 10)
		}
		return append(b, ']')
	case nil:
		return append(b, "null"...)
	}
	return fmt.Append(b, value) // switches, whole numbers and raw JSON
}

func appendString(b []byte, s string) []byte {
	b, _ = jsontext.AppendQuote(b, s) // replaces bytes that are not UTF-8
	return b
}

// phaseLogger are counters of contention between the reference's logging threads, which it writes at the end of each phase.
// This program has no such threads: they are 0.
var phaseLogger = []string{
	"logger_swap_request_slots_retry_count",
	"logger_swap_request_slots_retry_retry_count",
	"logger_swap_request_slots_retry_reencounter_count",
	"logger_start_reading_entries_retry_count",
	"logger_tls_total_log_cas_fail_count",
	"logger_tls_total_swap_buffers_slot_retry_count",
}

func (d *detailWriter) event(e loadgen.Event) {
	d.now = e.Time
	if e.Key == "power_begin" {
		for _, key := range phaseLogger {
			d.log(key, 0)
		}
	}
	d.message(e.Key, e.Value, e.IsError, e.IsWarning)
}

// requested writes the settings that were asked for
// (loadgen/test_settings_internal.cc, LogRequestedTestSettings).
func (d *detailWriter) requested(r *loadgen.Result) {
	s := r.Requested
	if s.Test05 { // the reference has replaced them by now
		s.Mode = r.Effective.Mode
		s.QSLRNGSeed, s.SampleIndexRNGSeed, s.ScheduleRNGSeed = r.Effective.QSLRNGSeed, r.Effective.SampleIndexRNGSeed, r.Effective.ScheduleRNGSeed
	}
	for _, row := range loadgen.Settings() {
		switch {
		case row.RequestedKey == "", row.IfSet && !row.IsSet(&s), row.FixedInterval && !r.Effective.FixedInterval:
		case row.Needs != "" && (!s.UseTokenLatencies || s.Scenario == loadgen.Offline): // the bounds of tokens, of any other scenario
		case row.Needs == "" && !row.In(s.Scenario):
		default:
			d.setting("requested_"+row.RequestedKey, row.Requested(&s))
		}
	}
}

// effective writes the effective settings (ibid., LogEffectiveSettings).
func (d *detailWriter) effective(e loadgen.EffectiveSettings) {
	for _, row := range loadgen.Settings() {
		if row.EffectiveKey != "" {
			d.setting("effective_"+row.EffectiveKey, row.Effective(&e))
		}
	}
}

// unitOf is the unit of a setting that is a time.
func unitOf(key string) time.Duration {
	if strings.HasSuffix(key, "_ms") {
		return time.Millisecond
	}
	return time.Nanosecond
}

// setting writes a setting in the unit that its key names.
func (d *detailWriter) setting(key string, field any) {
	value := loadgen.Value(field)
	switch v := value.(type) {
	case time.Duration:
		value = int64(v / unitOf(key))
	case fmt.Stringer:
		value = v.String()
	}
	d.log(key, value)
}

// result writes the verdict and the measurements (loadgen/results.cc, LogDetail).
func (d *detailWriter) result(r *loadgen.Result) {
	p := r.Performance
	d.log("result_validity", validity(r))
	if p.HasPerfConstraints() {
		d.log("result_perf_constraints_met", p.PerfConstraintsMet)
	}
	d.log("result_min_duration_met", p.MinDurationMet)
	d.log("result_min_queries_met", p.MinQueriesMet)
	d.log("early_stopping_met", p.EarlyStoppingMet())
	if !r.Valid() {
		d.log("result_invalid_reason", unbroken(strings.Join(advice(r), " ")))
	}
	text := func(e loadgen.EarlyStopping) string { return unbroken(earlyStoppingText(p.Effective.Scenario, e)) }
	if p.Effective.UseTokenLatencies {
		d.log("early_stopping_ttft_result", text(p.FirstTokenEarlyStopping))
		d.log("early_stopping_tpot_result", text(p.EarlyStopping))
	} else {
		d.log("early_stopping_result", text(p.EarlyStopping))
	}
	d.log("result_query_count", p.QueryCount)
	if p.Effective.Scenario == loadgen.Server {
		d.log("result_overlatency_query_count", p.Overlatency)
	}
	d.rates(p)
	d.latencies("result_", "latency_ns", p.SampleLatency)
	if p.Effective.UseTokenLatencies {
		d.tokens(p)
	}
	switch {
	case !p.Effective.InferTokenLatencies:
	case p.Effective.Scenario == loadgen.Server:
		d.rate("result_inferred_completed_tokens_per_second", p.InferredTokensPerSecond())
	case p.Effective.Scenario == loadgen.Offline:
		d.rate("result_inferred_tokens_per_second", p.InferredTokensPerSecond())
	}
	d.log("num_errors", r.Errors())
}

// rates are the scenario's results.
func (d *detailWriter) rates(p *loadgen.Performance) {
	singleStream, multiStream := estimates(p)
	switch p.Effective.Scenario {
	case loadgen.SingleStream:
		d.rate("result_qps_with_loadgen_overhead", p.QPSWithOverhead())
		d.rate("result_qps_without_loadgen_overhead", p.QPSWithoutOverhead())
		d.log("early_stopping_latency_ss", singleStream.Nanoseconds())
		d.log("early_stopping_latency_ms", multiStream.Nanoseconds())
	case loadgen.MultiStream:
		if p.Effective.FixedInterval { // loadgen/loadgen.cc at v1.0.1, LogDetail
			for i, fraction := range loadgen.Percentiles() {
				name := "result_" + percent(fraction, 2)
				d.log(name+"_percentile_num_intervals_between_queries", p.Intervals[i])
				d.log(name+"_percentile_per_query_latency_ns", p.QueryLatency.Percentiles[i].Nanoseconds())
			}
			break
		}
		d.extremes("result_", "_query_latency_ns", p.QueryLatency)
		d.percentiles("result_", "_percentile_per_query_latency_ns", p.QueryLatency)
		d.log("early_stopping_latency_ms", multiStream.Nanoseconds())
	case loadgen.Server:
		d.rate("result_scheduled_samples_per_sec", p.ScheduledQPS())
		d.rate("result_completed_samples_per_sec", p.CompletedQPS())
	case loadgen.Offline:
		d.rate("result_samples_per_second", p.SamplesPerSecond())
	}
}

func (d *detailWriter) latencies(prefix, suffix string, l loadgen.LatencyStats) {
	d.extremes(prefix, "_"+suffix, l)
	d.percentiles(prefix, "_percentile_"+suffix, l)
}

// rate logs a number that was measured.
func (d *detailWriter) rate(key string, perSecond float64) {
	if !math.IsNaN(perSecond) {
		d.log(key, perSecond)
	}
}

func (d *detailWriter) extremes(prefix, suffix string, l loadgen.LatencyStats) {
	if l.Count == 0 {
		return
	}
	d.log(prefix+"min"+suffix, l.Min.Nanoseconds())
	d.log(prefix+"max"+suffix, l.Max.Nanoseconds())
	d.log(prefix+"mean"+suffix, l.Mean.Nanoseconds())
}

func (d *detailWriter) percentiles(prefix, suffix string, l loadgen.LatencyStats) {
	if l.Count == 0 {
		return
	}
	for i, p := range loadgen.Percentiles() {
		d.log(prefix+percent(p, 2)+suffix, l.Percentiles[i].Nanoseconds())
	}
}

func (d *detailWriter) tokens(p *loadgen.Performance) {
	if p.Effective.Scenario == loadgen.Offline {
		d.rate("result_tokens_per_second", tokensPer(p, p.SampleLatency.Max))
		return
	}
	d.latencies("result_first_token_", "latency_ns", p.FirstToken)
	d.rate("result_token_throughput_with_loadgen_overhead", tokensPer(p, p.FinalQueryIssued))
	// per ns; the other rate divided may differ in the last digit
	d.rate("result_token_throughput", rate(float64(p.TokenCount), float64(p.SampleLatency.Mean)*float64(p.SampleCount)))
	d.percentiles("result_time_per_output_token_", "_percentile_ns", p.TimePerOutputToken)
	d.log("result_time_to_output_token_min", p.TimePerOutputToken.Min.Nanoseconds())
	d.log("result_time_to_output_token_max", p.TimePerOutputToken.Max.Nanoseconds())
	d.log("result_time_to_output_token_mean", p.TimePerOutputToken.Mean.Nanoseconds())
	d.rate("result_completed_tokens_per_second", tokensPer(p, p.FinalQueryCompleted))
}

func unbroken(text string) string { return strings.ReplaceAll(text, "\n", " ") }
