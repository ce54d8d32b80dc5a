package checker

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mlperf-go/mlperf/internal/config/rounds"
	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/loadgen/mlperflog"
)

// A tree is the folder of a submission. Paths are relative to the root and have forward slashes. Files that are not regular
// are not opened.
type tree struct{ root string }

// at returns the path of a file for the operating system.
func (t tree) at(path string) string { return filepath.Join(t.root, filepath.FromSlash(path)) }

// exists reports whether a path leads to something, at the end of links.
func (t tree) exists(path string) bool {
	_, err := os.Stat(t.at(path))
	return err == nil
}

func (t tree) read(path string, most int64) ([]byte, error) { return fileio.ReadFile(t.at(path), most) }

// folders lists the folders in a folder by name, links to folders too.
func (t tree) folders(path string) ([]string, error) { return t.list(path, fs.FileMode.IsDir) }

// files lists the regular files in a folder by name, links to files too.
func (t tree) files(path string) ([]string, error) { return t.list(path, fs.FileMode.IsRegular) }

func (t tree) list(path string, want func(fs.FileMode) bool) ([]string, error) {
	entries, err := os.ReadDir(t.at(path))
	if err != nil {
		return nil, cause(err)
	}
	names := []string{}
	for _, e := range entries {
		mode := e.Type()
		if mode&fs.ModeSymlink != 0 {
			info, err := os.Stat(t.at(path + "/" + e.Name()))
			if err != nil {
				continue // a broken link is nothing, as for os.path.isdir
			}
			mode = info.Mode()
		}
		if want(mode) {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// cause takes the path off an error, because a finding has it.
func cause(err error) error {
	var path *fs.PathError
	var line *mlperflog.LineError
	switch {
	case errors.As(err, &path):
		return path.Err
	case errors.As(err, &line):
		return errors.New(line.Problem)
	}
	return err
}

// longestLine is the most that is read of a line.
const longestLine = 64 << 20

// eachLine calls each with the lines of a text until it returns false or the text ends.
func (t tree) eachLine(path string, each func(n int, line string) bool) (err error) {
	f, err := fileio.Open(t.at(path))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, longestLine)
	n := 0
	for lines.Scan() {
		if n++; !utf8.Valid(lines.Bytes()) {
			return lineError{n, errors.New("not UTF-8")}
		}
		if !each(n, lines.Text()) {
			return nil
		}
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		return lineError{n + 1, fmt.Errorf("the line is longer than %d MiB", longestLine>>20)}
	} else {
		return err
	}
}

// everywhere are files that may lie in any folder.
var everywhere = []string{"mlperf_log_trace.json", "results.json", ".gitkeep"}

// sameFiles compares the files of a folder with those that belong there.
func (f *findings) sameFiles(rule, folder string, have, want []string, optional ...string) (same bool) {
	same = true
	find := func(name, message string) {
		same = false
		f.fail(rule, problem{path: folder + "/" + name, message: message, wanted: strings.Join(want, ", ")})
	}
	for _, name := range want {
		if !slices.Contains(have, name) {
			find(name, "the file is missing")
		}
	}
	for _, name := range have {
		if !slices.Contains(slices.Concat(want, optional, everywhere), name) {
			find(name, "the file does not belong here")
		}
	}
	return same
}

const largestFile = 50 << 20 // bytes; constants.py, FILE_SIZE_LIMIT_MB

// walk looks at every entry of the tree, through no links. Links that leave the tree are reported in both profiles: what
// they lead to is not submitted.
func (l *loader) walk(ctx context.Context) error {
	strict := Notes // the level of what only the profile strict refuses
	if l.strict {
		strict = Fails
	}
	err := filepath.WalkDir(l.root, func(at string, entry fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		rel, errRel := filepath.Rel(l.root, at)
		if errRel != nil {
			return errRel
		}
		path := filepath.ToSlash(rel)
		parts := strings.Split(path, "/")
		if err != nil {
			l.add("tree-unreadable", strict, problem{path: path, message: "cannot be listed: " + cause(err).Error()})
			return nil
		}
		isGit := slices.Contains([]string{".git", ".github", "assets"}, parts[0])
		if isGit || l.submitter != "" && len(parts) > 1 && slices.Contains(rounds.Divisions(), parts[0]) && parts[1] != l.submitter {
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		mode := entry.Type()
		switch {
		case mode&fs.ModeSymlink != 0:
			inside, err := fileio.Inside(l.root, at)
			target, _ := os.Readlink(at)
			if err == nil && !inside {
				l.add("tree-link-outside", strict, problem{path: path, message: "the link leaves the tree", found: target, wanted: "a file of the tree"})
			} else if err != nil && l.strict {
				l.fail("tree-link-broken", problem{path: path, message: "the target of the link does not exist", found: target, wanted: "a file"})
			}
		case !mode.IsDir() && !mode.IsRegular():
			l.add("tree-special-file", strict, problem{path: path, message: "is neither a file nor a folder", found: mode.String(), wanted: "a file"})
		}
		if l.strict && path != "." {
			l.strictEntry(path, parts, entry)
		}
		return nil
	})
	if err == nil && l.strict {
		l.strictSubmitters()
	}
	return err
}

// strictEntry judges the name, the place and the size of a file or a folder.
func (l *loader) strictEntry(path string, parts []string, entry fs.DirEntry) {
	base, extension := parts[len(parts)-1], filepath.Ext(path)
	mode := entry.Type()
	switch {
	case mode.IsDir() && base == "__pycache__":
		l.fail("tree-pycache", problem{path: path, message: "compiled Python files are not submitted"})
	case mode.IsDir() && len(parts) == 1 && !slices.Contains(rounds.Divisions(), path):
		l.fail("tree-folder-unknown", problem{path: path, message: "not a division", found: base, wanted: strings.Join(rounds.Divisions(), ", ")})
	case mode.IsDir():
		if entries, err := os.ReadDir(l.at(path)); err == nil && len(entries) == 0 {
			l.fail("tree-empty-folder", problem{path: path, message: "the folder is empty"})
		}
	case mode.IsRegular() && len(parts) == 1 && extension != ".md" && extension != ".pdf":
		l.fail("tree-root-file", problem{path: path, message: "does not belong at the root", wanted: "*.md and *.pdf"})
	case mode.IsRegular() && len(parts) == 2:
		l.fail("tree-division-file", problem{path: path, message: "does not belong in a division", wanted: "folders of submitters"})
	}
	if info, err := entry.Info(); err == nil && mode.IsRegular() && info.Size() > largestFile {
		l.fail("tree-large-file", problem{path: path, message: "the file is too large", found: fmt.Sprintf("%d bytes", info.Size()),
			wanted: fmt.Sprintf("≤ %d bytes", largestFile)})
	}
	if strings.HasPrefix(base, ".") && base != ".gitkeep" {
		l.fail("tree-name", problem{path: path, message: "the name starts with a dot", found: base, wanted: "another name"})
	}
	if strings.Contains(base, " ") {
		l.fail("tree-name", problem{path: path, message: "the name has a space", found: base, wanted: "a name without spaces"})
	}
}

// strictSubmitters looks for descriptions of systems without results, submitters that do not describe calibration, and
// placeholders in the texts of a submitter.
func (l *loader) strictSubmitters() {
	homes := map[string]map[string]bool{}
	for _, j := range l.jobs {
		home := j.division + "/" + j.submitter
		if homes[home] == nil {
			homes[home] = map[string]bool{}
		}
		homes[home][j.system] = true
	}
	for home, systems := range homes {
		for _, folder := range []string{home, home + "/documentation", home + "/src"} {
			files, _ := l.files(folder) // which need not exist
			for _, name := range files {
				if filepath.Ext(name) == ".md" {
					l.placeholder(l.tree, folder+"/"+name)
				}
			}
		}
		if !strings.HasPrefix(home, "open/") && !l.exists(home+"/documentation/calibration.md") && !l.exists(home+"/calibration.md") {
			l.fail("tree-calibration", problem{path: home + "/documentation/calibration.md", message: "calibration is not described", wanted: "the file"})
		}
		files, _ := l.files(home + "/systems") // if it is missing, the results say so
		for _, f := range files {
			if name, ok := strings.CutSuffix(f, ".json"); ok && !systems[name] {
				l.fail("tree-orphan", problem{path: home + "/systems/" + f, message: "the system has no results", wanted: home + "/results/" + name})
			}
		}
	}
}

// placeholder finds the first placeholder in a text.
func (f *findings) placeholder(t tree, path string) {
	text, err := t.read(path, 1<<20) // more than people fill in by hand
	if err != nil {
		return
	}
	n := 0
	for line := range strings.Lines(string(text)) {
		if n++; HasPlaceholder(line) {
			f.fail("text-placeholder", problem{path: path, line: n, message: "a placeholder was not filled in",
				found: shorten(strings.TrimSpace(line)), wanted: "a text without placeholders"})
			return
		}
	}
}
