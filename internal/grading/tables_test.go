package grading

import (
	"encoding/json"
	"os"
	"testing"
)

// note appends what a table says to the file GRADING_TABLES, if there is to be one: testdata/tables.py compares it with the official scripts.
func note(t *testing.T, function string, result any, arguments ...any) {
	path := os.Getenv("GRADING_TABLES")
	if path == "" {
		return
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := json.NewEncoder(f).Encode(map[string]any{"function": function, "arguments": arguments, "result": result}); err != nil {
		t.Fatal(err)
	}
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
