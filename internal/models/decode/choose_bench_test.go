package decode

import (
	"math/rand/v2"
	"testing"
)

// scoresOf are as many as a vocabulary of today has.
func scoresOf(n int) []float32 {
	r := rand.New(rand.NewPCG(1, 2))
	scores := make([]float32, n)
	for i := range scores {
		scores[i] = float32(3 * r.NormFloat64())
	}
	return scores
}

// BenchmarkChoose is what choosing one token of 128,256 takes.
func BenchmarkChoose(b *testing.B) {
	scores := scoresOf(128_256)
	b.Run("the likeliest", func(b *testing.B) {
		for b.Loop() {
			likeliest(scores)
		}
	})
	b.Run("but one", func(b *testing.B) {
		for b.Loop() {
			likeliestBut(scores, []int32{7, 8, 9})
		}
	})
	for name, s := range map[string]Sampling{
		"of the 50 likeliest": {Temperature: 1, TopK: 50}, "of nine tenths": {Temperature: 1, TopP: 0.9}, "of all": {Temperature: 1},
	} {
		b.Run(name, func(b *testing.B) {
			d, n := newSampler(s, int64(len(scores))), 0
			b.ReportAllocs()
			for b.Loop() {
				d.draw(scores, 1, n, nil)
				n++
			}
		})
	}
}
