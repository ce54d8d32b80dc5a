//go:build unix

package fileio

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/mlperf-go/mlperf/internal/testenv"
)

func TestOnlyFilesAreOpened(t *testing.T) {
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

func TestReadFileUpToTheLimit(t *testing.T) {
	dir := t.TempDir()
	path, link, broken := filepath.Join(dir, "file"), filepath.Join(dir, "link"), filepath.Join(dir, "broken")
	if err := errors.Join(os.Symlink("file", link), os.Symlink("gone", broken)); err != nil {
		t.Fatal(err)
	}
	for _, size := range []int{0, 1, 99, 100, 101, 10000} {
		want := bytes.Repeat([]byte{'x'}, size)
		if err := os.WriteFile(path, want, 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := ReadFile(link, 100)
		switch {
		case size <= 100 && (err != nil || !bytes.Equal(got, want)):
			t.Errorf("%d bytes: got %d, error %v", size, len(got), err)
		case size > 100 && !testenv.Names(err, link+" … 100 bytes"):
			t.Errorf("%d bytes: error %v, want one about the limit", size, err)
		}
	}
	if _, err := ReadFile(broken, 100); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v of a link to nothing", err)
	}
	const proc = "/proc/self/status" // its size is 0
	if _, err := os.Stat(proc); err != nil {
		t.Skip("no /proc here")
	}
	if data, err := ReadFile(proc, 1<<20); err != nil || !bytes.Contains(data, []byte("Pid:")) {
		t.Errorf("%s: %d bytes, error %v", proc, len(data), err)
	}
	if _, err := ReadFile(proc, 10); err == nil {
		t.Errorf("%s: no error about the limit", proc)
	}
}

func TestGlobTakesTheFolderLiterally(t *testing.T) {
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
		for _, path := range Glob(dir, pattern) {
			if filepath.Dir(path) != dir {
				t.Errorf("%s is not in %s", path, dir)
			}
			names = append(names, filepath.Base(path))
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("Glob(%q) = %q, want %q", pattern, got, want)
		}
	}
	if got := Glob(filepath.Join(dir, "none"), "*"); got != nil {
		t.Errorf("of a folder that is not there: %v", got)
	}
}

// The sums are those of FIPS 180-2 (appendix B) and of the empty text.
func TestSHA256(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	for text, want := range map[string]string{
		"":                           "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
		"abc":                        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
		strings.Repeat("a", 1000000): "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if sum, size, err := SHA256(t.Context(), path); err != nil || sum != want || size != int64(len(text)) {
			t.Errorf("of %d bytes: %s, %d bytes, error %v; want %s", len(text), sum, size, err, want)
		}
	}
	enough := errors.New("enough")
	ended, end := context.WithCancelCause(t.Context())
	end(enough)
	if sum, _, err := SHA256(ended, path); !errors.Is(err, enough) || sum != "" {
		t.Errorf("where the context has ended: %q, error %v", sum, err)
	}
	if _, _, err := SHA256(t.Context(), filepath.Join(dir, "nothing")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("of nothing: %v", err)
	}
	if _, _, err := SHA256(t.Context(), dir); err == nil || !strings.Contains(err.Error(), "is a folder") {
		t.Errorf("of a folder: %v", err)
	}
}
