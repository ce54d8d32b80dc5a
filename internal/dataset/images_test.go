package dataset

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/testenv"
)

// put writes a file below a folder, which it makes.
func put(t testing.TB, dir, name, content string) {
	t.Helper()
	testenv.Tree(t, dir, map[string]string{name: content})
}

// imageNetFolder has a list and files that contain their names.
func imageNetFolder(t *testing.T, list string, files ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range files {
		put(t, dir, name, name)
	}
	if list != "" {
		put(t, dir, valMap, list)
	}
	return dir
}

func TestImageNetHasTheOrderOfItsList(t *testing.T) {
	dir := imageNetFolder(t, "val/b.JPEG 7\nval/a.JPEG 0\n", "val/a.JPEG", "val/b.JPEG")
	d, err := OpenImageNet(dir, Options{})
	testenv.Must(t, err)
	if data, err := d.Read(0); err != nil || string(data) != "val/b.JPEG" || d.Len() != 2 {
		t.Errorf("%d images, Read(0) = %q, %v", d.Len(), data, err)
	}
	if truth, err := ReadValMap(dir); err != nil || len(truth) != 2 || truth[0].Label != 7 {
		t.Errorf("ReadValMap = %v, %v", truth, err)
	}
}

func TestImageNetErrors(t *testing.T) {
	var missing strings.Builder
	for i := range 20 {
		fmt.Fprintf(&missing, "%d.JPEG 1\n", i)
	}
	for _, test := range []struct {
		name, list string
		count      int
		want       string
	}{
		{"no list", "", 0, "val_map.txt is missing"},
		{"an image is missing", "a.JPEG 1\nc.JPEG 2\n", 0, "val_map.txt:2:"},
		{"only the first errors are listed", missing.String(), 0, "4.JPEG: no such file or directory\n…"},
		{"an image twice", "a.JPEG 1\nb.JPEG 2\na.JPEG 3\n", 0, "val_map.txt:3: a.JPEG is already in line 1"},
		{"a class too many", "a.JPEG 1000\n", 0, "must be 0 to 999"},
		{"a path outside", "../a.JPEG 1\n", 0, "not below the folder"},
		{"an empty line", "a.JPEG 1\n\nb.JPEG 2\n", 0, "line 2"},
		{"no class", "a.JPEG\n", 0, "line 1"},
		{"a folder", "sub 1\n", 0, "is a folder, not a regular file"},
		{"too many wanted", "a.JPEG 1\n", 2, "2 images are wanted"},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := imageNetFolder(t, test.list, "a.JPEG", "b.JPEG", "sub/x")
			if _, err := OpenImageNet(dir, Options{Count: test.count}); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q", err, test.want)
			}
		})
	}
}

// The fingerprint names the cache of prepared samples: whatever changes the content of a file must change it.
func TestFingerprintFollowsNamesAndContents(t *testing.T) {
	const a, b, list = "a.JPEG", "b.JPEG", "a.JPEG 1\nb.JPEG 2\n"
	dir := imageNetFolder(t, list, a, b, "c.JPEG")
	when := time.Unix(1_700_000_000, 0)
	swapped := func(change func()) func() { // within names, sizes and times
		return func() {
			change()
			for _, name := range []string{a, b} {
				testenv.Must(t, os.Chtimes(filepath.Join(dir, name), when, when))
			}
		}
	}
	path := func(name string) string { return filepath.Join(dir, name) }
	last := ""
	for _, change := range []struct {
		name string
		same bool
		do   func()
	}{
		{"the first", false, swapped(func() {})},
		{"the same files", true, func() {}},
		{"another order", false, func() { put(t, dir, valMap, "b.JPEG 2\na.JPEG 1\n") }},
		{"another name", false, func() { put(t, dir, valMap, "a.JPEG 1\nc.JPEG 2\n") }},
		{"the first again", false, func() { put(t, dir, valMap, list) }},
		{"another size", false, swapped(func() { put(t, dir, b, "more than before") })},
		{"another time", false, func() { testenv.Must(t, os.Chtimes(path(b), when, when.Add(1))) }},
		{"contents overwritten", false, swapped(func() { put(t, dir, b, "less than before") })},
		{"files renamed", false, swapped(func() {
			testenv.Must(t, os.Rename(path(a), path("d")))
			testenv.Must(t, os.Rename(path(b), path(a)))
			testenv.Must(t, os.Rename(path("d"), path(b)))
		})},
	} {
		if change.do(); runtime.GOOS == "windows" && change.name == "contents overwritten" {
			continue // no time of change
		}
		d, err := OpenImageNet(dir, Options{})
		testenv.Must(t, err)
		if got := d.Fingerprint(); (got == last) != change.same || len(got) != 20 {
			t.Errorf("%s: the fingerprint is %s after %s", change.name, got, last)
		}
		last = d.Fingerprint()
	}
}

// The cache of prepared samples has the fingerprint as its name, and must not depend on the count.
func TestCountTakesTheFirstSamples(t *testing.T) {
	coco, net, ade := cocoFolder(t), imageNetFolder(t, "b 1\na 2\nc 3\n", "a", "b", "c"), adeFolder(t)
	type set interface {
		Len() int
		Path(i int) string
		Fingerprint() string
	}
	for name, open := range map[string]func(o Options) (set, error){
		"COCO":     func(o Options) (set, error) { return OpenCOCO(coco, o) },
		"ImageNet": func(o Options) (set, error) { return OpenImageNet(net, o) },
		"ADE20K":   func(o Options) (set, error) { return OpenADE20K(ade, o) },
	} {
		all, err := open(Options{})
		testenv.Must(t, err)
		one, err := open(Options{Count: 1})
		if err != nil || one.Len() != 1 || one.Path(0) != all.Path(0) || one.Fingerprint() != all.Fingerprint() {
			t.Errorf("%s: count 1: %+v, %v, want the first of %+v", name, one, err, all)
		}
		if some, err := open(Options{Count: all.Len()}); err != nil || some.Len() != all.Len() {
			t.Errorf("%s: count %d: %+v, %v", name, all.Len(), some, err)
		}
		if _, err := open(Options{Count: all.Len() + 1}); err == nil || !strings.HasPrefix(err.Error(), "opening "+name+": ") {
			t.Errorf("%s: count %d: error %v", name, all.Len()+1, err)
		}
	}
}

const cocoFile, openImagesFile = "annotations/instances_val2017.json", "annotations/openimages-mlperf.json"

// annotations lists images c, a and b; a has no object.
func annotations() string {
	object := func(id, image int) string {
		return fmt.Sprintf(`{"id":%d,"image_id":%d,"category_id":1,"bbox":[1,2,3,4],"area":12,"iscrowd":0}`, id, image)
	}
	image := func(id int, name string) string {
		return fmt.Sprintf(`{"id":%d,"file_name":%q,"width":640,"height":480}`, id, name)
	}
	return `{"images":[` + image(7, "c.jpg") + "," + image(9, "a.jpg") + "," + image(3, "b.jpg") +
		`],"categories":[{"id":1,"name":"person"}],"annotations":[` + object(1, 3) + "," + object(2, 7) + "," + object(3, 3) + "]}"
}

func cocoFolder(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	put(t, dir, cocoFile, annotations())
	for _, name := range []string{"a.jpg", "b.jpg", "c.jpg"} {
		put(t, dir, "val2017/"+name, name)
	}
	return dir
}

func names(d *Detection) string {
	var list []string
	for i := range d.Len() {
		list = append(list, filepath.Base(d.Path(i)))
	}
	return strings.Join(list, " ")
}

func TestDetectionHasTheOrderOfTheAnnotationFile(t *testing.T) {
	dir := cocoFolder(t)
	d, err := OpenCOCO(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if names(d) != "c.jpg a.jpg b.jpg" || d.Image(0).ID != 7 || d.Image(2).Height != 480 {
		t.Errorf("images %s", names(d))
	}
	if data, err := d.Read(2); err != nil || string(data) != "b.jpg" {
		t.Errorf("Read(2) = %q, %v", data, err)
	}
	for o, want := range map[Options]string{
		{Count: 2}:                  "c.jpg a.jpg",
		{DropEmpty: true}:           "c.jpg b.jpg",
		{DropEmpty: true, Count: 1}: "c.jpg",
	} {
		some, err := OpenCOCO(dir, o)
		if err != nil || names(some) != want {
			t.Errorf("%+v: images %v, %v, want %s", o, some, err, want)
		}
		if same := some.Fingerprint() == d.Fingerprint(); same != !o.DropEmpty {
			t.Errorf("%+v: the fingerprint is that of all images: %v", o, same)
		}
	}
	put(t, dir, cocoFile, strings.Replace(annotations(), `"id":2,"image_id":7,"category_id":1`, `"id":2,"image_id":7,"category_id":5`, 1))
	if some, err := OpenCOCO(dir, Options{DropEmpty: true}); err != nil || names(some) != "b.jpg" {
		t.Errorf("with an object of an unlisted category: %v, %v, want b.jpg", some, err)
	}
	truth, err := ReadCOCO(dir)
	if err != nil || len(truth.Annotations) != 3 {
		t.Errorf("ground truth %+v, %v", truth, err)
	}
}

// OpenImages has the layout of openimages_mlperf.sh, or that of the reference's program.
func TestOpenImagesIsFoundInBothLayouts(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, openImagesFile, annotations())
	for _, name := range []string{"a.jpg", "b.jpg", "c.jpg"} {
		put(t, dir, "validation/data/"+name, name)
	}
	for _, folder := range []string{dir, filepath.Join(dir, "validation/data")} {
		d, err := OpenOpenImages(folder, Options{})
		if err != nil || d.Path(0) != filepath.Join(dir, "validation/data/c.jpg") {
			t.Errorf("%s: %v, %v", folder, d, err)
		}
		if truth, err := ReadOpenImages(folder); err != nil || len(truth.Images) != 3 {
			t.Errorf("%s: %v, %v", folder, truth, err)
		}
	}
	flat := t.TempDir()
	put(t, flat, openImagesFile, annotations())
	for _, name := range []string{"a.jpg", "b.jpg", "c.jpg"} {
		put(t, flat, name, name)
	}
	if d, err := OpenOpenImages(flat, Options{}); err != nil || d.Path(1) != filepath.Join(flat, "a.jpg") {
		t.Errorf("images beside annotations: %v, %v", d, err)
	}
}

func TestDetectionErrors(t *testing.T) {
	tests := []struct {
		name   string
		change func(dir string)
		o      Options
		want   string
	}{
		{"nothing", func(dir string) { os.RemoveAll(filepath.Join(dir, "annotations")) }, Options{},
			"annotations/instances_val2017.json is missing: expected that file and the images in val2017"},
		{"no images", func(dir string) { os.RemoveAll(filepath.Join(dir, "val2017")) }, Options{}, "instances_val2017.json: image 0 (id 7): "},
		{"one image", func(dir string) { os.Remove(filepath.Join(dir, "val2017/b.jpg")) }, Options{}, "image 2 (id 3): "},
		{"an image outside", func(dir string) { put(t, dir, cocoFile, strings.Replace(annotations(), "a.jpg", "../a.jpg", 1)) }, Options{},
			"image 1 (id 9): ../a.jpg is not below the folder"},
		{"too many wanted", func(string) {}, Options{Count: 4}, "4 images are wanted"},
		{"more than are annotated", func(string) {}, Options{Count: 3, DropEmpty: true}, "lists 2"},
		{"no JSON", func(dir string) { put(t, dir, cocoFile, "<html>") }, Options{}, cocoFile},
		{"an empty list", func(dir string) { put(t, dir, cocoFile, `{"images":[],"categories":[],"annotations":[]}`) }, Options{}, "lists no images"},
		{"a negative box", func(dir string) { put(t, dir, cocoFile, strings.Replace(annotations(), "[1,2,3,4]", "[1,2,-3,4]", 1)) }, Options{}, "expected no negative size"},
		{"a box with NaN", func(dir string) { put(t, dir, cocoFile, strings.Replace(annotations(), "[1,2,3,4]", "[1,2,NaN,4]", 1)) }, Options{}, "annotations 0"},
		{"no category", func(dir string) { put(t, dir, cocoFile, strings.Replace(annotations(), `"category_id":1,`, "", 1)) }, Options{}, "category_id"},
		{"an id twice", func(dir string) {
			put(t, dir, cocoFile, strings.Replace(annotations(), `"id":2,"image_id"`, `"id":1,"image_id"`, 1))
		}, Options{}, "expected every id once"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			dir := cocoFolder(t)
			test.change(dir)
			if d, err := OpenCOCO(dir, test.o); err == nil || !strings.Contains(filepath.ToSlash(err.Error()), test.want) {
				t.Errorf("%v, error %v, want %q", d, err, test.want)
			}
		})
	}
	dir := cocoFolder(t)
	if err := os.Remove(filepath.Join(dir, "val2017/b.jpg")); err != nil {
		t.Fatal(err)
	}
	if d, err := OpenCOCO(dir, Options{Count: 2}); err != nil || d.Len() != 2 {
		t.Errorf("the first two images are there: %v, %v", d, err)
	}
}

func TestPreprocessedSamplesNeedNoImages(t *testing.T) {
	dir, made := t.TempDir(), t.TempDir()
	put(t, dir, cocoFile, annotations())
	put(t, dir, "val_map.txt", "val/c.jpg 1\n")
	for _, name := range []string{"val2017/a.jpg", "val2017/b.jpg", "val2017/c.jpg", "val/c.jpg"} {
		put(t, made, name+".npy", name)
	}
	coco, err := OpenCOCO(dir, Options{Preprocessed: made})
	if err != nil {
		t.Fatal(err)
	}
	if data, err := coco.Read(0); err != nil || string(data) != "val2017/c.jpg" {
		t.Errorf("Read(0) = %q, %v", data, err)
	}
	imagenet, err := OpenImageNet(dir, Options{Preprocessed: made})
	if err != nil || imagenet.Path(0) != filepath.Join(made, "val/c.jpg.npy") {
		t.Errorf("ImageNet: %v, %v", imagenet, err)
	}
	if _, err := OpenCOCO(dir, Options{Preprocessed: t.TempDir()}); err == nil || !strings.Contains(err.Error(), "c.jpg.npy") {
		t.Errorf("error %v", err)
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
	fmt.Println(d.Len(), filepath.Base(d.Path(0)), err)
	// Output: 1 b.JPEG <nil>
}

func TestMissingFolderIsCalledMissing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "gone")
	_, err := OpenImageNet(dir, Options{})
	_, err2 := OpenCOCO(dir, Options{})
	for _, err := range []error{err, err2} {
		if err == nil || !strings.Contains(err.Error(), "the folder "+dir+" is missing") {
			t.Errorf("error %v", err)
		}
	}
}
