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

// An Entry is something that can be made again.
type Entry struct {
	Kind  string    `json:"kind"`
	Name  string    `json:"name"`
	Paths []string  `json:"paths"`
	Bytes int64     `json:"bytes"` // on disk: files with holes take less than their length
	Used  time.Time `json:"used"`  // last, as far as the file system tells
}

// The kinds of entries are the folders that they lie in.
const leftover = "leftovers"

// forms are what names of entries look like, by kind. Each has a key of hexadecimal digits.
var forms = map[string]*regexp.Regexp{
	"models":    regexp.MustCompile(`^[a-z0-9][a-z0-9.-]*-[0-9a-f]{16,20}`),
	"datasets":  regexp.MustCompile(`^[a-z0-9][a-z0-9.-]*-[0-9a-f]{16,20}`),
	"samples":   regexp.MustCompile(`^[0-9a-f]{20}$`),
	"converted": regexp.MustCompile(`-[0-9a-f]{16}$`),
	"engines":   regexp.MustCompile(`^[0-9a-f]{16}$`),
}

// leftovers are folders of jobs that were killed, and files that were to become an entry or a part of one.
var leftovers = regexp.MustCompile(`^\.mlperf-[a-z]+-[0-9]+$|^\..*[0-9a-f]{16}.*\.[0-9]+\.tmp$`)

// Kinds lists the kinds of entries.
func Kinds() []string {
	return []string{"models", "datasets", "samples", "converted", "engines", leftover}
}

// grouped are the kinds of which several files with one name and different endings are an entry.
var grouped = []string{"samples", "converted"}

// List returns the entries of a cache, the longest unused first. There need not be a folder.
func List(dir string) ([]Entry, error) {
	var list []Entry
	for kind, form := range forms {
		found, err := entriesOf(filepath.Join(dir, kind), kind, form)
		if err != nil {
			return nil, err
		}
		list = append(list, found...)
	}
	left, err := leftoversIn(dir)
	if err != nil {
		return nil, err
	}
	list = append(list, left...)
	slices.SortFunc(list, func(a, b Entry) int {
		return cmp.Or(a.Used.Compare(b.Used), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	return list, nil
}

func leftoversIn(dir string) (list []Entry, err error) {
	for _, where := range append(Kinds(), ".") {
		found, err := entriesOf(filepath.Join(dir, where), leftover, leftovers)
		if err != nil {
			return nil, err
		}
		list = append(list, found...)
	}
	return list, nil
}

// entriesOf lists what lies in a folder and is named as entries are.
func entriesOf(dir, kind string, form *regexp.Regexp) ([]Entry, error) {
	files, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("looking at the cache: %w", err)
	}
	byName := map[string]*Entry{}
	var order []string
	for _, f := range files {
		name := entryOf(f.Name(), kind)
		if !form.MatchString(name) {
			continue
		}
		e := byName[name]
		if e == nil {
			e = &Entry{Kind: kind, Name: name}
			byName[name], order = e, append(order, name)
		}
		e.add(filepath.Join(dir, f.Name()))
	}
	var list []Entry
	for _, name := range order {
		list = append(list, *byName[name])
	}
	return list, nil
}

// entryOf is the name of the entry that a file belongs to.
func entryOf(file, kind string) string {
	if slices.Contains(grouped, kind) {
		return strings.TrimSuffix(file, filepath.Ext(file))
	}
	return file
}

// add adds a file or a folder to an entry. What cannot be looked at counts as nothing.
func (e *Entry) add(path string) {
	e.Paths = append(e.Paths, path)
	_ = filepath.WalkDir(path, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		if info, err := d.Info(); err == nil {
			bytes, used := usage(info)
			e.Bytes += bytes
			if !d.IsDir() && used.After(e.Used) {
				e.Used = used
			}
		}
		return nil
	})
}

// Total adds up how large entries are.
func Total(entries []Entry) int64 {
	var n int64
	for _, e := range entries {
		n += e.Bytes
	}
	return n
}

// lockFile is what those who use a cache hold.
const lockFile = ".in-use"

// ErrInUse is the error of a removal while somebody uses the cache.
var ErrInUse = errors.New("the cache is in use by another process")

// patience is how long Hold waits for a removal that is under way, and glimpse how often it looks.
const (
	patience = 30 * time.Second
	glimpse  = 10 * time.Millisecond
)

// Hold keeps the cache from being cleared until it is released. It waits for a removal that is under way. The first process
// to hold the cache removes the leftovers of killed ones. A cache that cannot be locked, as on a read-only disk, cannot be
// cleared either.
func Hold(dir string) (release func()) {
	if os.MkdirAll(dir, 0o755) != nil {
		return func() {}
	}
	lock := flock.New(filepath.Join(dir, lockFile))
	if alone, _ := lock.TryLock(); alone {
		left, _ := leftoversIn(dir)
		for _, e := range left {
			_ = e.remove() // otherwise 'mlperf cache clear' says why
		}
		_ = lock.Unlock()
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	_, _ = lock.TryRLockContext(ctx, glimpse)
	return func() { _ = lock.Close() }
}

// Remove removes entries and returns how many bytes that freed. If a process uses the cache,
// it removes nothing: ErrInUse.
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

// remove removes all of an entry, as far as that is possible.
func (e Entry) remove() error {
	var errs []error
	for _, path := range e.Paths {
		errs = append(errs, os.RemoveAll(path))
	}
	return errors.Join(errs...)
}
