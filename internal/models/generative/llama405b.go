package generative

import (
	"context"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/dataset/prompts"
	"github.com/mlperf-go/mlperf/internal/models/decode"
	"github.com/mlperf-go/mlperf/internal/models/workload"
)

// llama405B is Llama 3.1 405B on long prompts (rules v5.0 to v6.0).
func llama405B() workload.Model {
	w := benchmark{
		// language/llama3.1-405b/SUT_VLLM.py; the least number is that of the rules.
		rules:  decode.Rules{Stop: []int32{128001, 128008, 128009}, MinNew: 2, MaxNew: 2000, Width: 4},
		read:   readLong,
		scorer: scoreLong,
		remote: remoteRules{bos: 128000},
	}
	return workload.Model{
		Name:    "llama3.1-405b",
		Title:   "Llama 3.1 405B Instruct, long prompts",
		Task:    "answers to prompts of up to 20000 tokens, LongBench, RULER, GovReport and others",
		Dataset: "llama3.1-405b",
		BuiltIn: workload.Questions{Form: "llama3.1-405b", Samples: 64},
		Source:  "https://huggingface.co/meta-llama/Llama-3.1-405B-Instruct",
		Papers:  []string{"Grattafiori et al., The Llama 3 Herd of Models, 2024, arXiv:2407.21783"},

		Rules: config.Model{
			Name:    "llama3_1-405b",
			Aliases: []string{"llama3.1-405b"},
			Sample:  &config.SampleSize{InValues: 20000, OutValues: 20000},
		},
		PerformanceSampleCount: 8313,
		Quality:                workload.Quality{Metric: "rougeL", Fraction: 0.99},
		OpenRemote:             w.openRemote,
		Score:                  w.score,
		RemoteOptions:          remoteOptions(),
		ScoreOptions:           textScoreOptions(),
	}
}

// readLong reads the prompts as they are published, or a list of the same columns.
func readLong(s source) (*promptSet, error) {
	return s.readRows("gt_output", func(q *promptSet, t *prompts.Table, i int) error {
		metric, err := t.Text(i, "metric")
		q.long = append(q.long, accuracy.LongText{Wanted: q.targets[i], Metric: metric})
		return err
	}, "mlperf_llama3.1_405b_dataset_8313_processed_fp16_eval.pkl", "llama3.1_405b.json")
}

// scoreLong scores texts by ROUGE-L or exact matches, as each says.
func scoreLong(ctx context.Context, log accuracy.Input, p *promptSet, decode accuracy.Decoder, o scorerOptions) (*accuracy.Score, error) {
	return accuracy.ScoreLongTexts(ctx, log, p.long, decode, o.DType)
}
