package accuracy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// cocoFile returns an annotation file with one entry in each section.
func cocoFile(image, category, annotation string) string {
	return fmt.Sprintf(`{"info":{"year":2017},"licenses":[],"images":[%s],"categories":[%s],"annotations":[%s]}`, image, category, annotation)
}

const (
	goodImage      = `{"id":1,"file_name":"1.jpg","width":640,"height":480}`
	goodCategory   = `{"id":1,"name":"person","supercategory":"person"}`
	goodAnnotation = `{"id":1,"image_id":1,"category_id":1,"bbox":[1,2.5,3,4],"area":12,"iscrowd":0}`
)

func TestReadCOCO(t *testing.T) {
	url := "http://images.cocodataset.org/é.jpg"
	gt, err := ReadCOCO(text(cocoFile(
		`{"license":4,"id":9007199254740993,"file_name":"1.jpg","width":640.0,"height":480,"coco_url":"http://images.cocodataset.org/\u00e9.jpg"},
		 {"id":2,"file_name":"2.jpg","width":1,"height":1,"coco_url":null}`,
		`{"id":0,"name":"a \"quoted\" name"},{"id":90}`,
		`{"id":5,"image_id":2,"category_id":90,"bbox":[-1,2e1,0,4],"area":0.5,"iscrowd":-1,"ignore":1,"segmentation":{"size":[1,1],"counts":[0,1]}},
		 {"id":6.0,"image_id":2,"category_id":0,"bbox":[1,2,3,4],"area":12,"iscrowd":true,"segmentation":[]},
		 {"id":7,"image_id":2,"category_id":0,"bbox":[1,2,3,4],"area":12,"iscrowd":0.0}`,
	)))
	if err != nil {
		t.Fatal(err)
	}
	want := &GroundTruth{
		Images:     []Image{{9007199254740993, "1.jpg", 640, 480, &url, new(int64(4))}, {2, "2.jpg", 1, 1, nil, nil}},
		Licenses:   []License{},
		Categories: []Category{{0, `a "quoted" name`}, {90, ""}},
		Annotations: []Annotation{
			{ID: 5, ImageID: 2, CategoryID: 90, Box: Box{-1, 20, 0, 4}, Area: 0.5, Crowd: true},
			{ID: 6, ImageID: 2, CategoryID: 0, Box: Box{1, 2, 3, 4}, Area: 12, Crowd: true},
			{ID: 7, ImageID: 2, CategoryID: 0, Box: Box{1, 2, 3, 4}, Area: 12},
		},
	}
	if d := cmp.Diff(want, gt); d != "" {
		t.Errorf("ReadCOCO (-want +got):\n%s", d)
	}
	if annotated := gt.Annotated(); len(annotated) != 1 || annotated[0].ID != 2 {
		t.Errorf("annotated images %v, want that of id 2", annotated)
	}
}

func TestReadCOCONamesThePlace(t *testing.T) {
	annotation := func(old, new string) string {
		return cocoFile(goodImage, goodCategory, strings.Replace(goodAnnotation, old, new, 1))
	}
	image := func(old, new string) string {
		return cocoFile(strings.Replace(goodImage, old, new, 1), goodCategory, goodAnnotation)
	}
	for _, c := range []struct{ name, file, want string }{
		{"not an object", `[]`, `expected an object, got [`},
		{"no images", `{"categories":[],"annotations":[]}`, `no "images"`},
		{"no categories", `{"images":[],"annotations":[]}`, `no "categories"`},
		{"no annotations", `{"images":[],"categories":[]}`, `no "annotations"`},
		{"a section twice", `{"images":[],"images":[]}`, `images: duplicate object member name`},
		{"a file that ends early", goodImage[:20], "the file ends here"},
		{"something after the end", cocoFile(goodImage, goodCategory, goodAnnotation) + "x", "invalid character 'x'"},
		{"an image without id", image(`"id":1,`, ``), `images 0, line 1, offset 91: no "id"`},
		{"an image without file name", image(`"file_name":"1.jpg",`, ``), `no "file_name"`},
		{"an image without height", image(`,"height":480`, ``), `no "height"`},
		{"an image of no width", image(`"width":640`, `"width":0`), `the image has 0 × 480 pixels`},
		{"an image of half a pixel", image(`"width":640`, `"width":640.5`), `width: 640.5 is not a whole number`},
		{"an id that is a string", image(`"id":1`, `"id":"1"`), `id: "1" is not a whole number`},
		{"a file name that is a number", image(`"1.jpg"`, `1`), `file_name: expected a string, got number`},
		{"a category without id", cocoFile(goodImage, `{"name":"x"}`, goodAnnotation), `categories 0, line 1`},
		{"a box of three numbers", annotation(`,3,4]`, `,3]`), `annotations 0, line 1, offset 233: bbox: too few array elements`},
		{"a box of five numbers", annotation(`,3,4]`, `,3,4,5]`), `bbox: too many array elements`},
		{"a box of negative width", annotation(`,3,4]`, `,-3,4]`), `bbox has size -3 × 4`},
		{"a box of negative height", annotation(`,3,4]`, `,3,-4]`), `bbox has size 3 × -4`},
		{"a box that is NaN", annotation(`[1,`, `[NaN,`), `annotations 0, line 1, offset 226: bbox: invalid character 'N'`},
		{"a box that is null", annotation(`[1,2.5,3,4]`, `null`), `no "bbox"`},
		{"a number beyond float64", annotation(`[1,`, `[1e999,`), `bbox: expected a number, got 1e999`},
		{"no box", annotation(`"bbox":[1,2.5,3,4],`, ``), `no "bbox"`},
		{"no area", annotation(`"area":12,`, ``), `no "area"`},
		{"a negative area", annotation(`"area":12`, `"area":-1`), `area is -1`},
		{"no category", annotation(`"category_id":1,`, ``), `no "category_id"`},
		{"no image", annotation(`"image_id":1,`, ``), `no "image_id"`},
		{"no iscrowd", annotation(`,"iscrowd":0`, ``), `no "iscrowd"`},
		{"an iscrowd of NaN, as pandas writes it", annotation(`"iscrowd":0`, `"iscrowd":NaN`), `iscrowd: invalid character 'N'`},
		{"an iscrowd of 2", annotation(`"iscrowd":0`, `"iscrowd":2`), `iscrowd is 2: must be 0 or 1 (-1 counts as 1)`},
		{"an image id twice", cocoFile(goodImage+","+goodImage, goodCategory, goodAnnotation), `image 1 has the id 1 of image 0`},
		{"a category id twice", cocoFile(goodImage, goodCategory+","+goodCategory, goodAnnotation), `category 1 has the id 1 of category 0`},
		{"an annotation id twice", cocoFile(goodImage, goodCategory, goodAnnotation+","+goodAnnotation), `annotation 1 has the id 1 of annotation 0`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := ReadCOCO(text(c.file))
			wantError(t, err, "test.json: ", c.want)
		})
	}
}

func TestStrays(t *testing.T) {
	gt := &GroundTruth{
		Images: []Image{{ID: 1}}, Categories: []Category{{ID: 1}},
		Annotations: []Annotation{{ImageID: 1, CategoryID: 2}, {ImageID: 2, CategoryID: 1}, {ImageID: 2, CategoryID: 2}, {ImageID: 1, CategoryID: 1}},
	}
	want := "2 annotations refer to images that are not listed, 1 annotations refer to categories that are not listed"
	if got := gt.Strays(); got != want {
		t.Errorf("Strays = %q, want %q", got, want)
	}
}

func FuzzReadCOCO(f *testing.F) {
	f.Add(cocoFile(goodImage, goodCategory, goodAnnotation))
	f.Add(cocoFile(goodImage, goodCategory, strings.Replace(goodAnnotation, "}", `,"segmentation":[[1,2,3,4,5,6]]}`, 1)))
	f.Add(cocoFile(goodImage, goodCategory, strings.Replace(goodAnnotation, "}", `,"segmentation":{"size":[2,2],"counts":"4"}}`, 1)))
	f.Add(cocoFile(goodImage, goodCategory, strings.Replace(goodAnnotation, "}", `,"segmentation":{"size":[2,2],"counts":[1,3]}}`, 1)))
	f.Fuzz(func(t *testing.T, file string) {
		gt, err := ReadCOCO(text(file))
		if err != nil {
			return
		}
		if !json.Valid([]byte(file)) {
			t.Error("accepted, but not JSON")
		}
		for _, a := range gt.Annotations {
			if !(a.Box.W >= 0 && a.Box.H >= 0 && a.Area >= 0) {
				t.Errorf("annotation %+v", a)
			}
		}
		again, err := ReadCOCO(Named("again", bytes.NewReader(formatCOCO(t, gt))))
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(gt, again, exact...); d != "" {
			t.Errorf("after writing and reading (-want +got):\n%s", d)
		}
	})
}

// formatCOCO writes an annotation file.
func formatCOCO(t testing.TB, gt *GroundTruth) []byte {
	t.Helper()
	type object = map[string]any
	images, categories, annotations := []object{}, []object{}, []object{}
	for _, v := range gt.Images {
		images = append(images, object{"id": v.ID, "file_name": v.FileName, "width": v.Width, "height": v.Height, "coco_url": v.COCOURL})
	}
	for _, v := range gt.Categories {
		categories = append(categories, object{"id": v.ID, "name": v.Name})
	}
	for _, v := range gt.Annotations {
		a := object{"id": v.ID, "image_id": v.ImageID, "category_id": v.CategoryID, "area": v.Area, "iscrowd": v.Crowd,
			"bbox": []float64{v.Box.X, v.Box.Y, v.Box.W, v.Box.H}}
		annotations = append(annotations, a)
	}
	data, err := json.Marshal(object{"images": images, "categories": categories, "annotations": annotations})
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// BenchmarkReadCOCO has a file like instances_val2017.json: most of it is outlines.
func BenchmarkReadCOCO(b *testing.B) {
	var annotations strings.Builder
	for i := range 36_000 {
		if i > 0 {
			annotations.WriteString(", ")
		}
		fmt.Fprintf(&annotations, `{"segmentation": [[`)
		for k := range 40 {
			fmt.Fprintf(&annotations, "%d.%02d, ", 100+k*7%500, k)
		}
		fmt.Fprintf(&annotations, `1.5, 2.5]], "area": %d.5, "iscrowd": 0, "image_id": 1, "bbox": [%d.25, 101.5, 100.75, 30], "category_id": 1, "id": %d}`, i, i%500, i)
	}
	file := []byte(cocoFile(goodImage, goodCategory, annotations.String()))
	b.SetBytes(int64(len(file)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ReadCOCO(Named("instances_val2017.json", bytes.NewReader(file))); err != nil {
			b.Fatal(err)
		}
	}
}
