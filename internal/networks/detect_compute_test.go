package networks

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/mlperf-go/mlperf/internal/onnx"
)

// boxesAt are random boxes of two corners.
func boxesAt(seed uint64, images, n int) array {
	rng := rand.New(rand.NewPCG(seed, 1))
	a := newArray(onnx.Float32, int64(images), int64(n), 4)
	for i := 0; i < len(a.data); i += 4 {
		x, y := float64(rng.IntN(64))/64, float64(rng.IntN(64))/64
		a.data[i], a.data[i+1] = y, x
		a.data[i+2], a.data[i+3] = y+0.25+float64(rng.IntN(16))/64, x+0.25+float64(rng.IntN(16))/64
	}
	return a
}

// A finding is a box that was found.
type finding struct {
	score float64
	class int
	box   []float64
}

// findings chooses boxes by the definition: in each class the best one, then the best of those that overlap none
// that is kept by more than the limit, and so on; of all classes the best.
func findings(boxes, scores array, image int, n NMS, limit int) []finding {
	var all []finding
	for class := range int(scores.shape[1]) {
		var order []int
		for i := range int(scores.shape[2]) {
			if scores.at(image, class, i) > float64(n.Score) {
				order = append(order, i)
			}
		}
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(scores.at(image, class, b), scores.at(image, class, a)) })
		var kept []finding
		for _, i := range order {
			box := boxes.box(image, i)
			if int64(len(kept)) < n.PerClass && !slices.ContainsFunc(kept, func(f finding) bool { return overlap(f.box, box) > float64(n.IoU) }) {
				kept = append(kept, finding{scores.at(image, class, i), class, box})
			}
		}
		all = append(all, kept...)
	}
	slices.SortStableFunc(all, func(a, b finding) int { return cmp.Compare(b.score, a.score) })
	return all[:min(limit, len(all))]
}

func TestTheBestBoxesOfEachImageAreFound(t *testing.T) {
	const images, classes, n, limit = 3, 4, 30, 12
	nms := NMS{PerClass: 5, IoU: 0.5, Score: 0.3}
	boxes := boxesAt(1, images, n)
	scores := newArray(onnx.Float32, images, classes, n)
	rng := rand.New(rand.NewPCG(2, 2))
	for i, k := range rng.Perm(len(scores.data)) { // all differ
		scores.data[i] = float64(k) / float64(len(scores.data))
	}
	for i := range n * classes { // in the last image hardly anything is found
		scores.data[2*n*classes+i] *= 0.305
	}
	b := NewBuilder("test", 1)
	bs, ss := b.Input("boxes", onnx.Float32, onnx.Batched(n, 4)), b.Input("scores", onnx.Float32, onnx.Batched(classes, n))
	found := b.bestBoxes("best", bs, ss, nms, limit)
	b.Output(found.count, found.boxes, found.scores, found.classes)
	m, _, err := b.Model()
	if err != nil {
		t.Fatal(err)
	}
	values := evaluate(t, m, map[string]array{"boxes": boxes, "scores": scores})
	for image := range images {
		want := findings(boxes, scores, image, nms, limit)
		if count := values[found.count.Name].at(image); int(count) != len(want) {
			t.Errorf("image %d: %v boxes are counted, want %d", image, count, len(want))
		}
		for i := range limit {
			f := finding{box: make([]float64, 4)} // behind the last one is nothing
			if i < len(want) {
				f = want[i]
			}
			got := finding{values[found.scores.Name].at(image, i), int(values[found.classes.Name].at(image, i)), values[found.boxes.Name].box(image, i)}
			if got.score != f.score || got.class != f.class || !slices.Equal(got.box, f.box) {
				t.Errorf("image %d, box %d is %v, want %v", image, i, got, f)
			}
		}
	}
	if few := len(findings(boxes, scores, 2, nms, limit)); few == 0 || few >= limit {
		t.Errorf("the last image has %d boxes, want some and fewer than %d", few, limit)
	}
}

// Shifts are in tenths and growths in fifths of an anchor's size, as SSD has them.
func TestDecodedBoxesAreAnchorsThatMovedAndGrew(t *testing.T) {
	const n = 5
	encoded := rounded(randoms(1, 2, n, 4))
	centers, sizes := asWeights(randoms(2, n*2)), asWeights(randoms(3, n*2).of(func(x float64) float64 { return 0.1 + x*x }))
	got := layerOf(t, encoded, func(b *Builder, x *onnx.Value) *onnx.Value { return b.decodeCenters("l", x, centers, sizes) })
	want := newArray(onnx.Float32, 2, n, 4)
	for image := range 2 {
		for i := range n {
			for axis := range 2 {
				center := float64(centers[2*i+axis]) + encoded.at(image, i, axis)/10*float64(sizes[2*i+axis])
				half := math.Exp(encoded.at(image, i, 2+axis)/5) * float64(sizes[2*i+axis]) / 2
				want.data[(image*n+i)*4+axis], want.data[(image*n+i)*4+2+axis] = center-half, center+half
			}
		}
	}
	checkArray(t, "decodeCenters", got, want)
}

func TestTheBestOfAListAreAsManyAsThereAre(t *testing.T) {
	for _, c := range []struct {
		scores []float32
		want   []float32
		where  []int64
	}{
		{[]float32{3, 9, 1, 7, 5}, []float32{9, 7, 5}, []int64{1, 3, 4}},
		{[]float32{3, 9}, []float32{9, 3}, []int64{1, 0}},
	} {
		b := NewBuilder("test", 1)
		x := b.Input("x", onnx.Float32, onnx.Shape{onnx.Free("any")})
		best, where := b.best("l", x, 3, "found")
		b.Output(best, where)
		m, _, err := b.Model()
		if err != nil {
			t.Fatal(err)
		}
		values := evaluate(t, m, map[string]array{"x": numbers(c.scores, int64(len(c.scores)))})
		checkArray(t, "the best", values[best.Name], numbers(c.want, int64(len(c.want))))
		checkArray(t, "where they were", values[where.Name], numbers(c.where, int64(len(c.where))))
	}
}

// scoresOf SSD-ResNet34 are logits of 15,130 boxes: background everywhere but for what is given.
func scoresOf(found map[[2]int]float64) array {
	confs := newArray(onnx.Float32, 1, ssdResNet34Classes, 15_130)
	for i := range 15_130 {
		confs.data[i] = 10
	}
	for at, score := range found {
		confs.data[at[0]*15_130+at[1]] = score
	}
	return confs
}

// What the heads of SSD-ResNet34 say becomes boxes with labels from 1, the best first, none twice, all within the image.
func TestSSDResNet34FindsWhatItsHeadsSay(t *testing.T) {
	const first, beside, far, edge = 1275, 1276, 15_000, 0
	confs := scoresOf(map[[2]int]float64{{1, first}: 14, {1, beside}: 13, {80, far}: 12, {3, beside}: 11, {5, edge}: 13.5, {7, far}: 5})
	b := NewBuilder("test", 1)
	locs, classes := b.Input("locs", onnx.Float32, onnx.FixedShape([]int64{1, 4, 15_130})), b.Input("confs", onnx.Float32, onnx.FixedShape(confs.shape))
	ssdResNet{b}.detections(locs, classes)
	m, _, err := b.Model()
	if err != nil {
		t.Fatal(err)
	}
	values := evaluate(t, m, map[string]array{"locs": newArray(onnx.Float32, 1, 4, 15_130), "confs": confs})
	labels, scores, boxes := values["labels"], values["scores"], values["bboxes"]
	// A box beside another of the same class overlaps it by 0.56; logits that the background outweighs are none.
	checkArray(t, "labels", labels, numbers([]int64{1, 5, 80, 3}, 1, 4))
	if !slices.IsSortedFunc(scores.data, func(a, b float64) int { return cmp.Compare(b, a) }) || scores.data[0] < 0.9 {
		t.Errorf("scores %v, want the best first", scores.data)
	}
	centers, sizes := ssdResNet{}.defaultBoxes()
	for i, box := range []int{first, edge, far, beside} {
		for axis := range 2 {
			half := float64(sizes[2*box+axis]) / 2
			low, high := max(0, float64(centers[2*box+axis])-half), min(1, float64(centers[2*box+axis])+half)
			if got := boxes.box(0, i); abs(got[axis]-low) > 1e-6 || abs(got[2+axis]-high) > 1e-6 {
				t.Errorf("box %d is %v, axis %d want %v to %v", i, got, axis, low, high)
			}
		}
	}
}
