package grading

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/mlperf-go/mlperf/internal/testfile"
)

// A golden is what the official scripts make of answers (testdata/make_grading.py).
type golden struct {
	Texts []struct {
		Text       string
		GPQA, MMLU [2]*string // of deepseek-r1, of gpt-oss-120b
		Boxed      *string
		Integer    *int
	}
	Pairs []struct {
		Said, Wanted string
		Same         bool
	}
}

func readGolden(t testing.TB) golden {
	t.Helper()
	return testfile.JSON[golden](t, "testdata/grading.json")
}

func TestAnswersAreReadAsTheScriptsReadThem(t *testing.T) {
	for _, c := range readGolden(t).Texts {
		for last, want := range map[byte][2]*string{'D': c.GPQA, 'J': c.MMLU} {
			for i, letter := range []func(string, byte) byte{Letter, FinalLetter} {
				if got := letter(c.Text, last); (got == 0) != (want[i] == nil) || got != 0 && string(rune(got)) != *want[i] {
					t.Errorf("%q to %c, form %d: %q, want %v", c.Text, last, i, got, text(want[i]))
				}
			}
		}
		if box, ok := Boxed(c.Text); ok != (c.Boxed != nil) || ok && box != *c.Boxed {
			t.Errorf("Boxed(%q) = %q, %v, want %v", c.Text, box, ok, text(c.Boxed))
		}
		if n, ok := Integer(c.Text); ok != (c.Integer != nil) || ok && n != *c.Integer {
			t.Errorf("Integer(%q) = %d, %v", c.Text, n, ok)
		}
	}
}

func TestProgramsAreFoundAsTheScriptsFindThem(t *testing.T) {
	data, err := os.ReadFile("testdata/programs.json") // make_programs.py
	if err != nil {
		t.Fatal(err)
	}
	var golden []struct {
		Text string
		Code [2]string
	}
	if err := json.Unmarshal(data, &golden); err != nil || len(golden) < 30 {
		t.Fatalf("%d texts, %v", len(golden), err)
	}
	for _, c := range golden {
		if got := [2]string{Code(c.Text), FinalCode(c.Text)}; got != c.Code {
			t.Errorf("the programs in %q are %q, want %q", c.Text, got, c.Code)
		}
	}
}

func text(s *string) string {
	if s == nil {
		return "nothing"
	}
	return *s
}

func TestFormulasAreTheSameWhereTheGraderSaysSo(t *testing.T) {
	for _, c := range readGolden(t).Pairs {
		if got := SameMath(c.Said, c.Wanted); got != c.Same {
			t.Errorf("SameMath(%q, %q) = %v", c.Said, c.Wanted, got)
		}
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
