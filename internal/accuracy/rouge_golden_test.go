package accuracy

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

type rougeCase struct {
	Name, Target, Prediction string
	Expected                 map[string]map[string][3]float64
}

func rougeCases(t testing.TB) []rougeCase {
	return decodeTestdata[struct{ Cases []rougeCase }](t, "rouge/cases.json").Cases
}

func TestROUGEIsRougeScoresToTheBit(t *testing.T) {
	cases := rougeCases(t)
	if len(cases) < 80 {
		t.Errorf("there are only %d cases", len(cases))
	}
	for mode, stem := range map[string]bool{"stemmer": true, "no_stemmer": false} {
		s := newROUGEScorer(stem)
		for _, c := range cases {
			got := s.Score(c.Prediction, c.Target)
			want := c.Expected[mode]
			for name, r := range map[string]rouge{"rouge1": got.One, "rouge2": got.Two, "rougeL": got.L, "rougeLsum": got.LSum} {
				if have := [3]float64{r.Precision, r.Recall, r.F1}; have != want[name] {
					t.Errorf("%s of %s with %s = %v, want %v", name, c.Name, mode, have, want[name])
				}
			}
		}
	}
}

func TestMeanROUGEIsTheScripts(t *testing.T) {
	golden := decodeTestdata[struct {
		N        int
		Expected map[string]struct {
			Mean    float64 `json:"mean_fmeasure"`
			Printed string
		}
	}](t, "rouge/corpus.json")
	s, sums := newROUGEScorer(true), map[string][]float64{}
	for _, c := range rougeCases(t) {
		if !strings.HasPrefix(c.Name, "random_") {
			continue
		}
		r := s.Score(c.Prediction, c.Target)
		for name, v := range map[string]float64{"rouge1": r.One.F1, "rouge2": r.Two.F1, "rougeL": r.L.F1, "rougeLsum": r.LSum.F1} {
			sums[name] = append(sums[name], v)
		}
	}
	for name, want := range golden.Expected {
		if got := mean(sums[name]); got != want.Mean || len(sums[name]) != golden.N {
			t.Errorf("mean %s of %d = %v, want %v of %d", name, len(sums[name]), got, want.Mean, golden.N)
		}
	}
}

func TestStemsAreNLTKs(t *testing.T) {
	stems := decodeTestdata[struct{ Stems map[string]string }](t, "rouge/porter_stems.json").Stems
	if len(stems) < 1000 {
		t.Errorf("there are only %d words", len(stems))
	}
	for word, want := range stems {
		if got := stemPorter(word); got != want {
			t.Errorf("stemPorter(%q) = %q, want %q", word, got, want)
		}
	}
}

func TestROUGEWordsAreRougeScores(t *testing.T) {
	golden := decodeTestdata[struct {
		Cases []struct {
			Text    string
			Tokens  []string
			Stemmed []string `json:"tokens_stemmed"`
		}
	}](t, "rouge/tokenize.json")
	for _, c := range golden.Cases {
		for stem, want := range map[bool][]string{false: c.Tokens, true: c.Stemmed} {
			w := rougeWords{stem: stem}
			w.forget()
			names := map[int32]string{}
			for _, id := range w.append(nil, c.Text) {
				names[id] = ""
			}
			for text, id := range w.stems {
				names[id] = text
			}
			got := []string{}
			for _, id := range w.append(nil, c.Text) {
				got = append(got, names[id])
			}
			if diff := cmp.Diff(want, got, exact); diff != "" {
				t.Errorf("words of %q, stemmed %t (-want +got):\n%s", c.Text, stem, diff)
			}
		}
	}
}

// articles are texts like those of CNN/DailyMail: four sentences wanted, four said.
func articles(t testing.TB, n int) [][2]string {
	var texts []string
	for _, c := range rougeCases(t) {
		if strings.HasPrefix(c.Name, "random_") {
			texts = append(texts, c.Target, c.Prediction)
		}
	}
	pairs := make([][2]string, n)
	for i := range pairs {
		pairs[i] = [2]string{texts[(2*i)%len(texts)], texts[(2*i+1)%len(texts)]}
	}
	return pairs
}

func TestROUGEIsSymmetricAndBounded(t *testing.T) {
	s := newROUGEScorer(true)
	for i, pair := range articles(t, 120) {
		one, other := s.Score(pair[0], pair[1]), s.Score(pair[1], pair[0])
		for name, r := range map[string][2]rouge{"1": {one.One, other.One}, "2": {one.Two, other.Two}, "L": {one.L, other.L}} {
			if r[0].Precision != r[1].Recall || r[0].Recall != r[1].Precision || math.Abs(r[0].F1-r[1].F1) > 1e-15 {
				t.Errorf("pair %d: ROUGE-%s is %v one way and %v the other", i, name, r[0], r[1])
			}
		}
		if one.L.F1 > one.One.F1 || one.LSum.F1 > one.One.F1 || one.One.F1 > 1 {
			t.Errorf("pair %d: %+v: a subsequence is not longer than the words in common", i, one)
		}
	}
}

func FuzzROUGE(f *testing.F) {
	f.Add("The quiet lantern.\nIt follows", "A lantern follows")
	f.Add("\u212a \u0130x \xff", "k i x")
	f.Fuzz(func(t *testing.T, said, wanted string) {
		if len(said)+len(wanted) > 1<<12 {
			return
		}
		s := newROUGEScorer(true)
		for name, r := range map[string]rouge{"said": s.Score(said, said).LSum, "pair": s.Score(said, wanted).LSum} {
			if !(r.F1 >= 0 && r.F1 <= 1 && r.Precision <= 1 && r.Recall <= 1) {
				t.Errorf("%s of %q, %q: %v", name, said, wanted, r)
			}
		}
	})
}

func BenchmarkROUGE(b *testing.B) {
	for _, lines := range []int{1, 4} {
		b.Run(fmt.Sprintf("%d-fold", lines), func(b *testing.B) {
			pairs := articles(b, 60)
			for i := range pairs {
				pairs[i][0], pairs[i][1] = strings.Repeat(pairs[i][0]+"\n", lines), strings.Repeat(pairs[i][1]+"\n", lines)
			}
			s := newROUGEScorer(true)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				s.Score(pairs[i%len(pairs)][0], pairs[i%len(pairs)][1])
			}
		})
	}
}

// What PorterStemmer of NLTK 3.8 makes of words that are little more than a suffix.
func TestStemsOfWordsThatAreNearlySuffixes(t *testing.T) {
	for word, want := range map[string]string{
		"": "", "s": "s", "ss": "ss", "ied": "i", "ies": "i", "yies": "yie", "eed": "eed", "ed": "ed", "ing": "ing", "bled": "bled", "y": "y", "yy": "yy", "e": "e", "ll": "ll",
	} {
		if got := stemPorter(word); got != want {
			t.Errorf("stemPorter(%q) = %q, want %q", word, got, want)
		}
	}
}
