package decode

import (
	"math"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/mlperf-go/mlperf/internal/testenv"
)

func decode[T any](t testing.TB, name string, into *T) {
	t.Helper()
	*into = testenv.JSON[T](t, filepath.Join("testdata", name))
}

func TestLengthPenaltyEqualsTensorFlow(t *testing.T) {
	var cases []struct {
		Weight  float64
		Length  int
		Penalty float64
	}
	decode(t, "length_penalty.json", &cases)
	for _, c := range cases {
		if got := lengthPenalty(c.Length, c.Weight); math.Abs(float64(got)-c.Penalty) > 1e-6*c.Penalty {
			t.Errorf("penalty of %d tokens with weight %v is %v, want %v", c.Length, c.Weight, got, c.Penalty)
		}
	}
}

// A goldenSearch is a search over a small decoder: logits of the next token are
// A[last] + B[last but one] + C[step mod 4].
type goldenSearch struct {
	Vocabulary int         `json:"vocab_size"`
	Width      int         `json:"beam_width"`
	Start      int32       `json:"start_id"`
	End        int32       `json:"end_id"`
	Weight     float64     `json:"length_penalty_weight"`
	MaxSteps   int         `json:"max_steps"`
	A, B, C    [][]float64 // of tokens and of steps
	Steps      int
	StepIDs    [][]int32 `json:"step_ids"`
	ParentIDs  [][]int32 `json:"parent_ids"`
	Sequences  [][]int32
	Scores     []float64
	LogProbs   []float64 `json:"log_probs"`
	Lengths    []int32
	Finished   []bool
	Answer     []int32
}

// next returns the candidates after two tokens.
func (g *goldenSearch) next(step int, last, before int32, n int) (tokens []int64, logits []float32, logSum float32) {
	all, sum := make([]float64, g.Vocabulary), 0.0
	for v := range all {
		all[v] = g.A[last][v] + g.B[before][v] + g.C[step%4][v]
		sum += math.Exp(all[v])
	}
	order := make([]int, g.Vocabulary)
	for v := range order {
		order[v] = v
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case all[a] > all[b]:
			return -1
		case all[a] < all[b]:
			return 1
		}
		return 0
	})
	for _, v := range order[:min(n, len(order))] {
		tokens, logits = append(tokens, int64(v)), append(logits, float32(all[v]))
	}
	return tokens, logits, float32(math.Log(sum))
}

func TestBeamSearchEqualsTensorFlow(t *testing.T) {
	var golden []goldenSearch
	decode(t, "beam_search.json", &golden)
	for i, g := range golden {
		o := BeamOptions{g.Width, g.End, g.Weight}
		s := NewBeamSearch(o)
		s.Start(g.MaxSteps)
		last, before := []int32{g.Start}, []int32{g.Start}
		for !s.Done() {
			var tokens []int64
			var logits, sums []float32
			for k := range last {
				a, b, c := g.next(s.Steps(), last[k], before[k], o.Candidates())
				tokens, logits, sums = append(tokens, a...), append(logits, b...), append(sums, c)
			}
			s.Advance(tokens, logits, sums)
			parents := s.Parents()
			now, then := slices.Clone(s.Tokens()), make([]int32, len(parents))
			for k, p := range parents {
				then[k] = last[p]
			}
			last, before = now, then
			step := s.Steps() - 1
			if diff := cmp.Diff(g.StepIDs[step], now); diff != "" {
				t.Fatalf("search %d, step %d: tokens (-want +got):\n%s", i, step, diff)
			}
			for k, p := range parents {
				// Which of the beams that have ended is a parent does not matter in the first step.
				if step > 0 && p != g.ParentIDs[step][k] {
					t.Fatalf("search %d, step %d: parents %v, want %v", i, step, parents, g.ParentIDs[step])
				}
			}
		}
		g.check(t, i, s)
	}
}

func (g *goldenSearch) check(t *testing.T, i int, s *BeamSearch) {
	t.Helper()
	if s.Steps() != g.Steps {
		t.Errorf("search %d: %d steps, want %d", i, s.Steps(), g.Steps)
	}
	var totals, scores []float64
	var lengths []int32
	var ended []bool
	for _, b := range s.beams {
		totals, scores = append(totals, float64(b.total)), append(scores, float64(b.score))
		lengths, ended = append(lengths, b.length), append(ended, b.ended)
	}
	near := cmpopts.EquateApprox(0, 1e-4)
	for what, diff := range map[string]string{
		"log-probabilities": cmp.Diff(g.LogProbs, totals, near), "scores": cmp.Diff(g.Scores, scores, near),
		"lengths": cmp.Diff(g.Lengths, lengths), "finished": cmp.Diff(g.Finished, ended),
		"answer": cmp.Diff(g.Answer, s.Best(nil), cmpopts.EquateEmpty()),
	} {
		if diff != "" {
			t.Errorf("search %d: %s (-want +got):\n%s", i, what, diff)
		}
	}
	for k, want := range g.Sequences {
		if diff := cmp.Diff(want, s.sequence(nil, k)); diff != "" {
			t.Errorf("search %d: beam %d (-want +got):\n%s", i, k, diff)
		}
	}
}

func TestBeamSearchAllocatesNothing(t *testing.T) {
	var golden []goldenSearch
	decode(t, "beam_search.json", &golden)
	g := golden[0]
	o := BeamOptions{g.Width, g.End, g.Weight}
	s := NewBeamSearch(o)
	tokens, logits, sum := g.next(0, g.Start, g.Start, o.Candidates())
	var many []int64
	var values, sums []float32
	for range g.Width {
		many, values, sums = append(many, tokens...), append(values, logits...), append(sums, sum)
	}
	var answer []int32
	run := func() {
		s.Start(20)
		s.Advance(tokens, logits, sums[:1])
		for !s.Done() {
			s.Advance(many, values, sums)
		}
		answer = s.Best(answer[:0])
	}
	run()
	if n := testing.AllocsPerRun(20, run); n > 0 {
		t.Errorf("%v allocations in a search", n)
	}
}

// Of equal scores the lower beam comes first, and of one beam the lower token, in any order of the model's list.
func TestBeamSearchTies(t *testing.T) {
	s := NewBeamSearch(BeamOptions{Width: 3, End: 0})
	s.Start(5)
	s.Advance([]int64{9, 5, 7, 3}, []float32{1, 1, 1, 1}, []float32{0})
	if got := s.Tokens(); !slices.Equal(got, []int32{3, 5, 7}) {
		t.Errorf("first step: tokens %v, want the lowest of equal scores, 3 5 7", got)
	}
	s.Advance([]int64{8, 6, 4, 2, 1, 3, 5, 7, 9, 11, 13, 15}, slices.Repeat([]float32{1}, 12), make([]float32, 3))
	if tokens, parents := s.Tokens(), s.Parents(); !slices.Equal(tokens, []int32{2, 4, 6}) || !slices.Equal(parents, []int32{0, 0, 0}) {
		t.Errorf("second step: tokens %v of beams %v, want 2 4 6 of the first", tokens, parents)
	}
}

// Whatever a model says, a search ends within its limit, and its beams are sorted.
func FuzzBeamSearch(f *testing.F) {
	f.Add([]byte{3, 1, 2, 9, 200, 7, 7, 7, 40}, uint8(4), uint8(9))
	f.Fuzz(func(t *testing.T, data []byte, width, limit uint8) {
		o := BeamOptions{Width: 1 + int(width%6), End: 2, LengthPenalty: 1}
		s := NewBeamSearch(o)
		s.Start(int(limit % 32))
		at := 0
		for !s.Done() {
			var tokens []int64
			var logits, sums []float32
			for range max(1, len(s.Tokens())) {
				for k := range o.Candidates() {
					v := byte(k)
					if len(data) > 0 {
						v = data[at%len(data)]
					}
					at++
					tokens, logits = append(tokens, int64(v%16)+int64(16*k)), append(logits, -float32(v)/16)
				}
				sums = append(sums, 1)
			}
			s.Advance(tokens, logits, sums)
			for i := range s.beams[1:] {
				if s.beams[i+1].score > s.beams[i].score {
					t.Fatalf("beam %d is better than the one before it", i+1)
				}
			}
		}
		if n := len(s.Best(nil)); n > int(limit%32) {
			t.Errorf("%d tokens, want at most %d", n, limit%32)
		}
	})
}

// With fewer tokens than beams, the number of beams grows from step to step.
func TestBeamSearchFewTokens(t *testing.T) {
	for tokens := 1; tokens <= 4; tokens++ {
		for width := 1; width <= 10; width++ {
			s := NewBeamSearch(BeamOptions{Width: width, End: 0})
			s.Start(5)
			for !s.Done() {
				var ids []int64
				var logits, sums []float32
				for range max(1, len(s.Tokens())) {
					for token := tokens - 1; token >= 0; token-- { // the last is the likeliest, the end the least
						ids, logits = append(ids, int64(token)), append(logits, float32(token)*100)
					}
					sums = append(sums, float32(100*tokens-99))
				}
				s.Advance(ids, logits, sums)
			}
			want := slices.Repeat([]int32{int32(tokens - 1)}, 5)
			if tokens == 1 {
				want = nil
			}
			if got := s.Best(nil); !slices.Equal(got, want) {
				t.Errorf("%d tokens, %d beams: %v, want %v", tokens, width, got, want)
			}
		}
	}
}
