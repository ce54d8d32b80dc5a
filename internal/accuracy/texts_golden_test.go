package accuracy

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// textsGolden is what make_texts.py wrote.
type textsGolden struct {
	words   []string
	special int
	rows    []struct {
		Output, Dataset, ID, Metric string
		Wanted                      string `json:"gt_output"`
		Long                        string `json:"long_output"`
	}
	runs []struct{ Variant, Log, Model, Error, Printed string }
}

func readTextsGolden(t testing.TB) *textsGolden {
	t.Helper()
	g := &textsGolden{}
	v := decodeTestdata[struct {
		Words   []string
		Special int
	}](t, "logs/texts/vocabulary.json")
	g.words, g.special = v.Words, v.Special
	type rows = []struct {
		Output, Dataset, ID, Metric string
		Wanted                      string `json:"gt_output"`
		Long                        string `json:"long_output"`
	}
	g.rows = decodeTestdata[rows](t, "logs/texts/dataset.json")
	g.runs = decodeTestdata[struct {
		Runs []struct{ Variant, Log, Model, Error, Printed string }
	}](t, "logs/texts/expected.json").Runs
	return g
}

func (g *textsGolden) decode(ids []int32) (string, error) {
	var b strings.Builder
	for _, id := range ids {
		switch {
		case int(id) < len(g.words):
			b.WriteString(" " + g.words[id])
		case int(id) >= len(g.words)+g.special:
			return "", fmt.Errorf("token %d is beyond the vocabulary", id)
		}
	}
	return b.String(), nil
}

// score runs our form of a script.
func (g *textsGolden) score(t *testing.T, model, log string, o TokenOptions) (*Score, error) {
	t.Helper()
	ctx, file := t.Context(), openTestdata(t, "logs/texts/"+log)
	var outputs []string
	var long []LongText
	var mixed []MixedText
	for _, r := range g.rows {
		outputs = append(outputs, r.Output)
		long = append(long, LongText{Wanted: r.Long, Metric: r.Metric})
		mixed = append(mixed, MixedText{Dataset: r.Dataset, ID: r.ID, Wanted: r.Wanted})
	}
	switch model {
	case "mixtral-8x7b":
		right := func(_ context.Context, p Program) (bool, error) { return g.isRight(p), nil }
		s, err := ScoreMixtral(ctx, file, mixed, g.decode, ProgramOptions{TokenOptions: o, Execute: right})
		if err != nil {
			return nil, err
		}
		return &s.Score, nil
	case "llama3.1-405b":
		s, err := ScoreLongTexts(ctx, file, long, g.decode, o)
		if err != nil {
			return nil, err
		}
		return &s.Score, nil
	}
	s, err := ScoreSummaries(ctx, file, outputs, g.decode, map[bool]SummaryForm{true: CountedForm}[model == "llama2-70b"], o)
	if err != nil {
		return nil, err
	}
	return &s.Score, nil
}

// isRight stands in for running code, as it does in make_texts.py.
func (g *textsGolden) isRight(p Program) bool { return strings.Contains(p.Code, "right") }

func TestScoresOfTextsAreThoseOfTheScripts(t *testing.T) {
	g := readTextsGolden(t)
	if len(g.runs) != 25 {
		t.Errorf("there are %d runs, want 25", len(g.runs))
	}
	for _, run := range g.runs {
		t.Run(run.Model+" "+run.Variant, func(t *testing.T) {
			o := TokenOptions{}
			if strings.Contains(run.Variant, "int32") || run.Variant == "duplicates" {
				o.DType = Int32
			}
			got, err := g.score(t, run.Model, run.Log, o)
			if err != nil {
				t.Fatal(err)
			}
			if got.Text() != run.Printed {
				t.Errorf("printed %q, want %q", got.Text(), run.Printed)
			}
		})
	}
}

func TestWorkersDoNotChangeAScore(t *testing.T) {
	g := readTextsGolden(t)
	one, err := g.score(t, "llama2-70b", "offline_int64/mlperf_log_accuracy.json", TokenOptions{Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	many, err := g.score(t, "llama2-70b", "offline_int64/mlperf_log_accuracy.json", TokenOptions{Workers: 7})
	if err != nil || one.Text() != many.Text() {
		t.Errorf("seven workers print %q, %v; one %q", many.Text(), err, one.Text())
	}
}

func TestCodeIsNotExecutedUnlessAskedFor(t *testing.T) {
	g := readTextsGolden(t)
	var mixed []MixedText
	for _, r := range g.rows {
		mixed = append(mixed, MixedText{Dataset: r.Dataset, ID: r.ID, Wanted: r.Wanted})
	}
	s, err := ScoreMixtral(t.Context(), openTestdata(t, "logs/texts/offline_int64/mlperf_log_accuracy.json"), mixed, g.decode, ProgramOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if v, ok := s.Lookup("mbxp"); ok || strings.Contains(s.Text(), "mbxp") || len(s.Warnings) != 1 || !strings.Contains(s.Warnings[0], "8 programs") {
		t.Errorf("mbxp is %v, printed %q, warnings %q", v, s.Text(), s.Warnings)
	}
}

func TestLogsOfTokensThatAreNone(t *testing.T) {
	g := readTextsGolden(t)
	wanted := []string{"a", "b"}
	for _, c := range []struct {
		claim, log string
		dtype      DType
		decode     Decoder
		parts      []string
	}{
		{"an empty log", `[]`, "", g.decode, []string{"test.json", "no record"}},
		{"half a number", `[{"qsl_idx":0,"data":"0100000000"}]`, "", g.decode, []string{"record 0", "payload of 5 bytes", "int64"}},
		{"two int32 read as one int64", `[{"qsl_idx":0,"data":"0100000002000000"}]`, "", g.decode, []string{"record 0 (qsl_idx 0)", "token 0", "int64", "another type"}},
		{"a number below zero", `[{"qsl_idx":0,"data":"FFFFFFFF"}]`, Int32, g.decode, []string{"-1"}},
		{"a fraction", `[{"qsl_idx":0,"data":"0000003F"}]`, Float32, g.decode, []string{"0.5", "float32"}},
		{"a sample that the data set has not", `[{"qsl_idx":2,"data":"00000000"}]`, Int32, g.decode, []string{"2 samples"}},
		{"a token beyond the vocabulary", `[{"qsl_idx":1,"data":"FFFF0000"}]`, Int32, g.decode, []string{"qsl_idx 1", "65535", "vocabulary"}},
		{"another dtype", `[]`, Int8, g.decode, []string{"int8"}},
		{"no tokenizer", `[]`, Int32, nil, []string{"tokenizer"}},
	} {
		t.Run(c.claim, func(t *testing.T) {
			_, err := ScoreSummaries(t.Context(), text(c.log), wanted, c.decode, QuotedForm, TokenOptions{DType: c.dtype})
			wantError(t, err, c.parts...)
		})
	}
}

func TestScoringEndsWithItsContext(t *testing.T) {
	g := readTextsGolden(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("enough"))
	_, err := ScoreSummaries(ctx, text(`[{"qsl_idx":0,"data":"00000000"}]`), []string{"a"}, g.decode, QuotedForm, TokenOptions{DType: Int32})
	wantError(t, err, "enough")
	_, err = ScoreLongTexts(ctx, text(`[{"qsl_idx":0,"data":"00000000"}]`), []LongText{{"a", "rouge"}}, g.decode, TokenOptions{DType: Int32})
	wantError(t, err, "enough")
}

func TestMetricsOfLongTextsAreNamed(t *testing.T) {
	g := readTextsGolden(t)
	_, err := ScoreLongTexts(t.Context(), text(`[{"qsl_idx":0,"data":"00000000"}]`), []LongText{{"a", "bleu"}}, g.decode, TokenOptions{DType: Int32})
	wantError(t, err, "qsl_idx 0", `"bleu"`, "niah_em")
}

func TestMixtralNeedsGSM8KAndIDs(t *testing.T) {
	g := readTextsGolden(t)
	log := `[{"qsl_idx":0,"data":"00000000"}]`
	_, err := ScoreMixtral(t.Context(), text(log), []MixedText{{"OpenOrca", "", "x"}}, g.decode, ProgramOptions{TokenOptions: TokenOptions{DType: Int32}})
	wantError(t, err, "GSM8K")
	_, err = ScoreMixtral(t.Context(), text(log), []MixedText{{"MBXP", "python", "x"}}, g.decode, ProgramOptions{TokenOptions: TokenOptions{DType: Int32}})
	wantError(t, err, `"python"`, "underscore")
}

func TestNumbersAreFoundAsTheScriptDoes(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", ""}, {"none", ""}, {"1 then 2", "2"}, {"The answer is 5. Or 6", "5"}, {"The answer is x. The answer is -1,234.50 or 7", "-1234.50"},
		{"The answer is unknown, 3", "3"}, {"12\nQ: 13", "12"}, {"3-4", "-4"}, {"1.", "1"}, {".5", ".5"}, {"1.2.3", ".3"}, {"٤٢", "٤٢"}, {",,7", "7"},
	} {
		if got := finalNumber(c.text); got != c.want {
			t.Errorf("finalNumber(%q) = %q, want %q", c.text, got, c.want)
		}
	}
}

func TestOnlyNumbersAreTheSame(t *testing.T) {
	for _, c := range []struct {
		said, wanted string
		want         bool
	}{
		{"42", "42.0", true}, {"0", "-0", true}, {"42", "43", false},
		{"0", "none", false}, {"none", "0", false}, {"none", "none", false}, {"", "", false},
	} {
		if got := sameNumber(c.said, c.wanted); got != c.want {
			t.Errorf("sameNumber(%q, %q) = %t, want %t", c.said, c.wanted, got, c.want)
		}
	}
}

func TestProgramsAreCutFromResponses(t *testing.T) {
	p, err := newProgram(MixedText{ID: "python_add_two", Wanted: "\ndef check(f): pass"}, "\n  def add\\_two(): ...\n```\nThat was it.")
	want := Program{"python", "python_add_two", "def add_two(): ...\n\ndef check(f): pass\ncheck(add_two)"}
	if err != nil || p != want {
		t.Errorf("newProgram = %+v, %v, want %+v", p, err, want)
	}
	if p, _ = newProgram(MixedText{ID: "ruby_x", Wanted: "!"}, " y"); p.Code != " y!" {
		t.Errorf("code of ruby is %q, want %q", p.Code, " y!")
	}
}

// numberPattern is that of the script, find_numbers.
var numberPattern = regexp.MustCompile(`-?[\p{Nd},]*\.?\p{Nd}+`)

func FuzzNumbers(f *testing.F) {
	for _, text := range []string{"-,1,2.3.4,", ",,.5-.-6-,,", "--7 ٤٢.٣\xff9.", "..1..", "1.,2", "-", ""} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var got []string
		for from, to := nextNumber(text, 0); to > 0; from, to = nextNumber(text, to) {
			got = append(got, text[from:to])
		}
		if want := numberPattern.FindAllString(text, -1); !slices.Equal(got, want) {
			t.Errorf("the numbers of %q are %q, want %q", text, got, want)
		}
	})
}

func FuzzExtraction(f *testing.F) {
	f.Add("The answer is 1,2.3", "python_f")
	f.Add("```\\_", "x")
	f.Fuzz(func(t *testing.T, text, id string) {
		if n := finalNumber(text); strings.Contains(n, ",") {
			t.Errorf("finalNumber(%q) = %q", text, n)
		}
		if p, err := newProgram(MixedText{ID: id}, text); err == nil && strings.Contains(p.Code, "```") {
			t.Errorf("code of %q is %q", text, p.Code)
		}
		hiddenNumbers(text, id)
		answered(text, id)
	})
}
