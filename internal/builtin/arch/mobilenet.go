package arch

import (
	"fmt"

	"github.com/mlperf-go/mlperf/internal/onnx"
)

// mobileNetV1 is MobileNet-v1 1.0 224 (Howard et al., arXiv:1704.04861) as
// TensorFlow's slim library builds it: every padding is SAME, so with a stride only
// at the end, the activation is ReLU6, and the last layer is a 1×1 convolution.
// Class 0 is the background, so there are 1001.
func mobileNetV1() Architecture {
	return Architecture{
		Name:        "mobilenet",
		Title:       "MobileNet-v1 1.0 224",
		Official:    "https://zenodo.org/record/4735651",
		Inputs:      []onnx.Value{{Name: "input:0", Type: onnx.Type{Elem: onnx.Float32, Shape: onnx.Batched(3, 224, 224)}}},
		Outputs:     []onnx.Value{{Name: "MobilenetV1/Predictions/Reshape_1:0", Type: onnx.Type{Elem: onnx.Float32, Shape: onnx.Batched(1001)}}},
		Features:    "features:0",
		FeatureSize: 1024,
		Classes:     1001,
		Seed:        3,
		layers:      mobileNetV1Layers,
	}
}

func mobileNetV1Layers(b *Builder, o Options) {
	const scope = "MobilenetV1/"
	m := mobileNet{b}
	x := b.Input("input:0", onnx.Float32, onnx.Batched(3, 224, 224))
	x = m.conv(scope+"Conv2d_0", x, Conv{Filters: 32, Kernel: Axes{3}, Strides: Axes{2}})
	for i, layer := range mobileNetV1Blocks() {
		name := fmt.Sprintf(scope+"Conv2d_%d", i+1)
		channels := x.Channels()
		x = m.conv(name+"_depthwise", x, Conv{Filters: channels, Groups: channels, Kernel: Axes{3}, Strides: Axes{layer.stride}})
		x = m.conv(name+"_pointwise", x, Conv{Filters: layer.filters, Kernel: Axes{1}})
	}
	x = b.GlobalAveragePool(scope+"Logits/AvgPool_1a", x)
	b.Flatten("features", x)
	weights, bias := o.classifierFillers()
	x = b.Conv(scope+"Logits/Conv2d_1c_1x1", x, Conv{Filters: o.Classes, Kernel: Axes{1}, Weights: weights, Bias: bias})
	x = b.Flatten(scope+"Logits/SpatialSqueeze", x)
	b.Output(b.Softmax(scope+"Predictions/Reshape_1", x, 1))
}

// mobileNetV1Blocks lists the depthwise separable convolutions: the filters of the
// pointwise half, the stride of the depthwise one.
func mobileNetV1Blocks() []struct{ filters, stride int64 } {
	return []struct{ filters, stride int64 }{
		{64, 1}, {128, 2}, {128, 1}, {256, 2}, {256, 1}, {512, 2},
		{512, 1}, {512, 1}, {512, 1}, {512, 1}, {512, 1}, {1024, 2}, {1024, 1},
	}
}

type mobileNet struct{ *Builder }

// conv adds a convolution, its batch norm and ReLU6.
func (m mobileNet) conv(name string, x *onnx.Value, c Conv) *onnx.Value {
	c.Pads = PadSame()
	x = m.Conv(name, x, c)
	x = m.BatchNorm(name+"/BatchNorm", x, seededNorm(1e-3, 1)) // epsilon of slim's MobileNet
	return m.Relu6(name+"/Relu6", x)
}
