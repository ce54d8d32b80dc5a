package generative

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/workload"
)

// The value by which benchmarks on texts are compared first.
const rougeOne = "rouge1"

// score scores a log of tokens as the evaluation scripts do: what is in it counts, each sample once.
func (w writer) score(log accuracy.Input, s workload.Scoring) (*accuracy.Score, error) {
	data, err := readSummaries(s.DatasetDir)
	if err != nil {
		return nil, err
	}
	path := s.Options[tokenizerOption]
	if path == "" {
		path = filepath.Join(s.DatasetDir, tokenizerFile)
	}
	words, err := readSpeller(path)
	if err != nil {
		return nil, err
	}
	score, err := accuracy.ScoreSummaries(context.Background(), log, data.targets, words.text, w.form, accuracy.TokenOptions{DType: w.dtype(s.Options)})
	if err != nil {
		return nil, err
	}
	return &score.Score, nil
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
