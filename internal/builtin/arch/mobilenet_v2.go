package arch

import (
	"fmt"

	"github.com/mlperf-go/mlperf/internal/onnx"
)

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
