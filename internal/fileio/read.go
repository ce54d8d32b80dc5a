package fileio

import (
	"bytes"
	"context"
	"crypto/md5"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// ErrNotRegular is wrapped by the errors about paths that do not lead to a file with content.
var ErrNotRegular = errors.New("not a regular file")

// Stat describes a regular file.
func Stat(path string) (fs.FileInfo, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	kind := "is special"
	switch mode := info.Mode(); {
	case mode.IsRegular():
		return info, nil
	case mode.IsDir():
		kind = "is a folder"
	case mode&fs.ModeNamedPipe != 0:
		kind = "is a pipe"
	case mode&fs.ModeSocket != 0:
		kind = "is a socket"
	case mode&fs.ModeDevice != 0:
		kind = "is a device"
	}
	return info, &fs.PathError{Op: "open", Path: path, Err: fmt.Errorf("%s, %w", kind, ErrNotRegular)}
}

// Exists reports whether a path leads to something: a file, a folder, or a link, wherever that leads. What cannot be looked at exists,
// so that the error about it is not taken for an absence.
func Exists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR)
}

// Open opens a regular file for reading.
func Open(path string) (*os.File, error) {
	if _, err := Stat(path); err != nil {
		return nil, err
	}
	return os.Open(path)
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
	data := bytes.NewBuffer(make([]byte, 0, min(info.Size(), limit)+bytes.MinRead)) // that of /proc is 0
	if _, err = data.ReadFrom(io.LimitReader(f, limit+1)); err == nil && int64(data.Len()) > limit {
		err = &fs.PathError{Op: "read", Path: path, Err: fmt.Errorf("is longer than the limit of %d bytes", limit)}
	}
	return data.Bytes(), err
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

// A Found is a file below a folder.
type Found struct {
	Name string      // path below the folder, with slashes
	Info fs.FileInfo // of the file, at the end of links
}

// Files lists the files below a folder, by name, through links to files. Links that lead nowhere, and what is removed meanwhile, are left out.
func Files(ctx context.Context, dir string) (files []Found, err error) {
	err = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := os.Stat(path)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ELOOP) {
			return nil
		}
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		files = append(files, Found{filepath.ToSlash(name), info})
		return err
	})
	return files, err
}

// SHA256 returns the SHA-256 of a file, in hexadecimal digits, and its size in bytes. It stops when the context ends.
func SHA256(ctx context.Context, path string) (sum string, size int64, err error) {
	return sumOf(ctx, path, sha256.New())
}

// MD5 returns the MD5 of a file, which many publishers give, in hexadecimal digits. It stops when the context ends.
func MD5(ctx context.Context, path string) (sum string, err error) {
	sum, _, err = sumOf(ctx, path, md5.New())
	return sum, err
}

func sumOf(ctx context.Context, path string, h hash.Hash) (sum string, size int64, err error) {
	f, err := Open(path)
	if err != nil {
		return "", 0, err
	}
	size, err = io.Copy(h, UntilDone(ctx, f))
	if err = errors.Join(err, f.Close()); err != nil {
		return "", 0, err
	}
	return hex.EncodeToString(h.Sum(nil)), size, nil
}

// UntilDone is a reader that fails once its context has ended, with the cause.
func UntilDone(ctx context.Context, r io.Reader) io.Reader { return untilDone{ctx, r} }

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
