package shm

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// create makes an object that is gone after the test.
func create(t *testing.T, size int64) *Object {
	t.Helper()
	if err := Available(); err != nil {
		t.Skip(err)
	}
	o, err := Create(size)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = o.Unlink() // a test may have done it
		_ = o.Close()
	})
	return o
}

func TestWhatOneWritesTheOtherReads(t *testing.T) {
	mine := create(t, 100)
	theirs, err := Open(mine.Key(), 10, 90)
	if err != nil {
		t.Fatal(err)
	}
	defer theirs.Close()
	if err := mine.Unlink(); err != nil { // which takes nothing from who has it open
		t.Fatal(err)
	}
	if err := mine.Write(15, []byte("hello")); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 5)
	if err := theirs.Read(5, got); err != nil || string(got) != "hello" {
		t.Errorf("got %q, %v", got, err)
	}
	if _, err := Open(mine.Key(), 0, 1); err == nil {
		t.Error("an object without a name is opened")
	}
}

func TestNothingBeyondTheEndIsReadOrWritten(t *testing.T) {
	o := create(t, 100)
	part, err := Open(o.Key(), 50, 20)
	if err != nil {
		t.Fatal(err)
	}
	defer part.Close()
	for _, at := range []int64{-1, 20, 1 << 62, -1 << 62} {
		if part.Read(at, make([]byte, 1)) == nil || part.Write(at, make([]byte, 1)) == nil {
			t.Errorf("a byte at %d of 20 is there", at)
		}
	}
	if part.Write(0, make([]byte, 21)) == nil {
		t.Error("21 bytes fit into 20")
	}
}

func TestWhoeverMakesItShorterCausesAnErrorOnly(t *testing.T) {
	o := create(t, 1<<20)
	theirs, err := Open(o.Key(), 0, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	defer theirs.Close()
	if err := os.Truncate(filepath.Join(folder, o.Key()), 10); err != nil {
		t.Fatal(err)
	}
	if err := theirs.Read(0, make([]byte, 1<<20)); err == nil || !strings.Contains(err.Error(), "10 of 1048576 bytes") {
		t.Errorf("got %v", err)
	}
}

func TestWhatIsNoSharedMemoryIsNotOpened(t *testing.T) {
	o := create(t, 100)
	outside := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(outside, bytes.Repeat([]byte("s"), 100), 0o600); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(folder, "mlperf-test-link-"+filepath.Base(o.Key()))
	if err := os.Symlink(outside, link); err != nil {
		t.Fatal(err)
	}
	defer os.Remove(link)
	for name, c := range map[string]struct {
		key          string
		offset, size int64
	}{
		"no name": {"/", 0, 1}, "a path": {"/../../etc/passwd", 0, 1}, "the folder": {"..", 0, 1}, "a link that leads out": {filepath.Base(link), 0, 1},
		"nobody's": {"/mlperf-nobody", 0, 1}, "more than there is": {o.Key(), 0, 101}, "from beyond the end": {o.Key(), 101, 1},
		"nothing": {o.Key(), 0, 0}, "before the beginning": {o.Key(), -1, 10}, "a sum that overflows": {o.Key(), 1, 1<<63 - 1},
	} {
		if got, err := Open(c.key, c.offset, c.size); err == nil {
			t.Errorf("%s is opened: %v", name, got)
		}
	}
}
