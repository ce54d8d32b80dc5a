package synth

import (
	"bytes"
	"context"
	"fmt"
	"image"
	imagedraw "image/draw"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/testenv"
)

func TestImageNetFilesDoNotChange(t *testing.T) {
	testenv.SkipLong(t, "much arithmetic")
	const want = "01956b1dcdd495b4ac22e031908ca86d"
	dir := filepath.Join(t.TempDir(), "set")
	spec := ImageNetSpec{Seed: 1, Images: 20, Classes: 7, Jitter: 0.15}
	if err := WriteImageNet(t.Context(), dir, spec, nil); err != nil {
		t.Fatal(err)
	}
	if got := hashOfFiles(filesOf(t, dir)); got != want {
		t.Errorf("hash %s, want %s: if that is meant, raise FormatVersion", got, want)
	}
}

// hashOfFiles tells sets of files apart by names and content.
func hashOfFiles(files map[string]string) string {
	var all bytes.Buffer
	var names []string
	for name := range files {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		fmt.Fprintf(&all, "%s %d\n%s", name, len(files[name]), files[name])
	}
	return hashOf(all.Bytes())
}

func TestImageNetHasTheOfficialLayout(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "set")
	spec := ImageNetSpec{Seed: 2, Images: 4, Classes: 5}
	var told []int
	err := WriteImageNet(t.Context(), dir, spec, func(done, total int) {
		if total != 4 {
			t.Errorf("progress is told of %d images", total)
		}
		told = append(told, done)
	})
	if err != nil {
		t.Fatal(err)
	}
	if want := []int{1, 2, 3, 4}; !slices.Equal(told, want) {
		t.Errorf("progress was told %v", told)
	}
	files := filesOf(t, dir)
	if len(files) != 6 {
		t.Errorf("there are %d files, want 4 images, the map and the manifest", len(files))
	}
	labels := spec.Labels()
	lines := strings.Split(strings.TrimSuffix(files["val_map.txt"], "\n"), "\n")
	for i, line := range lines {
		if want := fmt.Sprintf("ILSVRC2012_val_%08d.JPEG %d", i+1, labels[i]); line != want {
			t.Errorf("line %d of the map is %q, want %q", i+1, line, want)
		}
		decodeJPEG(t, []byte(files[spec.Name(i)]))
	}
	if len(lines) != 4 {
		t.Errorf("the map has %d lines", len(lines))
	}
}

func TestEqualSpecsMakeEqualFilesAndOthersDoNot(t *testing.T) {
	testenv.SkipLong(t, "much arithmetic")
	base := ImageNetSpec{Seed: 3, Images: 4, Classes: 2, Jitter: 0.1}
	hashes := map[string]ImageNetSpec{}
	keys := map[string]bool{}
	for i, spec := range []ImageNetSpec{
		base,
		{Seed: 4, Images: 4, Classes: 2, Jitter: 0.1},
		{Seed: 3, Images: 5, Classes: 2, Jitter: 0.1},
		{Seed: 3, Images: 4, Classes: 3, Jitter: 0.1},
		{Seed: 3, Images: 4, Classes: 2, Jitter: 0.1000001},
	} {
		dir := filepath.Join(t.TempDir(), spec.Key())
		if err := WriteImageNet(t.Context(), dir, spec, nil); err != nil {
			t.Fatal(err)
		}
		files := filesOf(t, dir)
		delete(files, manifestName)
		hashes[hashOfFiles(files)] = spec
		keys[spec.Key()] = true
		if len(hashes) != i+1 || len(keys) != i+1 {
			t.Errorf("%+v has the files or the key of another spec", spec)
		}
	}
	again := filepath.Join(t.TempDir(), "again")
	if err := WriteImageNet(t.Context(), again, base, nil); err != nil {
		t.Fatal(err)
	}
	files := filesOf(t, again)
	delete(files, manifestName)
	if hashes[hashOfFiles(files)] != base {
		t.Error("the same spec made other files the second time")
	}
}

func TestLabelsAreSpreadEvenly(t *testing.T) {
	for _, c := range []struct{ images, classes, least, most int }{
		{1000, 100, 10, 10}, {1003, 100, 10, 11}, {5, 100, 0, 1}, {7, 1, 7, 7},
	} {
		spec := ImageNetSpec{Seed: 5, Images: c.images, Classes: c.classes}
		labels := spec.Labels()
		count := make([]int, c.classes)
		for _, label := range labels {
			count[label]++
		}
		if slices.Min(count) != c.least || slices.Max(count) != c.most || len(labels) != c.images {
			t.Errorf("%d images: a class has %d to %d of them, want %d to %d",
				len(labels), slices.Min(count), slices.Max(count), c.least, c.most)
		}
		if c.classes > 1 && slices.IsSorted(labels) {
			t.Errorf("%d labels are in order", c.images)
		}
	}
}

// With pixels in the place of features. Whole networks find it harder.
func TestImagesAreNearestToTheirOwnAnchor(t *testing.T) {
	testenv.SkipLong(t, "much arithmetic")
	for _, c := range []struct {
		jitter      float64
		least, most int
	}{{0.15, 55, 60}, {1, 0, 15}} {
		spec := ImageNetSpec{Seed: 1, Images: 60, Classes: 30, Jitter: c.jitter}
		if n := countNearest(t, spec); n < c.least || n > c.most {
			t.Errorf("with jitter %v %d of 60 images are nearest to their own anchor, want %d to %d", c.jitter, n, c.least, c.most)
		}
	}
}

func countNearest(t *testing.T, spec ImageNetSpec) (right int) {
	anchors := make([]*image.RGBA, spec.Classes)
	for k := range anchors {
		anchors[k] = spec.Anchor(k).Render(40, 30)
	}
	for i, label := range spec.Labels() {
		img, nearest, least := spec.Image(i, label).Render(40, 30), 0, math.Inf(1)
		for k, anchor := range anchors {
			if d := distance(t, img, anchor); d < least {
				nearest, least = k, d
			}
		}
		if nearest == label {
			right++
		}
	}
	return right
}

func TestOneImageOfFiveHundredIsTurnedByExif(t *testing.T) {
	spec := ImageNetSpec{Seed: 1, Images: 50000, Classes: 1}
	sizes := imageNetMix()
	count := map[byte]int{}
	for i := range spec.Images {
		count[spec.frame(&sizes, i).orientation]++
	}
	if count[0] != 49900 || count[rotate90] < 20 || count[rotate180] < 20 || count[rotate270] < 20 {
		t.Errorf("images by orientation: %v, want 100 with 3, 6 or 8", count)
	}
}

func TestExifReadersSeeThePictureUpright(t *testing.T) {
	spec := ImageNetSpec{Seed: 1, Images: 5000, Classes: 1, Jitter: 0.15}
	sizes := imageNetMix()
	tried := map[byte]bool{}
	var p painter
	for i := range spec.Images {
		f := spec.frame(&sizes, i)
		o := f.orientation
		if o == 0 || tried[o] {
			continue
		}
		tried[o] = true
		f.quality, f.gray = 95, false
		scene := spec.Image(i, 0)
		data, err := p.draw(&scene, f)
		if err != nil {
			t.Fatal(err)
		}
		if want := fmt.Sprintf("\x01\x12\x00\x03\x00\x00\x00\x01\x00%c", o); !strings.Contains(string(data), want) {
			t.Errorf("image %d does not have the orientation %d in its file", i, o)
		}
		stored := decodeJPEG(t, data)
		pixels := image.NewRGBA(stored.Bounds())
		imagedraw.Draw(pixels, pixels.Rect, stored, image.Point{}, imagedraw.Src)
		if got := psnr(t, turned(pixels, o), scene.Render(f.width, f.height)); got < 35 {
			t.Errorf("orientation %d: PSNR = %.1f dB after turning, want 35", o, got)
		}
	}
	if len(tried) != 3 {
		t.Errorf("orientations tried: %v", tried)
	}
}

func TestAnchorsAreFilesOfTheUndisturbedScene(t *testing.T) {
	spec := ImageNetSpec{Seed: 1, Images: 1, Classes: 3, Jitter: 0.2}
	data, err := AnchorJPEG(spec, 2)
	if err != nil {
		t.Fatal(err)
	}
	got := decodeJPEG(t, data)
	if p := psnr(t, got, spec.Anchor(2).Render(500, 375)); p < 36 {
		t.Errorf("PSNR = %.1f dB, want 36", p)
	}
	for _, class := range []int{-1, 3} {
		_, err := AnchorJPEG(spec, class)
		wantError(t, err, "drawing an anchor: ", fmt.Sprintf("the class is %d: must be 0 to 2", class))
	}
	_, err = AnchorJPEG(ImageNetSpec{}, 0)
	wantError(t, err, "images is 0")
}

func TestImageNetSpecsAreChecked(t *testing.T) {
	for _, c := range []struct {
		spec ImageNetSpec
		want string
	}{
		{ImageNetSpec{Classes: 1}, "images is 0: must be 1 to 99999999"},
		{ImageNetSpec{Images: 100_000_000, Classes: 1}, "images is 100000000"},
		{ImageNetSpec{Images: 1}, "classes is 0: must be 1 to 1000"},
		{ImageNetSpec{Images: 1, Classes: 1001}, "classes is 1001"},
		{ImageNetSpec{Images: 1, Classes: 1, Jitter: -0.1}, "jitter is -0.1: must be 0 to 1"},
		{ImageNetSpec{Images: 1, Classes: 1, Jitter: math.NaN()}, "jitter is NaN"},
	} {
		parent := t.TempDir()
		err := WriteImageNet(context.Background(), filepath.Join(parent, "set"), c.spec, nil)
		wantError(t, err, "making the built-in ImageNet: ", c.want)
		if names := namesIn(t, parent); len(names) > 0 {
			t.Errorf("%+v left %v behind", c.spec, names)
		}
	}
}
