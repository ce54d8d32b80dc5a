package generative

import (
	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/models/decode"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/onnx/arch"
)

// llama70B is Llama 2 70B on OpenOrca (rules since v4.0).
func llama70B() workload.Model {
	w := benchmark{
		// language/llama2-70b/SUT.py.
		rules:  decode.Rules{Stop: []int32{2}, MinNew: 1, MaxNew: 1024, Width: 4},
		read:   readOrca,
		scorer: summaries(accuracy.CountedForm),
		remote: remoteRules{bos: 1},
	}
	return workload.Model{
		Name:    "llama2-70b",
		Title:   "Llama 2 70B chat, OpenOrca",
		Task:    "answers to questions, OpenOrca, up to 1024 tokens",
		Dataset: openOrca,
		BuiltIn: workload.Recipe{Parts: []workload.Part{{Role: workload.Only, Network: smallDecoder(), Full: arch.Llama70B()}}, Samples: 32, TokenBytes: 4},
		Source:  "https://huggingface.co/meta-llama/Llama-2-70b-chat-hf (an export of onnxruntime-genai or Optimum)",
		Papers:  []string{"Touvron et al., Llama 2: Open Foundation and Fine-Tuned Chat Models, 2023, arXiv:2307.09288"},

		Rules: config.Model{
			Name:    "llama2-70b",
			Aliases: []string{"llama2-70b-99", "llama2-70b-99.9", "llama2-70b-chat"},
			Sample:  &config.SampleSize{InValues: 1024, OutValues: 1024},
			Earlier: []config.EarlierSize{{Before: "v5.0", SampleSize: config.SampleSize{InValues: 1024}}},
		},
		PerformanceSampleCount: 24576,
		Quality:                workload.Quality{Metric: rougeOne, Fraction: 0.99},
		Files:                  decoderFiles,
		Open:                   w.open,
		OpenRemote:             w.openRemote,
		Score:                  w.score,

		Options:       decoderOptions(),
		RemoteOptions: remoteOptions(),
		ScoreOptions:  textScoreOptions(),
	}
}

// llama70BHighAccuracy is the same benchmark with a stricter target.
func llama70BHighAccuracy() workload.Model {
	m := llama70B()
	m.Name = "llama2-70b-99.9"
	m.Title += ", 99.9 % of the accuracy"
	m.Quality.Fraction, m.Rules.Strict = 0.999, true
	return m
}
