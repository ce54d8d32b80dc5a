package download

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// An entry of an archive for tests.
type entry struct {
	name string
	data string
	link string // a symbolic link to it
	hard string // a hard link to it
	mode fs.FileMode
}

func tarOf(t testing.TB, entries ...entry) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, e := range entries {
		h := &tar.Header{Name: e.name, Size: int64(len(e.data)), Mode: 0o644, Typeflag: tar.TypeReg}
		switch {
		case e.link != "":
			h.Typeflag, h.Linkname, h.Size = tar.TypeSymlink, e.link, 0
		case e.hard != "":
			h.Typeflag, h.Linkname, h.Size = tar.TypeLink, e.hard, 0
		case e.mode&fs.ModeDevice != 0:
			h.Typeflag = tar.TypeChar
		case strings.HasSuffix(e.name, "/"):
			h.Typeflag = tar.TypeDir
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		io.WriteString(w, e.data)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func zipOf(t testing.TB, entries ...entry) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, e := range entries {
		h := &zip.FileHeader{Name: e.name, Method: zip.Deflate}
		h.SetMode(0o644 | e.mode)
		if e.link != "" {
			h.SetMode(0o777 | fs.ModeSymlink)
			e.data = e.link
		}
		f, err := w.CreateHeader(h)
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(f, e.data)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func gzipOf(data []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	w.Write(data)
	w.Close()
	return b.Bytes()
}

// archiveItem serves an archive and returns the item of it.
func archiveItem(t *testing.T, name string, data []byte, u Unpack) (*server, Item) {
	s := newServer(t)
	s.put(name, data)
	_, it := plainItem(File{Name: name, URLs: []string{s.URL + "/" + name}, MD5: md5Of(data), Unpack: &u})
	return s, it
}

// bzip2Hello is a tar archive with the file hello.txt ("hello\n"), made by tar cj.
const bzip2Hello = "QlpoOTFBWSZTWTb5QdsAAHV7hMkQAERAAW+AAIBiRJ5AAACACCAAdQ1TyamjTTRp6hhNqCSmiaAyAGhpSrsHMhBGACROdpLO+JJySBl2w+jPfAFumSuMolCKIbtsz7Kej3mJ1DeWFwFCi8K4RibDc3JIPxdyRThQkDb5Qds="

func TestArchivesAreUnpacked(t *testing.T) {
	entries := []entry{{name: "top/"}, {name: "top/a.txt", data: "A"}, {name: "top/deep/b.bin", data: strings.Repeat("b", 5000)}, {name: "other.txt", data: "o"}}
	for name, c := range map[string]struct {
		data []byte
		u    Unpack
		want map[string]string
	}{
		"x.tar":       {tarOf(t, entries...), Unpack{}, map[string]string{"top/a.txt": "A", "top/deep/b.bin": strings.Repeat("b", 5000), "other.txt": "o"}},
		"x.tar.gz":    {gzipOf(tarOf(t, entries...)), Unpack{Strip: 1}, map[string]string{"a.txt": "A", "deep/b.bin": strings.Repeat("b", 5000)}},
		"only.zip":    {zipOf(t, entries...), Unpack{Only: []string{"top/*.txt"}, Into: "in"}, map[string]string{"in/top/a.txt": "A"}},
		"renamed.zip": {zipOf(t, entries...), Unpack{Only: []string{"other.txt"}, Rename: map[string]string{"other.txt": "x/y.txt"}}, map[string]string{"x/y.txt": "o"}},
		"dotted.tar":  {tarOf(t, entry{name: "./"}, entry{name: "./a"}, entry{name: "./b/c", data: "c"}), Unpack{}, map[string]string{"a": "", "b/c": "c"}},
	} {
		t.Run(name, func(t *testing.T) {
			c.u.Format = strings.TrimPrefix(name[strings.Index(name, "."):], ".")
			_, it := archiveItem(t, name, c.data, c.u)
			o, _ := options(t)
			got := mustGet(t, it, o)
			for file, text := range c.want {
				wantFile(t, o, file, []byte(text))
			}
			if got.Files != len(c.want) {
				t.Errorf("%d files, want %d", got.Files, len(c.want))
			}
			if _, err := os.Stat(filepath.Join(o.Dir, flat(name))); err == nil {
				t.Error("the archive was left")
			}
		})
	}
}

func TestBzip2ArchivesAreUnpacked(t *testing.T) {
	data, err := base64.StdEncoding.DecodeString(bzip2Hello)
	if err != nil {
		t.Fatal(err)
	}
	_, it := archiveItem(t, "x.tar.bz2", data, Unpack{Format: "tar.bz2"})
	o, _ := options(t)
	mustGet(t, it, o)
	wantFile(t, o, "hello.txt", []byte("hello\n"))
}

// TestNoArchiveLeavesItsFolder has archives that try. Whatever becomes of them, nothing
// may appear or change outside the folder.
func TestNoArchiveLeavesItsFolder(t *testing.T) {
	for name, c := range map[string]struct {
		entries []entry
		wrong   string // "": the download succeeds without the entry
	}{
		"a step up":                {[]entry{{name: "../evil", data: "x"}}, "leaves the folder"},
		"a step up inside":         {[]entry{{name: "a/../../evil", data: "x"}}, "leaves the folder"},
		"a step up that ends well": {[]entry{{name: "../item/evil", data: "x"}}, "leaves the folder"},
		"a step up, not wanted":    {[]entry{{name: "good", data: "x"}, {name: "../unwanted", data: "x"}}, "leaves the folder"},
		"the root":                 {[]entry{{name: "/evil", data: "x"}}, "leaves the folder"},
		"a drive":                  {[]entry{{name: "C:evil", data: "x"}}, "no backslash or colon"},
		"backslashes":              {[]entry{{name: `..\evil`, data: "x"}}, "no backslash or colon"},
		"a line of its own":        {[]entry{{name: "a\n" + sha256Of(nil) + "  precious", data: "x"}}, "no control characters"},
		"a bell":                   {[]entry{{name: "a\a", data: "x"}}, "no control characters"},
		"our own folder":           {[]entry{{name: ".mlperf-download/receipt.json", data: "x"}}, "is ours"},
		"our own folder, shouted":  {[]entry{{name: ".MLPERF-Download/SHA256SUMS", data: "x"}}, "is ours"},
		"a link up":                {[]entry{{name: "good", data: "x"}, {name: "l", link: "../outside"}}, ""},
		"a link up, and a file through it": {
			[]entry{{name: "good", data: "x"}, {name: "l", link: ".."}, {name: "l/evil", data: "x"}}, ""},
		"a link to a file, and a file over it": {
			[]entry{{name: "good", data: "x"}, {name: "outside", link: "../outside"}, {name: "outside", data: "changed"}}, ""},
	} {
		for format, pack := range map[string]func(testing.TB, ...entry) []byte{"tar": tarOf, "zip": zipOf} {
			t.Run(name+" in "+format, func(t *testing.T) {
				_, it := archiveItem(t, "x."+format, pack(t, c.entries...), Unpack{Format: format})
				o, n := options(t)
				outside := filepath.Join(filepath.Dir(o.Dir), "outside")
				if err := os.WriteFile(outside, []byte("untouched"), 0o644); err != nil {
					t.Fatal(err)
				}
				_, err := Get(t.Context(), manifestOf(it), it, o)
				switch {
				case c.wrong != "" && (err == nil || !strings.Contains(err.Error(), c.wrong)):
					t.Errorf("Get = %v, want %q", err, c.wrong)
				case c.wrong == "" && (err != nil || !n.has("is not a file")):
					t.Errorf("Get = %v, notes %q", err, n.lines)
				}
				wantOnly(t, filepath.Dir(o.Dir), "item", "outside")
				if data, err := os.ReadFile(outside); err != nil || string(data) != "untouched" {
					t.Errorf("the file outside has %q, %v", data, err)
				}
			})
		}
	}
}

// wantOnly checks what a folder holds.
func wantOnly(t *testing.T, dir string, names ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if strings.Join(got, " ") != strings.Join(names, " ") {
		t.Errorf("%s holds %q, want %q", dir, got, names)
	}
}

func TestALinkThatIsThereAlreadyIsNotFollowedOut(t *testing.T) {
	_, it := archiveItem(t, "x.tar", tarOf(t, entry{name: "l/evil", data: "x"}), Unpack{Format: "tar"})
	o, _ := options(t)
	if err := os.MkdirAll(o.Dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("..", filepath.Join(o.Dir, "l")); err != nil {
		t.Skip(err)
	}
	if _, err := Get(t.Context(), manifestOf(it), it, o); err == nil {
		t.Error("Get succeeds")
	}
	wantOnly(t, filepath.Dir(o.Dir), "item")
}

func TestSpecialEntriesAreLeftOut(t *testing.T) {
	data := tarOf(t, entry{name: "good", data: "x"}, entry{name: "hard", hard: "good"}, entry{name: "dev", mode: fs.ModeDevice})
	_, it := archiveItem(t, "x.tar", data, Unpack{Format: "tar"})
	o, n := options(t)
	mustGet(t, it, o)
	wantOnly(t, o.Dir, stateDir, "good")
	if !n.has("left out hard") || !n.has("left out dev") {
		t.Errorf("notes: %q", n.lines)
	}
}

// tarAnnouncing is an archive whose entry is said to have so many bytes.
func tarAnnouncing(t *testing.T, size int64) []byte {
	var b bytes.Buffer
	if err := tar.NewWriter(&b).WriteHeader(&tar.Header{Name: "zeros", Size: size, Mode: 0o644}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// zipAnnouncing is tarAnnouncing for zip.
func zipAnnouncing(t *testing.T, size int64) []byte {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	f, err := w.CreateRaw(&zip.FileHeader{Name: "zeros", Method: zip.Store, CompressedSize64: 3, UncompressedSize64: uint64(size)})
	if err != nil {
		t.Fatal(err)
	}
	io.WriteString(f, "abc")
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// damagedGzip is data under a checksum that is not theirs, at the very end.
func damagedGzip(data []byte) []byte {
	packed := gzipOf(data)
	packed[len(packed)-8] ^= 1
	return packed
}

func TestBrokenArchivesAreErrors(t *testing.T) {
	good := tarOf(t, entry{name: "a", data: strings.Repeat("a", 2000)}, entry{name: "b", data: strings.Repeat("b", 2000)})
	for name, c := range map[string]struct {
		file, wrong string
		data        []byte
	}{
		"a bomb in tar.gz":      {"x.tar.gz", "more than 50 times the archive", gzipOf(tarAnnouncing(t, minExpand+1))},
		"a bomb in zip":         {"x.zip", "more than 50 times the archive", zipAnnouncing(t, minExpand+1)},
		"a zip with a lie":      {"x.zip", "unexpected EOF", zipAnnouncing(t, 5000)},
		"a tar that ends early": {"x.tar", "unexpected EOF", good[:2000]},
		"a zip without its end": {"x.zip", "not a valid zip file", zipOf(t, entry{name: "a", data: "a"})[:20]},
		"no gzip":               {"x.tar.gz", "invalid header", good},
		"no tar":                {"x.tar", "invalid tar header", randomBytes(2000)},
		"another checksum":      {"x.tar.gz", "gzip: invalid checksum", damagedGzip(good)},
		"no end of gzip":        {"x.tar.gz", "unexpected EOF", gzipOf(good)[:len(gzipOf(good))-3]},
		"endless zeros":         {"x.tar.gz", "behind its last entry there is more than", gzipOf(append(bytes.Clone(good), make([]byte, minExpand)...))},
		"nothing wanted":        {"x.tar", "none of the files that are wanted", tarOf(t)},
	} {
		t.Run(name, func(t *testing.T) {
			format := strings.TrimPrefix(c.file, "x.")
			_, it := archiveItem(t, c.file, c.data, Unpack{Format: format})
			o, _ := options(t)
			_, err := Get(t.Context(), manifestOf(it), it, o)
			if err == nil || !strings.Contains(err.Error(), c.wrong) || !strings.Contains(err.Error(), c.file) {
				t.Errorf("Get = %v, want %q", err, c.wrong)
			}
		})
	}
}

func TestAnInterruptedUnpackingBeginsWithTheArchiveThatIsThere(t *testing.T) {
	data := tarOf(t, entry{name: "a", data: "A"}, entry{name: "b", data: "B"})
	s, it := archiveItem(t, "x.tar", data, Unpack{Format: "tar"})
	it.Files[0].Inside = map[string]string{"b": md5Of([]byte("something else"))}
	o, _ := options(t)
	if _, err := Get(t.Context(), manifestOf(it), it, o); err == nil || !strings.Contains(err.Error(), "has MD5") {
		t.Fatalf("Get = %v, want a wrong checksum inside the archive", err)
	}
	before := s.requests.Load()
	it.Files[0].Inside["b"] = md5Of([]byte("B"))
	mustGet(t, it, o)
	wantFile(t, o, "a", []byte("A"))
	if s.requests.Load() != before {
		t.Error("the archive was fetched again")
	}
}

func TestArchivesMayBeKept(t *testing.T) {
	data := tarOf(t, entry{name: "a", data: "A"})
	_, it := archiveItem(t, "x.tar", data, Unpack{Format: "tar"})
	o, _ := options(t)
	o.KeepArchives = true
	mustGet(t, it, o)
	wantFile(t, o, "x.tar", data)
	wantFile(t, o, "a", []byte("A"))
}
