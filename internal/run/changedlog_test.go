package run_test

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/run"
)

// TestTheScoreOfALogThatWasChangedIsMarked: whoever writes the right answers into the log of a run gets the score of them, and a mark.
func TestTheScoreOfALogThatWasChangedIsMarked(t *testing.T) {
	accuracyRun(t)
	const log = "out/mlperf_log_accuracy.json"
	score := func() (warned bool) {
		t.Helper()
		s, err := run.Score(t.Context(), run.ScoreRequest{Run: "out"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return slices.Contains(s.Warnings, report.CaveatLogChanged)
	}
	marks := func() int {
		t.Helper()
		r, err := report.Read("out")
		if err != nil {
			t.Fatal(err)
		}
		if slices.Contains(r.Caveats, report.CaveatChanged) {
			t.Error("the program's own change is taken for somebody's")
		}
		return strings.Count(strings.Join(r.Caveats, "\n"), report.CaveatLogChanged)
	}
	if score() || marks() != 0 {
		t.Error("a log as the run wrote it is marked")
	}
	text := read(t, log)
	if err := os.WriteFile(log, bytes.Replace(text, []byte("\n"), []byte("\n "), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if !score() || marks() != 1 {
			t.Errorf("a log that was changed: %d marks, want 1", marks())
		}
	}
	if err := os.WriteFile(log, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if score() || marks() != 0 {
		t.Error("a log that is as it was again is marked")
	}
}
