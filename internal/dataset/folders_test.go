package dataset

import (
	"errors"
	"fmt"
	"image"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/accuracy"
)

func TestAFewErrorsAreEnough(t *testing.T) {
	for n, want := range map[int]int{0: 0, 1: 1, 5: 5, 6: 6, 100: 6} { // the sixth says that there are more
		c := newFileCheck()
		for i := range n {
			if !c.failed(fmt.Sprintf("place %d", i), errors.New("wrong")) {
				break
			}
		}
		if len(c.errs) != want {
			t.Errorf("of %d errors %d are listed, want %d", n, len(c.errs), want)
		}
		text := fmt.Sprint(c.err())
		if n > 0 && !strings.HasPrefix(text, "place 0: wrong") || n > 5 && !strings.HasSuffix(text, "place 4: wrong\n…") || n == 0 && c.err() != nil {
			t.Errorf("%d errors: %q", n, text)
		}
	}
}

func TestNamesLeadToFilesBelowTheFolder(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "there", "x")
	if err := os.Mkdir(filepath.Join(dir, "folder"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, path, want string }{
		{"there", "there", ""},
		{"a/there", "there", ""}, // the name is that of a list, the path where it was found
		{"../there", "there", "../there is not below the folder"},
		{"/there", "there", "/there is not below the folder"},
		{"", "there", " is not below the folder"},
		{"missing", "missing", "no such file or directory"},
		{"folder", "folder", "is a folder"},
	} {
		err := newFileCheck().add(c.name, filepath.Join(dir, c.path))
		if (err != nil) != (c.want != "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q at %s: %v, want %q", c.name, c.path, err, c.want)
		}
	}
}

// The fingerprint is of names, sizes and times in their order, and not of the folder.
func TestFingerprintsAreOfWhatIsThere(t *testing.T) {
	at := time.Unix(1700000000, 5)
	print := func(edit func(dir string) (names []string)) string {
		dir := t.TempDir()
		put(t, dir, "a", "1")
		put(t, dir, "b", "1")
		names := edit(dir)
		c := newFileCheck()
		for _, name := range names {
			path := filepath.Join(dir, "a")
			if name == "b" {
				path = filepath.Join(dir, "b")
			}
			if err := os.Chtimes(path, at, at.Add(time.Duration(len(readAll(t, path))))); err != nil {
				t.Fatal(err)
			}
			if err := c.add(name, path); err != nil {
				t.Fatal(err)
			}
		}
		return c.fingerprint()
	}
	same := print(func(string) []string { return []string{"a", "b"} })
	if again := print(func(string) []string { return []string{"a", "b"} }); again != same || len(same) != 20 {
		t.Errorf("the same files in another folder are %s, want %s", again, same)
	}
	for name, edit := range map[string]func(dir string) []string{
		"another order": func(string) []string { return []string{"b", "a"} },
		"one file less": func(string) []string { return []string{"a"} },
		"another name":  func(string) []string { return []string{"c", "b"} },
		"another size":  func(dir string) []string { put(t, dir, "a", "12"); return []string{"a", "b"} },
	} {
		if got := print(edit); got == same {
			t.Errorf("with %s the fingerprint is %s, too", name, got)
		}
	}
}

func readAll(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestTheFirstPlaceThatIsThereCounts(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "b/x", "")
	put(t, dir, "c/x", "")
	for _, c := range []struct {
		paths []string
		want  string
	}{
		{[]string{"a", "b", "c"}, "b"}, {[]string{"c", "b"}, "c"}, {[]string{"a", "d"}, "a"}, {[]string{"a", "b/x"}, "b/x"}, {[]string{"."}, "."},
	} {
		if got := firstThere(dir, c.paths); got != filepath.Join(dir, filepath.FromSlash(c.want)) {
			t.Errorf("of %q there is %s, want %s", c.paths, got, c.want)
		}
	}
}

// What the reference made of images lies in another folder, by their names and .npy.
func TestPreparedSamplesAreFoundByTheNameOfTheirImage(t *testing.T) {
	for _, c := range []struct {
		options Options
		want    string
	}{
		{Options{}, "/data/val2017/a.jpg"},
		{Options{Preprocessed: "/cache/NCHW"}, "/cache/NCHW/val2017/a.jpg.npy"},
	} {
		if got := c.options.path("/data", "val2017/a.jpg", "val2017/a.jpg"); got != filepath.FromSlash(c.want) {
			t.Errorf("%+v: %s, want %s", c.options, got, c.want)
		}
	}
}

// Images that nothing is annotated in by a category that is listed are those that the reference leaves out.
func TestImagesWithoutObjectsAreLeftOut(t *testing.T) {
	rng := rand.New(rand.NewPCG(52, 1))
	for range 100 {
		var truth accuracy.GroundTruth
		truth.Categories = append(truth.Categories, accuracy.Category{ID: 1}, accuracy.Category{ID: 5})
		for id := range int64(1 + rng.IntN(10)) {
			truth.Images = append(truth.Images, accuracy.Image{ID: 10 - id})
		}
		for range rng.IntN(12) {
			truth.Annotations = append(truth.Annotations, accuracy.Annotation{ImageID: int64(rng.IntN(12)), CategoryID: int64(rng.IntN(6))})
		}
		var want []int64
		for _, image := range truth.Images {
			if slices.ContainsFunc(truth.Annotations, func(a accuracy.Annotation) bool {
				return a.ImageID == image.ID && (a.CategoryID == 1 || a.CategoryID == 5)
			}) {
				want = append(want, image.ID)
			}
		}
		var got []int64
		for _, image := range annotated(&truth) {
			got = append(got, image.ID)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("images %v of %+v, want %v", got, truth.Annotations, want)
		}
	}
}

// A count takes the first samples; the fingerprint is that of all, so that what was made of them is found whatever the count.
func TestCountsTakeTheFirst(t *testing.T) {
	coco := cocoFolder(t)
	net := folder(t, "b 1\na 2\nc 3\n", "a", "b", "c")
	ade := adeFolder(t)
	type set interface {
		Len() int
		Fingerprint() string
	}
	for name, open := range map[string]func(o Options) (set, error){
		"COCO":     func(o Options) (set, error) { return OpenCOCO(coco, o) },
		"ImageNet": func(o Options) (set, error) { return OpenImageNet(net, o) },
		"ADE20K":   func(o Options) (set, error) { return OpenADE20K(ade, o) },
	} {
		all, err := open(Options{})
		if err != nil {
			t.Fatal(err)
		}
		one, err := open(Options{Count: 1})
		if err != nil || one.Len() != 1 || one.Fingerprint() != all.Fingerprint() || all.Len() < 2 {
			t.Errorf("%s: %d samples of %d, %v, with the fingerprint %s of %s", name, one.Len(), all.Len(), err, one.Fingerprint(), all.Fingerprint())
		}
		if whole, err := open(Options{Count: all.Len()}); err != nil || whole.Len() != all.Len() {
			t.Errorf("%s: %v of as many as there are", name, err)
		}
		if _, err := open(Options{Count: all.Len() + 1}); err == nil || !strings.HasPrefix(err.Error(), "opening "+name+": ") {
			t.Errorf("%s: one more than there are: %v", name, err)
		}
	}
}

func TestSamplesAreReadByManyAtOnce(t *testing.T) {
	dir := cocoFolder(t)
	d, err := OpenCOCO(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var wait sync.WaitGroup
	for worker := range 8 {
		wait.Go(func() {
			for i := range 30 {
				at := (i + worker) % d.Len()
				data, err := d.Read(at)
				if want := d.Image(at).FileName; err != nil || string(data) != want {
					t.Errorf("sample %d is %q, want %q, %v", at, data, want, err)
				}
			}
		})
	}
	wait.Wait()
}

func TestImagesThatVanishAreErrors(t *testing.T) {
	dir := cocoFolder(t)
	d, err := OpenCOCO(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(d.Path(1)); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Read(1); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an image that was removed: %v", err)
	}
	if _, err := d.Read(0); err != nil {
		t.Errorf("the others: %v", err)
	}
}

func TestPicturesAreKnownByTheirSize(t *testing.T) {
	png := picture(t, image.NewGray(image.Rect(0, 0, 7, 5)), 1)
	jpg := string(jpegOf(t, 9, 4))
	for _, c := range []struct {
		name, data string
		want       image.Point
		err        string
	}{
		{"PNG", png, image.Pt(7, 5), ""},
		{"PNG without its pixels", png[:40], image.Pt(7, 5), ""},
		{"PNG without its header", png[:12], image.Point{}, "unexpected EOF"},
		{"JPEG", jpg, image.Pt(9, 4), ""},
		{"JPEG without its pixels", jpg[:strings.Index(jpg, "\xff\xda")+14], image.Pt(9, 4), ""},
		{"JPEG without its header", jpg[:20], image.Point{}, "marker FF DB: file ends before any image data"},
		{"GIF", "GIF89a", image.Point{}, "it is neither a JPEG nor a PNG picture"},
		{"nothing", "", image.Point{}, "it is neither a JPEG nor a PNG picture"},
	} {
		got, err := sizeOf([]byte(c.data))
		if (err != nil) != (c.err != "") || err != nil && err.Error() != c.err || err == nil && got != c.want {
			t.Errorf("%s: %v, %v, want %v, %q", c.name, got, err, c.want, c.err)
		}
	}
}

// A picture with a profile of 100 kB before its size is read further than most.
func TestSizesBehindALongHeadAreFound(t *testing.T) {
	jpg := jpegOf(t, 30, 20)
	for _, segments := range []int{0, 1, 2, 5} {
		data := slices.Clone(jpg[:2])
		for range segments {
			data = append(append(data, 0xff, 0xe2, 0xff, 0xff), make([]byte, 65533)...)
		}
		path := filepath.Join(t.TempDir(), "x.jpg")
		if err := os.WriteFile(path, append(data, jpg[2:]...), 0o644); err != nil {
			t.Fatal(err)
		}
		if size, err := pictureSize(path); err != nil || size != image.Pt(30, 20) {
			t.Errorf("behind %d segments of 64 kB: %v, %v", segments, size, err)
		}
	}
	path := filepath.Join(t.TempDir(), "x.txt")
	if err := os.WriteFile(path, make([]byte, 100000), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := pictureSize(path); err == nil || err.Error() != path+": it is neither a JPEG nor a PNG picture" {
		t.Errorf("100 kB of something else: %v", err)
	}
}

func ExampleOptions() {
	dir, err := os.MkdirTemp("", "imagenet")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	for name, content := range map[string]string{"val_map.txt": "b.JPEG 7\na.JPEG 3\n", "a.JPEG": "…", "b.JPEG": "…"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			panic(err)
		}
	}
	d, err := OpenImageNet(dir, Options{Count: 1})
	fmt.Println(d.Len(), d.Name(0), d.Truth()[0].Label, err)
	// Output: 1 b.JPEG 7 <nil>
}
