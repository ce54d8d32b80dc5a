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
	c := collector{read: read, seen: map[string]bool{}}
	for _, root := range roots {
		if real, err := filepath.EvalSymlinks(root); err == nil {
			root = real
		}
		_, err := os.Stat(root)
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("%s: %w: nothing was run here yet, or it is elsewhere", root, fs.ErrNotExist)
		}
		if err != nil {
			return nil, nil, fmt.Errorf("looking for runs: %w", err)
		}
		if err := filepath.WalkDir(root, c.visit); err != nil {
			return nil, nil, fmt.Errorf("looking for runs: %w", err)
		}
	}
	slices.SortStableFunc(c.runs, func(a, b Run) int {
		return cmp.Or(cmp.Compare(a.Results.Model, b.Results.Model), cmp.Compare(a.Results.ScenarioName(), b.Results.ScenarioName()),
			a.Results.Created.Compare(b.Results.Created), cmp.Compare(a.Folder, b.Folder))
	})
	return c.runs, c.problems, nil
}

// A collector walks through folders.
type collector struct {
	read     func(dir string) (*Results, error)
	seen     map[string]bool // folders of runs
	runs     []Run
	problems []error
}

// visit reads the run of a folder, if there is one. What lies below it is part of it.
func (c *collector) visit(path string, entry fs.DirEntry, err error) error {
	switch {
	case err != nil:
		c.problems = append(c.problems, err)
		return nil
	case !entry.IsDir():
		return nil
	case c.seen[absolute(path)]:
		return filepath.SkipDir
	}
	r, err := c.read(path)
	if errors.Is(err, ErrNoRun) {
		return nil
	}
	c.seen[absolute(path)] = true
	if err != nil {
		c.problems = append(c.problems, err)
	} else {
		c.runs = append(c.runs, Run{path, r})
	}
	return filepath.SkipDir
}

// absolute is the path from the root, if that is known: runs and /home/me/runs are one folder.
func absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}
