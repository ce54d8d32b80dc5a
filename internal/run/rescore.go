package run

import (
	"context"
	"fmt"
	"os"
	"slices"

	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/report"
)

// same reports whether two names mean the same, as text or as files.
func same(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return a == b || errX == nil && errY == nil && os.SameFile(x, y)
}

// sameScore reports whether options change nothing but what is shown, and how much of an answer can be judged:
// programs that are run make the score that the benchmark wants.
func sameScore(options map[string]string) bool {
	for name := range options {
		if !slices.Contains([]string{"verbose", "compliance-images-path", "ids-path", "execute-code", "livecodebench"}, name) {
			return false
		}
	}
	return true
}

// checkLog marks the score of a run whose log is another one by now.
func (s *scoring) checkLog(ctx context.Context) error {
	run := s.out.Run
	if run == nil || run.AccuracyLogSHA256 == "" || len(s.whatIf) > 0 {
		return nil
	}
	sum, _, err := fileio.SHA256(ctx, s.Log)
	if err != nil {
		return fmt.Errorf("reading the accuracy log: %w", err)
	}
	run.Caveats = slices.DeleteFunc(run.Caveats, func(c string) bool { return c == report.CaveatLogChanged }) // of the score before
	if sum != run.AccuracyLogSHA256 {
		s.warn("%s", report.CaveatLogChanged)
		run.Caveats = append(run.Caveats, report.CaveatLogChanged)
	}
	return nil
}

// comparedWith is what the score of a run is compared with, as it was before; of a run that has none yet, as
// it would have been.
func comparedWith(r *report.Results) (reference float64, noTarget string) {
	if a := r.Accuracy; a != nil {
		return a.Reference, a.NoTarget
	}
	return r.Input.Reference, r.Input.NoTarget()
}
