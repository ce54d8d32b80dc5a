package dataset

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// put writes a file below a folder, which is made.
func put(t testing.TB, dir, name, content string) {
	t.Helper()
	path := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

const cocoFile, openImagesFile = "annotations/instances_val2017.json", "annotations/openimages-mlperf.json"

// annotations lists images c, a and b, of which a has no object.
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
		t.Errorf("with an object of no listed category: %v, %v, want b.jpg", some, err)
	}
	truth, err := ReadCOCO(dir)
	if err != nil || len(truth.Annotations) != 3 {
		t.Errorf("ground truth %+v, %v", truth, err)
	}
}

// People have the folder of the script, and the one that the reference's program wants.
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

func TestDetectionNamesWhatIsWrong(t *testing.T) {
	tests := []struct {
		name   string
		change func(dir string)
		o      Options
		want   string
	}{
		{"nothing", func(dir string) { os.RemoveAll(filepath.Join(dir, "annotations")) }, Options{},
			"there is no annotations/instances_val2017.json: want that file and the images in val2017"},
		{"no images", func(dir string) { os.RemoveAll(filepath.Join(dir, "val2017")) }, Options{}, "instances_val2017.json: image 0 (id 7): "},
		{"one image", func(dir string) { os.Remove(filepath.Join(dir, "val2017/b.jpg")) }, Options{}, "image 2 (id 3): "},
		{"an image outside", func(dir string) { put(t, dir, cocoFile, strings.Replace(annotations(), "a.jpg", "../a.jpg", 1)) }, Options{},
			"image 1 (id 9): ../a.jpg is not below the folder"},
		{"more than there are", func(string) {}, Options{Count: 4}, "4 images are wanted"},
		{"more than are annotated", func(string) {}, Options{Count: 3, DropEmpty: true}, "lists 2"},
		{"no JSON", func(dir string) { put(t, dir, cocoFile, "<html>") }, Options{}, cocoFile},
		{"an empty list", func(dir string) { put(t, dir, cocoFile, `{"images":[],"categories":[],"annotations":[]}`) }, Options{}, "lists no image"},
		{"a negative box", func(dir string) { put(t, dir, cocoFile, strings.Replace(annotations(), "[1,2,3,4]", "[1,2,-3,4]", 1)) }, Options{}, "want no negative size"},
		{"a box that is no number", func(dir string) { put(t, dir, cocoFile, strings.Replace(annotations(), "[1,2,3,4]", "[1,2,NaN,4]", 1)) }, Options{}, "annotations 0"},
		{"no category", func(dir string) { put(t, dir, cocoFile, strings.Replace(annotations(), `"category_id":1,`, "", 1)) }, Options{}, "category_id"},
		{"an id twice", func(dir string) {
			put(t, dir, cocoFile, strings.Replace(annotations(), `"id":2,"image_id"`, `"id":1,"image_id"`, 1))
		}, Options{}, "want every id once"},
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

func TestSamplesThatWerePreprocessedNeedNoImages(t *testing.T) {
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
