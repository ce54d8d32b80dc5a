//go:build ort

package arch

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/mlperf-go/mlperf/internal/onnx"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// A box is one detection: two corners, the first axis first, and what is there.
type box struct {
	corners [4]float32
	score   float32
	class   int
}

// A detector is how a built-in detector is run and its answers are read.
type detector struct {
	architecture Architecture
	picture      picture
	images       int
	threshold    float32    // no score is lower
	canvas       float32    // no coordinate is larger
	classes      [2]int     // the first and the last
	heads        []string   // values that the boxes are made from
	layers       []string   // features
	boxes        [2]int     // how many there may be in an image
	mean         [2]float64 // and on average
	atLeast      int        // classes among all images
	read         func(outputs [][]float32) []box
	decode       func(heads [][]float32) []box
}

func detectors() []detector {
	heads := []string{"concat:0", "concat_1:0"}
	decode := func(labelOffset int) func([][]float32) []box {
		return func(h [][]float32) []box { return decodeMobileNet(h[0], h[1], labelOffset) }
	}
	const v1, v2 = "FeatureExtractor/MobilenetV1/", "FeatureExtractor/MobilenetV2/"
	return []detector{
		{
			architecture: SSDMobileNet(), picture: bytesLast, images: 16, threshold: 0.3, canvas: 1, classes: [2]int{1, 90}, heads: heads,
			layers: []string{v1 + "Conv2d_0/Relu6:0", v1 + "Conv2d_11_pointwise/Relu6:0", v1 + "Conv2d_13_pointwise_2_Conv2d_3_3x3_s2_256/Relu6:0"},
			boxes:  [2]int{4, 80}, mean: [2]float64{15, 45}, atLeast: 70, decode: decode(1),
			read: func(o [][]float32) []box { return padded(o[0][0], o[1], o[2], o[3]) },
		},
		{
			architecture: SSDMobileNetV2(), picture: floatsLast(300), images: 16, threshold: 0.3, canvas: 1, classes: [2]int{0, 89}, heads: heads,
			layers: []string{v2 + "Conv/Relu6:0", v2 + "expanded_conv_16/project/BatchNorm:0", v2 + "Conv_1/Relu6:0"},
			boxes:  [2]int{4, 100}, mean: [2]float64{15, 50}, atLeast: 70, decode: decode(0),
			read: func(o [][]float32) []box { return padded(o[3][0], o[0], o[2], o[1]) },
		},
		{
			architecture: SSDResNet34(), picture: floatsFirst(1200, normalised), images: 4, threshold: 0.05, canvas: 1, classes: [2]int{1, 80},
			heads: []string{"locs:0", "confs:0"}, layers: []string{"stem/relu:0", "stage3/block6/relu:0", "additional3/2/relu:0"},
			boxes: [2]int{4, 120}, mean: [2]float64{15, 60}, atLeast: 30, decode: func(h [][]float32) []box { return decodeResNet34(h[0], h[1]) },
			read: func(o [][]float32) []box { return listed(o[0], o[2], o[1]) },
		},
		{
			architecture: RetinaNet(), picture: floatsFirst(retinaNetSize, unscaled), images: 4, threshold: 0.05, canvas: retinaNetSize, classes: [2]int{0, 263},
			heads:  levels("level%d/logits:0", "level%d/encoded:0"),
			layers: []string{"body/stem/relu:0", "body/layer4/2/relu:0", "fpn/0/layer:0", "fpn/p7:0", "head/classification/3/relu2:0"},
			boxes:  [2]int{4, 150}, mean: [2]float64{15, 60}, atLeast: 30, decode: decodeRetinaNet,
			read: func(o [][]float32) []box { return listed(o[0], o[1], o[2]) },
		},
	}
}

func levels(formats ...string) []string {
	var names []string
	for level := range 5 {
		for _, format := range formats {
			names = append(names, fmt.Sprintf(format, level))
		}
	}
	return names
}

// padded reads outputs of a fixed size, of which the first count are boxes.
func padded(count float32, corners, scores, classes []float32) []box {
	return listed(corners[:4*int(count)], scores[:int(count)], classes[:int(count)])
}

func listed(corners, scores, classes []float32) []box {
	boxes := make([]box, len(scores))
	for i := range boxes {
		boxes[i] = box{[4]float32(corners[4*i:]), scores[i], int(classes[i])}
	}
	return boxes
}

// One run of each image is enough for everything that has to be true of a detector.
func TestORTDetectorsFindBoxes(t *testing.T) {
	useRuntime(t)
	for _, d := range detectors() {
		t.Run(d.architecture.Name, func(t *testing.T) {
			if name := d.architecture.Name; name == "ssd-resnet34" || name == "retinanet" {
				testenv.SkipLong(t, "hundreds of billions of products for each image")
			}
			var outputs []string
			for _, v := range d.architecture.Outputs {
				outputs = append(outputs, v.Name)
			}
			official := len(outputs)
			m, _ := build(t, d.architecture, Options{Outputs: slices.Concat(outputs, d.heads, d.layers)})
			n := load(t, m)
			var all [][]box
			for i := range d.images {
				out := n.runValue(d.picture(t, uint64(5000+i)))
				boxes := d.read(out[:official])
				d.checkForm(t, boxes)
				d.checkEqual(t, boxes, d.decode(out[official:][:len(d.heads)]))
				for l, layer := range out[official+len(d.heads):] {
					checkRange(t, d.layers[l], layer)
				}
				all = append(all, boxes)
			}
			d.checkSpread(t, all)
		})
	}
}

// checkForm checks what the interface promises of any answer.
func (d detector) checkForm(t *testing.T, boxes []box) {
	t.Helper()
	for i, b := range boxes {
		ordered := b.corners[0] < b.corners[2] && b.corners[1] < b.corners[3]
		inside := slices.Min(b.corners[:]) >= 0 && slices.Max(b.corners[:]) <= d.canvas
		if !ordered || !inside || b.score <= d.threshold || b.score > 1 || b.class < d.classes[0] || b.class > d.classes[1] {
			t.Errorf("box %d is %v", i, b)
		}
		if i > 0 && b.score > boxes[i-1].score {
			t.Errorf("box %d has a higher score than the one before: %v, %v", i, b.score, boxes[i-1].score)
		}
	}
}

// checkEqual compares boxes with those that a second implementation makes of the same heads.
func (d detector) checkEqual(t *testing.T, got, want []box) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("there are %d boxes, want %d", len(got), len(want))
		return
	}
	for i := range got {
		near := got[i].class == want[i].class && math.Abs(float64(got[i].score-want[i].score)) < 1e-5
		for c := range got[i].corners {
			near = near && math.Abs(float64(got[i].corners[c]-want[i].corners[c])) < 1e-4*float64(d.canvas)
		}
		if !near {
			t.Errorf("box %d is %v, want %v", i, got[i], want[i])
		}
	}
}

func checkRange(t *testing.T, name string, x []float32) {
	t.Helper()
	checkFinite(t, name, x)
	if _, deviation := moments(x); deviation < 0.02 || deviation > 10 {
		t.Errorf("%s has a deviation of %v", name, deviation)
	}
}

// checkSpread checks that boxes are as many, and as different, as a benchmark needs.
func (d detector) checkSpread(t *testing.T, all [][]box) {
	var scores, sizes, middles []float64
	classes := make(map[int]bool)
	for i, boxes := range all {
		if n := len(boxes); n < d.boxes[0] || n > d.boxes[1] {
			t.Errorf("image %d has %d boxes, want %v", i, n, d.boxes)
		}
		if i > 0 && slices.Equal(boxes, all[i-1]) {
			t.Errorf("images %d and %d have the same boxes", i-1, i)
		}
		for _, b := range boxes {
			classes[b.class] = true
			scores = append(scores, float64(b.score))
			height, width := float64(b.corners[2]-b.corners[0]), float64(b.corners[3]-b.corners[1])
			sizes = append(sizes, math.Sqrt(height*width)/float64(d.canvas))
			middles = append(middles, float64(b.corners[0]+b.corners[2])/2/float64(d.canvas))
		}
	}
	mean := float64(len(scores)) / float64(len(all))
	t.Logf("%.1f boxes in an image, %d classes, scores %.2f, sizes %.2f, middles %.2f", mean, len(classes), deciles(scores), deciles(sizes), deciles(middles))
	if mean < d.mean[0] || mean > d.mean[1] || len(classes) < d.atLeast {
		t.Errorf("%v boxes in an image, %d classes, want %v and %d", mean, len(classes), d.mean, d.atLeast)
	}
	for what, list := range map[string][]float64{"scores": scores, "sizes": sizes, "middles": middles} {
		if low, high := deciles(list)[1], deciles(list)[9]; high-low < 0.25 {
			t.Errorf("eight of ten %s are between %v and %v", what, low, high)
		}
	}
}

func deciles(list []float64) (d [11]float64) {
	slices.Sort(list)
	for i := range d {
		d[i] = list[i*(len(list)-1)/10]
	}
	return d
}

func TestORTDetectorsTreatImagesOfABatchAlone(t *testing.T) {
	useRuntime(t)
	for _, d := range detectors()[:2] { // the others take one image
		m, _ := build(t, d.architecture, Options{})
		n := load(t, m)
		together := n.runValue(d.picture(t, 1, 2, 3))
		for i := range 3 {
			for o, alone := range n.runValue(d.picture(t, uint64(1+i))) {
				if diff := largestDifference(alone, together[o][i*len(alone):][:len(alone)]); diff > 1e-5 {
					t.Errorf("%s: %s of image %d differs by %v from alone", d.architecture.Name, d.architecture.Outputs[o].Name, i, diff)
				}
			}
		}
	}
}

// Noise and an even grey are nothing that the scores were measured on, so any number of
// boxes is right.
func TestORTDetectorsStandAnyImage(t *testing.T) {
	useRuntime(t)
	d := detectors()[0]
	m, _ := build(t, d.architecture, Options{})
	n := load(t, m)
	for _, img := range [][]float32{noise(1, 1), make([]float32, 3*224*224)} {
		bytes := make([]uint8, 300*300*3)
		for i := range bytes {
			bytes[i] = uint8(127.5 + 127*img[i%len(img)])
		}
		d.checkForm(t, d.read(n.runValue(newTensor(t, bytes, 1, 300, 300, 3))))
	}
}

// Where nothing exceeds the threshold every list is empty, and the operators have to stand
// that, too.
func TestORTNothingIsFoundInNothing(t *testing.T) {
	useRuntime(t)
	const boxes, classes = 300, 3
	b := NewBuilder("nothing", 1)
	x := b.Input("x", onnx.Float32, onnx.Batched(classes, boxes))
	all := b.Constant(onnx.TensorOf("all boxes", make([]float32, boxes*4), 1, boxes, 4))
	perImage := b.Unsqueeze("column", b.Reduce("ReduceSum", "sum", b.Slice("one", x, 2, 0, 1), 1), 2)
	padded := b.bestBoxes("padded", b.Add("boxes_of_each", all, perImage), x, NMS{PerClass: 5, IoU: 0.5, Score: 0.1}, 100)
	above := b.Squeeze("above", b.NonZero("places", b.Compare("Greater", "is_above", b.Reshape("list", x, -1), b.scalar(0.1))), 0)
	best, where := b.best("best", b.Gather("above_scores", b.Reshape("flat", x, -1), above, 0), 10, "some")
	rows := b.Gather("rows", b.Reshape("all_rows", all, boxes, 4), b.Binary("Mod", "row", b.Gather("index", above, where, 0), b.ints(boxes)), 0)
	resNeXt{b}.detections([]candidates{{rows, best, where}, {rows, best, where}})
	b.Output(padded.count, padded.boxes, padded.scores, padded.classes)
	m, _, err := b.Model()
	if err != nil {
		t.Fatal(err)
	}
	for i, out := range load(t, m).run(make([]float32, classes*boxes)) {
		if want := []int{0, 0, 0, 1, 400, 100, 100}[i]; len(out) != want || slices.ContainsFunc(out, func(v float32) bool { return v != 0 }) {
			t.Errorf("%s is %v, want %d zeros", m.Graph.Outputs[i], out, want)
		}
	}
}

func TestORTResNet34FindsNothingInEvenScores(t *testing.T) {
	useRuntime(t)
	b := NewBuilder("even", 1)
	locs := b.Input("locs", onnx.Float32, onnx.FixedShape([]int64{1, 4, 15_130}))
	confs := b.Concat("confs", 1, slices.Repeat([]*onnx.Value{locs}, 21)...)
	ssdResNet{b}.detections(locs, b.Slice("classes_of_81", confs, 1, 0, ssdResNet34Classes))
	m, _, err := b.Model()
	if err != nil {
		t.Fatal(err)
	}
	for i, out := range load(t, m).run(make([]float32, 4*15_130)) {
		if len(out) != 0 {
			t.Errorf("%s has %d elements, want none", m.Graph.Outputs[i], len(out))
		}
	}
}

// Weights of half the precision are to change an answer, but not much of it.
func TestORTLowerPrecisionChangesAFewBoxes(t *testing.T) {
	useRuntime(t)
	d := detectors()[0]
	exact, _ := build(t, d.architecture, Options{})
	coarse, _ := build(t, d.architecture, Options{})
	for _, tensor := range coarse.Graph.Initializers {
		if tensor.Type == onnx.Float32 && len(tensor.Dims) == 4 {
			truncate(t, tensor)
		}
	}
	a, b := load(t, exact), load(t, coarse)
	same, total, moved := 0, 0, 0.0
	for i := range 8 {
		x, y := d.read(a.runValue(d.picture(t, uint64(i)))), d.read(b.runValue(d.picture(t, uint64(i))))
		for _, one := range x {
			total++
			if at := slices.IndexFunc(y, func(two box) bool { return two.class == one.class && overlap(one.corners[:], two.corners[:]) > 0.8 }); at >= 0 {
				same++
				moved += math.Abs(float64(one.score - y[at].score))
			}
		}
	}
	if share := float64(same) / float64(total); share < 0.95 || moved == 0 {
		t.Errorf("%v of the boxes are found again, their scores differ by %v", share, moved)
	}
}

// truncate leaves 10 bits of each weight's fraction, as float16 does.
func truncate(t *testing.T, tensor *onnx.Tensor) {
	floats, err := onnx.Elements[float32](tensor)
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range floats {
		floats[i] = math.Float32frombits((math.Float32bits(v) + 1<<12) &^ (1<<13 - 1))
	}
	tensor.Data = given(floats)
}

// overlap is the intersection of two boxes over their union.
func overlap[T float32 | float64](a, b []T) T {
	height := min(a[2], b[2]) - max(a[0], b[0])
	width := min(a[3], b[3]) - max(a[1], b[1])
	if height <= 0 || width <= 0 {
		return 0
	}
	both := height * width
	return both / ((a[2]-a[0])*(a[3]-a[1]) + (b[2]-b[0])*(b[3]-b[1]) - both)
}

// suppress keeps a box unless a better one of its class overlaps it by more.
func suppress(boxes []box, most float32) []box {
	slices.SortStableFunc(boxes, func(a, b box) int { return cmp.Compare(b.score, a.score) })
	var kept []box
	for _, b := range boxes {
		if !slices.ContainsFunc(kept, func(k box) bool { return k.class == b.class && overlap(k.corners[:], b.corners[:]) > most }) {
			kept = append(kept, b)
		}
	}
	return kept
}

func sigmoid(x float32) float32 { return float32(1 / (1 + math.Exp(-float64(x)))) }

func clipped(v, limit float64) float32 { return float32(min(limit, max(0, v))) }

// decodeMobileNet reads heads of [1917 4] and [1917 91].
func decodeMobileNet(encoded, logits []float32, labelOffset int) []box {
	centers, sizes := ssdMobileNet{}.anchors()
	var boxes []box
	for a := range len(centers) / 2 {
		var b box
		for axis := range 2 {
			size := float64(sizes[2*a+axis])
			middle := float64(centers[2*a+axis]) + float64(encoded[4*a+axis])/10*size
			size *= math.Exp(float64(encoded[4*a+2+axis]) / 5)
			b.corners[axis], b.corners[2+axis] = clipped(middle-size/2, 1), clipped(middle+size/2, 1)
		}
		for class := 1; class < ssdMobileNetClasses; class++ {
			if b.score = sigmoid(logits[a*ssdMobileNetClasses+class]); b.score > 0.3 {
				b.class = class - 1 + labelOffset
				boxes = append(boxes, b)
			}
		}
	}
	boxes = suppress(boxes, 0.6)
	return boxes[:min(len(boxes), 100)]
}

// decodeResNet34 reads heads of [4 15130] and [81 15130].
func decodeResNet34(locs, confs []float32) []box {
	centers, sizes := ssdResNet{}.defaultBoxes()
	n := len(centers) / 2
	var boxes []box
	for a := range n {
		var b box
		for axis := range 2 {
			size := float64(sizes[2*a+axis])
			middle := float64(centers[2*a+axis]) + float64(locs[axis*n+a])*0.1*size
			size *= math.Exp(float64(locs[(2+axis)*n+a]) * 0.2)
			b.corners[axis], b.corners[2+axis] = clipped(middle-size/2, 1), clipped(middle+size/2, 1)
		}
		sum := 0.0
		for class := range ssdResNet34Classes {
			sum += math.Exp(float64(confs[class*n+a]))
		}
		for b.class = 1; b.class < ssdResNet34Classes; b.class++ {
			if b.score = float32(math.Exp(float64(confs[b.class*n+a])) / sum); b.score > 0.05 {
				boxes = append(boxes, b)
			}
		}
	}
	boxes = suppress(boxes, 0.5)
	return boxes[:min(len(boxes), 200)]
}

// decodeRetinaNet reads heads of [anchors 264] and [anchors 4] for each level.
func decodeRetinaNet(heads [][]float32) []box {
	var boxes []box
	for level := range 5 {
		logits, encoded := heads[2*level], heads[2*level+1]
		anchors := retinaNetBoxes(level, int64(math.Sqrt(float64(len(encoded)/4/retinaNetAnchors))))
		var found []box
		for i, logit := range logits {
			if logit < -3 { // far below 0.05
				continue
			}
			b := box{score: sigmoid(logit), class: i % retinaNetClasses}
			if b.score <= 0.05 {
				continue
			}
			a := 4 * (i / retinaNetClasses)
			for axis := range 2 {
				size := float64(anchors[a+2+axis])
				middle := float64(anchors[a+axis]) + float64(encoded[a+axis])*size
				size *= math.Exp(min(float64(encoded[a+2+axis]), math.Log(1000.0/16)))
				b.corners[axis], b.corners[2+axis] = clipped(middle-size/2, retinaNetSize), clipped(middle+size/2, retinaNetSize)
			}
			found = append(found, b)
		}
		slices.SortStableFunc(found, func(a, b box) int { return cmp.Compare(b.score, a.score) })
		boxes = append(boxes, found[:min(len(found), 1000)]...)
	}
	boxes = suppress(boxes, 0.5)
	return boxes[:min(len(boxes), 300)]
}

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

func TestORTTheBestBoxesOfEachImageAreFound(t *testing.T) {
	const images, classes, n, limit = 3, 4, 30, 12
	nms := NMS{PerClass: 5, IoU: 0.5, Score: 0.3}
	boxes := boxesAt(1, images, n)
	scores := newArray(onnx.Float32, images, classes, n)
	rng := rand.New(rand.NewPCG(2, 2))
	for i, k := range rng.Perm(len(scores.data)) { // all differ
		scores.data[i] = float64(float32(k) / float32(len(scores.data)))
	}
	for i := range n * classes { // in the last image hardly anything is found
		scores.data[2*n*classes+i] = float64(float32(0.305 * scores.data[2*n*classes+i]))
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
func TestORTDecodedBoxesAreAnchorsThatMovedAndGrew(t *testing.T) {
	const n = 5
	encoded := normals(1, 2, n, 4)
	centers, sizes := asWeights(normals(2, n*2)), asWeights(normals(3, n*2).of(func(x float64) float64 { return 0.1 + x*x }))
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

func TestORTTheBestOfAListAreAsManyAsThereAre(t *testing.T) {
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
func TestORTSSDResNet34FindsWhatItsHeadsSay(t *testing.T) {
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
func TestORTSSDMobileNetFindsTheBestBoxesOfItsMaps(t *testing.T) {
	b := NewBuilder("test", 5)
	var maps []*onnx.Value
	in := map[string]array{}
	for i, g := range ssdMobileNetGrids() {
		name := string(rune('a' + i))
		in[name] = normals(uint64(i), 1, 2, g.size, g.size)
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
func TestORTRetinaNetJoinsItsLevels(t *testing.T) {
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
func TestORTRetinaNetDecodesBoxesAsTorchvisionDoes(t *testing.T) {
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
func TestORTRetinaNetListsTheBestOfALevel(t *testing.T) {
	const grid = 7
	features := normals(9, 1, 4, grid, grid)
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
	encoded := normals(10, 1, retinaNetAnchors*4, grid, grid)
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
