package grading

import (
	"compress/gzip"
	"encoding/json"
	"os"
	"testing"

	"github.com/mlperf-go/mlperf/internal/longtest"
)

// exotic has what the official grader makes of unusual answers, and pylatexenc of unusual LaTeX (make_exotic.py).
type exotic struct {
	Pairs [][3]any // said, wanted, whether they are the same
	Texts [][2]any // LaTeX, text or null
}

func readExotic(t *testing.T) (g exotic) {
	t.Helper()
	f, err := os.Open("testdata/exotic.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.NewDecoder(z).Decode(&g); err != nil || len(g.Pairs) < 3000 || len(g.Texts) < 700 {
		t.Fatalf("%d pairs, %d texts, %v", len(g.Pairs), len(g.Texts), err)
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
