// Package outdir keeps the folder that a run writes its results to: two runs never share one, and files of an earlier
// run are not taken for those of the next.
package outdir

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/harness"
	"github.com/mlperf-go/mlperf/internal/loadgen/mlperflog"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/report/charts"
	"github.com/mlperf-go/mlperf/internal/report/page"
)

// Root has the folders of runs for which the user names none.
const Root = "results"

// An ExistsError says that a folder has the results of a run already.
type ExistsError struct{ Folder string }

func (e *ExistsError) Error() string {
	return e.Folder + " has the results of a run already: choose another folder, or have them replaced"
}

// Check returns an ExistsError if a folder has the results of a run.
func Check(dir string) error {
	for _, name := range []string{report.FileName, mlperflog.SummaryFile} {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			return &ExistsError{Folder: dir}
		}
	}
	return nil
}

// Clear removes the files of an earlier run from a folder, and no others.
func Clear(dir string) error {
	var errs []error
	for _, folder := range append(fileio.Glob(dir, "run_[0-9]*"), dir) {
		for _, name := range []string{
			report.FileName, charts.FileName, page.FileName, harness.AccuracyFile, harness.PeakFile,
			mlperflog.SummaryFile, mlperflog.DetailFile, mlperflog.AccuracyFile, mlperflog.TraceFile,
		} {
			if err := os.Remove(filepath.Join(folder, name)); err != nil && !errors.Is(err, os.ErrNotExist) {
				errs = append(errs, err)
			}
		}
	}
	return errors.Join(errs...)
}

// New makes a folder. If another run made it, perhaps in the same second, its name gets a number.
func New(name string) (string, error) {
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

// Lock makes a folder if need be and locks it until release is called: of two runs in one folder, the logs would be of
// one and the results of the other. The folder itself is the lock file, so that nothing is left in it. A file system
// without locks keeps no run out.
func Lock(dir string) (release func(), err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("making the output folder: %w", err)
	}
	lock := flock.New(dir, flock.SetFlag(os.O_RDONLY))
	soon, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond) // Locked may have it for a moment
	defer cancel()
	if got, err := lock.TryLockContext(soon, 20*time.Millisecond); !got && errors.Is(err, context.DeadlineExceeded) {
		return nil, fmt.Errorf("%s: another run writes its results there: wait for it, or choose another folder", dir)
	}
	return func() { _ = lock.Close() }, nil // the lock ends with the process too
}

// Locked reports whether a run of this machine has the lock of a folder. A file system without locks does not tell.
func Locked(dir string) bool {
	lock := flock.New(dir, flock.SetFlag(os.O_RDONLY))
	got, err := lock.TryRLock()
	if got {
		_ = lock.Close()
	}
	return !got && err == nil
}

// LinkLatest points the link "latest" beside a run's folder to it.
func LinkLatest(dir string) error {
	link := filepath.Join(filepath.Dir(dir), "latest")
	temporary := fmt.Sprintf("%s.%d", link, os.Getpid())
	_ = os.Remove(temporary) // left by a run that was killed here
	if err := os.Symlink(filepath.Base(dir), temporary); err != nil {
		return fmt.Errorf("linking the latest results: %w", err)
	}
	return os.Rename(temporary, link)
}
