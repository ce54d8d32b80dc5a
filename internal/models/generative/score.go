package generative

import (
	"context"
	"strings"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/accuracy/coderun"
	"github.com/mlperf-go/mlperf/internal/models/tokenizer/hf"
	"github.com/mlperf-go/mlperf/internal/models/workload"
)

// The value by which benchmarks on texts are compared first.
const rougeOne = "rouge1"

// A marker scores a log of tokens, as an evaluation script does.
type marker func(ctx context.Context, log accuracy.Input, p *questionnaire, decode accuracy.Decoder, o markOptions) (*accuracy.Score, error)

// markOptions are those of an evaluation script. Execute is the marker's.
type markOptions struct {
	accuracy.ProgramOptions
	execute bool // programs that the model wrote
	scoring workload.Scoring
}

// summaries marks texts by ROUGE.
func summaries(form accuracy.SummaryForm) marker {
	return func(ctx context.Context, log accuracy.Input, p *questionnaire, decode accuracy.Decoder, o markOptions) (*accuracy.Score, error) {
		return accuracy.ScoreSummaries(ctx, log, p.targets, decode, form, o.DType)
	}
}

// mixed marks texts by ROUGE, numbers by whether they are right, and programs, if they are to be
// executed, by whether they pass their tests.
func mixed(ctx context.Context, log accuracy.Input, p *questionnaire, decode accuracy.Decoder, o markOptions) (*accuracy.Score, error) {
	var runner *coderun.Runner
	if o.execute {
		runner = coderun.New()
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

// executed says how programs were run, if any were.
func executed(score *accuracy.Score, by *coderun.Runner) *accuracy.Score {
	if by != nil {
		score.Warnings = append(score.Warnings, "programs that the model wrote were executed "+by.Isolation())
	}
	return score
}

// score scores a log of tokens as the evaluation script does: what is in it counts, each sample once.
func (w writer) score(ctx context.Context, log accuracy.Input, s workload.Scoring) (*accuracy.Score, error) {
	from := source{folder: s.DatasetDir, tokenizer: s.Options[tokenizerOption], scored: true}
	data, err := w.read(from)
	if err != nil {
		return nil, err
	}
	words, err := from.openTokenizer()
	if err != nil {
		return nil, err
	}
	execute, err := s.Options.On(executeOption)
	if err != nil {
		return nil, err
	}
	special := hf.SkipSpecial
	if w.asked.keepSpecial {
		special = hf.KeepSpecial
	}
	decode := func(ids []int32) (string, error) { return words.Decode(ids, special) }
	return w.marks(ctx, log, data, decode, markOptions{
		ProgramOptions: accuracy.ProgramOptions{DType: w.dtype(s.Options), Progress: s.Progress},
		execute:        execute, scoring: s,
	})
}

// dtype is the type of the numbers in a log: by default that of the logs which the benchmark writes.
func (w writer) dtype(v workload.Values) accuracy.DType {
	switch own := accuracy.DType(strings.ToLower(v[dtypeOption])); {
	case own != "":
		return own
	case w.rules.Width == 8:
		return accuracy.Int64
	}
	return accuracy.Int32
}
