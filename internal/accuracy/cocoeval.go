package accuracy

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/mlperf-go/mlperf/internal/machine/workerpool"
)

// The parameters of COCO's evaluation (pycocotools, Params.setDetParams), which the official scripts leave as they are.
var (
	iouThresholds    = linspace(0.5, 0.95, 10)
	recallThresholds = linspace(0, 1, 101)
	maxDetections    = [...]int{1, 10, 100} // best detections that count in an image, for each class
	areaRanges       = [...]areaRange{{"all", 0, 1e5 * 1e5}, {"small", 0, 32 * 32}, {"medium", 32 * 32, 96 * 96}, {"large", 96 * 96, 1e5 * 1e5}}
)

const (
	areas   = len(areaRanges)
	maxDets = len(maxDetections)
)

// An areaRange is a size class of objects, in square pixels; both ends belong to it.
// Objects outside of it are neither required nor wrong to find.
type areaRange struct {
	label    string
	min, max float64
}

func (r areaRange) outside(area float64) bool { return area < r.min || area > r.max }

// A detection is one box that a model found.
type detection struct {
	imageID, categoryID int64
	box                 Box
	score               float64
}

// An evaluation is what becomes of a set of detections. Undefined numbers, where nothing
// was there to be found, are -1.
type evaluation struct {
	images    int
	classes   []class
	precision [areas][]float64          // [threshold][recall][class], with up to 100 detections
	recall    [areas][maxDets][]float64 // [threshold][class]
}

// A class is a category with its detections and the number of its objects.
type class struct {
	Category
	found   []judged // best score first
	wanted  [areas]int
	objects []objectCount
}

// A judged is a detection with its outcomes by area range: a bit for each IoU threshold. Where neither bit is set, the
// detection is wrong.
type judged struct {
	key            uint64 // smaller for a better score
	image, rank    int32  // rank in its image
	right, ignored [areas]uint16
}

// An objectCount says how many objects of a class are to be found in an image.
type objectCount struct{ image, n int32 }

// An item is the annotation or detection of an index.
type item struct {
	key          uint64 // of a detection's score
	image, index int32
}

func compareItems(a, b item) int {
	return cmp.Or(cmp.Compare(a.image, b.image), cmp.Compare(a.key, b.key), cmp.Compare(a.index, b.index))
}

// evaluate judges detections in some images as pycocotools' COCOeval does with iouType bbox, to the last
// bit. Detections of categories that are not listed, and in other images, have no effect. Among equal scores
// the order of detections decides; otherwise it has no effect.
func evaluate(gt *GroundTruth, imageIDs []int64, detections []detection) *evaluation {
	imageIDs = slices.Compact(slices.Sorted(slices.Values(imageIDs)))
	images, categories := make(map[int64]int32, len(imageIDs)), make(map[int64]int, len(gt.Categories))
	for i, id := range imageIDs {
		images[id] = int32(i)
	}
	e := &evaluation{images: len(imageIDs)}
	for k, category := range slices.SortedFunc(slices.Values(gt.Categories), func(a, b Category) int { return cmp.Compare(a.ID, b.ID) }) {
		categories[category.ID] = k
		e.classes = append(e.classes, class{Category: category})
	}
	n := len(e.classes)
	byClass := func(all [][]item, i int, imageID, categoryID int64, key uint64) {
		image, ok := images[imageID]
		if k, ok2 := categories[categoryID]; ok && ok2 {
			all[k] = append(all[k], item{key: key, image: image, index: int32(i)})
		}
	}
	truths, found := make([][]item, n), make([][]item, n)
	for i, a := range gt.Annotations {
		byClass(truths, i, a.ImageID, a.CategoryID, 0)
	}
	for i, d := range detections {
		byClass(found, i, d.imageID, d.categoryID, scoreKey(d.score))
	}
	for a := range areaRanges {
		e.precision[a] = slices.Repeat([]float64{-1}, len(iouThresholds)*len(recallThresholds)*n)
		for m := range maxDetections {
			e.recall[a][m] = slices.Repeat([]float64{-1}, len(iouThresholds)*n)
		}
	}
	workerpool.ComputeWith(0, n, func() func(int) {
		m := matcher{annotations: gt.Annotations, detections: detections}
		return func(k int) {
			slices.SortFunc(truths[k], compareItems)
			slices.SortFunc(found[k], compareItems)
			m.matchClass(&e.classes[k], truths[k], found[k])
			e.draw(k)
		}
	})
	return e
}

// scoreKey maps scores to numbers that sort the other way round. The two zeros are
// equal, and NaN comes last, as in numpy.argsort(-scores).
func scoreKey(score float64) uint64 {
	if score != score {
		return math.MaxUint64
	}
	bits := math.Float64bits(score + 0) // -0 + 0 = +0
	if bits>>63 == 1 {
		return bits
	}
	return ^bits &^ (1 << 63)
}

// A matcher matches the boxes of one image after another. Its slices are memory for that.
type matcher struct {
	annotations []Annotation
	detections  []detection

	ious   []float64 // [detection][truth]
	order  []int     // the truths in the order in which they are tried
	crowd  []bool    // by truth, as the rest
	ignore []bool
	taken  []bool
}

// matchClass judges the detections of a class.
func (m *matcher) matchClass(c *class, truths, found []item) {
	for len(truths) > 0 || len(found) > 0 {
		image := int32(math.MaxInt32)
		for _, items := range [][]item{truths, found} {
			if len(items) > 0 {
				image = min(image, items[0].image)
			}
		}
		t, d := countImage(truths, image), countImage(found, image)
		m.matchImage(c, image, truths[:t], found[:min(d, maxDetections[maxDets-1])])
		truths, found = truths[t:], found[d:]
	}
	slices.SortFunc(c.found, func(a, b judged) int { // equal scores keep the order of images
		return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.image, b.image), cmp.Compare(a.rank, b.rank))
	})
}

// countImage counts the items at the beginning that are of an image.
func countImage(items []item, image int32) int {
	n := 0
	for n < len(items) && items[n].image == image {
		n++
	}
	return n
}

// matchImage gives each detection of an image, from the best score down, the best truth that is left.
func (m *matcher) matchImage(c *class, image int32, truths, found []item) {
	first := len(c.found)
	m.ious, m.crowd = m.ious[:0], m.crowd[:0]
	for _, t := range truths {
		m.crowd = append(m.crowd, m.annotations[t.index].Crowd)
	}
	for rank, d := range found {
		c.found = append(c.found, judged{key: d.key, image: image, rank: int32(rank)})
		for i, t := range truths {
			m.ious = append(m.ious, boxIoU(m.detections[d.index].box, m.annotations[t.index].Box, m.crowd[i]))
		}
	}
	for a, area := range areaRanges {
		// Crowds and objects of other sizes are ignored, and tried last.
		m.order, m.ignore = m.order[:0], m.ignore[:0]
		for i, t := range truths {
			m.ignore = append(m.ignore, m.crowd[i] || area.outside(m.annotations[t.index].Area))
			if !m.ignore[i] {
				m.order = append(m.order, i)
			}
		}
		if n := len(m.order); n > 0 {
			c.wanted[a] += n
			if a == 0 {
				c.objects = append(c.objects, objectCount{image, int32(n)})
			}
		}
		for i := range truths {
			if m.ignore[i] {
				m.order = append(m.order, i)
			}
		}
		m.taken = append(m.taken[:0], m.ignore...)
		for t, threshold := range iouThresholds {
			clear(m.taken)
			for i, d := range found {
				out := &c.found[first+i]
				truth := m.best(m.ious[i*len(truths):(i+1)*len(truths)], threshold)
				switch {
				case truth >= 0 && m.ignore[truth]:
					out.ignored[a] |= 1 << t
				case truth >= 0 && m.annotations[truths[truth].index].ID != 0: // pycocotools stores ids and takes 0 for no match
					out.right[a] |= 1 << t
				case area.outside(m.detections[d.index].box.Area()):
					out.ignored[a] |= 1 << t
				}
				if truth >= 0 {
					m.taken[truth] = true
				}
			}
		}
	}
}

// best returns the truth that a detection takes, -1 for none. It is the
// free one of the greatest IoU, the last of equals; one that is not ignored goes before
// all that are; a crowd is never used up.
func (m *matcher) best(ious []float64, threshold float64) int {
	found := -1
	for _, i := range m.order {
		switch {
		case m.taken[i] && !m.crowd[i]:
		case found >= 0 && !m.ignore[found] && m.ignore[i]:
			return found
		case !(ious[i] < threshold): // NaN matches, as in pycocotools
			found, threshold = i, ious[i]
		}
	}
	return found
}

// A point of a precision-recall curve is a right detection: the number of right ones so far, and the precision down to it.
type point struct {
	right     int
	precision float64
}

// curve appends the points of a class at an area range and an IoU threshold, best score first. Weights say how often each
// image counts; nil: once.
func (c *class) curve(points []point, a, t int, weights []int) []point {
	const spacing = 1.0 / (1 << 52) // numpy.spacing(1), with which pycocotools avoids a division by zero
	right, wrong, bit := 0, 0, uint16(1)<<t
	for i := range c.found {
		d, w := &c.found[i], 1
		if weights != nil {
			w = weights[d.image]
		}
		switch {
		case w == 0 || d.ignored[a]&bit != 0:
		case d.right[a]&bit != 0:
			right += w
			points = append(points, point{right, float64(right) / (float64(wrong) + float64(right) + spacing)})
		default:
			wrong += w
		}
	}
	return points
}

// precisions calls visit for each recall threshold that a curve reaches, with the best precision at the first point that
// reaches it, or at a later one.
func precisions(points []point, wanted int, visit func(r int, precision float64)) {
	for i := len(points) - 1; i > 0; i-- {
		points[i-1].precision = max(points[i-1].precision, points[i].precision)
	}
	next := 0
	for r, recall := range recallThresholds {
		for next < len(points) && float64(points[next].right)/float64(wanted) < recall {
			next++
		}
		if next == len(points) {
			return
		}
		visit(r, points[next].precision)
	}
}

// draw writes the precision and recall of a class.
func (e *evaluation) draw(k int) {
	c, n := &e.classes[k], len(e.classes)
	var points []point
	for a, wanted := range c.wanted {
		if wanted == 0 {
			continue
		}
		for t := range iouThresholds {
			for r := range recallThresholds {
				e.precision[a][(t*len(recallThresholds)+r)*n+k] = 0 // of recalls that are not reached
			}
			points = c.curve(points[:0], a, t, nil)
			precisions(points, wanted, func(r int, precision float64) { e.precision[a][(t*len(recallThresholds)+r)*n+k] = precision })
			for m, most := range maxDetections {
				right := 0
				for _, d := range c.found {
					if d.right[a]>>t&1 == 1 && int(d.rank) < most {
						right++
					}
				}
				e.recall[a][m][t*n+k] = float64(right) / float64(wanted)
			}
		}
	}
}

// A cocoStat is one of the twelve numbers of COCO.
type cocoStat struct {
	name, iou     string
	area, maxDets int // indices of areaRanges and maxDetections
	value         float64
}

// String is the line that pycocotools prints.
func (s cocoStat) String() string {
	title, kind := "Average Precision", "(AP)"
	if s.name[:2] == "AR" {
		title, kind = "Average Recall", "(AR)"
	}
	return fmt.Sprintf(" %-18s %s @[ IoU=%-9s | area=%6s | maxDets=%3d ] = %.3f",
		title, kind, s.iou, areaRanges[s.area].label, maxDetections[s.maxDets], s.value)
}

// cocoStats computes the numbers of COCO (pycocotools, summarize); the first is the benchmark's mAP. Each is the
// mean of a part of the precision or recall, summed in the order of the array in pycocotools, so that not a bit differs.
func (e *evaluation) cocoStats() []cocoStat {
	const every = "0.50:0.95"
	n := len(recallThresholds) * len(e.classes)
	return []cocoStat{
		{"AP", every, 0, 2, meanDefined(e.precision[0])},
		{"AP50", "0.50", 0, 2, meanDefined(e.precision[0][:n])},
		{"AP75", "0.75", 0, 2, meanDefined(e.precision[0][5*n : 6*n])},
		{"AP small", every, 1, 2, meanDefined(e.precision[1])},
		{"AP medium", every, 2, 2, meanDefined(e.precision[2])},
		{"AP large", every, 3, 2, meanDefined(e.precision[3])},
		{"AR 1", every, 0, 0, meanDefined(e.recall[0][0])},
		{"AR 10", every, 0, 1, meanDefined(e.recall[0][1])},
		{"AR 100", every, 0, 2, meanDefined(e.recall[0][2])},
		{"AR small", every, 1, 2, meanDefined(e.recall[1][2])},
		{"AR medium", every, 2, 2, meanDefined(e.recall[2][2])},
		{"AR large", every, 3, 2, meanDefined(e.recall[3][2])},
	}
}

// meanDefined is the mean of the defined values; -1 if none is defined.
func meanDefined(values []float64) float64 {
	defined := make([]float64, 0, len(values))
	for _, v := range values {
		if v > -1 {
			defined = append(defined, v)
		}
	}
	if len(defined) == 0 {
		return -1
	}
	return mean(defined)
}

// byClass are the average precisions of the categories that have objects.
func (e *evaluation) byClass() *Classes {
	out := &Classes{Metric: "AP", Unit: "%", Of: "objects"}
	for k, c := range e.classes {
		if c.wanted[0] == 0 {
			continue
		}
		var values []float64
		for i := k; i < len(e.precision[0]); i += len(e.classes) {
			values = append(values, e.precision[0][i])
		}
		out.add(c.Name, c.ID, 100*mean(values), c.wanted[0])
	}
	return out
}

// resampled computes the mean average precision, in percent, of sets of images. An image that
// is drawn twice counts as two that have the same scores.
func (e *evaluation) resampled() []float64 {
	return resample(e.images, func() func([]int) float64 {
		var points []point
		return func(weights []int) float64 {
			sum, n := 0.0, 0
			for k := range e.classes {
				wanted := 0
				for _, o := range e.classes[k].objects {
					wanted += weights[o.image] * int(o.n)
				}
				for t := 0; wanted > 0 && t < len(iouThresholds); t++ {
					points = e.classes[k].curve(points[:0], 0, t, weights)
					precisions(points, wanted, func(_ int, precision float64) { sum += precision })
					n += len(recallThresholds)
				}
			}
			return 100 * sum / float64(n) // not a number without objects
		}
	})
}

// A Box is an axis-parallel rectangle in pixels, given as COCO does: the corner with
// the smallest coordinates, and the extent.
type Box struct{ X, Y, W, H float64 }

// Area returns W·H.
func (b Box) Area() float64 { return b.W * b.H }

// boxIoU returns the intersection of a detection with a ground truth over their union;
// with a crowd, which has no single objects, over the detection's own area. Boxes
// that only touch do not intersect. A NaN in the detection behaves as in
// pycocotools (common/maskApi.c, bbIou), whose fmin and fmax prefer the other number.
func boxIoU(detection, truth Box, crowd bool) float64 {
	w := fmin(detection.W+detection.X, truth.W+truth.X) - fmax(detection.X, truth.X)
	if w <= 0 {
		return 0
	}
	h := fmin(detection.H+detection.Y, truth.H+truth.Y) - fmax(detection.Y, truth.Y)
	if h <= 0 {
		return 0
	}
	// The conversions keep compilers from fusing product and sum, which rounds differently.
	intersection := float64(w * h)
	union := float64(detection.Area())
	if !crowd {
		union = union + float64(truth.Area()) - intersection
	}
	return intersection / union
}

// fmin is C's: if one of the numbers is NaN, the other.
func fmin(a, b float64) float64 {
	if a < b || b != b {
		return a
	}
	return b
}

func fmax(a, b float64) float64 {
	if a > b || b != b {
		return a
	}
	return b
}
