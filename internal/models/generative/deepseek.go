package generative

import (
	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/dataset/prompts"
	"github.com/mlperf-go/mlperf/internal/models/decode"
	"github.com/mlperf-go/mlperf/internal/models/workload"
)

// deepSeekR1 is DeepSeek-R1 on questions of mathematics, science and programming (rules since v5.1).
func deepSeekR1() workload.Model {
	w := benchmark{
		// language/deepseek-r1, utils/backend_registry.py.
		rules:  decode.Rules{Stop: []int32{1}, MinNew: 1, MaxNew: 20000, Width: 4},
		read:   readReasoning("mlperf_deepseek_r1_dataset_4388_fp8_eval.pkl", "deepseek_r1_eval.parquet"),
		scorer: reasoning(accuracy.DeepSeekForm, 1),
		remote: remoteRules{},
	}
	return workload.Model{
		Name:    "deepseek-r1",
		Title:   "DeepSeek-R1, five sets of questions",
		Task:    "reasoned answers of up to 20000 tokens, AIME, MATH-500, GPQA, MMLU-Pro and LiveCodeBench",
		Dataset: "deepseek-r1",
		BuiltIn: workload.Questions{Form: "deepseek-r1", Samples: 64},
		Source:  "https://huggingface.co/deepseek-ai/DeepSeek-R1",
		Papers: []string{
			"DeepSeek-AI, DeepSeek-R1: Incentivizing Reasoning Capability in LLMs via Reinforcement Learning, 2025, arXiv:2501.12948",
		},

		Rules: config.Model{
			Name:    "deepseek-r1",
			Sample:  &config.SampleSize{InValues: 3136, OutValues: 20000},
			Earlier: []config.EarlierSize{{Before: "v6.0", SampleSize: config.SampleSize{InValues: 3136, OutValues: 32768}}},
		},
		PerformanceSampleCount: 4388,
		Quality:                workload.Quality{Metric: "exact_match", Fraction: 0.99},
		OpenRemote:             w.openRemote,
		Score:                  w.score,
		RemoteOptions:          remoteOptions(executionChoice(), testsChoice()),
		ScoreOptions:           reasoningScoreOptions(),
	}
}

// readReasoning reads questions of several data sets with their answers.
func readReasoning(names ...string) func(source) (*promptSet, error) {
	return func(s source) (*promptSet, error) {
		q, err := s.readRows("ground_truth", func(q *promptSet, t *prompts.Table, i int) error {
			set, err := t.Text(i, "dataset")
			if err != nil {
				return err
			}
			q.reasoned = append(q.reasoned, accuracy.Reasoning{Dataset: set, Wanted: q.targets[i]})
			if text, err := t.Text(i, "text_input"); err == nil {
				q.questions = append(q.questions, text)
			}
			return nil
		}, names...)
		if err != nil {
			return nil, err
		}
		if len(q.questions) != len(q.tokens) {
			q.questions = nil // the file has tokens only
		}
		return q, nil
	}
}
