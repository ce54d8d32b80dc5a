package scratch

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// prefix begins the names of all folders of this program. Those beside what they become begin with a dot.
const prefix = "mlperf-"

// lockFile is the file of a folder that its process has locked. No other part of the program has
// files of this name, whose folders are then not taken for ours.
const lockFile = ".scratch"

// A Temporary is a folder for a while.
type Temporary struct {
	Path string
	lock *os.File
}

// Folder makes a folder in the system's place for temporary files. What it is for is in its name.
// Folders of processes that are no more are removed.
func Folder(what string) (*Temporary, error) { return in(os.TempDir(), prefix+what+"-") }

// In makes a folder in another one, whose file system it shares: what is made in it can be
// put into its place at once. Its name begins with a dot.
func In(root, what string) (*Temporary, error) { return in(root, "."+prefix+what+"-") }

func in(root, pattern string) (*Temporary, error) {
	sweepFolders(root, time.Now())
	path, err := os.MkdirTemp(root, pattern)
	if err != nil {
		return nil, err
	}
	f, err := os.Create(filepath.Join(path, lockFile))
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(path))
	}
	_, _ = lock(f) // where there are no locks, nobody sweeps either
	return &Temporary{Path: path, lock: f}, nil
}

// Remove removes the folder and all in it.
func (t *Temporary) Remove() error { return errors.Join(t.lock.Close(), os.RemoveAll(t.Path)) }

// File makes a file in a folder, with the * of a pattern replaced as os.CreateTemp does. It is for
// its owner only. Files of the same pattern whose process is no more are removed, if nobody has
// written to them for an hour: one that is closed is about to be renamed.
func File(folder, pattern string) (*os.File, error) {
	sweepFiles(folder, pattern, time.Now())
	f, err := os.CreateTemp(folder, pattern)
	if err == nil {
		_, _ = lock(f)
	}
	return f, err
}

// The ages from which on a folder can be one that nobody locks any more, rather than not yet, and a
// file one that nobody will put into its place.
const (
	youngest     = time.Minute
	youngestFile = time.Hour
)

// sweepFolders removes folders whose process has ended. What it may not remove is somebody else's.
func sweepFolders(root string, now time.Time) {
	for _, name := range namesIn(root) {
		if !ours.MatchString(name) {
			continue
		}
		if path := filepath.Join(root, name); ended(filepath.Join(path, lockFile), now.Add(-youngest)) {
			os.RemoveAll(path)
		} else if emptySince(path, now.Add(-youngestFile)) { // its process ended before it had the file
			os.Remove(path)
		}
	}
}

// ours are the names of folders. A folder that a user gave such a name has no lock file in it, and
// is not empty.
var ours = regexp.MustCompile(`^\.?` + prefix + `.*-[0-9]+$`)

// emptySince reports whether a folder has been empty from some instant on.
func emptySince(path string, instant time.Time) bool {
	info, err := os.Lstat(path)
	return err == nil && info.IsDir() && info.ModTime().Before(instant) && len(namesIn(path)) == 0
}

// sweepFiles removes files whose process has ended.
func sweepFiles(folder, pattern string, now time.Time) {
	begin, end, _ := strings.Cut(pattern, "*")
	for _, name := range namesIn(folder) {
		if isMade(name, begin, end) && ended(filepath.Join(folder, name), now.Add(-youngestFile)) {
			os.Remove(filepath.Join(folder, name))
		}
	}
}

// isMade reports whether a name has a number where its pattern has a *.
func isMade(name, begin, end string) bool {
	rest, begins := strings.CutPrefix(name, begin)
	number, ends := strings.CutSuffix(rest, end)
	return begins && ends && number != "" && strings.Trim(number, "0123456789") == ""
}

// namesIn are the names in a folder, none where it cannot be read.
func namesIn(folder string) []string {
	entries, _ := os.ReadDir(folder) // which does not wait for a pipe
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return names
}

// ended reports whether a file that was last written to before some instant is locked by nobody.
func ended(path string, before time.Time) bool {
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() || !info.ModTime().Before(before) {
		return false
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	free, err := lock(f)
	return err == nil && free
}
