package checker

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf/internal/submission/tree"
)

const largestFile = 50 << 20 // constants.py, FILE_SIZE_LIMIT_MB

// hygiene walks the whole tree without following links. Links that leave the tree are
// reported in both profiles: what they lead to is not submitted with it.
func (l *loader) hygiene(ctx context.Context) error {
	err := filepath.WalkDir(l.tree.Root, func(at string, entry fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		rel, relErr := filepath.Rel(l.tree.Root, at)
		if relErr != nil {
			return relErr
		}
		path := filepath.ToSlash(rel)
		if err != nil {
			l.add("tree-unreadable", l.strictly(), problem{path: path, message: "cannot be listed: " + tree.Cause(err).Error()}) // what matters to results, loading finds
			return nil
		}
		if l.skipped(path) {
			return skip(entry)
		}
		l.entry(path, entry)
		return nil
	})
	if err == nil && l.strict {
		l.orphans()
	}
	return err
}

func skip(entry fs.DirEntry) error {
	if entry.IsDir() {
		return fs.SkipDir
	}
	return nil
}

// skipped reports whether a path is not submitted: version control, or another
// submitter.
func (l *loader) skipped(path string) bool {
	parts := strings.Split(path, "/")
	if parts[0] == ".git" || parts[0] == ".github" || parts[0] == "assets" {
		return true
	}
	return l.submitter != "" && len(parts) > 1 && slices.Contains(divisions, parts[0]) && parts[1] != l.submitter
}

func (l *loader) entry(path string, entry fs.DirEntry) {
	switch mode := entry.Type(); {
	case mode&fs.ModeSymlink != 0:
		l.link(path)
	case !mode.IsDir() && !mode.IsRegular():
		l.add("tree-special-file", l.strictly(), problem{path: path, message: "is neither a file nor a folder", found: mode.String(), wanted: "a file"})
	case !l.strict:
	case mode.IsDir():
		l.folder(path)
	default:
		l.file(path, entry)
	}
	if l.strict && path != "." {
		l.name(path)
	}
}

// strictly is the level of what only the profile strict does not accept.
func (l *loader) strictly() Level {
	if l.strict {
		return Fails
	}
	return Notes
}

func (l *loader) link(path string) {
	outside, err := l.tree.Leaves(path)
	target, _ := os.Readlink(l.tree.At(path))
	switch {
	case err == nil && outside:
		l.add("tree-link-outside", l.strictly(), problem{path: path, message: "the link leaves the tree", found: target, wanted: "a file of the tree"})
	case err != nil && l.strict:
		l.fail("tree-link-broken", problem{path: path, message: "the link leads nowhere", found: target, wanted: "a file"})
	}
}

func (l *loader) folder(path string) {
	switch base := filepath.Base(path); {
	case path == ".":
	case base == "__pycache__":
		l.fail("tree-pycache", problem{path: path, message: "compiled Python files are not submitted"})
	case !strings.Contains(path, "/") && !slices.Contains(divisions, path):
		l.fail("tree-folder-unknown", problem{path: path, message: "is not a division", found: base, wanted: strings.Join(divisions, ", ")})
	default:
		if entries, err := os.ReadDir(l.tree.At(path)); err == nil && len(entries) == 0 {
			l.fail("tree-empty-folder", problem{path: path, message: "the folder is empty"})
		}
	}
}

func (l *loader) file(path string, entry fs.DirEntry) {
	depth := strings.Count(path, "/")
	extension := filepath.Ext(path)
	switch {
	case depth == 0 && extension != ".md" && extension != ".pdf":
		l.fail("tree-root-file", problem{path: path, message: "does not belong at the root", wanted: "*.md and *.pdf"})
	case depth == 1:
		l.fail("tree-division-file", problem{path: path, message: "does not belong in a division", wanted: "folders of submitters"})
	}
	if info, err := entry.Info(); err == nil && info.Size() > largestFile {
		l.fail("tree-large-file", problem{path: path, message: "the file is too large", found: fmt.Sprintf("%d bytes", info.Size()), wanted: fmt.Sprintf("≤ %d bytes", largestFile)})
	}
}

func (l *loader) name(path string) {
	base := filepath.Base(path)
	if strings.HasPrefix(base, ".") && base != ".gitkeep" {
		l.fail("tree-name", problem{path: path, message: "the name starts with a point", found: base, wanted: "another name"})
	}
	if strings.Contains(base, " ") {
		l.fail("tree-name", problem{path: path, message: "the name has a space", found: base, wanted: "a name without spaces"})
	}
}

// orphans finds descriptions without results, and submitters that do not describe
// calibration.
func (l *loader) orphans() {
	homes := map[string]map[string]bool{}
	for _, j := range l.jobs {
		home := j.division + "/" + j.submitter
		if homes[home] == nil {
			homes[home] = map[string]bool{}
		}
		homes[home][j.system] = true
	}
	for home, systems := range homes {
		l.placeholders(home)
		l.undescribed(home)
		files, _ := l.tree.Files(home + "/systems") // that there are none, the results' descriptions say
		for _, f := range files {
			if name, ok := strings.CutSuffix(f, ".json"); ok && !systems[name] {
				l.fail("tree-orphan", problem{path: home + "/systems/" + f, message: "the system has no results", wanted: home + "/results/" + name})
			}
		}
	}
}

// undescribed finds a submitter that does not describe calibration.
func (l *loader) undescribed(home string) {
	if strings.HasPrefix(home, "open/") || l.tree.Exists(home+"/documentation/calibration.md") || l.tree.Exists(home+"/calibration.md") {
		return
	}
	l.fail("tree-calibration", problem{path: home + "/documentation/calibration.md", message: "calibration is not described", wanted: "the file"})
}
