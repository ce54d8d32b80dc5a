//go:build ort && calibrate

package arch

import (
	"bytes"
	"fmt"
	"go/format"
	"math"
	"os"
	"slices"
	"sort"
	"testing"
)

// TestCalibrate measures the class scores of the detectors on built-in images and writes
// the tables that scoreBias explains, each into a file of its own:
//
//	MLPERF_ORT_LIB=/path/to/libonnxruntime.so go test -tags ort,calibrate -run TestCalibrate ./internal/onnx/arch
//
// It has to be run after every change of the weights of a detector. It reads no table:
// whatever the gains and biases are, it takes them out of what it measures.
func TestCalibrate(t *testing.T) {
	useRuntime(t)
	ssd := func(a Architecture, now calibration, variable, file string, image picture) classScores {
		return classScores{
			architecture: a, now: now, variable: variable, file: file, image: image,
			output: "BoxPredictor_%d/ClassPredictor:0", anchors: []int{3, 6, 6, 6, 6, 6}, classes: ssdMobileNetClasses,
			first: 1, perClass: 2, boxes: []float64{8, 8, 5, 4, 2.5, 1.5}, threshold: 0.3, excess: 1.3, images: 96,
		}
	}
	for _, c := range []classScores{
		ssd(SSDMobileNet(), ssdMobileNetV1Calibration, "ssdMobileNetV1Calibration", "ssd_mobilenet_calibration.go", bytesLast),
		ssd(SSDMobileNetV2(), ssdMobileNetV2Calibration, "ssdMobileNetV2Calibration", "ssd_mobilenet_v2_calibration.go", floatsLast(300)),
		{
			architecture: SSDResNet34(), now: ssdResNet34Calibration, variable: "ssdResNet34Calibration", file: "ssd_resnet34_calibration.go",
			image:  floatsFirst(1200, normalised),
			output: "conf%d:0", anchors: []int{4, 6, 6, 6, 4, 4}, classes: ssdResNet34Classes, order: classMajor, softmax: true,
			first: 1, perClass: 2, boxes: []float64{8, 11, 9, 6, 4, 4}, threshold: 0.05, excess: 2.2, images: 24,
		},
		{
			architecture: RetinaNet(), now: retinaNetCalibration, variable: "retinaNetCalibration", file: "retinanet_calibration.go",
			image:  floatsFirst(retinaNetSize, unscaled),
			output: "head/classification/last/level%d:0", anchors: []int{9, 9, 9, 9, 9}, classes: retinaNetClasses, shared: []int{6, 20, 80, 80, 78},
			boxes: []float64{9, 14, 16, 15, 11}, threshold: 0.05, excess: 2.2, images: 24,
		},
		{
			architecture: YOLO11l(), now: yolo11Calibration, variable: "yolo11Calibration", file: "yolo11_calibration.go",
			image:  letterboxed(t),
			output: "model.23.cv3.%d.2:0", anchors: []int{1, 1, 1}, classes: yoloClasses,
			perClass: 1, each: true, boxes: []float64{4.5, 4, 3}, threshold: 0.25, excess: 2, images: yoloPictures,
		},
	} {
		t.Run(c.architecture.Name, func(t *testing.T) { c.calibrate(t) })
	}
}

// classScores says how a detector makes its class scores, and how many boxes it is to find.
type classScores struct {
	architecture   Architecture
	now            calibration
	variable, file string
	image          picture

	output    string // of the class predictor of a grid
	anchors   []int  // at each place of a grid
	classes   int
	order     scoreOrder
	softmax   bool      // else a sigmoid; class 0 is the background then
	first     int       // the first class that is to be awake
	perClass  int       // how many scores of each class are to be awake
	shared    []int     // instead, if all grids share one predictor: how many classes belong to each
	each      bool      // each score has the same share of the boxes; else each exceeds the threshold by the same number of deviations
	boxes     []float64 // wanted at each grid in an image, before suppression
	threshold float64   // of the score
	excess    float64   // by how much the logits above the threshold exceed it on average
	images    int
}

// A channel is a score of an anchor and a class at one grid: mean and deviation of the
// logit without gain and bias, and all that was measured.
type channel struct {
	grid, anchor, class int
	mean, deviation     float64
	logits              []float32
}

func (c classScores) calibrate(t *testing.T) {
	grids := c.measure(t)
	awake := c.spread(grids)
	if c.shared != nil {
		awake = c.share(grids)
	}
	var result calibration
	var excess []float64
	tops := make([][]float64, len(grids))
	for g := range grids {
		count := c.boxes[g] * float64(c.images)
		top, above := threshold(awake[g], count)
		if c.each {
			var of float64
			tops[g], of = c.quantiles(awake[g], count)
			excess = append(excess, of)
			continue
		}
		for _, ch := range awake[g] {
			tops[g] = append(tops[g], max(ch.mean+top*ch.deviation, c.reach(grids, ch)))
		}
		excess = append(excess, above)
		t.Logf("grid %d: %d scores awake, threshold %.2f deviations, excess %.3f", g, len(awake[g]), top, above)
	}
	if c.shared != nil { // one gain for all
		sum := 0.0
		for _, e := range excess {
			sum += e / float64(len(excess))
		}
		excess = []float64{sum}
	}
	for _, e := range excess {
		result.gains = append(result.gains, math.Round(20*c.excess/e)/20)
	}
	limit := math.Log(c.threshold / (1 - c.threshold))
	for g := range grids {
		row := min(g, len(result.gains)-1)
		for i, ch := range awake[g] {
			bias := math.Round(16*(limit-result.gains[row]*tops[g][i])) / 16
			result.scores = append(result.scores, scoreBias{uint16(row), uint16(ch.anchor), uint16(ch.class), float32(bias)})
		}
		for _, ch := range grids[g] { // a large gain would wake the others
			if most := result.gains[row] * float64(slices.Max(ch.logits)); c.each && !slices.Contains(awake[g], ch) && most > -dormant/2 {
				result.scores = append(result.scores, scoreBias{uint16(row), uint16(ch.anchor), uint16(ch.class), float32(math.Round(dormant - most))})
			}
		}
	}
	writeCalibration(t, c.file, c.variable, result)
}

// measure runs the class predictors and returns the channels of each grid.
func (c classScores) measure(t *testing.T) [][]*channel {
	var outputs []string
	for g := range c.anchors {
		outputs = append(outputs, fmt.Sprintf(c.output, g))
	}
	m, _ := build(t, c.architecture, Options{Outputs: outputs})
	n := load(t, m)
	grids := make([][]*channel, len(c.anchors))
	for i := range c.images {
		for g, out := range n.runValue(c.image(t, uint64(1000+i))) {
			c.add(grids, g, out)
		}
	}
	for _, channels := range grids {
		for _, ch := range channels {
			ch.mean, ch.deviation = moments(ch.logits)
		}
	}
	return grids
}

// add notes what one image has at one grid.
func (c classScores) add(grids [][]*channel, g int, out []float32) {
	anchors, classes := int64(c.anchors[g]), int64(c.classes)
	row := min(g, len(c.now.gains)-1)
	biases := c.now.scores.biases(row, anchors, classes, c.order)
	places := len(out) / len(biases)
	if grids[g] == nil {
		for a := range c.anchors[g] {
			for k := range c.classes {
				grids[g] = append(grids[g], &channel{grid: g, anchor: a, class: k})
			}
		}
	}
	for _, ch := range grids[g] {
		at := c.order.index(int64(ch.anchor), int64(ch.class), anchors, classes)
		background := c.order.index(int64(ch.anchor), 0, anchors, classes)
		for p := range places {
			logit := out[int(at)*places+p] - biases[at]
			if c.softmax {
				logit -= out[int(background)*places+p]
			}
			ch.logits = append(ch.logits, logit/float32(c.now.gains[row]))
		}
	}
}

// spread wakes scores of every class, at grids and anchors that follow from its number.
func (c classScores) spread(grids [][]*channel) [][]*channel {
	var combinations [][2]int
	for g, n := range c.anchors {
		for a := range n {
			combinations = append(combinations, [2]int{g, a})
		}
	}
	awake := make([][]*channel, len(grids))
	for class := c.first; class < c.classes; class++ {
		for i := range c.perClass {
			at := combinations[(7*class+13*i)%len(combinations)]
			awake[at[0]] = append(awake[at[0]], grids[at[0]][at[1]*c.classes+class])
		}
	}
	return awake
}

// The scores of a shared predictor have one bias for all grids. reaches says how many
// deviations a score of a grid may be expected to go up, and lows how many of the best
// of them a threshold is likely to be.
var (
	reaches = []float64{5, 4.7, 4.3, 3.9, 3.5}
	lows    = []float64{3.6, 3.5, 3.2, 3, 2.7}
)

// reach returns what the same score reaches at other grids, if they share a predictor.
func (c classScores) reach(grids [][]*channel, ch *channel) float64 {
	most := math.Inf(-1)
	for g := range c.shared {
		if g != ch.grid {
			other := grids[g][ch.anchor*c.classes+ch.class]
			most = max(most, other.mean+reaches[g]*other.deviation)
		}
	}
	return most
}

// share wakes one score of each class: it gives each grid the classes with the largest
// distance between what one of their anchors has there and what it reaches elsewhere.
func (c classScores) share(grids [][]*channel) [][]*channel {
	awake := make([][]*channel, len(grids))
	taken := make([]bool, c.classes)
	for g, quota := range c.shared {
		best := make(map[int]*channel)
		margin := func(ch *channel) float64 {
			return (ch.mean + lows[g]*ch.deviation - c.reach(grids, ch)) / ch.deviation
		}
		for _, ch := range grids[g] {
			if b := best[ch.class]; !taken[ch.class] && (b == nil || margin(ch) > margin(b)) {
				best[ch.class] = ch
			}
		}
		var list []*channel
		for class := range c.classes {
			if best[class] != nil {
				list = append(list, best[class])
			}
		}
		sort.SliceStable(list, func(i, j int) bool { return margin(list[i]) > margin(list[j]) })
		for _, ch := range list[:min(quota, len(list))] {
			awake[g] = append(awake[g], ch)
			taken[ch.class] = true
		}
	}
	return awake
}

// threshold returns the number of deviations that so many of all logits exceed, and by how
// much they do.
func threshold(channels []*channel, count float64) (deviations, excess float64) {
	var pool []float64
	mean := 0.0
	for _, ch := range channels {
		mean += ch.deviation / float64(len(channels))
		for _, l := range ch.logits {
			pool = append(pool, (float64(l)-ch.mean)/ch.deviation)
		}
	}
	slices.Sort(pool)
	best := pool[len(pool)-int(count):]
	for _, d := range best {
		excess += (d - best[0]) / count
	}
	return best[0], excess * mean
}

// quantiles returns for each score what its share of all logits exceeds, and by how much they do on average.
func (c classScores) quantiles(channels []*channel, count float64) (tops []float64, excess float64) {
	n := max(1, int(math.Round(count/float64(len(channels)))))
	for _, ch := range channels {
		sorted := slices.Sorted(slices.Values(ch.logits))
		best := sorted[len(sorted)-n-1:]
		top := float64(best[0]+best[1]) / 2
		for _, l := range best[1:] {
			excess += (float64(l) - top) / float64(n*len(channels))
		}
		tops = append(tops, top)
	}
	return tops, excess
}

func writeCalibration(t *testing.T, file, variable string, c calibration) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "// Code generated by TestCalibrate; DO NOT EDIT.\n\npackage arch\n\nvar %s = calibration{\n\tgains: %#v,\n\tscores: scoreTable{", variable, c.gains)
	for i, s := range c.scores {
		if i%6 == 0 {
			b.WriteString("\n\t\t")
		}
		fmt.Fprintf(&b, "{%d, %d, %d, %v}, ", s.grid, s.anchor, s.class, s.bias)
	}
	b.WriteString("\n\t},\n}\n")
	writeSource(t, file, b.Bytes())
}

func writeSource(t *testing.T, file string, source []byte) {
	formatted, err := format.Source(source)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, formatted, 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestCalibrateSegmentation gives all classes of DeepLab the same mean score.
func TestCalibrateSegmentation(t *testing.T) {
	useRuntime(t)
	const images = 24
	m, _ := build(t, DeepLabV3Plus(), Options{Outputs: []string{"logits/semantic:0"}})
	n := load(t, m)
	means := make([]float64, deepLabClasses)
	for i := range images {
		out := n.runValue(floatsLast(512)(t, uint64(1000+i)))[0]
		places := len(out) / deepLabClasses
		for class := range means {
			mean, _ := moments(out[class*places:][:places])
			means[class] += (mean - float64(deepLabBiases()[class])) / images
		}
	}
	var b bytes.Buffer
	b.WriteString("// Code generated by TestCalibrateSegmentation; DO NOT EDIT.\n\npackage arch\n\n" +
		"// deepLabBiases are those of the class scores: the negative of each one's mean over\n// built-in images, so that every class is somewhere the largest.\nfunc deepLabBiases() Given {\n\treturn Given{")
	for class, mean := range means {
		if class%8 == 0 {
			b.WriteString("\n\t\t")
		}
		fmt.Fprintf(&b, "%v, ", -math.Round(64*mean)/64)
	}
	b.WriteString("\n\t}\n}\n")
	writeSource(t, "deeplab_calibration.go", b.Bytes())
}
