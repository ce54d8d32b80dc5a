package rag

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/tokenizer/pytext"
)

// LogFile is the log of the calls of a test of accuracy, in the folder of the run. A test of performance replays it.
const LogFile = "llm_logs.json"

// A loggedCall is a call in the form of the reference (llm_logger.py, log_llm_call).
type loggedCall struct {
	ID        string `json:"call_id"`
	Component string `json:"component"`
	Round     int    `json:"hop_count"`
	Time      string `json:"timestamp"`
	Input     struct {
		Messages    []loggedMessage `json:"messages"`
		Model       string          `json:"model"`
		Temperature jsontext.Value  `json:"temperature"`
		MaxTokens   int             `json:"max_tokens"`
		TopP        jsontext.Value  `json:"top_p"`
		TopK        int             `json:"top_k"`
		Effort      string          `json:"reasoning_effort"`
		Other       struct{}        `json:"other_params"`
	} `json:"input"`
	Output struct {
		Actual string  `json:"actual_output"`
		Cached *string `json:"cached_output"`
		Finish string  `json:"finish_reason"`
		Note   *string `json:"note"`
	} `json:"output"`
	Metrics struct {
		Input     int64          `json:"isl"`
		Output    int64          `json:"osl"`
		Total     int64          `json:"total_tokens"`
		LatencyMS jsontext.Value `json:"latency_ms"`
		PerSecond jsontext.Value `json:"tokens_per_second"`
	} `json:"metrics"`
	Context jsontext.Value `json:"context"`

	latencyMS, perSecond float64
}

type loggedMessage struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// A loggedQuestion is a question with its calls (llm_logger.py, end_query).
type loggedQuestion struct {
	ID      string       `json:"query_id"`
	Text    string       `json:"original_query"`
	Began   string       `json:"timestamp_start"`
	Calls   []loggedCall `json:"llm_calls"`
	Ended   string       `json:"timestamp_end"`
	Summary struct {
		Calls     int            `json:"total_llm_calls"`
		Rounds    int            `json:"total_hops"`
		Input     int64          `json:"total_input_tokens"`
		Output    int64          `json:"total_output_tokens"`
		Total     int64          `json:"total_tokens"`
		LatencyMS jsontext.Value `json:"total_latency_ms"`
		PerSecond jsontext.Value `json:"average_tokens_per_second"`
		Used      []string       `json:"components_used"`
	} `json:"summary"`
	Retrieval struct {
		Found     []string       `json:"retrieved_urls"`
		Right     []string       `json:"correct_urls"`
		Precision jsontext.Value `json:"precision"`
		Recall    jsontext.Value `json:"recall"`
		F1        jsontext.Value `json:"f1"`
	} `json:"retrieval_results"`
	Answer struct {
		Answer string `json:"llm_answer"`
		Truth  string `json:"ground_truth_answer"`
	} `json:"answer_results"`

	index     int
	latencyMS float64
}

// A callLog keeps the questions of a test until it is written.
type callLog struct {
	mu    sync.Mutex
	began time.Time
	list  []*loggedQuestion
}

func (l *callLog) reset(now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.began, l.list = now, nil
}

// add ends a question.
func (l *callLog) add(q *loggedQuestion, now time.Time) {
	q.Ended = stamp(now)
	s := &q.Summary
	perSecond := 0.0
	for i := range q.Calls {
		c := &q.Calls[i]
		s.Rounds = max(s.Rounds, c.Round)
		s.Input += c.Metrics.Input
		s.Output += c.Metrics.Output
		q.latencyMS += c.latencyMS
		perSecond += c.perSecond
		s.Used = append(s.Used, c.Component)
	}
	slices.Sort(s.Used)
	s.Used = slices.Compact(s.Used)
	s.Calls, s.Total, s.LatencyMS, s.PerSecond = len(q.Calls), s.Input+s.Output, number(q.latencyMS, 2), number(perSecond/float64(max(1, len(q.Calls))), 2)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = append(l.list, q)
}

// number is a rounded number as Python prints it.
func number(v float64, digits int) jsontext.Value {
	return jsontext.Value(pytext.Float(pytext.Round(v, digits)))
}

// stamp is a time as the reference writes it: datetime.utcnow().isoformat() + "Z".
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000") + "Z" }

// write writes the log of a test, its questions in the order of the data set.
func (l *callLog) write(w io.Writer, now time.Time) error {
	l.mu.Lock()
	list := slices.Clone(l.list)
	l.mu.Unlock()
	models := map[string]string{}
	for _, q := range list {
		for _, c := range q.Calls {
			models[c.Component] = c.Input.Model
		}
	}
	slices.SortFunc(list, func(a, b *loggedQuestion) int { return a.index - b.index })
	type metadata struct {
		Session     string `json:"session_id"`
		Name        string `json:"experiment_name"`
		Began       string `json:"timestamp_start"`
		Mode        string `json:"retrieval_mode"`
		Rounds      int    `json:"max_iterations"`
		Queries     int    `json:"max_sub_queries"`
		TopK        int    `json:"top_k_retriever"`
		Grader      string `json:"grader_model"`
		Sufficiency string `json:"sufficiency_checker_model"`
		Writer      string `json:"query_model"`
		Ended       string `json:"timestamp_end"`
		Total       int    `json:"total_queries"`
	}
	type summary struct {
		Questions int            `json:"total_queries"`
		Calls     int            `json:"total_llm_calls"`
		Input     int64          `json:"total_input_tokens"`
		Output    int64          `json:"total_output_tokens"`
		Total     int64          `json:"total_tokens"`
		LatencyMS jsontext.Value `json:"total_latency_ms"`
		Rounds    jsontext.Value `json:"average_hops_per_query"`
	}
	s, latency, rounds := summary{Questions: len(list)}, 0.0, 0
	for _, q := range list {
		s.Calls += q.Summary.Calls
		s.Input += q.Summary.Input
		s.Output += q.Summary.Output
		latency += q.latencyMS
		rounds += q.Summary.Rounds
	}
	s.Total, s.LatencyMS, s.Rounds = s.Input+s.Output, number(latency, 2), number(float64(rounds)/float64(max(1, len(list))), 2)
	return json.MarshalWrite(w, struct {
		About     metadata          `json:"experiment_metadata"`
		Questions []*loggedQuestion `json:"queries"`
		Summary   summary           `json:"experiment_summary"`
	}{metadata{uuid.NewString(), qnaName, stamp(l.began), "multi_shot", mostRounds, mostQueries, found, models[grader], models[sufficiency],
		models[queryWriter], stamp(now), len(list)}, list, s}, jsontext.WithIndent("  "), jsontext.AllowInvalidUTF8(true))
}

// mostLog is the size of a log of 824 questions with room: a call has up to 100 kB of prompt, and a question up to 16 calls.
const mostLog = 4 << 30

// A readLog is what is read of a log: of this program, of the reference, or logs_result.json of its data.
type readLog struct {
	Questions []readQuestion `json:"queries"`
}

type readQuestion struct {
	ID    jsontext.Value `json:"query_id"` // a text or a number
	Text  string         `json:"original_query"`
	Calls []struct {
		Component string `json:"component"`
		Round     *int   `json:"hop_count"`
		Output    struct {
			Response string `json:"response"`
			Actual   string `json:"actual_output"`
			Cached   string `json:"cached_output"`
		} `json:"output"`
		Metrics struct {
			Output int64 `json:"osl"`
		} `json:"metrics"`
	} `json:"llm_calls"`
	Retrieval struct {
		Found []string `json:"retrieved_urls"`
	} `json:"retrieval_results"`
	Answer *struct {
		Answer string `json:"llm_answer"`
	} `json:"answer_results"`

	index int
}

// openLog reads a log.
func openLog(path string) (*readLog, error) {
	f, err := fileio.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	l, err := parseLog(io.LimitReader(f, mostLog))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return l, nil
}

// parseLog reads a log. Every question has an index of the data set; of two with the same the last counts, as in the reference.
func parseLog(r io.Reader) (*readLog, error) {
	l := &readLog{}
	if err := json.UnmarshalRead(r, l, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)); err != nil {
		return nil, fmt.Errorf("expected a log of calls (llm_logs.json, logs_result.json): %w", err)
	}
	if l.Questions == nil {
		return nil, errors.New(`expected a log of calls: the field "queries" is missing`)
	}
	for i := range l.Questions {
		q := &l.Questions[i]
		text := string(q.ID)
		if q.ID.Kind() == '"' {
			if err := json.Unmarshal(q.ID, &text); err != nil {
				return nil, fmt.Errorf("query %d: %w", i, err)
			}
		}
		index, err := strconv.ParseUint(text, 10, 31)
		if err != nil {
			return nil, fmt.Errorf("query %d: query_id is %s: must be the index of a question", i, quoted(text))
		}
		q.index = int(index)
	}
	return l, nil
}

// quoted is a text in an error.
func quoted(text string) string {
	if text == "" {
		return "missing"
	}
	return strconv.Quote(text)
}

// A replyKey names a reply that was recorded.
type replyKey struct {
	index     int
	component string
	round     int
}

// replies are the recorded replies that are not empty. perf_test_cache.py reads the field response, which llm_logger.py does not write: without
// it, the reply is that which the chain went on with.
func (l *readLog) replies() map[replyKey]string {
	recorded := map[replyKey]string{}
	for _, q := range l.Questions {
		for _, c := range q.Calls {
			if c.Round == nil || c.Component == "" {
				continue
			}
			key := replyKey{q.index, c.Component, *c.Round}
			for _, reply := range []string{c.Output.Response, c.Output.Cached, c.Output.Actual} {
				if reply != "" {
					recorded[key] = reply
					break
				}
			}
		}
	}
	return recorded
}
