package arch

import (
	"fmt"
	"math"

	"github.com/mlperf-go/mlperf/internal/onnx"
)

// SSDResNet34 is SSD-ResNet34 1200, whose official file was exported from PyTorch
// (models/ssd_r34.py and base_model_r34.py of the reference): ResNet-34 without its last
// stage and without the stride of the third, five more pairs of convolutions, 15,130
// default boxes and 81 classes, of which class 0 is the background. There is one image
// in a batch, and no padding of the boxes.
//
// The boxes come best first, because the profile of the official file stops reading at
// the first score below its own threshold; the reference's Python model returns them in
// the opposite order. They are also clipped to the image, which a trained network hardly
// needs.
func SSDResNet34() Architecture {
	nbox := onnx.Free("nbox")
	return Architecture{
		Name:     "ssd-resnet34",
		Title:    "SSD-ResNet34 1200",
		Official: "https://zenodo.org/record/3228411",
		Inputs:   []onnx.Value{{Name: "image", Type: onnx.Type{Elem: onnx.Float32, Shape: onnx.FixedShape([]int64{1, 3, 1200, 1200})}}},
		Outputs: []onnx.Value{
			{Name: "bboxes", Type: onnx.Type{Elem: onnx.Float32, Shape: onnx.Shape{onnx.Fixed(1), nbox, onnx.Fixed(4)}}},
			{Name: "labels", Type: onnx.Type{Elem: onnx.Int64, Shape: onnx.Shape{onnx.Fixed(1), nbox}}},
			{Name: "scores", Type: onnx.Type{Elem: onnx.Float32, Shape: onnx.Shape{onnx.Fixed(1), nbox}}},
		},
		Seed:   3,
		layers: ssdResNet34Layers,
	}
}

const ssdResNet34Classes = 81 // COCO's 80 after the background

func ssdResNet34Layers(b *Builder, _ Options) {
	r := ssdResNet{b}
	maps := r.featureMaps(b.Input("image", onnx.Float32, onnx.FixedShape([]int64{1, 3, 1200, 1200})))
	var locs, confs []*onnx.Value
	for i, x := range maps {
		g := ssdResNet34Grids()[i]
		locs = append(locs, r.head(fmt.Sprintf("loc%d", i), x, 4, Conv{
			Filters: 4 * g.anchors(), Weights: Rounded{He{Gain: 0.3, ZeroMean: true}}, Bias: Constant(0),
		}))
		biases := ssdResNet34Calibration.scores.biases(i, g.anchors(), ssdResNet34Classes, classMajor)
		for background := range g.anchors() {
			biases[background] = 0
		}
		confs = append(confs, r.head(fmt.Sprintf("conf%d", i), x, ssdResNet34Classes, Conv{
			Filters: ssdResNet34Classes * g.anchors(), Weights: Rounded{He{Gain: ssdResNet34Calibration.gains[i], ZeroMean: true}}, Bias: biases,
		}))
	}
	r.detections(b.Concat("locs", 2, locs...), b.Concat("confs", 2, confs...))
}

type ssdResNet struct{ *Builder }

// weights returns smooth, zero-mean filters.
func (r ssdResNet) weights(gain float64) Filler {
	return Rounded{Smooth{He{Gain: gain, ZeroMean: true}, 0.6}}
}

// featureMaps are the six maps that boxes are read from: ResNet-34 up to its third
// stage, which has no stride here, and five blocks more.
func (r ssdResNet) featureMaps(x *onnx.Value) []*onnx.Value {
	x = r.Conv("stem/conv", x, Conv{Filters: 64, Kernel: Axes{7}, Strides: Axes{2}, Pads: Pad(3), Weights: Rounded{Smooth{He{}, 0.6}}})
	x = r.Relu("stem/relu", r.BatchNorm("stem/norm", x, seededNorm(resNetEpsilon, 1)))
	x = r.MaxPool("stem/pool", x, Pool{Kernel: Axes{3}, Strides: Axes{2}, Pads: Pad(1)})
	for stage, blocks := range []int{3, 4, 6} {
		for block := range blocks {
			stride := int64(1)
			if stage == 1 && block == 0 {
				stride = 2
			}
			x = r.basicBlock(fmt.Sprintf("stage%d/block%d", stage+1, block+1), x, 64<<stage, stride)
		}
	}
	maps := []*onnx.Value{x}
	for i, l := range []struct{ inner, filters, stride, pad int64 }{
		{256, 512, 2, 1}, {256, 512, 2, 1}, {128, 256, 2, 1}, {128, 256, 2, 0}, {128, 256, 1, 0},
	} {
		name := fmt.Sprintf("additional%d", i+1)
		bias := Uniform{0.2, 0.4}
		x = r.Conv(name+"/1", x, Conv{Filters: l.inner, Kernel: Axes{1}, Weights: Rounded{He{Gain: 1.1, ZeroMean: true}}, Bias: bias})
		x = r.Relu(name+"/1/relu", x)
		x = r.Conv(name+"/2", x, Conv{Filters: l.filters, Kernel: Axes{3}, Strides: Axes{l.stride}, Pads: Pad(l.pad), Weights: r.weights(1.1), Bias: bias})
		x = r.Relu(name+"/2/relu", x)
		maps = append(maps, x)
	}
	return maps
}

// basicBlock adds a block of two 3×3 convolutions and the block's input, through a 1×1
// convolution if the shape changes. There the first of the two saturates, see Paired,
// and outweighs the shortcut.
func (r ssdResNet) basicBlock(name string, x *onnx.Value, filters, stride int64) *onnx.Value {
	first, second := Conv{Weights: r.weights(1)}, Conv{Weights: r.weights(0.4)}
	norm := seededNorm(resNetEpsilon, 1)
	shortcut := x
	if x.Channels() != filters {
		c := Conv{Filters: filters, Kernel: Axes{1}, Strides: Axes{stride}, Weights: Rounded{He{Gain: 0.4, ZeroMean: true}}}
		shortcut = r.BatchNorm(name+"/shortcut/norm", r.Conv(name+"/shortcut/conv", x, c), seededNorm(resNetEpsilon, 1))
		first.Weights, norm = Paired{Of: first.Weights}, pairedNorm(resNetEpsilon, -0.5, 2, 1.5)
		second.Weights = Rounded{Opposed{Smooth{He{Gain: 1.5, ZeroMean: true}, 0.6}}}
	}
	first.Filters, first.Kernel, first.Strides, first.Pads = filters, Axes{3}, Axes{stride}, Pad(1)
	second.Filters, second.Kernel, second.Pads = filters, Axes{3}, Pad(1)
	x = r.Relu(name+"/1/relu", r.BatchNorm(name+"/1/norm", r.Conv(name+"/1/conv", x, first), norm))
	x = r.BatchNorm(name+"/2/norm", r.Conv(name+"/2/conv", x, second), seededNorm(resNetEpsilon, 1))
	return r.Relu(name+"/relu", r.Add(name+"/add", x, shortcut))
}

// head reads numbers for each box from every third place of a feature map.
func (r ssdResNet) head(name string, x *onnx.Value, numbers int64, c Conv) *onnx.Value {
	c.Kernel, c.Strides, c.Pads = Axes{3}, Axes{3}, Pad(1)
	return r.Reshape(name+"/view", r.Conv(name, x, c), 0, numbers, -1)
}

// ssdResNet34Grids returns the default boxes of the six feature maps (models/ssd_r34.py
// of the reference). Scales are those of images of 300×300.
func ssdResNet34Grids() []anchorGrid {
	scales := []float64{21, 45, 99, 153, 207, 261, 315}
	grids := []anchorGrid{{size: 50}, {size: 25}, {size: 13}, {size: 7}, {size: 3}, {size: 3}}
	for i := range grids {
		s, next := scales[i]/300, scales[i+1]/300
		grids[i].add(s, 1)
		grids[i].add(math.Sqrt(s*next), 1)
		for _, aspect := range [][]float64{{2}, {2, 3}, {2, 3}, {2, 3}, {2}, {2}}[i] {
			grids[i].add(s, aspect)
			grids[i].add(s, 1/aspect)
		}
	}
	return grids
}

// defaultBoxes lists centres and sizes, x before y, one kind of box after the other.
func (r ssdResNet) defaultBoxes() (centers, sizes []float32) {
	for _, g := range ssdResNet34Grids() {
		for _, s := range g.shapes {
			for place := range g.size * g.size {
				centers = append(centers, g.center(place%g.size), g.center(place/g.size))
				sizes = append(sizes, float32(min(1, s.width)), float32(min(1, s.height)))
			}
		}
	}
	return centers, sizes
}

// detections turns what the heads say, [1 4 boxes] and [1 classes boxes], into boxes. As
// in the reference it takes the 200 best candidates of each class, whatever it finds in
// the background, and of what is left of them the 200 best. The classes are the batch
// of one suppression.
func (r ssdResNet) detections(locs, confs *onnx.Value) {
	const perClass, limit = 200, 200
	b := r.Builder
	centers, sizes := r.defaultBoxes()
	boxes := b.decodeCenters("decode", b.Transpose("decode/transpose", locs, 0, 2, 1), centers, sizes)
	boxes = b.Clip("clip", boxes, 0, 1)
	n := extentOf(boxes, 1)
	objects := b.Slice("objects", b.Softmax("softmax", confs, 1), 1, 1, ssdResNet34Classes)
	scores, where := b.TopK("candidates", b.Reshape("classes", objects, ssdResNet34Classes-1, n), 1, perClass)
	candidates := b.Gather("candidate_boxes", b.Reshape("boxes", boxes, n, 4), where, 0)
	scores = b.Reshape("candidate_scores", scores, ssdResNet34Classes-1, 1, perClass)
	kept := b.NonMaxSuppression("nms", candidates, scores, NMS{PerClass: perClass, IoU: 0.5, Score: 0.05})
	best, order := b.best("best", b.GatherND("kept_scores", scores, kept, 0), limit, "nbox")
	kept = b.Gather("best_index", kept, order, 0)
	found := b.GatherND("found_boxes", candidates, b.Gather("best_place", kept, b.ints(0, 2), 1), 0)
	labels := b.Squeeze("best_class", b.Gather("class_column", kept, b.ints(0), 1), 1)
	labels = b.Add("label", labels, b.ints(1))
	b.Output(b.rename(b.Unsqueeze("found_boxes/batch", found, 0), "bboxes"),
		b.rename(b.Unsqueeze("label/batch", labels, 0), "labels"),
		b.rename(b.Unsqueeze("best/batch", best, 0), "scores"))
}
