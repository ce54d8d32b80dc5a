package whole

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf/internal/regular"
	"github.com/mlperf-go/mlperf/internal/scratch"
)

// WriteFile is Write for contents that are there already.
func WriteFile(path string, data []byte, mode fs.FileMode) error {
	return Write(path, mode, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// Write has a file with what fill writes take the place of path. If anything fails, what is there
// stays as it was. Several programs may do so at once: the last one wins.
func Write(path string, mode fs.FileMode, fill func(io.Writer) error) error {
	return write(path, mode, fill, func(*os.File) error { return nil })
}

// WriteSynced is Write for what must survive a machine that loses its power afterwards.
func WriteSynced(path string, mode fs.FileMode, fill func(io.Writer) error) error {
	return write(path, mode, fill, (*os.File).Sync)
}

func write(path string, mode fs.FileMode, fill func(io.Writer) error, sync func(*os.File) error) error {
	path, err := target(path)
	if err != nil {
		return err
	}
	f, err := scratch.File(filepath.Dir(path), pattern(filepath.Base(path)))
	if err != nil {
		return of(path, err)
	}
	err = fill(f)
	if err == nil {
		err = errors.Join(f.Chmod(mode), sync(f))
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name()) // it is of no use to anybody
		return of(path, err, f.Name())
	}
	return nil
}

// of is an error of a file that is written, by the file's own name: nobody knows that of the temporary one. An error of
// another file than those of the names is left as it is; without names there is none.
func of(path string, err error, temporary ...string) error {
	var one *fs.PathError
	if errors.As(err, &one) && (len(temporary) == 0 || slices.Contains(temporary, one.Path)) {
		return &fs.PathError{Op: "writing", Path: path, Err: one.Err}
	}
	var both *os.LinkError
	if errors.As(err, &both) && slices.Contains(temporary, both.Old) {
		return &fs.PathError{Op: "writing", Path: path, Err: both.Err}
	}
	return err
}

// pattern is how files are called that are to become one of a name, of which the whole may be too long: a name has up to
// 255 bytes.
func pattern(name string) string {
	const most = 200
	if len(name) > most {
		name = strings.ToValidUTF8(name[:most], "")
	}
	return "." + name + ".*.tmp"
}

// target is what a path leads to. A device, a pipe or a folder would be replaced by a file.
func target(path string) (string, error) {
	if _, err := regular.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return missing(path)
	} else if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(path)
}

// missing is where a file is to be that is not there: a link may lead there already. No link of these leads in a
// circle, which would be another error.
func missing(path string) (string, error) {
	for {
		to, err := os.Readlink(path)
		if err != nil {
			return path, nil // it is no link
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(path), to)
		}
		path = to
	}
}

// Folder makes a folder of what fill writes into the one that it is given; path appears when all is
// there, or not at all. If another program makes the same meanwhile, the first one stays.
func Folder(path string, fill func(folder string) error) (err error) {
	making, err := scratch.In(filepath.Dir(path), "making")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, making.Remove()) }()
	inner := filepath.Join(making.Path, "folder") // the temporary folder is closed to other users
	if err := os.Mkdir(inner, 0o755); err != nil {
		return err
	}
	if err := fill(inner); err != nil {
		return err
	}
	err = os.Rename(inner, path)
	if _, there := os.Stat(path); err != nil && there == nil {
		return nil // another program was quicker
	}
	return err
}
