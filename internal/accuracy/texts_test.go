package accuracy

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// textsGolden is what make_texts.py wrote.
type textsGolden struct {
	words   []string
	special int
	rows    []textsRow
	runs    []textsRun
}

type textsRow struct {
	Output, Dataset, ID, Metric string
	Wanted                      string `json:"gt_output"`
	Long                        string `json:"long_output"`
}

type textsRun struct{ Variant, Log, Model, Printed string }

func readTextsGolden(t testing.TB) *textsGolden {
	t.Helper()
	g := &textsGolden{}
	v := golden[struct {
		Words   []string
		Special int
	}](t, "logs/texts/vocabulary.json.gz")
	g.words, g.special = v.Words, v.Special
	g.rows = golden[[]textsRow](t, "logs/texts/dataset.json.gz")
	g.runs = golden[struct{ Runs []textsRun }](t, "logs/texts/expected.json.gz").Runs
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

func TestTextsAgreeWithTheOfficialScripts(t *testing.T) {
	g := readTextsGolden(t)
	var outputs []string
	var long []LongText
	var mixed []MixedText
	for _, r := range g.rows {
		outputs = append(outputs, r.Output)
		long = append(long, LongText{Wanted: r.Long, Metric: r.Metric})
		mixed = append(mixed, MixedText{Dataset: r.Dataset, ID: r.ID, Wanted: r.Wanted})
	}
	// Stands in for running code, as in make_texts.py.
	right := func(_ context.Context, p Program) (bool, error) { return strings.Contains(p.Code, "right"), nil }
	if len(g.runs) != 25 {
		t.Errorf("%d runs, want 25", len(g.runs))
	}
	for _, run := range g.runs {
		t.Run(run.Model+" "+run.Variant, func(t *testing.T) {
			var dtype DType
			if strings.Contains(run.Variant, "int32") || run.Variant == "duplicates" {
				dtype = Int32
			}
			ctx, log := t.Context(), goldenLog(t, "texts/"+run.Log)
			var got *Score
			switch run.Model {
			case "mixtral-8x7b":
				got = must(ScoreMixtral(ctx, log, mixed, g.decode, ProgramOptions{DType: dtype, Execute: right}))
			case "llama3.1-405b":
				got = must(ScoreLongTexts(ctx, log, long, g.decode, dtype))
			case "llama2-70b":
				got = must(ScoreSummaries(ctx, log, outputs, g.decode, CountedForm, dtype))
			default:
				got = must(ScoreSummaries(ctx, log, outputs, g.decode, QuotedForm, dtype))
			}
			if got.Text() != run.Printed {
				t.Errorf("printed %q, want %q", got.Text(), run.Printed)
			}
		})
	}
	s := must(ScoreMixtral(t.Context(), goldenLog(t, "texts/offline_int64/mlperf_log_accuracy.json"), mixed, g.decode, ProgramOptions{}))
	if v, ok := s.Lookup("mbxp"); ok || strings.Contains(s.Text(), "mbxp") || len(s.Warnings) != 1 || !strings.Contains(s.Warnings[0], "8 programs") {
		t.Errorf("code that was not executed: mbxp is %v, printed %q, warnings %q", v, s.Text(), s.Warnings)
	}
}

func TestTextErrors(t *testing.T) {
	g := readTextsGolden(t)
	ctx := t.Context()
	ended, cancel := context.WithCancelCause(ctx)
	cancel(errors.New("enough"))
	summaries := func(log string, dtype DType) error {
		_, err := ScoreSummaries(ctx, text(log), []string{"a", "b"}, g.decode, QuotedForm, dtype)
		return err
	}
	one := `[{"qsl_idx":0,"data":"00000000"}]`
	mixtral := func(want MixedText) error {
		_, err := ScoreMixtral(ctx, text(one), []MixedText{want}, g.decode, ProgramOptions{DType: Int32})
		return err
	}
	_, unknown := ScoreLongTexts(ctx, text(one), []LongText{{"a", "bleu"}}, g.decode, Int32)
	_, cancelled := ScoreLongTexts(ended, text(one), []LongText{{"a", "rouge"}}, g.decode, Int32)
	for _, c := range []struct {
		name  string
		err   error
		parts []string
	}{
		{"an empty log", summaries(`[]`, ""), []string{"test.json", "no record"}},
		{"half a number", summaries(`[{"qsl_idx":0,"data":"0100000000"}]`, ""), []string{"record 0", "payload of 5 bytes", "int64"}},
		{"two int32 read as one int64", summaries(`[{"qsl_idx":0,"data":"0100000002000000"}]`, ""), []string{"record 0 (qsl_idx 0)", "token 0", "int64", "another type"}},
		{"a number below zero", summaries(`[{"qsl_idx":0,"data":"FFFFFFFF"}]`, Int32), []string{"-1"}},
		{"a fraction", summaries(`[{"qsl_idx":0,"data":"0000003F"}]`, float32s), []string{"0.5", "float32"}},
		{"a sample beyond the data set", summaries(`[{"qsl_idx":2,"data":"00000000"}]`, Int32), []string{"2 samples"}},
		{"a token beyond the vocabulary", summaries(`[{"qsl_idx":1,"data":"FFFF0000"}]`, Int32), []string{"qsl_idx 1", "65535", "vocabulary"}},
		{"another dtype", summaries(`[]`, int8s), []string{"int8"}},
		{"an unknown metric", unknown, []string{"qsl_idx 0", `"bleu"`, "niah_em"}},
		{"the end of the context", cancelled, []string{"enough"}},
		{"no sample of GSM8K", mixtral(MixedText{"OpenOrca", "", "x"}), []string{"GSM8K"}},
		{"an id without a name", mixtral(MixedText{"MBXP", "python", "x"}), []string{`"python"`, "underscore"}},
	} {
		t.Run(c.name, func(t *testing.T) { wantError(t, c.err, c.parts...) })
	}
}

func TestFinalNumber(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", ""}, {"none", ""}, {"1 then 2", "2"}, {"The answer is 5. Or 6", "5"}, {"The answer is x. The answer is -1,234.50 or 7", "-1234.50"},
		{"The answer is unknown, 3", "3"}, {"12\nQ: 13", "12"}, {"3-4", "-4"}, {"1.", "1"}, {".5", ".5"}, {"1.2.3", ".3"}, {"٤٢", "٤٢"}, {",,7", "7"},
	} {
		if got := finalNumber(c.text); got != c.want {
			t.Errorf("finalNumber(%q) = %q, want %q", c.text, got, c.want)
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
