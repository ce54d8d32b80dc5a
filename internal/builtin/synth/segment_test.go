package synth

import (
	"crypto/sha256"
	"encoding/hex"
	"image"
	"image/color"
	"image/png"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/dataset"
	"github.com/mlperf-go/mlperf/internal/preprocess/volume"
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
	if err != nil || m.Scores["mower"] != 0.5 || m.Spec.(*ADE20KSpec).Truth != "all grass" {
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
	wantError(t, WriteADE20K(t.Context(), t.TempDir(), ADE20KSpec{}, nil, nil), "images is 0: must be 1 to 2000")
	wantError(t, WriteKiTS19(t.Context(), t.TempDir(), KiTS19Spec{Cases: 100}, nil, nil), "cases is 100: must be 1 to 99")
}

// inside is whether a point is in an ellipsoid.
func (o organ) inside(at [3]float64) bool {
	sum := 0.0
	for axis := range at {
		d := (at[axis] - o.center[axis]) / o.radii[axis]
		sum += d * d
	}
	return sum < 1
}

// A voxel has the label of the last organ that is drawn there, its density with 16 tosses of coins more or less, and outside of
// the trunk is air.
func TestVoxelsAreThoseOfTheirOrgans(t *testing.T) {
	rng := rand.New(rand.NewPCG(43, 1))
	for seed := range uint64(10) {
		b := newBody(seed)
		shape := [3]int{5 + rng.IntN(12), 5 + rng.IntN(12), 5 + rng.IntN(12)}
		densities, labels := b.render(shape)
		if len(densities) != shape[0]*shape[1]*shape[2] || len(labels) != len(densities) {
			t.Fatalf("%v is %d voxels and %d labels", shape, len(densities), len(labels))
		}
		for i := range densities {
			at := [3]int{i / shape[2] / shape[1], i / shape[2] % shape[1], i % shape[2]}
			var p [3]float64
			for axis := range p {
				p[axis] = (float64(at[axis]) + 0.5) / float64(shape[axis])
			}
			want, label := int32(airDensity), uint8(0)
			if b.trunk.inside(p) {
				want = fleshDensity
				for _, o := range b.organs {
					if o.inside(p) {
						want, label = o.density, o.label
					}
				}
			}
			if d := int32(densities[i]) - want; labels[i] != label || d < -64 || d > 64 || d%4 != 0 {
				t.Fatalf("body %d: voxel %v is %d with label %d, want about %d with %d", seed, at, densities[i], labels[i], want, label)
			}
		}
	}
}

func TestBodiesHaveTwoKidneysAndATumour(t *testing.T) {
	for seed := range uint64(200) {
		b := newBody(seed)
		byLabel := map[uint8][]organ{}
		for _, o := range b.organs {
			byLabel[o.label] = append(byLabel[o.label], o)
		}
		kidneys, tumours := byLabel[1], byLabel[2]
		if len(byLabel[0]) != 12 || len(kidneys) != 2 || len(tumours) != 1 {
			t.Fatalf("body %d has %d organs, %d kidneys and %d tumours", seed, len(byLabel[0]), len(kidneys), len(tumours))
		}
		if kidneys[0].center[2] > 0.5 || kidneys[1].center[2] < 0.5 {
			t.Errorf("body %d: kidneys at %v and %v", seed, kidneys[0].center, kidneys[1].center)
		}
		tumour := tumours[0]
		near := false
		for _, k := range kidneys {
			distance := 0.0
			for axis := range k.center {
				d := (tumour.center[axis] - k.center[axis]) / k.radii[axis]
				distance = max(distance, math.Abs(d))
			}
			near = near || distance <= 0.7 && tumour.radii[0] < k.radii[0]
			if k.density < kidneyLow || k.density > kidneyTop {
				t.Errorf("body %d: a kidney has the density %d", seed, k.density)
			}
		}
		if !near || tumour.density < tumourLow || tumour.density > tumourTop {
			t.Errorf("body %d: a tumour of density %d at %v, of neither kidney", seed, tumour.density, tumour.center)
		}
		if b.organs[len(b.organs)-1].label != 2 {
			t.Errorf("body %d: something is drawn upon the tumour", seed)
		}
	}
}

func TestGrainIsCoinTosses(t *testing.T) {
	r := newStream("test", 1)
	const n = 20000
	sum, squares := 0.0, 0.0
	for range n {
		v := float64(grain(r))
		sum, squares = sum+v, squares+v*v
	}
	if mean, deviation := sum/n, math.Sqrt(squares/n); math.Abs(mean) > 0.5 || math.Abs(deviation-math.Sqrt(8)*4) > 0.3 {
		t.Errorf("a mean of %v and a deviation of %v, want 0 and 11.3", mean, deviation)
	}
}

// What a mask shows is where the picture is, and its classes are those that the official set has.
func TestMasksAreThoseOfTheShapes(t *testing.T) {
	s := ADE20KSpec{Seed: 9, Images: 40}
	upright, classes := 0, map[uint8]bool{}
	for i := range 8 {
		width, height := s.Content(i)
		mask := s.shapes(i)
		var want [adeSize * adeSize]bool
		for _, o := range s.Scene(i).Objects(width, height) {
			for y := o.Box[1]; y < o.Box[1]+o.Box[3]; y++ {
				for x := o.Box[0]; x < o.Box[0]+o.Box[2]; x++ {
					want[y*adeSize+x] = true
				}
			}
		}
		for k, class := range mask {
			if classes[class] = true; (class != 0) != want[k] || class > adeClasses {
				t.Fatalf("image %d: pixel %d, %d has class %d, in a box: %v", i, k%adeSize, k/adeSize, class, want[k])
			}
		}
	}
	sizes := map[[2]int]int{}
	for i := range 400 {
		width, height := s.Content(i)
		sizes[[2]int{max(width, height), min(width, height)}]++
		if height > width {
			upright++
		}
	}
	if len(sizes) != 4 || sizes[[2]int{512, 384}] < 180 || sizes[[2]int{512, 512}] < 20 || upright < 40 || upright > 110 {
		t.Errorf("sizes %v, %d of them upright", sizes, upright)
	}
}

func TestPicturesAreFilledUpWithGrey(t *testing.T) {
	s := ADE20KSpec{Seed: 9, Images: 10}
	for i := range 4 {
		width, height := s.Content(i)
		img, content := s.picture(i), s.Scene(i).Render(width, height)
		if img.Rect.Dx() != adeSize || img.Rect.Dy() != adeSize {
			t.Fatalf("image %d has %v pixels", i, img.Rect)
		}
		for y := range adeSize {
			for x := 0; x < adeSize; x += 7 {
				want := color.RGBA{adePadding, adePadding, adePadding, 255}
				if x < width && y < height {
					want = content.RGBAAt(x, y)
				}
				if got := img.RGBAAt(x, y); got != want {
					t.Fatalf("image %d: pixel %d, %d is %v, want %v", i, x, y, got, want)
				}
			}
		}
	}
}

func TestMasksAreWrittenWhole(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "annotations"), 0o755); err != nil {
		t.Fatal(err)
	}
	s := ADE20KSpec{Seed: 9, Images: 10}
	mask := make([]uint8, adeSize*adeSize)
	for i := range mask {
		mask[i] = uint8(i % 32)
	}
	if err := s.WriteMask(dir, 4, mask); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(filepath.Join(dir, "annotations", "ADE_val_00000005.png"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	m, err := png.Decode(f)
	if err != nil || m.ColorModel() != color.GrayModel || m.Bounds() != image.Rect(0, 0, adeSize, adeSize) {
		t.Fatalf("%v of %v, %v", m.Bounds(), m.ColorModel(), err)
	}
	for i, want := range mask {
		if got := m.(*image.Gray).Pix[i]; got != want {
			t.Fatalf("pixel %d has class %d, want %d", i, got, want)
		}
	}
	for _, n := range []int{0, len(mask) - 1, len(mask) + 1} {
		if err := s.WriteMask(dir, 5, make([]uint8, n)); err == nil || !strings.Contains(err.Error(), "mask 5 has ") || !strings.HasSuffix(err.Error(), " pixels, expected 512×512") {
			t.Errorf("%d classes: %v", n, err)
		}
	}
	if names := namesIn(t, filepath.Join(dir, "annotations")); len(names) != 1 {
		t.Errorf("files %q", names)
	}
}

func TestPicturesForSegmentationAreReadByTheirReader(t *testing.T) {
	spec := ADE20KSpec{Seed: 2, Images: 2}
	dir := writeADE20K(t, spec, nil)
	set, err := dataset.OpenADE20K(dir, dataset.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if n := set.Len(); n != 2 {
		t.Errorf("%d images", n)
	}
}

func TestSizesOfPicturesAreWithinTheirLimits(t *testing.T) {
	r := newStream("test", 5)
	for _, c := range []struct{ low, high int }{{300, 640}, {1, 1}, {7, 9}, {1024, 1800}} {
		for range 300 {
			width, height := anySize(r, c.low, c.high)
			longer, shorter := max(width, height), min(width, height)
			if longer < c.low || longer > c.high || shorter < longer*56/100 || shorter > longer {
				t.Fatalf("%d×%d of %d to %d", width, height, c.low, c.high)
			}
		}
	}
	for turned, want := range map[int]int{0: 0, 100: 500} {
		upright := 0
		for range 500 {
			if width, height := turnedSize(r, 40, 30, turned); height > width {
				upright++
			} else if width != 40 || height != 30 {
				t.Fatalf("%d×%d", width, height)
			}
		}
		if upright != want {
			t.Errorf("%d of 500 are upright with %d per cent", upright, turned)
		}
	}
}

// A mix has its sizes by their weights, and nothing else where nothing else has one.
func TestMixesAreOfTheirSizes(t *testing.T) {
	r := newStream("test", 6)
	m := mix{common: []size{{40, 30, 3, 0}, {10, 20, 1, 0}}}
	counts := map[[2]int]int{}
	for range 4000 {
		f := m.draw(r)
		counts[[2]int{f.width, f.height}]++
		if f.quality < 70 || f.quality > 98 || f.orientation != 0 {
			t.Fatalf("%+v", f)
		}
	}
	if len(counts) != 2 || counts[[2]int{40, 30}] < 2850 || counts[[2]int{40, 30}] > 3150 {
		t.Errorf("sizes %v, want 40×30 three times as often", counts)
	}
	for name, only := range map[string]mix{"small": {small: 1}, "large": {large: 1}, "ordinary": {ordinary: 1, side: [2]int{300, 400}}} {
		limits := map[string][2]int{"small": {110, 223}, "large": {1024, 1800}, "ordinary": {300, 400}}[name]
		for range 100 {
			if f := only.draw(r); max(f.width, f.height) < limits[0] || max(f.width, f.height) > limits[1] {
				t.Fatalf("%s: %d×%d", name, f.width, f.height)
			}
		}
	}
}

func TestChoicesFollowTheirWeights(t *testing.T) {
	r := newStream("test", 7)
	for _, weights := range [][]int{{1}, {0, 5}, {5, 0}, {0, 0, 1, 0}} {
		for range 200 {
			if i := r.pick(weights); weights[i] == 0 {
				t.Fatalf("%v: choice %d", weights, i)
			}
		}
	}
	for n := 1; n < 5; n++ {
		seen := map[int]bool{}
		for range 200 {
			v := r.below(n)
			if v < 0 || v >= n {
				t.Fatalf("%d of %d", v, n)
			}
			seen[v] = true
		}
		if len(seen) != n {
			t.Errorf("of %d numbers %v were drawn", n, seen)
		}
	}
}
