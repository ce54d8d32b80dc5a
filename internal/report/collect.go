package report

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// A Run is the document of a run and where it lies.
type Run struct {
	Folder  string
	Results *Results
}

// Collect reads the runs below folders, each of which may also be that of a run, with Read or
// a function like it: ErrNoRun is its answer to any other folder. Links below folders are not
// followed, so that what "latest" points to does not count twice; nor are runs that are part
// of another. What cannot be read is left out and named in problems. Runs are sorted by
// model, scenario and age.
func Collect(roots []string, read func(dir string) (*Results, error)) (runs []Run, problems []error, err error) {
	seen := map[string]bool{}
	for _, root := range roots {
		if real, err := filepath.EvalSymlinks(root); err == nil {
			root = real
		}
		if _, err := os.Stat(root); err != nil {
			return nil, nil, fmt.Errorf("looking for runs: %w", err)
		}
		err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if err != nil {
				problems = append(problems, err)
				return nil
			}
			if !entry.IsDir() {
				return nil
			}
			if seen[path] {
				return filepath.SkipDir
			}
			r, err := read(path)
			if errors.Is(err, ErrNoRun) {
				return nil
			}
			seen[path] = true
			if err != nil {
				problems = append(problems, err)
				return filepath.SkipDir
			}
			runs = append(runs, Run{path, r})
			return filepath.SkipDir
		})
		if err != nil {
			return nil, nil, fmt.Errorf("looking for runs: %w", err)
		}
	}
	slices.SortStableFunc(runs, func(a, b Run) int {
		return cmp.Or(cmp.Compare(a.Results.Model, b.Results.Model), cmp.Compare(a.Results.Scenario, b.Results.Scenario),
			a.Results.Created.Compare(b.Results.Created), cmp.Compare(a.Folder, b.Folder))
	})
	return runs, problems, nil
}
