package decode

import "math"

// BeamOptions describe a search.
type BeamOptions struct {
	Width int   // beams
	End   int32 // the token that ends a sequence
	// LengthPenalty w divides the log-probability of n tokens by ((5+n)/6)^w.
	LengthPenalty float64
}

// Candidates returns how many of the likeliest tokens Advance needs of each beam: those of
// one beam may be all that are kept, and the end counts for less than it seems.
func (o BeamOptions) Candidates() int { return o.Width + 1 }

// A BeamSearch follows the beams of one sentence as the decoder of TensorFlow 1 does
// (contrib/seq2seq, beam_search_decoder.py), on which the GNMT reference is built:
//
//   - A candidate that ends a sequence is scored with the length before it. The length that
//     is kept counts it, so in later steps the ended beam has a better score.
//   - The first step looks at one beam only, since all are alike.
//   - Equal scores: the lower beam comes first, then the lower token.
//
// Unlike there, each sentence stops by itself: when all of its beams have ended, or at its
// own limit. So its translation does not depend on which others are in the batch.
//
// It is for one goroutine, and allocates nothing once it has seen its longest sentence.
type BeamSearch struct {
	o     BeamOptions
	limit int
	steps int

	beams, next []beam
	penalties   []float32
	history     []link // Width for each step; those behind the beams are unused
	tokens      []int32
	parents     []int32
	ended       int // beams
}

type beam struct {
	total  float32 // log-probability
	score  float32
	length int32
	parent int32
	token  int32
	ended  bool
}

type link struct{ parent, token int32 }

// NewBeamSearch returns a search, which Start begins.
func NewBeamSearch(o BeamOptions) *BeamSearch {
	return &BeamSearch{
		o: o, beams: make([]beam, 0, o.Width), next: make([]beam, 0, o.Width+1),
		tokens: make([]int32, o.Width), parents: make([]int32, o.Width),
	}
}

// Start begins with a sentence of at most so many tokens.
func (s *BeamSearch) Start(limit int) {
	s.limit, s.steps, s.ended = limit, 0, 0
	s.history = s.history[:0]
	s.beams = append(s.beams[:0], beam{})
}

// Done reports whether all beams have ended, or the limit is reached.
func (s *BeamSearch) Done() bool { return s.steps >= s.limit || s.ended == len(s.beams) }

// Steps is how many tokens the beams have, ends included.
func (s *BeamSearch) Steps() int { return s.steps }

// Advance takes the likeliest tokens of each beam, Candidates of them or as many as there
// are, the likeliest first, with their logits, and of each beam the logarithm of the sum of
// the exponentials of all logits. Tokens, logits and sums of the beams follow each other.
// In the first step only those of the first beam are looked at.
func (s *BeamSearch) Advance(tokens []int64, logits, logSums []float32) {
	n := len(tokens) / max(1, len(logSums))
	s.next = s.next[:0]
	for i := range s.beams {
		b := &s.beams[i]
		if b.ended {
			s.offer(beam{b.total, b.total / s.penalty(b.length), b.length, int32(i), s.o.End, true})
			continue
		}
		for k := i * n; k < (i+1)*n; k++ {
			c := beam{total: b.total + logits[k] - logSums[i], length: b.length + 1, parent: int32(i), token: int32(tokens[k])}
			scored := c.length
			if c.token == s.o.End {
				c.ended, scored = true, b.length
			}
			c.score = c.total / s.penalty(scored)
			s.offer(c)
		}
	}
	s.keep()
}

// offer puts a candidate among the best so far. Those that come later are worse if equal,
// unless they are of the same beam and have a lower token.
func (s *BeamSearch) offer(c beam) {
	at := len(s.next)
	for at > 0 && better(&c, &s.next[at-1]) {
		at--
	}
	if at == s.o.Width {
		return
	}
	if len(s.next) < s.o.Width {
		s.next = append(s.next, beam{})
	}
	copy(s.next[at+1:], s.next[at:len(s.next)-1])
	s.next[at] = c
}

func better(c, other *beam) bool {
	if c.score != other.score {
		return c.score > other.score
	}
	return c.parent == other.parent && c.token < other.token
}

// keep makes the candidates the beams.
func (s *BeamSearch) keep() {
	s.beams, s.next = s.next, s.beams
	s.ended = 0
	for i := range s.beams {
		b := &s.beams[i]
		if b.ended {
			s.ended++
		}
		s.tokens[i], s.parents[i] = b.token, b.parent
		s.history = append(s.history, link{b.parent, b.token})
	}
	for range s.o.Width - len(s.beams) { // fewer tokens than beams
		s.history = append(s.history, link{})
	}
	s.steps++
}

// Tokens are the last ones of the beams, and Parents the beams of the step before that they
// go on from. Both are overwritten by Advance.
func (s *BeamSearch) Tokens() []int32 { return s.tokens[:len(s.beams)] }

// Parents are described with Tokens.
func (s *BeamSearch) Parents() []int32 { return s.parents[:len(s.beams)] }

// Best appends the tokens of the best beam, without its end.
func (s *BeamSearch) Best(dst []int32) []int32 {
	first := len(dst)
	dst = s.sequence(dst, 0)
	for i, token := range dst[first:] {
		if token == s.o.End {
			return dst[:first+i]
		}
	}
	return dst
}

// sequence appends all tokens of a beam.
func (s *BeamSearch) sequence(dst []int32, beam int) []int32 {
	first := len(dst)
	for range s.steps {
		dst = append(dst, s.o.End)
	}
	for step, at := s.steps-1, int32(beam); step >= 0; step-- {
		l := s.history[step*s.o.Width+int(at)]
		dst[first+step] = l.token
		at = l.parent
	}
	return dst
}

// penalty is what the log-probability of n tokens is divided by. It is worked out once.
func (s *BeamSearch) penalty(n int32) float32 {
	for int(n) >= len(s.penalties) {
		s.penalties = append(s.penalties, lengthPenalty(len(s.penalties), s.o.LengthPenalty))
	}
	return s.penalties[n]
}

func lengthPenalty(n int, weight float64) float32 {
	if weight == 0 {
		return 1
	}
	return float32(math.Pow(float64(5+n)/6, weight))
}
