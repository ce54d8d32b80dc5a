package accuracy

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/mlperf-go/mlperf/internal/machine/workerpool"
)

// resamples is how many times a score is computed again: enough to know its standard deviation within 5 %.
const resamples = 200

// resample computes a score of resamples sets of n samples, drawn from all n with replacement:
// weights say how often each one was drawn. The sets depend on n only,
// so that those of two systems pair up, and the differences of their scores serve a paired bootstrap
// (Efron and Tibshirani, An Introduction to the Bootstrap, 1993; for BLEU: Koehn, EMNLP 2004).
// New makes a function for each goroutine. nil: a set has no score, as one whose references have no words.
func resample(n int, new func() func(weights []int) float64) []float64 {
	scores := make([]float64, resamples)
	workerpool.ComputeWith(0, resamples, func() func(int) {
		weights, score := make([]int, n), new()
		return func(i int) {
			draw(weights, uint64(i))
			scores[i] = score(weights)
		}
	})
	if slices.ContainsFunc(scores, func(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) }) {
		return nil
	}
	return scores
}

// resampleSeed is the seed of these sets alone.
const resampleSeed = 0x6d6c706572662d67

// draw fills in how often each sample is in a set.
func draw(weights []int, set uint64) {
	clear(weights)
	random := rand.New(rand.NewPCG(resampleSeed, set))
	for range weights {
		weights[random.IntN(len(weights))]++
	}
}

// resampleSums is resample for a score of n sums, to which each sample adds its part. A sample without a part is not in
// the log, and so in no set.
func resampleSums[N int | uint64 | float64](parts [][]N, n int, score func(sums []N) float64) []float64 {
	parts = slices.DeleteFunc(slices.Clone(parts), func(part []N) bool { return part == nil })
	return resample(len(parts), func() func([]int) float64 {
		sums := make([]N, n)
		return func(weights []int) float64 {
			clear(sums)
			for i, w := range weights {
				for k, v := range parts[i] {
					sums[k] += N(w) * v
				}
			}
			return score(sums)
		}
	})
}

// resampleMean is resample for a score that is a mean over the samples.
func resampleMean(values []float64) []float64 {
	parts := make([][]float64, len(values))
	for i := range values {
		parts[i] = values[i : i+1]
	}
	return resampleSums(parts, 1, func(sums []float64) float64 { return sums[0] / float64(len(values)) })
}
