package arch

import (
	"fmt"
	"math"

	"github.com/mlperf-go/mlperf/internal/onnx"
)

// RetinaNet is RetinaNet (Lin et al., arXiv:1708.02002) on ResNeXt50-32x4d with a feature
// pyramid, for the 264 classes of OpenImages that MLPerf uses, as the training
// reference builds it (single_stage_detector/ssd/model/retinanet.py): five levels,
// nine anchors at each of 13,343 places, one pair of heads that all levels share.
// Normalising the image and choosing the boxes are part of the graph. The official file
// also resizes the image to 800×800, which it is already.
func RetinaNet() Architecture {
	n := onnx.Free("n")
	return Architecture{
		Name:     "retinanet",
		Title:    "RetinaNet ResNeXt50-32x4d-FPN 800",
		Official: "https://zenodo.org/record/6617879",
		Inputs:   []onnx.Value{{Name: "images", Type: onnx.Type{Elem: onnx.Float32, Shape: retinaNetImage()}}},
		Outputs: []onnx.Value{
			{Name: "boxes", Type: onnx.Type{Elem: onnx.Float32, Shape: onnx.Shape{n, onnx.Fixed(4)}}},
			{Name: "scores", Type: onnx.Type{Elem: onnx.Float32, Shape: onnx.Shape{n}}},
			{Name: "labels", Type: onnx.Type{Elem: onnx.Int64, Shape: onnx.Shape{n}}},
		},
		Seed:   3,
		layers: retinaNetLayers,
	}
}

const (
	retinaNetSize    = 800
	retinaNetClasses = 264
	retinaNetAnchors = 9
)

func retinaNetImage() onnx.Shape { return onnx.FixedShape([]int64{1, 3, retinaNetSize, retinaNetSize}) }

func retinaNetLayers(b *Builder, _ Options) {
	x := b.Input("images", onnx.Float32, retinaNetImage())
	x = b.Binary("Sub", "transform/sub", x, b.Constant(onnx.TensorOf("transform/mean", []float32{0.485, 0.456, 0.406}, 3, 1, 1)))
	x = b.Binary("Div", "transform/div", x, b.Constant(onnx.TensorOf("transform/deviation", []float32{0.229, 0.224, 0.225}, 3, 1, 1)))
	r := resNeXt{b}
	var found []candidates
	for level, x := range r.pyramid(r.stages(x)) {
		found = append(found, r.candidates(level, x))
	}
	r.detections(found)
}

type resNeXt struct{ *Builder }

// smooth returns zero-mean filters, most of whose weight is common to all places.
func (r resNeXt) smooth(gain float64) Filler {
	return Rounded{Smooth{He{Gain: gain, ZeroMean: true}, 0.7}}
}

// stages are the results of the second to the fourth stage of ResNeXt50-32x4d.
func (r resNeXt) stages(x *onnx.Value) []*onnx.Value {
	x = r.Conv("body/stem/conv", x, Conv{Filters: 64, Kernel: Axes{7}, Strides: Axes{2}, Pads: Pad(3), Weights: Paired{Of: Rounded{Smooth{He{}, 0.5}}}})
	x = r.Relu("body/stem/relu", r.BatchNorm("body/stem/norm", x, pairedNorm(resNetEpsilon, -0.5, 2, 1.5)))
	x = r.MaxPool("body/stem/pool", x, Pool{Kernel: Axes{3}, Strides: Axes{2}, Pads: Pad(1)})
	var stages []*onnx.Value
	for stage, blocks := range []int{3, 4, 6, 3} {
		for block := range blocks {
			stride := int64(1)
			if stage > 0 && block == 0 {
				stride = 2
			}
			x = r.bottleneck(fmt.Sprintf("body/layer%d/%d", stage+1, block), x, 128<<stage, stride)
		}
		stages = append(stages, x)
	}
	return stages[1:]
}

// bottleneck adds a block: 1×1 to fewer channels, 3×3 in 32 groups, 1×1 to twice as many,
// and the block's input added to that, through a 1×1 convolution if the shape changes.
// What reads the stem, whose channels are Paired, opposes them.
func (r resNeXt) bottleneck(name string, x *onnx.Value, width, stride int64) *onnx.Value {
	reader := Filler(Rounded{He{ZeroMean: true}})
	if x.Channels() == 64 {
		reader = Rounded{Opposed{He{Gain: 1.56, ZeroMean: true}}}
	}
	shortcut := x
	if x.Channels() != 2*width {
		shortcut = r.conv(name+"/downsample", x, Conv{Filters: 2 * width, Kernel: Axes{1}, Strides: Axes{stride}, Weights: reader})
	}
	x = r.Relu(name+"/1/relu", r.conv(name+"/1", x, Conv{Filters: width, Kernel: Axes{1}, Weights: reader}))
	x = r.conv(name+"/2", x, Conv{Filters: width, Kernel: Axes{3}, Groups: 32, Strides: Axes{stride}, Pads: Pad(1), Weights: r.smooth(1)})
	x = r.Relu(name+"/2/relu", x)
	x = r.conv(name+"/3", x, Conv{Filters: 2 * width, Kernel: Axes{1}, Weights: Rounded{He{Gain: 0.4, ZeroMean: true}}})
	return r.Relu(name+"/relu", r.Add(name+"/add", x, shortcut))
}

func (r resNeXt) conv(name string, x *onnx.Value, c Conv) *onnx.Value {
	return r.BatchNorm(name+"/norm", r.Conv(name+"/conv", x, c), seededNorm(resNetEpsilon, 1))
}

// pyramid adds a feature pyramid (Lin et al., arXiv:1612.03144) of five levels, the finest
// first. The gains make features about as large on all levels. The biases are large:
// by them the shared head knows the level, so that a class can have its scores there.
func (r resNeXt) pyramid(stages []*onnx.Value) []*onnx.Value {
	gains := [5]float64{0.22, 0.34, 0.62, 0.87, 1.47}
	level := func(i int, stride int64) Conv {
		return Conv{Filters: 256, Kernel: Axes{3}, Strides: Axes{stride}, Pads: Pad(1), Weights: r.smooth(gains[i]), Bias: Uniform{-1.3, 1.3}}
	}
	pyramid := make([]*onnx.Value, 5)
	var merged *onnx.Value
	for i := 2; i >= 0; i-- {
		name := fmt.Sprintf("fpn/%d", i)
		x := r.Conv(name+"/inner", stages[i], Conv{Filters: 256, Kernel: Axes{1}, Weights: Rounded{He{ZeroMean: true}}, Bias: Uniform{-0.1, 0.1}})
		if merged != nil {
			size := extentOf(x, 2)
			x = r.Add(name+"/merge", x, r.Resize(name+"/up", merged, Resize{Sizes: Axes{size}, Mode: "nearest", Coordinates: "asymmetric", Nearest: "floor"}))
		}
		merged = x
		pyramid[i] = r.Conv(name+"/layer", merged, level(i, 1))
	}
	pyramid[3] = r.Conv("fpn/p6", pyramid[2], level(3, 2))
	pyramid[4] = r.Conv("fpn/p7", r.Relu("fpn/p6/relu", pyramid[3]), level(4, 2))
	return pyramid
}

// head adds four convolutions and a last one to a level. All levels share the weights.
func (r resNeXt) head(name string, level int, x *onnx.Value, last Conv) *onnx.Value {
	shared := func(layer string, x *onnx.Value, c Conv) *onnx.Value {
		c.Kernel, c.Pads = Axes{3}, Pad(1)
		if level > 0 {
			c.Share = layer + "/level0"
		}
		return r.Conv(fmt.Sprintf("%s/level%d", layer, level), x, c)
	}
	c := Conv{Filters: 256, Weights: Rounded{Smooth{He{Gain: 1.1, ZeroMean: true}, 0.4}}, Bias: Uniform{0.2, 0.4}}
	for i := range 4 {
		layer := fmt.Sprintf("%s/%d", name, i)
		x = r.Relu(fmt.Sprintf("%s/relu%d", layer, level), shared(layer, x, c))
	}
	return shared(name+"/last", x, last)
}

// candidates are boxes in pixels, their scores and labels, some of each.
type candidates struct{ boxes, scores, labels *onnx.Value }

// candidates lists the best thousand of a level, of those whose score is above 0.05.
func (r resNeXt) candidates(level int, x *onnx.Value) candidates {
	b, name := r.Builder, fmt.Sprintf("level%d/", level)
	logits := r.rows(name+"logits", retinaNetClasses, r.head("head/classification", level, x, Conv{
		Filters: retinaNetAnchors * retinaNetClasses,
		Weights: Rounded{He{Gain: retinaNetCalibration.gains[0], ZeroMean: true}},
		Bias:    retinaNetCalibration.scores.biases(0, retinaNetAnchors, retinaNetClasses, anchorMajor),
	}))
	encoded := r.rows(name+"encoded", 4, r.head("head/regression", level, x, Conv{
		Filters: retinaNetAnchors * 4, Weights: Rounded{He{Gain: 0.15, ZeroMean: true}}, Bias: Constant(0),
	}))
	all := b.Reshape(name+"scores", b.Unary("Sigmoid", name+"sigmoid", logits), -1)
	above := b.NonZero(name+"above", b.Compare("Greater", name+"is_above", all, b.scalar(0.05)))
	above = b.Squeeze(name+"above/index", above, 0)
	best, where := b.best(name+"best", b.Gather(name+"above/scores", all, above, 0), 1000, name+"candidates")
	index := b.Gather(name+"index", above, where, 0)
	anchor := b.Binary("Div", name+"anchor", index, b.ints(retinaNetClasses))
	anchors := b.Constant(onnx.TensorOf(name+"anchors", retinaNetBoxes(level, extentOf(x, 2)), extentOf(encoded, 0), 4))
	return candidates{
		boxes:  r.decode(name, b.Gather(name+"best_encoded", encoded, anchor, 0), b.Gather(name+"best_anchors", anchors, anchor, 0)),
		scores: best,
		labels: b.Binary("Mod", name+"label", index, b.ints(retinaNetClasses)),
	}
}

// rows turns [1 anchors·numbers height width] into [places·anchors numbers].
func (r resNeXt) rows(name string, numbers int64, x *onnx.Value) *onnx.Value {
	x = r.Reshape(name+"/view", x, retinaNetAnchors, numbers, -1)
	return r.Reshape(name, r.Transpose(name+"/permute", x, 2, 0, 1), -1, numbers)
}

// decode moves and stretches anchors, and clips them to the image.
func (r resNeXt) decode(name string, encoded, anchors *onnx.Value) *onnx.Value {
	const mostGrowth = 4.135166556742356 // log(1000/16), as in torchvision
	growth := r.Clip(name+"growth", r.Slice(name+"log_size", encoded, 1, 2, 4), -math.MaxFloat32, mostGrowth)
	corners := r.corners(name+"decode", r.Slice(name+"shift", encoded, 1, 0, 2), growth,
		r.Slice(name+"anchor_centers", anchors, 1, 0, 2), r.Slice(name+"anchor_sizes", anchors, 1, 2, 4))
	return r.Clip(name+"boxes", corners, 0, retinaNetSize)
}

// retinaNetBoxes returns centre and size of the anchors of a level, in pixels: three
// proportions in three sizes at each place, rounded as torchvision's AnchorGenerator does.
func retinaNetBoxes(level int, grid int64) []float32 {
	var boxes []float32
	stride := retinaNetSize / grid
	for place := range grid * grid {
		x, y := place%grid*stride, place/grid*stride
		for _, aspect := range []float64{0.5, 1, 2} { // height by width
			for _, octave := range []float64{1, 1.2599210498948732, 1.5874010519681994} { // cube roots of 1, 2 and 4
				size := math.Trunc(float64(int64(32)<<level) * octave)
				root := math.Sqrt(aspect)
				width, height := 2*math.RoundToEven(size/root/2), 2*math.RoundToEven(size*root/2)
				boxes = append(boxes, float32(x), float32(y), float32(width), float32(height))
			}
		}
	}
	return boxes
}

// detections joins the levels and keeps the best 300 boxes. Boxes of different classes
// must not suppress each other, so they are moved so far apart that they cannot touch.
func (r resNeXt) detections(found []candidates) {
	b := r.Builder
	var boxes, scores, labels []*onnx.Value
	for _, c := range found {
		boxes, scores, labels = append(boxes, c.boxes), append(scores, c.scores), append(labels, c.labels)
	}
	all := candidates{
		boxes:  b.Join("all_boxes", "candidates", boxes...),
		scores: b.Join("all_scores", "candidates", scores...),
		labels: b.Join("all_labels", "candidates", labels...),
	}
	offset := b.Binary("Mul", "offset", b.Cast("label_number", all.labels, onnx.Float32), b.scalar(retinaNetSize+1))
	moved := b.Add("moved", all.boxes, b.Unsqueeze("offset_column", offset, 1))
	rows := b.Unsqueeze("nms/scores", b.Unsqueeze("nms/class", all.scores, 0), 0)
	kept := b.NonMaxSuppression("n", b.Unsqueeze("nms/boxes", moved, 0), rows, NMS{PerClass: 300, IoU: 0.5})
	which := b.Squeeze("kept", b.Gather("kept_column", kept, b.ints(2), 1), 1)
	b.Output(
		b.rename(b.Gather("kept_boxes", all.boxes, which, 0), "boxes"),
		b.rename(b.Gather("kept_scores", all.scores, which, 0), "scores"),
		b.rename(b.Gather("kept_labels", all.labels, which, 0), "labels"),
	)
}
