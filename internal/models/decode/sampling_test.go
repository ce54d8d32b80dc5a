package decode

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/models/workload"
)

// drawn counts what is drawn of scores in many tokens.
func drawn(t *testing.T, s Sampling, logits []float32, banned ...int32) []int {
	t.Helper()
	if err := s.Check(); err != nil {
		t.Fatal(err)
	}
	d, counts := newSampler(s, int64(len(logits))), make([]int, len(logits))
	for n := range 20000 {
		counts[d.draw(logits, n%7, n, banned)]++
	}
	return counts
}

// Scores whose probabilities at temperature 1 are 0.5, 0.3, 0.15 and 0.05.
func fourScores() []float32 {
	var scores []float32
	for _, p := range []float64{0.15, 0.5, 0.05, 0.3} {
		scores = append(scores, float32(math.Log(p)+3))
	}
	return scores
}

func TestDrawFrequencies(t *testing.T) {
	for _, test := range []struct {
		name   string
		s      Sampling
		banned []int32
		want   []float64
	}{
		{"all", Sampling{Temperature: 1}, nil, []float64{0.15, 0.5, 0.05, 0.3}},
		{"another seed", Sampling{Temperature: 1, Seed: 9}, nil, []float64{0.15, 0.5, 0.05, 0.3}},
		{"half the temperature squares probabilities", Sampling{Temperature: 0.5}, nil, []float64{0.0225 / 0.365, 0.25 / 0.365, 0.0025 / 0.365, 0.09 / 0.365}},
		{"the two likeliest", Sampling{Temperature: 1, TopK: 2}, nil, []float64{0, 0.625, 0, 0.375}},
		{"those that make up 0.9", Sampling{Temperature: 1, TopP: 0.9}, nil, []float64{0.15 / 0.95, 0.5 / 0.95, 0, 0.3 / 0.95}},
		{"one may not end yet", Sampling{Temperature: 1}, []int32{1}, []float64{0.3, 0, 0.1, 0.6}},
	} {
		counts := drawn(t, test.s, fourScores(), test.banned...)
		for token, want := range test.want {
			if got := float64(counts[token]) / 20000; math.Abs(got-want) > 0.015 || want == 0 && got > 0 {
				t.Errorf("%s: token %d is drawn in %.3f of the cases, want %.3f", test.name, token, got, want)
			}
		}
	}
}

func TestDrawDependsOnSeedSampleToken(t *testing.T) {
	draws := func(seed uint64, sample int) (list []int) {
		d := newSampler(Sampling{Temperature: 1, Seed: seed}, 4)
		for n := range 40 {
			list = append(list, d.draw(fourScores(), sample, n, nil))
		}
		return list
	}
	if !slices.Equal(draws(1, 5), draws(1, 5)) {
		t.Error("the same seed draws other tokens")
	}
	if slices.Equal(draws(1, 5), draws(2, 5)) || slices.Equal(draws(1, 5), draws(1, 6)) {
		t.Error("another seed or sample draws the same tokens")
	}
}

// Answers depend on the seed, not on the number of active samples.
func TestSampledAnswersInBatches(t *testing.T) {
	prompts := [][]int32{{1, 2}, {3}, {4, 5, 6}, {7}, {8, 9}}
	answers := func(slots int, seed uint64) map[int][]int32 {
		m := &countingModel{shared: true}
		m.broken = func(scores []float32) {
			for i := range scores {
				scores[i] /= 20
			}
		}
		b := NewBatcher(decoderOf(t, m, Limits{slots, 60, 4}), Rules{Stop: []int32{lastRow}, MinNew: 3, MaxNew: 20, Width: 4, Sampling: Sampling{Temperature: 1, TopK: 20, Seed: seed}},
			func(i workload.Item) []int32 { return prompts[i.Index] })
		k := newKeeper()
		if err := b.Serve(t.Context(), workload.BatchSource(itemsOf(len(prompts)), k)); err != nil {
			t.Fatal(err)
		}
		return k.answers
	}
	alone, together, other := answers(1, 1), answers(4, 1), answers(1, 2)
	if diff := gocmp.Diff(alone, together); diff != "" {
		t.Errorf("4 at once differ from one by one (-alone +together):\n%s", diff)
	}
	if gocmp.Equal(alone, other) {
		t.Error("another seed gives the same answers")
	}
}

func TestSamplingCheck(t *testing.T) {
	for part, s := range map[string]Sampling{
		"temperature is -1": {Temperature: -1}, "temperature is NaN": {Temperature: math.NaN()}, "temperature is +Inf": {Temperature: math.Inf(1)},
		"top_k is -2": {TopK: -2}, "top_p is 1.5": {TopP: 1.5}, "top_p is NaN": {TopP: math.NaN()},
	} {
		if err := s.Check(); err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%+v: error %v, want %q", s, err, part)
		}
	}
	for _, greedy := range []Sampling{{}, {TopP: 0.5}, {Temperature: 1, TopK: 1}} {
		if greedy.Draws() || !strings.Contains(greedy.String(), "likeliest") {
			t.Errorf("%+v draws: %s", greedy, greedy)
		}
	}
}

// sortedDraw draws as the rules say it: all tokens in order, the first ones kept, and the one on which a chance falls.
func sortedDraw(s Sampling, logits []float32, chance float64, banned []int32) int {
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

func TestDrawEqualsSortedDraw(t *testing.T) {
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
		if got, want := newSampler(s, 60).draw(logits, n, 9, banned), sortedDraw(s, logits, chance, banned); got != want {
			t.Fatalf("%+v, chance %v of %v without %v: token %d is drawn, want %d", s, chance, logits, banned, got, want)
		}
	}
}

// The last one that is kept is drawn where sums are rounded so that a chance falls behind it.
func TestPickLast(t *testing.T) {
	s := newSampler(Sampling{Temperature: 1, TopK: 2}, 4)
	for _, token := range []scoredToken{{3, 0}, {1, 0}, {2, -1}} {
		s.offer(token)
	}
	if got := s.pick(1); got != 3 {
		t.Errorf("token %d is drawn, want 3", got)
	}
}
