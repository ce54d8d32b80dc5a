//go:build unix

package checker

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"
)

// Reading a FIFO without a writer, or an endless device, would never end.
func TestSpecialFilesDoNotBlock(t *testing.T) {
	t.Parallel()
	base := extract(t, "v6.1")
	for name, plant := range map[string]func(path string) error{
		"FIFO":             func(path string) error { return syscall.Mkfifo(path, 0o644) },
		"link to a device": func(path string) error { return os.Symlink("/dev/zero", path) },
		"link to nowhere":  func(path string) error { return os.Symlink("/nowhere", path) },
		"link to itself":   func(path string) error { return os.Symlink(filepath.Base(path), path) },
		"folder":           func(path string) error { return os.Mkdir(path, 0o755) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e, kept := &edit{t, t.TempDir()}, filepath.Join(t.TempDir(), "kept")
			e.link(base)
			if r := check(t, e.root, Strict); !r.Passes {
				t.Fatalf("the tree does not pass: %s", findingsOf(r))
			}
			for _, path := range []string{perf("S"), acc("S"), "S/accuracy/accuracy.txt", "S/measurements.json", home + "/systems/board1.json", "S/TEST01/verify_accuracy.txt", "S/TEST04/verify_performance.txt"} {
				at := e.at(path)
				e.ok(os.Rename(at, kept))
				e.ok(plant(at))
				if r := checkSoon(t, e.root); r.Passes {
					t.Errorf("the tree passes with it as %s", path)
				}
				e.ok(os.Remove(at))
				e.ok(os.Rename(kept, at))
			}
		})
	}
}

// checkSoon is check, which must not wait.
func checkSoon(t *testing.T, root string) *Report {
	t.Helper()
	done := make(chan *Report, 1)
	go func() { done <- check(t, root, Strict) }()
	select {
	case r := <-done:
		return r
	case <-time.After(20 * time.Second):
		t.Fatal("the check waits")
		return nil
	}
}

// A path of a tree may be longer than the system opens at once. The official checker never goes there.
func TestFolderThatCannotBeListed(t *testing.T) {
	t.Parallel()
	e := &edit{t, t.TempDir()}
	e.link(extract(t, "v6.1"))
	deep, err := os.OpenRoot(e.at(home + "/src"))
	e.ok(err)
	for range 500 {
		e.ok(deep.Mkdir("a-folder", 0o755))
		next, err := deep.OpenRoot("a-folder")
		e.ok(errors.Join(err, deep.Close()))
		deep = next
	}
	e.ok(deep.Close())
	for profile, passes := range map[Profile]bool{Reference: true, Strict: false} {
		r := check(t, e.root, profile)
		i := slices.IndexFunc(r.Findings, func(f Finding) bool { return f.Rule == "tree-unreadable" })
		if r.Passes != passes || i < 0 || r.Findings[i].Message != "cannot be listed: file name too long" {
			t.Errorf("%s: passes %v, want %v; %.300s", profile, r.Passes, passes, findingsOf(r))
		}
	}
}
