//go:build unix

package checker

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// A FIFO that nobody writes to, and devices that never end, must not be read.
func TestNothingWaitsForWhatIsNoFile(t *testing.T) {
	t.Parallel()
	base := extract(t, "v6.1")
	for name, plant := range map[string]func(path string) error{
		"FIFO":             func(path string) error { return syscall.Mkfifo(path, 0o644) },
		"link to a device": func(path string) error { return os.Symlink("/dev/zero", path) },
		"link to nowhere":  func(path string) error { return os.Symlink("/nowhere", path) },
		"link to itself":   func(path string) error { return os.Symlink(filepath.Base(path), path) },
		"folder":           func(path string) error { return os.Mkdir(path, 0o755) },
	} {
		for _, path := range []string{perf("S"), acc("S"), "S/accuracy/accuracy.txt", "S/measurements.json", home + "/systems/board1.json", "S/TEST01/verify_accuracy.txt", "S/TEST04/verify_performance.txt"} {
			t.Run(name+" as "+path, func(t *testing.T) {
				t.Parallel()
				e := &edit{t, t.TempDir()}
				e.link(base)
				e.remove(path)
				e.ok(plant(e.at(path)))
				done := make(chan *Report, 1)
				go func() { done <- check(t, e.root, Strict) }()
				select {
				case r := <-done:
					if r.Passes {
						t.Error("the tree passes")
					}
				case <-time.After(20 * time.Second):
					t.Fatal("the check waits")
				}
			})
		}
	}
}
