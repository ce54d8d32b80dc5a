package grading

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/testenv"
)

// A golden holds results of the official scripts for texts and pairs of answers (testdata/make_grading.py).
type golden struct {
	Texts []reading
	Pairs []struct {
		Said, Wanted string
		Same         bool
	}
}

// A reading holds the answers that the scripts of deepseek-r1 and gpt-oss-120b find in a text.
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

func TestAnswersEqualThoseOfTheScripts(t *testing.T) {
	for _, want := range testenv.JSON[golden](t, "testdata/grading.json").Texts {
		got := reading{Text: want.Text, Final: finalMessage(want.Text), Code: [2]string{Code(want.Text), FinalCode(want.Text)}}
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

func TestSameMathEqualsTheGrader(t *testing.T) {
	for _, c := range testenv.JSON[golden](t, "testdata/grading.json").Pairs {
		if got := SameMath(c.Said, c.Wanted); got != c.Same {
			t.Errorf("SameMath(%q, %q) = %t", c.Said, c.Wanted, got)
		}
	}
}

// A model may write anything at any length.
func TestLongAnswersEnd(t *testing.T) {
	for name, text := range map[string]string{
		"many digits":        strings.Repeat("7", 20_000),
		"nested parentheses": strings.Repeat("(", 10_000) + "1" + strings.Repeat(")", 10_000),
		"nested braces":      strings.Repeat("{", 10_000) + "x" + strings.Repeat("}", 10_000),
		"signs":              strings.Repeat("-", 10_000) + "1",
		"elements":           strings.Repeat("1,", 10_000) + "1",
		"empty fractions":    strings.Repeat(`\frac`, 10_000),
		"nested fractions":   strings.Repeat(`1+\frac{1}{y+`, 150) + "x" + strings.Repeat("}", 150),
		"nested roots":       strings.Repeat(`\sqrt{2+`, 150) + "x" + strings.Repeat("}", 150),
		"a wide matrix":      `\begin{pmatrix}` + strings.Repeat("1&", 5_000) + `1\end{pmatrix}`,
		"many factors":       strings.Repeat("(a+1)(a+2)", 300),
		"powers of powers":   "9**9**9**9",
		"units":              strings.Repeat("degree ", 5_000),
	} {
		if SameMath(text, "no answer") || SameMath("no answer", text) || !SameMath(text, text) {
			t.Errorf("%s: wrong comparison with itself or another text", name)
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
			t.Errorf("SameMath(%q) with itself = false", said)
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
			t.Errorf("Boxed(%q) finds a box", said)
		}
	})
}
