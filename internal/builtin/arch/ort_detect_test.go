//go:build ort

package arch

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/mlperf-go/mlperf/internal/onnx"
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
			architecture: ssdMobileNetV1(), picture: bytesLast, images: 16, threshold: 0.3, canvas: 1, classes: [2]int{1, 90}, heads: heads,
			layers: []string{v1 + "Conv2d_0/Relu6:0", v1 + "Conv2d_11_pointwise/Relu6:0", v1 + "Conv2d_13_pointwise_2_Conv2d_3_3x3_s2_256/Relu6:0"},
			boxes:  [2]int{4, 80}, mean: [2]float64{15, 45}, atLeast: 70, decode: decode(1),
			read: func(o [][]float32) []box { return padded(o[0][0], o[1], o[2], o[3]) },
		},
		{
			architecture: ssdMobileNetV2(), picture: floatsLast(300), images: 16, threshold: 0.3, canvas: 1, classes: [2]int{0, 89}, heads: heads,
			layers: []string{v2 + "Conv/Relu6:0", v2 + "expanded_conv_16/project/BatchNorm:0", v2 + "Conv_1/Relu6:0"},
			boxes:  [2]int{4, 100}, mean: [2]float64{15, 50}, atLeast: 70, decode: decode(0),
			read: func(o [][]float32) []box { return padded(o[3][0], o[0], o[2], o[1]) },
		},
		{
			architecture: ssdResNet34(), picture: floatsFirst(1200, normalised), images: 4, threshold: 0.05, canvas: 1, classes: [2]int{1, 80},
			heads: []string{"locs:0", "confs:0"}, layers: []string{"stem/relu:0", "stage3/block6/relu:0", "additional3/2/relu:0"},
			boxes: [2]int{4, 120}, mean: [2]float64{15, 60}, atLeast: 30, decode: func(h [][]float32) []box { return decodeResNet34(h[0], h[1]) },
			read: func(o [][]float32) []box { return listed(o[0], o[2], o[1]) },
		},
		{
			architecture: retinaNet(), picture: floatsFirst(retinaNetSize, unscaled), images: 4, threshold: 0.05, canvas: retinaNetSize, classes: [2]int{0, 263},
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
			if at := slices.IndexFunc(y, func(two box) bool { return two.class == one.class && overlap(one.corners, two.corners) > 0.8 }); at >= 0 {
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

func overlap(a, b [4]float32) float32 {
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
		if !slices.ContainsFunc(kept, func(k box) bool { return k.class == b.class && overlap(k.corners, b.corners) > most }) {
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
