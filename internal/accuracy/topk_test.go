package accuracy

import (
	"encoding/hex"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"testing"
)

type topKCase struct {
	Name        string
	NumSamples  int    `json:"num_samples"`
	NumClasses  int    `json:"num_classes"`
	LabelOffset int    `json:"label_offset"`
	Labels      []int  `json:"labels"`
	Scores      string `json:"scores_float32_le_hex"`
	Expected    struct {
		ArgMax []int              `json:"argmax_first"`
		Top1   float64            `json:"top1"`
		Good   int                `json:"top1_good"`
		TopK   map[string]ruleSet `json:"topk"`
	}
}

type ruleSet struct {
	Lower  float64 `json:"lower_index_first"`
	Higher float64 `json:"higher_index_first"`
	All    float64 `json:"all_ties_in"`
}

func (c topKCase) input(t *testing.T) (ScoreMatrix, []int) {
	t.Helper()
	data, err := hex.DecodeString(c.Scores)
	if err != nil {
		t.Fatal(err)
	}
	m := ScoreMatrix{Classes: c.NumClasses}
	for i := range len(data) / 4 {
		m.Scores = append(m.Scores, float32At(data, i))
	}
	labels := make([]int, len(c.Labels))
	for i, label := range c.Labels {
		labels[i] = label - c.LabelOffset
	}
	return m, labels
}

func TestTopKAgreesWithNumPySklearnAndTensorFlow(t *testing.T) {
	for _, c := range decodeTestdata[struct{ Cases []topKCase }](t, "topk.json").Cases {
		t.Run(c.Name, func(t *testing.T) {
			scores, labels := c.input(t)
			for i, want := range c.Expected.ArgMax {
				if got := ArgMax(scores.Scores[i*c.NumClasses : (i+1)*c.NumClasses]); got != want {
					t.Errorf("ArgMax of sample %d = %d, want %d", i, got, want)
				}
			}
			hits, err := TopK(scores, labels, 1, LowerIndexFirst)
			if want := (Hits{c.Expected.Good, c.NumSamples}); err != nil || hits != want {
				t.Errorf("TopK(1) = %v, %v, want %v", hits, err, want)
			}
			for k, want := range c.Expected.TopK {
				k, _ := strconv.Atoi(k)
				for rule, want := range []float64{want.Lower, want.Higher, want.All} {
					hits, err := TopK(scores, labels, k, TieRule(rule))
					if err != nil || math.Abs(hits.Fraction()-want) > 1e-9 {
						t.Errorf("TopK(%d, rule %d) = %v (%v), %v, want %v", k, rule, hits.Fraction(), hits, err, want)
					}
				}
			}
		})
	}
}

func TestRankOfNaNIsThatOfArgMax(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for _, scores := range [][]float32{{nan, 1, 2}, {1, nan, inf}, {nan, nan, nan}, {inf, nan, nan, 0}} {
		if best := ArgMax(scores); Rank(scores, best, LowerIndexFirst) != 0 {
			t.Errorf("Rank(%v, %d) = %d, want 0", scores, best, Rank(scores, best, LowerIndexFirst))
		}
	}
}

func TestRanksAreAPermutation(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		scores := make([]float32, 1+rng.IntN(9))
		for i := range scores {
			scores[i] = float32(rng.IntN(4))
			if scores[i] == 3 {
				scores[i] = float32(math.NaN())
			}
		}
		for _, rule := range []TieRule{LowerIndexFirst, HigherIndexFirst} {
			seen := make([]bool, len(scores))
			for class := range scores {
				seen[Rank(scores, class, rule)] = true
			}
			for rank, ok := range seen {
				if !ok {
					t.Fatalf("scores %v: no class has rank %d under rule %d", scores, rank, rule)
				}
			}
		}
	}
}

func TestTopKRefusesWhatDoesNotFit(t *testing.T) {
	m := ScoreMatrix{Scores: make([]float32, 6), Classes: 3}
	for _, c := range []struct {
		name   string
		scores ScoreMatrix
		labels []int
		k      int
		ties   TieRule
		want   string
	}{
		{"a partial row", ScoreMatrix{make([]float32, 5), 3}, []int{0}, 1, 0, "5 scores are not rows of 3"},
		{"no classes", ScoreMatrix{}, nil, 1, 0, "rows of 0 classes"},
		{"too few labels", m, []int{0}, 1, 0, "1 labels for 2 rows"},
		{"a label beyond the classes", m, []int{0, 3}, 1, 0, "label 3 of sample 1"},
		{"a negative label", m, []int{-1, 0}, 1, 0, "label -1 of sample 0"},
		{"k of zero", m, []int{0, 0}, 0, 0, "at least 1"},
		{"an unknown rule", m, []int{0, 0}, 1, 7, "unknown tie rule 7"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := TopK(c.scores, c.labels, c.k, c.ties)
			wantError(t, err, c.want)
		})
	}
	if got := ArgMax(nil); got != -1 {
		t.Errorf("ArgMax(nil) = %d, want -1", got)
	}
}

func BenchmarkTopK(b *testing.B) {
	const samples, classes = 5000, 1000
	m := ScoreMatrix{make([]float32, samples*classes), classes}
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range m.Scores {
		m.Scores[i] = rng.Float32()
	}
	labels := make([]int, samples)
	b.ReportAllocs()
	b.SetBytes(samples * classes * 4)
	for b.Loop() {
		if _, err := TopK(m, labels, 5, LowerIndexFirst); err != nil {
			b.Fatal(err)
		}
	}
}

func ExampleTopK() {
	scores := ScoreMatrix{Classes: 3, Scores: []float32{
		0.1, 0.7, 0.2,
		0.5, 0.1, 0.4,
	}}
	hits, _ := TopK(scores, []int{1, 2}, 1, LowerIndexFirst)
	fmt.Println(hits.Good, "of", hits.Total)
	// Output: 1 of 2
}
