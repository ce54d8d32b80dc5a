package download

import (
	"bufio"
	"bytes"
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
	"time"

	"github.com/gofrs/flock"

	"github.com/mlperf-go/mlperf/internal/parallel"
)

// stateDir is our own folder inside an item's.
const stateDir = ".mlperf-download"

const (
	lockFile    = stateDir + "/lock"
	receiptFile = stateDir + "/receipt.json"
	sumsFile    = stateDir + "/SHA256SUMS"
)

// A receipt says what a finished download brought.
type receipt struct {
	Format  int                `json:"format"`
	Kind    Kind               `json:"kind"`
	Name    string             `json:"name"`
	Item    string             `json:"item"` // fingerprint of the item in the manifest
	Count   int                `json:"count,omitempty"`
	Seed    uint64             `json:"seed,omitempty"`
	Sources map[string]fetched `json:"sources,omitempty"`
}

const receiptFormat = 1

// newReceipt returns the receipt that a download will have, but for its sources.
func newReceipt(it Item, o Options) receipt {
	r := receipt{Format: receiptFormat, Kind: it.Kind, Name: it.Name, Item: it.fingerprint(), Count: o.Count}
	if o.Count > 0 {
		r.Seed = o.Seed
	}
	return r
}

// fingerprint names what the manifest says about what an item holds.
func (it Item) fingerprint() string {
	it.Title, it.Note, it.License, it.For, it.Steps = "", "", "", nil, nil
	data, err := json.Marshal(it)
	if err != nil {
		panic(err) // an Item is plain data
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:8])
}

func (r receipt) same(o receipt) bool {
	return r.Format == o.Format && r.Kind == o.Kind && r.Name == o.Name && r.Item == o.Item && r.Count == o.Count && r.Seed == o.Seed
}

func readReceipt(root *os.Root) (receipt, bool) {
	data, err := readFile(root, receiptFile)
	r := receipt{}
	return r, err == nil && json.Unmarshal(data, &r) == nil
}

func (r receipt) write(root *os.Root) error {
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return writeFile(root, receiptFile, append(data, '\n'))
}

// openState opens an item's folder, makes our own in it, and locks it. The caller closes
// both.
func openState(ctx context.Context, o Options) (root *os.Root, lock *flock.Flock, err error) {
	if err := os.MkdirAll(o.Dir, 0o755); err != nil {
		return nil, nil, err
	}
	if root, err = os.OpenRoot(o.Dir); err != nil {
		return nil, nil, err
	}
	if err := makeState(root); err != nil {
		return nil, nil, errors.Join(err, root.Close())
	}
	if lock, err = takeLock(ctx, root, o.Observer); err != nil {
		return nil, nil, errors.Join(err, root.Close())
	}
	if err := tidy(root); err != nil {
		return nil, nil, errors.Join(err, lock.Close(), root.Close())
	}
	return root, lock, nil
}

// makeState makes our own folder. A link in its place could lead anywhere.
func makeState(root *os.Root) error {
	info, err := root.Lstat(stateDir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return root.MkdirAll(stateDir, 0o755)
	case err == nil && !info.IsDir():
		return &InTheWayError{filepath.Join(root.Name(), stateDir), "it is not a folder"}
	}
	return err
}

// tidy removes what runs that were killed left half written.
func tidy(root *os.Root) error {
	entries, err := fs.ReadDir(root.FS(), stateDir)
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".tmp-") { // as package atomicwriter calls them
			err = errors.Join(err, ignoreMissing(root.Remove(path.Join(stateDir, e.Name()))))
		}
	}
	return err
}

// takeLock waits until no other process has the folder.
func takeLock(ctx context.Context, root *os.Root, obs Observer) (*flock.Flock, error) {
	lock := flock.New(filepath.Join(root.Name(), filepath.FromSlash(lockFile)), flock.SetPermissions(0o644))
	if ok, err := lock.TryLock(); ok || err != nil {
		return lock, err
	}
	obs.Note("another mlperf is downloading into " + root.Name() + "; waiting for it")
	if _, err := lock.TryLockContext(ctx, 200*time.Millisecond); err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return nil, errors.Join(err, lock.Close())
	}
	return lock, nil
}

// A sumList is SHA256SUMS: what was installed, and how it was then. It grows while
// files are installed, so that the next run knows them.
type sumList struct {
	root *os.Root
	mu   sync.Mutex
	sums map[string]string // path → SHA-256
	file *os.File
}

// openSums reads the list and opens it for further lines. A line that was cut off is
// dropped.
func openSums(root *os.Root) (*sumList, error) {
	l := &sumList{root: root, sums: map[string]string{}}
	data, err := readFile(root, sumsFile)
	if ignoreMissing(err) != nil {
		return nil, err
	}
	l.sums = parseSums(data)
	return l, l.rewrite()
}

// parseSums reads lines of sha256sum. What is not one is left out.
func parseSums(data []byte) map[string]string {
	sums := map[string]string{}
	lines := bufio.NewScanner(bytes.NewReader(data))
	for lines.Scan() {
		sum, name, ok := strings.Cut(lines.Text(), "  ")
		if ok && len(sum) == 64 && checkHex("", sum, 32) == nil && checkPath(name) == nil {
			sums[name] = sum
		}
	}
	return sums
}

// rewrite replaces the file by a sorted one and opens it for appending.
func (l *sumList) rewrite() error {
	var b bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(l.sums)) {
		fmt.Fprintf(&b, "%s  %s\n", l.sums[name], name)
	}
	if err := l.close(); err != nil {
		return err
	}
	if err := writeFile(l.root, sumsFile, b.Bytes()); err != nil {
		return err
	}
	var err error
	l.file, err = l.root.OpenFile(sumsFile, os.O_WRONLY|os.O_APPEND, 0o644)
	return err
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

func (l *sumList) close() error {
	if l.file == nil {
		return nil
	}
	f := l.file
	l.file = nil
	return f.Close()
}

// verify checks all files of the list. problem is told of each that is wrong. It
// returns how many there are, and their size.
func (l *sumList) verify(ctx context.Context, obs Observer, problem func(text string)) (files int, size int64, err error) {
	names := l.names()
	var mu sync.Mutex
	done := 0
	err = parallel.Each(ctx, 0, len(names), func(ctx context.Context, i int) error {
		got, err := sumFile(ctx, l.root, names[i], nil)
		if cause := context.Cause(ctx); cause != nil {
			return cause
		}
		mu.Lock()
		defer mu.Unlock()
		done++
		obs.Items(done, len(names))
		switch {
		case errors.Is(err, os.ErrNotExist):
			problem(names[i] + " is missing")
		case err != nil:
			problem(err.Error())
		case got.SHA256 != l.sums[names[i]]:
			problem(names[i] + " is not as it was installed: its SHA-256 has changed")
		default:
			size += got.Size
		}
		return nil
	})
	return len(names), size, err
}

// flat is a path as the name of one file.
func flat(name string) string { return path.Join(stateDir, strings.ReplaceAll(name, "/", "%2F")) }

// Installed says whether a folder holds a finished download of an item. It looks at the
// receipt only.
func Installed(dir string, it Item) bool {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return false
	}
	defer root.Close()
	r, ok := readReceipt(root)
	return ok && r.Kind == it.Kind && r.Name == it.Name
}
