package fileio

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// ErrNotRegular is wrapped by the errors about paths that lead to something else than a
// file with content.
var ErrNotRegular = errors.New("not a regular file")

// Stat describes a regular file.
func Stat(path string) (fs.FileInfo, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	return info, check(path, info)
}

func check(path string, info fs.FileInfo) error {
	if info.Mode().IsRegular() {
		return nil
	}
	return &fs.PathError{Op: "open", Path: path, Err: fmt.Errorf("%s, %w", kind(info.Mode()), ErrNotRegular)}
}

// kind says in words what a path leads to.
func kind(mode fs.FileMode) string {
	switch {
	case mode.IsDir():
		return "is a folder"
	case mode&fs.ModeNamedPipe != 0:
		return "is a pipe"
	case mode&fs.ModeSocket != 0:
		return "is a socket"
	case mode&fs.ModeDevice != 0:
		return "is a device"
	}
	return "is special"
}

// Open opens a regular file for reading.
func Open(path string) (*os.File, error) {
	if _, err := Stat(path); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_RDONLY|noWait, 0)
	if err != nil {
		return nil, err
	}
	// It may be another one by now.
	info, err := f.Stat()
	if err == nil {
		err = check(path, info)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// ReadFile reads a whole file, which may have up to limit bytes.
func ReadFile(path string, limit int64) ([]byte, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() > limit {
		return nil, tooLong(path, limit)
	}
	data := make([]byte, 0, info.Size()+1) // one more, to see the end without growing
	for len(data) < cap(data) {
		n, err := f.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		if errors.Is(err, io.EOF) {
			return data, nil
		}
		if err != nil {
			return nil, err
		}
	}
	rest, err := io.ReadAll(io.LimitReader(f, limit+1-int64(len(data)))) // it grows, or is one of /proc
	data = append(data, rest...)
	if err == nil && int64(len(data)) > limit {
		err = tooLong(path, limit)
	}
	return data, err
}

func tooLong(path string, limit int64) error {
	return &fs.PathError{Op: "read", Path: path, Err: fmt.Errorf("is longer than the %d bytes that are read", limit)}
}

// Glob lists the entries of a folder whose names match a pattern (filepath.Match), by name. The folder's own name is taken
// literally. A folder that cannot be read has no entries.
func Glob(folder, pattern string) (paths []string) {
	entries, _ := os.ReadDir(folder)
	for _, e := range entries {
		if fits, _ := filepath.Match(pattern, e.Name()); fits {
			paths = append(paths, filepath.Join(folder, e.Name()))
		}
	}
	return paths
}

// SHA256 returns the SHA-256 of a file, in hexadecimal digits, and its size in bytes. It stops when the context ends.
func SHA256(ctx context.Context, path string) (sum string, size int64, err error) {
	f, err := Open(path)
	if err != nil {
		return "", 0, err
	}
	h := sha256.New()
	size, err = io.Copy(h, untilDone{ctx, f})
	if err = errors.Join(err, f.Close()); err != nil {
		return "", 0, err
	}
	return hex.EncodeToString(h.Sum(nil)), size, nil
}

// untilDone is a reader that fails once its context has ended.
type untilDone struct {
	ctx context.Context
	src io.Reader
}

func (u untilDone) Read(p []byte) (int, error) {
	if u.ctx.Err() != nil {
		return 0, context.Cause(u.ctx)
	}
	return u.src.Read(p)
}

// Inside reports whether a path leads to a folder or below it, at the end of all links.
func Inside(folder, path string) (bool, error) {
	var real [2]string
	for i, p := range []string{folder, path} {
		p, err := filepath.Abs(p)
		if err != nil {
			return false, err
		}
		if real[i], err = filepath.EvalSymlinks(p); err != nil {
			return false, err
		}
	}
	rel, err := filepath.Rel(real[0], real[1])
	return err == nil && filepath.IsLocal(rel), err
}
