package text

import (
	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/onnx/arch"
)

// bert is BERT-large on SQuAD v1.1 (rules v0.7 to v6.1).
func bert() workload.Model {
	return workload.Model{
		Name:    "bert",
		Title:   "BERT-large SQuAD v1.1",
		Task:    "questions about texts, SQuAD v1.1, windows of 384 pieces",
		Dataset: "squad",
		BuiltIn: workload.Recipe{
			Parts:     []workload.Part{{Role: workload.Only, Network: arch.BERT(), Layers: 3, Usual: windowLength}},
			Samples:   500,
			Reference: workload.Values{padOption: padLongest},
		},
		Source: "https://zenodo.org/record/3733910/files/model.onnx",
		Papers: []string{
			"Devlin et al., BERT: Pre-training of Deep Bidirectional Transformers for Language Understanding, NAACL 2019, arXiv:1810.04805",
		},

		Rules: config.Model{
			Name:    "bert",
			Aliases: []string{"bert-large", "bert-99", "bert-99.9"},
			Sample:  &config.SampleSize{InValues: 3 * windowLength},
		},
		PerformanceSampleCount: 10833,
		Quality:                workload.Quality{Metric: "f1", Fraction: 0.99},
		Attends:                true,
		Open:                   openSquad(false),
		Score:                  scoreSquad,

		Options:      squadOptions(),
		ScoreOptions: squadScoreOptions(),
	}
}

// bertHighAccuracy is the same benchmark with a stricter target.
func bertHighAccuracy() workload.Model {
	m := bert()
	m.Name = "bert-99.9"
	m.Title += ", 99.9 % of the accuracy"
	m.Quality.Fraction, m.Rules.Strict = 0.999, true
	return m
}
