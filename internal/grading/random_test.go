package grading

import (
	"cmp"
	"os"
	"testing"

	"github.com/mlperf-go/mlperf/internal/longtest"
	"github.com/mlperf-go/mlperf/internal/testfile"
)

// randomAnswers are pairs of answers, as models write them and odd ones, and whether the official grader finds them the same (make_random.py).
type randomAnswers struct {
	Plausible, Odd [][3]any // said, wanted, whether they are the same
}

// different says where we judge otherwise than the grader, and counts it.
func different(t *testing.T, pairs [][3]any) (count int) {
	t.Helper()
	for i, p := range pairs {
		if i%8 != 0 && !longtest.Wanted() {
			continue // all of them take a second
		}
		if got := SameMath(p[0].(string), p[1].(string)); got != p[2] {
			count++
			t.Logf("SameMath(%q, %q) = %v", p[0], p[1], got)
		}
	}
	return count
}

func TestRandomAnswersAreJudgedAsTheGraderJudgesThem(t *testing.T) {
	answers := testfile.JSON[randomAnswers](t, cmp.Or(os.Getenv("RANDOM_ANSWERS"), "testdata/random.json.gz"))
	if n := different(t, answers.Plausible); n > 0 {
		t.Errorf("%d of %d plausible answers are judged otherwise", n, len(answers.Plausible))
	}
	// Sums that SymPy does not multiply out are rounded otherwise here, and what is divided by infinity is not 0.
	if n := different(t, answers.Odd); n > len(answers.Odd)/50 {
		t.Errorf("%d of %d odd answers are judged otherwise", n, len(answers.Odd))
	}
}
