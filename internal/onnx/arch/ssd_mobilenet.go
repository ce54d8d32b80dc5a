package arch

import (
	"fmt"
	"math"

	"github.com/mlperf-go/mlperf/internal/onnx"
)

// SSDMobileNet is SSD-MobileNet-v1 300 as TensorFlow's object detection library builds it
// (ssd_mobilenet_v1_coco_2018_01_28): single-shot detection (Liu et al.,
// arXiv:1512.02325) on two maps of MobileNet-v1 and four smaller ones, 1917 anchors and
// 91 classes of which class 0, the background, is dropped. Preparing the image,
// non-maximum suppression and the choice of the best 100 boxes are part of the graph.
func SSDMobileNet() Architecture {
	return Architecture{
		Name:     "ssd-mobilenet",
		Title:    "SSD-MobileNet-v1 300",
		Official: "https://zenodo.org/record/4735652",
		Inputs:   []onnx.Value{{Name: "image_tensor:0", Type: onnx.Type{Elem: onnx.Uint8, Shape: onnx.Batched(300, 300, 3)}}},
		Outputs: []onnx.Value{
			{Name: "num_detections:0", Type: onnx.Type{Elem: onnx.Float32, Shape: onnx.Batched()}},
			{Name: "detection_boxes:0", Type: onnx.Type{Elem: onnx.Float32, Shape: onnx.Batched(100, 4)}},
			{Name: "detection_scores:0", Type: onnx.Type{Elem: onnx.Float32, Shape: onnx.Batched(100)}},
			{Name: "detection_classes:0", Type: onnx.Type{Elem: onnx.Float32, Shape: onnx.Batched(100)}},
		},
		Seed:   3,
		layers: ssdMobileNetV1Layers,
	}
}

func ssdMobileNetV1Layers(b *Builder, _ Options) {
	x := b.Cast("ToFloat", b.Input("image_tensor:0", onnx.Uint8, onnx.Batched(300, 300, 3)), onnx.Float32)
	x = b.Transpose("Preprocessor/transpose", x, 0, 3, 1, 2)
	x = b.Binary("Mul", "Preprocessor/mul", x, b.scalar(2.0/255))
	x = b.Binary("Sub", "Preprocessor/sub", x, b.scalar(1))
	s := ssdMobileNet{Builder: b, head: Axes{1}, calibration: ssdMobileNetV1Calibration}
	d := s.detections(s.v1Maps("FeatureExtractor/MobilenetV1/", x))
	b.Output(
		b.rename(d.count, "num_detections:0"),
		b.rename(d.boxes, "detection_boxes:0"),
		b.rename(d.scores, "detection_scores:0"),
		b.rename(b.Add("add", d.classes, b.scalar(1)), "detection_classes:0"),
	)
}

const ssdMobileNetClasses = 91

// ssdMobileNet is what the detectors on top of MobileNets share.
type ssdMobileNet struct {
	*Builder
	calibration
	head Axes // kernel of the convolutions that boxes and scores are read with
}

// v1Maps are the six feature maps of MobileNet-v1.
func (s ssdMobileNet) v1Maps(scope string, x *onnx.Value) []*onnx.Value {
	m := steadyMobileNet{s.Builder, 1e-3}
	x = m.conv(scope+"Conv2d_0", x, Conv{Filters: 32, Kernel: Axes{3}, Strides: Axes{2}})
	var maps []*onnx.Value
	for i, layer := range mobileNetV1Blocks() {
		name := fmt.Sprintf(scope+"Conv2d_%d", i+1)
		x = m.depthwise(name+"_depthwise", x, Conv{Kernel: Axes{3}, Strides: Axes{layer.stride}})
		x = m.conv(name+"_pointwise", x, Conv{Filters: layer.filters, Kernel: Axes{1}})
		if i == 10 || i == 12 {
			maps = append(maps, x)
		}
	}
	for i, filters := range []int64{512, 256, 256, 128} {
		x = m.conv(fmt.Sprintf(scope+"Conv2d_13_pointwise_1_Conv2d_%d_1x1_%d", i+2, filters/2), x, Conv{Filters: filters / 2, Kernel: Axes{1}})
		x = m.conv(fmt.Sprintf(scope+"Conv2d_13_pointwise_2_Conv2d_%d_3x3_s2_%d", i+2, filters), x,
			Conv{Filters: filters, Kernel: Axes{3}, Strides: Axes{2}})
		maps = append(maps, x)
	}
	return maps
}

// detections reads boxes and class scores from the maps, and keeps the best 100 boxes:
// ymin, xmin, ymax, xmax from 0 to 1. Thresholds are those of the official pipeline.config.
func (s ssdMobileNet) detections(maps []*onnx.Value) detections {
	var boxes, scores []*onnx.Value
	for i, x := range maps {
		g := ssdMobileNetGrids()[i]
		name := fmt.Sprintf("BoxPredictor_%d/", i)
		boxes = append(boxes, s.predict(name+"BoxEncodingPredictor", x, 4, Conv{
			Filters: 4 * g.anchors(), Weights: Rounded{He{Gain: 0.5, ZeroMean: true}}, Bias: Constant(0),
		}))
		scores = append(scores, s.predict(name+"ClassPredictor", x, ssdMobileNetClasses, Conv{
			Filters: ssdMobileNetClasses * g.anchors(),
			Weights: Rounded{He{Gain: s.gains[i], ZeroMean: true}},
			Bias:    s.scores.biases(i, g.anchors(), ssdMobileNetClasses, anchorMajor),
		}))
	}
	const scope = "Postprocessor/"
	centers, sizes := s.anchors()
	decoded := s.decodeCenters(scope+"Decode", s.Concat("concat", 1, boxes...), centers, sizes)
	probabilities := s.Unary("Sigmoid", scope+"convert_scores", s.Concat("concat_1", 1, scores...))
	probabilities = s.Slice(scope+"without_background", probabilities, 2, 1, ssdMobileNetClasses)
	probabilities = s.Transpose(scope+"class_first", probabilities, 0, 2, 1)
	decoded = s.Clip(scope+"clip", decoded, 0, 1)
	return s.bestBoxes(scope+"NonMaxSuppression", decoded, probabilities, NMS{PerClass: 100, IoU: 0.6, Score: 0.3}, 100)
}

// predict adds a convolution that makes some numbers for each anchor at each place.
func (s ssdMobileNet) predict(name string, x *onnx.Value, numbers int64, c Conv) *onnx.Value {
	c.Kernel, c.Pads = s.head, PadSame()
	x = s.Transpose(name+"/transpose", s.Conv(name, x, c), 0, 2, 3, 1)
	return s.Reshape(name+"/reshape", x, 0, -1, numbers)
}

// ssdMobileNetGrids returns the anchors for images of 300×300 pixels: sizes from 0.2 to 0.95
// of the image in equal steps, in five proportions; the sixth anchor of a place is a square
// between its size and the next. The finest grid has three anchors only
// (ssd_anchor_generator in the official pipeline.config).
func ssdMobileNetGrids() []anchorGrid {
	fine := anchorGrid{size: 19}
	fine.add(0.1, 1)
	fine.add(0.2, 2)
	fine.add(0.2, 0.5)
	grids := []anchorGrid{fine}
	for i, size := range []int64{10, 5, 3, 2, 1} {
		g := anchorGrid{size: size}
		scale := 0.2 + 0.75*float64(i+1)/5
		for _, aspect := range []float64{1, 2, 0.5, 3, 0.3333} {
			g.add(scale, aspect)
		}
		g.add(math.Sqrt(scale*min(1, scale+0.15)), 1)
		grids = append(grids, g)
	}
	return grids
}

// anchors lists centres and sizes, y before x, all anchors of a place together.
func (s ssdMobileNet) anchors() (centers, sizes []float32) {
	for _, g := range ssdMobileNetGrids() {
		for place := range g.size * g.size {
			for _, a := range g.shapes {
				centers = append(centers, g.center(place/g.size), g.center(place%g.size))
				sizes = append(sizes, float32(a.height), float32(a.width))
			}
		}
	}
	return centers, sizes
}

// SSDMobileNetV2 is SSD-MobileNet-v2 300 (ssd_mobilenet_v2_coco_2018_03_29), which MLPerf
// Mobile used up to v0.7: the detector of SSD-MobileNet-v1 on two maps of MobileNet-v2 and
// four smaller ones, with 3×3 convolutions to read them.
//
// The official file is a TFLite model, so names and order of the outputs are those of
// its custom operator: boxes, classes, scores, count. Classes are COCO's less one, from 0
// to 89. The image is scaled to -1 … 1 beforehand. Unlike the operator this graph clips
// boxes to the image, as the TensorFlow model does.
func SSDMobileNetV2() Architecture {
	const operator = "TFLite_Detection_PostProcess"
	return Architecture{
		Name:     "ssd-mobilenet-v2",
		Title:    "SSD-MobileNet-v2 300",
		Official: "https://github.com/mlcommons/mobile_models/tree/main/v0_7/tflite",
		Inputs:   []onnx.Value{{Name: "normalized_input_image_tensor", Type: onnx.Type{Elem: onnx.Float32, Shape: onnx.Batched(300, 300, 3)}}},
		Outputs: []onnx.Value{
			{Name: operator, Type: onnx.Type{Elem: onnx.Float32, Shape: onnx.Batched(100, 4)}},
			{Name: operator + ":1", Type: onnx.Type{Elem: onnx.Float32, Shape: onnx.Batched(100)}},
			{Name: operator + ":2", Type: onnx.Type{Elem: onnx.Float32, Shape: onnx.Batched(100)}},
			{Name: operator + ":3", Type: onnx.Type{Elem: onnx.Float32, Shape: onnx.Batched()}},
		},
		Seed:   3,
		layers: ssdMobileNetV2Layers,
	}
}

func ssdMobileNetV2Layers(b *Builder, _ Options) {
	x := b.Input("normalized_input_image_tensor", onnx.Float32, onnx.Batched(300, 300, 3))
	x = b.Transpose("channels_first", x, 0, 3, 1, 2)
	s := ssdMobileNet{Builder: b, head: Axes{3}, calibration: ssdMobileNetV2Calibration}
	d := s.detections(s.v2Maps("FeatureExtractor/MobilenetV2/", x))
	const operator = "TFLite_Detection_PostProcess"
	b.Output(
		b.rename(d.boxes, operator),
		b.rename(d.classes, operator+":1"),
		b.rename(d.scores, operator+":2"),
		b.rename(d.count, operator+":3"),
	)
}

// v2Maps are six feature maps on MobileNet-v2: within its fourteenth block, after its last
// convolution, and four smaller ones behind depthwise separable convolutions.
func (s ssdMobileNet) v2Maps(scope string, x *onnx.Value) []*onnx.Value {
	m := steadyMobileNet{s.Builder, 1e-3}
	net := m.mobileNetV2(scope, x, 32)
	x = m.conv(scope+"Conv_1", net.blocks[len(net.blocks)-1], Conv{Filters: 1280, Kernel: Axes{1}})
	maps := []*onnx.Value{net.expanded[13], x}
	for i, filters := range []int64{512, 256, 256, 128} {
		name := fmt.Sprintf(scope+"layer_19_2_Conv2d_%d_3x3_s2_%d", i+2, filters)
		x = m.conv(fmt.Sprintf(scope+"layer_19_1_Conv2d_%d_1x1_%d", i+2, filters/2), x, Conv{Filters: filters / 2, Kernel: Axes{1}})
		x = m.depthwise(name+"_depthwise", x, Conv{Kernel: Axes{3}, Strides: Axes{2}})
		x = m.conv(name, x, Conv{Filters: filters, Kernel: Axes{1}})
		maps = append(maps, x)
	}
	return maps
}
