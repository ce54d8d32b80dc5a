package endpoints

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
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
	Model     string // its name at the servers
	Data      string // where the prompts are
	Endpoints []string
	Streams   bool
	Prompt    func(index int) *backend.Prompt // of a sample; nil: not known
	Test      *loadgen.Result
	Results   *report.Results
}

// Names are the names of what Write writes into its folder.
func Names() []string {
	return []string{"config.yaml", "events.jsonl", "sample_idx_map.json", "performance", "accuracy"}
}

// Write writes the files of a run into a folder, which it makes. It replaces existing files.
func Write(dir string, r Run) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("writing the files of mlcommons/endpoints: %w", err)
	}
	files := []struct {
		path  string
		write func(io.Writer) error
	}{
		{"config.yaml", r.config}, {"events.jsonl", r.events}, {"sample_idx_map.json", r.indices},
		{"performance/result_summary.json", func(w io.Writer) error { return indented(w, r.summary()) }},
	}
	if r.Results.Accuracy != nil {
		files[3].path, files[3].write = "accuracy/accuracy_results.json", r.scores
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

// scores writes accuracy_results.json with the fields that the checker reads.
func (r *Run) scores(w io.Writer) error {
	a := r.Results.Accuracy
	type score struct {
		Dataset  string  `json:"dataset_name"`
		Type     string  `json:"dataset_type"`
		Metric   string  `json:"metric"`
		Score    float64 `json:"score"`
		Samples  uint64  `json:"total_samples"`
		Repeats  int     `json:"num_repeats"`
		Complete bool    `json:"complete"`
	}
	return indented(w, map[string]any{"accuracy_scores": []score{{r.Results.Model, "accuracy", a.Metric, a.Value, a.Samples, 1, !a.Partial}}})
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
	fmt.Fprintf(&b, "model_params:\n  name: %s\n  streaming: '%s'\n", text(r.Model), stream)
	fmt.Fprintf(&b, "datasets:\n- name: %s\n  type: performance\n  path: %s\n", text(r.Results.Model), text(r.Data))
	fmt.Fprintf(&b, "settings:\n  runtime:\n    min_duration_ms: %d\n    max_duration_ms: %d\n    n_samples_to_issue: %d\n",
		e.MinDuration.Milliseconds(), e.MaxDuration.Milliseconds(), e.MinQueryCount)
	fmt.Fprintf(&b, "    scheduler_random_seed: %d\n    dataloader_random_seed: %d\n", e.ScheduleRNGSeed, e.SampleIndexRNGSeed)
	fmt.Fprintf(&b, "  load_pattern:\n    type: %s\n", p.Type)
	if p.TargetQPS != nil {
		fmt.Fprintf(&b, "    target_qps: %s\n", strconv.FormatFloat(*p.TargetQPS, 'f', -1, 64)) // 1e+06 is a text in YAML
	}
	if p.Concurrency != nil {
		fmt.Fprintf(&b, "    target_concurrency: %d\n", *p.Concurrency)
	}
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
	add := func(kind string, at time.Duration, sample string, data []any) {
		list = append(list, event{Type: kind, Timestamp: int64(at), Sample: sample, Data: data})
	}
	end := time.Duration(0)
	r.each(func(s loadgen.SampleRecord) {
		id := name(s)
		add("sample.issued", s.Issued, id, promptData(r.prompt(s)))
		if s.FirstToken >= 0 {
			add("sample.recv_first", s.FirstToken, id, nil)
		}
		if failed(s) {
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

// promptData is the prompt of an event (core/types.py, PromptData): a list of the type's name, the
// text, the token ids and the messages. One of these is set, and the list ends with it.
func promptData(p *backend.Prompt) []any {
	switch {
	case p == nil:
		return nil
	case len(p.IDs) > 0:
		return []any{"PromptData", nil, p.IDs}
	case len(p.Messages) > 0:
		return []any{"PromptData", nil, nil, p.Messages}
	}
	return []any{"PromptData", p.Text}
}

// prompt is that of a sample; nil: not known.
func (r *Run) prompt(s loadgen.SampleRecord) *backend.Prompt {
	if r.Prompt == nil {
		return nil
	}
	return r.Prompt(int(s.Index))
}
