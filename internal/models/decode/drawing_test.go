package decode

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// plainly draws as the rules say it: all tokens in order, the first ones kept, and the one on which a chance falls.
func plainly(s Sampling, logits []float32, chance float64, banned []int32) int {
	var order []int
	for token, v := range logits {
		if v == v && !slices.Contains(banned, int32(token)) {
			order = append(order, token)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(logits[b], logits[a]) })
	if s.TopK > 0 {
		order = order[:min(s.TopK, len(order))]
	}
	weight := func(token int) float64 { return math.Exp(float64(logits[token]-logits[order[0]]) / s.Temperature) }
	sum := func(tokens []int) (total float64) {
		for _, token := range tokens {
			total += weight(token)
		}
		return total
	}
	kept := len(order)
	if s.TopP > 0 && s.TopP < 1 {
		for kept = 1; sum(order[:kept]) < s.TopP*sum(order); kept++ {
		}
	}
	left := chance * sum(order[:kept])
	for _, token := range order[:kept] {
		if left -= weight(token); left < 0 {
			return token
		}
	}
	return order[kept-1]
}

func TestTokensAreDrawnAsIfAllWereInOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 1))
	for n := range 600 {
		s := Sampling{Temperature: []float64{0.02, 0.3, 1, 50}[r.IntN(4)], TopK: []int{0, 0, 2, 7, 1000}[r.IntN(5)], TopP: []float64{0, 1, 0.5, 0.999}[r.IntN(4)], Seed: 5}
		logits := make([]float32, 1+r.IntN(60))
		for i := range logits {
			logits[i] = float32(math.Round(20*r.NormFloat64()) / 5) // some are equal
			if r.IntN(20) == 0 {
				logits[i] = []float32{float32(math.NaN()), float32(math.Inf(-1)), -1000}[r.IntN(3)]
			}
		}
		logits[0] = 1
		banned := []int32{int32(1 + r.IntN(60)), int32(1 + r.IntN(60))}
		chance := float64(rand.NewPCG(s.Seed, uint64(n)<<32|9).Uint64()>>11) * 0x1p-53
		if got, want := newSampler(s, 60).draw(logits, n, 9, banned), plainly(s, logits, chance, banned); got != want {
			t.Fatalf("%+v, chance %v of %v without %v: token %d is drawn, want %d", s, chance, logits, banned, got, want)
		}
	}
}

// The last one that is kept is drawn where sums are rounded so that a chance falls behind it.
func TestAChanceBehindTheLastTokenIsTheLast(t *testing.T) {
	s := newSampler(Sampling{Temperature: 1, TopK: 2}, 4)
	for _, token := range []scored{{3, 0}, {1, 0}, {2, -1}} {
		s.offer(token)
	}
	if got := s.among(1); got != 3 {
		t.Errorf("token %d is drawn, want 3", got)
	}
}
