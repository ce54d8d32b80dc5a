package rag

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/dataset/frames"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// The judge's prompt of accuracy_eval.py (mlcommons/inference, e2e-rag, Apache License 2.0).
//
//go:embed prompts/judge.txt
var judgePrompt string

// What accuracy_eval.py asks the judge with. It asks once: an error is a wrong answer there, and ends the score here.
const (
	judgeTokens  = 1024
	judgeTimeout = 60 * time.Second
	judgeTries   = 5
	judgesAtOnce = 16
)

// judgeRequest asks whether an answer is right.
func judgeRequest(model, question, truth, answer string) *backend.Prompt {
	text := strings.NewReplacer("{question}", question, "{ground_truth}", truth, "{llm_answer}", answer).Replace(judgePrompt)
	p := newPrompt(text, judgeTokens)
	p.Model, p.Sampling = model, &backend.Sampling{}
	p.Patience = &backend.Patience{Timeout: judgeTimeout, Tries: judgeTries, Pause: time.Second}
	return &p
}

// scoreAnswers has a judge look at the answers of a run, which are in the log of its calls: LoadGen's log has their lengths only.
func scoreAnswers(ctx context.Context, log accuracy.Input, s workload.Scoring) (*accuracy.Score, error) {
	list, err := frames.ReadQuestions(s.DatasetDir)
	if err != nil {
		return nil, err
	}
	path := s.Options[logOption]
	if path == "" && s.Keep == "" {
		return nil, userinput.Missing(logOption, "the answers are in the log of the calls, "+LogFile+" of the run: LoadGen's log has their lengths only")
	}
	calls, err := openLog(cmp.Or(path, filepath.Join(s.Keep, LogFile)))
	if err != nil {
		return nil, userinput.Wrap(logOption, err)
	}
	answers := map[int]*readQuestion{}
	for i := range calls.Questions {
		answers[calls.Questions[i].index] = &calls.Questions[i]
	}
	c := accuracy.Coverage{Samples: len(list)}
	var judged []accuracy.Judged
	for rec, err := range accuracy.FirstRecords(log, &c) {
		if err != nil {
			return nil, err
		}
		index := int(rec.QSLIndex)
		a := answers[index]
		if a == nil || a.Answer == nil {
			return nil, fmt.Errorf("%s: record %d (qsl_idx %d): the log of the calls has no answer to this question", log.Name(), rec.Number, index)
		}
		if a.Text != list[index].Prompt {
			return nil, fmt.Errorf("the log of the calls has another question %d than the data set: must be of the same data", index)
		}
		judged = append(judged, accuracy.Judged{Index: index, Answer: a.Answer.Answer, Found: a.Retrieval.Found, Wanted: list[index].Links})
	}
	judge, err := openJudge(ctx, s)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(judgeAll(ctx, judge.ask, s, list, judged), judge.close()); err != nil {
		return nil, err
	}
	return accuracy.ScoreJudged(judged, c)
}

// openJudge connects to the judge.
func openJudge(ctx context.Context, s workload.Scoring) (server, error) {
	url := s.Options[judgeEndpoint]
	switch {
	case url != "":
		judge, err := openServer(ctx, url, s.Options[judgeModel])
		return judge, userinput.Wrap(judgeEndpoint, err)
	case s.Servers == nil:
		return server{}, userinput.Missing(judgeEndpoint, "a model at a server judges the answers, as http://host:8000")
	}
	return openEngine(ctx, s.Servers)
}

// judgeAll asks for all answers, several at once.
func judgeAll(ctx context.Context, ask workload.Ask, s workload.Scoring, list []frames.Question, judged []accuracy.Judged) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var group sync.WaitGroup
	var mu sync.Mutex
	next, done := 0, 0
	for range judgesAtOnce {
		group.Go(func() {
			for {
				mu.Lock()
				i := next
				next++
				mu.Unlock()
				if i >= len(judged) || ctx.Err() != nil {
					return
				}
				j := &judged[i]
				a, err := ask(ctx, judgeRequest(s.Options[judgeModel], list[j.Index].Prompt, list[j.Index].Answer, j.Answer))
				if err != nil {
					cancel(fmt.Errorf("asking the judge about question %d: %w", j.Index, err))
					return
				}
				j.Reply = string(a.Text[a.Reasoning:])
				mu.Lock()
				if done++; s.Progress != nil {
					s.Progress(done, len(judged))
				}
				mu.Unlock()
			}
		})
	}
	group.Wait()
	if err := context.Cause(ctx); err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	return ctx.Err()
}
