package arch

import (
	"fmt"

	"github.com/mlperf-go/mlperf/internal/onnx"
)

// MobileNet is MobileNet-v1 1.0 224 (Howard et al., arXiv:1704.04861) as
// TensorFlow's slim library builds it: every padding is SAME, so with a stride only
// at the end, the activation is ReLU6, and the last layer is a 1×1 convolution.
// Class 0 is the background, so there are 1001.
func MobileNet() Architecture {
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

// mobileNetV2Stem and mobileNetV2Blocks are MobileNet-v2 1.0 (Sandler et al.,
// arXiv:1801.04381) as TensorFlow's slim library builds it: a convolution, which slim calls
// layer 1, and the inverted residuals of layers 2 to 18.
const mobileNetV2Stem = 32

func mobileNetV2Blocks() []struct{ filters, stride int64 } {
	return []struct{ filters, stride int64 }{
		{16, 1},
		{24, 2}, {24, 1},
		{32, 2}, {32, 1}, {32, 1},
		{64, 2}, {64, 1}, {64, 1}, {64, 1}, {96, 1}, {96, 1}, {96, 1},
		{160, 2}, {160, 1}, {160, 1}, {320, 1},
	}
}

// mobileNetV2 holds what other networks read of MobileNet-v2.
type mobileNetV2 struct {
	blocks    []*onnx.Value // the result of each block
	expanded  []*onnx.Value // within each block: after the first convolution, nil if there is none
	depthwise []*onnx.Value // and after the second
}

// mobileNetV2 adds the stem and all blocks. Where a stride would make the image more
// than outputStride times smaller, later blocks dilate their filters instead.
func (m steadyMobileNet) mobileNetV2(scope string, x *onnx.Value, outputStride int64) mobileNetV2 {
	x = m.conv(scope+"Conv", x, Conv{Filters: mobileNetV2Stem, Kernel: Axes{3}, Strides: Axes{2}})
	var net mobileNetV2
	shrunk, dilation := int64(2), int64(1)
	for i, block := range mobileNetV2Blocks() {
		c := Conv{Kernel: Axes{3}, Strides: Axes{block.stride}, Dilations: Axes{dilation}}
		if shrunk*block.stride > outputStride {
			c.Strides = Axes{1}
			dilation *= block.stride
		} else {
			shrunk *= block.stride
		}
		expansion := int64(6)
		name := fmt.Sprintf(scope+"expanded_conv_%d", i)
		if i == 0 {
			name, expansion = scope+"expanded_conv", 1
		}
		net.add(m.invertedResidual(name, x, block.filters, expansion, c))
		x = net.blocks[i]
	}
	return net
}

func (n *mobileNetV2) add(expanded, depthwise, result *onnx.Value) {
	n.expanded = append(n.expanded, expanded)
	n.depthwise = append(n.depthwise, depthwise)
	n.blocks = append(n.blocks, result)
}

// invertedResidual adds a block: 1×1 to more channels, a depthwise convolution, 1×1 to few
// channels without an activation, and the block's input added to that where it fits.
func (m steadyMobileNet) invertedResidual(name string, x *onnx.Value, filters, expansion int64, c Conv) (expanded, depthwise, result *onnx.Value) {
	in := x
	if expansion != 1 {
		expanded = m.conv(name+"/expand", x, Conv{Filters: expansion * x.Channels(), Kernel: Axes{1}})
		x = expanded
	}
	depthwise = m.depthwise(name+"/depthwise", x, c)
	project := Conv{Filters: filters, Kernel: Axes{1}}
	if c.Strides[0] != 1 || in.Channels() != filters {
		return expanded, depthwise, m.linear(name+"/project", depthwise, project, 1)
	}
	result = m.linear(name+"/project", depthwise, project, 0.4)
	return expanded, depthwise, m.Add(name+"/add", result, in)
}

// MobileNetEdgeTPU is MobileNetEdgeTPU 1.0 224, of slim's mobilenet_v3.py: inverted
// residuals with plain ReLU, of which the first expand by a full convolution instead of a
// 1×1 and a depthwise one. Class 0 is the background, so there are 1001.
//
// The official file is a TFLite model, whose image has the channels last and is scaled to
// -1 … 1.
func MobileNetEdgeTPU() Architecture {
	return Architecture{
		Name:        "mobilenet-edgetpu",
		Title:       "MobileNetEdgeTPU 1.0 224",
		Official:    "https://github.com/mlcommons/mobile_models/tree/main/v0_7/tflite",
		Inputs:      []onnx.Value{{Name: "input", Type: onnx.Type{Elem: onnx.Float32, Shape: onnx.Batched(224, 224, 3)}}},
		Outputs:     []onnx.Value{{Name: "MobilenetEdgeTPU/Predictions/Softmax", Type: onnx.Type{Elem: onnx.Float32, Shape: onnx.Batched(1001)}}},
		Features:    "features:0",
		FeatureSize: 1280,
		Classes:     1001,
		Seed:        3,
		layers:      mobileNetEdgeTPULayers,
	}
}

// An edgeTPUBlock is an inverted residual. It is fused if its expansion is a full
// convolution; without an expansion it is nothing but a 1×1 convolution.
type edgeTPUBlock struct {
	kernel, expansion, filters, stride int64
	fused, residual                    bool
}

func mobileNetEdgeTPUBlocks() []edgeTPUBlock {
	blocks := []edgeTPUBlock{{1, 1, 16, 1, true, false}}
	for _, s := range []struct {
		kernel, filters, stride int64
		fused                   bool
	}{{3, 32, 2, true}, {3, 48, 2, true}, {3, 96, 2, false}, {3, 96, 1, false}, {5, 160, 2, false}} {
		blocks = append(blocks, edgeTPUBlock{s.kernel, 8, s.filters, s.stride, s.fused, false})
		for range 3 {
			blocks = append(blocks, edgeTPUBlock{s.kernel, 4, s.filters, 1, s.fused, true})
		}
	}
	return append(blocks, edgeTPUBlock{3, 8, 192, 1, false, false})
}

func mobileNetEdgeTPULayers(b *Builder, o Options) {
	const scope = "MobilenetEdgeTPU/"
	m := edgeTPU{b}
	x := b.Transpose("channels_first", b.Input("input", onnx.Float32, onnx.Batched(224, 224, 3)), 0, 3, 1, 2)
	x = m.conv(scope+"Conv", x, Conv{Filters: 32, Kernel: Axes{3}, Strides: Axes{2}})
	for i, block := range mobileNetEdgeTPUBlocks() {
		name := scope + "expanded_conv"
		if i > 0 {
			name = fmt.Sprintf("%s_%d", name, i)
		}
		x = m.block(name, x, block)
	}
	x = m.conv(scope+"Conv_1", x, Conv{Filters: 1280, Kernel: Axes{1}})
	x = b.GlobalAveragePool(scope+"Logits/AvgPool", x)
	b.Flatten("features", x)
	weights, bias := o.classifierFillers()
	x = b.Conv(scope+"Logits/Conv2d_1c_1x1", x, Conv{Filters: o.Classes, Kernel: Axes{1}, Weights: weights, Bias: bias})
	x = b.Flatten(scope+"Logits/output", x)
	b.Output(b.rename(b.Softmax(scope+"Predictions", x, 1), scope+"Predictions/Softmax"))
}

type edgeTPU struct{ *Builder }

func (m edgeTPU) block(name string, x *onnx.Value, e edgeTPUBlock) *onnx.Value {
	in := x
	inner := e.expansion * x.Channels()
	switch {
	case e.expansion == 1:
	case e.fused:
		x = m.conv(name+"/expand", x, Conv{Filters: inner, Kernel: Axes{e.kernel}, Strides: Axes{e.stride}})
	default:
		x = m.conv(name+"/expand", x, Conv{Filters: inner, Kernel: Axes{1}})
		blur := Rounded{Uniform{0, 2.16 / float32(e.kernel*e.kernel)}}
		x = m.conv(name+"/depthwise", x, Conv{Filters: inner, Groups: inner, Kernel: Axes{e.kernel}, Strides: Axes{e.stride}, Weights: blur})
	}
	project := Conv{Filters: e.filters, Kernel: Axes{1}, Weights: Rounded{He{ZeroMean: true}}}
	if !e.residual {
		return m.linear(name+"/project", x, project)
	}
	project.Weights = Rounded{He{Gain: 0.4, ZeroMean: true}}
	return m.Add(name+"/add", m.linear(name+"/project", x, project), in)
}

// conv adds a convolution, its batch norm and ReLU. Most read values that no ReLU has
// halved, hence the gain.
func (m edgeTPU) conv(name string, x *onnx.Value, c Conv) *onnx.Value {
	if c.Weights == nil {
		c.Weights = Rounded{He{Gain: 0.8, ZeroMean: x.Channels() > 3}}
	}
	return m.Relu(name+"/Relu", m.normed(name, x, c, 0.1, 0.3))
}

func (m edgeTPU) linear(name string, x *onnx.Value, c Conv) *onnx.Value {
	return m.normed(name, x, c, -0.1, 0.1)
}

func (m edgeTPU) normed(name string, x *onnx.Value, c Conv, low, high float32) *onnx.Value {
	c.Pads = PadSame()
	n := seededNorm(1e-3, 1)
	n.Beta = Uniform{low, high}
	return m.BatchNorm(name+"/BatchNorm", m.Conv(name, x, c), n)
}

// A steadyMobileNet adds the layers of MobileNets with weights for tasks that look at
// places, not at the whole image: detection and segmentation. Plain random weights
// would lose small things in the noise that they amplify. Here depthwise filters blur, so
// that noise is averaged away early, all others have mean zero, and norms lift the inputs
// of ReLU6 so far that most of them pass it unchanged. So features differ
// between places, little disturbs them, and they are what the image is like around there.
type steadyMobileNet struct {
	*Builder
	epsilon float32 // of the batch norms
}

// conv adds a convolution, its batch norm and ReLU6.
func (m steadyMobileNet) conv(name string, x *onnx.Value, c Conv) *onnx.Value {
	if c.Weights == nil {
		c.Weights = Rounded{He{Gain: 1.1, ZeroMean: true}}
		if x.Channels() == 3 {
			c.Weights = Rounded{He{Gain: 4}} // colour counts
		}
	}
	return m.Relu6(name+"/Relu6", m.normed(name, x, c, 0.7, 0.9))
}

// depthwise adds a convolution of each channel with a filter of its own, batch norm and
// ReLU6.
func (m steadyMobileNet) depthwise(name string, x *onnx.Value, c Conv) *onnx.Value {
	c.Filters, c.Groups = x.Channels(), x.Channels()
	places := c.Kernel[0] * c.Kernel[0]
	c.Weights = Rounded{Uniform{0, 2.16 / float32(places)}}
	return m.conv(name, x, c)
}

// linear adds a convolution and its batch norm.
func (m steadyMobileNet) linear(name string, x *onnx.Value, c Conv, gain float64) *onnx.Value {
	c.Weights = Rounded{He{Gain: gain, ZeroMean: true}}
	return m.normed(name, x, c, -0.1, 0.1)
}

func (m steadyMobileNet) normed(name string, x *onnx.Value, c Conv, low, high float32) *onnx.Value {
	c.Pads = PadSame()
	n := seededNorm(m.epsilon, 1)
	n.Beta = Uniform{low, high}
	return m.BatchNorm(name+"/BatchNorm", m.Conv(name, x, c), n)
}
