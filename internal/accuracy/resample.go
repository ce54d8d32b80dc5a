package accuracy

import (
	"math/rand/v2"

	"github.com/mlperf-go/mlperf/internal/parallel"
)

// Resamples is how many times a score is computed again. The standard deviation of so many is
// right within 5 %.
const Resamples = 200

// resample computes a score of Resamples sets of n samples that are drawn from the n that there
// are, with replacement: weights say how often each one was drawn. The sets depend on n only,
// so that those of two systems pair up: the differences of their scores are what a paired bootstrap
// wants (Efron and Tibshirani, An Introduction to the Bootstrap, 1993; for BLEU: Koehn, EMNLP 2004).
// New makes a function for each goroutine.
func resample(n int, new func() func(weights []int) float64) []float64 {
	scores := make([]float64, Resamples)
	parallel.ComputeWith(0, Resamples, func() func(int) {
		weights, score := make([]int, n), new()
		return func(i int) {
			draw(weights, uint64(i))
			scores[i] = score(weights)
		}
	})
	return scores
}

// resampleSeed is of these sets, and of nothing else.
const resampleSeed = 0x6d6c706572662d67

// draw fills in how often each sample is in a set.
func draw(weights []int, set uint64) {
	clear(weights)
	random := rand.New(rand.NewPCG(resampleSeed, set))
	for range weights {
		weights[random.IntN(len(weights))]++
	}
}

// resampleMean is resample for a score that is a mean over the samples.
func resampleMean(values []float64) []float64 {
	return resample(len(values), func() func([]int) float64 {
		return func(weights []int) float64 {
			sum := 0.0
			for i, w := range weights {
				sum += float64(w) * values[i]
			}
			return sum / float64(len(values))
		}
	})
}
