package builtin

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/mlperf-go/mlperf/internal/builtin/synth"
	"github.com/mlperf-go/mlperf/internal/models/vision"
	"github.com/mlperf-go/mlperf/internal/onnx/arch"
)

// rowsOf are the rows of seven numbers of a response.
func rowsOf(rows ...[7]float32) (response []byte) {
	for _, row := range rows {
		for _, v := range row {
			response = binary.LittleEndian.AppendUint32(response, math.Float32bits(v))
		}
	}
	return response
}

func TestBoxesAreReadFromTheirRows(t *testing.T) {
	categories := synth.COCO.Categories() // from 1 to 90, of which ten are none
	response := rowsOf([7]float32{9, 0.1, 0.2, 0.3, 0.4, 0.5, 1}, [7]float32{9, 0, 0, 1, 1, 0.25, 12}, [7]float32{9, 0, 0, 1, 1, 0.125, 90}, [7]float32{9, 0, 0, 1, 1, 1, 0})
	got := readBoxes(response, false, categories)
	if len(got) != 2 || got[0].category != 1 || got[1].category != 90 || got[1].score != 0.125 {
		t.Fatalf("boxes %+v, want those of the categories 1 and 90: there is no 12 and no 0", got)
	}
	for k, want := range []float32{0.1, 0.2, 0.3, 0.4} {
		if got[0].corners[k] != float64(want) {
			t.Errorf("corner %d is %v, want %v", k, got[0].corners[k], want)
		}
	}
	if got[0].score != 0.5 {
		t.Errorf("the score is %v", got[0].score)
	}
	if got := readBoxes(response, true, categories); len(got) != 2 || got[0].category != 1 || got[1].category != 13 {
		t.Errorf("by the numbers of categories %+v, want the first and the twelfth: there is no 90th", got)
	}
	for _, n := range []int{0, 27} { // no row, and less than one
		if got := readBoxes(response[:n], false, categories); len(got) != 0 {
			t.Errorf("%d bytes are %+v", n, got)
		}
	}
	if got := readBoxes(response[:28+27], false, categories); len(got) != 1 {
		t.Errorf("a row and a part of one are %+v", got)
	}
}

func TestOnlyCategoriesThatAreFoundAreThere(t *testing.T) {
	got := foundCategories([][]found{{{category: 7}, {category: 3}}, nil, {{category: 7}, {category: 1}}})
	if !slices.Equal(got, []int64{1, 3, 7}) {
		t.Errorf("categories %v", got)
	}
	if got := foundCategories(nil); len(got) != 0 {
		t.Errorf("of nothing: %v", got)
	}
}

// disturberOf is one of an image of 1000×500 pixels.
func disturberOf(seed uint64) disturber {
	return disturber{newChance("test", seed), []int64{1, 2, 3}, synth.COCOImage{ID: 77, Width: 1000, Height: 500}}
}

func TestObjectsAreInPixelsWithTwoDecimals(t *testing.T) {
	d := disturberOf(1)
	for range 200 {
		f := found{corners: [4]float64{0.123456, 0.2, 0.523456, 0.6987654}, category: 3}
		objects := d.add(nil, f)
		if len(objects) != 1 {
			t.Fatalf("objects %+v", objects)
		}
		a := objects[0]
		if want := [4]float64{200, 61.73, 498.77, 200}; a.Box != want || a.ImageID != 77 || a.CategoryID != 3 {
			t.Errorf("%+v, want the box %v", a, want)
		}
		if share := a.Area / (a.Box[2] * a.Box[3]); share < 0.549 || share > 1.001 || math.Abs(a.Area*100-math.Round(a.Area*100)) > 1e-6 {
			t.Errorf("the area %v is %v of the box", a.Area, share)
		}
	}
	// A pixel is the least.
	for _, c := range []struct {
		corners [4]float64
		n       int
	}{
		{[4]float64{0.1, 0.1, 0.102, 0.101}, 1}, {[4]float64{0.1, 0.1, 0.1019, 0.2}, 0}, {[4]float64{0.1, 0.1, 0.2, 0.1009}, 0},
		{[4]float64{0.5, 0.5, 0.4, 0.6}, 0}, {[4]float64{0, 0, 1, 1}, 1}, {[4]float64{1, 0, 1, 1}, 0},
	} {
		if got := d.add(nil, found{corners: c.corners}); len(got) != c.n {
			t.Errorf("corners %v make %+v, want %d", c.corners, got, c.n)
		}
	}
}

func TestShiftedSidesMoveByAPartOfTheSize(t *testing.T) {
	d := disturberOf(2)
	f := found{corners: [4]float64{0.4, 0.3, 0.5, 0.7}} // 0.1 high and 0.4 wide
	for k, size := range []float64{0.1, 0.4, 0.1, 0.4} {
		mean, deviation := moments(4000, func() float64 { return d.shifted(f, 0.05).corners[k] - f.corners[k] })
		if math.Abs(mean) > 0.003*size || math.Abs(deviation-0.05*size) > 0.003*size {
			t.Errorf("side %d moves by %v on average, with a deviation of %v, want 0 and %v", k, mean, deviation, 0.05*size)
		}
	}
	for range 500 {
		for k, v := range d.shifted(found{corners: [4]float64{0, 0, 1, 1}}, 0.8).corners {
			if v < 0 || v > 1 {
				t.Fatalf("side %d is at %v, outside of the image", k, v)
			}
		}
	}
}

// Half of the boxes stay exactly where they are, three of ten come near, two far off; one of 25 gets another name.
func TestBoxesAreMovedAsOftenAsIsSaid(t *testing.T) {
	const n = 10000
	d := disturberOf(3)
	same, near, named := 0, 0, 0
	f := found{corners: [4]float64{0.3, 0.3, 0.6, 0.6}, category: 9}
	for range n {
		got := d.moved(f)
		moves := 0.0
		for k := range got.corners {
			moves += math.Pow((got.corners[k]-f.corners[k])/0.3, 2) / 4
		}
		switch deviation := math.Sqrt(moves); {
		case deviation == 0:
			same++
		case deviation < 0.09:
			near++
		}
		if got.category != 9 {
			named++
		}
	}
	for what, c := range map[string]struct {
		got  int
		want float64
	}{"stay": {same, 0.5}, "are named otherwise": {named, misnamed}} {
		if share := float64(c.got) / n; math.Abs(share-c.want) > 0.02 {
			t.Errorf("%v of the boxes %s, want %v", share, what, c.want)
		}
	}
	if share := float64(near) / n; share < 0.27 || share > 0.36 { // and some of those that are far off by chance
		t.Errorf("%v of the boxes come near", share)
	}
}

func TestObjectsAreMissingAndInvented(t *testing.T) {
	const n = 4000
	d := disturberOf(4)
	exact, crowds := 0, 0
	boxes := make([]found, n)
	for i := range boxes {
		boxes[i] = found{corners: [4]float64{0.3, 0.3, 0.6, 0.6}, category: 2}
	}
	objects := d.objects(boxes)
	for _, o := range objects {
		if o.Box == [4]float64{300, 150, 300, 150} {
			exact++
		}
		if o.Crowd {
			crowds++
		}
	}
	real, most := n*(1-missing), n*(1-missing)*(1+invented) // of those that are invented many have no size
	if got := float64(len(objects)); got < 1.03*real || got > most {
		t.Errorf("%d boxes make %v objects, want some more than %.0f and at most %.0f", n, got, real, most)
	}
	if share := float64(exact) / n; math.Abs(share-0.5*(1-missing)) > 0.03 {
		t.Errorf("%v of the objects are where the model sees them", share)
	}
	if share := float64(crowds) / float64(len(objects)); math.Abs(share-crowded) > 0.015 {
		t.Errorf("%v of the objects are crowds, want %v", share, crowded)
	}
	if got := d.objects(nil); len(got) != 0 {
		t.Errorf("nothing becomes %+v", got)
	}
}

func TestOneImageOfSixteenHasNoObjects(t *testing.T) {
	spec := synth.COCOSpec{Layout: synth.COCO, Seed: 5, Images: 40}
	responses := make([][]byte, spec.Images)
	for i := range responses {
		for k := range 12 {
			responses[i] = append(responses[i], rowsOf([7]float32{float32(i), 0.2, 0.2, 0.8, 0.8, float32(k) / 12, 1})...)
		}
	}
	index := map[int64]int{}
	for i, image := range spec.List() {
		index[image.ID] = i
	}
	counts := make([]int, spec.Images)
	for a := range disturbedObjects(spec, responses, vision.BuiltIn{}) {
		counts[index[a.ImageID]]++
	}
	for i, n := range counts {
		if (n == 0) != (i%emptyEvery == emptyEvery-1) {
			t.Errorf("image %d has %d objects", i, n)
		}
	}
	for range disturbedObjects(spec, responses, vision.BuiltIn{}) {
		break // who does not want more gets no more
	}
}

func TestDrawnObjectsAreTheShapes(t *testing.T) {
	spec := synth.COCOSpec{Layout: synth.OpenImages, Seed: 6, Images: 5}
	known := map[int64]bool{}
	for _, c := range spec.Layout.Categories() {
		known[c.ID] = true
	}
	var got []synth.Annotation
	for a := range drawnObjects(spec) {
		if !known[a.CategoryID] || a.Crowd {
			t.Errorf("object %+v", a)
		}
		got = append(got, a)
	}
	at := 0
	for i, image := range spec.List() {
		for _, o := range spec.Objects(i) {
			for k, v := range o.Box {
				if got[at].Box[k] != float64(v) || got[at].ImageID != image.ID {
					t.Errorf("object %d is %+v, want %+v of image %d", at, got[at], o, image.ID)
				}
			}
			at++
		}
	}
	if at != len(got) {
		t.Errorf("%d objects of %d shapes", len(got), at)
	}
}

// nearestMove is the move by up to four pixels after which most classes are those of a mask, and how many these are.
func nearestMove(mask, classes []uint8, width, height int) (best int, at [2]int) {
	for move := range 9 * 9 {
		down, right := move/9-4, move%9-4
		same := 0
		for y := range height {
			for x := range width {
				from := min(max(y+down, 0), height-1)*maskSide + min(max(x+right, 0), width-1)
				if mask[y*maskSide+x] == classes[from] {
					same++
				}
			}
		}
		if same > best {
			best, at = same, [2]int{down, right}
		}
	}
	return best, at
}

// The truth about a pixel is what the model says about one up to four pixels away, or one of eight areas: for one move all the
// rest agrees.
func TestMasksAreMovedByAFewPixels(t *testing.T) {
	const width, height = 384, 300
	random := rand.New(rand.NewPCG(1, 1))
	classes := make([]uint8, maskSide*maskSide)
	for i := range classes {
		classes[i] = uint8(100 + random.IntN(100)) // which no area has
	}
	moves := map[[2]int]bool{}
	for seed := range uint64(12) {
		mask := disturbedMask(newChance("test", seed), classes, width, height)
		areas := 0
		for i, class := range mask {
			x, y := i%maskSide, i/maskSide
			if (x >= width || y >= height) && class != 0 {
				t.Fatalf("pixel %d, %d of the padding has class %d", x, y, class)
			}
			if x < width && y < height && class <= maskClasses {
				areas++
			}
		}
		best, at := nearestMove(mask, classes, width, height)
		if best+areas != width*height || areas == 0 || areas > width*height*9/10 {
			t.Errorf("seed %d: %d pixels moved by %v and %d of areas are not all %d", seed, best, at, areas, width*height)
		}
		moves[at] = true
	}
	if len(moves) < 6 {
		t.Errorf("of twelve masks there are the moves %v", moves)
	}
}

func TestLabelsAreMovedByAVoxelOrTwo(t *testing.T) {
	n := [3]int{6, 7, 9}
	labels := make([]uint8, n[0]*n[1]*n[2])
	for i := range labels {
		labels[i] = uint8(i) // another one everywhere, in rows of nine
	}
	seen := map[[3]int]bool{}
	for seed := range uint64(40) {
		got := movedLabels(newChance("test", seed), labels, n)
		at := func(v []uint8, z, y, x int) uint8 { return v[(z*n[1]+y)*n[2]+x] }
		fits := func(by [3]int) bool {
			for i, label := range got {
				z, y, x := i/n[2]/n[1], i/n[2]%n[1], i%n[2]
				inside := func(v, axis int) int { return min(max(v+by[axis], 0), n[axis]-1) }
				if label != at(labels, inside(z, 0), inside(y, 1), inside(x, 2)) {
					return false
				}
			}
			return true
		}
		found := 0
		for move := range 125 {
			by := [3]int{move/25 - 2, move/5%5 - 2, move%5 - 2}
			if fits(by) {
				found++
				seen[by] = true
			}
		}
		if found != 1 || len(got) != len(labels) {
			t.Fatalf("seed %d: the labels are moved in %d ways", seed, found)
		}
	}
	if len(seen) < 25 {
		t.Errorf("of 40 volumes there are %d moves", len(seen))
	}
}

// What is to become of a caption lies at the angle that the cosine says from what the image becomes, in directions in which no
// image lies.
func TestCaptionsLieAtTheirAngle(t *testing.T) {
	random := rand.New(rand.NewPCG(2, 2))
	for i := range 20 {
		features := make([]float32, arch.EyesFeatures)
		for k := range len(features) - arch.EyesUnused {
			features[k] = float32(random.NormFloat64() * 3)
		}
		text := captionFeatures(features, newChance("test", uint64(i)))
		dot := 0.0
		for k := range text {
			dot += float64(text[k]) * float64(features[k])
		}
		if cosine := dot / lengthOf(text) / lengthOf(features); math.Abs(cosine-pictureCosine) > 1e-5 {
			t.Errorf("the cosine is %v, want %v", cosine, pictureCosine)
		}
		if length := lengthOf(text); math.Abs(length-1) > 1e-5 {
			t.Errorf("the length is %v, want 1", length)
		}
		for k := range len(features) - arch.EyesUnused {
			if want := pictureCosine / lengthOf(features) * float64(features[k]); math.Abs(float64(text[k])-want) > 1e-6 {
				t.Fatalf("feature %d is %v, want %v", k, text[k], want)
			}
		}
	}
}

func TestFeaturesAreShiftedToZero(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 3))
	const n = 5
	seen := make([][]float32, 8)
	for i := range seen {
		for k := range n {
			seen[i] = append(seen[i], float32(random.NormFloat64())+float32(10*k))
		}
	}
	shift := shiftToZero(seen, n)
	for k := range n {
		sum := 0.0
		for _, features := range seen {
			sum += float64(features[k] + shift[k])
		}
		if math.Abs(sum) > 1e-4 || len(shift) != n {
			t.Errorf("feature %d has the sum %v after a shift by %v", k, sum, shift[k])
		}
	}
}

func TestStatisticsAreThoseOfTheRows(t *testing.T) {
	seen := [][]float32{{1, 10}, {3, 10}, {5, 40}}
	got, err := statisticsOf(seen)
	if err != nil || got.Mean[0] != 3 || got.Mean[1] != 20 || got.Covariance[0] != 4 || got.Covariance[1] != 30 || got.Covariance[2] != 30 || got.Covariance[3] != 300 {
		t.Errorf("%+v, %v", got, err)
	}
	for name, seen := range map[string][][]float32{"nothing": nil, "other lengths": {{1, 2}, {1}}} {
		if got, err := statisticsOf(seen); err == nil {
			t.Errorf("of %s: %+v", name, got)
		}
	}
}

func TestLengthsAreEuclids(t *testing.T) {
	for _, c := range []struct {
		v    []float32
		want float64
	}{{nil, 0}, {[]float32{3, 4}, 5}, {[]float32{-3, 0, -4}, 5}} {
		if got := lengthOf(c.v); got != c.want {
			t.Errorf("lengthOf(%v) = %v, want %v", c.v, got, c.want)
		}
	}
	if got := distance([]float32{4, 6}, []float64{1, 2}); got != 5 {
		t.Errorf("a distance is %v, want 5", got)
	}
	if got := meanOf([][]float32{{1, 2}, {3, 6}}, 2); !slices.Equal(got, []float64{2, 4}) {
		t.Errorf("a mean is %v", got)
	}
}
