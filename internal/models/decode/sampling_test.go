package decode

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

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

func TestTokensAreDrawnAsOftenAsTheyAreLikely(t *testing.T) {
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

func TestWhatIsDrawnFollowsFromSeedSampleAndToken(t *testing.T) {
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

// Answers do not depend on how many are under way, and begin otherwise with another seed.
func TestSampledAnswersAreThoseOfEachPromptAlone(t *testing.T) {
	prompts := [][]int32{{1, 2}, {3}, {4, 5, 6}, {7}, {8, 9}}
	answers := func(slots int, seed uint64) map[int][]int32 {
		m := &countingModel{shared: true}
		m.broken = func(scores []float32) {
			for i := range scores {
				scores[i] /= 20
			}
		}
		b := NewBatcher(decoderOf(t, m, Room{slots, 60, 4}), Rules{Stop: []int32{lastRow}, MinNew: 3, MaxNew: 20, Width: 4, Sampling: Sampling{Temperature: 1, TopK: 20, Seed: seed}},
			func(i workload.Item) []int32 { return prompts[i.Index] })
		k := newKeeper()
		if err := b.Serve(t.Context(), workload.BatchSource(itemsOf(len(prompts)), k)); err != nil {
			t.Fatal(err)
		}
		return k.answers
	}
	alone, together, other := answers(1, 1), answers(4, 1), answers(1, 2)
	if diff := cmp.Diff(alone, together); diff != "" {
		t.Errorf("4 at once differ from one by one (-alone +together):\n%s", diff)
	}
	if cmp.Equal(alone, other) {
		t.Error("another seed gives the same answers")
	}
}

func TestSamplingsThatCannotBeAreRefused(t *testing.T) {
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
