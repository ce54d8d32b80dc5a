package fileio_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/mlperf-go/mlperf/internal/fileio"
)

func text(s string, fail error) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, s)
		return errors.Join(err, fail)
	}
}

func content(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestAFileIsReplacedWholeOrNotAtAll(t *testing.T) {
	for name, write := range map[string]func(string, fs.FileMode, func(io.Writer) error) error{"plain": fileio.WriteAtomic, "synced": fileio.WriteSynced} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "file")
			if err := write(path, 0o640, text("first", nil)); err != nil {
				t.Fatal(err)
			}
			failure := errors.New("failure")
			if err := write(path, 0o640, text("second", failure)); !errors.Is(err, failure) {
				t.Errorf("error %v, want that of the writer", err)
			}
			if got := content(t, path); got != "first" {
				t.Errorf("the file holds %q after a failure", got)
			}
			if err := write(path, 0o640, text("third", nil)); err != nil {
				t.Fatal(err)
			}
			if got := content(t, path); got != "third" {
				t.Errorf("the file holds %q", got)
			}
			if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o640 {
				t.Errorf("mode %v, %v, want 0640", info.Mode(), err)
			}
			if files, _ := os.ReadDir(dir); len(files) != 1 {
				t.Errorf("the folder has %v", files)
			}
		})
	}
}

func TestAMissingFolderIsAnErrorOfItsOwn(t *testing.T) {
	if err := fileio.WriteAtomic(filepath.Join(t.TempDir(), "none", "file"), 0o644, text("x", nil)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v, want %v", err, fs.ErrNotExist)
	}
}

func TestAFolderIsNotReplaced(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "folder")
	if err := os.MkdirAll(filepath.Join(path, "inside"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := fileio.WriteAtomic(path, 0o644, text("x", nil)); err == nil {
		t.Error("a folder was replaced by a file")
	}
	if files, _ := os.ReadDir(dir); len(files) != 1 {
		t.Errorf("the folder has %v", files)
	}
}

func TestOfSeveralWritersOneWins(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	var writers sync.WaitGroup
	for i := range 8 {
		writers.Go(func() {
			if err := fileio.WriteAtomic(path, 0o644, text(strings.Repeat(strconv.Itoa(i), 10000), nil)); err != nil {
				t.Error(err)
			}
		})
	}
	writers.Wait()
	if got := content(t, path); len(got) != 10000 || got != strings.Repeat(got[:1], 10000) {
		t.Errorf("the file is a mixture of %d bytes", len(got))
	}
}

func TestAFolderAppearsAsAWholeOrNotAtAll(t *testing.T) {
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
				if err := os.Mkdir(path, 0o755); err != nil {
					return err
				}
				if err := os.WriteFile(filepath.Join(path, "f"), []byte(c.before), 0o644); err != nil {
					return err
				}
			}
			return errors.Join(os.WriteFile(filepath.Join(folder, "f"), []byte("ours"), 0o644), c.fail)
		})
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
		got, _ := os.ReadFile(filepath.Join(path, "f"))
		if string(got) != c.after {
			t.Errorf("%s: %q in the folder, want %q", name, got, c.after)
		}
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if e.Name() != "made" {
				t.Errorf("%s: %s was left", name, e.Name())
			}
		}
	}
}

func TestWhatALinkLeadsToIsReplaced(t *testing.T) {
	dir := t.TempDir()
	file, link := filepath.Join(dir, "file"), filepath.Join(dir, "link")
	if err := os.WriteFile(file, []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("file", link); err != nil {
		t.Skip(err)
	}
	if err := fileio.WriteFile(link, []byte("new"), 0o644); err != nil {
		t.Fatal(err)
	}
	if got := content(t, file); got != "new" {
		t.Errorf("the file holds %q", got)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("the link is %v now (%v)", info.Mode(), err)
	}
}

// A link that leads nowhere yet, perhaps onto another disk, stays: the file is made where it leads.
func TestALinkThatLeadsNowhereYetIsFollowed(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	if err := os.Mkdir(at("folder"), 0o755); err != nil {
		t.Fatal(err)
	}
	for link, to := range map[string]string{
		"relative": "folder/a", "absolute": at("folder/b"), "chain": "second", "second": "folder/../folder/c", "nowhere": "no folder/d", "circle": "circle",
	} {
		if err := os.Symlink(to, at(link)); err != nil {
			t.Skip(err)
		}
	}
	for link, file := range map[string]string{"relative": "folder/a", "absolute": "folder/b", "chain": "folder/c"} {
		for _, text := range []string{"first", "second"} {
			if err := fileio.WriteFile(at(link), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			if got := content(t, at(file)); got != text {
				t.Errorf("%s: the file holds %q, want %q", link, got, text)
			}
		}
		if info, err := os.Lstat(at(link)); err != nil || info.Mode()&fs.ModeSymlink == 0 {
			t.Errorf("%s is %v now (%v)", link, info.Mode(), err)
		}
	}
	for _, link := range []string{"nowhere", "circle"} {
		if err := fileio.WriteFile(at(link), nil, 0o644); err == nil {
			t.Errorf("%s: a file was written", link)
		}
		if info, err := os.Lstat(at(link)); err != nil || info.Mode()&fs.ModeSymlink == 0 {
			t.Errorf("%s is %v now (%v)", link, info.Mode(), err)
		}
	}
}

// TestFilesMayHaveAnyName has names as long as they can be, and with what means something in patterns.
func TestFilesMayHaveAnyName(t *testing.T) {
	dir := t.TempDir()
	names := []string{"f", strings.Repeat("n", 255), strings.Repeat("é", 127), "a*b", "*", "[a]?", " ", "-", "..."}
	for _, name := range names {
		path := filepath.Join(dir, name)
		for _, want := range []string{"first", "second"} {
			if err := fileio.WriteFile(path, []byte(want), 0o600); err != nil {
				t.Fatalf("a name of %d bytes, %.20q: %v", len(name), name, err)
			}
			if got := content(t, path); got != want {
				t.Errorf("%.20q holds %q, want %q", name, got, want)
			}
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != len(names) {
		t.Errorf("there are %v, %v, want %d files", left, err, len(names))
	}
}

func TestADeviceIsNotReplaced(t *testing.T) {
	link := filepath.Join(t.TempDir(), "null")
	if err := os.Symlink(os.DevNull, link); err != nil {
		t.Skip(err)
	}
	if err := fileio.WriteFile(link, []byte("x"), 0o644); !errors.Is(err, fileio.ErrNotRegular) {
		t.Errorf("error %v, want %v", err, fileio.ErrNotRegular)
	}
	if target, err := os.Readlink(link); err != nil || target != os.DevNull {
		t.Errorf("the link leads to %q (%v)", target, err)
	}
}

func TestErrorsNameTheFileThatWasToBeWritten(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "results.json")
	for name, c := range map[string]struct {
		path string
		fill func(w io.Writer) error
		want string
	}{
		"a folder that is not there": {filepath.Join(dir, "none", "results.json"), text("x", nil),
			"writing " + filepath.Join(dir, "none", "results.json") + ": no such file or directory"},
		"a disk that is full": {path, func(w io.Writer) error {
			return &fs.PathError{Op: "write", Path: w.(*os.File).Name(), Err: errors.New("no space left on device")}
		}, "writing " + path + ": no space left on device"},
		"another file that could not be read": {path, func(io.Writer) error {
			_, err := os.ReadFile(filepath.Join(dir, "source"))
			return err
		}, "open " + filepath.Join(dir, "source") + ": no such file or directory"},
		"something made in its place meanwhile": {path, func(io.Writer) error {
			return os.MkdirAll(filepath.Join(path, "inside"), 0o755)
		}, "writing " + path + ": file exists"},
	} {
		t.Run(name, func(t *testing.T) {
			if err := fileio.WriteAtomic(c.path, 0o644, c.fill); err == nil || err.Error() != c.want {
				t.Errorf("Write() = %v, want %s", err, c.want)
			}
			if left, _ := filepath.Glob(filepath.Join(dir, ".*")); len(left) > 0 {
				t.Errorf("left are %q", left)
			}
			_ = os.RemoveAll(path)
		})
	}
}
