package generative

import (
	"context"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/generate"
	"github.com/mlperf-go/mlperf/internal/workload"
)

// Llama405B is Llama 3.1 405B on long prompts (rules v5.0 to v6.0), as far as scoring a log
// goes: it is not run here.
func Llama405B() workload.Model {
	w := writer{rules: generate.Rules{Width: 4}, read: readLong, marks: long}
	return workload.Model{
		Name:    "llama3.1-405b",
		Aliases: []string{"llama3_1-405b"},
		Title:   "Llama 3.1 405B Instruct, long prompts",
		Task:    "answers to long prompts, up to 20000 tokens",
		Rules:   config.Model{Name: "llama3_1-405b"},
		// tools/submission, constants.py; "exact_match" has a target too, of 90.1335.
		Quality:      workload.Quality{Metric: "rougeL", Reference: 21.6666, Fraction: 0.99},
		Score:        w.score,
		ScoreOptions: textScoreOptions(),
	}
}

// readLong reads the prompts as they are published, or a list of the same columns.
func readLong(s source) (*questionnaire, error) {
	t, err := s.read("mlperf_llama3.1_405b_dataset_8313_processed_fp16_eval.pkl", "llama3.1_405b.json")
	if err != nil {
		return nil, err
	}
	q, err := take(t, "gt_output")
	if err != nil {
		return nil, err
	}
	for i, wanted := range q.targets {
		metric, err := t.Text(i, "metric")
		if err != nil {
			return nil, err
		}
		q.long = append(q.long, accuracy.LongText{Wanted: wanted, Metric: metric})
	}
	return q, nil
}

// long marks texts by ROUGE-L or exact matches, as each says.
func long(log accuracy.Input, p *questionnaire, decode accuracy.Decoder, o markOptions) (*accuracy.Score, error) {
	score, err := accuracy.ScoreLongTexts(context.Background(), log, p.long, decode, o.TokenOptions)
	if err != nil {
		return nil, err
	}
	return &score.Score, nil
}
