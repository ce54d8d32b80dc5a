package decode

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// A plainScorer is transformers' BeamSearchScorer with early stopping, written down step by step as in
// generation/beam_search.py: lists that are made anew, and everything sorted.
type plainScorer struct {
	width, maxNew, minNew int
	stop                  int32
	beams                 []plainBeam
	ended                 []plainBeam
	done                  bool
}

type plainBeam struct {
	tokens []int32
	score  float64
}

// step is one of beam_search: scores of all tokens after all beams, process, and the check for the end.
func (p *plainScorer) step(logits func(beam int) []float32) {
	type found struct {
		beam  int
		token int32
		score float64
	}
	var all []found
	length := len(p.beams[0].tokens)
	for b, beam := range p.beams {
		sum := 0.0
		for _, v := range logits(b) {
			sum += math.Exp(float64(v))
		}
		for token, v := range logits(b) {
			if int32(token) == p.stop && length < p.minNew {
				continue // MinLengthLogitsProcessor
			}
			all = append(all, found{b, int32(token), beam.score + float64(v) - math.Log(sum)})
		}
	}
	slices.SortStableFunc(all, func(a, b found) int { return cmp.Compare(b.score, a.score) })
	all = all[:min(len(all), 2*p.width)]
	var next []plainBeam
	for rank, f := range all {
		tokens := p.beams[f.beam].tokens
		if f.token == p.stop {
			if rank < p.width {
				p.add(tokens, f.score/float64(length+1))
			}
			continue
		}
		next = append(next, plainBeam{append(slices.Clone(tokens), f.token), f.score})
		if len(next) == p.width {
			break
		}
	}
	if len(all) == 0 { // the end is the only token, and comes too early
		p.add(p.beams[0].tokens, p.beams[0].score)
	}
	p.beams = next
	p.done = len(p.ended) >= p.width
}

// add is BeamHypotheses.add: the worst answer goes where there are too many.
func (p *plainScorer) add(tokens []int32, score float64) {
	p.ended = append(p.ended, plainBeam{slices.Clone(tokens), score})
	if len(p.ended) > p.width {
		slices.SortStableFunc(p.ended, func(a, b plainBeam) int { return cmp.Compare(a.score, b.score) })
		p.ended = p.ended[1:]
	}
}

// finalize returns the best answer.
func (p *plainScorer) finalize() []int32 {
	if !p.done {
		for _, b := range p.beams {
			p.add(b.tokens, b.score/float64(len(b.tokens)))
		}
	}
	slices.SortStableFunc(p.ended, func(a, b plainBeam) int { return cmp.Compare(a.score, b.score) })
	best := p.ended[len(p.ended)-1].tokens
	if len(best) < p.maxNew {
		best = append(best, p.stop)
	}
	return best
}

// scoresAfter are drawn scores that follow from the tokens before. The one of the end is raised.
func scoresAfter(seed uint64, tokens []int32, vocabulary int, stop int32, raised float32) []float32 {
	hash := seed
	for _, t := range tokens {
		hash = hash*1099511628211 + uint64(t) + 1
	}
	r := rand.New(rand.NewPCG(hash, 7))
	scores := make([]float32, vocabulary)
	for i := range scores {
		scores[i] = float32(r.NormFloat64() * 2)
	}
	scores[stop] += raised
	return scores
}

// Over random scores, ends that are rare and ends that are all over, answers are those of the plain scorer.
func TestAnswerBeamsEqualTransformers(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	full := 0
	for n := range 1500 {
		width, vocabulary := 1+r.IntN(5), 1+r.IntN(19)
		rules := Rules{Stop: []int32{int32(r.IntN(vocabulary))}, MaxNew: 1 + r.IntN(12), Width: 4}
		rules.MinNew = r.IntN(rules.MaxNew + 1)
		raised, seed := float32(r.IntN(9)-3), r.Uint64()

		plain := &plainScorer{width: width, maxNew: rules.MaxNew, minNew: rules.MinNew, stop: rules.Stop[0], beams: []plainBeam{{}}}
		for step := 0; step < rules.MaxNew && !plain.done && len(plain.beams) > 0; step++ {
			plain.step(func(b int) []float32 {
				return scoresAfter(seed, plain.beams[b].tokens, vocabulary, plain.stop, raised)
			})
		}
		want := plain.finalize()

		b := newAnswerBeams(width, rules)
		for !b.Done() {
			beams := make([][]int32, b.Open())
			for i := range beams {
				beams[i] = slices.Clone(b.beams[i].tokens)
			}
			b.Advance(func(beam int) []float32 {
				return scoresAfter(seed, beams[beam], vocabulary, plain.stop, raised)
			})
			for i := range b.Open() {
				if got := append(slices.Clone(beams[b.Parent(i)]), b.Token(i)); !slices.Equal(got, b.beams[i].tokens) {
					t.Fatalf("search %d: beam %d is %v, and goes on from another one with %v", n, i, b.beams[i].tokens, got)
				}
			}
		}
		if got := b.Best(nil); !slices.Equal(got, want) {
			t.Fatalf("search %d, %d beams, %+v: the answer is %v, want %v", n, width, rules, got, want)
		}
		if len(want) == rules.MaxNew {
			full++
		}
	}
	if full < 100 || full > 1400 {
		t.Errorf("%d of 1500 answers are as long as they may be", full)
	}
}

func TestAnswerBeamsRestart(t *testing.T) {
	rules := Rules{Stop: []int32{0}, MaxNew: 6}
	once := func(b *answerBeams) []int32 {
		b.Start()
		for !b.Done() {
			beams := slices.Clone(b.beams)
			for i := range beams {
				beams[i].tokens = slices.Clone(beams[i].tokens)
			}
			b.Advance(func(i int) []float32 { return scoresAfter(3, beams[i].tokens, 9, 0, 1) })
		}
		return b.Best(nil)
	}
	b := newAnswerBeams(3, rules)
	first, again := once(b), once(b)
	if !slices.Equal(first, again) || !slices.Equal(first, once(newAnswerBeams(3, rules))) {
		t.Errorf("the first search finds %v, the second %v", first, again)
	}
}

func TestAnswerBeamsWithoutEnd(t *testing.T) {
	b := newAnswerBeams(2, Rules{MaxNew: 4})
	for !b.Done() {
		b.Advance(func(int) []float32 { return []float32{0, 3, 1, 2, -1} })
	}
	if got := b.Best([]int32{9}); !slices.Equal(got, []int32{9, 1, 1, 1, 1}) {
		t.Errorf("the answer is %v", got)
	}
}

// The logarithm of the sum holds for scores that no exponential holds.
func TestLogSumExp(t *testing.T) {
	for _, c := range []struct {
		name   string
		scores []float32
		want   float64
	}{
		{"one", []float32{3}, 3},
		{"two that are equal", []float32{5, 5}, 5 + math.Log(2)},
		{"very large ones", []float32{3e38, 3e38}, float64(float32(3e38)) + math.Log(2)},
		{"very small ones", []float32{-3e38, -1}, -1},
		{"one that is impossible", []float32{float32(math.Inf(-1)), 2, 1}, 2 + math.Log1p(math.Exp(-1))},
		{"in any order", []float32{1, 2, float32(math.Inf(-1))}, 2 + math.Log1p(math.Exp(-1))},
		{"a rest that is just seen", []float32{0, -30}, math.Log1p(math.Exp(-30))},
	} {
		if got := logSumExp(c.scores); math.Abs(got-c.want) > 1e-15*max(1, math.Abs(c.want)) {
			t.Errorf("%s: logSumExp(%v) = %v, want %v", c.name, c.scores, got, c.want)
		}
	}
}
