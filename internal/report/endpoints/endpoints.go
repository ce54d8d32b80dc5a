package endpoints

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/report"
)

// A Run has the contents of the files.
type Run struct {
	Program   string // name and version
	Benchmark string // as the round calls it
	Model     string // its name at the servers
	Data      string // where the prompts are
	Endpoints []string
	Streams   bool
	Prompt    func(index int) *backend.Prompt // of a sample; nil: not known
	Order     func(n uint64) int              // the sample that was answered as the n-th of a test of performance; nil: the one that LoadGen chose
	Test      *loadgen.Result
	Results   *report.Results
}

// The files of a run, in its folder.
const (
	ConfigFile  = "config.yaml"
	SummaryFile = "performance/result_summary.json"
	ScoresFile  = "accuracy/accuracy_results.json"
	eventsFile  = "events.jsonl"
	indexFile   = "sample_idx_map.json"
)

// Folder is the folder within that of a run where WriteSummary writes.
const Folder = "endpoints"

// Names are the names of what Write writes into its folder.
func Names() []string {
	return []string{ConfigFile, eventsFile, indexFile, path.Dir(SummaryFile), path.Dir(ScoresFile)}
}

// A file is one of a run, and how it is filled.
type file struct {
	path  string
	write func(io.Writer) error
}

// Write writes the files of a run into a folder, which it makes. It replaces existing files.
func Write(dir string, r Run) error {
	last := file{SummaryFile, func(w io.Writer) error { return indented(w, r.summary()) }}
	if r.Results.Accuracy != nil {
		last = file{ScoresFile, func(w io.Writer) error { return WriteScores(w, r.Benchmark, r.Results, nil, r.measure()) }}
	}
	return write(dir, file{ConfigFile, r.config}, file{eventsFile, r.events}, file{indexFile, r.indices}, last)
}

// WriteSummary writes what a submission needs of a test of performance: the configuration and the summary. It returns the names of the
// files in the folder.
func WriteSummary(dir string, r Run) ([]string, error) {
	return []string{ConfigFile, SummaryFile}, write(dir, file{ConfigFile, r.config}, file{SummaryFile, func(w io.Writer) error { return indented(w, r.summary()) }})
}

func write(dir string, files ...file) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("writing the files of mlcommons/endpoints: %w", err)
	}
	for _, f := range files {
		err := fileio.WriteIn(dir, f.path, func(w io.Writer) error {
			b := bufio.NewWriter(w)
			return errors.Join(f.write(b), b.Flush())
		})
		if err != nil {
			return fmt.Errorf("writing the files of mlcommons/endpoints: %w", err)
		}
	}
	return nil
}

func indented(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// config writes config.yaml. Texts are JSON, which is YAML.
func (r *Run) config(w io.Writer) error {
	text := func(s string) string { b, _ := json.Marshal(s); return string(b) } // which no string makes fail
	e, p := &r.Test.Effective, r.pattern()
	kind := "online"
	if p.Type == maxThroughput {
		kind = "offline"
	}
	stream := map[bool]string{true: "on", false: "off"}[r.Streams]
	var b strings.Builder
	fmt.Fprintf(&b, "name: %s\nversion: %s\ntype: %s\n", text(r.Results.Model), text(r.Program), kind)
	fmt.Fprintf(&b, "model_params:\n  name: %s\n", text(r.Model))
	if r.Prompt != nil {
		if first := r.Prompt(0); first != nil && first.MaxTokens > 0 {
			fmt.Fprintf(&b, "  max_new_tokens: %d\n  min_new_tokens: %d\n", first.MaxTokens, first.MinTokens)
		}
	}
	fmt.Fprintf(&b, "  streaming: '%s'\n", stream)
	if s := r.Results.Speculation; s != nil {
		fmt.Fprintf(&b, "# speculative decoding, as declared: %s\n", text(s.String())) // the client has no field for it
	}
	fmt.Fprintf(&b, "datasets:\n- name: %s\n  type: performance\n  path: %s\n", text(r.Results.Model), text(r.Data))
	fmt.Fprintf(&b, "settings:\n  runtime:\n    min_duration_ms: %d\n    max_duration_ms: %d\n", e.MinDuration.Milliseconds(), e.MaxDuration.Milliseconds())
	switch done := r.Test.Performance; {
	case e.MinQueryCount > 0 && e.MinQueryCount == e.MaxQueryCount: // the number decides when the test ends
		fmt.Fprintf(&b, "    n_samples_to_issue: %d\n", e.MinQueryCount)
	case e.Scenario == loadgen.Offline && done != nil: // all are issued at once
		fmt.Fprintf(&b, "    n_samples_to_issue: %d\n", done.SampleCount)
	}
	fmt.Fprintf(&b, "    scheduler_random_seed: %d\n    dataloader_random_seed: %d\n", e.ScheduleRNGSeed, e.SampleIndexRNGSeed)
	fmt.Fprintf(&b, "  load_pattern:\n    type: %s\n", p.Type)
	if p.TargetQPS != nil {
		fmt.Fprintf(&b, "    target_qps: %s\n", strconv.FormatFloat(*p.TargetQPS, 'f', -1, 64)) // 1e+06 is a text in YAML
	}
	if p.Concurrency != nil {
		fmt.Fprintf(&b, "    target_concurrency: %d\n", *p.Concurrency)
	}
	warm := r.warmUp()
	fmt.Fprintf(&b, "  warmup:\n    enabled: %t\n", warm.Enabled)
	if warm.Requests != nil {
		fmt.Fprintf(&b, "    n_requests: %d\n", *warm.Requests)
	}
	fmt.Fprintf(&b, "    salt: %t\n    drain: %t\n  early_stopping:\n    enabled: true\n", warm.Salt, warm.Drain)
	b.WriteString("endpoint_config:\n  endpoints:\n")
	for _, url := range r.Endpoints {
		fmt.Fprintf(&b, "  - %s\n", text(url))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// An event is a line of events.jsonl (core/record.py, EventRecord).
type event struct {
	Type         string `json:"event_type"`
	Timestamp    int64  `json:"timestamp_ns"`
	Sample       string `json:"sample_uuid"`
	Conversation string `json:"conversation_id"`
	Turn         *int   `json:"turn"`
	Data         []any  `json:"data"`
}

// name is the id of a request: the program's are random, these are the ids of responses.
func name(s loadgen.SampleRecord) string { return fmt.Sprintf("%032x", uint64(s.ID)) }

// events writes events.jsonl, in the order of time.
func (r *Run) events(w io.Writer) error {
	var list []event
	session, turn := "", (*int)(nil)
	add := func(kind string, at time.Duration, sample string, data []any) {
		list = append(list, event{Type: kind, Timestamp: int64(at), Sample: sample, Conversation: session, Turn: turn, Data: data})
	}
	end := time.Duration(0)
	r.each(func(s loadgen.SampleRecord) {
		id := name(s)
		session, turn = "", nil
		if p := r.prompt(s); p != nil && p.Session != "" {
			session, turn = p.Session, &p.Turn
		}
		add("sample.issued", s.Issued, id, promptData(r.prompt(s)))
		if s.FirstToken >= 0 {
			add("sample.recv_first", s.FirstToken, id, nil)
		}
		if r.failed(s) {
			add("error.generic", max(s.Issued, s.Completed), id, []any{"ErrorData", "the request failed"})
		} else {
			add("sample.complete", s.Completed, id, nil)
		}
		end = max(end, s.Issued, s.Completed)
	})
	slices.SortStableFunc(list, func(a, b event) int { return cmp.Compare(a.Timestamp, b.Timestamp) })
	around := func(kind string, at time.Duration) event { return event{Type: kind, Timestamp: int64(at)} }
	list = slices.Concat([]event{around("session.started", 0), around("session.start_performance_tracking", 0)}, list,
		[]event{around("session.stop_performance_tracking", end), around("session.ended", end)})
	e := json.NewEncoder(w)
	for _, one := range list {
		if err := e.Encode(one); err != nil {
			return err
		}
	}
	return nil
}

// indices writes sample_idx_map.json: the index of each request in the data set.
func (r *Run) indices(w io.Writer) error {
	list := map[string]uint64{}
	r.each(func(s loadgen.SampleRecord) { list[name(s)] = uint64(s.Index) })
	phase := "performance"
	if r.Test.Performance == nil {
		phase = r.Results.Model
	}
	return indented(w, map[string]any{phase: list})
}

// promptData is the prompt of an event (core/types.py, PromptData): a list of the type's name, the text, the token ids, the messages,
// the tools, two fields of chat templates, and the choice of tools. Messages with images are not written, as in that program.
func promptData(p *backend.Prompt) []any {
	if p == nil {
		return nil
	}
	const fields = 8
	data := make([]any, fields)
	data[0] = "PromptData"
	switch {
	case len(p.IDs) > 0:
		data[2] = p.IDs
	case slices.ContainsFunc(p.Messages, func(m backend.Message) bool { return bytes.Contains(m.Raw, []byte(`"image_url"`)) }):
	case len(p.Messages) > 0:
		data[3] = p.Messages
		if p.Tools != nil {
			data[4] = json.RawMessage(p.Tools)
		}
		if p.ToolChoice != nil {
			data[7] = json.RawMessage(p.ToolChoice)
		}
	default:
		data[1] = p.Text
	}
	return data
}

// prompt is that of a sample; nil: not known.
func (r *Run) prompt(s loadgen.SampleRecord) *backend.Prompt {
	if r.Prompt == nil {
		return nil
	}
	return r.Prompt(int(s.Index))
}
