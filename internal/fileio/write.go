package fileio

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// WriteFile is WriteAtomic for content that is in memory.
func WriteFile(path string, data []byte, mode fs.FileMode) error {
	return WriteAtomic(path, mode, content(data))
}

// WriteAtomic replaces a file that the user named with the output of fill: the target of a link, and not the link. After a
// failure the old file is unchanged. A new file has the mode, less what the umask takes; one that is replaced keeps its own.
// Several programs may write the same path at once: the last one wins.
func WriteAtomic(path string, mode fs.FileMode, fill func(io.Writer) error) error {
	return writeNamed(path, mode, fill, func(*os.File) error { return nil })
}

// WriteSynced is WriteAtomic for files that must survive a power failure afterwards.
func WriteSynced(path string, mode fs.FileMode, fill func(io.Writer) error) error {
	return writeNamed(path, mode, fill, (*os.File).Sync)
}

// content is a fill of WriteAtomic for what is in memory.
func content(data []byte) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	}
}

func writeNamed(path string, mode fs.FileMode, fill func(io.Writer) error, sync func(*os.File) error) error {
	path, err := target(path)
	if err != nil {
		return err
	}
	root, err := openRoot(filepath.Dir(path))
	if err != nil {
		return nameTarget(err, path)
	}
	defer root.Close()
	return write(root, filepath.Base(path), mode, fill, sync)
}

// write writes a temporary file beside name and gives it the name.
func write(root *os.Root, name string, mode fs.FileMode, fill func(io.Writer) error, sync func(*os.File) error) error {
	path := filepath.Join(root.Name(), name)
	short := name
	if len(short) > 200 { // a name has up to 255 bytes
		short = strings.ToValidUTF8(short[:200], "")
	}
	temporary := temporaryFor(short)
	f, err := root.OpenFile(temporary, os.O_RDWR|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return nameTarget(err, path)
	}
	if old, errOld := root.Lstat(name); errOld == nil && old.Mode().IsRegular() {
		err = f.Chmod(old.Mode().Perm())
	}
	if err == nil {
		err = fill(f)
	}
	if err == nil {
		err = sync(f)
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		err = root.Rename(temporary, name)
	}
	if err != nil {
		_ = root.Remove(temporary)
		return nameTarget(err, path, temporary, f.Name())
	}
	return nil
}

// temporaryFor is a name that no other file has. The cache knows its form (machine/home).
func temporaryFor(name string) string {
	return "." + name + "." + strconv.FormatUint(rand.Uint64(), 10) + ".tmp"
}

// nameTarget makes an error about a temporary file one about path, which the user knows. It leaves errors about other files as
// they are. Without names it takes any file for the temporary one.
func nameTarget(err error, path string, temporary ...string) error {
	var one *fs.PathError
	if errors.As(err, &one) && (len(temporary) == 0 || slices.Contains(temporary, one.Path)) {
		return &fs.PathError{Op: "writing", Path: path, Err: one.Err}
	}
	var both *os.LinkError
	if errors.As(err, &both) && slices.Contains(temporary, both.Old) {
		return &fs.PathError{Op: "writing", Path: path, Err: both.Err}
	}
	return err
}

// target follows links to the file to be replaced, which need not exist yet. A device, a pipe or a folder is an error.
func target(path string) (string, error) {
	_, err := Stat(path)
	if err == nil {
		return filepath.EvalSymlinks(path)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	for { // a circle of links is another error than ErrNotExist
		to, err := os.Readlink(path)
		if err != nil {
			return path, nil // not a link
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(path), to)
		}
		path = to
	}
}

// WriteIn writes a file of this program's own naming, atomically as WriteAtomic does. Name is a path with slashes below the
// folder. The folder may be a link, since the user named it; below it no link is followed: a link of that name is replaced,
// and one on the way is an error. Folders on the way are made.
func WriteIn(folder, name string, fill func(io.Writer) error) error {
	root, base, err := openBelow(folder, name)
	if err != nil {
		return err
	}
	defer root.Close()
	return write(root, base, newFile, fill, func(*os.File) error { return nil })
}

// WriteFileIn is WriteIn for content that is in memory.
func WriteFileIn(folder, name string, data []byte) error { return WriteIn(folder, name, content(data)) }

// CopyIn is WriteIn for content that is read from elsewhere.
func CopyIn(folder, name string, from io.Reader) error {
	return WriteIn(folder, name, func(w io.Writer) error {
		_, err := io.Copy(w, from)
		return err
	})
}

// Writable makes a file in a folder and removes it again.
func Writable(folder string) error {
	root, err := openRoot(folder)
	if err != nil {
		return err
	}
	defer root.Close()
	name := temporaryFor("probe")
	f, err := root.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, newFile)
	if err != nil {
		return nameTarget(err, folder)
	}
	return errors.Join(f.Close(), root.Remove(name))
}

// CreateIn is WriteIn for a file that is written piece by piece under its own name, so that a process that is killed leaves
// what it has: the file takes the place of an older one, or of a link.
func CreateIn(folder, name string) (*os.File, error) {
	root, base, err := openBelow(folder, name)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	if err := removeFile(root, base); err != nil {
		return nil, err
	}
	f, err := root.OpenFile(base, os.O_RDWR|os.O_CREATE|os.O_EXCL, newFile)
	return f, nameTarget(err, filepath.Join(folder, name))
}

// OpenIn opens a file of this program's own naming for reading and writing, and makes it if need be. A link is an error.
func OpenIn(folder, name string) (*os.File, error) {
	root, base, err := openBelow(folder, name)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	at := filepath.Join(folder, name)
	if info, err := root.Lstat(base); err == nil && !info.Mode().IsRegular() { // a pipe would block
		return nil, &fs.PathError{Op: "open", Path: at, Err: ErrNotRegular}
	}
	f, err := root.OpenFile(base, os.O_RDWR|os.O_CREATE, newFile)
	return f, nameTarget(err, at)
}

// Link makes a symbolic link, or replaces one. It replaces nothing else.
func Link(to, path string) error {
	if info, err := os.Lstat(path); err == nil && info.Mode()&fs.ModeSymlink == 0 {
		return &os.LinkError{Op: "symlink", Old: to, New: path, Err: fs.ErrExist}
	}
	temporary := filepath.Join(filepath.Dir(path), temporaryFor(filepath.Base(path)))
	if err := os.Symlink(to, temporary); err != nil {
		return &os.LinkError{Op: "symlink", Old: to, New: path, Err: errors.Unwrap(err)}
	}
	if err := os.Rename(temporary, path); err != nil {
		_ = os.Remove(temporary)
		return &os.LinkError{Op: "symlink", Old: to, New: path, Err: errors.Unwrap(err)}
	}
	return nil
}

// RemoveIn removes files of this program's own naming from a folder, if they are there: of a link the link, and no folders.
func RemoveIn(folder string, names ...string) error {
	var errs []error
	for _, name := range names {
		dir, base := path.Split(name)
		switch root, err := openRoot(filepath.Join(folder, filepath.FromSlash(dir))); {
		case err == nil:
			errs = append(errs, removeFile(root, base), root.Close())
		case !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR):
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// RemoveFolderIn removes a folder of this program's own naming: the named files in it, and the folder itself unless it has
// others. A link is left alone.
func RemoveFolderIn(folder, name string, files ...string) error {
	at := filepath.Join(folder, filepath.FromSlash(name))
	switch info, err := os.Lstat(at); {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !info.IsDir():
		return &fs.PathError{Op: "remove", Path: at, Err: errNotOurs}
	}
	if err := RemoveIn(at, files...); err != nil {
		return err
	}
	if left, err := os.ReadDir(at); err != nil || len(left) > 0 {
		return err
	}
	return os.Remove(at)
}

// MoveIn gives a file or folder of this program's own making another name, both below a folder. A file or a link of the new name is
// replaced, a folder is not.
func MoveIn(folder, from, to string) error {
	root, err := openRoot(folder)
	if err != nil {
		return err
	}
	defer root.Close()
	return root.Rename(filepath.FromSlash(from), filepath.FromSlash(to))
}

// MkdirIn makes a folder of this program's own naming, with those on the way, unless it exists. A link is an error.
func MkdirIn(folder, name string) error {
	root, _, err := openBelow(folder, path.Join(name, "file"))
	if err != nil {
		return err
	}
	return root.Close()
}

// The modes of what is made, less what the umask takes.
const (
	newFile   fs.FileMode = 0o644
	newFolder fs.FileMode = 0o755
)

func removeFile(root *os.Root, name string) error {
	info, err := root.Lstat(name)
	if err == nil && info.IsDir() {
		return &fs.PathError{Op: "remove", Path: filepath.Join(root.Name(), name), Err: syscall.EISDIR}
	}
	if err == nil {
		err = root.Remove(name)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return nameTarget(err, filepath.Join(root.Name(), name))
}

// openRoot opens a folder. A pipe in its place would block.
func openRoot(folder string) (*os.Root, error) {
	info, err := os.Stat(folder)
	if err == nil && !info.IsDir() {
		err = &fs.PathError{Op: "open", Path: folder, Err: syscall.ENOTDIR}
	}
	if err != nil {
		return nil, err
	}
	return os.OpenRoot(folder)
}

// openBelow opens the folder of a file below another, and returns the file's name in it. It makes the folders on the way. One
// that is a link is an error, also if another process puts it there meanwhile.
func openBelow(folder, name string) (*os.Root, string, error) {
	if !filepath.IsLocal(filepath.FromSlash(name)) {
		return nil, "", fmt.Errorf("%s is not below %s", name, folder)
	}
	root, err := openRoot(folder)
	if err != nil {
		return nil, "", nameTarget(err, filepath.Join(folder, name))
	}
	dir, base := path.Split(name)
	for _, part := range strings.FieldsFunc(dir, func(r rune) bool { return r == '/' }) {
		below, err := openPart(root, part)
		err = errors.Join(err, root.Close())
		if err != nil {
			return nil, "", err
		}
		root = below
	}
	return root, base, nil
}

// openPart opens a folder in another, and makes it if need be.
func openPart(root *os.Root, name string) (*os.Root, error) {
	at := filepath.Join(root.Name(), name)
	if err := root.Mkdir(name, newFolder); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, nameTarget(err, at)
	}
	listed, err := root.Lstat(name)
	if err == nil && !listed.IsDir() {
		return nil, &fs.PathError{Op: "open", Path: at, Err: errNotOurs}
	}
	if err != nil {
		return nil, err
	}
	below, err := root.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	if opened, err := below.Stat("."); err != nil || !os.SameFile(listed, opened) {
		return nil, errors.Join(&fs.PathError{Op: "open", Path: at, Err: errNotOurs}, err, below.Close())
	}
	return below, nil
}

// errNotOurs is the error of a link or a file where this program makes a folder.
var errNotOurs = errors.New("it is not a folder but a link or a file, which is left alone: remove it, or choose another folder")

// WriteDir makes the folder path of the files that fill writes into a temporary folder. Path appears complete or not at
// all. If another program makes the same folder meanwhile, the first one stays.
func WriteDir(path string, fill func(folder string) error) (err error) {
	making, err := os.MkdirTemp(filepath.Dir(path), ".mlperf-making-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(making)) }()
	inner := filepath.Join(making, "folder") // the temporary folder is closed to other users
	if err := os.Mkdir(inner, newFolder); err != nil {
		return err
	}
	if err := fill(inner); err != nil {
		return err
	}
	err = os.Rename(inner, path)
	if _, there := os.Stat(path); err != nil && there == nil {
		return nil // another program was quicker
	}
	return err
}

// WriteOnce makes a file unless it is there by then: who has opened one that another program made meanwhile keeps it.
func WriteOnce(path string, write func(temporary string) error) (err error) {
	folder, err := os.MkdirTemp(filepath.Dir(path), ".mlperf-making-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	temporary := filepath.Join(folder, filepath.Base(path))
	if err := write(temporary); err != nil {
		return err
	}
	if err := os.Link(temporary, path); err == nil || errors.Is(err, fs.ErrExist) {
		return nil
	}
	return os.Rename(temporary, path) // the file system knows no links
}
