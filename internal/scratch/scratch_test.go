package scratch

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"
)

func there(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func TestAFolderIsThereUntilItIsRemoved(t *testing.T) {
	root := t.TempDir()
	folder, err := In(root, "profile")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder.Path, "file"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if match, _ := filepath.Match(filepath.Join(root, "mlperf-profile-*"), folder.Path); !match {
		t.Errorf("the folder is %s", folder.Path)
	}
	if err := folder.Remove(); err != nil || there(folder.Path) {
		t.Errorf("after Remove (%v) it is still there", err)
	}
}

func TestFoldersOfDeadProcessesAreRemoved(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there are no locks that end with a process")
	}
	root := t.TempDir()
	living, err := In(root, "living")
	if err != nil {
		t.Fatal(err)
	}
	dead, err := In(root, "dead")
	if err != nil {
		t.Fatal(err)
	}
	dead.lock.Close() // as at the end of a process
	other := filepath.Join(root, "mlperf-other")
	if err := os.Mkdir(other, 0o755); err != nil {
		t.Fatal(err)
	}
	sweep(root, time.Now())
	if !there(dead.Path) {
		t.Error("a folder was removed that is so young that it may not be locked yet")
	}
	sweep(root, time.Now().Add(time.Hour))
	if there(dead.Path) || !there(living.Path) || !there(other) {
		t.Errorf("after a sweep: dead %v, living %v, other %v; want only the dead one gone", there(dead.Path), there(living.Path), there(other))
	}
	if err := living.Remove(); err != nil {
		t.Error(err)
	}
}

func TestAFolderThatCannotBeMadeIsAnError(t *testing.T) {
	if _, err := In(filepath.Join(t.TempDir(), "none"), "x"); err == nil {
		t.Error("a folder was made in one that is not there")
	}
}
