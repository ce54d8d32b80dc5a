package download

import (
	"context"
	"crypto/md5"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"os"

	"github.com/mlperf-go/mlperf/internal/fileio"
)

// sums are the size and the checksums of a file.
type sums struct {
	Size   int64  `json:"size"`
	MD5    string `json:"md5"`
	SHA256 string `json:"sha256"`
}

// hasChecksum reports whether a checksum of the file is published.
func (f File) hasChecksum() bool { return f.MD5 != "" || f.SHA256 != "" }

// check compares a file with its published size and checksum. from is its address or path.
func (f File) check(got sums, from string) error {
	switch {
	case f.Size > 0 && got.Size != f.Size:
		return fmt.Errorf("%s has %d bytes, expected %d", from, got.Size, f.Size)
	case f.SHA256 != "" && got.SHA256 != f.SHA256:
		return fmt.Errorf("%s has SHA-256 %s, expected %s", from, got.SHA256, f.SHA256)
	case f.MD5 != "" && got.MD5 != f.MD5:
		return fmt.Errorf("%s has MD5 %s, expected %s", from, got.MD5, f.MD5)
	}
	return nil
}

// A summer computes the checksums of its input.
type summer struct {
	size        int64
	md5, sha256 hash.Hash
}

func newSummer() *summer { return &summer{md5: md5.New(), sha256: sha256.New()} }

// Write implements io.Writer. It never fails.
func (s *summer) Write(p []byte) (int, error) {
	s.size += int64(len(p))
	s.md5.Write(p)
	s.sha256.Write(p)
	return len(p), nil
}

func (s *summer) sums() sums {
	return sums{s.size, hex.EncodeToString(s.md5.Sum(nil)), hex.EncodeToString(s.sha256.Sum(nil))}
}

// sumFile computes the checksums of a file below a folder. show, if not nil, hears how far it is.
func sumFile(ctx context.Context, root *os.Root, name string, show func(done, of int64)) (sums, error) {
	f, err := root.Open(name)
	if err != nil {
		return sums{}, err
	}
	return sumOpen(ctx, f, show)
}

// sumOpen computes the checksums of a file, and closes it.
func sumOpen(ctx context.Context, f *os.File, show func(done, of int64)) (sums, error) {
	defer f.Close()
	s := newSummer()
	err := copyFrom(ctx, s, f, show)
	return s.sums(), err
}

// copyFrom copies a file. It ends with the context.
func copyFrom(ctx context.Context, w io.Writer, f *os.File, show func(done, of int64)) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	_, err = io.CopyBuffer(w, &reading{Reader: fileio.UntilDone(ctx, f), of: info.Size(), show: show}, make([]byte, 1<<20))
	return err
}

// reading is a reader that shows how far it is.
type reading struct {
	io.Reader
	done, of int64
	show     func(done, of int64) // nil: not shown
}

// Read implements io.Reader.
func (r *reading) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if r.done += int64(n); r.show != nil && n > 0 {
		r.show(r.done, r.of)
	}
	return n, err
}
