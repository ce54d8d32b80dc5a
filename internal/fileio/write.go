package fileio

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// WriteFile is WriteAtomic for content that is in memory.
func WriteFile(path string, data []byte, mode fs.FileMode) error {
	return WriteAtomic(path, mode, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// WriteAtomic replaces path with the output of fill. After a failure the old file is unchanged. Several programs may write
// the same path at once: the last one wins.
func WriteAtomic(path string, mode fs.FileMode, fill func(io.Writer) error) error {
	return write(path, mode, fill, func(*os.File) error { return nil })
}

// WriteSynced is WriteAtomic for files that must survive a power failure afterwards.
func WriteSynced(path string, mode fs.FileMode, fill func(io.Writer) error) error {
	return write(path, mode, fill, (*os.File).Sync)
}

func write(path string, mode fs.FileMode, fill func(io.Writer) error, sync func(*os.File) error) error {
	path, err := target(path)
	if err != nil {
		return err
	}
	name := filepath.Base(path)
	if len(name) > 200 { // a name has up to 255 bytes
		name = strings.ToValidUTF8(name[:200], "")
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+name+".*.tmp")
	if err != nil {
		return nameTarget(err, path)
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
		_ = os.Remove(f.Name())
		return nameTarget(err, path, f.Name())
	}
	return nil
}

// nameTarget makes an error about a temporary file one about path, which the user knows. It leaves errors about other files as
// they are. Without names it takes any file for the temporary one.
func nameTarget(err error, path string, temporary ...string) error {
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

// target follows links to the file to be replaced, which need not exist yet. A device, a pipe or a folder is an error.
func target(path string) (string, error) {
	_, err := Stat(path)
	if err == nil {
		return filepath.EvalSymlinks(path)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	for { // a circle of links is another error than ErrNotExist
		to, err := os.Readlink(path)
		if err != nil {
			return path, nil // not a link
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(path), to)
		}
		path = to
	}
}

// WriteDir makes the folder path of the files that fill writes into a temporary folder. Path appears complete or not at
// all. If another program makes the same folder meanwhile, the first one stays.
func WriteDir(path string, fill func(folder string) error) (err error) {
	making, err := os.MkdirTemp(filepath.Dir(path), ".mlperf-making-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(making)) }()
	inner := filepath.Join(making, "folder") // the temporary folder is closed to other users
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
