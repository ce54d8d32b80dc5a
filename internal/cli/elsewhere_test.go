package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func TestAFolderOfOursThatCannotBeWrittenMayLieElsewhere(t *testing.T) {
	home := t.TempDir()
	cache, data := filepath.Join(home, ".cache", "mlperf"), filepath.Join(home, "data")
	t.Setenv("MLPERF_CACHE_DIR", cache)
	t.Setenv("MLPERF_DATA_DIR", data)
	at := func(path string, why error) error {
		return fmt.Errorf("making the built-in data set: %w", &fs.PathError{Op: "mkdir", Path: path, Err: why})
	}
	const toCache, toData = "; MLPERF_CACHE_DIR names another folder", "; MLPERF_DATA_DIR names another folder"
	for _, c := range []struct {
		name string
		err  error
		want string
	}{
		{"a file in the cache", at(filepath.Join(cache, "models", "x.onnx"), syscall.EACCES), toCache},
		{"the cache itself, on a disk that is full", at(cache, syscall.ENOSPC), toCache},
		{"a folder above it, which is to be made", at(filepath.Join(home, ".cache"), syscall.EROFS), toCache},
		{"what was downloaded", at(filepath.Join(data, "coco"), os.ErrPermission), toData},
		{"a rename", &os.LinkError{Op: "rename", Old: "x", New: filepath.Join(data, "coco"), Err: syscall.EPERM}, toData},
		{"a folder whose name only begins so", at(cache+"-2", syscall.EACCES), ""},
		{"results", at("results", syscall.EACCES), ""},
		{"a file that is not there", at(filepath.Join(cache, "models"), syscall.ENOENT), ""},
		{"without a file", syscall.EACCES, ""},
		{"something else", errors.New("no"), ""},
	} {
		if got := Elsewhere(c.err); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
