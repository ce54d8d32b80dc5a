package tree

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/fileio"
)

func TestLinksAreFollowedAndThoseThatLeaveAreKnown(t *testing.T) {
	root := t.TempDir()
	outside := t.TempDir()
	if err := errors.Join(
		os.Mkdir(filepath.Join(root, "folder"), 0o755),
		os.WriteFile(filepath.Join(root, "file"), []byte("x"), 0o644),
		os.Symlink("folder", filepath.Join(root, "link")),
		os.Symlink("nowhere", filepath.Join(root, "broken")),
		os.Symlink(outside, filepath.Join(root, "away")),
	); err != nil {
		t.Fatal(err)
	}
	tr := Tree{Root: root}
	folders, err := tr.Folders(".")
	if diff := cmp.Diff([]string{"away", "folder", "link"}, folders); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	if files, err := tr.Files("."); err != nil || !cmp.Equal(files, []string{"file"}) {
		t.Errorf("files: %v, %v", files, err)
	}
	for path, want := range map[string]bool{"away": true, "link": false, "file": false} {
		if leaves, err := tr.Leaves(path); err != nil || leaves != want {
			t.Errorf("Leaves(%s) = %v, %v, want %v", path, leaves, err, want)
		}
	}
	if _, err := tr.Leaves("broken"); err == nil || tr.Exists("broken") {
		t.Error("a broken link leads somewhere")
	}
	if _, err := tr.Open("folder"); !errors.Is(err, fileio.ErrNotRegular) {
		t.Errorf("opening a folder: %v", err)
	}
}
