package suite

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/mlperf-go/mlperf/internal/run"
)

// kept is the folder of suites that nobody gave a folder for.
const kept = run.KeptRuns + "/suites"

// NewFolder is where a suite goes if nobody says: a folder that is named after the second, with a number behind it if another
// began in the same one.
func NewFolder(name string, quick bool) string {
	first := filepath.Join(parent(name, quick), time.Now().Format("20060102-150405"))
	folder := first
	for n := 2; ; n++ {
		if _, err := os.Lstat(folder); err != nil {
			return folder
		}
		folder = fmt.Sprintf("%s-%d", first, n)
	}
}

func parent(name string, quick bool) string {
	if quick {
		name += "-quick"
	}
	return filepath.Join(filepath.FromSlash(kept), name)
}

// UnfinishedFolder is the newest folder of a suite that still has something to run, of those
// that NewFolder chose.
func UnfinishedFolder(name string, quick bool) (string, error) {
	dir := parent(name, quick)
	entries, err := os.ReadDir(dir)
	if err != nil && !os.IsNotExist(err) {
		return "", fmt.Errorf("looking for the suite: %w", err)
	}
	slices.Reverse(entries) // by name, which is the time
	for _, e := range entries {
		if folder := filepath.Join(dir, e.Name()); e.IsDir() && unfinished(folder, name, quick) {
			return folder, nil
		}
	}
	return "", fmt.Errorf("there is no unfinished run of suite %s%s below %s: name its folder, or begin a new one", name, quickly(quick), dir)
}

// unfinished reports whether a folder has a suite of the name with steps that are still to run.
func unfinished(dir, name string, quick bool) bool {
	s, err := readState(dir)
	if err != nil || s.Suite.Name != name || s.Quick != quick {
		return false
	}
	return slices.ContainsFunc(s.Steps, func(step *Step) bool { return step != nil && step.State == Planned })
}
