package mlperflog

import (
	"bufio"
	"fmt"
	"io"
	"time"

	"github.com/mlperf-go/mlperf/internal/loadgen"
)

// WriteTrace writes mlperf_log_trace.json for chrome://tracing or Perfetto: the life of
// every sample from its start (in Server its scheduled instant) to its completion,
// and in Server how much of it was the generator's delay. Times are microseconds since
// the start of the performance phase. The file takes about 400 bytes for each sample.
func WriteTrace(w io.Writer, r *loadgen.Result, about About) error {
	t := &traceWriter{w: newTraceBuffer(w), pid: about.PID}
	fmt.Fprint(t.w, "{\"traceEvents\":[\n")
	if p := r.Performance; p != nil {
		p.EachSample(func(s loadgen.SampleRecord) {
			if p.Effective.Scenario == loadgen.Server {
				t.latency(s)
			}
			t.sample(s)
		})
	}
	fmt.Fprintf(t.w, "{\"name\":\"LastTrace\"}\n],\n\"displayTimeUnit\":\"ns\",\n\"otherData\":{\n\"ts\":%s,\n\"version\":%s\n}\n}\n",
		micros(time.Duration(r.StartTime.UnixNano())), appendString(nil, about.Version))
	if err := t.w.Flush(); err != nil {
		return fmt.Errorf("writing the trace log: %w", err)
	}
	return nil
}

func newTraceBuffer(w io.Writer) *bufio.Writer { return bufio.NewWriterSize(w, 1<<16) }

type traceWriter struct {
	w   *bufio.Writer
	pid int
}

// sample writes an asynchronous event: its begin and, if it was completed, its end.
func (t *traceWriter) sample(s loadgen.SampleRecord) {
	done := int64(-1)
	if s.Completed >= 0 {
		done = int64(s.Completed - s.Start)
	}
	fmt.Fprintf(t.w, `{"name":"Sample","cat":"default","ph":"b","pid":%d,"id":%d,"ts":%s,"args":`+
		`{"sample_seq":%d,"query_seq":%d,"sample_idx":%d,"issue_start_ns":%d,"complete_ns":%d}},`+"\n",
		t.pid, s.ID, micros(s.Start), s.ID, s.Query, s.Index, int64(s.Issued-s.Start), done)
	if s.Completed >= 0 {
		fmt.Fprintf(t.w, `{"name":"Sample","cat":"default","ph":"e","pid":%d,"id":%d,"ts":%s},`+"\n", t.pid, s.ID, micros(s.Completed))
	}
}

// latency writes a counter event, which is shown as a stacked graph.
func (t *traceWriter) latency(s loadgen.SampleRecord) {
	if s.Completed >= 0 {
		fmt.Fprintf(t.w, `{"name":"Latency","ph":"C","pid":%d,"ts":%s,"args":{"issue_delay":%d,"issue_to_done":%d}},`+"\n",
			t.pid, micros(s.Start), int64(s.Issued-s.Start), int64(s.Completed-s.Issued))
	}
}

// micros writes a time in microseconds with all its nanoseconds.
func micros(d time.Duration) string { return fmt.Sprintf("%d.%03d", d/1000, d%1000) }
