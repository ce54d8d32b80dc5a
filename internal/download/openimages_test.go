package download

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/configs"
	"github.com/mlperf-go/mlperf/internal/accuracy"
)

// openImages serves an OpenImages. Images 0 to 5 show a cat, a dog, both, a thing that
// is no class of MLPerf's, nothing, and a woman.
func openImages(t *testing.T) (*server, Item) {
	s := newServer(t)
	var names strings.Builder
	for i, class := range configs.OpenImagesClasses() {
		fmt.Fprintf(&names, "/m/%04d,%s\n", i, class)
	}
	names.WriteString("/m/other,\"Something, else\"\n")
	s.put("names.csv", []byte(names.String()))
	label := func(name string) string {
		return fmt.Sprintf("/m/%04d", slices.Index(configs.OpenImagesClasses(), name))
	}
	var boxes strings.Builder
	boxes.WriteString("ImageID,Source,LabelName,Confidence,XMin,XMax,YMin,YMax,IsOccluded,IsTruncated,IsGroupOf,IsDepiction,IsInside\n")
	row := func(i int, label string, flags string) {
		fmt.Fprintf(&boxes, "%s,xclick,%s,1,0.125,0.5,0.25,1,%s\n", openImageID(i), label, flags)
	}
	row(5, label("Woman"), "1,0,0,0,-1")
	row(2, label("Dog"), "0,1,1,0,0")
	row(0, label("Cat"), "0,0,0,1,0")
	row(3, "/m/other", "0,0,0,0,0")
	row(2, label("Cat"), "0,0,-1,0,1")
	row(1, label("Dog"), "0,0,0,0,0")
	s.put("boxes.csv", []byte(boxes.String()))
	for i := range 6 {
		data, _, _ := testJPEG(t, i)
		s.put("images/"+openImageID(i)+".jpg", data)
	}
	return s, Item{
		Kind: Dataset, Name: "openimages", Title: "O", License: "l", Layout: LayoutOpenImages, Samples: 4,
		Files: []File{
			{Name: "annotations/names.csv", URLs: []string{s.URL + "/names.csv"}},
			{Name: "annotations/boxes.csv", URLs: []string{s.URL + "/boxes.csv"}},
		},
		OpenImages: &OpenImages{
			Boxes: "annotations/boxes.csv", Names: "annotations/names.csv", URL: s.URL + "/images/{id}.jpg",
			Images: "validation/data", Labels: "annotations/openimages-mlperf.json", Classes: 264,
		},
	}
}

func openImageID(i int) string { return fmt.Sprintf("%016x", 0xabc0+i) }

func TestOpenImagesIsFilteredAsByTheReference(t *testing.T) {
	_, it := openImages(t)
	o, _ := options(t)
	mustGet(t, it, o)
	wantVerified(t, it, o.Dir)
	truth := readTruth(t, filepath.Join(o.Dir, it.OpenImages.Labels))
	var want accuracy.GroundTruth
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
	files, err := os.ReadDir(filepath.Join(o.Dir, "validation/data"))
	if err != nil || len(files) != 4 {
		t.Errorf("%d images, %v; want 4", len(files), err)
	}
	text, err := os.ReadFile(filepath.Join(o.Dir, it.OpenImages.Labels))
	if err != nil || !bytes.Contains(text, []byte(`"info":{"dataset":"openimages_mlperf","version":"v6"},"licenses":[],"categories":[{"id":0,"name":"Airplane","supercategory":null}`)) ||
		!bytes.Contains(text, []byte(`"iscrowd":-1,"IsOccluded":0,"IsInside":1,"IsDepiction":0,"IsTruncated":0,"IsGroupOf":-1}`)) ||
		!bytes.Contains(text, []byte("Kitchen & dining room table")) {
		t.Errorf("the file is not as openimages.py writes it: %.300s, %v", text, err)
	}
}

func TestOpenImagesInPartFetchesOnlyThat(t *testing.T) {
	s, it := openImages(t)
	o, _ := options(t)
	o.Count = 2
	mustGet(t, it, o)
	wantVerified(t, it, o.Dir)
	if n := s.requests.Load(); n > 2+2+2 { // two tables of a few chunks, two images
		files, _ := os.ReadDir(filepath.Join(o.Dir, "validation/data"))
		if len(files) != 2 {
			t.Errorf("%d requests, %d images", n, len(files))
		}
	}
	truth := readTruth(t, filepath.Join(o.Dir, it.OpenImages.Labels))
	if len(truth.Images) != 2 || truth.Strays() != "" {
		t.Errorf("%d images are listed, strays: %s", len(truth.Images), truth.Strays())
	}
}

func TestOpenImagesTakesAListOfImages(t *testing.T) {
	s, it := openImages(t)
	s.put("list.txt", []byte(openImageID(2)+".jpg\n"+openImageID(1)+".jpg"))
	it.Samples, it.OpenImages.List = 2, "list.txt"
	it.Files = append(it.Files, File{Name: "list.txt", URLs: []string{s.URL + "/list.txt"}})
	o, _ := options(t)
	mustGet(t, it, o)
	wantVerified(t, it, o.Dir)
}

func TestOpenImagesRefusesTablesThatAreWrong(t *testing.T) {
	header := "ImageID,Source,LabelName,Confidence,XMin,XMax,YMin,YMax,IsOccluded,IsTruncated,IsGroupOf,IsDepiction,IsInside\n"
	for name, c := range map[string]struct{ file, text, wrong string }{
		"an image that is a path": {"boxes.csv", header + "../../etc/passwd,x,/m/0000,1,0,1,0,1,0,0,0,0,0\n", "is not an image of OpenImages"},
		"a box outside":           {"boxes.csv", header + openImageID(0) + ",x,/m/0000,1,0,1.5,0,1,0,0,0,0,0\n", `line 2: XMax is "1.5"`},
		"a box that is no number": {"boxes.csv", header + openImageID(0) + ",x,/m/0000,1,0,NaN,0,1,0,0,0,0,0\n", "XMax is"},
		"a flag of two":           {"boxes.csv", header + openImageID(0) + ",x,/m/0000,1,0,1,0,1,0,0,2,0,0\n", `IsGroupOf is "2"`},
		"no column":               {"boxes.csv", "ImageID,LabelName\n", "no column XMin"},
		"no class":                {"names.csv", "/m/0000,Airplane\n", "is not there, and 262 more"},
	} {
		t.Run(name, func(t *testing.T) {
			s, it := openImages(t)
			s.put(c.file, []byte(c.text))
			o, _ := options(t)
			_, err := Get(t.Context(), manifestOf(it), it, o)
			if err == nil || !strings.Contains(err.Error(), c.wrong) {
				t.Errorf("Get = %v, want %q", err, c.wrong)
			}
		})
	}
}
