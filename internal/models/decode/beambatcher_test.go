package decode

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	diff "github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// A blurred model gives other tokens a chance, which depends on all tokens before.
func blurred(shared bool) *countingModel {
	m := &countingModel{shared: shared}
	m.broken = func(scores []float32) { copy(scores, blur(slices.Index(scores, 1))) }
	return m
}

// blur are the scores after tokens whose sum is next, modulo the number of rows.
func blur(next int) []float32 {
	r := rand.New(rand.NewPCG(uint64(next), 5))
	scores := make([]float32, rows)
	for i := range scores {
		scores[i] = float32(4 * r.Float64())
	}
	return scores
}

// searched is the beam search of transformers in the plainest form: all answers so far are lists, and
// all candidates of a step are sorted.
func searched(prompt []int32, width int, rules Rules) []int32 {
	type list struct {
		tokens []int32
		score  float64
	}
	sum := 0
	for _, t := range prompt {
		sum += int(t)
	}
	open, done := []list{{}}, []list(nil)
	for step := 0; step < rules.MaxNew && len(done) < width; step++ {
		var all []list
		for _, o := range open {
			total := sum
			for _, t := range o.tokens {
				total += int(t)
			}
			scores := blur(total % lastRow)
			z := 0.0
			for _, s := range scores {
				z += math.Exp(float64(s))
			}
			for token, s := range scores {
				if int32(token) == rules.Stop[0] && step < rules.MinNew {
					continue
				}
				all = append(all, list{append(slices.Clone(o.tokens), int32(token)), o.score + float64(s) - math.Log(z)})
			}
		}
		slices.SortStableFunc(all, func(a, b list) int { return cmp.Compare(b.score, a.score) })
		open = nil
		for rank, c := range all[:min(len(all), 2*width)] {
			switch {
			case c.tokens[step] != rules.Stop[0]:
				if len(open) < width {
					open = append(open, c)
				}
			case rank < width:
				done = append(done, list{c.tokens, c.score / float64(step+1)})
			}
		}
	}
	if len(done) < width {
		for _, o := range open {
			done = append(done, list{o.tokens, o.score / float64(rules.MaxNew)})
		}
	}
	return slices.MaxFunc(done, func(a, b list) int { return cmp.Compare(a.score, b.score) }).tokens
}

func TestBeamBatcherEqualsSorting(t *testing.T) {
	prompts := drawPrompts(rand.New(rand.NewPCG(4, 2)), 20, 12)
	rules := Rules{Stop: []int32{lastRow}, MinNew: 3, MaxNew: 12, Width: 8}
	for _, shared := range []bool{true, false} {
		for _, c := range []struct {
			width int
			room  Limits
		}{{4, Limits{4, 40, 40}}, {4, Limits{12, 40, 5}}, {2, Limits{7, 40, 3}}, {1, Limits{3, 40, 40}}, {rows + 5, Limits{rows + 5, 40, 40}}} {
			t.Run(fmt.Sprintf("shared %v, %d beams, %+v", shared, c.width, c.room), func(t *testing.T) {
				b, err := NewBeamBatcher(decoderOf(t, blurred(shared), c.room), c.width, rules, func(i workload.Item) []int32 { return prompts[i.Index] })
				if err != nil {
					t.Fatal(err)
				}
				got := map[int][]int32{}
				keep := tokensOfEight(got)
				if err := b.Serve(t.Context(), workload.BatchSource(itemsOf(len(prompts)), keep)); err != nil {
					t.Fatal(err)
				}
				for i, prompt := range prompts {
					if d := diff.Diff(searched(prompt, c.width, rules), got[i]); d != "" {
						t.Fatalf("prompt %d (-want +got):\n%s", i, d)
					}
				}
			})
		}
	}
}

// tokensOfEight keeps answers of eight bytes per token.
type tokensOfEight map[int][]int32

func (tokensOfEight) FirstToken(int, []byte) {}
func (k tokensOfEight) Done(ticket int, response []byte, _ int) {
	for i := 0; i < len(response); i += 8 {
		k[ticket] = append(k[ticket], int32(response[i]))
	}
}

func TestBeamBatcherErrors(t *testing.T) {
	if _, err := NewBeamBatcher(decoderOf(t, blurred(true), Limits{3, 10, 10}), 4, testRules, nil); !testenv.Names(err, "3 slots … 4") {
		t.Errorf("error %v", err)
	}
	b, err := NewBeamBatcher(decoderOf(t, blurred(true), Limits{4, 10, 10}), 4, testRules, func(workload.Item) []int32 { return nil })
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Serve(t.Context(), workload.BatchSource(itemsOf(1), newKeeper())); !testenv.Names(err, "sample 0 … prompt … empty") {
		t.Errorf("error %v", err)
	}
}
