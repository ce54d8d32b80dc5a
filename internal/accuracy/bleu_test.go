package accuracy

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/tokenizer/pytext"
)

func TestBLEUAgreesWithTheReference(t *testing.T) {
	for _, c := range golden[struct {
		Cases []struct {
			Name       string
			References [][][]string
			Hypotheses [][]string
			MaxOrder   int `json:"max_order"`
			Smooth     bool
			Expected   struct {
				BLEU  float64
				Error string
			}
		}
	}](t, "bleu/nmt.json").Cases {
		if c.MaxOrder != maxOrder || c.Smooth || len(c.References[0]) > 1 {
			continue // which process_accuracy.py does not have
		}
		var sum bleuCount
		grams := newGramCounter()
		for i, text := range c.Hypotheses {
			sum.add(countBLEU(grams, text, c.References[i][0]))
		}
		if got := bleu(sum[:]); math.IsNaN(got) != (c.Expected.Error != "") || math.Abs(got-c.Expected.BLEU) > 1e-9 {
			t.Errorf("%s: %v, want %v %s", c.Name, got, c.Expected.BLEU, c.Expected.Error)
		}
	}
}

// A sacreCase is a case of sacreBLEU, which has more options than the benchmarks use.
type sacreCase struct {
	Name       string
	Hypotheses []string
	Streams    [][]*string `json:"reference_streams"`
	Options    struct {
		Tokenize       string
		SmoothMethod   string   `json:"smooth_method"`
		SmoothValue    *float64 `json:"smooth_value"`
		Lowercase      bool
		EffectiveOrder bool `json:"effective_order"`
		MaxNgramOrder  int  `json:"max_ngram_order"`
	}
	Expected map[string]struct {
		Score                    float64
		Signature, Format, Error string
	}
}

func TestSacreBLEUAgreesWithVersion260(t *testing.T) {
	compared := 0
	for _, c := range golden[struct{ Cases []sacreCase }](t, "bleu/sacrebleu.json.gz").Cases {
		want, ok := c.Expected["2.6.0"]
		o := c.Options
		if !ok || want.Error != "" || len(c.Streams) > 1 || o.SmoothValue != nil || o.EffectiveOrder || o.MaxNgramOrder != maxOrder {
			continue
		}
		compared++
		ours := &SacreOptions{Tokenize: o.Tokenize, Smooth: o.SmoothMethod, Lowercase: o.Lowercase}
		var sum bleuCount
		grams := newGramCounter()
		for i, text := range c.Hypotheses {
			sum.add(countBLEU(grams, ours.words(text), ours.words(*c.Streams[0][i])))
		}
		score, lines := ours.score(sum)
		if diff := cmp.Diff([]string{want.Format, want.Signature}, lines); diff != "" || math.Abs(score-want.Score) > 1e-9 {
			t.Errorf("%s: %v, want %v (-want +got):\n%s", c.Name, score, want.Score, diff)
		}
	}
	if compared < 50 {
		t.Errorf("only %d cases were compared", compared)
	}
}

func TestTokenizersAgreeWithSacreBLEU(t *testing.T) {
	compared := 0
	for _, c := range golden[struct {
		Cases []struct {
			Line   string
			Tokens map[string]string
		}
	}](t, "bleu/tokenizers.json.gz").Cases {
		for _, name := range []string{"13a", "intl", "zh", "char", "none"} {
			want, ok := c.Tokens[name+"@2.6.0"]
			if !ok {
				if want, ok = c.Tokens[name]; !ok {
					continue
				}
			}
			compared++
			o := SacreOptions{Tokenize: name}
			if diff := cmp.Diff(pytext.Fields(want), o.words(c.Line), exact...); diff != "" {
				t.Errorf("%s of %q (-want +got):\n%s", name, c.Line, diff)
			}
		}
	}
	if compared < 900 {
		t.Errorf("only %d lines were compared", compared)
	}
}

func TestSacreBLEUIsPrintedWithItsSignature(t *testing.T) {
	score := must(ScoreTranslations(logOf([]byte("the house stands.")), [][]string{{"the", "house", "stands", "."}}, &SacreOptions{}))
	want := []string{"BLEU: 0.0", "BLEU = 100.00 100.0/100.0/100.0/100.0 (BP = 1.000 ratio = 1.000 hyp_len = 4 ref_len = 4)", "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0"}
	if diff := cmp.Diff(want, score.Lines); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// newsCorpus is a corpus as large as newstest2014, for speed.
func newsCorpus() (texts, wanted []string) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 3003 {
		var a, b []string
		for range 12 + r.IntN(25) {
			word := fmt.Sprintf("w%x,", r.IntN(1+r.IntN(30000)))
			a = append(a, word)
			if r.IntN(4) > 0 {
				b = append(b, word)
			}
		}
		texts, wanted = append(texts, strings.Join(a, " ")), append(wanted, strings.Join(b, " ")+".")
	}
	return texts, wanted
}

func sumBLEU(texts, wanted []string, words func(string) []string) (sum bleuCount) {
	grams := newGramCounter()
	for i := range texts {
		sum.add(countBLEU(grams, words(texts[i]), words(wanted[i])))
	}
	return sum
}

func BenchmarkBLEU(b *testing.B) {
	texts, wanted := newsCorpus()
	for name, words := range map[string]func(string) []string{
		"nmt": func(line string) []string { return strings.Split(line, " ") }, "sacre": (&SacreOptions{}).words,
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				sumBLEU(texts, wanted, words)
			}
			b.ReportMetric(float64(len(texts)*b.N)/b.Elapsed().Seconds(), "sentences/s")
		})
	}
}
