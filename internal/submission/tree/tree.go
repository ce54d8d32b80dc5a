package tree

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/mlperf-go/mlperf/internal/fileio"
)

// A Tree is a folder that somebody submits.
type Tree struct{ Root string }

// At returns the path of a file for the operating system.
func (t Tree) At(path string) string { return filepath.Join(t.Root, filepath.FromSlash(path)) }

// Exists reports whether there is something at a path, at the end of links.
func (t Tree) Exists(path string) bool {
	_, err := os.Stat(t.At(path))
	return err == nil
}

// Size returns the size of what is at a path.
func (t Tree) Size(path string) (int64, error) {
	info, err := os.Stat(t.At(path))
	if err != nil {
		return 0, Cause(err)
	}
	return info.Size(), nil
}

// Folders lists the folders in a folder by name, links to folders too.
func (t Tree) Folders(path string) ([]string, error) {
	return t.list(path, fs.FileMode.IsDir)
}

// Files lists the files in a folder by name, links to files too. What is neither file
// nor folder is not listed.
func (t Tree) Files(path string) ([]string, error) {
	return t.list(path, fs.FileMode.IsRegular)
}

func (t Tree) list(path string, want func(fs.FileMode) bool) ([]string, error) {
	entries, err := os.ReadDir(t.At(path))
	if err != nil {
		return nil, Cause(err)
	}
	names := []string{}
	for _, e := range entries {
		mode := e.Type()
		if mode&fs.ModeSymlink != 0 {
			info, err := os.Stat(t.At(path + "/" + e.Name()))
			if err != nil {
				continue // a broken link is nothing, as for os.path.isdir
			}
			mode = info.Mode()
		}
		if want(mode) {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// Open opens a file.
func (t Tree) Open(path string) (*os.File, error) {
	f, err := fileio.Open(t.At(path))
	return f, Cause(err)
}

// Read returns a file that has no more bytes than that.
func (t Tree) Read(path string, most int64) ([]byte, error) {
	data, err := fileio.ReadFile(t.At(path), most)
	return data, Cause(err)
}

// Leaves reports whether a path, at the end of links, is outside of the tree.
func (t Tree) Leaves(path string) (bool, error) {
	root, err := resolve(t.Root)
	if err != nil {
		return false, err
	}
	target, err := resolve(t.At(path))
	if err != nil {
		return false, err
	}
	rel, err := filepath.Rel(root, target)
	if err != nil {
		return false, fmt.Errorf("compare %s with the tree: %w", path, err)
	}
	return rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)), nil
}

// resolve follows all links of a path and makes it absolute.
func resolve(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	path, err = filepath.EvalSymlinks(path)
	return path, Cause(err)
}

// Cause takes the path off an error, which callers know better.
func Cause(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}
