package text

import (
	"context"
	"slices"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/onnx/arch"
)

// mobileBERT is MobileBERT on SQuAD v1.1 of MLPerf Mobile; it is in no round of MLPerf Inference.
func mobileBERT() workload.Model {
	m := bert()
	m.Name = "mobilebert"
	m.Title = "MobileBERT SQuAD v1.1"
	m.BuiltIn = workload.Recipe{
		Parts:     []workload.Part{{Role: workload.Only, Network: arch.MobileBERT(), Usual: windowLength}},
		Samples:   500,
		Reference: workload.Values{padOption: padLongest},
	}
	m.Source = "https://github.com/mlcommons/mobile_open/raw/main/language/bert/models_and_code/onnx_model/mobilebert_squad11_int8_qdq_89.4f1.onnx"
	m.Rules = config.Model{Name: "mobilebert"}
	m.Papers = []string{"Sun et al., MobileBERT: a Compact Task-Agnostic BERT for Resource-Limited Devices, ACL 2020, arXiv:2004.02984"}
	// MLPerf Mobile (arXiv 2012.02328), table of the suite: 93 % of the FP32 model's F1 of 93.98 on mini-SQuAD v1.1 dev.
	m.Quality = workload.Quality{Metric: "f1", Reference: 93.98, Fraction: 0.93}
	m.Open = openSquad(true)
	m.Score = func(ctx context.Context, log accuracy.Input, s workload.Scoring) (*accuracy.Score, error) {
		return scoreSpans(log, s, true)
	}
	m.ScoreOptions = slices.DeleteFunc(squadScoreOptions(), func(o workload.Option) bool { return o.Name == transposedOption })
	return m
}
