package download

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
	"unicode"
)

// checkPath wants a clean relative path with slashes that stays below its folder on
// every operating system, and out of our own folder in it.
func checkPath(name string) error {
	switch {
	case name == "" || name == "." || path.Clean(name) != name:
		return fmt.Errorf("path %q: want a clean path below the folder", name)
	case strings.ContainsAny(name, "\\:"):
		return fmt.Errorf("path %q: want no backslash or colon", name)
	case strings.ContainsFunc(name, unicode.IsControl): // a line feed would begin another line of SHA256SUMS
		return fmt.Errorf("path %q: want no control characters", name)
	case !filepath.IsLocal(filepath.FromSlash(name)):
		return fmt.Errorf("path %q leaves the folder", name)
	case strings.EqualFold(firstElement(name), stateDir):
		return fmt.Errorf("path %q is ours", name)
	}
	return nil
}

func firstElement(name string) string {
	first, _, _ := strings.Cut(name, "/")
	return first
}

// entryPath returns where an entry of an archive goes, below the item's folder; "" if it
// is not wanted. An entry whose name leaves the folder is an error even if it is not
// wanted: the archive is not what it should be.
func (u *Unpack) entryPath(name string) (string, error) {
	clean := path.Clean(strings.TrimPrefix(name, "./"))
	if clean == "." {
		return "", nil
	}
	if err := checkPath(clean); err != nil {
		return "", fmt.Errorf("entry %q: %w", name, err)
	}
	if len(u.Only) > 0 && !matchAny(u.Only, clean) {
		return "", nil
	}
	to := u.stripped(clean)
	if to == "" {
		return "", nil
	}
	to = path.Join(u.Into, to)
	if err := checkPath(to); err != nil {
		return "", fmt.Errorf("entry %q: %w", name, err)
	}
	return to, nil
}

// stripped is the new name of an entry, or its own without the first elements; "" if it has no
// more than these.
func (u *Unpack) stripped(name string) string {
	if to, renamed := u.Rename[name]; renamed {
		return to
	}
	elems := strings.Split(name, "/")
	return strings.Join(elems[min(u.Strip, len(elems)):], "/")
}

func matchAny(patterns []string, name string) bool {
	for _, p := range patterns {
		if ok, _ := path.Match(p, name); ok {
			return true
		}
	}
	return false
}

var errNotAFile = errors.New("it is not a file")

// openFile opens a regular file below a folder. Anything else, such as a pipe, is not
// opened: that could wait for ever.
func openFile(root *os.Root, name string) (*os.File, error) {
	info, err := root.Stat(name)
	if err == nil && !info.Mode().IsRegular() {
		err = errNotAFile
	}
	if err != nil {
		var of *os.PathError
		if errors.As(err, &of) {
			err = of.Err // whose operation is called statat
		}
		return nil, &os.PathError{Op: "open", Path: name, Err: err}
	}
	return root.Open(name)
}

// maxRead bounds what is read into memory at once: images, lists and annotations.
const maxRead = 1 << 30

// readFile reads all of a regular file below a folder.
func readFile(root *os.Root, name string) ([]byte, error) {
	f, err := openFile(root, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() > maxRead {
		return nil, &os.PathError{Op: "read", Path: name, Err: fmt.Errorf("it has %s, want at most %s", human(info.Size()), human(maxRead))}
	}
	return io.ReadAll(io.LimitReader(f, maxRead))
}
