package dataset

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/mlperf-go/mlperf/internal/testenv"
)

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
		t.Error("rows exist that were not written")
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

func TestSampleCacheOpenErrors(t *testing.T) {
	for _, name := range []string{"", "2c70e12b7a0646f92279.rows", "2c70e12b7a0646f92279.sums"} { // the folder, and SHA-256 of "key"
		dir := filepath.Join(t.TempDir(), "cache")
		if name == "" {
			put(t, filepath.Dir(dir), "cache", "a file")
		} else {
			put(t, dir, name+"/x", "")
		}
		if c, err := OpenSampleCache(dir, "key", fours); err == nil || !strings.Contains(err.Error(), filepath.Join(dir, name)) {
			t.Errorf("a folder at %q: %v, error %v", name, c, err)
		}
	}
}

func TestSampleCacheOnAFullDisk(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("this system has no /dev/full")
	}
	for _, name := range []string{"rows", "sums"} {
		c, err := OpenSampleCache(t.TempDir(), "key", fours)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		full, err := os.OpenFile("/dev/full", os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		file := &c.rows
		if name == "sums" {
			file = &c.sums
		}
		(*file).Close()
		*file = full
		if err := c.Write(0, []byte("four")); err == nil || !strings.Contains(err.Error(), "no space left on device") {
			t.Errorf("Write with a full %s: error %v", name, err)
		}
		if c.Read(0, make([]byte, 4)) {
			t.Errorf("Read after a full %s: a row", name)
		}
	}
}

// fours are the starts of rows of four bytes.
func fours(i int) int64 { return 4 * int64(i) }

// triangle are the starts of rows of i bytes.
func triangle(i int) int64 { return int64(i) * int64(i-1) / 2 }

func TestSampleCacheRowsOfDifferentLength(t *testing.T) {
	c, err := OpenSampleCache(t.TempDir(), "key", triangle)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	row := func(i int) []byte { return bytes.Repeat([]byte{byte(i)}, i) }
	for _, i := range []int{7, 0, 3, 1, 9} {
		if err := c.Write(i, row(i)); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 12 {
		got := make([]byte, i)
		exists := i == 0 || i == 1 || i == 3 || i == 7 || i == 9
		if c.Read(i, got) != exists || exists && !bytes.Equal(got, row(i)) {
			t.Errorf("row %d is %v, want it: %v", i, got, exists)
		}
	}
	if c.Read(7, make([]byte, 6)) {
		t.Error("row 7 is read as one of 6 bytes")
	}
	if err := c.Write(4, row(5)); !testenv.Names(err, "row 4 … 4 bytes … 5") {
		t.Errorf("a row of another length: %v", err)
	}
}

// Several programs open the same cache.
func TestSampleCacheIsShared(t *testing.T) {
	dir := t.TempDir()
	const programs, rows, length = 4, 60, 512
	row := func(i int) []byte { return bytes.Repeat([]byte{byte(i + 1)}, length) }
	starts := func(i int) int64 { return length * int64(i) }
	var group sync.WaitGroup
	for p := range programs {
		group.Go(func() {
			c, err := OpenSampleCache(dir, "key", starts)
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			got := make([]byte, length)
			for k := range rows {
				i := (k*7 + p*13) % rows
				if c.Read(i, got) && !bytes.Equal(got, row(i)) {
					t.Errorf("row %d is %v", i, got[:4])
				}
				if err := c.Write(i, row(i)); err != nil {
					t.Error(err)
				}
				if !c.Read(i, got) || !bytes.Equal(got, row(i)) {
					t.Errorf("row %d is %v after its writing", i, got[:4])
				}
			}
		})
	}
	group.Wait()
}

func ExampleOpenSampleCache() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	const length = 3
	c, err := OpenSampleCache(dir, "resnet50 of the images of 2012", func(i int) int64 { return length * int64(i) })
	if err != nil {
		panic(err)
	}
	defer c.Close()
	row := make([]byte, length)
	fmt.Println(c.Read(5, row))
	if err := c.Write(5, []byte("abc")); err != nil {
		panic(err)
	}
	fmt.Println(c.Read(5, row), string(row))
	// Output:
	// false
	// true abc
}
