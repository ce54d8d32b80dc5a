package generative

import (
	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/models/decode"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/onnx/arch"
)

// mixtral is Mixtral 8x7B on OpenOrca, GSM8K and MBXP (rules v4.1 to v6.0).
func mixtral() workload.Model {
	w := benchmark{
		// language/mixtral-8x7b/SUT.py and dataset.py: the token that ends an answer is no part of it.
		rules:  decode.Rules{Stop: []int32{2}, Drop: true, MinNew: 2, MaxNew: 1024, Width: 4},
		read:   readMixed,
		scorer: scoreMixed,
		remote: remoteRules{bos: 1},
	}
	return workload.Model{
		Name:    "mixtral-8x7b",
		Aliases: []string{"mixtral"},
		Title:   "Mixtral 8x7B Instruct, OpenOrca, GSM8K and MBXP",
		Task:    "answers to questions, numbers and programs, up to 1024 tokens",
		Dataset: mixtralSet,
		BuiltIn: workload.Recipe{Parts: []workload.Part{{Role: workload.Only, Network: arch.SmallMixtral(), Full: arch.Mixtral()}}, Samples: 32,
			TokenBytes: 4},
		Source: "https://huggingface.co/mistralai/Mixtral-8x7B-Instruct-v0.1 (an export of onnxruntime-genai or Optimum)",
		Papers: []string{"Jiang et al., Mixtral of Experts, 2024, arXiv:2401.04088"},

		Rules: config.Model{
			Name:    "mixtral-8x7b",
			Sample:  &config.SampleSize{InValues: 2048, OutValues: 2048},
			Earlier: []config.EarlierSize{{Before: "v5.0", SampleSize: config.SampleSize{InValues: 2048}}},
		},
		PerformanceSampleCount: 15000,
		Quality:                workload.Quality{Metric: rougeOne, Fraction: 0.99},
		Files:                  decoderFiles,
		Open:                   w.open,
		OpenRemote:             w.openRemote,
		Score:                  w.score,

		Options:       append(decoderOptions(), executionChoice()),
		RemoteOptions: remoteOptions(executionChoice()),
		ScoreOptions:  append(textScoreOptions(), executionChoice()),
	}
}
