package decode

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// A Sampling says how a token is chosen by its score. The zero value is greedy.
type Sampling struct {
	Temperature float64 // scores are divided by it; 0: greedy
	TopK        int     // draws from the K likeliest tokens; 0: all
	TopP        float64 // draws from the likeliest tokens with this total probability; 0 or 1: all
	Seed        uint64
}

// Check checks the ranges.
func (s Sampling) Check() error {
	switch {
	case !(s.Temperature >= 0) || math.IsInf(s.Temperature, 0):
		return fmt.Errorf("temperature is %v: must be 0 or more", s.Temperature)
	case s.TopK < 0:
		return fmt.Errorf("top_k is %d: must be 0 or more", s.TopK)
	case !(s.TopP >= 0 && s.TopP <= 1):
		return fmt.Errorf("top_p is %v: must be 0 to 1", s.TopP)
	}
	return nil
}

// Draws reports whether tokens are drawn at random.
func (s Sampling) Draws() bool { return s.Temperature > 0 && s.TopK != 1 }

// String describes how tokens are chosen.
func (s Sampling) String() string {
	if !s.Draws() {
		return "the likeliest token is taken"
	}
	return fmt.Sprintf("tokens are drawn at temperature %v, top_k %d, top_p %v, seed %d", s.Temperature, s.TopK, s.TopP, s.Seed)
}

// A sampler draws tokens. A draw depends on the seed, the sample and the position of the token only, not on other samples.
// It reuses its memory, and is for one goroutine.
type sampler struct {
	Sampling
	list []scoredToken
}

// A scoredToken has a score, or later a probability.
type scoredToken struct {
	token int
	score float64
}

func newSampler(s Sampling, rows int64) *sampler {
	return &sampler{Sampling: s, list: make([]scoredToken, 0, rows)}
}

// draw draws token n of a sample's answer. Banned tokens, and tokens whose score is NaN, are never drawn; if no token is left
// it returns 0.
func (s *sampler) draw(logits []float32, sample, n int, banned []int32) int {
	s.list = s.list[:0]
	for token, v := range logits {
		if v == v && !slices.Contains(banned, int32(token)) {
			s.offer(scoredToken{token, float64(v)})
		}
	}
	if len(s.list) == 0 {
		return 0
	}
	stream := rand.NewPCG(s.Seed, uint64(sample)<<32|uint64(uint32(n)))
	return s.pick(float64(stream.Uint64()>>11) * 0x1p-53)
}

// offer adds a token to the list; with TopK only the likeliest, in order.
func (s *sampler) offer(t scoredToken) {
	if s.TopK > 0 && len(s.list) == s.TopK {
		if t.compare(s.list[len(s.list)-1]) > 0 {
			return
		}
		s.list = s.list[:len(s.list)-1]
	}
	at := len(s.list)
	if s.TopK > 0 {
		at, _ = slices.BinarySearchFunc(s.list, t, scoredToken.compare)
	}
	s.list = slices.Insert(s.list, at, t)
}

// compare puts the likelier token first, and of equally likely ones the lower id.
func (t scoredToken) compare(other scoredToken) int {
	return cmp.Or(cmp.Compare(other.score, t.score), cmp.Compare(t.token, other.token))
}

// pick returns the token that a number from 0 to 1 falls on, in the order of their probabilities.
func (s *sampler) pick(chance float64) int {
	total := s.weigh()
	if s.TopP > 0 && s.TopP < 1 {
		s.list = s.list[:s.first(s.TopP*total)]
		kept, sum := 0, 0.0
		for kept < len(s.list) && sum < s.TopP*total {
			sum += s.list[kept].score
			kept++
		}
		s.list, total = s.list[:kept], sum
	}
	left := chance * total
	likely := s.list[:s.first(left)]
	for _, t := range likely {
		if left -= t.score; left < 0 {
			return t.token
		}
	}
	return likely[len(likely)-1].token
}

// weigh replaces scores by probabilities relative to the greatest, and returns their sum.
func (s *sampler) weigh() (total float64) {
	best := s.list[0].score
	for _, t := range s.list {
		best = max(best, t.score)
	}
	for i := range s.list {
		s.list[i].score = math.Exp((s.list[i].score - best) / s.Temperature)
		total += s.list[i].score
	}
	return total
}

// first sorts the likeliest tokens to the beginning of the list, at least so many that their probabilities exceed sum, and
// returns their number. Sorting a vocabulary of a hundred thousand tokens would take longer than a step of a model.
func (s *sampler) first(sum float64) (n int) {
	const finer, finest = 1.0 / 64, 1e-9
	for least := finer; ; least *= finer {
		if least < finest {
			least = 0
		}
		n = 0
		found := 0.0
		for i, t := range s.list {
			if t.score >= least {
				s.list[i], s.list[n] = s.list[n], t
				found += t.score
				n++
			}
		}
		if found > sum || n == len(s.list) {
			slices.SortFunc(s.list[:n], scoredToken.compare)
			return n
		}
	}
}
