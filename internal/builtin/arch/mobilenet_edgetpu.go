package arch

import (
	"fmt"

	"github.com/mlperf-go/mlperf/internal/onnx"
)

// mobileNetEdgeTPU is MobileNetEdgeTPU 1.0 224, of slim's mobilenet_v3.py: inverted
// residuals with plain ReLU, of which the first expand by a full convolution instead of a
// 1×1 and a depthwise one. Class 0 is the background, so there are 1001.
//
// The official file is a TFLite model, whose image has the channels last and is scaled to
// -1 … 1.
func mobileNetEdgeTPU() Architecture {
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
