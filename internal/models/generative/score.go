package generative

import (
	"context"
	"strings"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/accuracy/coderun"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/tokenizer/hf"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// rougeOne is the main metric of benchmarks on texts.
const rougeOne = "rouge1"

// A scorer scores a log of tokens, as an evaluation script does.
type scorer func(ctx context.Context, log accuracy.Input, p *promptSet, decode accuracy.Decoder, o scorerOptions) (*accuracy.Score, error)

// scorerOptions are the options of an evaluation script. Execute is set by the scorer.
type scorerOptions struct {
	accuracy.ProgramOptions
	execute bool // run the programs that the model wrote …
	unsafe  bool // … also as the superuser without isolation
	scoring workload.Scoring
}

// summaries scores texts by ROUGE.
func summaries(form accuracy.SummaryForm) scorer {
	return func(ctx context.Context, log accuracy.Input, p *promptSet, decode accuracy.Decoder, o scorerOptions) (*accuracy.Score, error) {
		return accuracy.ScoreSummaries(ctx, log, p.targets, decode, form, o.DType)
	}
}

// scoreMixed scores texts by ROUGE, numbers by whether they are right, and programs, if execute is set, by their tests.
func scoreMixed(ctx context.Context, log accuracy.Input, p *promptSet, decode accuracy.Decoder, o scorerOptions) (*accuracy.Score, error) {
	var runner *coderun.Runner
	if o.execute {
		var err error
		if runner, err = coderun.New(o.unsafe); err != nil {
			return nil, userinput.Wrap(executeOption, err)
		}
		o.Execute = func(ctx context.Context, p accuracy.Program) (bool, error) {
			return runner.Run(ctx, coderun.Program{Language: p.Language, Code: p.Code})
		}
	}
	score, err := accuracy.ScoreMixtral(ctx, log, p.mixed, decode, o.ProgramOptions)
	if err != nil {
		return nil, err
	}
	return executed(score, runner), nil
}

// executed adds a warning that says how programs were run.
func executed(score *accuracy.Score, by *coderun.Runner) *accuracy.Score {
	if by != nil {
		score.Warnings = append(score.Warnings, "programs that the model wrote were executed "+by.Isolation())
	}
	return score
}

// score scores a log of tokens as the evaluation script does: the samples in the log count, each once.
func (w benchmark) score(ctx context.Context, log accuracy.Input, s workload.Scoring) (*accuracy.Score, error) {
	from := source{folder: s.DatasetDir, tokenizer: s.Options[tokenizerOption], scored: true}
	data, err := w.read(from)
	if err != nil {
		return nil, err
	}
	tokenizer, err := from.openTokenizer()
	if err != nil {
		return nil, err
	}
	unsafe := s.Options[executeOption] == unsafely
	execute := unsafe
	if !unsafe {
		if execute, err = s.Options.On(executeOption); err != nil {
			return nil, err
		}
	}
	special := hf.SkipSpecial
	if w.remote.keepSpecial {
		special = hf.KeepSpecial
	}
	decode := func(ids []int32) (string, error) { return tokenizer.DecodeClean(ids, special) }
	return w.scorer(ctx, log, data, decode, scorerOptions{
		ProgramOptions: accuracy.ProgramOptions{DType: w.dtype(s.Options), Progress: s.Progress},
		execute:        execute, unsafe: unsafe, scoring: s,
	})
}

// dtype is the type of the numbers in a log: by default that of our logs.
func (w benchmark) dtype(v workload.Values) accuracy.DType {
	switch own := accuracy.DType(strings.ToLower(v[dtypeOption])); {
	case own != "":
		return own
	case w.rules.Width == 8:
		return accuracy.Int64
	}
	return accuracy.Int32
}
