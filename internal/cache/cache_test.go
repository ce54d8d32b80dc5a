package cache

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

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

func TestALimitTakesTheLongestUnused(t *testing.T) {
	list := []Entry{{Name: "a", Bytes: 5}, {Name: "b", Bytes: 3}, {Name: "c", Bytes: 2}}
	for limit, want := range map[int64]int{100: 0, 10: 0, 9: 1, 5: 1, 4: 2, 1: 3, 0: 3} {
		if got := OverLimit(list, limit); len(got) != want {
			t.Errorf("OverLimit(%d) takes %d, want %d", limit, len(got), want)
		}
	}
}

func TestSizesAreReadAsPeopleWriteThem(t *testing.T) {
	for text, want := range map[string]int64{"0": 0, "20GB": 20e9, "500MiB": 500 << 20, "1.5 kB": 1500} {
		if got, err := ParseSize(text); got != want || err != nil {
			t.Errorf("ParseSize(%q) = %d, %v, want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "-1GB", "much", "99999999999999999TB"} {
		if n, err := ParseSize(text); err == nil {
			t.Errorf("ParseSize(%q) = %d, want an error", text, n)
		}
	}
}
