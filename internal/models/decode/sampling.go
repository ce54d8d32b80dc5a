package decode

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
			s.offer(scored{token, float64(v)})
		}
	}
	if len(s.list) == 0 {
		return 0
	}
	stream := rand.NewPCG(s.Seed, uint64(sample)<<32|uint64(uint32(n)))
	return s.among(float64(stream.Uint64()>>11) * 0x1p-53)
}

// offer puts a token into the list: only of the likeliest, and in their order, if TopK says so.
func (s *sampler) offer(t scored) {
	if s.TopK > 0 && len(s.list) == s.TopK {
		if t.compare(s.list[len(s.list)-1]) > 0 {
			return
		}
		s.list = s.list[:len(s.list)-1]
	}
	at := len(s.list)
	if s.TopK > 0 {
		at, _ = slices.BinarySearchFunc(s.list, t, scored.compare)
	}
	s.list = slices.Insert(s.list, at, t)
}

// compare puts the likelier token first, and of equally likely ones that of the lower number.
func (t scored) compare(other scored) int {
	return cmp.Or(cmp.Compare(other.score, t.score), cmp.Compare(t.token, other.token))
}

// among finds the token that a number from 0 to 1 falls on, if they stand in the order of their probabilities.
func (s *sampler) among(chance float64) int {
	total := s.weigh()
	if s.TopP > 0 && s.TopP < 1 {
		s.list = s.list[:s.first(s.TopP*total)]
		kept := 0
		kept, total = s.nucleus(s.TopP * total)
		s.list = s.list[:kept]
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

// weigh makes probabilities of scores, as parts of the greatest, and adds them up.
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

// first puts the likeliest tokens in order to the beginning of the list, at least so many that their probabilities are more
// than a sum, and says how many. A vocabulary has a hundred thousand tokens, of which a few have most of it: to put all
// in order takes longer than a step of a model.
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
			slices.SortFunc(s.list[:n], scored.compare)
			return n
		}
	}
}

// nucleus returns how many of the first in the list reach a sum, and the sum that they have.
func (s *sampler) nucleus(enough float64) (kept int, sum float64) {
	for kept < len(s.list) && sum < enough {
		sum += s.list[kept].score
		kept++
	}
	return kept, sum
}
