package harness

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/mlperf-go/mlperf/internal/report"
)

// findPeak searches the highest load that keeps the bound. The results are those of the
// full-length test at that load, or of the last test if no load keeps it.
func (r *run) findPeak(ctx context.Context) (*report.Results, error) {
	search, err := r.newPeakSearch()
	if err != nil {
		return nil, err
	}
	r.qsl.keep = true
	c := &climb{run: r}
	if c.state, err = r.readPeakState(); err != nil {
		return nil, err
	}
	if err := r.resume(c.state); err != nil {
		return nil, err
	}
	if c.best, err = r.confirmed(c.state); err != nil {
		return nil, err
	}
	c.last = c.best
	for {
		t, more := search.next(c.state.Steps)
		if !more {
			return c.end()
		}
		if err := c.step(ctx, t); err != nil {
			return c.broken(err)
		}
	}
}

// resume finishes what a search that was killed had begun. What lies there without one is of another.
func (r *run) resume(state *peakState) error {
	if len(state.Steps) == 0 {
		return os.RemoveAll(filepath.Join(r.cfg.OutputDir, confirmedDir))
	}
	return takeConfirmed(r.cfg.OutputDir)
}

// A climb is a search under way.
type climb struct {
	run   *run
	state *peakState
	best  *report.Results // of the highest load that was confirmed; nil: none was
	last  *report.Results // of the last test; nil: there was none
}

// step tries a load. What is confirmed is written.
func (c *climb) step(ctx context.Context, t trial) error {
	dir := c.run.cfg.OutputDir
	if c.best != nil {
		dir = filepath.Join(dir, higherDir)
	}
	results, err := c.run.try(ctx, t, c.state, dir)
	c.last = results
	if err != nil || !t.full || !c.state.Steps[len(c.state.Steps)-1].Met {
		return err
	}
	c.best = results
	if err := c.run.finishPeak(c.best, c.state, dir); err != nil || dir == c.run.cfg.OutputDir {
		return err
	}
	if err := os.Rename(dir, filepath.Join(c.run.cfg.OutputDir, confirmedDir)); err != nil {
		return err
	}
	return takeConfirmed(c.run.cfg.OutputDir)
}

// broken ends a search that cannot go on. What was confirmed is written already.
func (c *climb) broken(err error) (*report.Results, error) {
	if c.best != nil {
		return c.best, err
	}
	return c.last, errors.Join(err, c.run.finishPeak(c.last, c.state, c.run.cfg.OutputDir))
}

// end ends a search that is over, perhaps since an earlier run of the program.
func (c *climb) end() (*report.Results, error) {
	dir := c.run.cfg.OutputDir
	switch {
	case c.best != nil:
		c.last = c.best
	case c.last == nil:
		return report.Read(dir)
	}
	return c.last, errors.Join(c.run.finishPeak(c.last, c.state, dir), os.RemoveAll(filepath.Join(dir, higherDir)))
}

// higherDir is the folder for tests of higher loads than one that was confirmed. If the load is confirmed too, it becomes
// confirmedDir, whose files take the place of those that are there: at once or, if the process is killed, when the search goes on.
const higherDir, confirmedDir = "higher", "confirmed"

// confirmed returns the results of the highest load that was confirmed before the search was
// interrupted; nil if there is none. A load whose results were not written any more is tried again.
func (r *run) confirmed(state *peakState) (*report.Results, error) {
	for {
		last := lastConfirmed(state.Steps)
		if last < 0 {
			return nil, nil
		}
		results, err := report.Read(r.cfg.OutputDir)
		gone := errors.Is(err, report.ErrNoRun)
		if err != nil && !gone {
			return nil, err
		}
		if !gone && results.Peak != nil && results.Peak.Best == state.Steps[last].Load {
			return results, nil
		}
		state.Steps = state.Steps[:last]
	}
}

// lastConfirmed is the last step that confirmed a load; -1: none did.
func lastConfirmed(steps []report.PeakStep) int {
	for i := len(steps) - 1; i >= 0; i-- {
		if steps[i].Full && steps[i].Met {
			return i
		}
	}
	return -1
}

// takeConfirmed moves the files of a load that was confirmed to those of the search, if there are any. The results go first and
// come last, so that they are never seen beside the logs of another load.
func takeConfirmed(dir string) error {
	from := filepath.Join(dir, confirmedDir)
	files, err := os.ReadDir(from)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	}
	last := slices.IndexFunc(files, func(f fs.DirEntry) bool { return f.Name() == report.FileName })
	if last >= 0 {
		if err := os.Remove(filepath.Join(dir, report.FileName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		files = append(slices.Delete(slices.Clone(files), last, last+1), files[last])
	}
	for _, f := range files {
		if err := os.Rename(filepath.Join(from, f.Name()), filepath.Join(dir, f.Name())); err != nil {
			return err
		}
	}
	return os.Remove(from)
}

// finishPeak adds the search to the results and writes them into a folder.
func (r *run) finishPeak(results *report.Results, state *peakState, dir string) error {
	if results == nil {
		return nil
	}
	peak := &report.Peak{Unit: state.Unit, Steps: state.Steps}
	for _, step := range state.Steps {
		if step.Full && step.Met {
			peak.Best = step.Load
			peak.UserConf = r.userConf(step.Load)
		}
	}
	switch {
	case results.Result == report.Interrupted:
		results.Problems = append(results.Problems, "the search is not over; the same command with the output folder "+r.cfg.OutputDir+" goes on with it")
	case peak.Best == 0:
		results.Result = report.Invalid
		results.Problems = append(results.Problems, "no load that was tried kept the bound")
	}
	results.Mode, results.Peak = "FindPeak", peak
	return writeResults(results, dir)
}
