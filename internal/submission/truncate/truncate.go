package truncate

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf/internal/submission/tree"
)

const (
	// mark stands between the two ends of a log that was cut.
	mark = "\n\n...\n\n"

	endSize     = 4096     // truncate_accuracy_log.py, VIEWABLE_SIZE: characters at the begin, bytes at the end
	shortSize   = 10 << 10 // the same, MAX_ACCURACY_LOG_SIZE
	largestText = 64 << 20
	logName     = "mlperf_log_accuracy.json"
	textName    = "accuracy.txt"
)

// Options say what to cut.
type Options struct {
	Tree      string // the folder with closed, open and network
	Backup    string // where originals go; not inside of the tree
	Submitter string // "": all
}

// What a log needed.
type What string

// What may have been done.
const (
	Cut    What = "cut"    // made short
	Hashed What = "hashed" // short enough; its hash was missing
	Kept   What = "kept"   // in order already
)

// A Log is an accuracy log and what was done to it.
type Log struct {
	Path string `json:"path"` // from the root of the tree
	What What   `json:"what"`
	Hash string `json:"hash"` // SHA-256 of the original
	Size int64  `json:"size"` // of the original, in bytes
}

// Tree makes the accuracy logs of a tree short. Logs that cannot be, without losing
// data, are left as they are and are the error; all others are done.
func Tree(ctx context.Context, o Options) ([]Log, error) {
	inside, err := within(o.Tree, o.Backup)
	if err != nil {
		return nil, err
	}
	if inside {
		return nil, fmt.Errorf("backup %s is inside of the tree: it would be submitted", o.Backup)
	}
	c := &cutter{tree: tree.Tree{Root: o.Tree}, backup: o.Backup}
	folders, err := c.find(o.Submitter)
	if err != nil {
		return nil, err
	}
	var logs []Log
	var failed []error
	for _, f := range folders {
		if ctx.Err() != nil {
			return logs, context.Cause(ctx)
		}
		log, err := c.cut(ctx, f)
		if err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", f.path+"/"+logName, err))
			continue
		}
		logs = append(logs, log)
	}
	return logs, errors.Join(failed...)
}

func within(root, path string) (bool, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return false, err
	}
	if path, err = filepath.Abs(path); err != nil {
		return false, err
	}
	rel, err := filepath.Rel(root, path)
	return filepath.IsLocal(rel), err
}

// A folder has an accuracy log.
type folder struct {
	path string
	test string // "": the accuracy run itself
}

// find lists the folders with accuracy logs.
func (c *cutter) find(submitter string) ([]folder, error) {
	var found []folder
	for _, division := range []string{"closed", "network", "open"} {
		if !c.tree.Exists(division) {
			continue
		}
		submitters, err := c.tree.Folders(division)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", division, err)
		}
		for _, s := range submitters {
			if submitter != "" && s != submitter {
				continue
			}
			more, err := c.of(division + "/" + s)
			if err != nil {
				return nil, err
			}
			found = append(found, more...)
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("%s: no accuracy logs: want <division>/<submitter>/results/<system>/<benchmark>/<scenario>/accuracy/%s", c.tree.Root, logName)
	}
	return found, nil
}

// of lists the folders with accuracy logs of a submitter.
func (c *cutter) of(home string) ([]folder, error) {
	var found []folder
	for _, part := range []string{home + "/results", home + "/compliance"} {
		if !c.tree.Exists(part) {
			continue
		}
		more, err := c.below(part)
		if err != nil {
			return nil, err
		}
		found = append(found, more...)
	}
	return found, nil
}

var tests = []string{"TEST01", "TEST07", "TEST09"} // which keep responses

// below lists the folders with accuracy logs of a submitter's results or compliance.
func (c *cutter) below(part string) ([]folder, error) {
	scenarios := []string{part}
	for range 3 { // systems, benchmarks, scenarios
		var err error
		if scenarios, err = c.inside(scenarios); err != nil {
			return nil, err
		}
	}
	var found []folder
	for _, scenario := range scenarios {
		for _, test := range slices.Concat([]string{""}, tests) {
			path := strings.TrimSuffix(scenario+"/"+test, "/") + "/accuracy"
			if c.tree.Exists(path + "/" + logName) {
				found = append(found, folder{path, test})
			}
		}
	}
	return found, nil
}

// inside lists the folders in folders.
func (c *cutter) inside(folders []string) ([]string, error) {
	var found []string
	for _, path := range folders {
		names, err := c.tree.Folders(path)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		for _, name := range names {
			found = append(found, path+"/"+name)
		}
	}
	return found, nil
}
