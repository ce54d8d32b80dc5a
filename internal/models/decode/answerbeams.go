package decode

import (
	"math"
	"slices"
)

// answerBeams is the beam search of transformers with early stopping (generation/beam_search.py, BeamSearchScorer) for one
// answer: an answer that ends is kept with its mean log-probability, its end counted, and the search ends once as many are
// kept as the width. Unlike in BeamSearch, an end counts only among the best width candidates, and the number of open
// beams stays the width, unless there are fewer tokens.
//
// It is for one goroutine, and allocates nothing after its creation.
type answerBeams struct {
	rules Rules
	width int
	stop  int32

	beams, next []answerBeam
	found       []candidate  // of all beams, the best first
	ended       []answerBeam // finished answers
	steps       int
	open        int // beams of the next step
}

// An answerBeam is an answer, or the beginning of one.
type answerBeam struct {
	tokens []int32
	score  float64 // log-probability; of a finished answer per token
	parent int
}

type candidate struct {
	score float64
	beam  int
	token int32
}

// newAnswerBeams returns a search. Only the first of the rules' end tokens counts.
func newAnswerBeams(width int, rules Rules) *answerBeams {
	b := &answerBeams{rules: rules, width: width, stop: -1, found: make([]candidate, 0, 2*width+1)}
	if len(rules.Stop) > 0 {
		b.stop = rules.Stop[0]
	}
	room := func(n int) []answerBeam {
		list := make([]answerBeam, n)
		for i := range list {
			list[i].tokens = make([]int32, 0, rules.MaxNew+1)
		}
		return list
	}
	b.beams, b.next, b.ended = room(width), room(width), room(width+1)
	b.Start()
	return b
}

// Start begins a search. Its first step has one beam.
func (b *answerBeams) Start() {
	for i := range b.beams {
		b.beams[i].tokens, b.beams[i].score = b.beams[i].tokens[:0], 0
	}
	b.ended, b.steps, b.open = b.ended[:0], 0, 1
}

// Done reports whether the search has ended.
func (b *answerBeams) Done() bool {
	return len(b.ended) >= b.width || b.steps >= b.rules.MaxNew || b.open == 0
}

// Open is the number of beams of the next step.
func (b *answerBeams) Open() int { return b.open }

// Advance chooses the next beams by the scores of each open beam.
func (b *answerBeams) Advance(logits func(beam int) []float32) {
	b.found = b.found[:0]
	for i := range b.open {
		b.addCandidates(i, logits(i))
	}
	if len(b.found) == 0 { // the end is the only token, and comes too early
		b.end(0, b.beams[0].score)
		b.open = 0
		return
	}
	n := 0
	for rank, c := range b.found {
		if c.token == b.stop {
			if rank < b.width {
				b.end(c.beam, c.score/float64(b.steps+1))
			}
			continue
		}
		if n < b.width {
			to := &b.next[n]
			to.tokens = append(append(to.tokens[:0], b.beams[c.beam].tokens...), c.token)
			to.score, to.parent = c.score, c.beam
			n++
		}
	}
	b.beams, b.next, b.open = b.next, b.beams, n
	if b.steps++; len(b.ended) < b.width && b.steps >= b.rules.MaxNew {
		for i := range b.open {
			b.end(i, b.beams[i].score/float64(b.steps))
		}
	}
}

// addCandidates adds the tokens after a beam to the candidates.
func (b *answerBeams) addCandidates(beam int, logits []float32) {
	base := b.beams[beam].score - logSumExp(logits)
	early := b.steps < b.rules.MinNew
	for token, v := range logits {
		score := base + float64(v)
		if len(b.found) == 2*b.width && score <= b.found[len(b.found)-1].score || early && int32(token) == b.stop {
			continue
		}
		at := len(b.found)
		for at > 0 && b.found[at-1].score < score {
			at--
		}
		b.found = slices.Insert(b.found, at, candidate{score, beam, int32(token)})
		b.found = b.found[:min(len(b.found), 2*b.width)]
	}
}

// logSumExp is the logarithm of the sum of the exponentials.
func logSumExp(logits []float32) float64 {
	largest := logits[0]
	for _, v := range logits {
		largest = max(largest, v)
	}
	sum := 0.0
	const nothing = 40 // e^-40 is below the precision of 1
	for _, v := range logits {
		if d := v - largest; d > -nothing {
			sum += math.Exp(float64(d))
		}
	}
	return float64(largest) + math.Log(sum)
}

// end keeps an answer, unless width better ones are kept.
func (b *answerBeams) end(beam int, score float64) {
	if len(b.ended) == b.width {
		worst := 0
		for i := range b.ended {
			if b.ended[i].score < b.ended[worst].score {
				worst = i
			}
		}
		if score <= b.ended[worst].score {
			return
		}
		b.ended[worst].tokens = append(b.ended[worst].tokens[:0], b.beams[beam].tokens...)
		b.ended[worst].score = score
		return
	}
	b.ended = b.ended[:len(b.ended)+1]
	last := &b.ended[len(b.ended)-1]
	last.tokens, last.score = append(last.tokens[:0], b.beams[beam].tokens...), score
}

// Token is the last token of a beam, and Parent the beam of the step before that it continues.
func (b *answerBeams) Token(beam int) int32 { return b.beams[beam].tokens[len(b.beams[beam].tokens)-1] }

// Parent: see Token.
func (b *answerBeams) Parent(beam int) int { return b.beams[beam].parent }

// Best appends the best answer to dst, with its end if there is room for that.
func (b *answerBeams) Best(dst []int32) []int32 {
	best := 0
	for i := range b.ended {
		if b.ended[i].score >= b.ended[best].score {
			best = i
		}
	}
	dst = append(dst, b.ended[best].tokens...)
	if len(dst) < b.rules.MaxNew && b.stop >= 0 {
		dst = append(dst, b.stop)
	}
	return dst
}
