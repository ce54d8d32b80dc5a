package arch

import (
	"fmt"

	"github.com/mlperf-go/mlperf/internal/onnx"
)

// ssdMobileNetV2 is SSD-MobileNet-v2 300 (ssd_mobilenet_v2_coco_2018_03_29), which MLPerf
// Mobile used up to v0.7: the detector of SSD-MobileNet-v1 on two maps of MobileNet-v2 and
// four smaller ones, with 3×3 convolutions to read them.
//
// The official file is a TFLite model, so names and order of the outputs are those of
// its custom operator: boxes, classes, scores, count. Classes are COCO's less one, from 0
// to 89. The image is scaled to -1 … 1 beforehand. Unlike the operator this graph clips
// boxes to the image, as the TensorFlow model does.
func ssdMobileNetV2() Architecture {
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
