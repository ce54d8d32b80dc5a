package mlperflog

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/mlperf-go/mlperf/internal/loadgen"
)

// About is what a detail log says of the program that wrote it.
type About struct {
	Version    string // e.g. "mlperf 0.3.0 (Go)"
	Revision   string // of the source; empty: NA
	CommitTime string // empty: NA
	BuildTime  string // empty: NA
	PID        int    // of the process
}

// writeDetail writes mlperf_log_detail.txt.
func writeDetail(w io.Writer, r *loadgen.Result, about About) error {
	d := newDetailWriter(w, about, r.StartTime)
	d.program(about)
	d.test(r)
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

func newDetailWriter(w io.Writer, about About, start time.Time) *detailWriter {
	return &detailWriter{w: bufio.NewWriter(w), pid: about.PID, start: start, now: start}
}

func (d *detailWriter) log(key string, value any) { d.message(key, value, false, false) }

// message writes a line. Its file and line number are those of the reference's source;
// here they name no place.
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
		return appendList(b, v)
	case []uint64:
		return appendList(b, v)
	case map[string]string:
		return appendMap(b, v)
	case nil:
		return append(b, "null"...)
	}
	return fmt.Append(b, value) // switches and whole numbers
}

func appendString(b []byte, s string) []byte {
	var quoted bytes.Buffer
	e := json.NewEncoder(&quoted)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil { // a string can always be encoded
		return append(b, `""`...)
	}
	return append(b, bytes.TrimSuffix(quoted.Bytes(), []byte("\n"))...)
}

func appendList[T loadgen.QuerySampleIndex | uint64](b []byte, list []T) []byte {
	b = append(b, '[')
	for i, v := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendUint(b, uint64(v), 10)
	}
	return append(b, ']')
}

func appendMap(b []byte, m map[string]string) []byte {
	b = append(b, '{')
	for i, key := range slices.Sorted(maps.Keys(m)) {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendString(b, key)
		b = append(b, ':')
		b = appendString(b, m[key])
	}
	return append(b, '}')
}

func orNA(s string) string {
	if s == "" {
		return "NA"
	}
	return s
}

func (d *detailWriter) program(about About) {
	d.log("loadgen_version", about.Version+" @ "+orNA(about.Revision))
	d.log("loadgen_build_date_local", orNA(about.BuildTime))
	d.log("loadgen_build_date_utc", orNA(about.BuildTime))
	d.log("loadgen_git_commit_date", orNA(about.CommitTime))
	d.log("loadgen_git_log_message", "NA")
	d.log("loadgen_git_status_message", "NA")
	d.log("loadgen_file_sha1", map[string]string{})
}

func (d *detailWriter) test(r *loadgen.Result) {
	d.log("test_datetime", r.StartTime.UTC().Format("2006-01-02T15:04:05Z"))
	d.log("sut_name", r.SUTName)
	d.log("get_sut_name_duration_ns", r.NamingTook.Nanoseconds())
	d.log("qsl_name", r.QSLName)
	d.log("qsl_reported_total_count", r.QSLTotalSampleCount)
	d.log("qsl_reported_performance_count", r.QSLPerformanceSampleCount)
}

// phaseLogger are the reference's counters of how often its logging threads got into
// each other's way, which it writes at the end of each phase. Here are no such threads.
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
