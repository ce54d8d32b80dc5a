package generative

import (
	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/models/decode"
	"github.com/mlperf-go/mlperf/internal/models/workload"
)

// gptOSS is gpt-oss-120b (rules since v6.0). Tests of accuracy have a data set of their own.
func gptOSS() workload.Model {
	w := benchmark{
		// language/gpt-oss-120b/README.md, "Generation Configuration". Answers end with
		// <|return|> or <|call|>, which are a part of them.
		rules:  decode.Rules{Stop: []int32{200002, 200012}, MinNew: 1, MaxNew: 10240, Width: 4},
		read:   readOSS,
		scorer: reasoning(accuracy.HarmonyForm, 6),
		remote: remoteRules{keepSpecial: true, temperature: 1, maxScored: 32768},
	}
	return workload.Model{
		Name:    "gpt-oss-120b",
		Title:   "gpt-oss-120b, three sets of questions",
		Task:    "reasoned answers of up to 10240 tokens, and 32768 to AIME 2025, GPQA and LiveCodeBench v6",
		Dataset: "gpt-oss-120b",
		BuiltIn: workload.Questions{Form: "gpt-oss-120b", Samples: 64},
		Source:  "https://huggingface.co/openai/gpt-oss-120b",
		Papers:  []string{"OpenAI, gpt-oss-120b & gpt-oss-20b Model Card, 2025, arXiv:2508.10925"},

		Rules: config.Model{
			Name:   "gpt-oss-120b",
			Sample: &config.SampleSize{InValues: 15330, OutValues: 10000}, // performance mode
		},
		PerformanceSampleCount: 6396,
		Repeats:                8, // language/gpt-oss-120b: questions of AIME 2025; those of GPQA 5 times, of LiveCodeBench 3
		// There is no reference of tokens per sample: 9999 is what the checker has in its place.
		Quality:       workload.Quality{Metric: "exact_match", Fraction: 0.99},
		OpenRemote:    w.openRemote,
		Score:         w.score,
		RemoteOptions: remoteOptions(executionChoice(), testsChoice()),
		ScoreOptions:  reasoningScoreOptions(),
	}
}

// readOSS reads the prompts of performance, or those of accuracy, which have answers.
func readOSS(s source) (*promptSet, error) {
	if s.scored {
		return readReasoning("acc/acc_eval_ref.parquet", "acc/acc_eval_inputs.parquet", "acc_eval_ref.parquet", "acc_eval_inputs.parquet",
			"acc_eval_inputs.pkl")(s)
	}
	t, err := s.read("perf/perf_eval_ref.parquet", "perf_eval_ref.parquet", "perf_eval_ref.pkl")
	if err != nil {
		return nil, err
	}
	return readTokens(t)
}
