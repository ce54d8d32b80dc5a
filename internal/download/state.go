package download

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/gofrs/flock"

	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/machine/workerpool"
)

// stateDir is our own folder inside an item's.
const stateDir = ".mlperf-download"

const (
	lockFile    = stateDir + "/lock"
	receiptFile = stateDir + "/receipt.json"
	sumsFile    = stateDir + "/SHA256SUMS"
)

// inState is the name in our own folder for something that belongs to a path of the item's.
func inState(name string) string { return path.Join(stateDir, strings.ReplaceAll(name, "/", "%2F")) }

// openFolder opens the folder of an item. A pipe in its place would block.
func openFolder(dir string) (*os.Root, error) {
	info, err := os.Stat(dir)
	if err == nil && !info.IsDir() {
		err = &fs.PathError{Op: "open", Path: dir, Err: syscall.ENOTDIR}
	}
	if err != nil {
		return nil, err
	}
	return os.OpenRoot(dir)
}

// lockFolder waits until no other process downloads into the folder.
func lockFolder(ctx context.Context, root *os.Root, o Observer) (*flock.Flock, error) {
	if err := root.MkdirAll(stateDir, 0o755); err != nil {
		return nil, err
	}
	lock := flock.New(filepath.Join(root.Name(), filepath.FromSlash(lockFile)), flock.SetPermissions(0o644))
	if ok, err := lock.TryLock(); ok || err != nil {
		return lock, err
	}
	o.Note("another mlperf is downloading into " + root.Name() + "; waiting for it")
	if _, err := lock.TryLockContext(ctx, 200*time.Millisecond); err != nil {
		return nil, errors.Join(cmp.Or(context.Cause(ctx), err), lock.Close())
	}
	return lock, nil
}

// writeFile replaces a file of the folder.
func writeFile(root *os.Root, name string, data []byte) error {
	return fileio.WriteFileIn(root.Name(), name, data)
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// A receipt says what a finished download brought.
type receipt struct {
	Format int    `json:"format"`
	Kind   Kind   `json:"kind"`
	Name   string `json:"name"`
	Item   string `json:"item"` // fingerprint of the item in the manifest
	Count  int    `json:"count,omitempty"`
	Seed   uint64 `json:"seed,omitempty"`
	Files  int    `json:"files"`
}

// newReceipt returns the receipt that a download will have, but for the number of files.
func newReceipt(it Item, o Options) receipt {
	held := it
	held.Title, held.Note, held.License, held.For, held.Steps = "", "", "", nil, nil // the contents do not depend on them
	data, err := json.Marshal(held)
	if err != nil {
		panic(err) // an Item is plain data
	}
	sum := sha256.Sum256(data)
	r := receipt{Format: 1, Kind: it.Kind, Name: it.Name, Item: hex.EncodeToString(sum[:8]), Count: o.Count}
	if o.Count > 0 {
		r.Seed = o.Seed
	}
	return r
}

func readReceipt(root *os.Root) (r receipt, ok bool) {
	data, err := root.ReadFile(receiptFile)
	return r, err == nil && json.Unmarshal(data, &r) == nil
}

// Installed reports whether a folder has a finished download of an item. It looks at the receipt only.
func Installed(dir string, it Item) bool {
	root, err := openFolder(dir)
	if err != nil {
		return false
	}
	defer root.Close()
	r, ok := readReceipt(root)
	return ok && r.Kind == it.Kind && r.Name == it.Name
}

// A sumList is SHA256SUMS: the checksums of all files as they were installed. It grows with every file, so that the next
// download knows which files are ours.
type sumList struct {
	root *os.Root
	mu   sync.Mutex
	sums map[string]string // path → SHA-256
	file *os.File          // for further lines; nil: closed
}

// readSums reads the lines of SHA256SUMS, as sha256sum writes them. A line that was cut off is left out.
func readSums(root *os.Root) (*sumList, error) {
	data, err := root.ReadFile(sumsFile)
	if err != nil {
		return nil, err
	}
	l := &sumList{root: root, sums: map[string]string{}}
	for line := range strings.Lines(string(data)) {
		sum, name, ok := strings.Cut(line, "  ")
		if name, whole := strings.CutSuffix(name, "\n"); ok && whole && len(sum) == 64 && checkPath(name) == nil {
			l.sums[name] = sum
		}
	}
	return l, nil
}

// openSums reads the list and opens it for further lines.
func openSums(root *os.Root) (*sumList, error) {
	l, err := readSums(root)
	if ignoreMissing(err) != nil {
		return nil, err
	}
	if l == nil {
		l = &sumList{root: root, sums: map[string]string{}}
	}
	if err := l.write(); err != nil { // without the line that was cut off
		return nil, err
	}
	l.file, err = root.OpenFile(sumsFile, os.O_WRONLY|os.O_APPEND, 0o644)
	return l, err
}

// write replaces the file by the list in the order of names.
func (l *sumList) write() error {
	var b bytes.Buffer
	for _, name := range l.names() {
		fmt.Fprintf(&b, "%s  %s\n", l.sums[name], name)
	}
	return writeFile(l.root, sumsFile, b.Bytes())
}

// close ends the adding of lines.
func (l *sumList) close() error {
	file := l.file
	if l.file = nil; file == nil {
		return nil
	}
	return file.Close()
}

// add notes that a file was installed.
func (l *sumList) add(name, sum string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sums[name] = sum
	_, err := fmt.Fprintf(l.file, "%s  %s\n", sum, name)
	return err
}

// get returns the checksum with which a file was installed; "" if it was not.
func (l *sumList) get(name string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sums[name]
}

func (l *sumList) names() []string { return slices.Sorted(maps.Keys(l.sums)) }

// verify compares the files with the list. It returns the size of the right ones, and the problems of the others.
func (l *sumList) verify(ctx context.Context, o Observer) (size int64, problems []string, err error) {
	names := l.names()
	tick := workerpool.Counter(len(names), o.Items)
	err = workerpool.Each(ctx, 0, len(names), func(ctx context.Context, i int) error {
		got, err := sumFile(ctx, l.root, names[i], nil)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		tick(1)
		l.mu.Lock()
		defer l.mu.Unlock()
		switch {
		case errors.Is(err, fs.ErrNotExist):
			problems = append(problems, names[i]+" is missing")
		case err != nil:
			problems = append(problems, err.Error())
		case got.SHA256 != l.sums[names[i]]:
			problems = append(problems, names[i]+" is not as it was installed: its SHA-256 has changed")
		default:
			size += got.Size
		}
		return nil
	})
	slices.Sort(problems)
	return size, problems, err
}
