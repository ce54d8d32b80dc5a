package download

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "")
	if err == nil {
		err = os.Setenv("MLPERF_DATA_DIR", dir) // for what is kept of data sets
	}
	if err != nil {
		panic(err)
	}
	status := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(status)
}

// age makes a file one that was not written just now.
func age(t *testing.T, path string, by time.Duration) {
	t.Helper()
	at := time.Now().Add(-by)
	must(t, os.Chtimes(path, at, at))
}

// compared compares a folder, and counts the files that were read.
func compared(t *testing.T, dir string, o CompareOptions) (c *Comparison, read int) {
	t.Helper()
	r := &counted{}
	o.Observer = r
	c, err := Compare(t.Context(), dir, o)
	must(t, err)
	return c, r.items
}

// counted counts the files that are read.
type counted struct {
	silence
	items int
}

func (c *counted) Items(done, _ int) { c.items = max(c.items, done) }

// Each file is judged by the best sum that is known of it, and read again after a change alone.
func TestCompare(t *testing.T) {
	it := Item{Kind: Dataset, Name: "squad", Files: []File{{Name: "dev.json", MD5: md5Of([]byte("questions"))}}}
	for name, c := range map[string]struct {
		ours   bool
		change func(t *testing.T, dir string)
		read   int
		want   []string
	}{
		"nothing":              {false, func(*testing.T, string) {}, 0, nil},
		"a new time":           {false, func(t *testing.T, dir string) { age(t, filepath.Join(dir, "other.txt"), time.Hour) }, 1, nil},
		"of a published file":  {false, func(t *testing.T, dir string) { put(t, dir, "dev.json", "question5") }, 1, []string{"published: dev.json has MD5"}},
		"of another file":      {false, func(t *testing.T, dir string) { put(t, dir, "sub/c.txt", "d") }, 1, []string{"first seen: sub/c.txt is not as it was first seen: its SHA-256 was " + sha256Of([]byte("c"))}},
		"a file is gone":       {false, func(t *testing.T, dir string) { must(t, os.Remove(filepath.Join(dir, "other.txt"))) }, 0, []string{"first seen: other.txt is missing"}},
		"a file more":          {false, func(t *testing.T, dir string) { put(t, dir, "more.txt", "x") }, 1, nil},
		"of an installed file": {true, func(t *testing.T, dir string) { put(t, dir, "other.txt", "p") }, 1, []string{"installed: other.txt is not as it was installed"}},
		"an installed is gone": {true, func(t *testing.T, dir string) { must(t, os.Remove(filepath.Join(dir, "other.txt"))) }, 0, []string{"installed: other.txt is missing"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for name, data := range map[string]string{"dev.json": "questions", "other.txt": "o", "sub/c.txt": "c"} {
				put(t, dir, name, data)
				age(t, filepath.Join(dir, name), time.Minute)
			}
			installed := 0
			if c.ours {
				put(t, dir, sumsFile, sha256Of([]byte("o"))+"  other.txt\n")
				installed = 1
			}
			o := CompareOptions{Items: []Item{it}}
			first, read := compared(t, dir, o)
			if first.Files != 3 || read != 3 || first.Published != 1 || first.Installed != installed || first.AsSeen != 2-installed || len(first.Different) > 0 {
				t.Fatalf("first look: %+v, %d read", first, read)
			}
			c.change(t, dir)
			for _, again := range []int{c.read, 0} { // a difference stays one
				got, read := compared(t, dir, o)
				var texts []string
				for _, d := range got.Different {
					texts = append(texts, d.From+": "+d.Text)
				}
				if read < again || read > c.read || !slices.EqualFunc(texts, c.want, strings.HasPrefix) {
					t.Errorf("%q, %d files read, want %q, %d", texts, read, c.want, again)
				}
			}
			if _, read := compared(t, dir, CompareOptions{Items: []Item{it}, Full: true}); read != filesIn(t, dir) {
				t.Errorf("a full pass reads %d files of %d", read, filesIn(t, dir))
			}
			if got, _ := compared(t, dir, CompareOptions{Items: []Item{it}, Accept: true}); slices.ContainsFunc(got.Different, func(d Difference) bool { return d.From == firstSeen }) {
				t.Errorf("accepted, and %+v", got.Different)
			}
		})
	}
}

func filesIn(t *testing.T, dir string) (n int) {
	t.Helper()
	for _, pattern := range []string{"*.json", "*.txt", "sub/*.txt"} {
		found, err := filepath.Glob(filepath.Join(dir, pattern))
		must(t, err)
		n += len(found)
	}
	return n
}

// Nothing is read of a data set that is too large, and nothing is said of it, until something else has read it.
func TestCompareReadsNotTooMuch(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "a", "1234567890")
	age(t, filepath.Join(dir, "a"), time.Minute)
	if c, read := compared(t, dir, CompareOptions{MostRead: 9}); c.Unread != 10 || read != 0 || c.AsSeen != 0 {
		t.Errorf("%+v, %d read", c, read)
	}
	compared(t, dir, CompareOptions{})
	if c, read := compared(t, dir, CompareOptions{MostRead: 9}); c.Unread != 0 || read != 0 || c.AsSeen != 1 {
		t.Errorf("after a full pass: %+v, %d read", c, read)
	}
}

// A file that was written just now may be written again without another time: it is read once more.
func TestCompareReadsFreshFilesAgain(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "a", "1")
	for range 2 {
		if _, read := compared(t, dir, CompareOptions{}); read != 1 {
			t.Errorf("%d files read, want 1", read)
		}
	}
}

func TestPublishedFor(t *testing.T) {
	items := []Item{
		{Files: []File{{Name: "nmt/data/a.en", MD5: "1"}, {Name: "x.tar", MD5: "2", Unpack: &Unpack{}, Inside: map[string]string{"in/b": "3"}}, {Name: "c"}}},
		{Files: []File{{Name: ".", R2: "http://h/l", Inside: map[string]string{"d.npy": "4"}}, {Name: "a.en", SHA256: "5"}}},
	}
	for name, want := range map[string]string{
		"a.en": "15", "nmt/data/a.en": "15", "data/a.en": "15", "ba.en": "", "x.tar": "", "b": "3", "in/b": "3", "c": "", "deep/d.npy": "4", "all/in/b": "3",
	} {
		got := ""
		for _, f := range publishedFor(items, name) {
			got += f.MD5 + f.SHA256
		}
		if got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// A data directory that cannot be written keeps nothing from being compared.
func TestCompareWithoutARecord(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "a", "1")
	put(t, dir, "data", "a file in the place of the folder")
	t.Setenv("MLPERF_DATA_DIR", filepath.Join(dir, "data"))
	c, err := Compare(t.Context(), dir, CompareOptions{})
	if must(t, err); c.Unkept == nil || c.AsSeen != 2 {
		t.Errorf("%+v", c)
	}
}

// A data set of one file is compared alone, also in a folder that has others.
func TestCompareOneFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "dev.json")
	must(t, os.WriteFile(path, []byte("questions"), 0o600))
	must(t, os.WriteFile(filepath.Join(dir, "other.txt"), []byte("notes"), 0o600))
	age(t, path, time.Minute)
	it := Item{Kind: Dataset, Name: "squad", Files: []File{{Name: "dev.json", MD5: md5Of([]byte("questions"))}}}
	if c, read := compared(t, path, CompareOptions{Items: []Item{it}}); c.Files != 1 || c.Published != 1 || read != 1 {
		t.Errorf("%+v, %d files read", c, read)
	}
	if _, read := compared(t, path, CompareOptions{Items: []Item{it}}); read != 0 {
		t.Errorf("%d files read of an unchanged data set", read)
	}
}
