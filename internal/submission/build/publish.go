package build

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// fill writes a file that is not there yet, in a folder that need not be.
func fill(to string, from io.Reader) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, from)
	return errors.Join(err, f.Close())
}

// start makes the tree's folder, with what is in the tree that is added to.
func (b *builder) start(ctx context.Context) error {
	if err := os.MkdirAll(b.root, 0o755); err != nil || !b.Add {
		return err
	}
	return copyTree(ctx, b.Tree, b.root)
}

// copyTree copies files and links. What is neither has no business in a tree.
func copyTree(ctx context.Context, from, to string) error {
	return filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, rel)
		switch mode := entry.Type(); {
		case mode.IsDir():
			return os.MkdirAll(target, 0o755)
		case mode&fs.ModeSymlink != 0:
			link, err := os.Readlink(path)
			return errors.Join(err, os.Symlink(link, target))
		case !mode.IsRegular():
			return fmt.Errorf("%s is neither a file nor a folder nor a link", path)
		}
		return copyFile(ctx, path, target)
	})
}

// publish puts a tree that was made into its place, at once. An old tree that is replaced is
// there until the new one is.
func publish(made, tree string) error {
	if _, err := os.Lstat(tree); errors.Is(err, fs.ErrNotExist) {
		return os.Rename(made, tree)
	}
	if err := exchange(made, tree); err == nil {
		return nil // the old tree goes with the folder that the new one was made in
	}
	old := fmt.Sprintf("%s.old-%s", filepath.Clean(tree), time.Now().Format("20060102-150405"))
	if err := os.Rename(tree, old); err != nil {
		return err
	}
	if err := os.Rename(made, tree); err != nil {
		return errors.Join(err, os.Rename(old, tree))
	}
	return os.RemoveAll(old)
}
