package generative

import (
	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/models/workload"
)

// qwen36 is Qwen3.6-27B as an agent at the edge (rules since v6.1): recorded conversations for speed, calls of functions for accuracy.
func qwen36() workload.Model {
	return workload.Model{
		Name:    "qwen3.6-27b",
		Title:   "Qwen3.6-27B, edge-agentic",
		Task:    "function calls (BFCL v4), a single turn each, and the turns of 20 recorded conversations of programmers",
		Dataset: "bfcl",
		BuiltIn: workload.Questions{Form: "qwen3.6-27b", Samples: 72},
		Source:  "https://huggingface.co/Qwen/Qwen3.6-27B",
		Notes: []string{
			"performance sends the turns of recorded conversations in their order, each behind the recorded answers; accuracy asks 995 questions of BFCL",
			"the targets are those of the rules, 97 % of two scores; the submission checker lists 99 % of the first (85.3677, called mAP), which it does not compare",
			"the official server: llama.cpp with temperature 0, seed 42, --reasoning off --ctx-size 32768 -np 1; the client cannot see its options",
		},
		Papers: []string{"Patil et al., The Berkeley Function Calling Leaderboard (BFCL): From Tool Use to Agentic Evaluation of Large Language Models, ICML 2025"},

		Rules:                  config.Model{Name: "qwen3.6-27b"},
		PerformanceSampleCount: 1007,
		DatasetSamples:         995,
		Turns:                  1007,
		// language/edge-agentic/README.md: 3 % below 86.23 and 87.96.
		Quality: workload.Quality{Metric: accuracy.OverallCalls, Reference: 86.23, Fraction: 0.97, OwnTargets: true,
			Also: []workload.Bound{{Metric: accuracy.NormalizedCalls, Least: 0.97 * 87.96}}},
		OpenRemote:    openCalls,
		Score:         scoreCalls,
		RemoteOptions: remoteOptions(),
	}
}
