package session

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/mlperf-go/mlperf/internal/bench"
	"github.com/mlperf-go/mlperf/internal/charts"
	"github.com/mlperf-go/mlperf/internal/loadgen/mlperflog"
	"github.com/mlperf-go/mlperf/internal/page"
	"github.com/mlperf-go/mlperf/internal/regular"
	"github.com/mlperf-go/mlperf/internal/report"
)

// written are the files of a run that would be taken for those of the next one.
func written() []string {
	return []string{
		report.FileName, charts.FileName, page.FileName, bench.AccuracyFile, bench.PeakFile,
		mlperflog.SummaryFile, mlperflog.DetailFile, mlperflog.AccuracyFile, mlperflog.TraceFile,
	}
}

// hasResults reports whether a folder has the results of a run.
func hasResults(dir string) bool {
	for _, name := range []string{report.FileName, mlperflog.SummaryFile} {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			return true
		}
	}
	return false
}

// clearFolder removes what a run before left in a folder, and nothing else.
func clearFolder(dir string) error {
	var errs []error
	for _, folder := range append(regular.Matching(dir, "run_[0-9]*"), dir) {
		for _, name := range written() {
			if err := os.Remove(filepath.Join(folder, name)); err != nil && !errors.Is(err, os.ErrNotExist) {
				errs = append(errs, err)
			}
		}
	}
	return errors.Join(errs...)
}

// linkLatest points the link "latest" beside a run's folder to it.
func linkLatest(dir string) error {
	link := filepath.Join(filepath.Dir(dir), "latest")
	temporary := fmt.Sprintf("%s.%d", link, os.Getpid())
	_ = os.Remove(temporary) // left by a run that was killed here
	if err := os.Symlink(filepath.Base(dir), temporary); err != nil {
		return fmt.Errorf("linking the latest results: %w", err)
	}
	return os.Rename(temporary, link)
}
