package shm

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/mlperf-go/mlperf/internal/scratch"
)

// folder is where Linux has objects of shared memory (shm_overview(7)).
const folder = "/dev/shm"

// An Object is a part of an object of shared memory. It may be used from several goroutines at
// once, also while it is closed: then with an error.
type Object struct {
	file         *os.File
	offset, size int64
}

// Available returns why there is no shared memory here; nil: there is.
func Available() error {
	if info, err := os.Stat(folder); err != nil || !info.IsDir() {
		return fmt.Errorf("shared memory needs the folder %s, which this system does not have", folder)
	}
	return nil
}

// Create makes an object with a name that no other has, for this user only.
func Create(size int64) (*Object, error) {
	if err := Available(); err != nil {
		return nil, err
	}
	f, err := scratch.File(folder, "mlperf-*")
	if err != nil {
		return nil, fmt.Errorf("making shared memory: %w", err)
	}
	if err := f.Truncate(size); err != nil {
		return nil, errors.Join(fmt.Errorf("making shared memory: %w", err), f.Close(), os.Remove(f.Name()))
	}
	return &Object{f, 0, size}, nil
}

// Open opens a part of an object that is there already.
func Open(key string, offset, size int64) (*Object, error) {
	name := strings.TrimPrefix(key, "/")
	if !isName(name) {
		return nil, fmt.Errorf("shared memory %q: want a name such as /images", key)
	}
	root, err := os.OpenRoot(folder) // no link leads out of it
	if err != nil {
		return nil, fmt.Errorf("opening shared memory: %w", err)
	}
	defer root.Close()
	f, err := root.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("opening shared memory: %w", err)
	}
	if err := fits(f, offset, size); err != nil {
		return nil, errors.Join(fmt.Errorf("shared memory %q: %w", key, err), f.Close())
	}
	return &Object{f, offset, size}, nil
}

// isName reports whether a text can be the name of an object, and is no path.
func isName(text string) bool {
	return text != "" && text != "." && text != ".." && !strings.ContainsAny(text, "/\x00")
}

func fits(f *os.File, offset, size int64) error {
	info, err := f.Stat()
	switch {
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return errors.New("it is no object of shared memory")
	case offset < 0 || size <= 0 || offset > info.Size() || size > info.Size()-offset:
		return fmt.Errorf("%d bytes from %d on are wanted, it has %d", size, offset, info.Size())
	}
	return nil
}

// HasOwner reports whether an object that was opened has somebody who made it with Create and has not closed it: a process
// that ends, however it does, closes it. Of objects that other programs made nobody knows.
func (o *Object) HasOwner() bool { return locked(o.file) }

// Key is the name by which other programs open it.
func (o *Object) Key() string { return "/" + filepath.Base(o.file.Name()) }

// Size is how many bytes there are.
func (o *Object) Size() int64 { return o.size }

// Holds reports whether there are so many bytes from a place on.
func (o *Object) Holds(at, size int64) bool {
	return at >= 0 && size >= 0 && at <= o.size && size <= o.size-at
}

// Read copies what lies at a place to dst.
func (o *Object) Read(at int64, dst []byte) error {
	if !o.Holds(at, int64(len(dst))) {
		return fmt.Errorf("%d bytes from %d on are beyond the %d of the shared memory", len(dst), at, o.size)
	}
	if n, err := o.file.ReadAt(dst, o.offset+at); err != nil {
		return fmt.Errorf("shared memory: %d of %d bytes are there: %w", n, len(dst), err)
	}
	return nil
}

// Write copies src to a place.
func (o *Object) Write(at int64, src []byte) error {
	if !o.Holds(at, int64(len(src))) {
		return fmt.Errorf("%d bytes from %d on are beyond the %d of the shared memory", len(src), at, o.size)
	}
	if _, err := o.file.WriteAt(src, o.offset+at); err != nil {
		return fmt.Errorf("shared memory: %w", err)
	}
	return nil
}

// Unlink takes the name away: the memory is there as long as somebody has it open, however
// that ends.
func (o *Object) Unlink() error { return os.Remove(filepath.Join(folder, o.Key())) }

// Close closes it.
func (o *Object) Close() error { return o.file.Close() }
