package synth

import (
	"encoding/json"
	"flag"
	"fmt"
	"image/jpeg"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

var update = flag.Bool("update", false, "write the golden files")

// annotationFile is what readers of COCO's form look at.
type annotationFile struct {
	Images []struct {
		ID            int64
		File_name     string
		Width, Height int
		Coco_url      *string
	}
	Categories []struct {
		ID   int64
		Name string
	}
	Annotations []struct {
		ID, Image_id, Category_id int64
		Bbox                      [4]float64
		Area                      float64
		Iscrowd                   int
	}
}

func readAnnotations(t *testing.T, dir string, layout Layout) (file annotationFile, text string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, layout.annotationFile()))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	return file, string(data)
}

func writeCOCO(t *testing.T, spec COCOSpec) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), spec.Key())
	if err := WriteCOCO(t.Context(), dir, spec, nil, nil); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestCOCOFilesDoNotChange(t *testing.T) {
	testenv.SkipLong(t, "much arithmetic")
	for layout, want := range map[Layout]string{COCO: "f0dadb2d015a627d24e715bdfc8477e9", OpenImages: "0c99fbae28d9083ef0fef70fb516d1c5"} {
		dir := writeCOCO(t, COCOSpec{Layout: layout, Seed: 1, Images: 4})
		if got := hashOfFiles(filesOf(t, dir)); got != want {
			t.Errorf("%s: hash %s, want %s: if that is meant, raise FormatVersion", layout, got, want)
		}
	}
}

func TestCOCOHasTheOfficialLayout(t *testing.T) {
	testenv.SkipLong(t, "much arithmetic")
	for layout, folder := range map[Layout]string{COCO: "val2017", OpenImages: "validation/data"} {
		spec := COCOSpec{Layout: layout, Seed: 5, Images: 10}
		dir := writeCOCO(t, spec)
		file, _ := readAnnotations(t, dir, layout)
		list := spec.List()
		if len(file.Images) != 10 || len(namesIn(t, filepath.Join(dir, folder))) != 10 {
			t.Errorf("%s: %d images are listed, %d are there", layout, len(file.Images), len(namesIn(t, filepath.Join(dir, folder))))
		}
		for i, m := range file.Images {
			if got := (COCOImage{m.ID, m.File_name, m.Width, m.Height}); got != list[i] {
				t.Errorf("%s: image %d is %+v, want %+v", layout, i, got, list[i])
			}
			f, err := os.Open(filepath.Join(dir, folder, m.File_name))
			if err != nil {
				t.Fatal(err)
			}
			if c, err := jpeg.DecodeConfig(f); err != nil || c.Width != m.Width || c.Height != m.Height {
				t.Errorf("%s: %s has %d×%d pixels, want %d×%d (%v)", layout, m.File_name, c.Width, c.Height, m.Width, m.Height, err)
			}
			f.Close()
		}
		if len(file.Annotations) != 0 {
			t.Errorf("%s: there are annotations already", layout)
		}
	}
}

func TestNamesOfImages(t *testing.T) {
	list := COCOSpec{Layout: COCO, Seed: 1, Images: 5000}.List()
	ids := map[int64]bool{}
	for _, m := range list {
		ids[m.ID] = true
		if want := fmt.Sprintf("%012d.jpg", m.ID); m.FileName != want || m.ID < 1 || m.ID > 581781 {
			t.Errorf("image %d is in %s", m.ID, m.FileName)
		}
	}
	if len(ids) != 5000 {
		t.Errorf("5000 images have %d different ids", len(ids))
	}
	if slices.IsSortedFunc(list, func(a, b COCOImage) int { return strings.Compare(a.FileName, b.FileName) }) {
		t.Error("COCO's images are in the order of their names")
	}
	for i, m := range (COCOSpec{Layout: OpenImages, Seed: 1, Images: 500}).List() {
		if m.ID != int64(i+1) || len(m.FileName) != 20 || strings.Trim(m.FileName[:16], "0123456789abcdef") != "" {
			t.Errorf("image %d is %+v", i, m)
		}
	}
	open := COCOSpec{Layout: OpenImages, Seed: 1, Images: 500}.List()
	if !slices.IsSortedFunc(open, func(a, b COCOImage) int { return strings.Compare(a.FileName, b.FileName) }) {
		t.Error("OpenImages' ids do not follow the order of the names")
	}
}

func TestCategoriesAreTheOfficialOnes(t *testing.T) {
	coco := COCO.Categories()
	if len(coco) != 80 {
		t.Errorf("COCO has %d categories, want 80", len(coco))
	}
	missing := []int64{}
	byID := map[int64]string{}
	for _, c := range coco {
		byID[c.ID] = c.Name
	}
	for id := int64(1); id <= 90; id++ {
		if byID[id] == "" {
			missing = append(missing, id)
		}
	}
	if want := []int64{12, 26, 29, 30, 45, 66, 68, 69, 71, 83}; !slices.Equal(missing, want) {
		t.Errorf("the missing ids are %v, want %v", missing, want)
	}
	for id, want := range map[int64]string{
		1: "person", 10: "traffic light", 13: "stop sign", 18: "dog", 28: "umbrella", 33: "suitcase", 43: "tennis racket",
		46: "wine glass", 58: "hot dog", 67: "dining table", 70: "toilet", 77: "cell phone", 84: "book", 90: "toothbrush",
	} {
		if byID[id] != want {
			t.Errorf("COCO's category %d is %q, want %q", id, byID[id], want)
		}
	}
	open := OpenImages.Categories()
	if len(open) != 264 || open[0].Name != "Airplane" || open[135].Name != "Kitchen & dining room table" || open[263].Name != "Zucchini" {
		t.Errorf("OpenImages has %d categories: %v", len(open), open)
	}
	if !slices.IsSortedFunc(open, func(a, b Category) int { return strings.Compare(a.Name, b.Name) }) {
		t.Error("OpenImages' categories are not in alphabetical order")
	}
}

// someAnnotations has numbers that are hard to write.
func someAnnotations(list []COCOImage) []Annotation {
	return []Annotation{
		{ImageID: list[1].ID, CategoryID: 90, Box: [4]float64{10.5, 20.25, 30, 40}},
		{ImageID: list[0].ID, CategoryID: 1, Box: [4]float64{0.1, 1e-7, 123456789, 1.0 / 3}, Area: 12.5, Crowd: true},
		{ImageID: list[1].ID, CategoryID: 1, Box: [4]float64{-2, -0.5, 0, 5}},
	}
}

func TestAnnotationsAreWrittenAsGiven(t *testing.T) {
	for _, layout := range []Layout{COCO, OpenImages} {
		spec := COCOSpec{Layout: layout, Seed: 5, Images: 2}
		dir := writeCOCO(t, spec)
		given := someAnnotations(spec.List())
		for range 2 { // the second time replaces
			if err := spec.WriteAnnotations(dir, slices.Values(given)); err != nil {
				t.Fatal(err)
			}
		}
		file, text := readAnnotations(t, dir, layout)
		if len(file.Annotations) != len(given) || len(file.Images) != 2 || len(file.Categories) != len(layout.Categories()) {
			t.Fatalf("%s: the file has %d annotations, %d images, %d categories",
				layout, len(file.Annotations), len(file.Images), len(file.Categories))
		}
		for i, a := range file.Annotations {
			got := Annotation{a.Image_id, a.Category_id, a.Bbox, a.Area, a.Iscrowd == 1}
			want := given[i]
			if want.Area == 0 {
				want.Area = want.Box[2] * want.Box[3]
			}
			if got != want || a.ID != int64(i+1) {
				t.Errorf("%s: annotation %d is %+v, want %+v", layout, a.ID, got, want)
			}
		}
		compareGolden(t, string(layout)+".json", text)
	}
}

func compareGolden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("%s differs (-golden +now):\n%s", name, diff)
	}
}

func TestWrongAnnotationsLeaveTheOldFile(t *testing.T) {
	spec := COCOSpec{Layout: COCO, Seed: 5, Images: 2}
	dir := writeCOCO(t, spec)
	good := someAnnotations(spec.List())
	if err := spec.WriteAnnotations(dir, slices.Values(good)); err != nil {
		t.Fatal(err)
	}
	_, before := readAnnotations(t, dir, COCO)
	for _, c := range []struct {
		name   string
		change func(a *Annotation)
		want   string
	}{
		{"an unknown image", func(a *Annotation) { a.ImageID = -5 }, "annotation 2: there is no image -5"},
		{"an unused category", func(a *Annotation) { a.CategoryID = 12 }, "annotation 2: there is no category 12"},
		{"a negative width", func(a *Annotation) { a.Box[2] = -1 }, "has a negative size"},
		{"a negative area", func(a *Annotation) { a.Area = -1 }, "the area -1 is negative"},
		{"not a number", func(a *Annotation) { a.Box[0] = math.NaN() }, "is not finite"},
		{"a box of infinite area", func(a *Annotation) { a.Box, a.Area = [4]float64{2: 1e200, 3: 1e200}, 0 }, "is not finite"},
		{"infinity", func(a *Annotation) { a.Area = math.Inf(1) }, "is not finite"},
	} {
		t.Run(c.name, func(t *testing.T) {
			bad := slices.Clone(good)
			c.change(&bad[1])
			wantError(t, spec.WriteAnnotations(dir, slices.Values(bad)), "writing the annotations of ", dir, c.want)
			if _, after := readAnnotations(t, dir, COCO); after != before {
				t.Error("the file changed")
			}
			if names := namesIn(t, filepath.Join(dir, "annotations")); len(names) != 1 {
				t.Errorf("the folder has %v", names)
			}
		})
	}
}

func TestObjectsLieInTheirImages(t *testing.T) {
	spec := COCOSpec{Layout: COCO, Seed: 1, Images: 20}
	found := 0
	for i, m := range spec.List() {
		for _, o := range spec.Objects(i) {
			found++
			if b := o.Box; b[0] < 0 || b[1] < 0 || b[2] < 1 || b[3] < 1 || b[0]+b[2] > m.Width || b[1]+b[3] > m.Height {
				t.Errorf("the %v at %v is not in image %d of %d×%d", o.Kind, b, i, m.Width, m.Height)
			}
		}
	}
	if found < 40 {
		t.Errorf("20 images have %d objects", found)
	}
}

func TestCOCOSpecsAreChecked(t *testing.T) {
	for _, c := range []struct {
		spec COCOSpec
		want string
	}{
		{COCOSpec{Images: 1}, `layout is "": must be "coco" or "openimages"`},
		{COCOSpec{Layout: COCO}, "making the built-in coco: images is 0: must be 1 to 100000"},
		{COCOSpec{Layout: OpenImages, Images: 100_001}, "making the built-in openimages: images is 100001"},
	} {
		wantError(t, WriteCOCO(t.Context(), filepath.Join(t.TempDir(), "set"), c.spec, nil, nil), c.want)
	}
}

// The oracle is the picture: what changes when the colours of a shape do is the shape.
func TestBoxesAreThoseOfTheRenderedPixels(t *testing.T) {
	const width, height = 160, 120
	kindsSeen := map[Kind]bool{}
	for seed := range uint64(60) {
		s := quiet(NewScene(seed))
		want := visibleBoxes(&s, width, height)
		got := s.Objects(width, height)
		if len(got) != len(want) {
			t.Errorf("scene %d: %d objects %v, want boxes %v", seed, len(got), got, want)
			continue
		}
		for i, object := range got {
			kindsSeen[object.Kind] = true
			if object.Box != want[i] {
				t.Errorf("scene %d: the %v has the box %v, want %v", seed, object.Kind, object.Box, want[i])
			}
		}
	}
	if len(kindsSeen) != int(kinds) {
		t.Errorf("only the kinds %v were seen", kindsSeen)
	}
}

// visibleBoxes paints each shape once black and once white. Where it makes up half of a
// pixel, that changes by half of what is possible.
func visibleBoxes(s *Scene, width, height int) (boxes [][4]int) {
	for i := range s.shapeCount {
		dark := plain(*s)
		light := dark
		dark.shapes[i].colours = [2]colour{{0, 0.5, 0.5}, {0, 0.5, 0.5}}
		light.shapes[i].colours = [2]colour{{1, 0.5, 0.5}, {1, 0.5, 0.5}}
		var a, b painter
		a.place(&dark, width, height)
		b.place(&light, width, height)
		const half = 115<<levelBits - 8 // of the difference between black and white, but for rounding
		var box extent
		for y := range height {
			a.drawRow(y, height)
			b.drawRow(y, height)
			for x := range width {
				if b.line[3*x]-a.line[3*x] >= half {
					box.add(x, y)
				}
			}
		}
		if box.right > 0 {
			boxes = append(boxes, [4]int{box.left, box.top, box.right - box.left, box.bottom - box.top})
		}
	}
	return boxes
}

// plain returns the scene in medium grey, so that no pixel is ever too dark or too light.
func plain(s Scene) Scene {
	shapes := s.shapes
	s.each(func(p *float64) { *p = 0.5 })
	s.shapes = shapes
	for i := range s.shapes {
		s.shapes[i].colours = [2]colour{{0.5, 0.5, 0.5}, {0.5, 0.5, 0.5}}
	}
	for i := range s.waves {
		s.waves[i].strength = 0
	}
	return s
}

// Cover is computed from spans; the oracle asks for each of many points in a pixel
// whether it is inside.
func TestCoverIsTheShareOfPointsInside(t *testing.T) {
	const width, height, points = 90, 70, 16
	cover := make([]uint8, width)
	scenes := uint64(1)
	if testenv.Long() {
		scenes = 8
	}
	for seed := range scenes {
		s := NewScene(seed)
		for i := range s.shapeCount {
			f := s.shapes[i].place(newView(width, height), width)
			for y := range height {
				clear(cover)
				f.cover(y, cover)
				for x := range width {
					want := float64(insideCount(&f, x, y, points)) / (points * points)
					if got := float64(cover[x]) / opaque; got < want-0.13 || got > want+0.13 {
						t.Fatalf("scene %d: the %v covers %.2f of pixel (%d, %d), want %.2f", seed, f.kind, got, x, y, want)
					}
				}
			}
		}
	}
}

func insideCount(f *figure, x, y, points int) (n int) {
	for j := range points {
		for i := range points {
			px := float64(x) + (float64(i)+0.5)/float64(points)
			py := float64(y) + (float64(j)+0.5)/float64(points)
			if inside(f.kind, f.own.x.at(px, py), f.own.y.at(px, py)) {
				n++
			}
		}
	}
	return n
}

// inside knows the shapes by their corners.
func inside(kind Kind, u, v float64) bool {
	switch kind {
	case Ellipse:
		return u*u+v*v <= 1
	case Triangle:
		const x, low = 0.8660254037844386, -0.5 // corners (0, -1), (±x, 1/2) in the picture
		return v <= -low && v >= -1+(u*1.5)/x && v >= -1-(u*1.5)/x
	}
	return u >= -1 && u <= 1 && v >= -1 && v <= 1
}

func TestObjectsScaleWithTheFrame(t *testing.T) {
	for seed := range uint64(20) {
		small, large := NewScene(seed).Objects(200, 150), NewScene(seed).Objects(400, 300)
		if len(small) > len(large) {
			t.Errorf("scene %d has %d objects, enlarged only %d", seed, len(small), len(large))
		}
		for i := range min(len(small), len(large)) {
			for j, v := range small[i].Box {
				if d := large[i].Box[j] - 2*v; len(small) == len(large) && (d < -4 || d > 4) {
					t.Errorf("scene %d: box %v becomes %v at twice the size", seed, small[i].Box, large[i].Box)
				}
			}
		}
	}
}

func TestKindsHaveNames(t *testing.T) {
	for kind, want := range map[Kind]string{
		Ellipse: "ellipse", Rectangle: "rectangle", Triangle: "triangle", Stripes: "stripes", kinds: "unknown shape",
	} {
		if got := kind.String(); got != want {
			t.Errorf("Kind(%d) = %q, want %q", int(kind), got, want)
		}
	}
}
