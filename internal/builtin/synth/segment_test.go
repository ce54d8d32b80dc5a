package synth

import (
	"crypto/sha256"
	"encoding/hex"
	"image"
	"image/png"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/mlperf-go/mlperf/internal/dataset/volume"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

func writeADE20K(t *testing.T, spec ADE20KSpec, judge Judge) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), spec.Key())
	if err := WriteADE20K(t.Context(), dir, spec, judge, nil); err != nil {
		t.Fatal(err)
	}
	return dir
}

// decodeFile reads an image file.
func decodeFile(t *testing.T, path string) image.Image {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	m, _, err := image.Decode(f)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// checkPadding wants grey without a class beyond the content of a picture.
func checkPadding(t *testing.T, picture image.Image, mask *image.Gray, width, height int) {
	t.Helper()
	if r, g, b, _ := picture.At(510, 510).RGBA(); (width < 500 || height < 500) && (r>>8 != 127 || g>>8 != 127 || b>>8 != 127) {
		t.Errorf("the padding of %d×%d is %d %d %d", width, height, r>>8, g>>8, b>>8)
	}
	for k, class := range mask.Pix {
		if class != 0 && (k%512 >= width || k/512 >= height) {
			t.Fatalf("pixel %d of the padding of %d×%d has class %d", k, width, height, class)
		}
	}
}

func TestADE20KHasImagesAndMasks(t *testing.T) {
	testenv.SkipLong(t, "much arithmetic")
	spec := ADE20KSpec{Seed: 3, Images: 6}
	dir := writeADE20K(t, spec, nil)
	if a, b := namesIn(t, filepath.Join(dir, "images")), namesIn(t, filepath.Join(dir, "annotations")); len(a) != 6 || len(b) != 6 {
		t.Errorf("images %v, masks %v", a, b)
	}
	classes := map[uint8]bool{}
	for i := range spec.Images {
		picture := decodeFile(t, filepath.Join(dir, "images", spec.Name(i)+".jpg"))
		mask := decodeFile(t, filepath.Join(dir, "annotations", spec.Name(i)+".png")).(*image.Gray)
		if picture.Bounds() != image.Rect(0, 0, 512, 512) || mask.Rect != picture.Bounds() {
			t.Errorf("image %d has %v, its mask %v", i, picture.Bounds(), mask.Rect)
		}
		width, height := spec.Content(i)
		if width != 512 && height != 512 {
			t.Errorf("image %d shows %d×%d, want 512 in one direction", i, width, height)
		}
		checkPadding(t, picture, mask, width, height)
		for _, class := range mask.Pix {
			classes[class] = true
		}
	}
	if len(classes) < 8 || !classes[0] || slices.Max(slices.Collect(maps.Keys(classes))) > 31 {
		t.Errorf("classes %v", classes)
	}
	again := writeADE20K(t, spec, nil)
	if hashOfFiles(filesOf(t, dir)) != hashOfFiles(filesOf(t, again)) {
		t.Error("the same spec made other files")
	}
}

func TestPicturesForSegmentationDoNotChange(t *testing.T) {
	h := sha256.New()
	for i := range 3 {
		h.Write(ADE20KSpec{Seed: 1}.picture(i).Pix)
		h.Write(ADE20KSpec{Seed: 1}.shapes(i))
	}
	if got, want := hex.EncodeToString(h.Sum(nil)[:10]), "a5a88ec8ced7c94d2fc5"; got != want {
		t.Errorf("hash %s, want %s: if that is meant, raise FormatVersion", got, want)
	}
}

func TestVolumesDoNotChange(t *testing.T) {
	h := sha256.New()
	b := newBody(deriveSeed("kits19 body", 1, 0))
	densities, labels := b.render([3]int{20, 50, 60})
	for _, d := range densities {
		h.Write([]byte{byte(d), byte(d >> 8)})
	}
	h.Write(labels)
	if got, want := hex.EncodeToString(h.Sum(nil)[:10]), "02bfe4124d264aabe1b9"; got != want {
		t.Errorf("hash %s, want %s: if that is meant, raise FormatVersion", got, want)
	}
	counts := map[uint8]int{}
	for _, label := range labels {
		counts[label]++
	}
	if counts[1] < len(labels)/200 || counts[2] < len(labels)/2000 || counts[0] < len(labels)/2 {
		t.Errorf("labels %v of %d voxels", counts, len(labels))
	}
}

func TestKiTS19HasVolumesThatOtherReadersUnderstand(t *testing.T) {
	testenv.SkipLong(t, "much arithmetic")
	spec := KiTS19Spec{Seed: 1, Cases: 1}
	dir := filepath.Join(t.TempDir(), spec.Key())
	if err := WriteKiTS19(t.Context(), dir, spec, nil, nil); err != nil {
		t.Fatal(err)
	}
	list, err := os.ReadFile(filepath.Join(dir, "inference_cases.json"))
	if err != nil || string(list) != `["case_00000"]`+"\n" {
		t.Errorf("cases %s, %v", list, err)
	}
	for i := range spec.Cases {
		grid := spec.Grid(i)
		body := newBody(deriveSeed("kits19 body", spec.Seed, uint64(i)))
		densities, labels := body.render(grid.Shape)
		v, err := volume.ReadFile(filepath.Join(dir, spec.Name(i), "imaging.nii.gz"))
		if err != nil {
			t.Fatal(err)
		}
		s, err := volume.ReadFile(filepath.Join(dir, spec.Name(i), "segmentation.nii.gz"))
		if err != nil {
			t.Fatal(err)
		}
		if v.Shape != grid.Shape || s.Shape != grid.Shape || float32(v.Spacing[0]) != float32(grid.Spacing[0]) {
			t.Errorf("case %d: %+v and %+v, want %+v", i, v.Grid, s.Grid, grid)
		}
		for k := range labels {
			if v.Data[k] != float32(densities[k]) || s.Data[k] != float32(labels[k]) {
				t.Fatalf("case %d: voxel %d is %v and %v, want %d and %d", i, k, v.Data[k], s.Data[k], densities[k], labels[k])
			}
		}
	}
	if err := spec.WriteSegmentation(dir, 0, make([]uint8, 5)); err == nil {
		t.Error("a segmentation of another size was written")
	}
}

// After resampling a side has room for one window or for two.
func TestGridsBecomeOneOrTwoWindows(t *testing.T) {
	windows := map[int]bool{}
	for seed := range uint64(20) {
		for i := range 6 {
			g := KiTS19Spec{Seed: seed}.Grid(i)
			n := 1
			for _, side := range volume.PreparedShape(volume.Grid{Shape: g.Shape, Spacing: g.Spacing}) {
				if side != 128 && side != 192 {
					t.Errorf("seed %d, case %d: a side of %d", seed, i, side)
				}
				n *= (side-volume.Window)/volume.Stride + 1
			}
			windows[n] = true
		}
	}
	if len(windows) != 3 || !windows[1] || !windows[2] || !windows[4] {
		t.Errorf("numbers of windows %v, want 1, 2 and 4", windows)
	}
}

func TestAJudgeHasTheLastWordOnTheTruth(t *testing.T) {
	spec := ADE20KSpec{Seed: 1, Images: 1, Truth: "all grass"}
	if spec.Key() == (ADE20KSpec{Seed: 1, Images: 1}).Key() {
		t.Error("another truth has the same key")
	}
	grass := slices.Repeat([]uint8{9}, 512*512)
	dir := writeADE20K(t, spec, func(folder string) (map[string]float64, error) {
		return map[string]float64{"mower": 0.5}, spec.WriteMask(folder, 0, grass)
	})
	m, err := ReadManifest(dir)
	if err != nil || m.Scores["mower"] != 0.5 || m.ADE20K.Truth != "all grass" {
		t.Errorf("manifest %+v, %v", m, err)
	}
	f, err := os.Open(filepath.Join(dir, "annotations", spec.Name(0)+".png"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	mask, err := png.Decode(f)
	if err != nil || !slices.Equal(mask.(*image.Gray).Pix, grass) {
		t.Errorf("the mask is not grass, %v", err)
	}
	parent := t.TempDir()
	err = WriteADE20K(t.Context(), filepath.Join(parent, "set"), spec, func(string) (map[string]float64, error) { return nil, os.ErrClosed }, nil)
	wantError(t, err, "making the built-in ADE20K: file already closed")
	if names := namesIn(t, parent); len(names) > 0 {
		t.Errorf("%v were left behind", names)
	}
	wantError(t, spec.WriteMask(parent, 0, grass[1:]), "mask 0 has 262143 pixels")
}

func TestSpecsForSegmentationThatMakeNoSense(t *testing.T) {
	wantError(t, WriteADE20K(t.Context(), t.TempDir(), ADE20KSpec{}, nil, nil), "images is 0, want 1 to 2000")
	wantError(t, WriteKiTS19(t.Context(), t.TempDir(), KiTS19Spec{Cases: 100}, nil, nil), "cases is 100, want 1 to 99")
}
