package mlperflog

import (
	"bufio"
	"fmt"
	"io"
	"time"

	"github.com/mlperf-go/mlperf/internal/loadgen"
)

// writeTrace writes mlperf_log_trace.json for chrome://tracing or Perfetto: the life of
// every sample from its start (in Server its scheduled instant) to its first token and its
// completion, and in Server how much of it was the delay of issuing. Times are microseconds
// since the start of the test. The file takes about 400 bytes for each sample, and as many for
// each first token.
func writeTrace(w io.Writer, r *loadgen.Result, about About) error {
	t := &traceWriter{w: bufio.NewWriterSize(w, 1<<16), pid: about.PID}
	fmt.Fprint(t.w, "{\"traceEvents\":[\n")
	counts := r.Effective.Scenario == loadgen.Server
	r.EachAccuracySample(func(s loadgen.SampleRecord) { t.life(s, counts) })
	if p := r.Performance; p != nil {
		p.EachSample(func(s loadgen.SampleRecord) { t.life(s.After(p.Started), counts) })
	}
	fmt.Fprintf(t.w, "{\"name\":\"LastTrace\"}\n],\n\"displayTimeUnit\":\"ns\",\n\"otherData\":{\n\"ts\":%s,\n\"version\":%s\n}\n}\n",
		micros(time.Duration(r.StartTime.UnixNano())), appendString(nil, about.Version))
	if err := t.w.Flush(); err != nil {
		return fmt.Errorf("writing the trace log: %w", err)
	}
	return nil
}

type traceWriter struct {
	w   *bufio.Writer
	pid int
}

// life writes all events of a sample.
func (t *traceWriter) life(s loadgen.SampleRecord, counts bool) {
	if counts {
		t.latency("Latency", s, s.Completed)
	}
	t.span("Sample", s, s.Completed)
	switch {
	case s.FirstToken < 0:
	case counts:
		t.latency("Token_Latency", s, s.FirstToken)
	default:
		t.span("Token", s, s.FirstToken)
	}
}

// span writes an asynchronous event: its begin and, if it was completed, its end.
func (t *traceWriter) span(name string, s loadgen.SampleRecord, end time.Duration) {
	done := int64(-1)
	if end >= 0 {
		done = int64(end - s.Start)
	}
	fmt.Fprintf(t.w, `{"name":"%s","cat":"default","ph":"b","pid":%d,"id":%d,"ts":%s,"args":`+
		`{"sample_seq":%d,"query_seq":%d,"sample_idx":%d,"issue_start_ns":%d,"complete_ns":%d}},`+"\n",
		name, t.pid, s.ID, micros(s.Start), s.ID, s.Query, s.Index, int64(s.Issued-s.Start), done)
	if end >= 0 {
		fmt.Fprintf(t.w, `{"name":"%s","cat":"default","ph":"e","pid":%d,"id":%d,"ts":%s},`+"\n", name, t.pid, s.ID, micros(end))
	}
}

// latency writes a counter event, which is shown as a stacked graph.
func (t *traceWriter) latency(name string, s loadgen.SampleRecord, end time.Duration) {
	if end >= 0 {
		fmt.Fprintf(t.w, `{"name":"%s","ph":"C","pid":%d,"ts":%s,"args":{"issue_delay":%d,"issue_to_done":%d}},`+"\n",
			name, t.pid, micros(s.Start), int64(s.Issued-s.Start), int64(end-s.Issued))
	}
}

// micros writes a time in microseconds with all its nanoseconds.
func micros(d time.Duration) string { return fmt.Sprintf("%d.%03d", d/1000, d%1000) }
