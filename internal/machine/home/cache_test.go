package home

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gofrs/flock"
	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/testenv"
)

const key = "ea42e17b9a29452bea4f"

// write makes files of 5,000 bytes, each used a day later than the one before.
func write(t *testing.T, dir string, paths ...string) {
	t.Helper()
	for i, path := range paths {
		testenv.Tree(t, dir, map[string][]byte{path: make([]byte, 5000)})
		when := time.Date(2026, 1, 1+i, 0, 0, 0, 0, time.UTC)
		testenv.Must(t, os.Chtimes(filepath.Join(dir, path), when, when))
	}
}

// A user's files in the cache.
var users = []string{"models/thesis.onnx", "samples/letters.txt", "photos/me.jpg", "models/.thesis.onnx.77.tmp", "models/.mlperf-notes/a.txt", ".face.tmp"}

// fill makes a cache with entries and a user's files, and lists its entries.
func fill(t *testing.T) (dir string, entries []Entry) {
	t.Helper()
	dir = t.TempDir()
	write(t, dir, slices.Concat([]string{
		"models/mobilenet-" + key + ".onnx", "datasets/imagenet-" + key + "/val_map.txt", "datasets/imagenet-" + key + "/images/a.jpg",
		"samples/" + key + ".rows", "samples/" + key + ".sums", "converted/mobilenet-" + key + "-int8-556d0b5d72611e4a.onnx",
		"converted/mobilenet-" + key + "-int8-556d0b5d72611e4a.md", "engines/556d0b5d72611e4a/x.engine", ".mlperf-reference-123/results.json",
		"models/.mlperf-making-42/folder/encoder.onnx", "models/.llama-" + key + ".onnx.77.tmp", "samples/." + key + ".rows.5.tmp",
	}, users)...)
	entries, err := List(dir)
	testenv.Must(t, err)
	return dir, entries
}

func describe(list []Entry) (names []string) {
	for _, e := range list {
		names = append(names, e.Kind+" "+e.Name)
	}
	return names
}

func TestListIsTheLongestUnusedFirst(t *testing.T) {
	dir, list := fill(t)
	want := []string{"models mobilenet-" + key + ".onnx", "datasets imagenet-" + key, "samples " + key,
		"converted mobilenet-" + key + "-int8-556d0b5d72611e4a", "engines 556d0b5d72611e4a", "leftovers .mlperf-reference-123",
		"leftovers .mlperf-making-42", "leftovers .llama-" + key + ".onnx.77.tmp", "leftovers ." + key + ".rows.5.tmp"}
	if diff := cmp.Diff(want, describe(list)); diff != "" {
		t.Error(diff)
	}
	if n := len(list[2].Paths); n != 2 || list[2].Bytes < 10000 || list[2].Bytes > 20000 {
		t.Errorf("the samples are %d files of %d bytes, want 2 of 10,000 and what blocks add", n, list[2].Bytes)
	}
	if used := list[1].Used; used.Day() != 3 { // of its latest file
		t.Errorf("the data set was used on %v, want the third", used)
	}
	if list, err := List(filepath.Join(dir, "none")); err != nil || len(list) != 0 {
		t.Errorf("no cache: %v, %v", list, err)
	}
	for _, name := range []string{"models", "samples"} {
		dir := t.TempDir()
		write(t, dir, name)
		if list, err := List(dir); err == nil || !strings.Contains(err.Error(), "looking at the cache: ") || !strings.Contains(err.Error(), name) {
			t.Errorf("a file %s: %v, %v", name, list, err)
		}
	}
}

func TestRemoveLeavesAUsersFiles(t *testing.T) {
	dir, _ := fill(t)
	elsewhere := t.TempDir()
	write(t, elsewhere, "photo.jpg")
	testenv.Must(t, os.Symlink(elsewhere, filepath.Join(dir, "datasets", "coco-"+key))) // a link is removed, but not its target
	list, err := List(dir)
	testenv.Must(t, err)
	list[1].Paths = append(list[1].Paths, "no\x00name") // a failure does not end the other removals
	freed, err := Remove(dir, list)
	if want := Total(list) - list[1].Bytes; freed != want || err == nil || !strings.Contains(err.Error(), "invalid argument") {
		t.Errorf("freed %d, want %d without the entry that could not be removed; error %v", freed, want, err)
	}
	if left, err := List(dir); err != nil || len(left) != 0 {
		t.Errorf("left: %v, %v", describe(left), err)
	}
	for _, path := range users {
		if _, err := os.Stat(filepath.Join(dir, path)); err != nil {
			t.Errorf("a user's file is gone: %v", err)
		}
	}
	if _, err := os.Stat(filepath.Join(elsewhere, "photo.jpg")); err != nil {
		t.Errorf("the target of a link is gone: %v", err)
	}
}

func TestHoldPreventsRemoval(t *testing.T) {
	dir, list := fill(t)
	one, two := Hold(dir), Hold(dir)
	one()
	if _, err := Remove(dir, list); !errors.Is(err, ErrInUse) {
		t.Errorf("in use: %v", err)
	}
	two()
	two() // a second call does nothing
	if _, err := os.Stat(list[0].Paths[0]); err != nil {
		t.Errorf("it was removed all the same: %v", err)
	}
	if _, err := Remove(dir, list[:1]); err != nil {
		t.Errorf("not in use any more: %v", err)
	}
}

// A process that begins while another removes something has to be safe from the next removal.
func TestHoldWaitsForARemoval(t *testing.T) {
	dir, list := fill(t)
	removal := flock.New(filepath.Join(dir, lockFile))
	got, err := removal.TryLock()
	testenv.Must(t, err)
	held := make(chan func())
	go func() { held <- Hold(dir) }()
	select {
	case <-held:
		t.Errorf("the removal, %v, was not waited for", got)
	case <-time.After(3 * holdRetry):
	}
	testenv.Must(t, removal.Close())
	release := <-held
	if _, err := Remove(dir, list); !errors.Is(err, ErrInUse) {
		t.Errorf("Remove = %v, want that the cache is in use", err)
	}
	release()
}

// A cache that cannot be held is not an error: no other process can clear it either.
func TestHoldWithoutALock(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "file")
	Hold(filepath.Join(dir, "file", "cache"))()
	testenv.Must(t, os.Mkdir(filepath.Join(dir, lockFile), 0o755))
	Hold(dir)()
	made := filepath.Join(dir, "new", "cache")
	defer Hold(made)()
	if _, err := Remove(made, []Entry{{Name: "a"}}); !errors.Is(err, ErrInUse) {
		t.Errorf("a cache that was made by holding it: %v", err)
	}
}

// A process that is killed while it makes a model leaves gigabytes. The next one removes them, unless another is at work.
func TestHoldRemovesLeftovers(t *testing.T) {
	dir, before := fill(t)
	release := Hold(dir)
	after, err := List(dir)
	if err != nil || len(after) != len(before)-4 {
		t.Errorf("%q, %v of %q", describe(after), err, describe(before))
	}
	write(t, dir, "models/.mlperf-making-42/model.onnx")
	Hold(dir)()
	if list, _ := List(dir); len(list) != len(after)+1 {
		t.Error("a folder was removed while another process is at work")
	}
	release()
}
