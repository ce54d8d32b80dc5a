//go:build unix

package regular

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestWhatIsNoFileIsRefusedBeforeItIsOpened(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Skipf("no pipes here: %v", err)
	}
	socket := filepath.Join(dir, "s")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	link := filepath.Join(dir, "link")
	if err := os.Symlink(pipe, link); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, path, want string }{
		{"a pipe without a writer", pipe, "is a pipe"},
		{"a link to a pipe", link, "is a pipe"},
		{"a device without an end", "/dev/zero", "is a device"},
		{"a folder", dir, "is a folder"},
		{"a socket", socket, "is a socket"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, opened := Open(c.path)
			_, read := ReadFile(c.path, 1<<20)
			_, described := Stat(c.path)
			for _, err := range []error{opened, read, described} {
				if !errors.Is(err, ErrNotRegular) || !strings.Contains(err.Error(), c.path+": "+c.want+", not a regular file") {
					t.Errorf("error %v, want one that says %q of %s", err, c.want, c.path)
				}
			}
		})
	}
	if _, err := Stat(filepath.Join(dir, "gone")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v of a file that does not exist", err)
	}
}

func TestFilesAreReadUpToTheLimit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	for _, size := range []int{0, 1, 99, 100, 101} {
		want := bytes.Repeat([]byte{'x'}, size)
		if err := os.WriteFile(path, want, 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := ReadFile(path, 100)
		switch {
		case size <= 100 && (err != nil || !bytes.Equal(got, want)):
			t.Errorf("%d bytes: got %d, error %v", size, len(got), err)
		case size > 100 && (err == nil || !strings.Contains(err.Error(), "longer than the 100 bytes")):
			t.Errorf("%d bytes: error %v, want one about the limit", size, err)
		}
		f, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(f); err != nil || !bytes.Equal(got, want) {
			t.Errorf("Open: got %d bytes, error %v", len(got), err)
		}
		f.Close()
	}
}

func TestFilesWithoutASizeAreReadUpToTheLimit(t *testing.T) {
	const path = "/proc/self/status" // its size is 0
	if _, err := os.Stat(path); err != nil {
		t.Skip("no /proc here")
	}
	if data, err := ReadFile(path, 1<<20); err != nil || !bytes.Contains(data, []byte("Pid:")) {
		t.Errorf("%d bytes, error %v", len(data), err)
	}
	if _, err := ReadFile(path, 10); err == nil {
		t.Error("no error about the limit")
	}
}

func TestAFileThatGrowsIsReadUpToTheLimit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte("begin "), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadFile(path, 5); err == nil || err.Error() != "read "+path+": is longer than the 5 bytes that are read" {
		t.Errorf("error %v", err)
	}
	if data, err := ReadFile(path, 6); err != nil || string(data) != "begin " {
		t.Errorf("%q, %v", data, err)
	}
	if data, err := ReadFile(path+"x", 6); !errors.Is(err, fs.ErrNotExist) || data != nil {
		t.Errorf("%q, %v of a file that does not exist", data, err)
	}
}

func TestLinksToFilesAreFiles(t *testing.T) {
	dir := t.TempDir()
	if err := errors.Join(os.WriteFile(filepath.Join(dir, "file"), []byte("content"), 0o600), os.Symlink("file", filepath.Join(dir, "link")), os.Symlink("gone", filepath.Join(dir, "broken"))); err != nil {
		t.Fatal(err)
	}
	if info, err := Stat(filepath.Join(dir, "link")); err != nil || info.Size() != 7 {
		t.Errorf("%v, %v", info, err)
	}
	if data, err := ReadFile(filepath.Join(dir, "link"), 100); err != nil || string(data) != "content" {
		t.Errorf("%q, %v", data, err)
	}
	if _, err := ReadFile(filepath.Join(dir, "broken"), 100); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v of a link to nothing", err)
	}
}

func TestEveryKindOfFileHasWords(t *testing.T) {
	for mode, want := range map[fs.FileMode]string{
		fs.ModeDir | 0o755: "is a folder", fs.ModeNamedPipe: "is a pipe", fs.ModeSocket: "is a socket",
		fs.ModeDevice | fs.ModeCharDevice: "is a device", fs.ModeDevice: "is a device", fs.ModeIrregular: "is special",
	} {
		if got := kind(mode); got != want {
			t.Errorf("%v %s, want %s", mode, got, want)
		}
	}
}

func TestMatchingTakesTheFolderAsItIsCalled(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "[a-z]*")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"run_2", "run_10", "run_1", "other", ".hidden"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for pattern, want := range map[string]string{"run_[0-9]*": "run_1 run_10 run_2", "*.x": "", ".*": ".hidden", "[": "", "other": "other"} {
		var names []string
		for _, path := range Matching(dir, pattern) {
			if filepath.Dir(path) != dir {
				t.Errorf("%s is not in %s", path, dir)
			}
			names = append(names, filepath.Base(path))
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("Matching(%q) = %q, want %q", pattern, got, want)
		}
	}
	if got := Matching(filepath.Join(dir, "none"), "*"); got != nil {
		t.Errorf("of a folder that is not there: %v", got)
	}
}
