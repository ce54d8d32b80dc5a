package run

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"

	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/harness"
	"github.com/mlperf-go/mlperf/internal/loadgen/mlperflog"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/report/charts"
	"github.com/mlperf-go/mlperf/internal/report/page"
)

// written are the files of a run that would be taken for those of the next one.
func written() []string {
	return []string{
		report.FileName, charts.FileName, page.FileName, harness.AccuracyFile, harness.PeakFile,
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
	for _, folder := range append(fileio.Glob(dir, "run_[0-9]*"), dir) {
		for _, name := range written() {
			if err := os.Remove(filepath.Join(folder, name)); err != nil && !errors.Is(err, os.ErrNotExist) {
				errs = append(errs, err)
			}
		}
	}
	return errors.Join(errs...)
}

// claimFolder makes the folder that was chosen for the results, or one beside it: another run may have begun in the
// same second, and the same request may be run twice.
func (p *Prepared) claimFolder() error {
	if !p.chosenFolder {
		return nil
	}
	chosen, below := p.bench.OutputDir, ""
	if p.Request.Ranging {
		chosen, below = filepath.Split(chosen)
	}
	folder, err := newFolder(filepath.Clean(chosen))
	if err != nil {
		return fmt.Errorf("making the output folder: %w", err)
	}
	p.bench.OutputDir = filepath.Join(folder, below)
	p.Request.Output = p.bench.OutputDir
	return nil
}

// newFolder makes a folder of a name, or with a number behind it if there is one already.
func newFolder(name string) (string, error) {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return "", err
	}
	folder := name
	for n := 2; ; n++ {
		if err := os.Mkdir(folder, 0o755); !errors.Is(err, os.ErrExist) {
			return folder, err
		}
		folder = fmt.Sprintf("%s-%d", name, n)
	}
}

// hold keeps the folder of the results for this run until it is released: of two runs in one folder, the logs would be of the one
// and the results of the other. The folder itself is locked, so that nothing is left in it; where a file system cannot do that,
// nobody is kept out.
func (p *Prepared) hold() (release func(), err error) {
	dir := p.bench.OutputDir
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("making the output folder: %w", err)
	}
	lock := flock.New(dir, flock.SetFlag(os.O_RDONLY))
	if got, err := lock.TryLock(); !got && err == nil {
		return nil, fmt.Errorf("%s: another run writes its results there: wait for it, or choose another folder", dir)
	}
	release = func() { _ = lock.Close() }        // it ends with the process too
	if err := p.Request.taken(dir); err != nil { // by a run that began since
		release()
		return nil, err
	}
	return release, nil
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
