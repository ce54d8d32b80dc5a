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
)

const key = "ea42e17b9a29452bea4f"

// fill makes a cache, with things in it that are nobody's but the user's.
func fill(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for i, path := range []string{
		"models/mobilenet-" + key + ".onnx", "datasets/imagenet-" + key + "/val_map.txt", "datasets/imagenet-" + key + "/images/a.jpg",
		"samples/" + key + ".rows", "samples/" + key + ".sums", "converted/mobilenet-" + key + "-int8-556d0b5d72611e4a.onnx",
		"converted/mobilenet-" + key + "-int8-556d0b5d72611e4a.md", "engines/556d0b5d72611e4a/x.engine", ".mlperf-reference-123/results.json",
		"models/thesis.onnx", "samples/letters.txt", "photos/me.jpg", "reference/book.pdf",
	} {
		full := filepath.Join(dir, path)
		when := time.Date(2026, 1, 1+i, 0, 0, 0, 0, time.UTC)
		if err := errors.Join(os.MkdirAll(filepath.Dir(full), 0o755), os.WriteFile(full, make([]byte, 5000), 0o644), os.Chtimes(full, when, when)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func names(list []Entry) (names []string) {
	for _, e := range list {
		names = append(names, e.Kind+" "+e.Name)
	}
	return names
}

func TestEntriesAreListedTheLongestUnusedFirst(t *testing.T) {
	dir := fill(t)
	list, err := List(dir)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"models mobilenet-" + key + ".onnx", "datasets imagenet-" + key, "samples " + key,
		"converted mobilenet-" + key + "-int8-556d0b5d72611e4a", "engines 556d0b5d72611e4a", "leftovers .mlperf-reference-123"}
	if diff := cmp.Diff(want, names(list)); diff != "" {
		t.Error(diff)
	}
	if n := len(list[2].Paths); n != 2 || list[2].Bytes < 10000 || list[2].Bytes > 20000 {
		t.Errorf("the samples are %d files of %d bytes, want 2 of 10,000 and what blocks add", n, list[2].Bytes)
	}
	if list, err := List(filepath.Join(dir, "none")); err != nil || len(list) != 0 {
		t.Errorf("no cache: %v, %v", list, err)
	}
}

// Who is killed while a model of gigabytes is made leaves as much of it beside the models.
func TestWhatWasBegunIsALeftover(t *testing.T) {
	dir := t.TempDir()
	for _, path := range []string{
		"models/.mlperf-making-42/folder/encoder.onnx", "models/.llama-" + key + ".onnx.77.tmp", "samples/." + key + ".rows.5.tmp",
		"models/.thesis.onnx.77.tmp", "models/.mlperf-notes/a.txt", ".face.tmp",
	} {
		path = filepath.Join(dir, path)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, make([]byte, 5000), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	list, err := List(dir)
	if err != nil {
		t.Fatal(err)
	}
	found := names(list)
	slices.Sort(found)
	want := []string{"leftovers ." + key + ".rows.5.tmp", "leftovers .llama-" + key + ".onnx.77.tmp", "leftovers .mlperf-making-42"}
	if diff := cmp.Diff(want, found); diff != "" || Total(list) < 15000 {
		t.Errorf("%d bytes (-want +got):\n%s", Total(list), diff)
	}
}

func TestOnlyWhatIsOursIsRemoved(t *testing.T) {
	dir := fill(t)
	list, err := List(dir)
	if err != nil {
		t.Fatal(err)
	}
	if freed, err := Remove(dir, list); err != nil || freed != Total(list) {
		t.Errorf("freed %d of %d, %v", freed, Total(list), err)
	}
	for _, path := range []string{"models/thesis.onnx", "samples/letters.txt", "photos/me.jpg", "reference/book.pdf"} {
		if _, err := os.Stat(filepath.Join(dir, path)); err != nil {
			t.Errorf("somebody's file is gone: %v", err)
		}
	}
	if list, err := List(dir); err != nil || len(list) != 0 {
		t.Errorf("left: %v, %v", names(list), err)
	}
}

func TestNothingIsRemovedWhileSomebodyUsesIt(t *testing.T) {
	dir := fill(t)
	list, err := List(dir)
	if err != nil {
		t.Fatal(err)
	}
	one, two := Hold(dir), Hold(dir)
	one()
	if _, err := Remove(dir, list); !errors.Is(err, ErrInUse) {
		t.Errorf("in use: %v", err)
	}
	two()
	if _, err := os.Stat(list[0].Paths[0]); err != nil {
		t.Errorf("it was removed all the same: %v", err)
	}
	if _, err := Remove(dir, list[:1]); err != nil {
		t.Errorf("not in use any more: %v", err)
	}
}

// A process that begins while another removes something has to be safe from the next removal.
func TestWhoComesDuringARemovalHoldsTheCacheAfterIt(t *testing.T) {
	dir := fill(t)
	removal := flock.New(filepath.Join(dir, lockFile))
	if got, err := removal.TryLock(); !got || err != nil {
		t.Fatal(got, err)
	}
	held := make(chan func())
	go func() { held <- Hold(dir) }()
	select {
	case <-held:
		t.Error("the removal was not waited for")
	case <-time.After(3 * glimpse):
	}
	if err := removal.Close(); err != nil {
		t.Fatal(err)
	}
	release := <-held
	if _, err := Remove(dir, []Entry{{Name: "a"}}); !errors.Is(err, ErrInUse) {
		t.Errorf("Remove = %v, want that the cache is in use", err)
	}
	release()
}

func TestALinkIsRemovedAndNotWhatItLeadsTo(t *testing.T) {
	dir, elsewhere := fill(t), t.TempDir()
	link := filepath.Join(dir, "datasets", "coco-"+key)
	if err := errors.Join(os.WriteFile(filepath.Join(elsewhere, "photo.jpg"), nil, 0o644), os.Symlink(elsewhere, link)); err != nil {
		t.Fatal(err)
	}
	list, err := List(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Remove(dir, list); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(link); !os.IsNotExist(err) {
		t.Errorf("the link is there: %v", err)
	}
	if _, err := os.Stat(filepath.Join(elsewhere, "photo.jpg")); err != nil {
		t.Errorf("what it led to is gone: %v", err)
	}
}

func TestAFailedRemovalDoesNotEndTheOthers(t *testing.T) {
	dir := fill(t)
	list, err := List(dir)
	if err != nil {
		t.Fatal(err)
	}
	list[1].Paths = append(list[1].Paths, "no\x00name")
	freed, err := Remove(dir, list)
	if err == nil || !strings.Contains(err.Error(), "invalid argument") {
		t.Errorf("error %v, want that of the name that cannot be", err)
	}
	if want := Total(list) - list[1].Bytes; freed != want {
		t.Errorf("freed %d, want %d: what is not wholly gone does not count", freed, want)
	}
	if left, err := List(dir); err != nil || len(left) != 0 {
		t.Errorf("left: %v, %v", names(left), err)
	}
}

// Whoever cannot hold a cache goes on without: nobody else can clear it either.
func TestACacheThatCannotBeHeldIsNoError(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	Hold(filepath.Join(file, "cache"))()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, lockFile), 0o755); err != nil {
		t.Fatal(err)
	}
	Hold(dir)()
	made := filepath.Join(t.TempDir(), "new", "cache")
	release := Hold(made)
	if _, err := Remove(made, []Entry{{Name: "a"}}); !errors.Is(err, ErrInUse) {
		t.Errorf("a cache that was made by holding it: %v", err)
	}
	release()
	release() // a second call does nothing
	if _, err := Remove(made, []Entry{{Name: "a"}}); err != nil {
		t.Errorf("after the release: %v", err)
	}
}

func TestAFileInThePlaceOfAFolderIsAnError(t *testing.T) {
	for _, name := range []string{"models", "samples"} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
		if list, err := List(dir); err == nil || !strings.Contains(err.Error(), "looking at the cache: ") || !strings.Contains(err.Error(), name) {
			t.Errorf("a file %s: %v, %v", name, list, err)
		}
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if list, err := List(file); err == nil {
		t.Errorf("a file in the place of the cache: %v", list)
	}
}

// The time is that of the latest file, not of the folder, which changes as files are removed.
func TestAnEntryIsAsOldAsItsLatestFile(t *testing.T) {
	dir := t.TempDir()
	folder := filepath.Join(dir, "datasets", "coco-"+key)
	if err := os.MkdirAll(filepath.Join(folder, "inner"), 0o755); err != nil {
		t.Fatal(err)
	}
	old, late := time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2025, 6, 1, 0, 0, 0, 0, time.UTC)
	for name, when := range map[string]time.Time{"a": old, "inner/b": late, "c": old} {
		path := filepath.Join(folder, name)
		if err := errors.Join(os.WriteFile(path, []byte("x"), 0o644), os.Chtimes(path, when, when)); err != nil {
			t.Fatal(err)
		}
	}
	list, err := List(dir)
	if err != nil || len(list) != 1 || !list[0].Used.Equal(late) {
		t.Errorf("%+v, %v, want one of %v", list, err, late)
	}
}

// A process that is killed while it makes a model leaves gigabytes. The next one removes them, unless another is at work.
func TestLeftoversAreRemovedByTheNextProcess(t *testing.T) {
	dir := fill(t)
	left := filepath.Join(dir, "models", ".mlperf-making-42", "model.onnx")
	if err := errors.Join(os.MkdirAll(filepath.Dir(left), 0o755), os.WriteFile(left, nil, 0o644)); err != nil {
		t.Fatal(err)
	}
	before, err := List(dir)
	if err != nil {
		t.Fatal(err)
	}
	release := Hold(dir)
	after, err := List(dir)
	if err != nil || len(after) != len(before)-2 { // fill leaves one, too
		t.Errorf("%q, %v of %q", names(after), err, names(before))
	}
	if err := os.MkdirAll(filepath.Dir(left), 0o755); err != nil {
		t.Fatal(err)
	}
	Hold(dir)()
	if _, err := os.Stat(filepath.Dir(left)); err != nil {
		t.Errorf("a folder was removed while another process is at work: %v", err)
	}
	release()
}
