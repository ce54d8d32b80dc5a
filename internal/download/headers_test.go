package download

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/png"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/accuracy"
)

func pngOf(t *testing.T, width, height int) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, width, height))); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// turned is a JPEG file with an EXIF orientation before its other segments.
func turned(jpeg []byte, orientation byte) []byte {
	exif := append([]byte("Exif\x00\x00II*\x00\x08\x00\x00\x00\x01\x00\x12\x01\x03\x00\x01\x00\x00\x00"), orientation, 0, 0, 0, 0, 0, 0, 0)
	segment := append([]byte{0xff, 0xe1, 0, byte(len(exif) + 2)}, exif...)
	return slices.Concat(jpeg[:2], segment, jpeg[2:])
}

func TestTheSizeOfAnImageIsReadOfItsHeader(t *testing.T) {
	jpeg, width, height := testJPEG(t, 0)
	for _, c := range []struct {
		name          string
		data          []byte
		width, height int
		err           string // empty: none
	}{
		{"a JPEG file", jpeg, width, height, ""},
		{"one that lies on its side", turned(jpeg, 6), height, width, ""},
		{"one that is upside down", turned(jpeg, 3), width, height, ""},
		{"a PNG file", pngOf(t, 7, 5), 7, 5, ""},
		{"a JPEG file without its end", jpeg[:len(jpeg)/2], 0, 0, "the JPEG file ends early"},
		{"a JPEG file with bytes behind it", append(slices.Clone(jpeg), "trailing"...), width, height, ""},
		{"a PNG file without its end", pngOf(t, 300, 300)[:60], 300, 300, "the PNG file ends early"},
		{"a PNG file without its header", pngOf(t, 7, 5)[:10], 0, 0, "EOF"},
		{"nothing", nil, 0, 0, "JPEG"},
		{"text", []byte("<html></html>"), 0, 0, "JPEG"},
	} {
		w, h, err := imageHeader(c.data)
		switch {
		case c.err == "" && (err != nil || w != c.width || h != c.height):
			t.Errorf("%s: %d × %d, %v, want %d × %d", c.name, w, h, err, c.width, c.height)
		case c.err != "" && (err == nil || !strings.Contains(strings.ToLower(err.Error()), strings.ToLower(c.err))):
			t.Errorf("%s: %v, want %q", c.name, err, c.err)
		}
	}
}

// verificationOf looks at a folder with some files.
func verificationOf(t *testing.T, it Item, files map[string][]byte) *verification {
	t.Helper()
	dir := t.TempDir()
	for name, data := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		mustDo(t, os.MkdirAll(filepath.Dir(path), 0o755))
		mustDo(t, os.WriteFile(path, data, 0o644))
	}
	root, err := os.OpenRoot(dir)
	mustDo(t, err)
	t.Cleanup(func() { root.Close() })
	return &verification{VerifyOptions: VerifyOptions{Dir: dir, MaxProblems: 10, Observer: silence{}}, item: it, root: root, report: &Report{}}
}

func TestWhatIsWrongWithAnImageIsSaid(t *testing.T) {
	jpeg, width, height := testJPEG(t, 0)
	v := verificationOf(t, Item{}, map[string][]byte{"a.jpg": jpeg, "half.jpg": jpeg[:len(jpeg)/2], "b.png": pngOf(t, 7, 5)})
	for _, c := range []struct {
		name          string
		width, height int
		want          string // empty: nothing
	}{
		{"a.jpg", width, height, ""}, {"a.jpg", 0, 0, ""}, {"b.png", 7, 5, ""},
		{"a.jpg", width + 1, height, fmt.Sprintf("is %d × %d pixels, listed are %d × %d", width, height, width+1, height)},
		{"a.jpg", height, width, fmt.Sprintf("is %d × %d pixels, listed are %d × %d", width, height, height, width)},
		{"half.jpg", width, height, "the JPEG file ends early"},
		{"c.jpg", 1, 1, "is missing"},
		{"../a.jpg", 1, 1, `path "../a.jpg" leaves the folder`},
		{"/etc/passwd", 1, 1, `path "/etc/passwd" leaves the folder`},
		{".", 1, 1, `path ".": want a clean path`},
	} {
		if err := v.checkImage(c.name, c.width, c.height); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s as %d × %d: %v, want %q", c.name, c.width, c.height, err, c.want)
		}
	}
}

func TestTheListOfImageNetIsLookedThrough(t *testing.T) {
	jpeg, _, _ := testJPEG(t, 0)
	for _, c := range []struct {
		name, list     string
		samples        int
		fine, problems []string
	}{
		{"as it should be", "a.JPEG 0\nb.JPEG 999\n", 2,
			[]string{"val_map.txt lists 2 samples", "val_map.txt: every image once, all classes from 0 to 999", "2 images are there, with complete headers and ends"}, nil},
		{"an image too few", "a.JPEG 0\n", 2, []string{"every image once", "1 images are there"}, []string{"val_map.txt lists 1 samples, want 2"}},
		{"an image twice", "a.JPEG 0\nb.JPEG 5\na.JPEG 1\n", 3, []string{"lists 3 samples", "3 images are there"}, []string{"val_map.txt: line 3: a.JPEG is listed already in line 1"}},
		{"classes that there are not", "a.JPEG -1\nb.JPEG 1000\n", 2, []string{"lists 2 samples", "2 images are there"},
			[]string{"val_map.txt: line 1: the class of a.JPEG is -1, want 0 to 999", "val_map.txt: line 2: the class of b.JPEG is 1000, want 0 to 999"}},
		{"an image that is not there", "a.JPEG 0\nc.JPEG 5\n", 2, []string{"lists 2 samples", "every image once"}, []string{"c.JPEG: is missing"}},
		{"a list that is none", "a.JPEG\n", 1, nil, []string{"val_map.txt"}},
	} {
		v := verificationOf(t, Item{Samples: c.samples}, map[string][]byte{valMap: []byte(c.list), "a.JPEG": jpeg, "b.JPEG": jpeg})
		if err := checkImageNet(t.Context(), v); err != nil {
			t.Fatal(err)
		}
		wantLines(t, c.name+", fine", v.report.Fine, c.fine)
		wantLines(t, c.name+", problems", v.report.Problems, c.problems)
	}
	v := verificationOf(t, Item{}, map[string][]byte{valMap: []byte("a.JPEG 0\n"), "a.JPEG": jpeg})
	if err := checkImageNet(t.Context(), v); err != nil || len(v.report.Unknown) != 1 || v.report.Unknown[0] != "val_map.txt lists 1 samples; how many there should be is not known" {
		t.Errorf("of a number that nobody knows: %v, %q", err, v.report.Unknown)
	}
	v = verificationOf(t, Item{}, nil)
	if err := checkImageNet(t.Context(), v); err != nil || len(v.report.Problems) != 1 || !strings.Contains(v.report.Problems[0], valMap) {
		t.Errorf("without a list: %v, %q", err, v.report.Problems)
	}
	stopped, stop := context.WithCancelCause(t.Context())
	stop(errors.New("enough"))
	v = verificationOf(t, Item{Samples: 1}, map[string][]byte{valMap: []byte("a.JPEG 0\n"), "a.JPEG": jpeg})
	if err := checkImageNet(stopped, v); err == nil || err.Error() != "enough" {
		t.Errorf("when nobody waits: %v", err)
	}
}

// wantLines compares lines with parts of what they should say.
func wantLines(t *testing.T, what string, got, want []string) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: %q, want %q", what, got, want)
		return
	}
	for i := range want {
		if !strings.Contains(got[i], want[i]) {
			t.Errorf("%s: %q, want %q", what, got[i], want[i])
		}
	}
}

func TestAnnotationsHaveToAgreeWithThemselves(t *testing.T) {
	truth := func(change func(*accuracy.GroundTruth)) *accuracy.GroundTruth {
		g := &accuracy.GroundTruth{
			Images:      []accuracy.Image{{ID: 1, FileName: "a.jpg"}, {ID: 2, FileName: "b.jpg"}},
			Annotations: []accuracy.Annotation{{ID: 1, ImageID: 1, CategoryID: 0}, {ID: 2, ImageID: 2, CategoryID: 1}},
			Categories:  []accuracy.Category{{ID: 0, Name: "cat"}, {ID: 1, Name: "dog"}},
		}
		change(g)
		return g
	}
	classes := []string{"cat", "dog"}
	for _, c := range []struct {
		name    string
		change  func(*accuracy.GroundTruth)
		classes []string
		want    string // empty: fine
	}{
		{"as they should be", func(*accuracy.GroundTruth) {}, classes, ""},
		{"with any categories", func(g *accuracy.GroundTruth) { g.Categories[1].Name = "cow" }, nil, ""},
		{"an image twice", func(g *accuracy.GroundTruth) { g.Images[1].FileName = "a.jpg" }, classes, "labels.json: a.jpg is listed twice"},
		{"an object of no image", func(g *accuracy.GroundTruth) { g.Annotations[0].ImageID = 9 }, classes, "labels.json: "},
		{"another category", func(g *accuracy.GroundTruth) { g.Categories[1].Name = "cow" }, classes, `labels.json: category 1 is "cow" with the number 1, want "dog"`},
		{"another number", func(g *accuracy.GroundTruth) { g.Categories[1].ID, g.Annotations[1].CategoryID = 2, 2 }, classes, `labels.json: category 1 is "dog" with the number 2, want "dog"`},
		{"a category too many", func(g *accuracy.GroundTruth) { g.Categories = append(g.Categories, accuracy.Category{ID: 2}) }, classes, "labels.json: 3 categories, want 2"},
	} {
		v := verificationOf(t, Item{}, nil)
		v.checkTruth(truth(c.change), "labels.json", c.classes)
		if c.want == "" {
			wantLines(t, c.name, v.report.Fine, []string{"labels.json: 2 objects of 2 categories, all in images that are listed"})
		}
		if c.want != "" && (len(v.report.Problems) != 1 || len(v.report.Fine) > 0 || !strings.Contains(v.report.Problems[0], c.want)) {
			t.Errorf("%s: problems %q, want %q", c.name, v.report.Problems, c.want)
		}
	}
}

func TestTheBeginningOfAFileTellsWhatItIsNot(t *testing.T) {
	for _, c := range []struct {
		name, head, contentType, address, want string
	}{
		{"a page", "<!DOCTYPE html><title>Sign in</title>", "", "https://a/m.onnx", `an HTML page ("Sign in")`},
		{"a page in capitals, on several lines", "<HTML><HEAD>\n<TITLE id=x>\n Not &lt;here&gt; \n</TITLE>", "", "https://a/m.onnx", `an HTML page ("Not <here>")`},
		{"a page without a title", "<html><body>", "", "https://a/m.onnx", "an HTML page"},
		{"a page behind a byte order mark", "\xef\xbb\xbf\r\n<p>no</p>", "text/html; charset=utf-8", "https://a/m.onnx", "an HTML page"},
		{"a page that is asked for", "<html>", "text/html", "https://a/index.html?x=1", ""},
		{"an address that only looks like one of a page", "<html>", "text/html", "https://a/index.html/m.onnx", "an HTML page"},
		{"a file called a page", "\x08\x07binary", "text/html", "https://a/m.onnx", ""},
		{"an error in XML", "<?xml version=\"1.0\"?>\n<Error><Code>AccessDenied</Code></Error>", "application/xml", "https://a/m.onnx", "an XML error message"},
		{"XML that is no error", "<?xml version=\"1.0\"?>\n<net/>", "application/xml", "https://a/m.bin", ""},
		{"XML that is asked for", "<?xml version=\"1.0\"?><Error>", "", "https://a/m.XML", ""},
		{"a pointer", "version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "", "https://a/m.onnx", "a Git LFS pointer"},
		{"JSON", `{"error": "no"}`, "application/json", "https://a/m.json", ""},
		{"nothing", "", "text/html", "https://a/m.onnx", ""},
	} {
		if got := impostor([]byte(c.head), c.contentType, c.address); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestContentsAreTheFilesOwn(t *testing.T) {
	for _, c := range []struct {
		encoding, address string
		want              bool
	}{
		{"", "https://a/f", true}, {"identity", "https://a/f", true}, {"Identity", "https://a/f", true},
		{"gzip", "https://a/f.tar", false}, {"gzip", "https://a/f.gz", true}, {"x-gzip", "https://a/F.TGZ?sig=1", true}, {"GZIP", "https://a/f.tar.gz", true},
		{"br", "https://a/f.gz", false}, {"gzip, br", "https://a/f.gz", false}, {"deflate", "https://a/f", false}, {"gzip", "https://a/f.gz/x", false},
	} {
		a := &answer{remote: remote{url: c.address}}
		if got := a.plain(c.encoding); got != c.want {
			t.Errorf("%q of %s is the file's own: %t, want %t", c.encoding, c.address, got, c.want)
		}
	}
}

func TestAnAnswerIsTheRangeThatWasAskedFor(t *testing.T) {
	for _, c := range []struct {
		name     string
		header   string
		length   int64
		from, to int64 // that were asked for
		size     int64 // of the whole, -1: not told
		err      string
	}{
		{"as asked for", "bytes 0-99/1000", 100, 0, 99, 1000, ""},
		{"without a length", "bytes 0-99/1000", -1, 0, 99, 1000, ""},
		{"the end of the file", "bytes 900-999/1000", 100, 900, 1099, 1000, ""},
		{"the whole", "bytes 0-49/50", 50, 0, 99, 50, ""},
		{"another beginning", "bytes 1-99/1000", 99, 0, 99, 0, `answers with the range "bytes 1-99/1000", asked for were the bytes 0 to 99`},
		{"less than asked for", "bytes 0-49/1000", 50, 0, 99, 0, "asked for were the bytes 0 to 99"},
		{"more than asked for", "bytes 0-199/1000", 200, 0, 99, 0, "asked for were the bytes 0 to 99"},
		{"backwards", "bytes 99-0/1000", 1, 99, 199, 0, "asked for were the bytes 99 to 199"},
		{"a size that is not told", "bytes 0-99/*", 100, 0, 99, 0, `with the range "bytes 0-99/*", which is not understood`},
		{"other units", "items 0-99/1000", 100, 0, 99, 0, "which is not understood"},
		{"no range", "", 100, 0, 99, 0, `with the range "", which is not understood`},
		{"a size beyond 63 bits", "bytes 0-99/9223372036854775808", 100, 0, 99, 0, "which is not understood"},
		{"negative", "bytes -1-99/1000", 100, 0, 99, 0, "which is not understood"},
		{"another length", "bytes 0-99/1000", 99, 0, 99, 0, `announces 99 bytes for the range "bytes 0-99/1000"`},
	} {
		a := &answer{remote: remote{url: "https://a/f"}}
		err := a.readRange(&http.Response{Header: http.Header{"Content-Range": {c.header}}, ContentLength: c.length}, c.from, c.to)
		switch {
		case c.err == "" && (err != nil || a.size != c.size || !a.ranges):
			t.Errorf("%s: %+v, %v, want a size of %d", c.name, a.remote, err, c.size)
		case c.err != "" && (err == nil || passing(err) || !strings.HasPrefix(err.Error(), "https://a/f a") || !strings.Contains(err.Error(), c.err)):
			t.Errorf("%s: %v, want for good that %s", c.name, err, c.err)
		}
	}
}

// A file that nobody could have made for a data set is not read into memory, and is named.
func TestAFileWithoutEndIsNotReadIntoMemory(t *testing.T) {
	v := verificationOf(t, Item{}, map[string][]byte{"huge.jpg": nil})
	mustDo(t, os.Truncate(filepath.Join(v.Dir, "huge.jpg"), 1<<40)) // which takes no room
	if err := v.checkImage("huge.jpg", 0, 0); err == nil || err.Error() != "read huge.jpg: it has 1.10 TB, want at most 1.07 GB" {
		t.Errorf("checkImage = %v", err)
	}
	if data, err := readFile(v.root, "huge.jpg"); data != nil || err == nil {
		t.Errorf("readFile returns %d bytes, %v", len(data), err)
	}
}
