package rag

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/backend/openai"
	"github.com/mlperf-go/mlperf/internal/dataset/frames"
	"github.com/mlperf-go/mlperf/internal/models/rag/retrieval"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// A goldenRun is what multi_shot_retrieval.py did with a question (pipeline.json): its requests, in their order, and their replies.
type goldenRun struct {
	Question string `json:"question"`
	Result   struct {
		Rounds     int            `json:"num_iterations"`
		Queries    int            `json:"total_queries"`
		Sufficient jsontext.Value `json:"sufficient"`
		Answer     string         `json:"llm_answer"`
		URLs       []string       `json:"retrieved_urls"`
	} `json:"result"`
	Requests []struct {
		Body  jsontext.Value `json:"body"`
		Reply string         `json:"reply"`
	} `json:"requests"`
	Hops [][]any `json:"hops"` // component, round, tokens
}

var pipeline = sync.OnceValues(func() (p struct {
	Corpus [][3]string `json:"corpus"`
	Runs   []goldenRun `json:"runs"`
}, err error) {
	data, err := os.ReadFile("testdata/pipeline.json")
	if err == nil {
		err = json.Unmarshal(data, &p)
	}
	return p, err
})

// overlap is the retriever of the golden values: by the number of shared words, and by their share of the passage.
type overlap [][3]string

var word = regexp.MustCompile("[a-z0-9]+")

func shared(query, text string) (n, of int) {
	words := map[string]bool{}
	for _, w := range word.FindAllString(strings.ToLower(query), -1) {
		words[w] = true
	}
	all := word.FindAllString(strings.ToLower(text), -1)
	distinct := slices.Clone(all)
	slices.Sort(distinct)
	for _, w := range slices.Compact(distinct) {
		if words[w] {
			n++
		}
	}
	return n, max(1, len(all))
}

func (o overlap) Lookup(_ context.Context, query string, k int) (list []retrieval.Passage, _ error) {
	for _, c := range o {
		list = append(list, retrieval.Passage{URL: c[0], Title: c[1], Text: c[2]})
	}
	slices.SortStableFunc(list, func(a, b retrieval.Passage) int {
		x, _ := shared(query, a.Title+" "+a.Text)
		y, _ := shared(query, b.Title+" "+b.Text)
		return y - x
	})
	return list[:min(k, len(list))], nil
}

func (overlap) Rerank(_ context.Context, query string, list []retrieval.Passage) ([]retrieval.Passage, error) {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b retrieval.Passage) int {
		x, ofX := shared(query, a.Text)
		y, ofY := shared(query, b.Text)
		return y*ofX - x*ofY
	})
	return list, nil
}

// A scripted server gives replies in their order, and keeps the requests.
type scripted struct {
	*httptest.Server
	mu      sync.Mutex
	replies []string
	bodies  [][]byte
	open    atomic.Int64    // connections
	status  func(n int) int // of the nth request; nil: 200
}

func newScripted(t *testing.T, replies ...string) *scripted {
	t.Helper()
	s := &scripted{replies: replies}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(s.serve))
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			s.open.Add(1)
		case http.StateClosed:
			s.open.Add(-1)
		}
	}
	s.Start()
	t.Cleanup(s.Close)
	return s
}

// Connections to a grader or a judge are closed with what they are for, also after an error.
func TestServersAreClosed(t *testing.T) {
	left := func(s *scripted, what string) {
		t.Helper()
		for range 100 { // the server hears of it later; an idle connection would end by itself after 4 s
			if s.open.Load() == 0 {
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
		t.Errorf("%s: %d connections are open", what, s.open.Load())
	}
	dir := t.TempDir()
	testenv.Tree(t, dir, map[string]string{"frames_dataset.tsv": "\tPrompt\tAnswer\twiki_links\n0\tWho?\tKing\t[]\n"})
	s := newScripted(t)
	if _, err := openQuestions(workload.Setup{DatasetDir: dir, Options: map[string]string{graderEndpoint: s.URL}}); err == nil || !strings.Contains(err.Error(), modelOption) {
		t.Errorf("without networks of retrieval: %v", err)
	}
	left(s, "grader")
	judge, err := openJudge(t.Context(), workload.Scoring{Options: map[string]string{judgeEndpoint: s.URL}})
	testenv.Must(t, err, judge.close())
	left(s, "judge")
}

func (s *scripted) serve(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	if r.URL.Path == "/v1/models" {
		_, _ = w.Write([]byte(`{"data":[{"id":"gpt-oss-120b"}]}`))
		return
	}
	var body bytes.Buffer
	_, _ = body.ReadFrom(r.Body)
	s.mu.Lock()
	defer s.mu.Unlock()
	reply := "Hi"
	if !strings.Contains(body.String(), `"content":"Hello"`) { // which finds out what the server understands
		s.bodies = append(s.bodies, body.Bytes())
		if s.status != nil {
			if code := s.status(len(s.bodies) - 1); code != http.StatusOK {
				w.Header().Set("Retry-After", "1")
				w.WriteHeader(code)
				return
			}
		}
		if reply = ""; len(s.replies) > 0 {
			reply, s.replies = s.replies[0], s.replies[1:]
		}
	}
	tokens := max(1, len(word.FindAllString(strings.ToLower(reply), -1)))
	_ = json.MarshalWrite(w, map[string]any{"id": "x", "choices": []any{map[string]any{
		"index": 0, "message": map[string]any{"role": "assistant", "content": reply}, "finish_reason": "stop",
	}}, "usage": map[string]any{"prompt_tokens": 7, "completion_tokens": tokens}})
}

// ask connects to the server as a test does.
func (s *scripted) ask(t *testing.T) workload.Ask {
	t.Helper()
	e, err := openai.New(openai.Config{URLs: []string{s.URL}})
	testenv.Must(t, err)
	opened, err := openEngine(t.Context(), e)
	testenv.Must(t, err)
	return opened.ask
}

// ordered is JSON without white space, in its order.
func ordered(t *testing.T, v jsontext.Value) string {
	t.Helper()
	v = v.Clone()
	testenv.Must(t, v.Compact(jsontext.PreserveRawStrings(false)))
	return string(v)
}

func TestChainAsReference(t *testing.T) {
	golden, err := pipeline()
	testenv.Must(t, err)
	if len(golden.Runs) < 7 {
		t.Fatalf("%d golden runs", len(golden.Runs))
	}
	for index, run := range golden.Runs {
		t.Run(run.Question, func(t *testing.T) {
			s := newScripted(t)
			for _, r := range run.Requests {
				s.replies = append(s.replies, r.Reply)
			}
			q := &questions{retriever: overlap(golden.Corpus), graderModel: "gpt-oss-20b", log: &callLog{}}
			q.list = slices.Repeat([]frames.Question{{Prompt: run.Question, Answer: "gold", Links: []string{golden.Corpus[0][0]}}}, index+1)
			response, tokens, err := q.Answer(t.Context(), index, s.ask(t))
			testenv.Must(t, err)

			for i, r := range run.Requests {
				if i >= len(s.bodies) {
					t.Fatalf("%d requests, want %d", len(s.bodies), len(run.Requests))
				}
				if got, want := ordered(t, s.bodies[i]), ordered(t, r.Body); got != want {
					t.Errorf("request %d differs: %s", i, cmp.Diff(want, got))
				}
			}
			record := q.log.list[0]
			var hops [][]any
			last := 1 // words of no answer
			for _, c := range record.Calls {
				hops = append(hops, []any{c.Component, float64(c.Round), float64(c.Metrics.Output)})
				if c.Component == answerer {
					last = int(c.Metrics.Output)
				}
			}
			if !cmp.Equal(hops, run.Hops) {
				t.Errorf("hops %v, want %v", hops, run.Hops)
			}
			if len(s.bodies) != len(run.Requests) || tokens != last || !bytes.Equal(response, make([]byte, 4*last)) {
				t.Errorf("%d requests, %d tokens, %d bytes, want %d, %d", len(s.bodies), tokens, len(response), len(run.Requests), last)
			}
			want := run.Result
			if got := record; got.Answer.Answer != want.Answer || !cmp.Equal(got.Retrieval.Found, want.URLs) && len(want.URLs) > 0 || got.Summary.Rounds != want.Rounds {
				t.Errorf("answer %q, pages %q, rounds %d, want %+v", got.Answer.Answer, got.Retrieval.Found, got.Summary.Rounds, want)
			}
		})
	}
}

// firstLogged answers the first golden question with its replies, and returns the log that this leaves.
func firstLogged(t *testing.T) (*scripted, *questions, []byte) {
	t.Helper()
	golden, err := pipeline()
	testenv.Must(t, err)
	run := golden.Runs[0]
	s := newScripted(t)
	for _, r := range run.Requests {
		s.replies = append(s.replies, r.Reply)
	}
	q := &questions{retriever: overlap(golden.Corpus), graderModel: "gpt-oss-20b", log: &callLog{}, list: []frames.Question{{Prompt: run.Question}}}
	_, _, err = q.Answer(t.Context(), 0, s.ask(t))
	testenv.Must(t, err)
	var written bytes.Buffer
	testenv.Must(t, q.log.write(&written, q.log.began))
	return s, q, written.Bytes()
}

// The log of a question is that of llm_logger.py (llm_log_query.json), but for times, and for values that the scripts of the golden values leave out.
func TestLogAsReference(t *testing.T) {
	_, _, written := firstLogged(t)
	var log struct {
		Questions []jsontext.Value `json:"queries"`
	}
	testenv.Must(t, json.Unmarshal(written, &log))
	want, err := os.ReadFile("testdata/llm_log_query.json")
	testenv.Must(t, err)
	free := regexp.MustCompile(`"(call_id|timestamp\w*)":"[^"]*"|"(latency_ms|total_latency_ms|tokens_per_second|average_tokens_per_second|isl|total_tokens|total_input_tokens)":[\d.]+|` +
		`"components_used":\[[^\]]*\]|,"correct_urls":null|,"correct_urls":\[\]|,"(precision|recall|f1)":0\.0|,"ground_truth_answer":""`)
	names := func(v jsontext.Value) string {
		return free.ReplaceAllStringFunc(ordered(t, v), func(text string) string {
			if text[0] == ',' {
				return ""
			}
			name, _, _ := strings.Cut(text, ":")
			return name
		})
	}
	if got, want := names(log.Questions[0]), names(want); got != want {
		t.Error(cmp.Diff(want, got))
	}
}

// A test of performance goes on with the replies of the log that a test of accuracy left, whatever the servers say.
func TestRecordedRepliesAreReplayed(t *testing.T) {
	s, q, written := firstLogged(t)
	bodies := s.bodies

	l, err := parseLog(bytes.NewReader(written))
	testenv.Must(t, err)
	s.bodies = nil
	p := &questions{retriever: q.retriever, graderModel: q.graderModel, list: q.list, recorded: l.replies(), replays: true}
	for range bodies {
		s.replies = append(s.replies, "{} another reply of eight or nine words")
	}
	_, tokens, err := p.Answer(t.Context(), 0, s.ask(t))
	testenv.Must(t, err)
	if !cmp.Equal(s.bodies, bodies) {
		t.Errorf("other requests than those of the log: %s", cmp.Diff(bodies, s.bodies))
	}
	if tokens != 7 {
		t.Errorf("%d tokens, want those of the server's own answer", tokens)
	}
	if list := p.limitations(); len(list) > 0 {
		t.Errorf("limitations %v", list)
	}
	delete(p.recorded, replyKey{0, sufficiency, 2})
	s.replies = []string{"a", "b", `{"sufficient": true}`, "c"}
	if _, _, err = p.Answer(t.Context(), 0, s.ask(t)); err != nil || p.unrecorded.Load() != 1 {
		t.Errorf("%v, %d calls without a recorded reply, want 1", err, p.unrecorded.Load())
	}
	s.status = func(int) int { return http.StatusBadRequest }
	if _, _, err := p.Answer(t.Context(), 0, s.ask(t)); err == nil || !strings.Contains(err.Error(), "400") {
		t.Errorf("a call failed, and the test went on: %v", err)
	}
}

// Failed calls leave the chain with what the reference goes on with.
func TestFailedCalls(t *testing.T) {
	golden, err := pipeline()
	testenv.Must(t, err)
	q := &questions{retriever: overlap(golden.Corpus), log: &callLog{}, list: []frames.Question{{Prompt: "Who is Ada Lane?"}}}
	failing := func(context.Context, *backend.Prompt) (backend.Answer, error) {
		return backend.Answer{}, errors.New("gone")
	}
	_, tokens, err := q.Answer(t.Context(), 0, failing)
	testenv.Must(t, err)
	if r := q.log.list[0]; r.Answer.Answer != "Unknown" || tokens != 1 || q.failed.Load() != q.calls.Load() || q.calls.Load() != 10 {
		t.Errorf("answer %q, %d of %d calls failed", r.Answer.Answer, q.failed.Load(), q.calls.Load())
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	well := func(context.Context, *backend.Prompt) (backend.Answer, error) {
		return backend.Answer{Text: []byte("{}")}, nil
	}
	absent := func(context.Context, *backend.Prompt) (backend.Answer, error) {
		return backend.Answer{}, fmt.Errorf("no connection: %w", backend.ErrUnreachable)
	}
	if _, _, err := q.Answer(t.Context(), 0, absent); !errors.Is(err, backend.ErrUnreachable) {
		t.Errorf("without a server the chain goes on: %v", err)
	}
	for _, ask := range []workload.Ask{failing, well} {
		if _, _, err := q.Answer(ctx, 0, ask); err == nil || err.Error() == "" {
			t.Errorf("a test that was stopped goes on: %v", err)
		}
	}
}

// An empty reply is the object in the reasoning, if there is one.
func TestReplyFromReasoning(t *testing.T) {
	for _, c := range []struct{ reasoning, content, want string }{
		{`so {"a": 1} it is`, " \n", `{"a": 1}`}, {"x", " y ", "y"}, {"none", "", ""}, {`{"a": 1}`, "b", "b"},
	} {
		if got := replyOf(backend.Answer{Text: []byte(c.reasoning + c.content), Reasoning: len(c.reasoning)}); got != c.want {
			t.Errorf("%q, %q: %q, want %q", c.reasoning, c.content, got, c.want)
		}
	}
}

func TestJudgeRequestAsReference(t *testing.T) {
	data, err := os.ReadFile("testdata/judge.json")
	testenv.Must(t, err)
	var golden struct {
		Request jsontext.Value `json:"request"`
	}
	testenv.Must(t, json.Unmarshal(data, &golden))
	s := newScripted(t, "{}")
	_, err = s.ask(t)(t.Context(), judgeRequest("llama", "q?", "gold", "answer"))
	testenv.Must(t, err)
	if got, want := ordered(t, s.bodies[0]), ordered(t, golden.Request); got != want {
		t.Error(cmp.Diff(want, got))
	}
}

func FuzzParseLog(f *testing.F) {
	f.Add([]byte(`{"queries":[{"query_id":"3","llm_calls":[{"component":"check_sufficiency","hop_count":2,"output":{"response":"x","actual_output":"y"}}]}]}`))
	f.Add([]byte(`{"queries":[{"query_id":7,"llm_calls":null}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		l, err := parseLog(bytes.NewReader(data))
		if err != nil {
			return
		}
		for key, reply := range l.replies() {
			if key.index < 0 || key.component == "" || reply == "" {
				t.Fatalf("%+v: %q", key, reply)
			}
		}
	})
}
