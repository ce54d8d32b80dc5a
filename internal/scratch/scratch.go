package scratch

import (
	"errors"
	"os"
	"path/filepath"
	"time"
)

// prefix begins the names of all folders of this program.
const prefix = "mlperf-"

// lockFile is the file of a folder that its process has locked.
const lockFile = ".lock"

// A Temporary is a folder for a while.
type Temporary struct {
	Path string
	lock *os.File
}

// Folder makes a folder in the system's place for temporary files. What it is for is in its name.
// Folders of processes that are no more are removed.
func Folder(what string) (*Temporary, error) { return In(os.TempDir(), what) }

// In makes a folder in another one, whose file system it shares: what is made in it can be
// put into its place at once.
func In(root, what string) (*Temporary, error) {
	sweep(root, time.Now())
	path, err := os.MkdirTemp(root, prefix+what+"-")
	if err != nil {
		return nil, err
	}
	f, err := os.Create(filepath.Join(path, lockFile))
	if err == nil {
		_, err = lock(f)
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(path))
	}
	return &Temporary{Path: path, lock: f}, nil
}

// Remove removes the folder and all in it.
func (t *Temporary) Remove() error { return errors.Join(t.lock.Close(), os.RemoveAll(t.Path)) }

// youngest is the age from which on a folder can be one that nobody locks any more, rather than
// not yet.
const youngest = time.Minute

// sweep removes folders whose process has ended. What it may not remove is somebody else's.
func sweep(root string, now time.Time) {
	locks, _ := filepath.Glob(filepath.Join(root, prefix+"*", lockFile))
	for _, path := range locks {
		info, err := os.Stat(path)
		if err != nil || now.Sub(info.ModTime()) < youngest {
			continue
		}
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			continue
		}
		if free, err := lock(f); err == nil && free {
			os.RemoveAll(filepath.Dir(path))
		}
		f.Close()
	}
}
