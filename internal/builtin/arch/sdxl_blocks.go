package arch

import (
	"fmt"
	"math"

	"github.com/mlperf-go/mlperf/internal/onnx"
)

// diffusionWeights keep the size of what comes from a norm and a SiLU.
func diffusionWeights() Filler { return He{Gain: 1, ZeroMean: true} }

// upsample doubles the size of images.
func (b *Builder) upsample(name string, x *onnx.Value) *onnx.Value {
	sides := Axes{2 * extentOf(x, 2), 2 * extentOf(x, 3)}
	x = b.Resize(name+"/upsample/nearest", x, Resize{Sizes: sides, Mode: "nearest", Coordinates: "asymmetric", Nearest: "floor"})
	return b.Conv(name+"/upsample", x, Conv{Filters: x.Channels(), Kernel: Axes{3}, Pads: Pad(1), Weights: diffusionWeights(), Bias: Constant(0)})
}

// resnet adds a residual block that is told the step. The last one of all passes on what the
// network knows of the latents.
func (n *sdxlUNetNet) resnet(name string, x *onnx.Value, filters int64, final bool) *onnx.Value {
	told := n.Linear(name+"/time", n.when, filters, Bell{0.7 / math.Sqrt(float64(4*n.channels[0]))}, nil)
	told = n.Reshape(name+"/time/planes", told, 0, filters, 1, 1)
	r := residual{groups: n.groups, epsilon: 1e-5, told: told}
	if final && n.knows {
		r.second, r.shortcut = Patched{diffusionWeights(), n.nothing}, Patched{diffusionWeights(), n.passOn}
	}
	return n.residual(name, x, filters, r)
}

// A residual describes a residual block.
type residual struct {
	groups           int64
	epsilon          float32
	told             *onnx.Value // is added between the convolutions; nil: nothing
	second, shortcut Filler      // nil: the usual weights
}

// residual adds a block: norm, SiLU and convolution, twice, beside a way around.
func (b *Builder) residual(name string, x *onnx.Value, filters int64, r residual) *onnx.Value {
	conv := func(part string, x *onnx.Value, kernel int64, w Filler) *onnx.Value {
		if w == nil {
			w = diffusionWeights()
		}
		return b.Conv(name+"/"+part, x, Conv{Filters: filters, Kernel: Axes{kernel}, Pads: Pad(kernel / 2), Weights: w, Bias: Constant(0)})
	}
	y := conv("conv1", b.silu(name+"/silu1", b.groupNorm(name+"/norm1", x, r.groups, r.epsilon), 1), 3, nil)
	if r.told != nil {
		y = b.Add(name+"/told", y, r.told)
	}
	y = conv("conv2", b.silu(name+"/silu2", b.groupNorm(name+"/norm2", y, r.groups, r.epsilon), 1), 3, r.second)
	if x.Channels() != filters {
		x = conv("shortcut", x, 1, r.shortcut)
	}
	return b.Add(name, x, y)
}

// transformer adds blocks in which the places of an image look at each other and at the text.
func (n *sdxlUNetNet) transformer(name string, x *onnx.Value, depth int64) *onnx.Value {
	if depth == 0 {
		return x
	}
	channels, height, width := x.Channels(), extentOf(x, 2), extentOf(x, 3)
	y := n.Reshape(name+"/flat", n.groupNorm(name+"/norm", x, n.groups, 1e-6), 0, channels, height*width)
	y = n.Linear(name+"/in", n.Transpose(name+"/places", y, 0, 2, 1), channels, n.bell(channels), nil)
	for i := range depth {
		y = n.block(fmt.Sprintf("%s/block%d", name, i), y, channels)
	}
	y = n.Transpose(name+"/planes", n.Linear(name+"/out", y, channels, n.bell(channels), nil), 0, 2, 1)
	return n.Add(name, n.Reshape(name+"/back", y, 0, channels, height, width), x)
}

func (n *sdxlUNetNet) bell(inputs int64) Filler { return Bell{1 / math.Sqrt(float64(inputs))} }

// block adds attention among the places, attention to the text, and a dense part with gates.
func (n *sdxlUNetNet) block(name string, x *onnx.Value, channels int64) *onnx.Value {
	x = n.Add(name+"/self", x, n.attention(name+"/attention1", n.LayerNorm(name+"/norm1", x, clipEpsilon, nil, nil), nil, channels))
	y := n.LayerNorm(name+"/norm2", x, clipEpsilon, nil, nil)
	x = n.Add(name+"/cross", x, n.attention(name+"/attention2", y, n.in["encoder_hidden_states"], channels))
	y = n.Linear(name+"/gates", n.LayerNorm(name+"/norm3", x, clipEpsilon, nil, nil), 8*channels, n.bell(channels), nil)
	gate := n.Gelu(name+"/gelu", n.Slice(name+"/gate", y, 2, 4*channels, 8*channels))
	y = n.Binary("Mul", name+"/gated", n.Slice(name+"/value", y, 2, 0, 4*channels), gate)
	return n.Add(name, x, n.Linear(name+"/fed", y, channels, n.bell(4*channels), nil))
}

// attention looks at the text, or without one at the places themselves.
func (n *sdxlUNetNet) attention(name string, x, text *onnx.Value, channels int64) *onnx.Value {
	gain := 1.0
	if text == nil {
		text = x
	} else {
		gain = crossGain
	}
	width := extentOf(text, 2)
	q := n.product(name+"/q", x, channels, n.bell(channels))
	k, v := n.product(name+"/k", text, channels, n.bell(width)), n.product(name+"/v", text, channels, Bell{gain / math.Sqrt(float64(width))})
	y := n.attend(name, channels/n.headSize, n.headSize, q, k, v, nil, float32(1/math.Sqrt(float64(n.headSize))))
	return n.Linear(name+"/out", y, channels, n.bell(channels), nil)
}

// crossGain is how loud the text is.
const crossGain = 2
