package whole_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/mlperf-go/mlperf/internal/whole"
)

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
			if err := whole.Write(c.path, 0o644, c.fill); err == nil || err.Error() != c.want {
				t.Errorf("Write() = %v, want %s", err, c.want)
			}
			if left, _ := filepath.Glob(filepath.Join(dir, ".*")); len(left) > 0 {
				t.Errorf("left are %q", left)
			}
			_ = os.RemoveAll(path)
		})
	}
}
