package download

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/gofrs/flock"
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
	Files   int                `json:"files,omitempty"` // how many there were in the end; 0: not said by earlier versions
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
	if err != nil {
		return receipt{}, false
	}
	return parseReceipt(data)
}

func parseReceipt(data []byte) (r receipt, ok bool) {
	ok = json.Unmarshal(data, &r) == nil
	return r, ok
}

func (r receipt) write(root *os.Root) error {
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return writeFile(root, receiptFile, append(data, '\n'))
}

// openRoot opens a folder. A pipe in its place would have to be waited for.
func openRoot(dir string) (*os.Root, error) {
	info, err := os.Stat(dir)
	if err == nil && !info.IsDir() {
		err = &os.PathError{Op: "open", Path: dir, Err: syscall.ENOTDIR}
	}
	if err != nil {
		return nil, err
	}
	return os.OpenRoot(dir)
}

// openState opens an item's folder, makes our own in it, and locks it. The caller closes
// both.
func openState(ctx context.Context, o Options) (root *os.Root, lock *flock.Flock, err error) {
	if err := os.MkdirAll(o.Dir, 0o755); err != nil {
		return nil, nil, err
	}
	if root, err = openRoot(o.Dir); err != nil {
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
		if strings.HasPrefix(e.Name(), ".") && strings.HasSuffix(e.Name(), ".tmp") { // as package fileio calls them
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

// flat is a path as the name of one file.
func flat(name string) string { return path.Join(stateDir, strings.ReplaceAll(name, "/", "%2F")) }

// Installed reports whether a folder holds a finished download of an item. It looks at the
// receipt only.
func Installed(dir string, it Item) bool {
	root, err := openRoot(dir)
	if err != nil {
		return false
	}
	defer root.Close()
	r, ok := readReceipt(root)
	return ok && r.Kind == it.Kind && r.Name == it.Name
}
