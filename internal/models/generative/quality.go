package generative

import "github.com/mlperf-go/mlperf/internal/models/workload"

// quality is a target of ROUGE-1 and of what else the closed division asks for: the same fraction of
// other scores, and answers that are about as long as the official model's (tools/submission,
// constants.py, accuracy-target and accuracy-upper-limit).
func quality(fraction float64, scores map[string]float64, length workload.Bound) workload.Quality {
	q := workload.Quality{Metric: rougeOne, Reference: scores[rougeOne], Fraction: fraction}
	for _, name := range []string{"rouge2", "rougeL", "rougeLsum", "gsm8k", "mbxp"} {
		if reference, ok := scores[name]; ok {
			q.Also = append(q.Also, workload.Bound{Metric: name, Reference: reference, Least: fraction})
		}
	}
	q.Also = append(q.Also, length)
	return q
}

// exactMatch is the share of answers that are right.
const exactMatch = "exact_match"

// What answers are counted by.
const (
	genLen    = "gen_len"           // characters of all
	perSample = "tokens_per_sample" // tokens of one
)

func llama8BQuality() workload.Quality {
	return quality(0.99, map[string]float64{rougeOne: 38.7792, "rouge2": 15.9075, "rougeL": 24.4957, "rougeLsum": 35.793},
		workload.Bound{Metric: genLen, Reference: 8167644, Least: 0.9, Most: 1.1})
}

func llama8BEdgeQuality() workload.Quality {
	return quality(0.99, map[string]float64{rougeOne: 39.06, "rouge2": 16.1147, "rougeL": 24.6375, "rougeLsum": 36.124},
		workload.Bound{Metric: genLen, Reference: 3051113, Least: 0.9, Most: 1.1})
}

func llama70BQuality(fraction float64) workload.Quality {
	return quality(fraction, map[string]float64{rougeOne: 44.4312, "rouge2": 22.0352, "rougeL": 28.6162},
		workload.Bound{Metric: perSample, Reference: 294.45, Least: 0.9, Most: 1.1})
}

// The upper limit is still that of an earlier reference, 145.9 tokens.
func mixtralQuality() workload.Quality {
	return quality(0.99, map[string]float64{rougeOne: 45.5989, "rouge2": 23.3526, "rougeL": 30.4608, "gsm8k": 73.66, "mbxp": 60.16},
		workload.Bound{Metric: perSample, Reference: 144.84, Least: 0.9, Most: 1.1 * 145.9 / 144.84})
}

func llama405BQuality() workload.Quality {
	return workload.Quality{Metric: "rougeL", Reference: 21.6666, Fraction: 0.99, Also: []workload.Bound{
		{Metric: exactMatch, Reference: 90.1335, Least: 0.99}, {Metric: perSample, Reference: 684.68, Least: 0.9, Most: 1.1},
	}}
}

func gptJQuality(fraction float64) workload.Quality {
	return quality(fraction, map[string]float64{rougeOne: 42.9865, "rouge2": 20.1235, "rougeL": 29.9881},
		workload.Bound{Metric: genLen, Reference: 4016878, Least: 0.9})
}
