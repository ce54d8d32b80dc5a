package home

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/gofrs/flock"
)

// An Entry is a file or folder of the cache, or several files with one name. The program can make it again.
type Entry struct {
	Kind  string    `json:"kind"`
	Name  string    `json:"name"`
	Paths []string  `json:"paths"`
	Bytes int64     `json:"bytes"` // on disk: files with holes take less than their length
	Used  time.Time `json:"used"`  // last, as far as the file system tells
}

// leftover is the kind of files that a killed process has left.
const leftover = "leftovers"

// names are the names of entries by kind, which is the folder of the entry. Each has a key of hexadecimal digits.
var names = map[string]*regexp.Regexp{
	"models":    regexp.MustCompile(`^[a-z0-9][a-z0-9.-]*-[0-9a-f]{16,20}`),
	"datasets":  regexp.MustCompile(`^[a-z0-9][a-z0-9.-]*-[0-9a-f]{16,20}`),
	"samples":   regexp.MustCompile(`^[0-9a-f]{20}$`),
	"converted": regexp.MustCompile(`-[0-9a-f]{16}$`),
	"engines":   regexp.MustCompile(`^[0-9a-f]{16}$`),
}

// leftoverNames are folders of killed jobs, and files that were to become an entry or a part of one.
var leftoverNames = regexp.MustCompile(`^\.mlperf-[a-z]+-[0-9]+$|^\..*[0-9a-f]{16}.*\.[0-9]+\.tmp$`)

// Kinds lists the kinds of entries.
func Kinds() []string {
	return []string{"models", "datasets", "samples", "converted", "engines", leftover}
}

// List returns the entries of a cache, the longest unused first. The folder need not exist.
func List(dir string) ([]Entry, error) {
	list, err := leftovers(dir)
	if err != nil {
		return nil, err
	}
	for kind, form := range names {
		found, err := entries(filepath.Join(dir, kind), kind, form)
		if err != nil {
			return nil, err
		}
		list = append(list, found...)
	}
	slices.SortFunc(list, func(a, b Entry) int {
		return cmp.Or(a.Used.Compare(b.Used), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	return list, nil
}

// leftovers lists the files that killed processes have left.
func leftovers(dir string) (list []Entry, err error) {
	for _, folder := range append(Kinds(), ".") {
		found, err := entries(filepath.Join(dir, folder), leftover, leftoverNames)
		if err != nil {
			return nil, err
		}
		list = append(list, found...)
	}
	return list, nil
}

// entries lists the files and folders in a folder whose names have the form of an entry.
func entries(dir, kind string, form *regexp.Regexp) (list []Entry, err error) {
	files, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("looking at the cache: %w", err)
	}
	for _, f := range files { // sorted
		name := f.Name()
		if kind == "samples" || kind == "converted" { // an entry has several files with different endings
			name = strings.TrimSuffix(name, filepath.Ext(name))
		}
		if !form.MatchString(name) {
			continue
		}
		if n := len(list); n == 0 || list[n-1].Name != name {
			list = append(list, Entry{Kind: kind, Name: name})
		}
		e := &list[len(list)-1]
		path := filepath.Join(dir, f.Name())
		e.Paths = append(e.Paths, path)
		_ = filepath.WalkDir(path, func(_ string, d fs.DirEntry, err error) error {
			if err != nil {
				return nil // an unreadable file counts as nothing
			}
			if info, err := d.Info(); err == nil {
				bytes, used := usage(info)
				e.Bytes += bytes
				if !d.IsDir() && used.After(e.Used) { // a folder changes as files are removed
					e.Used = used
				}
			}
			return nil
		})
	}
	return list, nil
}

// Total adds up the sizes of entries.
func Total(entries []Entry) int64 {
	var n int64
	for _, e := range entries {
		n += e.Bytes
	}
	return n
}

// lockFile is the file that the users of a cache lock.
const lockFile = ".in-use"

// ErrInUse is the error of a removal while another process uses the cache.
var ErrInUse = errors.New("the cache is in use by another process")

// Hold keeps the cache from being cleared until it is released. It waits for a removal that is under way. The first process
// to hold the cache removes the leftovers of killed ones. A cache that cannot be locked, for instance on a read-only disk,
// cannot be cleared either.
func Hold(dir string) (release func()) {
	if os.MkdirAll(dir, 0o755) != nil {
		return func() {}
	}
	lock := flock.New(filepath.Join(dir, lockFile))
	if alone, _ := lock.TryLock(); alone {
		left, _ := leftovers(dir)
		for _, e := range left {
			_ = e.remove() // otherwise 'mlperf cache clear' says why
		}
		_ = lock.Unlock()
	}
	ctx, cancel := context.WithTimeout(context.Background(), holdTimeout)
	defer cancel()
	_, _ = lock.TryRLockContext(ctx, holdRetry)
	return func() { _ = lock.Close() }
}

// holdTimeout is how long Hold waits for a removal, and holdRetry how often it tries.
const (
	holdTimeout = 30 * time.Second
	holdRetry   = 10 * time.Millisecond
)

// Remove removes entries and returns how many bytes that freed. While another process uses the cache
// it removes nothing, and the error is ErrInUse.
func Remove(dir string, entries []Entry) (freed int64, err error) {
	if len(entries) == 0 {
		return 0, nil
	}
	lock := flock.New(filepath.Join(dir, lockFile))
	got, err := lock.TryLock()
	if err != nil {
		return 0, fmt.Errorf("locking the cache: %w", err)
	}
	defer lock.Close()
	if !got {
		return 0, ErrInUse
	}
	var errs []error
	for _, e := range entries {
		if err := e.remove(); err != nil {
			errs = append(errs, err)
			continue
		}
		freed += e.Bytes
	}
	return freed, errors.Join(errs...)
}

// remove removes the files of an entry, also after one that cannot be removed.
func (e Entry) remove() error {
	var errs []error
	for _, path := range e.Paths {
		errs = append(errs, os.RemoveAll(path))
	}
	return errors.Join(errs...)
}
