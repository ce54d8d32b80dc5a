package generative

import (
	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/models/decode"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/onnx/arch"
)

// gptJWriter decodes as the reference does.
func gptJWriter() benchmark {
	return benchmark{
		// language/gpt-j/backend_PyTorch.py: gen_kwargs.
		rules:  decode.Rules{Stop: []int32{50256}, MinNew: 30, MaxNew: 128, Width: 8},
		beams:  4,
		read:   readInstructions,
		scorer: summaries(accuracy.QuotedForm),
	}
}

// gptJ is GPT-J 6B on CNN/DailyMail (rules v3.1 to v5.0).
func gptJ() workload.Model {
	w := gptJWriter()
	return workload.Model{
		Name:    "gpt-j",
		Title:   "GPT-J 6B, CNN/DailyMail",
		Task:    "summaries of news, CNN/DailyMail 3.0.0, 4 beams, 30 to 128 tokens",
		Dataset: cnnDailyMail,
		BuiltIn: workload.Recipe{Parts: []workload.Part{{Role: workload.Only, Network: arch.SmallGPTJ(), Full: arch.GPTJ()}}, Samples: 24, TokenBytes: 8},
		Source:  "https://huggingface.co/EleutherAI/gpt-j-6b (an export of onnxruntime-genai or Optimum of MLCommons' checkpoint)",
		Papers: []string{
			"Wang and Komatsuzaki, GPT-J-6B: A 6 Billion Parameter Autoregressive Language Model, 2021, github.com/kingoflolz/mesh-transformer-jax",
		},

		Rules: config.Model{
			Name:    "gptj",
			Aliases: []string{"gpt-j", "gptj-6b", "gptj-99", "gptj-99.9"},
			Sample:  &config.SampleSize{InValues: 2048},
		},
		PerformanceSampleCount: 13368,
		Quality:                workload.Quality{Metric: rougeOne, Fraction: 0.99},
		Files:                  decoderFiles,
		Open:                   w.open,
		Score:                  w.score,

		Options:      decoderOptions(),
		ScoreOptions: textScoreOptions(),
	}
}

// gptJHighAccuracy is the same benchmark with a stricter target.
func gptJHighAccuracy() workload.Model {
	m := gptJ()
	m.Name = "gpt-j-99.9"
	m.Title += ", 99.9 % of the accuracy"
	m.Quality.Fraction, m.Rules.Strict = 0.999, true
	return m
}
