package download

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image"
	"image/jpeg"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/configs"
	"github.com/mlperf-go/mlperf/internal/accuracy"
)

// testJPEG is a small image; odd ones have an EXIF orientation that turns them.
func testJPEG(t testing.TB, i int) (data []byte, width, height int) {
	t.Helper()
	width, height = 20+i, 10+2*i
	m := image.NewRGBA(image.Rect(0, 0, width, height))
	copy(m.Pix, randomBytes(len(m.Pix)))
	var b bytes.Buffer
	must(t, jpeg.Encode(&b, m, &jpeg.Options{Quality: 90}))
	data = b.Bytes()
	if i%2 == 1 {
		app1 := "\xFF\xE1\x00\x22Exif\x00\x00MM\x00\x2A\x00\x00\x00\x08\x00\x01\x01\x12\x00\x03\x00\x00\x00\x01\x00\x06\x00\x00\x00\x00\x00\x00"
		data, width, height = slices.Insert(data, 2, []byte(app1)...), height, width
	}
	return data, width, height
}

func TestSubset(t *testing.T) {
	var names []string
	for i := range 500 {
		names = append(names, fmt.Sprintf("image%03d", i))
	}
	ten, hundred := subset(names, 10, 7), subset(names, 100, 7)
	for name := range ten {
		if !hundred[name] {
			t.Errorf("%s is among 10, but not among 100", name)
		}
	}
	slices.Reverse(names)
	if !cmp.Equal(ten, subset(names, 10, 7)) {
		t.Error("another order of names gives another choice")
	}
	want := map[string]bool{"image330": true, "image389": true, "image419": true}
	if got := subset(names, 3, 7); !cmp.Equal(got, want) {
		t.Errorf("subset(500 names, 3, 7) = %v, want %v as Python computes it", got, want)
	}
}

// imageNet serves an ImageNet with n images.
func imageNet(t *testing.T, n int) Item {
	s := newServer(t)
	var list strings.Builder
	var images []entry
	for i := range n {
		data, _, _ := testJPEG(t, i)
		name := fmt.Sprintf("ILSVRC2012_val_%08d.JPEG", i+1)
		fmt.Fprintf(&list, "%s %d\n", name, i*37%1000)
		images = append(images, entry{name: name, data: string(data)})
	}
	s.put("labels.tar.gz", gzipOf(tarOf(t, entry{name: "val.txt", data: list.String()}, entry{name: "train.txt", data: "x"})))
	s.put("images.tar", tarOf(t, images...))
	return Item{
		Kind: Dataset, Name: "imagenet", Title: "I", Layout: LayoutImageNet, Samples: n,
		Files: []File{
			{Name: "labels.tar.gz", URLs: []string{s.URL + "/labels.tar.gz"},
				Unpack: &Unpack{Format: "tar.gz", Only: []string{"val.txt"}, Rename: map[string]string{"val.txt": valMap}}},
			{Name: "images.tar", URLs: []string{s.URL + "/images.tar"}, Unpack: &Unpack{Format: "tar", Only: []string{"*.JPEG"}}},
		},
	}
}

// Of ImageNet a part may come, then more of it, then all.
func TestGetImageNet(t *testing.T) {
	it := imageNet(t, 12)
	o, _ := options(t)
	o.Seed = 3
	for _, count := range []int{3, 8, 0, 4} {
		o.Count = count
		mustGet(t, it, o)
		wantVerified(t, it, o.Dir)
	}
	o.Dir += "2"
	mustGet(t, it, o)
	list, err := os.ReadFile(filepath.Join(o.Dir, valMap))
	must(t, err)
	images, err := filepath.Glob(filepath.Join(o.Dir, "*.JPEG"))
	lines := strings.Split(strings.TrimSpace(string(list)), "\n")
	if err != nil || len(images) != 4 || len(lines) != 4 || !slices.IsSorted(lines) {
		t.Errorf("%d images, %v; val_map.txt:\n%s", len(images), err, list)
	}
}

// wantVerified checks that Verify finds nothing wrong.
func wantVerified(t *testing.T, it Item, dir string) {
	t.Helper()
	r, err := Verify(t.Context(), it, VerifyOptions{Dir: dir})
	must(t, err)
	if !r.OK() || len(r.Fine) < 3 {
		t.Errorf("Verify = %+v", r)
	}
}

// coco serves a COCO with n images and returns its annotation file.
func coco(t *testing.T, n int) (Item, []byte) {
	s := newServer(t)
	var images, objects []map[string]any
	var files []entry
	for i := range n {
		data, w, h := testJPEG(t, i)
		name := fmt.Sprintf("%012d.jpg", 1000-i)
		images = append(images, map[string]any{"id": 1000 - i, "file_name": name, "width": w, "height": h, "flickr_url": "http://a/?b&c"})
		objects = append(objects,
			map[string]any{"id": 2*i + 1, "image_id": 1000 - i, "category_id": 1, "bbox": []float64{1.5, 2.25, 3, 4}, "area": 11.75, "iscrowd": 0, "segmentation": [][]float64{{1, 2, 3, 4, 5, 6}}},
			map[string]any{"id": 2*i + 2, "image_id": 1000 - i, "category_id": 90, "bbox": []float64{0, 0, 1, 1}, "area": 1, "iscrowd": 1})
		files = append(files, entry{name: "val2017/" + name, data: string(data)})
	}
	labels, err := json.Marshal(map[string]any{
		"info": map[string]any{"year": 2017}, "licenses": []any{}, "images": images, "annotations": objects,
		"categories": []map[string]any{{"id": 1, "name": "person"}, {"id": 90, "name": "toothbrush"}},
	})
	must(t, err)
	s.put("annotations.zip", zipOf(t, entry{name: cocoLabels, data: string(labels)}, entry{name: "annotations/captions_val2017.json", data: "{}"}))
	s.put("val2017.zip", zipOf(t, files...))
	return Item{
		Kind: Dataset, Name: "coco", Title: "C", Layout: LayoutCOCO, Samples: n,
		Files: []File{
			{Name: "annotations.zip", URLs: []string{s.URL + "/annotations.zip"}, Unpack: &Unpack{Format: "zip", Only: []string{cocoLabels}}},
			{Name: "val2017.zip", URLs: []string{s.URL + "/val2017.zip"}, Unpack: &Unpack{Format: "zip", Only: []string{"val2017/*.jpg"}}},
		},
	}, labels
}

// readTruth reads an annotation file as scoring does.
func readTruth(t *testing.T, path string) *accuracy.GroundTruth {
	t.Helper()
	f, err := os.Open(path)
	must(t, err)
	defer f.Close()
	truth, err := accuracy.ReadCOCO(f)
	must(t, err)
	return truth
}

func TestGetCOCO(t *testing.T) {
	it, labels := coco(t, 9)
	whole, _ := options(t)
	mustGet(t, it, whole)
	wantFile(t, whole, cocoLabels, labels)
	wantVerified(t, it, whole.Dir)
	all := readTruth(t, filepath.Join(whole.Dir, cocoLabels))

	part, _ := options(t)
	part.Count, part.Seed = 4, 1
	mustGet(t, it, part)
	wantVerified(t, it, part.Dir)
	truth := readTruth(t, filepath.Join(part.Dir, cocoLabels))
	kept := map[int64]bool{}
	for _, image := range truth.Images {
		kept[image.ID] = true
	}
	want := accuracy.GroundTruth{
		Images:      slices.DeleteFunc(slices.Clone(all.Images), func(i accuracy.Image) bool { return !kept[i.ID] }),
		Licenses:    all.Licenses,
		Categories:  all.Categories,
		Annotations: slices.DeleteFunc(slices.Clone(all.Annotations), func(a accuracy.Annotation) bool { return !kept[a.ImageID] }),
	}
	if diff := cmp.Diff(want, *truth); diff != "" || len(kept) != 4 {
		t.Errorf("%d images; what was kept differs from what was there (-want +got):\n%s", len(kept), diff)
	}
	images, err := os.ReadDir(filepath.Join(part.Dir, cocoImages))
	if err != nil || len(images) != 4 {
		t.Errorf("%d image files, %v; want 4", len(images), err)
	}
	text, err := os.ReadFile(filepath.Join(part.Dir, cocoLabels))
	if err != nil || !bytes.Contains(text, []byte(`"year":2017`)) || !bytes.Contains(text, []byte("flickr_url")) {
		t.Error("fields that are not ours were lost")
	}
}

// openImages serves an OpenImages. Images 0 to 5 show a cat, a dog, both, a thing outside MLPerf's classes, nothing, and a
// woman.
func openImages(t *testing.T) (*server, Item) {
	s := newServer(t)
	var names strings.Builder
	label := map[string]string{}
	for i, class := range configs.OpenImagesClasses() {
		label[class] = fmt.Sprintf("/m/%04d", i)
		fmt.Fprintf(&names, "%s,%s\n", label[class], class)
	}
	names.WriteString("/m/other,\"Something, else\"\n/m/twice,Dog\n")
	s.put("names.csv", []byte(names.String()))
	boxes := boxHeader
	for _, row := range []struct {
		image        int
		label, flags string
	}{
		{5, label["Woman"], "1,0,0,0,-1"}, {2, label["Dog"], "0,1,1,0,0"}, {0, label["Cat"], "0,0,0,1,0"},
		{3, "/m/other", "0,0,0,0,0"}, {2, label["Cat"], "0,0,-1,0,1"}, {1, label["Dog"], "0,0,0,0,0"}, {4, "/m/twice", "0,0,0,0,0"},
	} {
		boxes += fmt.Sprintf("%s,xclick,%s,1,0.125,0.5,0.25,1,%s\n", openImageID(row.image), row.label, row.flags)
	}
	s.put("boxes.csv", []byte(boxes))
	for i := range 6 {
		data, _, _ := testJPEG(t, i)
		s.put("images/"+openImageID(i)+".jpg", data)
	}
	return s, Item{
		Kind: Dataset, Name: "openimages", Title: "O", Layout: LayoutOpenImages, Samples: 4,
		Files: []File{
			{Name: "annotations/names.csv", URLs: []string{s.URL + "/names.csv"}},
			{Name: "annotations/boxes.csv", URLs: []string{s.URL + "/boxes.csv"}},
		},
		OpenImages: &OpenImages{
			Boxes: "annotations/boxes.csv", Names: "annotations/names.csv", URL: s.URL + "/images/{id}.jpg",
			Images: "validation/data", Labels: "annotations/openimages-mlperf.json",
		},
	}
}

const boxHeader = "ImageID,Source,LabelName,Confidence,XMin,XMax,YMin,YMax,IsOccluded,IsTruncated,IsGroupOf,IsDepiction,IsInside\n"

func openImageID(i int) string { return fmt.Sprintf("%016x", 0xabc0+i) }

func TestGetOpenImages(t *testing.T) {
	_, it := openImages(t)
	o, _ := options(t)
	mustGet(t, it, o)
	wantVerified(t, it, o.Dir)
	truth := readTruth(t, filepath.Join(o.Dir, it.OpenImages.Labels))
	want := accuracy.GroundTruth{Licenses: []accuracy.License{}}
	for i, class := range configs.OpenImagesClasses() {
		want.Categories = append(want.Categories, accuracy.Category{ID: int64(i), Name: class})
	}
	for rank, i := range []int{0, 1, 2, 5} { // sorted; 3 and 4 show no class of MLPerf's
		_, w, h := testJPEG(t, i)
		want.Images = append(want.Images, accuracy.Image{ID: int64(rank + 1), FileName: openImageID(i) + ".jpg", Width: w, Height: h})
	}
	for _, a := range []struct {
		id, image int64
		class     string
		crowd     bool
	}{{3, 1, "Cat", false}, {5, 2, "Dog", false}, {2, 3, "Dog", true}, {4, 3, "Cat", true}, {1, 4, "Woman", false}} {
		image := want.Images[a.image-1]
		w, h := float64(image.Width), float64(image.Height)
		want.Annotations = append(want.Annotations, accuracy.Annotation{
			ID: a.id, ImageID: a.image, CategoryID: int64(slices.Index(configs.OpenImagesClasses(), a.class)),
			Box: accuracy.Box{X: w / 8, Y: h / 4, W: 3 * w / 8, H: 3 * h / 4}, Area: 3 * w / 8 * (3 * h / 4), Crowd: a.crowd,
		})
	}
	if diff := cmp.Diff(want, *truth); diff != "" {
		t.Errorf("annotations (-want +got):\n%s", diff)
	}
	text, err := os.ReadFile(filepath.Join(o.Dir, it.OpenImages.Labels))
	if err != nil || !bytes.Contains(text, []byte(`"info":{"dataset":"openimages_mlperf","version":"v6"},"licenses":[],"categories":[{"id":0,"name":"Airplane","supercategory":null}`)) ||
		!bytes.Contains(text, []byte(`"iscrowd":-1,"IsOccluded":0,"IsInside":1,"IsDepiction":0,"IsTruncated":0,"IsGroupOf":-1}`)) ||
		!bytes.Contains(text, []byte("Kitchen & dining room table")) {
		t.Errorf("the file is not as openimages.py writes it: %.300s, %v", text, err)
	}
}

// Of a part, and of a list of images, only these are fetched.
func TestGetPartOfOpenImages(t *testing.T) {
	s, it := openImages(t)
	s.put("list.txt", []byte(openImageID(2)+".jpg\n"+openImageID(1)))
	listed := it
	set := *it.OpenImages
	set.List = "list.txt"
	listed.Samples, listed.OpenImages = 2, &set
	listed.Files = append(slices.Clone(it.Files), File{Name: "list.txt", URLs: []string{s.URL + "/list.txt"}})
	for count, it := range map[int]Item{2: it, 0: listed} {
		o, _ := options(t)
		o.Count = count
		mustGet(t, it, o)
		wantVerified(t, it, o.Dir)
		files, err := os.ReadDir(filepath.Join(o.Dir, "validation/data"))
		if truth := readTruth(t, filepath.Join(o.Dir, it.OpenImages.Labels)); err != nil || len(files) != 2 || len(truth.Images) != 2 {
			t.Errorf("%d images are there and %d are listed, %v; want 2", len(files), len(truth.Images), err)
		}
	}
}

func TestGetOpenImagesRefusesWrongTables(t *testing.T) {
	for _, c := range []struct{ file, text, wrong string }{
		{"boxes.csv", boxHeader + "../../etc/passwd,x,/m/0000,1,0,1,0,1,0,0,0,0,0\n", "is not an image of OpenImages"},
		{"boxes.csv", boxHeader + openImageID(0) + ",x,/m/0000,1,0,1.5,0,1,0,0,0,0,0\n", `boxes.csv: line 2: XMax is "1.5": must be 0 to 1`},
		{"boxes.csv", boxHeader + openImageID(0) + ",x,/m/0000,1,0,NaN,0,1,0,0,0,0,0\n", "XMax is"},
		{"boxes.csv", boxHeader + openImageID(0) + ",x,/m/0000,1,0,1,0,1,0,0,2,0,0\n", `IsGroupOf is "2": must be 0, 1 or -1`},
		{"boxes.csv", "ImageID,LabelName\n", "no column XMin"},
		{"names.csv", "/m/0000,Airplane\n", "is not there, and 262 more"},
	} {
		s, it := openImages(t)
		s.put(c.file, []byte(c.text))
		o, _ := options(t)
		wantError(t, it, o, c.wrong)
	}
	if _, err := readImageList(strings.NewReader(openImageID(1) + "\n../x\n")); err == nil || !strings.Contains(err.Error(), `line 2: "../x" is not an image of OpenImages`) {
		t.Errorf("readImageList = %v", err)
	}
}

// FuzzOpenImagesTables wants rows whose images can be part of a path and whose boxes lie in the image.
func FuzzOpenImagesTables(f *testing.F) {
	f.Add("0123456789abcdef.jpg\n", boxHeader+"0123456789abcdef,x,/m/1,1,0,1,0.25,1e0,0,0,1,-1,0\n")
	f.Add("../x\n", boxHeader+"../x,x,/m/1,1,NaN,2,-1,+Inf,0,0,2,-1,x\n")
	f.Fuzz(func(t *testing.T, list, boxes string) {
		listed, err := readImageList(strings.NewReader(list))
		for id := range listed {
			if err == nil && !imageID.MatchString(id) {
				t.Errorf("the image %q was accepted", id)
			}
		}
		rows, err := readBoxes(strings.NewReader(boxes), map[string]int{"/m/1": 0}, nil)
		for _, row := range rows {
			outside := slices.ContainsFunc(row.box[:], func(v float64) bool { return !(v >= 0 && v <= 1) })
			if err == nil && (!imageID.MatchString(row.image) || outside) {
				t.Errorf("the row %+v was accepted", row)
			}
		}
	})
}
