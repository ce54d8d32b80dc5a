package generative

import (
	"context"
	"strings"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/tokenizer/hf"
	"github.com/mlperf-go/mlperf/internal/workload"
)

// The value by which benchmarks on texts are compared first.
const rougeOne = "rouge1"

// A marker scores a log of tokens, as an evaluation script does.
type marker func(log accuracy.Input, p *questionnaire, decode accuracy.Decoder, o accuracy.TokenOptions) (*accuracy.Score, error)

// summaries marks texts by ROUGE.
func summaries(form accuracy.SummaryForm) marker {
	return func(log accuracy.Input, p *questionnaire, decode accuracy.Decoder, o accuracy.TokenOptions) (*accuracy.Score, error) {
		score, err := accuracy.ScoreSummaries(context.Background(), log, p.targets, decode, form, o)
		if err != nil {
			return nil, err
		}
		return &score.Score, nil
	}
}

// mixed marks texts by ROUGE and numbers by whether they are right. Programs are not run.
func mixed(log accuracy.Input, p *questionnaire, decode accuracy.Decoder, o accuracy.TokenOptions) (*accuracy.Score, error) {
	score, err := accuracy.ScoreMixtral(context.Background(), log, p.mixed, decode, accuracy.MixtralOptions{TokenOptions: o})
	if err != nil {
		return nil, err
	}
	return &score.Score, nil
}

// score scores a log of tokens as the evaluation script does: what is in it counts, each sample once.
func (w writer) score(log accuracy.Input, s workload.Scoring) (*accuracy.Score, error) {
	from := source{folder: s.DatasetDir, tokenizer: s.Options[tokenizerOption]}
	data, err := w.read(from)
	if err != nil {
		return nil, err
	}
	words, err := from.openTokenizer()
	if err != nil {
		return nil, err
	}
	decode := func(ids []int32) (string, error) { return words.Decode(ids, hf.SkipSpecial) }
	return w.marks(log, data, decode, accuracy.TokenOptions{DType: w.dtype(s.Options)})
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
