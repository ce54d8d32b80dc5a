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
)

// sums are the checksums of a file.
type sums struct {
	Size   int64  `json:"size"`
	MD5    string `json:"md5"`
	SHA256 string `json:"sha256"`
}

// want are the checksums and the size that a file should have, as far as they are known.
type want struct {
	size        int64
	md5, sha256 string
}

func (f *File) want() want { return want{f.Size, f.MD5, f.SHA256} }

// known reports whether there is a checksum, not only a size.
func (w want) known() bool { return w.md5 != "" || w.sha256 != "" }

// empty reports whether the file is known to have nothing in it.
func (w want) empty() bool { return w.known() && w.check(newSummer().sums(), "it") == nil }

// maySize reports whether a file may have a size.
func (w want) maySize(n int64) bool { return w.size <= 0 || n == w.size }

// check compares; name and from say what was compared.
func (w want) check(got sums, from string) error {
	switch {
	case !w.maySize(got.Size):
		return fmt.Errorf("%s has %d bytes, want %d", from, got.Size, w.size)
	case w.sha256 != "" && got.SHA256 != w.sha256:
		return &checksumError{From: from, Algorithm: "SHA-256", Got: got.SHA256, Want: w.sha256}
	case w.md5 != "" && got.MD5 != w.md5:
		return &checksumError{From: from, Algorithm: "MD5", Got: got.MD5, Want: w.md5}
	}
	return nil
}

// A checksumError is a file that is not what its publisher says.
type checksumError struct {
	From      string // address or path
	Algorithm string
	Got, Want string
}

// Error implements error.
func (e *checksumError) Error() string {
	return fmt.Sprintf("%s has %s %s, want %s", e.From, e.Algorithm, e.Got, e.Want)
}

// A summer computes checksums of what is written to it.
type summer struct {
	size   int64
	md5    hash.Hash
	sha256 hash.Hash
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

// sumReader reads all of r. Progress, if not nil, is told of every piece.
func sumReader(ctx context.Context, r io.Reader, progress func(n int)) (sums, error) {
	s := newSummer()
	_, err := io.CopyBuffer(s, &watched{ctx, r, progress}, make([]byte, 1<<20))
	return s.sums(), err
}

// sumObserved computes the checksums of a file, and tells of the progress.
func sumObserved(ctx context.Context, root *os.Root, name string, o Observer) (sums, error) {
	var progress func(int)
	if info, err := root.Stat(name); err == nil {
		progress = progressOf(o, info.Size())
	}
	return sumFile(ctx, root, name, progress)
}

// sumFile computes the checksums of a file below a folder.
func sumFile(ctx context.Context, root *os.Root, name string, progress func(n int)) (sums, error) {
	f, err := openFile(root, name)
	if err != nil {
		return sums{}, err
	}
	defer f.Close()
	return sumReader(ctx, f, progress)
}

// watched is a reader that ends with its context and tells what it has read.
type watched struct {
	ctx      context.Context
	r        io.Reader
	progress func(n int)
}

// Read implements io.Reader.
func (w *watched) Read(p []byte) (int, error) {
	if err := context.Cause(w.ctx); err != nil {
		return 0, err
	}
	n, err := w.r.Read(p)
	if w.progress != nil && n > 0 {
		w.progress(n)
	}
	return n, err
}
