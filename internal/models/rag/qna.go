package rag

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/config/limitation"
	"github.com/mlperf-go/mlperf/internal/dataset/frames"
	"github.com/mlperf-go/mlperf/internal/machine/clock"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/tokenizer/pytext"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

const qnaName = "e2e-rag-qna"

// qna is E2E-RAG on the questions of FRAMES (rules since v6.1).
func qna() workload.Model {
	return workload.Model{
		Name:    qnaName,
		Title:   "E2E-RAG, questions of FRAMES",
		Task:    "answers from searched pages, by up to five rounds of queries, grading and a check, gpt-oss-120b and gpt-oss-20b",
		Dataset: "frames",
		BuiltIn: builtIn(encoderPart(), rerankerPart()),
		Source:  "https://huggingface.co/openai/gpt-oss-120b",
		Papers:  []string{"Krishna et al., Fact, Fetch, and Reason: A Unified Evaluation of Retrieval-Augmented Generation, 2024, arXiv:2409.12941"},
		Notes: []string{
			"performance replays recorded replies: each call is made and measured, and the chain goes on with the recorded reply",
			"the reference reads the replies from a field that its own log does not have (response); here the replies of such logs count, too",
			"the official judge's reply counts as right by Python's truth, also \"false\"; here the target must be met by true alone, too",
			"the target is the submission checker's 33.95; the rules have 97 % of about 35",
		},

		Rules:                  config.Model{Name: qnaName, Once: true, Sample: &config.SampleSize{}},
		PerformanceSampleCount: 824,
		Quality:                workload.Quality{Metric: accuracy.JudgedAnswers, Fraction: 0.97, Also: []workload.Bound{{Metric: accuracy.TrueAnswers, Least: 33.95}}},
		OpenRemote:             openQuestions,
		Score:                  scoreAnswers,
		ScoresWithServers:      true,
		BesideServers:          modelOption,
		RemoteOptions:          qnaOptions(),
		ScoreOptions:           judgeOptions(),
	}
}

// The options.
const (
	graderEndpoint = "grader-endpoint"
	graderModel    = "grader-model"
	judgeEndpoint  = "judge-endpoint"
	judgeModel     = "judge-model"
	recordedOption = "recorded-replies"
	logOption      = "llm-log"
	modelOption    = "retrieval-model"
)

func qnaOptions() []workload.Option {
	return append([]workload.Option{
		{Name: modelOption, Kind: workload.Path, Help: "folder of the networks of retrieval: encoder.onnx (e5-base-v2), reranker.onnx (ColBERTv2), vocab.txt"},
		{Name: databaseOption, Kind: workload.Path, Help: "database of the pages that e2e-rag-db wrote (default: the pages are read and encoded before the test)"},
		{Name: graderEndpoint, Help: "server of the grader, gpt-oss-20b (default: that of the other calls)"},
		{Name: graderModel, Help: "name of the grader at its server (default: the only model there)"},
		{Name: recordedOption, Aliases: []string{"perf-test-mode"}, Kind: workload.Path, AccuracyFile: LogFile, DataFile: recordedFile,
			Help: "log of calls whose replies a test of performance goes on with (default: logs_result.json beside the data; in a suite or a " +
				"submission else llm_logs.json of the accuracy run)"},
	}, judgeOptions()[:2]...)
}

func judgeOptions() []workload.Option {
	return []workload.Option{
		{Name: judgeEndpoint, Scoring: true, Help: "server of the judge, Llama-3.1-8B-Instruct (default: that of the other calls)"},
		{Name: judgeModel, Scoring: true, Help: "name of the judge at its server (default: the only model there)"},
		{Name: logOption, Kind: workload.Path, Help: "log of the calls with the answers to judge (default: llm_logs.json of the run)"},
	}
}

// recordedFile is the official log of replies, beside the data.
const recordedFile = "logs_result.json"

// openQuestions opens the questions for servers of chats.
func openQuestions(s workload.Setup) (opened *workload.Workload, err error) {
	list, err := frames.ReadQuestions(s.DatasetDir)
	if err != nil {
		return nil, err
	}
	if s.Count > 0 {
		if len(list) < s.Count {
			return nil, fmt.Errorf("opening the questions: expected %d, %s has %d", s.Count, s.DatasetDir, len(list))
		}
		list = list[:s.Count]
	}
	q := &questions{list: list, prompts: make([]backend.Prompt, len(list)), graderModel: s.Options[graderModel]}
	for i := range list {
		q.prompts[i] = newPrompt(list[i].Prompt, answerTokens)
	}
	notes := []string{fmt.Sprintf("%d questions of %s, up to %d rounds", len(list), s.DatasetDir, mostRounds)}
	if url := s.Options[graderEndpoint]; url != "" {
		if q.grader, err = openServer(context.Background(), url, q.graderModel); err != nil {
			return nil, userinput.Wrap(graderEndpoint, err)
		}
		defer func() {
			if err != nil {
				err = errors.Join(err, q.grader.close())
			}
		}()
		notes = append(notes, "the grader is at "+url)
	}
	note, err := q.openRecorded(s)
	if err != nil {
		return nil, err
	}
	if note != "" {
		notes = append(notes, note)
	}
	database, err := openRetriever(s)
	if err != nil {
		return nil, err
	}
	q.retriever, q.replays = database, !s.Scored
	w := &workload.Workload{Samples: len(list), Prompts: q, Alike: len(list), Notes: notes, Answers: q.limitations, Close: database.Close}
	if q.grader.close != nil {
		w.Close = func() error { return errors.Join(database.Close(), q.grader.close()) }
	}
	if s.Scored {
		q.log = &callLog{}
		w.Log = &workload.Log{Name: LogFile, Write: func(w io.Writer) error { return q.log.write(w, clock.Now()) }}
	}
	return w, nil
}

// questions are the samples. They implement workload.Chain.
type questions struct {
	list      []frames.Question
	prompts   []backend.Prompt // what they ask, for their number and content
	retriever Retriever

	grader      server // of its own; else the servers of the test
	graderModel string
	recorded    map[replyKey]string // nil: the chain goes on with the replies of the servers
	log         *callLog            // nil: none is kept
	replays     bool                // recorded replies are wanted

	calls, failed, unrecorded atomic.Int64
}

// openRecorded reads the recorded replies of a test of performance.
func (q *questions) openRecorded(s workload.Setup) (note string, err error) {
	path := s.Options[recordedOption]
	switch {
	case s.Scored && path != "":
		return "", userinput.Errorf(recordedOption, "a test of accuracy goes on with the replies of the servers: must be left out")
	case s.Scored:
		return "", nil
	case path == "":
		path = filepath.Join(s.DatasetDir, recordedFile)
		if _, err := os.Stat(path); err != nil {
			return "no recorded replies: the chain goes on with the replies of the servers, and no two tests have the same calls", nil
		}
	}
	l, err := openLog(path)
	if err != nil {
		return "", userinput.Wrap(recordedOption, err)
	}
	q.recorded = l.replies()
	missing, first := 0, 0
	for i := range q.list {
		if q.recorded[replyKey{i, queryWriter, 1}] == "" {
			if missing++; missing == 1 {
				first = i
			}
		}
	}
	if missing > 0 {
		return "", userinput.Errorf(recordedOption, "%s has no replies to %d of %d questions, the first is question %d: must be the log of a test of accuracy with all of them",
			path, missing, len(q.list), first)
	}
	return fmt.Sprintf("%d recorded replies of %s take the place of the servers'", len(q.recorded), path), nil
}

// Texts implements workload.Prompts.
func (*questions) Texts() backend.Texts {
	return backend.Texts{Chat: true, ChatOnly: true, MayBeEmpty: true, Temperature: sampling.Temperature}
}

// WithoutIDs implements workload.Prompts: there are none.
func (*questions) WithoutIDs() error { return nil }

// Prompt implements workload.Prompts: the question.
func (q *questions) Prompt(index int) *backend.Prompt { return &q.prompts[index] }

// First implements workload.Prompts. Answers have no first token: only the end of the chain counts.
func (*questions) First(int, []byte, []int32) []byte { return nil }

// Response implements workload.Prompts.
func (*questions) Response(_ int, a backend.Answer) ([]byte, int) {
	return answerOf(a.Tokens), a.Tokens
}

// answerOf is an answer of so many tokens as the reference logs it (reference_SUT.py): zeros, four bytes each.
func answerOf(tokens int) []byte { return make([]byte, 4*tokens) }

// Reset forgets what was counted and logged: a test begins.
func (q *questions) Reset() {
	q.calls.Store(0)
	q.failed.Store(0)
	q.unrecorded.Store(0)
	if q.log != nil {
		q.log.reset(clock.Now())
	}
}

// limitations are those that the answers give rise to.
func (q *questions) limitations() (list []limitation.Limitation) {
	calls := fmt.Sprint(q.calls.Load())
	if q.replays && q.recorded == nil {
		list = append(list, limitation.Limitation{ID: limitation.NotReplayed})
	}
	if n := q.failed.Load(); n > 0 {
		list = append(list, limitation.Limitation{ID: limitation.FailedCalls, Value: fmt.Sprint(n), Of: calls})
	}
	if n := q.unrecorded.Load(); n > 0 {
		list = append(list, limitation.Limitation{ID: limitation.UnrecordedCalls, Value: fmt.Sprint(n), Of: calls})
	}
	return list
}

// Answer implements workload.Chain. The number of tokens is that of the last answer, or else that of its words (reference_SUT.py).
func (q *questions) Answer(ctx context.Context, index int, ask workload.Ask) ([]byte, int, error) {
	question := &q.list[index]
	record := &loggedQuestion{ID: fmt.Sprint(index), index: index, Text: question.Prompt, Began: stamp(clock.Now())}
	tokens := 0
	c := &chain{retriever: q.retriever, question: question.Prompt}
	c.call = func(ctx context.Context, made call) (string, bool, error) {
		recorded := q.recorded[replyKey{index, made.component, made.round}]
		send := ask
		if made.component == grader {
			if made.prompt.Model = q.graderModel; q.grader.ask != nil {
				send = q.grader.ask
			}
		}
		began := clock.Now()
		a, err := send(ctx, &made.prompt)
		took := clock.Since(began)
		q.calls.Add(1)
		if err != nil {
			q.failed.Add(1)
			return "", q.recorded != nil || errors.Is(err, backend.ErrUnreachable), err // a call that fails makes another test, and without a server the test is to end
		}
		if made.component == answerer {
			tokens = a.Tokens
		}
		if q.log != nil {
			record.Calls = append(record.Calls, newLoggedCall(made, a, began, took))
		}
		switch {
		case recorded != "":
			return recorded, false, nil
		case q.recorded != nil:
			q.unrecorded.Add(1)
		}
		return replyOf(a), false, nil
	}
	o, err := c.run(ctx)
	if err != nil {
		return nil, 0, err
	}
	if tokens <= 0 {
		tokens = max(1, len(pytext.Fields(o.answer)))
	}
	if q.log != nil {
		m := accuracy.OverlapOf(o.urls, question.Links)
		r := &record.Retrieval
		r.Found, r.Right = o.urls, question.Links
		r.Precision, r.Recall, r.F1 = number(m.Precision, 17), number(m.Recall, 17), number(m.F1, 17)
		record.Answer.Answer, record.Answer.Truth = o.answer, question.Answer
		q.log.add(record, clock.Now())
	}
	return answerOf(tokens), tokens, nil
}

// replyOf is the text of a reply, or if that is empty the object in its reasoning.
func replyOf(a backend.Answer) string {
	if text := pytext.TrimSpace(string(a.Text[a.Reasoning:])); text != "" {
		return text
	}
	text, _ := accuracy.BracesIn(string(a.Text[:a.Reasoning]))
	return text
}

// newLoggedCall is a call that was answered.
func newLoggedCall(made call, a backend.Answer, began time.Time, took time.Duration) loggedCall {
	c := loggedCall{ID: uuid.NewString(), Component: made.component, Round: made.round, Time: stamp(began.Add(took)), Context: jsontext.Value(made.context)}
	for _, m := range made.prompt.Messages {
		c.Input.Messages = append(c.Input.Messages, loggedMessage{m.Role, m.Content})
	}
	in := &c.Input
	in.Model, in.MaxTokens, in.TopK, in.Effort = a.Model, made.prompt.MaxTokens, sampling.TopK, sampling.Effort
	in.Temperature, in.TopP = jsontext.Value(pytext.Float(sampling.Temperature)), jsontext.Value(pytext.Float(sampling.TopP))
	if c.Output.Actual = pytext.TrimSpace(string(a.Text[a.Reasoning:])); c.Output.Actual == "" {
		c.Output.Actual = pytext.TrimSpace(string(a.Text[:a.Reasoning]))
	}
	c.Output.Finish = a.Finish
	c.latencyMS = pytext.Round(float64(took)/float64(time.Millisecond), 2)
	if took > 0 {
		c.perSecond = pytext.Round(float64(a.Tokens)/took.Seconds(), 2)
	}
	m := &c.Metrics
	m.Input, m.Output, m.Total = a.Prompt, int64(a.Tokens), a.Prompt+int64(a.Tokens)
	m.LatencyMS, m.PerSecond = number(c.latencyMS, 2), number(c.perSecond, 2)
	return c
}
