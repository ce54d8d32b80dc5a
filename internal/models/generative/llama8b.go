package generative

import (
	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/models/decode"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/onnx/arch"
)

// The data sets of the family.
const (
	cnnDailyMail = "cnn_dailymail"
	openOrca     = "open-orca"
	mixtralSet   = "mixtral"
)

// smallDecoder is what stands in for decoders that are too large to be made without being asked for.
func smallDecoder() arch.Architecture { return arch.SmallLlama(arch.FusedDecoder) }

// llama8B is Llama 3.1 8B on CNN/DailyMail (rules since v5.1).
func llama8B() workload.Model { return llama8BOn(readArticles) }

// llama8BOn is Llama 3.1 8B on the articles that are read so.
func llama8BOn(read func(source) (*promptSet, error)) workload.Model {
	w := benchmark{
		// language/llama3.1-8b/SUT_VLLM.py, and the model's generation_config.json.
		rules:  decode.Rules{Stop: []int32{128001, 128008, 128009}, MinNew: 1, MaxNew: 128, Width: 4},
		read:   read,
		scorer: summaries(accuracy.QuotedForm),
		remote: remoteRules{bos: 128000},
	}
	return workload.Model{
		Name:    "llama3.1-8b",
		Aliases: []string{"llama3-8b"},
		Title:   "Llama 3.1 8B Instruct, CNN/DailyMail",
		Task:    "summaries of news, CNN/DailyMail 3.0.0, up to 128 tokens",
		Dataset: cnnDailyMail,
		BuiltIn: workload.Recipe{Parts: []workload.Part{{Role: workload.Only, Network: smallDecoder(), Full: arch.Llama8B()}}, Samples: 64, TokenBytes: 4},
		Source:  "https://huggingface.co/meta-llama/Llama-3.1-8B-Instruct (an export of onnxruntime-genai or Optimum)",
		Papers:  []string{"Grattafiori et al., The Llama 3 Herd of Models, 2024, arXiv:2407.21783"},

		Rules: config.Model{
			Name:    "llama3_1-8b",
			Aliases: []string{"llama3.1-8b", "llama3.1-8b-instruct"},
			Sample:  &config.SampleSize{InValues: 2048},
		},
		PerformanceSampleCount: 13368,
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

// llama8BEdge is the same benchmark on 5000 articles, for the edge.
func llama8BEdge() workload.Model {
	m := llama8BOn(readEdgeArticles)
	m.Name = "llama3.1-8b-edge"
	m.Aliases = nil
	m.Title += ", 5000 articles"
	m.Rules = config.Model{
		Name:    "llama3_1-8b-edge",
		Aliases: []string{"llama3.1-8b-edge"},
	}
	m.PerformanceSampleCount = 5000
	return m
}
