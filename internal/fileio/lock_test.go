package fileio

import (
	"os"
	"testing"
)

func TestFolderLock(t *testing.T) {
	dir := t.TempDir()
	first, second := FolderLock(dir, os.O_CREATE|os.O_RDWR), FolderLock(dir, os.O_CREATE|os.O_RDWR)
	if got, err := first.TryLock(); !got || err != nil {
		t.Fatalf("TryLock() = %v, %v, want the lock", got, err)
	}
	if got, err := second.TryLock(); got || err != nil {
		t.Errorf("TryLock() of a locked folder = %v, %v, want none", got, err)
	}
	if err := first.Close(); err != nil {
		t.Error(err)
	}
	if got, err := second.TryLock(); !got || err != nil {
		t.Errorf("TryLock() of a folder that was released = %v, %v, want the lock", got, err)
	}
	_ = second.Close()
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("the folder has %v, want nothing left in it", left)
	}
}
