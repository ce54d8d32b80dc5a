package dataset

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
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

func TestSampleCacheKeepsRows(t *testing.T) {
	dir := t.TempDir()
	c, err := OpenSampleCache(dir, "key", fours)
	if err != nil {
		t.Fatal(err)
	}
	row := make([]byte, 4)
	if c.Read(0, row) {
		t.Error("a new cache has a row")
	}
	for i, content := range []string{5: "five", 2: "\x00\x00\x00\x00"} {
		if content != "" {
			if err := c.Write(i, []byte(content)); err != nil {
				t.Fatal(err)
			}
		}
	}
	c.Close()

	c, err = OpenSampleCache(dir, "key", fours)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if !c.Read(5, row) || string(row) != "five" {
		t.Errorf("row 5 is %q", row)
	}
	if !c.Read(2, row) || string(row) != "\x00\x00\x00\x00" {
		t.Errorf("row 2 is %q", row)
	}
	if c.Bytes() != 24 { // up to row 5
		t.Errorf("the rows have %d bytes, want 24", c.Bytes())
	}
	if c.Read(3, row) || c.Read(100, row) {
		t.Error("rows that were not written are there")
	}
	if err := c.Write(1, []byte("too long")); err == nil {
		t.Error("a row of another size is accepted")
	}
	other, err := OpenSampleCache(dir, "another key", fours)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if other.Read(5, row) {
		t.Error("another key has the same rows")
	}
}

func TestSampleCacheNoticesDamage(t *testing.T) {
	c, err := OpenSampleCache(t.TempDir(), "key", fours)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Write(0, []byte("good")); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(c.Path(), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte("bad!"), 0); err != nil {
		t.Fatal(err)
	}
	f.Close()
	if c.Read(0, make([]byte, 4)) {
		t.Error("a damaged row is accepted")
	}
	if err := os.Truncate(c.Path(), 2); err != nil {
		t.Fatal(err)
	}
	if c.Read(0, make([]byte, 4)) {
		t.Error("half a row is accepted")
	}
}

func TestSampleCacheSaysWhatItCannotOpen(t *testing.T) {
	for _, name := range []string{"", "2c70e12b7a0646f92279.rows", "2c70e12b7a0646f92279.sums"} { // the folder, and SHA-256 of "key"
		dir := filepath.Join(t.TempDir(), "cache")
		if name == "" {
			put(t, filepath.Dir(dir), "cache", "a file")
		} else {
			put(t, dir, name+"/x", "")
		}
		if c, err := OpenSampleCache(dir, "key", fours); err == nil || !strings.Contains(err.Error(), filepath.Join(dir, name)) {
			t.Errorf("%q cannot be opened: %v, error %v", name, c, err)
		}
	}
}

func TestSampleCacheSaysThatTheDiskIsFull(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("there is no /dev/full on this system")
	}
	for _, name := range []string{"2c70e12b7a0646f92279.rows", "2c70e12b7a0646f92279.sums"} {
		dir := t.TempDir()
		if err := os.Symlink("/dev/full", filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
		c, err := OpenSampleCache(dir, "key", fours)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if err := c.Write(0, []byte("four")); err == nil || !strings.Contains(err.Error(), "no space left on device") {
			t.Errorf("%s takes no bytes: error %v", name, err)
		}
		if c.Read(0, make([]byte, 4)) {
			t.Errorf("%s took no bytes, and the row is there", name)
		}
	}
}

// fours says that rows have four bytes.
func fours(i int) int64 { return 4 * int64(i) }
