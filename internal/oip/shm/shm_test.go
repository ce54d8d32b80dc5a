package shm

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"syscall"
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

func TestAnObjectHasAnOwnerUntilThatClosesIt(t *testing.T) {
	mine := create(t, 10)
	theirs, err := Open(mine.Key(), 0, 10)
	if err != nil {
		t.Fatal(err)
	}
	defer theirs.Close()
	again, err := Open(mine.Key(), 5, 5)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	for range 2 { // looking takes nothing away
		if !theirs.HasOwner() || !again.HasOwner() {
			t.Error("an object of somebody who is there has no owner")
		}
	}
	if err := mine.Unlink(); err != nil || !theirs.HasOwner() {
		t.Errorf("%v, or an object without a name has no owner", err)
	}
	if err := mine.Close(); err != nil || theirs.HasOwner() || again.HasOwner() {
		t.Errorf("%v, or an object has an owner who has closed it", err)
	}
}

func TestWhatIsClosedIsAnErrorAndNoMore(t *testing.T) {
	o := create(t, 10)
	if err := o.Close(); err != nil {
		t.Fatal(err)
	}
	for what, err := range map[string]error{"reading": o.Read(0, make([]byte, 1)), "writing": o.Write(0, []byte{1}), "closing": o.Close()} {
		if !errors.Is(err, os.ErrClosed) {
			t.Errorf("%s it again: %v", what, err)
		}
	}
	if o.HasOwner() {
		t.Error("what is closed has an owner")
	}
	if !o.Holds(0, 10) || o.Holds(1, 10) || o.Holds(-1, 1) || o.Holds(0, -1) || o.Holds(math.MaxInt64, math.MaxInt64) {
		t.Error("it does not hold what it has")
	}
}

func TestNothingIsMadeOfASizeThatIsNone(t *testing.T) {
	if err := Available(); err != nil {
		t.Skip(err)
	}
	if o, err := Create(-1); err == nil || !strings.HasPrefix(err.Error(), "making shared memory: ") {
		t.Errorf("of -1 bytes: %v, %v", o, err)
	}
}

func TestErrorsOfSharedMemoryNameWhatIsWanted(t *testing.T) {
	o := create(t, 100)
	for want, err := range map[string]error{
		`shared memory "/../x": want a name such as /images`:                                 opened("/../x", 0, 1),
		`shared memory "//": want a name such as /images`:                                    opened("//", 0, 1),
		`shared memory "a\x00b": want a name such as /images`:                                opened("a\x00b", 0, 1),
		fmt.Sprintf("shared memory %q: 80 bytes from 30 on are wanted, it has 100", o.Key()): opened(o.Key(), 30, 80),
		"opening shared memory: openat mlperf-nobody: no such file or directory":             opened("mlperf-nobody", 0, 1),
		"2 bytes from 99 on are beyond the 100 of the shared memory":                         o.Read(99, make([]byte, 2)),
		"3 bytes from 98 on are beyond the 100 of the shared memory":                         o.Write(98, make([]byte, 3)),
	} {
		if err == nil || err.Error() != want {
			t.Errorf("the error is %v, want %s", err, want)
		}
	}
}

// opened is the error of opening an object.
func opened(key string, offset, size int64) error {
	o, err := Open(key, offset, size)
	if err == nil {
		err = o.Close()
	}
	return err
}

func TestAFolderOrAPipeIsNoObject(t *testing.T) {
	if err := Available(); err != nil {
		t.Skip(err)
	}
	dir, err := os.MkdirTemp(folder, "mlperf-test-folder-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.Remove(dir)
	if err := opened(filepath.Base(dir), 0, 1); err == nil || !strings.Contains(err.Error(), "is a directory") {
		t.Errorf("a folder: %v", err)
	}
	pipe := dir + "-pipe"
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	defer os.Remove(pipe)
	if err := opened(filepath.Base(pipe), 0, 1); err == nil || !strings.Contains(err.Error(), "it is no object of shared memory") {
		t.Errorf("a pipe: %v", err)
	}
}
