// Package outdir keeps the folder that a run writes its results to: two runs never share one, and files of an earlier
// run are not taken for those of the next.
package outdir

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/harness"
	"github.com/mlperf-go/mlperf/internal/harness/peak"
	"github.com/mlperf-go/mlperf/internal/loadgen/mlperflog"
	"github.com/mlperf-go/mlperf/internal/machine/power"
	"github.com/mlperf-go/mlperf/internal/models/rag"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/report/endpoints"
	"github.com/mlperf-go/mlperf/internal/report/page"
)

// Root has the folders of runs for which the user names none.
const Root = "results"

// An ExistsError says that a folder has the results of a run already, or another file in the place of one.
type ExistsError struct {
	Folder string
	Name   string // of the file; empty: results of a run
}

func (e *ExistsError) Error() string {
	if e.Name != "" {
		return filepath.Join(e.Folder, e.Name) + " is there already, and would be replaced: choose another folder, or replace it"
	}
	return e.Folder + " has the results of a run already: choose another folder, or replace them"
}

// files are the names of the files that a run writes, beside the conf files.
func files() []string {
	return append(peak.TestFiles(), page.FileName, harness.AccuracyFile, report.ReplayFile, rag.LogFile, harness.PeakFile, power.SamplesFile,
		endpoints.Folder+"/"+endpoints.ConfigFile, endpoints.Folder+"/"+endpoints.SummaryFile)
}

// Check returns an ExistsError if a folder has the results of a run, or anything else where a run writes. Conf files of the same
// content do not count: those of a run that failed early, or which the user keeps there.
func Check(dir string, conf map[string][]byte) error {
	for _, name := range []string{report.FileName, mlperflog.SummaryFile} {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			return &ExistsError{Folder: dir}
		}
	}
	if err := CheckNames(dir, files()...); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(conf)) {
		if err := CheckText(filepath.Join(dir, name), string(conf[name])); err != nil {
			return err
		}
	}
	return nil
}

// CheckNames returns an ExistsError if a folder has a file or folder of one of the names.
func CheckNames(dir string, names ...string) error {
	for _, name := range names {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			return &ExistsError{Folder: dir, Name: name}
		}
	}
	return nil
}

// CheckText returns an ExistsError if a file is there and has another text.
func CheckText(path, text string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return nil
	}
	if data, err := fileio.ReadFile(path, int64(len(text))+1); !info.Mode().IsRegular() || err != nil || string(data) != text {
		return &ExistsError{Folder: filepath.Dir(path), Name: filepath.Base(path)}
	}
	return nil
}

// Clear removes the files of an earlier run from a folder, and no others. Results of another program are an error.
func Clear(dir string) error {
	runs := slices.DeleteFunc(fileio.Glob(dir, "run_[0-9]*"), func(folder string) bool {
		info, err := os.Lstat(folder)
		return err != nil || !info.IsDir()
	})
	var errs []error
	for _, folder := range append(runs, dir) {
		_, err := report.ReadDocument(folder)
		if _, there := os.Lstat(filepath.Join(folder, report.FileName)); there == nil && errors.Is(err, report.ErrNoRun) {
			return fmt.Errorf("%w: choose another folder", err)
		}
		errs = append(errs, peak.Remove(folder), fileio.RemoveIn(folder, files()...))
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
// one and the results of the other. A file system without locks keeps no run out.
func Lock(dir string) (release func(), err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("making the output folder: %w", err)
	}
	lock := fileio.FolderLock(dir, os.O_CREATE|os.O_RDWR)
	soon, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond) // Locked may have it for a moment
	defer cancel()
	if got, err := lock.TryLockContext(soon, 20*time.Millisecond); !got && errors.Is(err, context.DeadlineExceeded) {
		return nil, fmt.Errorf("%s: another run writes its results there: wait for it, or choose another folder", dir)
	}
	return func() { _ = lock.Close() }, nil // the lock ends with the process too
}

// Locked reports whether a run of this machine has the lock of a folder. A file system without locks does not tell.
func Locked(dir string) bool {
	lock := fileio.FolderLock(dir, os.O_RDONLY)
	got, err := lock.TryRLock()
	if got {
		_ = lock.Close()
	}
	return !got && err == nil
}

// latest is the name of the link to the newest run of a folder.
const latest = "latest"

// Latest is the folder of the newest run beside a path that ends in "latest" and leads nowhere, since some systems have no links, or
// only for some users. Other paths stay as they are. Names of runs' folders begin with their time.
func Latest(path string) string {
	if filepath.Base(path) != latest {
		return path
	}
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return path
	}
	for _, run := range slices.Backward(fileio.Glob(filepath.Dir(path), "[0-9]*")) {
		if _, err := os.Stat(filepath.Join(run, report.FileName)); err == nil {
			return run
		}
	}
	return path
}

// LinkLatest points the link "latest" beside a run's folder to it. It replaces no file or folder of that name.
func LinkLatest(dir string) error {
	link := filepath.Join(filepath.Dir(dir), latest)
	if err := fileio.Link(filepath.Base(dir), link); err != nil {
		return fmt.Errorf("no link to the latest results: %w", err)
	}
	return nil
}
