package accuracy

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

type rougeCase struct {
	Name, Target, Prediction string
	Expected                 struct{ Stemmer map[string][3]float64 } // precision, recall, F1
}

func rougeCases(t testing.TB) []rougeCase {
	return golden[struct{ Cases []rougeCase }](t, "rouge/cases.json.gz").Cases
}

// TestROUGEAgreesWithRougeScore compares to the bit, also the means that the scripts compute.
func TestROUGEAgreesWithRougeScore(t *testing.T) {
	s, sums := newROUGEScorer(), [4][]float64{}
	for _, c := range rougeCases(t) {
		got := s.score(c.Prediction, c.Target)
		for i, name := range rougeNames {
			if want := c.Expected.Stemmer[name][2]; got[i] != want {
				t.Errorf("%s of %s = %v, want %v", name, c.Name, got[i], want)
			}
			if strings.HasPrefix(c.Name, "random_") {
				sums[i] = append(sums[i], got[i])
			}
		}
	}
	corpus := golden[struct {
		N        int
		Expected map[string]struct {
			Mean float64 `json:"mean_fmeasure"`
		}
	}](t, "rouge/corpus.json.gz")
	for i, name := range rougeNames {
		if got, want := mean(sums[i]), corpus.Expected[name].Mean; got != want || len(sums[i]) != corpus.N {
			t.Errorf("mean %s of %d = %v, want %v of %d", name, len(sums[i]), got, want, corpus.N)
		}
	}
}

func TestStemsAgreeWithNLTK(t *testing.T) {
	stems := golden[struct{ Stems map[string]string }](t, "rouge/porter_stems.json.gz").Stems
	// PorterStemmer of NLTK 3.8 on words that are little more than a suffix.
	for word, stem := range map[string]string{
		"": "", "s": "s", "ss": "ss", "ied": "i", "ies": "i", "yies": "yie", "eed": "eed", "ed": "ed", "ing": "ing", "bled": "bled", "y": "y", "yy": "yy", "e": "e", "ll": "ll",
	} {
		stems[word] = stem
	}
	for word, want := range stems {
		if got := stemPorter(word); got != want {
			t.Errorf("stemPorter(%q) = %q, want %q", word, got, want)
		}
	}
}

func TestROUGEWordsAgreeWithRougeScore(t *testing.T) {
	for _, c := range golden[struct {
		Cases []struct {
			Text    string
			Stemmed []string `json:"tokens_stemmed"`
		}
	}](t, "rouge/tokenize.json.gz").Cases {
		s := newROUGEScorer()
		ids, _ := s.read(c.Text)
		names := map[int32]string{}
		for stem, id := range s.stems {
			names[id] = stem
		}
		var got []string
		for _, id := range ids {
			got = append(got, names[id])
		}
		if diff := cmp.Diff(c.Stemmed, got, exact...); diff != "" {
			t.Errorf("words of %q (-want +got):\n%s", c.Text, diff)
		}
	}
}

func FuzzROUGE(f *testing.F) {
	f.Add("The quiet lantern.\nIt follows", "A lantern follows")
	f.Add("\u212a \u0130x \xff", "k i x")
	f.Fuzz(func(t *testing.T, text, wanted string) {
		if len(text)+len(wanted) > 1<<12 {
			return
		}
		s := newROUGEScorer()
		for _, pair := range [][2]string{{text, text}, {text, wanted}} {
			for i, v := range s.score(pair[0], pair[1]) {
				if !(v >= 0 && v <= 1) {
					t.Errorf("%s of %q: %v", rougeNames[i], pair, v)
				}
			}
		}
	})
}

func BenchmarkROUGE(b *testing.B) {
	for _, lines := range []int{1, 4} {
		b.Run(fmt.Sprintf("%d-fold", lines), func(b *testing.B) {
			var pairs [][2]string // like those of CNN/DailyMail: four sentences wanted, four said
			for _, c := range rougeCases(b) {
				if strings.HasPrefix(c.Name, "random_") {
					pairs = append(pairs, [2]string{strings.Repeat(c.Target+"\n", lines), strings.Repeat(c.Prediction+"\n", lines)})
				}
			}
			s := newROUGEScorer()
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				s.score(pairs[i%len(pairs)][0], pairs[i%len(pairs)][1])
			}
		})
	}
}
