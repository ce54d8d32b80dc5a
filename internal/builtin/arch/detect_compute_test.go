package arch

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
			if int64(len(kept)) < n.PerClass && !slices.ContainsFunc(kept, func(f finding) bool { return intersectionOverUnion(f.box, box) > float64(n.IoU) }) {
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

// What the predictors of SSD-MobileNet say of each anchor becomes boxes by the definition of SSD.
func TestSSDMobileNetFindsTheBestBoxesOfItsMaps(t *testing.T) {
	b := NewBuilder("test", 5)
	var maps []*onnx.Value
	in := map[string]array{}
	for i, g := range ssdMobileNetGrids() {
		name := string(rune('a' + i))
		in[name] = rounded(randoms(uint64(i), 1, 2, g.size, g.size))
		maps = append(maps, b.Input(name, onnx.Float32, onnx.Batched(2, g.size, g.size)))
	}
	calibrated := calibration{gains: []float64{1, 1, 1, 1, 1, 1}, scores: scoreTable{
		{0, 2, 1, -0.5}, {0, 0, 5, -1}, {1, 5, 90, 0}, {2, 3, 7, -0.2}, {3, 1, 7, 0.3}, {4, 4, 33, -0.1}, {5, 2, 1, 2}, {1, 0, 0, 5}, // class 0 is the background
	}}
	d := ssdMobileNet{Builder: b, head: Axes{1}, calibration: calibrated}.detections(maps)
	b.Output(d.count, d.boxes, d.scores, d.classes)
	m, _, err := b.Model()
	if err != nil {
		t.Fatal(err)
	}
	values := evaluate(t, m, in)
	boxes, scores := values["concat:0"], values["concat_1:0"]
	if boxes.shape[1] != 1917 || scores.shape[2] != 91 {
		t.Fatalf("%v boxes and %v scores, want 1917 of 91 classes", boxes.shape, scores.shape)
	}
	centers, sizes := ssdMobileNet{}.anchors()
	decoded, byClass := newArray(onnx.Float32, 1, 1917, 4), newArray(onnx.Float32, 1, 90, 1917)
	for i := range 1917 {
		for axis := range 2 {
			center := float64(centers[2*i+axis]) + boxes.at(0, i, axis)/10*float64(sizes[2*i+axis])
			half := math.Exp(boxes.at(0, i, 2+axis)/5) * float64(sizes[2*i+axis]) / 2
			decoded.data[4*i+axis], decoded.data[4*i+2+axis] = min(1, max(0, center-half)), min(1, max(0, center+half))
		}
		for class := 1; class < 91; class++ {
			byClass.data[(class-1)*1917+i] = logistic(scores.at(0, i, class))
		}
	}
	want := findings(decoded, byClass, 0, NMS{PerClass: 100, IoU: 0.6, Score: 0.3}, 100)
	if count := int(values[d.count.Name].data[0]); count != len(want) || count < 10 {
		t.Fatalf("%d boxes are found, want %d, and no fewer than 10", count, len(want))
	}
	for i, f := range want {
		got := values[d.boxes.Name].box(0, i)
		if abs(values[d.scores.Name].data[i]-f.score) > 1e-6 || int(values[d.classes.Name].data[i]) != f.class || abs(got[0]-f.box[0]) > 1e-6 || abs(got[3]-f.box[3]) > 1e-6 {
			t.Errorf("box %d is %v of class %v, want %v of class %d", i, got, values[d.classes.Name].data[i], f.box, f.class)
		}
	}
}

// The levels of RetinaNet are joined. Boxes of one class suppress each other, wherever they come from; those of two do not.
func TestRetinaNetJoinsItsLevels(t *testing.T) {
	type candidate struct {
		box   []float32
		score float32
		label int64
	}
	levels := [][]candidate{
		{{[]float32{0, 0, 100, 100}, 0.9, 3}, {[]float32{0, 0, 100, 60}, 0.6, 3}, {[]float32{700, 700, 800, 800}, 0.5, 263}},
		{{[]float32{0, 0, 100, 95}, 0.8, 3}, {[]float32{0, 0, 100, 95}, 0.7, 4}, {[]float32{1, 1, 99, 99}, 0.2, 0}},
	}
	b := NewBuilder("test", 1)
	in := map[string]array{}
	var found []candidates
	for i, list := range levels {
		name := func(what string) string { return what + string(rune('0'+i)) }
		var boxes, scores []float32
		var labels []int64
		for _, c := range list {
			boxes, scores, labels = append(boxes, c.box...), append(scores, c.score), append(labels, c.label)
		}
		n := int64(len(list))
		in[name("boxes")], in[name("scores")], in[name("labels")] = numbers(boxes, n, 4), numbers(scores, n), numbers(labels, n)
		count := onnx.Free(name("count"))
		found = append(found, candidates{
			b.Input(name("boxes"), onnx.Float32, onnx.Shape{count, onnx.Fixed(4)}),
			b.Input(name("scores"), onnx.Float32, onnx.Shape{count}), b.Input(name("labels"), onnx.Int64, onnx.Shape{count}),
		})
	}
	resNeXt{b}.detections(found)
	m, _, err := b.Model()
	if err != nil {
		t.Fatal(err)
	}
	values := evaluate(t, m, in)
	// Of class 3 the box of the second level overlaps the best by 0.95, the small one by 0.6.
	checkArray(t, "labels", values["labels"], numbers([]int64{3, 4, 263, 0}, 4))
	checkArray(t, "scores", values["scores"], numbers([]float32{0.9, 0.7, 0.5, 0.2}, 4))
	checkArray(t, "boxes", values["boxes"], numbers([]float32{0, 0, 100, 100, 0, 0, 100, 95, 700, 700, 800, 800, 1, 1, 99, 99}, 4, 4))
}

// Boxes of RetinaNet grow by no more than torchvision allows, and end at the border of the image.
func TestRetinaNetDecodesBoxesAsTorchvisionDoes(t *testing.T) {
	anchors := numbers([]float32{100, 200, 40, 20, 790, 10, 64, 64, 400, 400, 32, 32}, 3, 4)
	encoded := numbers([]float32{0.5, -1, 0.2, -0.3, 1, 1, 0, 0, 0, 0, 50, 50}, 3, 4)
	b := NewBuilder("test", 1)
	x, a := b.Input("x", onnx.Float32, onnx.FixedShape(encoded.shape)), b.Input("anchors", onnx.Float32, onnx.FixedShape(anchors.shape))
	got := outputOf(t, b, resNeXt{b}.decode("l/", x, a), map[string]array{"x": encoded, "anchors": anchors})
	want := newArray(onnx.Float32, 3, 4)
	for i := range 3 {
		for axis := range 2 {
			center := anchors.at(i, axis) + encoded.at(i, axis)*anchors.at(i, 2+axis)
			half := math.Exp(min(encoded.at(i, 2+axis), math.Log(1000.0/16))) * anchors.at(i, 2+axis) / 2
			want.data[4*i+axis], want.data[4*i+2+axis] = min(800, max(0, center-half)), min(800, max(0, center+half))
		}
	}
	checkArray(t, "decode", got, want)
}

// What the heads of RetinaNet say of a level is a score above 0.05 for some anchors and labels, the best first.
func TestRetinaNetListsTheBestOfALevel(t *testing.T) {
	const grid = 7
	features := rounded(randoms(9, 1, 4, grid, grid))
	b := NewBuilder("test", 1)
	x := b.Input("x", onnx.Float32, onnx.FixedShape(features.shape))
	c := resNeXt{b}.candidates(0, x)
	b.Output(c.boxes, c.scores, c.labels)
	m, _, err := b.Model()
	if err != nil {
		t.Fatal(err)
	}
	// The towers are not looked at here: of their last layers anything may come.
	logits := newArray(onnx.Float32, 1, retinaNetAnchors*retinaNetClasses, grid, grid).of(func(float64) float64 { return -20 })
	encoded := rounded(randoms(10, 1, retinaNetAnchors*4, grid, grid))
	type found struct{ place, anchor, class int }
	order := []found{{48, 8, 263}, {0, 0, 0}, {17, 4, 100}, {17, 4, 101}}
	for i, f := range order {
		logits.data[(f.anchor*retinaNetClasses+f.class)*grid*grid+f.place] = 3 - float64(i)
	}
	logits.data[(2*retinaNetClasses+9)*grid*grid+5] = math.Log(0.049 / 0.951) // just below the threshold
	values := evaluateBehind(t, m, map[string]array{"x": features, "head/classification/last/level0:0": logits, "head/regression/last/level0:0": encoded})
	anchors := retinaNetBoxes(0, grid)
	if n := values[c.labels.Name].shape[0]; n != int64(len(order)) {
		t.Fatalf("%d candidates are listed, want %d", n, len(order))
	}
	for i, f := range order {
		if label := values[c.labels.Name].at(i); int(label) != f.class {
			t.Errorf("candidate %d is of class %v, want %d", i, label, f.class)
		}
		if score := values[c.scores.Name].at(i); abs(score-logistic(3-float64(i))) > 1e-6 {
			t.Errorf("candidate %d has the score %v", i, score)
		}
		at := (f.place*retinaNetAnchors + f.anchor) * 4
		for axis := range 2 {
			center := float64(anchors[at+axis]) + encoded.data[(f.anchor*4+axis)*grid*grid+f.place]*float64(anchors[at+2+axis])
			half := math.Exp(min(encoded.data[(f.anchor*4+2+axis)*grid*grid+f.place], math.Log(1000.0/16))) * float64(anchors[at+2+axis]) / 2
			if got := values[c.boxes.Name].at(i, axis); abs(got-min(800, max(0, center-half))) > 1e-2 {
				t.Errorf("candidate %d begins at %v, want %v", i, got, center-half)
			}
		}
	}
}

// evaluateBehind runs the part of a model that is behind some of its values, which are given.
func evaluateBehind(t *testing.T, m *onnx.Model, given map[string]array) map[string]array {
	t.Helper()
	for _, n := range m.Graph.Nodes {
		for i, out := range n.Outputs {
			if _, is := given[out]; is {
				n.Outputs[i] = ""
			}
		}
	}
	for name, a := range given {
		if m.Graph.Index().Value(name) != m.Graph.Inputs[0] {
			m.Graph.Inputs = append(m.Graph.Inputs, &onnx.Value{Name: name, Type: onnx.Type{Elem: a.elem, Shape: onnx.FixedShape(a.shape)}})
		}
	}
	m.Graph.Prune()
	return evaluate(t, m, given)
}
