package synth

import (
	"image"
	"image/color"
	"image/png"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/dataset"
)

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
		if err := s.WriteMask(dir, 5, make([]uint8, n)); err == nil || !strings.Contains(err.Error(), "mask 5 has ") || !strings.HasSuffix(err.Error(), " pixels, want 512×512") {
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
