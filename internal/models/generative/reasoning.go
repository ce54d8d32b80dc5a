package generative

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/accuracy/coderun"
	"github.com/mlperf-go/mlperf/internal/accuracy/livecode"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// reasoning scores answers by whether they are right: programs, if execute is set, by the tests of a release of
// LiveCodeBench.
func reasoning(form accuracy.ReasoningForm, release int) scorer {
	return func(ctx context.Context, log accuracy.Input, p *promptSet, decode accuracy.Decoder, o scorerOptions) (out *accuracy.Score, err error) {
		var e *reasoningScorer
		if o.execute && slices.ContainsFunc(p.reasoned, accuracy.Reasoning.IsProgram) {
			if o.Progress != nil {
				o.Progress(0, len(p.reasoned)) // finding the tests takes seconds
			}
			runner, err := coderun.New(o.unsafe)
			if err != nil {
				return nil, userinput.Wrap(executeOption, err)
			}
			tests, err := livecode.Open(ctx, testsOf(o.scoring), release)
			if err != nil {
				return nil, userinput.Wrap(liveOption, err)
			}
			e = &reasoningScorer{runner: runner, tests: tests}
			defer func() { err = errors.Join(err, e.tests.Close()) }()
			o.Execute = e.passes
		}
		score, err := accuracy.ScoreReasoning(ctx, log, p.reasoned, decode, form, o.ProgramOptions)
		if err != nil {
			return nil, err
		}
		return e.warn(score), nil
	}
}

// A reasoningScorer runs programs on the tests of LiveCodeBench.
type reasoningScorer struct {
	runner *coderun.Runner
	tests  *livecode.Tests

	mu      sync.Mutex
	unknown []string // problems that the release does not have
}

// passes reports whether a program passes the tests; without tests it does not (eval_accuracy.py).
func (e *reasoningScorer) passes(ctx context.Context, p accuracy.Program) (bool, error) {
	passed, err := e.tests.Judge(ctx, e.runner, p.ID, p.Code)
	if errors.Is(err, livecode.ErrUnknown) {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.unknown = append(e.unknown, p.ID)
		return false, nil
	}
	return passed, err
}

// warn adds warnings to a score: unknown problems, and how programs were run.
func (e *reasoningScorer) warn(score *accuracy.Score) *accuracy.Score {
	if e == nil {
		return score
	}
	if n := len(e.unknown); n > 0 {
		score.Warnings = append(score.Warnings, fmt.Sprintf("the tests have no problem %q: %d answers without tests count as wrong",
			slices.Min(e.unknown), n))
	}
	return executed(score, e.runner)
}

// testsOf is the folder with the tests of LiveCodeBench.
func testsOf(s workload.Scoring) string {
	const name = "livecodebench"
	if folder := s.Options[liveOption]; folder != "" {
		return folder
	}
	inside := filepath.Join(s.DatasetDir, name)
	if _, err := os.Stat(inside); err == nil {
		return inside
	}
	return filepath.Join(filepath.Dir(filepath.Clean(s.DatasetDir)), name)
}
