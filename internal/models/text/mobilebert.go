package text

import (
	"context"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/models/workload"
)

// mobileBERT is MobileBERT on SQuAD v1.1, as MLPerf Mobile has it. No round of MLPerf
// Inference does.
func mobileBERT() workload.Model {
	m := bert()
	m.Name = "mobilebert"
	m.Title = "MobileBERT SQuAD v1.1"
	m.BuiltIn = workload.Recipe{
		Parts:     []workload.Part{{Role: workload.Only, Architecture: "mobilebert"}},
		Samples:   500,
		Reference: workload.Values{padOption: padLongest},
	}
	m.Source = "https://github.com/mlcommons/mobile_open/raw/main/language/bert/models_and_code/onnx_model/mobilebert_squad11_int8_qdq_89.4f1.onnx"
	m.Rules = config.Model{Name: "mobilebert"}
	// mobile_open, rules/mobile_inference_rules.adoc: F1 89.4 over all windows, of which 93 %
	// are asked for.
	m.Quality = workload.Quality{Metric: "f1", Reference: 89.4, Fraction: 0.93}
	m.Open = openSquad(true)
	m.Score = func(ctx context.Context, log accuracy.Input, s workload.Scoring) (*accuracy.Score, error) {
		return scoreSpans(log, s, true)
	}
	m.ScoreOptions = mobileScoreOptions()
	return m
}

// mobileScoreOptions are those of BERT, without the order of the logits.
func mobileScoreOptions() []workload.Option {
	var options []workload.Option
	for _, o := range squadScoreOptions() {
		if o.Name != transposedOption {
			options = append(options, o)
		}
	}
	return options
}
