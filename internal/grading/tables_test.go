package grading

import (
	"testing"

	"github.com/mlperf-go/mlperf/internal/testfile"
)

// note appends what a table says to the file GRADING_TABLES, if there is to be one: testdata/tables.py compares it with the official scripts.
func note(t *testing.T, function string, result any, arguments ...any) {
	t.Helper()
	testfile.Note(t, "GRADING_TABLES", map[string]any{"function": function, "arguments": arguments, "result": result})
}

// A judgement is an answer, the one that is wanted, and whether the grader takes them for the same; the claim says why.
type judgement struct {
	claim, said, wanted string
	same                bool
}

func checkJudgements(t *testing.T, cases []judgement) {
	t.Helper()
	for _, c := range cases {
		if got := SameMath(c.said, c.wanted); got != c.same {
			t.Errorf("%s: SameMath(%q, %q) = %t", c.claim, c.said, c.wanted, got)
		}
		note(t, "same", c.same, c.said, c.wanted)
	}
}
