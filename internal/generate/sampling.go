package generate

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// A Sampling says how a token is drawn from its scores. The zero value draws nothing: the likeliest one
// is taken.
type Sampling struct {
	Temperature float64 // scores are divided by it; 0: the likeliest token is taken
	TopK        int     // of so many likeliest tokens; 0: of all
	TopP        float64 // of the likeliest ones that together have this probability; 0 or 1: of all
	Seed        uint64
}

// Check finds what cannot be.
func (s Sampling) Check() error {
	switch {
	case !(s.Temperature >= 0) || math.IsInf(s.Temperature, 0):
		return fmt.Errorf("temperature is %v, want 0 or more", s.Temperature)
	case s.TopK < 0:
		return fmt.Errorf("top_k is %d, want 0 or more", s.TopK)
	case !(s.TopP >= 0 && s.TopP <= 1):
		return fmt.Errorf("top_p is %v, want 0 to 1", s.TopP)
	}
	return nil
}

// Draws reports whether anything is left to chance.
func (s Sampling) Draws() bool { return s.Temperature > 0 && s.TopK != 1 }

// String says in words how tokens are chosen.
func (s Sampling) String() string {
	if !s.Draws() {
		return "the likeliest token is taken"
	}
	return fmt.Sprintf("tokens are drawn at temperature %v, top_k %d, top_p %v, seed %d", s.Temperature, s.TopK, s.TopP, s.Seed)
}

// A sampler draws tokens. What it draws follows from the seed, the sample and the number of the token: not
// from what else is under way. It keeps its memory, and is for one goroutine.
type sampler struct {
	Sampling
	list []scored
}

// A scored is a token with its score, or its probability.
type scored struct {
	token int
	score float64
}

func newSampler(s Sampling, rows int64) *sampler {
	return &sampler{Sampling: s, list: make([]scored, 0, rows)}
}

// draw draws token n of a sample's answer. Tokens that are not allowed, or whose scores are no numbers, are never
// drawn; 0 is if there is no other.
func (s *sampler) draw(logits []float32, sample, n int, banned []int32) int {
	s.list = s.list[:0]
	for token, v := range logits {
		if v == v && !slices.Contains(banned, int32(token)) {
			s.list = append(s.list, scored{token, float64(v)})
		}
	}
	if len(s.list) == 0 {
		return 0
	}
	slices.SortFunc(s.list, func(a, b scored) int { return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.token, b.token)) })
	if s.TopK > 0 {
		s.list = s.list[:min(s.TopK, len(s.list))]
	}
	stream := rand.NewPCG(s.Seed, uint64(sample)<<32|uint64(uint32(n)))
	return s.list[s.among(float64(stream.Uint64()>>11)*0x1p-53)].token
}

// nucleus returns how many of the first in the list reach a sum, and the sum that they have.
func (s *sampler) nucleus(enough float64) (kept int, sum float64) {
	for kept < len(s.list) && sum < enough {
		sum += s.list[kept].score
		kept++
	}
	return kept, sum
}

// among finds the place in the list that a number from 0 to 1 falls on.
func (s *sampler) among(chance float64) int {
	best, total := s.list[0].score, 0.0
	for i := range s.list {
		s.list[i].score = math.Exp((s.list[i].score - best) / s.Temperature)
		total += s.list[i].score
	}
	kept := len(s.list)
	if s.TopP > 0 && s.TopP < 1 {
		kept, total = s.nucleus(s.TopP * total)
	}
	left := chance * total
	for i := range kept {
		if left -= s.list[i].score; left < 0 {
			return i
		}
	}
	return kept - 1
}
