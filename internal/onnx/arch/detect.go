package arch

import (
	"math"

	"github.com/mlperf-go/mlperf/internal/onnx"
)

// A scoreBias gives one class score of one anchor of one grid the bias with which it
// exceeds the threshold now and then.
//
// Random weights alone make no detector: of the hundreds of thousands of scores of an
// image either none exceeds the threshold or nearly all do, and the same in every image.
// So the built-in detectors have few scores that are awake, one or two anchors for a
// class, with a bias each; the others are dormant. The biases are measured: over a number
// of built-in images each score exceeds its threshold as often as its share of
// the boxes that an image is to have, and the gain of its layer lets it exceed it by as
// much as makes scores from the threshold to 0.95. The tables are made by TestCalibrate
// and hold for the architectures' own seeds; with another seed the model is as fast,
// but the number of boxes is left to chance.
type scoreBias struct {
	grid, anchor, class uint16
	bias                float32
}

type scoreTable []scoreBias

// calibration is what was measured of a detector.
type calibration struct {
	gains  []float64 // of the class predictor of each grid
	scores scoreTable
}

// dormant is the bias of a class score that never comes near any threshold.
const dormant = -80

// biases returns the biases of all class scores of one grid.
func (t scoreTable) biases(grid int, anchors, classes int64, order scoreOrder) Given {
	biases := make(Given, anchors*classes)
	for i := range biases {
		biases[i] = dormant
	}
	for _, s := range t {
		if int(s.grid) == grid {
			biases[order.index(int64(s.anchor), int64(s.class), anchors, classes)] = s.bias
		}
	}
	return biases
}

// A scoreOrder says which channels of a layer belong together.
type scoreOrder int

const (
	anchorMajor scoreOrder = iota // [anchors classes]
	classMajor                    // [classes anchors]
)

func (o scoreOrder) index(anchor, class, anchors, classes int64) int64 {
	if o == classMajor {
		return class*anchors + anchor
	}
	return anchor*classes + class
}

// An anchorGrid has anchors of some shapes at each of size×size places of an image. All
// lengths are parts of the image's.
type anchorGrid struct {
	size   int64
	shapes []anchorShape
}

type anchorShape struct{ width, height float64 }

func (g *anchorGrid) anchors() int64 { return int64(len(g.shapes)) }

// add adds a shape as large as a square of that side, and aspect times as wide as high.
func (g *anchorGrid) add(side, aspect float64) {
	root := math.Sqrt(aspect)
	g.shapes = append(g.shapes, anchorShape{width: float64(side * root), height: side / root})
}

// center returns the middle of a row or column of places.
func (g *anchorGrid) center(i int64) float32 {
	return float32((float64(i) + 0.5) / float64(g.size))
}

// decodeCenters turns what a single-shot detector says about each anchor, shifts in tenths
// and logarithms of growth in fifths of its size, into boxes with two corners. Which of
// the two axes comes first is the same throughout.
func (b *Builder) decodeCenters(name string, encoded *onnx.Value, centers, sizes []float32) *onnx.Value {
	n := int64(len(centers) / 2)
	anchorCenters := b.Constant(onnx.TensorOf(name+"/centers", centers, 1, n, 2))
	anchorSizes := b.Constant(onnx.TensorOf(name+"/sizes", sizes, 1, n, 2))
	shift := b.Binary("Mul", name+"/shift", b.Slice(name+"/offset", encoded, 2, 0, 2), b.scalar(0.1))
	growth := b.Binary("Mul", name+"/growth", b.Slice(name+"/log_size", encoded, 2, 2, 4), b.scalar(0.2))
	return b.corners(name, shift, growth, anchorCenters, anchorSizes)
}

// corners moves and stretches anchors: shifts are parts of their sizes, growths
// logarithms of factors. All are [… 2], the result is [… 4].
func (b *Builder) corners(name string, shift, growth, centers, sizes *onnx.Value) *onnx.Value {
	center := b.Add(name+"/center", b.Binary("Mul", name+"/scaled_shift", shift, sizes), centers)
	size := b.Binary("Mul", name+"/size", b.Unary("Exp", name+"/factor", growth), sizes)
	half := b.Binary("Mul", name+"/half", size, b.scalar(0.5))
	low, high := b.Binary("Sub", name+"/low", center, half), b.Add(name+"/high", center, half)
	return b.Concat(name+"/corners", int64(len(center.Type.Shape)-1), low, high)
}

// best returns the best of a list of scores, up to a limit and the best first, and where
// they were. The name is that of the axis.
func (b *Builder) best(name string, scores *onnx.Value, limit int64, axis string) (best, where *onnx.Value) {
	count := b.Node("Shape", name+"/count", []*onnx.Value{scores}, nil, onnx.Type{Elem: onnx.Int64, Shape: onnx.Shape{onnx.Fixed(1)}})[0]
	k := b.Binary("Min", name+"/limited", count, b.ints(limit))
	return b.topK(name, scores, 0, k, onnx.Free(axis))
}

// detections are the best boxes of each image of a batch, the best first, padded with
// zeros to a fixed number.
type detections struct {
	count   *onnx.Value // [N]
	boxes   *onnx.Value // [N limit 4]
	scores  *onnx.Value // [N limit]
	classes *onnx.Value // [N limit], from 0
}

// bestBoxes suppresses boxes by class, and keeps the best of all classes. Boxes are
// [N boxes 4] and scores [N classes boxes]. To treat all images of a batch at once without a
// loop, the scores that survive are put back to where they were, among zeros.
func (b *Builder) bestBoxes(name string, boxes, scores *onnx.Value, n NMS, limit int64) detections {
	kept := b.NonMaxSuppression(name+"/NonMaxSuppression", boxes, scores, n)
	zeros := b.Binary("Mul", name+"/zeros", scores, b.scalar(0))
	survivors := b.ScatterND(name+"/survivors", zeros, kept, b.GatherND(name+"/kept_scores", scores, kept, 0))
	best, where := b.TopK(name+"/TopK", b.Flatten(name+"/flat", survivors), 1, limit)
	places := b.ints(extentOf(scores, 2))
	class := b.Binary("Div", name+"/class", where, places)
	box := b.Binary("Mod", name+"/box", where, places)
	found := b.GatherND(name+"/found_boxes", boxes, b.Unsqueeze(name+"/box_index", box, 2), 1)
	valid := b.Cast(name+"/valid", b.Compare("Greater", name+"/found", best, b.scalar(0)), onnx.Float32)
	return detections{
		count:   b.Reduce("ReduceSum", name+"/count", valid, 1),
		boxes:   b.Binary("Mul", name+"/boxes", found, b.Unsqueeze(name+"/valid_rows", valid, 2)),
		scores:  best,
		classes: b.Binary("Mul", name+"/classes", b.Cast(name+"/class_number", class, onnx.Float32), valid),
	}
}
