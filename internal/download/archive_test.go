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
		case strings.HasSuffix(e.name, "/"):
			h.Typeflag = tar.TypeDir
		}
		must(t, w.WriteHeader(h))
		io.WriteString(w, e.data)
	}
	must(t, w.Close())
	return b.Bytes()
}

func zipOf(t testing.TB, entries ...entry) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, e := range entries {
		h := &zip.FileHeader{Name: e.name, Method: zip.Deflate}
		h.SetMode(0o644)
		if e.link != "" {
			h.SetMode(0o777 | fs.ModeSymlink)
			e.data = e.link
		}
		f, err := w.CreateHeader(h)
		must(t, err)
		io.WriteString(f, e.data)
	}
	must(t, w.Close())
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
	return s, model(File{Name: name, URLs: []string{s.URL + "/" + name}, MD5: md5Of(data), Unpack: &u})
}

// bzip2Hello is a tar archive with the file hello.txt ("hello\n"), made by tar cj.
const bzip2Hello = "QlpoOTFBWSZTWTb5QdsAAHV7hMkQAERAAW+AAIBiRJ5AAACACCAAdQ1TyamjTTRp6hhNqCSmiaAyAGhpSrsHMhBGACROdpLO+JJySBl2w+jPfAFumSuMolCKIbtsz7Kej3mJ1DeWFwFCi8K4RibDc3JIPxdyRThQkDb5Qds="

func TestUnpack(t *testing.T) {
	entries := []entry{{name: "top/"}, {name: "top/a.txt", data: "A"}, {name: "top/deep/b.bin", data: strings.Repeat("b", 5000)}, {name: "other.txt", data: "o"}}
	hello, err := base64.StdEncoding.DecodeString(bzip2Hello)
	must(t, err)
	for name, c := range map[string]struct {
		data []byte
		u    Unpack
		want map[string]string
	}{
		"x.tar":       {tarOf(t, entries...), Unpack{}, map[string]string{"top/a.txt": "A", "top/deep/b.bin": strings.Repeat("b", 5000), "other.txt": "o"}},
		"x.tar.gz":    {gzipOf(tarOf(t, entries...)), Unpack{Strip: 1}, map[string]string{"a.txt": "A", "deep/b.bin": strings.Repeat("b", 5000)}},
		"x.tar.bz2":   {hello, Unpack{}, map[string]string{"hello.txt": "hello\n"}},
		"only.zip":    {zipOf(t, entries...), Unpack{Only: []string{"top/*.txt"}, Into: "in"}, map[string]string{"in/top/a.txt": "A"}},
		"renamed.zip": {zipOf(t, entries...), Unpack{Only: []string{"other.txt"}, Rename: map[string]string{"other.txt": "x/y.txt"}}, map[string]string{"x/y.txt": "o"}},
		"dotted.tar":  {tarOf(t, entry{name: "./"}, entry{name: "./a"}, entry{name: "./b/c", data: "c"}), Unpack{}, map[string]string{"a": "", "b/c": "c"}},
		"hard.tar":    {tarOf(t, entry{name: "good", data: "x"}, entry{name: "hard", hard: "good"}), Unpack{}, map[string]string{"good": "x"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, c.u.Format, _ = strings.Cut(name, ".")
			_, it := archiveItem(t, name, c.data, c.u)
			o, _ := options(t)
			if got := mustGet(t, it, o); got.Files != len(c.want) {
				t.Errorf("%d files, want %d", got.Files, len(c.want))
			}
			for file, text := range c.want {
				wantFile(t, o, file, []byte(text))
			}
			wantOnly(t, filepath.Join(o.Dir, stateDir), "SHA256SUMS", "lock", "receipt.json")
		})
	}
}

// An archive without a published checksum may be anybody's, and must not fill the disk.
func TestUnpackIsBoundedWithoutAChecksum(t *testing.T) {
	data := gzipOf(tarOf(t, entry{name: "a", data: "x"}, entry{name: "b", data: strings.Repeat("\x00", 40<<20)}))
	for _, known := range []bool{true, false} {
		_, it := archiveItem(t, "x.tar.gz", data, Unpack{Format: "tar.gz"})
		if !known {
			it.Files[0].MD5 = ""
		}
		o, _ := options(t)
		_, err := Get(t.Context(), it, o)
		if known && err != nil || !known && (err == nil || !strings.Contains(err.Error(), "more than 100 times as large")) {
			t.Errorf("with a checksum %v: %v", known, err)
		}
	}
}

// Whatever becomes of an archive, nothing may appear or change outside the folder.
func TestUnpackStaysInTheFolder(t *testing.T) {
	for name, c := range map[string]struct {
		entries []entry
		wrong   string // "": the download succeeds without the entry
	}{
		"a step up":                {[]entry{{name: "../evil", data: "x"}}, "is not a clean path"},
		"a step up that ends well": {[]entry{{name: "../item/evil", data: "x"}}, "is not a clean path"},
		"a step up, not wanted":    {[]entry{{name: "good", data: "x"}, {name: "../unwanted", data: "x"}}, "is not a clean path"},
		"the root":                 {[]entry{{name: "/evil", data: "x"}}, "is not a clean path"},
		"a line of SHA256SUMS":     {[]entry{{name: "a\n" + sha256Of(nil) + "  precious", data: "x"}}, "is not a clean path"},
		"our own folder":           {[]entry{{name: ".mlperf-download/receipt.json", data: "x"}}, "is ours"},
		"a link up, and a file through it": {
			[]entry{{name: "good", data: "x"}, {name: "l", link: ".."}, {name: "l/evil", data: "x"}}, ""},
		"a link to a file, and a file over it": {
			[]entry{{name: "good", data: "x"}, {name: "outside", link: "../outside"}, {name: "outside", data: "changed"}}, ""},
	} {
		for format, pack := range map[string]func(testing.TB, ...entry) []byte{"tar": tarOf, "zip": zipOf} {
			t.Run(name+" in "+format, func(t *testing.T) {
				_, it := archiveItem(t, "x."+format, pack(t, c.entries...), Unpack{Format: format})
				o, n := options(t)
				outside := put(t, filepath.Dir(o.Dir), "outside", "untouched")
				if c.wrong != "" {
					wantError(t, it, o, c.wrong)
				} else if mustGet(t, it, o); !n.has("left out 1 entries that are not files") {
					t.Errorf("notes %q", n.lines)
				}
				wantOnly(t, filepath.Dir(o.Dir), "item", "outside")
				if data, err := os.ReadFile(outside); err != nil || string(data) != "untouched" {
					t.Errorf("the file outside has %q, %v", data, err)
				}
			})
		}
	}
	t.Run("through a link of the user's", func(t *testing.T) {
		_, it := archiveItem(t, "x.tar", tarOf(t, entry{name: "l/evil", data: "x"}), Unpack{Format: "tar"})
		o, _ := options(t)
		must(t, os.MkdirAll(o.Dir, 0o755))
		must(t, os.Symlink("..", filepath.Join(o.Dir, "l")))
		wantError(t, it, o, "escapes from parent")
		wantOnly(t, filepath.Dir(o.Dir), "item")
	})
}

// A broken archive is an error; if no checksum tells whether it came whole, it is fetched anew the next time.
func TestUnpackRefusesBrokenArchives(t *testing.T) {
	good := tarOf(t, entry{name: "a", data: strings.Repeat("a", 2000)}, entry{name: "b", data: strings.Repeat("b", 2000)})
	damaged := gzipOf(good)
	damaged[len(damaged)-8] ^= 1
	for name, c := range map[string]struct {
		format, wrong string
		data          []byte
	}{
		"a tar that ends early": {"tar", "unexpected EOF", good[:2000]},
		"a zip without its end": {"zip", "not a valid zip file", zipOf(t, entry{name: "a", data: "a"})[:20]},
		"no gzip":               {"tar.gz", "invalid header", good},
		"no tar":                {"tar", "invalid tar header", randomBytes(2000)},
		"another checksum":      {"tar.gz", "gzip: invalid checksum", damaged},
		"no end of gzip":        {"tar.gz", "unexpected EOF", gzipOf(good)[:len(gzipOf(good))-3]},
		"nothing wanted":        {"tar", "none of the wanted files", tarOf(t)},
		"a file is missing":     {"tar", "x has no a", tarOf(t, entry{name: "b", data: "B"})},
	} {
		t.Run(name, func(t *testing.T) {
			s, it := archiveItem(t, "x", c.data, Unpack{Format: c.format})
			it.Files[0].Inside = map[string]string{"a": md5Of([]byte(strings.Repeat("a", 2000)))}
			o, _ := options(t)
			wantError(t, it, o, c.wrong)
			s.sent.Store(0)
			if wantError(t, it, o, c.wrong); s.sent.Load() > 0 {
				t.Error("an archive with a checksum was fetched again")
			}
			it.Files[0].MD5 = ""
			wantError(t, it, o, "so it was removed")
			right := good
			switch c.format {
			case "zip":
				right = zipOf(t, entry{name: "a", data: strings.Repeat("a", 2000)})
			case "tar.gz":
				right = gzipOf(good)
			}
			s.put("x", right)
			mustGet(t, it, o)
			wantFile(t, o, "a", []byte(strings.Repeat("a", 2000)))
		})
	}
}

func TestGetKeepsArchives(t *testing.T) {
	data := tarOf(t, entry{name: "a", data: "A"})
	_, it := archiveItem(t, "x.tar", data, Unpack{Format: "tar"})
	o, _ := options(t)
	o.KeepArchives = true
	mustGet(t, it, o)
	wantFile(t, o, "x.tar", data)
	wantFile(t, o, "a", []byte("A"))
}

// FuzzEntryPath: whatever an archive calls its entries, they stay below the folder.
func FuzzEntryPath(f *testing.F) {
	for _, name := range []string{"a/b", "../x", "/x", "a/../../x", `..\x`, "./a", "a//b", ".mlperf-download/x", "a/./..", "\x00", "..", "val.txt"} {
		f.Add(name, 0, "")
		f.Add(name, 1, "in/to")
	}
	f.Fuzz(func(t *testing.T, name string, strip int, into string) {
		if strip < 0 || into != "" && checkPath(into) != nil {
			return
		}
		u := Unpack{Format: "zip", Strip: strip, Into: into, Rename: map[string]string{"val.txt": "val_map.txt"}}
		to, err := u.entryPath(name)
		if err == nil && to != "" && (!filepath.IsLocal(to) || firstElement(to) == stateDir || into != "" && !strings.HasPrefix(to, into+"/")) {
			t.Errorf("entryPath(%q) = %q", name, to)
		}
	})
}
