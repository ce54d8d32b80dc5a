package dataset

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// folder makes an ImageNet folder with the given list and files.
func folder(t *testing.T, list string, files ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if list != "" {
		if err := os.WriteFile(filepath.Join(dir, valMap), []byte(list), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestOpenImageNetReadsTheListInOrder(t *testing.T) {
	dir := folder(t, "val/b.JPEG 7\nval/a.JPEG 0\n", "val/a.JPEG", "val/b.JPEG")
	d, err := OpenImageNet(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if d.Len() != 2 || d.Name(0) != "val/b.JPEG" || d.Truth()[0].Label != 7 {
		t.Errorf("data set %+v", d)
	}
	if data, err := d.Read(1); err != nil || string(data) != "val/a.JPEG" {
		t.Errorf("Read(1) = %q, %v", data, err)
	}
	some, err := OpenImageNet(dir, Options{Count: 1})
	if err != nil || some.Len() != 1 || some.Fingerprint() != d.Fingerprint() {
		t.Errorf("the first image alone: %+v, %v", some, err)
	}
}

// TestTheListsOfOtherSystemsAreRead has ends of lines as Windows and old Macintoshes write them, and further columns.
func TestTheListsOfOtherSystemsAreRead(t *testing.T) {
	for name, list := range map[string]string{
		"Windows": "val/b.JPEG 7\r\nval/a.JPEG 0\r\n", "Macintosh": "val/b.JPEG 7\rval/a.JPEG 0\r", "columns": "val/b.JPEG\t7 x\n val/a.JPEG 0",
	} {
		dir := folder(t, list, "val/a.JPEG", "val/b.JPEG")
		d, err := OpenImageNet(dir, Options{})
		if err != nil || d.Len() != 2 || d.Dir() != dir || d.Name(1) != "val/a.JPEG" || d.Truth()[1].Label != 0 {
			t.Errorf("%s: %+v, %v", name, d, err)
		}
		if truth, err := ReadValMap(dir); err != nil || len(truth) != 2 || truth[0].Label != 7 {
			t.Errorf("%s: labels %v, %v", name, truth, err)
		}
	}
}

// TestOnlyTheFirstErrorsAreListed has a list of images of which none is there.
func TestOnlyTheFirstErrorsAreListed(t *testing.T) {
	var list strings.Builder
	for i := range 20 {
		fmt.Fprintf(&list, "%d.JPEG 1\n", i)
	}
	_, err := OpenImageNet(folder(t, list.String()), Options{})
	if err == nil {
		t.Fatal("there are no images")
	}
	lines := strings.Split(err.Error(), "\n")
	if len(lines) != maxReported+1 || !strings.Contains(lines[4], "val_map.txt:5: ") || lines[5] != "…" {
		t.Errorf("errors %q, want those of the first %d lines", lines, maxReported)
	}
}

// TestTheFingerprintFollowsNamesSizesAndTimes has copies of a data set in which one thing differs.
func TestTheFingerprintFollowsNamesSizesAndTimes(t *testing.T) {
	when := time.Unix(1_700_000_000, 0)
	print := func(change func(dir string)) string {
		dir := folder(t, "a.JPEG 1\nb.JPEG 2\n", "a.JPEG", "b.JPEG", "c.JPEG")
		for _, name := range []string{"a.JPEG", "b.JPEG", "c.JPEG"} {
			if err := os.Chtimes(filepath.Join(dir, name), when, when); err != nil {
				t.Fatal(err)
			}
		}
		change(dir)
		d, err := OpenImageNet(dir, Options{})
		if err != nil {
			t.Fatal(err)
		}
		return d.Fingerprint()
	}
	same := print(func(string) {})
	if again := print(func(string) {}); again != same || len(same) != 20 {
		t.Errorf("two copies are %q and %q", same, again)
	}
	for name, change := range map[string]func(dir string){
		"another name": func(dir string) { put(t, dir, valMap, "a.JPEG 1\nc.JPEG 2\n") },
		"another size": func(dir string) {
			put(t, dir, "b.JPEG", "more than before")
			_ = os.Chtimes(filepath.Join(dir, "b.JPEG"), when, when)
		},
		"another time":  func(dir string) { _ = os.Chtimes(filepath.Join(dir, "b.JPEG"), when, when.Add(1)) },
		"another order": func(dir string) { put(t, dir, valMap, "b.JPEG 2\na.JPEG 1\n") },
	} {
		if got := print(change); got == same {
			t.Errorf("%s: the fingerprint stays %s", name, got)
		}
	}
}

func TestOpenImageNetNamesWhatIsWrong(t *testing.T) {
	tests := []struct {
		name  string
		list  string
		count int
		want  string
	}{
		{"no list", "", 0, "there is no val_map.txt"},
		{"an image is missing", "a.JPEG 1\nc.JPEG 2\n", 0, "val_map.txt:2:"},
		{"an image twice", "a.JPEG 1\nb.JPEG 2\na.JPEG 3\n", 0, "val_map.txt:3: a.JPEG is listed already in line 1"},
		{"a class too many", "a.JPEG 1000\n", 0, "want 0 to 999"},
		{"a path outside", "../a.JPEG 1\n", 0, "not below the folder"},
		{"an empty line", "a.JPEG 1\n\nb.JPEG 2\n", 0, "line 2"},
		{"no class", "a.JPEG\n", 0, "line 1"},
		{"a folder", "sub 1\n", 0, "is a folder, not a regular file"},
		{"more than there are", "a.JPEG 1\n", 2, "2 images are wanted"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			dir := folder(t, test.list, "a.JPEG", "b.JPEG", "sub/x")
			if _, err := OpenImageNet(dir, Options{Count: test.count}); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q", err, test.want)
			}
		})
	}
}
