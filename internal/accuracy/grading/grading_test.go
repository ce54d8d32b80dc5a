package grading

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/testenv"
)

// A golden is what the official scripts make of texts and pairs of answers (testdata/make_grading.py).
type golden struct {
	Texts []reading
	Pairs []struct {
		Said, Wanted string
		Same         bool
	}
}

// A reading is what is found in a text, by the scripts of deepseek-r1 and of gpt-oss-120b.
type reading struct {
	Text       string
	GPQA, MMLU [2]*string
	Boxed      *string
	Integer    *int
	Final      string
	Code       [2]string
}

func found[T any](v T, ok bool) *T {
	if !ok {
		return nil
	}
	return &v
}

func TestTextsAreReadAsTheScriptsReadThem(t *testing.T) {
	for _, want := range testenv.JSON[golden](t, "testdata/grading.json").Texts {
		got := reading{Text: want.Text, Final: Final(want.Text), Code: [2]string{Code(want.Text), FinalCode(want.Text)}}
		for i, letter := range []func(string, byte) byte{Letter, FinalLetter} {
			d, j := letter(want.Text, 'D'), letter(want.Text, 'J')
			got.GPQA[i], got.MMLU[i] = found(string(rune(d)), d != 0), found(string(rune(j)), j != 0)
		}
		got.Boxed = found(Boxed(want.Text))
		got.Integer = found(Integer(want.Text))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", want.Text, diff)
		}
	}
}

func TestSameMathAgreesWithTheGrader(t *testing.T) {
	for _, c := range testenv.JSON[golden](t, "testdata/grading.json").Pairs {
		if got := SameMath(c.Said, c.Wanted); got != c.Same {
			t.Errorf("SameMath(%q, %q) = %t", c.Said, c.Wanted, got)
		}
	}
}

// A model may write anything, and at any length.
func TestLongAndDeepAnswersEnd(t *testing.T) {
	for name, text := range map[string]string{
		"a number of many digits":   strings.Repeat("7", 20_000),
		"parentheses in each other": strings.Repeat("(", 10_000) + "1" + strings.Repeat(")", 10_000),
		"braces in each other":      strings.Repeat("{", 10_000) + "x" + strings.Repeat("}", 10_000),
		"signs":                     strings.Repeat("-", 10_000) + "1",
		"elements":                  strings.Repeat("1,", 10_000) + "1",
		"fractions of nothing":      strings.Repeat(`\frac`, 10_000),
		"fractions in each other":   strings.Repeat(`1+\frac{1}{y+`, 150) + "x" + strings.Repeat("}", 150),
		"roots in each other":       strings.Repeat(`\sqrt{2+`, 150) + "x" + strings.Repeat("}", 150),
		"a wide matrix":             `\begin{pmatrix}` + strings.Repeat("1&", 5_000) + `1\end{pmatrix}`,
		"many factors":              strings.Repeat("(a+1)(a+2)", 300),
		"powers of powers":          "9**9**9**9",
		"units":                     strings.Repeat("degree ", 5_000),
	} {
		if SameMath(text, "no answer") || SameMath("no answer", text) || !SameMath(text, text) {
			t.Errorf("%s is another answer", name)
		}
		SameMath(text, "("+text+")*1")
	}
}

func FuzzAnswers(f *testing.F) {
	for _, s := range []string{`\frac{1}{2}`, `\boxed{x^2+\sqrt{3}}`, "ANSWER: B", "(1,2]", "7 3/4", "2x(y+1)", `\text{ a}`, "Answer: 7"} {
		f.Add(s, "1/2")
	}
	f.Add("\\sqrt\x94", "2")
	f.Fuzz(func(t *testing.T, said, wanted string) {
		if !SameMath(said, said) {
			t.Errorf("%q is not itself", said)
		}
		SameMath(said, wanted)
		Letter(said, 'J')
		Code(said)
		FinalCode(said)
		if c := FinalLetter(said, 'D'); c != 0 && (c < 'A' || c > 'D') {
			t.Errorf("letter %q", c)
		}
		Integer(said)
		if _, ok := Boxed(said); ok && len(said) < 8 {
			t.Errorf("a box in %q", said)
		}
	})
}
