package harness

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/mlperf-go/mlperf/internal/report"
)

// repeat runs the test several times, each in a folder run_1, run_2, … as the rules name
// them, and makes the lowest result the result. It ends early if a run fails.
func (r *run) repeat(ctx context.Context) (*report.Results, error) {
	var lowest *report.Results
	var lowestDir string
	var outcomes []report.RunOutcome
	var err error
	for i := range r.cfg.Runs {
		folder := fmt.Sprintf("run_%d", i+1)
		dir := filepath.Join(r.cfg.OutputDir, folder)
		if err = os.MkdirAll(dir, 0o755); err != nil {
			err = fmt.Errorf("making the folder of a run: %w", err)
			break
		}
		r.cfg.Observer.Note(fmt.Sprintf("run %d of %d", i+1, r.cfg.Runs))
		var results *report.Results
		if results, err = r.test(ctx, dir); results == nil {
			break
		}
		outcomes = append(outcomes, report.RunOutcome{Folder: folder, Result: results.Result, Metric: results.Metric})
		if lowest == nil || lower(results, lowest) {
			lowest, lowestDir = results, dir
		}
		if err != nil {
			break
		}
	}
	if lowest == nil {
		return nil, err
	}
	all := *lowest
	all.Runs, all.Phases = outcomes, r.phases
	if n := len(outcomes); n < r.cfg.Runs && all.Result == report.Valid {
		all.Result = report.Invalid
		all.Problems = append(all.Problems, fmt.Sprintf("only %d of %d runs were made", n, r.cfg.Runs))
	}
	return &all, errors.Join(err, copyCharts(lowestDir, r.cfg.OutputDir), writeResults(&all, r.cfg.OutputDir))
}

// lower says whether a is worse than b: not valid, or slower.
func lower(a, b *report.Results) bool {
	if a.Valid() != b.Valid() {
		return b.Valid()
	}
	return a.Metric != nil && b.Metric != nil && a.Metric.Value < b.Metric.Value
}
