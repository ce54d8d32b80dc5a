package tree

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func filled(t *testing.T) Tree {
	t.Helper()
	root := t.TempDir()
	if err := errors.Join(
		os.MkdirAll(filepath.Join(root, "b/inner"), 0o755),
		os.Mkdir(filepath.Join(root, "a"), 0o755),
		os.WriteFile(filepath.Join(root, "b/z"), []byte("zz"), 0o644),
		os.WriteFile(filepath.Join(root, "b/y"), nil, 0o644),
		os.Symlink("z", filepath.Join(root, "b/link")),
		os.Symlink("link2", filepath.Join(root, "b/link2")),
	); err != nil {
		t.Fatal(err)
	}
	return Tree{Root: root}
}

func TestFoldersAndFilesAreListedByName(t *testing.T) {
	tr := filled(t)
	folders, err := tr.Folders(".")
	if diff := cmp.Diff([]string{"a", "b"}, folders); err != nil || diff != "" {
		t.Errorf("folders: %v\n%s", err, diff)
	}
	files, err := tr.Files("b")
	if diff := cmp.Diff([]string{"link", "y", "z"}, files); err != nil || diff != "" {
		t.Errorf("files: %v\n%s", err, diff)
	}
	if empty, err := tr.Files("a"); err != nil || empty == nil || len(empty) != 0 {
		t.Errorf("files of an empty folder: %v, %v, want a list of none", empty, err)
	}
}

func TestSizesAndContentsAreThoseAtTheEndOfLinks(t *testing.T) {
	tr := filled(t)
	for path, want := range map[string]string{"b/z": "zz", "b/link": "zz", "b/y": ""} {
		size, err := tr.Size(path)
		data, errRead := tr.Read(path, size)
		if errors.Join(err, errRead) != nil || size != int64(len(want)) || string(data) != want || !tr.Exists(path) {
			t.Errorf("%s has %d bytes, %q, %v, want %q", path, size, data, errors.Join(err, errRead), want)
		}
	}
}

func TestErrorsLeaveThePathToWhoAsked(t *testing.T) {
	tr := filled(t)
	for name, ask := range map[string]func(path string) error{
		"Size":    func(path string) error { _, err := tr.Size(path); return err },
		"Read":    func(path string) error { _, err := tr.Read(path, 1); return err },
		"Open":    func(path string) error { _, err := tr.Open(path); return err },
		"Files":   func(path string) error { _, err := tr.Files(path); return err },
		"Folders": func(path string) error { _, err := tr.Folders(path); return err },
		"Leaves":  func(path string) error { _, err := tr.Leaves(path); return err },
	} {
		err := ask("b/none")
		if !errors.Is(err, fs.ErrNotExist) || err.Error() != "no such file or directory" {
			t.Errorf("%s of what is not there: %v, want the cause alone", name, err)
		}
		if err := ask("b/link2"); err == nil {
			t.Errorf("%s of a link to itself is no error", name)
		}
	}
	if tr.Exists("b/none") || tr.Exists("b/link2") {
		t.Error("what is not there exists")
	}
}

func TestAFileThatIsTooLargeIsNotRead(t *testing.T) {
	tr := filled(t)
	if data, err := tr.Read("b/z", 1); err == nil {
		t.Errorf("%d bytes are read, want an error above 1", len(data))
	}
}

func TestAFolderThatOnlyStartsAsTheTreeIsOutside(t *testing.T) {
	root := t.TempDir()
	tr := Tree{Root: filepath.Join(root, "tree")}
	if err := errors.Join(os.Mkdir(tr.Root, 0o755), os.Mkdir(filepath.Join(root, "tree2"), 0o755), os.Mkdir(filepath.Join(tr.Root, "..x"), 0o755),
		os.Symlink("../tree2", tr.At("beside")), os.Symlink("..", tr.At("above")), os.Symlink("..x", tr.At("dots")), os.Symlink(".", tr.At("self"))); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{"beside": true, "above": true, "dots": false, "self": false, "..x": false} {
		if leaves, err := tr.Leaves(path); err != nil || leaves != want {
			t.Errorf("Leaves(%s) = %v, %v, want %v", path, leaves, err, want)
		}
	}
}
