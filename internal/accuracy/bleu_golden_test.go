package accuracy

import (
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/accuracy/pytext"
)

func TestBLEUIsTheReferences(t *testing.T) {
	golden := decodeTestdata[struct {
		Cases []struct {
			Name       string
			References [][][]string
			Hypotheses [][]string
			MaxOrder   int `json:"max_order"`
			Smooth     bool
			Expected   struct {
				BLEU, BP, Ratio   float64
				Precisions        []float64
				TranslationLength int `json:"translation_length"`
				ReferenceLength   int `json:"reference_length"`
				Error             string
			}
		}
	}](t, "bleu/nmt.json")
	for _, c := range golden.Cases {
		b := newBLEUCounter(c.MaxOrder, c.Smooth)
		for i, said := range c.Hypotheses {
			b.Add(said, c.References[i]...)
		}
		got, err := b.Score()
		if c.Expected.Error != "" {
			if err == nil {
				t.Errorf("%s: %+v, want an error", c.Name, got)
			}
			continue
		}
		want := BLEU{c.Expected.BLEU, c.Expected.Precisions, c.Expected.BP, c.Expected.Ratio, c.Expected.TranslationLength, c.Expected.ReferenceLength}
		if diff := cmp.Diff(want, got, near); diff != "" || err != nil {
			t.Errorf("%s: error %v (-want +got):\n%s", c.Name, err, diff)
		}
	}
}

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
		Score             float64
		Precisions        []float64
		BP                float64
		SysLen            int `json:"sys_len"`
		RefLen            int `json:"ref_len"`
		Counts, Totals    []float64
		Signature, Format string
		Error             string
		Sentences         []float64 `json:"sentence_scores_effective_order"`
	}
}

func (c *sacreCase) options() SacreOptions {
	return SacreOptions{c.Options.Tokenize, c.Options.SmoothMethod, c.Options.SmoothValue, c.Options.Lowercase, c.Options.EffectiveOrder, c.Options.MaxNgramOrder}
}

func (c *sacreCase) references(i int) (references []string) {
	for _, stream := range c.Streams {
		if r := stream[i]; r != nil {
			references = append(references, *r)
		}
	}
	return references
}

func TestSacreBLEUIsThePeers(t *testing.T) {
	golden := decodeTestdata[struct{ Cases []sacreCase }](t, "bleu/sacrebleu.json")
	for _, c := range golden.Cases {
		want, ok := c.Expected["2.6.0"]
		if !ok || want.Error != "" {
			continue
		}
		s, err := newSacreCounter(c.options())
		if err != nil {
			t.Fatal(err)
		}
		for i, said := range c.Hypotheses {
			s.Add(said, c.references(i)...)
		}
		got := s.Score()
		if diff := cmp.Diff(sacreBLEU{want.Score, want.Precisions, want.BP, want.SysLen, want.RefLen}, got, near); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.Name, diff)
		}
		if got.String() != want.Format {
			t.Errorf("%s: prints %s, want %s", c.Name, got, want.Format)
		}
		if s.Signature() != want.Signature {
			t.Errorf("%s: signature %s, want %s", c.Name, s.Signature(), want.Signature)
		}
	}
	if len(golden.Cases) < 90 {
		t.Errorf("there are only %d cases", len(golden.Cases))
	}
}

func TestTokenizersAreSacreBLEUs(t *testing.T) {
	golden := decodeTestdata[struct {
		Cases []struct {
			Line   string
			Tokens map[string]string
		}
	}](t, "bleu/tokenizers.json")
	compared := 0
	for _, c := range golden.Cases {
		for name, tokenize := range sacreTokenizers {
			want, ok := c.Tokens[name+"@2.6.0"]
			if !ok {
				if want, ok = c.Tokens[name]; !ok {
					continue
				}
			}
			compared++
			if got := strings.Join(pytext.Fields(tokenize(pytext.TrimRight(c.Line))), " "); got != strings.Join(pytext.Fields(want), " ") {
				t.Errorf("%s(%q) = %q, want %q", name, c.Line, got, want)
			}
		}
	}
	if compared < 900 {
		t.Errorf("only %d lines were compared", compared)
	}
}

func TestSentenceScoresAreSacreBLEUs(t *testing.T) {
	compared := 0
	for _, c := range decodeTestdata[struct{ Cases []sacreCase }](t, "bleu/sacrebleu.json").Cases {
		o := c.options()
		o.EffectiveOrder = true
		for i, want := range c.Expected["2.6.0"].Sentences {
			s, err := newSacreCounter(o)
			if err != nil {
				t.Fatal(err)
			}
			s.Add(c.Hypotheses[i], c.references(i)...)
			if got := s.Score().Score; math.Abs(got-want) > 1e-9 {
				t.Errorf("%s: sentence %d has %v, want %v", c.Name, i, got, want)
			}
			compared++
		}
	}
	if compared == 0 {
		t.Error("no sentence was compared")
	}
}

func TestScoreTranslationsAgreesWithTheOfficialScript(t *testing.T) {
	var references [][]string
	for line := range strings.Lines(string(readTestdata(t, "logs/gnmt/newstest.tok.bpe.de"))) {
		references = append(references, CleanReference(line))
	}
	score := func(_ goldenRun, log Input) (*TranslationScore, error) {
		return ScoreTranslations(log, references, TranslationOptions{})
	}
	for _, run := range decodeTestdata[struct{ Runs []goldenRun }](t, "logs/gnmt/expected.json").Runs {
		t.Run(run.Variant, func(t *testing.T) {
			got, err := score(run, openTestdata(t, "logs/gnmt/"+run.Log))
			switch {
			case run.Variant == "truncated_log":
				if !errors.Is(err, errTruncated) {
					t.Errorf("a log that was cut off is scored: %v", err)
				}
			case run.Error != "":
				wantError(t, err, "mlperf_log_accuracy.json")
			case err != nil:
				t.Error(err)
			default:
				if got.Text() != run.Printed+"\n" || math.Abs(got.Values[0].Value-run.BLEU) > 1e-9 {
					t.Errorf("printed %q, BLEU %v, want %q, %v", got.Text(), got.Values[0].Value, run.Printed, run.BLEU)
				}
			}
		})
	}
}

func TestSacreBLEUIsPrintedWithItsSignature(t *testing.T) {
	log := Named("log", strings.NewReader(`[{"seq_id":0,"qsl_idx":0,"data":"`+hex.EncodeToString([]byte("the house stands."))+`"}]`))
	score, err := ScoreTranslations(log, [][]string{{"the", "house", "stands", "."}}, TranslationOptions{Sacre: &SacreOptions{}})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"BLEU: 0.0", "BLEU = 100.00 100.0/100.0/100.0/100.0 (BP = 1.000 ratio = 1.000 hyp_len = 4 ref_len = 4)", "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0"}
	if diff := cmp.Diff(want, score.Lines); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, o := range []SacreOptions{{Tokenize: "mecab"}, {Smooth: "more"}, {Order: 7}} {
		if _, err := newSacreCounter(o); err == nil {
			t.Errorf("took %+v", o)
		}
	}
}

// A corpus as large as newstest2014, for speed.
func newsCorpus() (said, wanted []string) {
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
		said, wanted = append(said, strings.Join(a, " ")), append(wanted, strings.Join(b, " ")+".")
	}
	return said, wanted
}

func BenchmarkBLEU(b *testing.B) {
	said, wanted := newsCorpus()
	for b.Loop() {
		counter := newBLEUCounter(4, false)
		for i := range said {
			counter.Add(strings.Split(said[i], " "), strings.Split(wanted[i], " "))
		}
		if _, err := counter.Score(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(len(said)*b.N)/b.Elapsed().Seconds(), "sentences/s")
}

func BenchmarkSacreBLEU(b *testing.B) {
	said, wanted := newsCorpus()
	for b.Loop() {
		counter, err := newSacreCounter(SacreOptions{})
		if err != nil {
			b.Fatal(err)
		}
		for i := range said {
			counter.Add(said[i], wanted[i])
		}
		if counter.Score().Score == 0 {
			b.Fatal("nothing matches")
		}
	}
	b.ReportMetric(float64(len(said)*b.N)/b.Elapsed().Seconds(), "sentences/s")
}
