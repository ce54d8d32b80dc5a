package grading

import (
	"testing"

	"github.com/mlperf-go/mlperf/internal/longtest"
	"github.com/mlperf-go/mlperf/internal/testfile"
)

// exotic has what the official grader makes of unusual answers, and pylatexenc of unusual LaTeX (make_exotic.py).
type exotic struct {
	Pairs [][3]any // said, wanted, whether they are the same
	Texts [][2]any // LaTeX, text or null
}

func readExotic(t *testing.T) exotic {
	t.Helper()
	g := testfile.JSON[exotic](t, "testdata/exotic.json.gz")
	if len(g.Pairs) < 3000 || len(g.Texts) < 700 {
		t.Fatalf("%d pairs, %d texts", len(g.Pairs), len(g.Texts))
	}
	return g
}

func TestUnusualAnswersAreJudgedAsTheGraderJudgesThem(t *testing.T) {
	for i, p := range readExotic(t).Pairs {
		if i%8 != 0 && !longtest.Wanted() {
			continue // all of them take a second
		}
		if got := SameMath(p[0].(string), p[1].(string)); got != p[2] {
			t.Errorf("SameMath(%q, %q) = %v", p[0], p[1], got)
		}
	}
}

func TestUnusualLaTeXIsReadAsPylatexencReadsIt(t *testing.T) {
	for _, p := range readExotic(t).Texts {
		want, written := p[1].(string)
		if got, ok := latexText(p[0].(string)); ok != written || got != want {
			t.Errorf("latexText(%q) = %q, %v, want %q, %v", p[0], got, ok, want, written)
		}
	}
}
