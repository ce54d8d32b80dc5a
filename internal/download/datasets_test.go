package download

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/preprocess/jpeg"
)

// testJPEG is a small image; odd ones have an EXIF orientation that turns them.
func testJPEG(t testing.TB, i int) (data []byte, width, height int) {
	t.Helper()
	m := jpeg.NewRGB(20+i, 10+2*i)
	copy(m.Pix, randomBytes(len(m.Pix)))
	o := jpeg.EncodeOptions{Quality: 90}
	width, height = m.Width, m.Height
	if i%2 == 1 {
		o.ExifOrientation = 6
		width, height = height, width
	}
	var b bytes.Buffer
	if err := jpeg.Encode(&b, m, o); err != nil {
		t.Fatal(err)
	}
	return b.Bytes(), width, height
}

func TestASubsetFollowsFromNamesAndSeedAlone(t *testing.T) {
	var names []string
	for i := range 500 {
		names = append(names, fmt.Sprintf("image%03d", i))
	}
	ten, hundred := subset(names, 10, 7), subset(names, 100, 7)
	backwards := slices.Clone(names)
	slices.Reverse(backwards)
	if !cmp.Equal(ten, subset(backwards, 10, 7)) {
		t.Error("another order of names gives another choice")
	}
	for name := range ten {
		if !hundred[name] {
			t.Errorf("%s is among 10, but not among 100", name)
		}
	}
	if cmp.Equal(ten, subset(names, 10, 8)) {
		t.Error("another seed gives the same choice")
	}
	if n := len(subset(names, 1000, 7)); n != 500 {
		t.Errorf("1000 of 500 are %d", n)
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
		Kind: Dataset, Name: "imagenet", Title: "I", License: "l", Layout: LayoutImageNet, Samples: n,
		Files: []File{
			{Name: "labels.tar.gz", URLs: []string{s.URL + "/labels.tar.gz"},
				Unpack: &Unpack{Format: "tar.gz", Only: []string{"val.txt"}, Rename: map[string]string{"val.txt": valMap}}},
			{Name: "images.tar", URLs: []string{s.URL + "/images.tar"}, Unpack: &Unpack{Format: "tar", Only: []string{"*.JPEG"}}},
		},
	}
}

func TestImageNetComesWholeAndInPart(t *testing.T) {
	it := imageNet(t, 12)
	for _, count := range []int{0, 5} {
		t.Run(fmt.Sprint(count), func(t *testing.T) {
			o, _ := options(t)
			o.Count, o.Seed = count, 3
			mustGet(t, it, o)
			want := count
			if want == 0 {
				want = 12
			}
			list, err := os.ReadFile(filepath.Join(o.Dir, valMap))
			if err != nil {
				t.Fatal(err)
			}
			lines := strings.Split(strings.TrimSpace(string(list)), "\n")
			if len(lines) != want || !slices.IsSorted(lines) {
				t.Errorf("val_map.txt has %d lines, want %d in order", len(lines), want)
			}
			images, err := filepath.Glob(filepath.Join(o.Dir, "*.JPEG"))
			if err != nil || len(images) != want {
				t.Errorf("%d images, %v; want %d", len(images), err, want)
			}
			wantVerified(t, it, o.Dir)
		})
	}
}

func TestMoreOfADataSetMayFollow(t *testing.T) {
	it := imageNet(t, 12)
	o, _ := options(t)
	for _, count := range []int{3, 8, 0, 4} {
		o.Count = count
		mustGet(t, it, o)
		wantVerified(t, it, o.Dir)
	}
}

// wantVerified checks that Verify finds nothing wrong.
func wantVerified(t *testing.T, it Item, dir string) *Report {
	t.Helper()
	r, err := Verify(t.Context(), it, VerifyOptions{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if !r.OK() || len(r.Fine) < 3 {
		t.Errorf("Verify = %+v", r)
	}
	return r
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
	if err != nil {
		t.Fatal(err)
	}
	s.put("annotations.zip", zipOf(t, entry{name: cocoLabels, data: string(labels)}, entry{name: "annotations/captions_val2017.json", data: "{}"}))
	s.put("val2017.zip", zipOf(t, files...))
	return Item{
		Kind: Dataset, Name: "coco", Title: "C", License: "l", Layout: LayoutCOCO, Samples: n,
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
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	truth, err := accuracy.ReadCOCO(f)
	if err != nil {
		t.Fatal(err)
	}
	return truth
}

func TestCOCOComesWholeAndInPart(t *testing.T) {
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
		Categories:  all.Categories,
		Annotations: slices.DeleteFunc(slices.Clone(all.Annotations), func(a accuracy.Annotation) bool { return !kept[a.ImageID] }),
	}
	if len(kept) != 4 {
		t.Errorf("%d images, want 4", len(kept))
	}
	if diff := cmp.Diff(want, *truth); diff != "" {
		t.Errorf("what was kept differs from what was there (-want +got):\n%s", diff)
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
