package fileio_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

func text(s string, fail error) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, s)
		return errors.Join(err, fail)
	}
}

// content is the text of a file; empty if it cannot be read.
func content(path string) string {
	data, _ := os.ReadFile(path)
	return string(data)
}

func TestWriteAtomic(t *testing.T) {
	mode := fs.FileMode(0o640)
	if runtime.GOOS == "windows" { // which tells only whether a file can be written
		mode = 0o666
	}
	for name, write := range map[string]func(string, fs.FileMode, func(io.Writer) error) error{"plain": fileio.WriteAtomic, "synced": fileio.WriteSynced} {
		dir := t.TempDir()
		path := filepath.Join(dir, "file")
		testenv.Must(t, write(path, 0o640, text("first", nil)))
		failure := errors.New("failure")
		if err := write(path, 0o640, text("second", failure)); !errors.Is(err, failure) || content(path) != "first" {
			t.Errorf("%s: error %v, want that of the writer; the file holds %q", name, err, content(path))
		}
		testenv.Must(t, write(path, 0o640, text("third", nil)))
		info, err := os.Stat(path)
		testenv.Must(t, err)
		if files, _ := os.ReadDir(dir); content(path) != "third" || info.Mode().Perm() != mode || len(files) != 1 {
			t.Errorf("%s: the file holds %q, mode %v, want %v; the folder has %v", name, content(path), info.Mode(), mode, files)
		}
	}
}

func TestOfSeveralWritersOneWins(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	var writers sync.WaitGroup
	for i := range 8 {
		writers.Go(func() {
			err := fileio.WriteAtomic(path, 0o644, text(strings.Repeat(strconv.Itoa(i), 10000), nil))
			if err != nil && !(runtime.GOOS == "windows" && errors.Is(err, fs.ErrPermission)) { // Windows refuses the second of two at once
				t.Error(err)
			}
		})
	}
	writers.Wait()
	if got := content(path); len(got) != 10000 || got != strings.Repeat(got[:1], 10000) {
		t.Errorf("the file is a mixture of %d bytes", len(got))
	}
}

func TestWriteDir(t *testing.T) {
	failed := errors.New("half-way")
	for name, c := range map[string]struct {
		fail, want error
		before     string // content of the folder that another program made meanwhile
		after      string
	}{
		"made":                     {after: "ours"},
		"a failure leaves nothing": {fail: failed, want: failed},
		"another one's stays":      {before: "theirs", after: "theirs"},
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, "made")
		err := fileio.WriteDir(path, func(folder string) error {
			if c.before != "" {
				testenv.Must(t, os.Mkdir(path, 0o755), os.WriteFile(filepath.Join(path, "f"), []byte(c.before), 0o644))
			}
			return errors.Join(os.WriteFile(filepath.Join(folder, "f"), []byte("ours"), 0o644), c.fail)
		})
		if got := content(filepath.Join(path, "f")); !errors.Is(err, c.want) || got != c.after {
			t.Errorf("%s: %v, %q in the folder, want %q", name, err, got, c.after)
		}
		entries, err := os.ReadDir(dir)
		testenv.Must(t, err)
		for _, e := range entries {
			if e.Name() != "made" {
				t.Errorf("%s: %s was left", name, e.Name())
			}
		}
	}
}

// A link that leads nowhere yet, perhaps onto another disk, stays: the file is made where it leads.
func TestWriteFollowsLinks(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	testenv.Must(t, os.Mkdir(at("folder"), 0o755))
	for link, to := range map[string]string{
		"relative": "folder/a", "absolute": at("folder/b"), "chain": "second", "second": "folder/../folder/c", "nowhere": "no folder/d", "circle": "circle", "null": os.DevNull,
	} {
		if err := os.Symlink(to, at(link)); err != nil {
			t.Skip(err)
		}
	}
	for link, file := range map[string]string{"relative": "folder/a", "absolute": "folder/b", "chain": "folder/c"} {
		for _, text := range []string{"first", "second"} {
			if err := fileio.WriteFile(at(link), []byte(text), 0o644); err != nil || content(at(file)) != text {
				t.Errorf("%s: %v, the file holds %q, want %q", link, err, content(at(file)), text)
			}
		}
	}
	for _, link := range []string{"nowhere", "circle"} {
		if err := fileio.WriteFile(at(link), nil, 0o644); err == nil {
			t.Errorf("%s: a file was written", link)
		}
	}
	if err := fileio.WriteFile(at("null"), []byte("x"), 0o644); !errors.Is(err, fileio.ErrNotRegular) {
		t.Errorf("error %v, want %v", err, fileio.ErrNotRegular)
	}
	for _, link := range []string{"relative", "absolute", "chain", "nowhere", "circle", "null"} {
		if info, err := os.Lstat(at(link)); err != nil || info.Mode()&fs.ModeSymlink == 0 {
			t.Errorf("%s is %v now (%v)", link, info.Mode(), err)
		}
	}
}

// Names as long as they can be, and with characters that mean something in patterns.
func TestFilesMayHaveAnyName(t *testing.T) {
	dir := t.TempDir()
	names := []string{"f", strings.Repeat("n", 255), strings.Repeat("é", 127), "[a]", "-"}
	if runtime.GOOS != "windows" { // which has no such names
		names = append(names, "a*b", "[a]?", " ", "...")
	}
	for _, name := range names {
		for _, want := range []string{"first", "second"} {
			path := filepath.Join(dir, name)
			if err := fileio.WriteFile(path, []byte(want), 0o600); err != nil || content(path) != want {
				t.Fatalf("a name of %d bytes, %.20q: %v, it holds %q", len(name), name, err, content(path))
			}
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != len(names) {
		t.Errorf("the folder has %v, %v, want %d files", left, err, len(names))
	}
}

func TestErrorsNameTheTarget(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "results.json")
	_, missing := os.Stat(filepath.Join(dir, "none"))
	noFile := errors.Unwrap(missing).Error() // in the system's words
	for want, c := range map[string]struct {
		path string
		fill func(w io.Writer) error
	}{
		filepath.Join(dir, "none", "results.json") + " … " + noFile: {filepath.Join(dir, "none", "results.json"), text("x", nil)},
		path + " … no space left on device": {path, func(w io.Writer) error {
			return &fs.PathError{Op: "write", Path: w.(*os.File).Name(), Err: errors.New("no space left on device")}
		}},
		filepath.Join(dir, "source") + " … " + noFile: {path, func(io.Writer) error {
			_, err := os.ReadFile(filepath.Join(dir, "source"))
			return err
		}},
		path + " … file exists": {path, func(io.Writer) error { return os.MkdirAll(filepath.Join(path, "inside"), 0o755) }}, // a folder, meanwhile
	} {
		if err := fileio.WriteAtomic(c.path, 0o644, c.fill); !testenv.Names(err, want) {
			t.Errorf("WriteAtomic() = %v, want %s", err, want)
		}
		if left, _ := filepath.Glob(filepath.Join(dir, ".*")); len(left) > 0 {
			t.Errorf("left are %q", left)
		}
		testenv.Must(t, os.RemoveAll(path))
	}
}

// MoveIn gives names below its folder only, and takes no place of files in a folder.
func TestMoveIn(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	text := func(name string) string {
		data, _ := os.ReadFile(at(name))
		return string(data)
	}
	testenv.Must(t, os.MkdirAll(at("made/tree"), 0o755), os.WriteFile(at("made/tree/f"), []byte("new"), 0o644), os.MkdirAll(at("full"), 0o755),
		os.WriteFile(at("full/notes"), []byte("of the user"), 0o644), os.WriteFile(at("outside"), []byte("outside"), 0o644), os.Symlink("outside", at("link")),
		os.WriteFile(at("g"), []byte("g"), 0o644))
	if err := fileio.MoveIn(dir, "made/tree", "full"); err == nil || text("full/notes") != "of the user" || text("made/tree/f") != "new" {
		t.Errorf("a folder with a file is replaced: %v", err)
	}
	if err := fileio.MoveIn(dir, "made/tree", "tree"); err != nil || text("tree/f") != "new" {
		t.Errorf("a folder is not moved: %v", err)
	}
	if err := fileio.MoveIn(dir, "g", "link"); err != nil || text("outside") != "outside" || text("link") != "g" {
		t.Errorf("%v: the link is %q, its target %q", err, text("link"), text("outside"))
	}
	if err := fileio.MoveIn(at("full"), "notes", "../notes"); err == nil {
		t.Error("a file is moved out of the folder")
	}
}
