package peak

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/loadgen/mlperflog"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/report/charts"
	"github.com/mlperf-go/mlperf/internal/report/requests"
)

// File is where a search keeps the loads that it tried, in the folder of the run. A search in the same folder
// continues with it.
const File = "find-peak.json"

// HigherDir is the folder for tests of higher loads than a confirmed one. If the load is confirmed too, it becomes
// confirmedDir, whose files replace those in the folder of the run: at once or, if the process is killed, when the search
// continues.
const HigherDir, confirmedDir = "higher", "confirmed"

// TestFiles are the names of the files that a test writes into its folder.
func TestFiles() []string {
	return []string{report.FileName, charts.FileName, mlperflog.SummaryFile, mlperflog.DetailFile, mlperflog.AccuracyFile, mlperflog.TraceFile,
		requests.FileName}
}

// Remove removes the files of a search from a folder, if it has one. The files of its best test stay, and so does a folder with results
// that this program did not write.
func Remove(dir string) error {
	if !fileio.Exists(filepath.Join(dir, File)) {
		return nil // the folders are not of a search
	}
	var errs []error
	for _, name := range []string{confirmedDir, HigherDir} {
		if _, err := report.ReadDocument(filepath.Join(dir, name)); err == nil || !fileio.Exists(filepath.Join(dir, name, report.FileName)) {
			errs = append(errs, fileio.RemoveFolderIn(dir, name, TestFiles()...))
		}
	}
	return errors.Join(append(errs, fileio.RemoveIn(dir, File))...)
}

// checkFolders refuses folders of a search in which another search, another program or the user has something.
func checkFolders(dir string, files []string) error {
	for _, name := range []string{confirmedDir, HigherDir} {
		at := filepath.Join(dir, name)
		info, err := os.Lstat(at)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil && (!info.IsDir() || files == nil) {
			err = fmt.Errorf("%s is there already, and a search would write it: choose another output folder", at)
		}
		if err != nil {
			return err
		}
		entries, err := os.ReadDir(at)
		if err != nil {
			return err
		}
		for _, e := range entries {
			if !e.Type().IsRegular() || !slices.Contains(files, e.Name()) {
				return fmt.Errorf("%s is not of a search: move it away, or choose another output folder", filepath.Join(at, e.Name()))
			}
		}
	}
	return nil
}

// A State is the content of File.
type State struct {
	// Key names everything that decides which load can be reached.
	Key   string            `json:"key"`
	Unit  string            `json:"unit"`
	Steps []report.PeakStep `json:"steps"`

	dir    string
	search Search
}

// Confirmed is the last step that confirmed a load; -1: none did.
func (s *State) Confirmed() int { return s.search.Confirmed(s.Steps) }

// Procedure is that of the search.
func (s *State) Procedure() string { return s.search.Procedure() }

// Open reads the state of the search in a folder, or begins it, and finishes a replacement of files that was interrupted.
// It returns the results of the highest load that was confirmed; nil: none was. If the results of a confirmed load were
// not written, its step is forgotten.
func (search Search) Open(dir, key, unit string) (*State, *report.Results, error) {
	s := &State{Key: key, Unit: unit, dir: dir, search: search}
	path := filepath.Join(dir, File)
	const most = 16 << 20 // a search makes some dozens of steps
	data, err := fileio.ReadFile(path, most)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil, checkFolders(dir, nil)
	}
	if err == nil {
		if err = json.Unmarshal(data, s); err != nil {
			err = fmt.Errorf("%s: %w", path, err)
		}
	}
	if err != nil {
		return nil, nil, fmt.Errorf("reading the search so far: %w", err)
	}
	for i, step := range s.Steps {
		if !(step.Load > 0) || math.IsInf(step.Load, 1) {
			return nil, nil, fmt.Errorf("reading the search so far: %s: step %d: the load is %g: must be one above 0", path, i+1, step.Load)
		}
	}
	if s.Key != key {
		return nil, nil, fmt.Errorf("%s is of a search with another model, data, settings or machine: choose another output folder, or delete it", path)
	}
	if err := checkFolders(dir, TestFiles()); err != nil {
		return nil, nil, err
	}
	if err := s.takeConfirmed(); err != nil {
		return nil, nil, err
	}
	for {
		last := s.Confirmed()
		if last < 0 {
			return s, nil, nil
		}
		results, err := report.Read(dir)
		if err != nil && !errors.Is(err, report.ErrNoRun) {
			return nil, nil, err
		}
		if err == nil && results.Peak != nil && results.Peak.Best == s.Steps[last].Load {
			return s, results, nil
		}
		s.Steps = s.Steps[:last]
	}
}

// Add adds a step and writes the file.
func (s *State) Add(step report.PeakStep) error {
	s.Steps = append(s.Steps, step)
	data, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return fmt.Errorf("keeping the search: %w", err)
	}
	if err := fileio.WriteFileIn(s.dir, File, append(data, '\n')); err != nil {
		return fmt.Errorf("keeping the search in %s: %w", filepath.Join(s.dir, File), err)
	}
	return nil
}

// TakeHigher replaces the files of the folder by those of HigherDir.
func (s *State) TakeHigher() error {
	if err := fileio.MoveIn(s.dir, HigherDir, confirmedDir); err != nil {
		return err
	}
	return s.takeConfirmed()
}

// takeConfirmed moves the files of confirmedDir, if it exists, to those of the search. results.json is removed first and
// moved last, so that it is never beside the logs of another load.
func (s *State) takeConfirmed() error {
	from := filepath.Join(s.dir, confirmedDir)
	files, err := os.ReadDir(from)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	}
	if last := slices.IndexFunc(files, func(f fs.DirEntry) bool { return f.Name() == report.FileName }); last >= 0 {
		if err := fileio.RemoveIn(s.dir, report.FileName); err != nil {
			return err
		}
		files = append(slices.Delete(slices.Clone(files), last, last+1), files[last])
	}
	for _, f := range files {
		if err := fileio.MoveIn(s.dir, confirmedDir+"/"+f.Name(), f.Name()); err != nil {
			return err
		}
	}
	return os.Remove(from)
}
