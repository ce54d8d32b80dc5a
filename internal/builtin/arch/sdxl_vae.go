package arch

import (
	"fmt"
	"math"
	"slices"

	"github.com/mlperf-go/mlperf/internal/onnx"
)

// A sdxlVAESize is what the decoder of latents consists of (AutoencoderKL of diffusers).
type sdxlVAESize struct {
	channels []int64 // of the levels, from the largest images to the smallest
	layers   int64   // residual blocks of a level, and one more
	groups   int64
	side     int64 // of the latents
}

// The size of Stable Diffusion XL (vae/config.json of stable-diffusion-xl-base-1.0), and that of
// the built-in pipeline.
var (
	sdxlVAE     = sdxlVAESize{channels: []int64{128, 256, 512, 512}, layers: 2, groups: 32, side: 128}
	sdxlMiniVAE = sdxlVAESize{channels: []int64{8, 16, 32, 32}, layers: 1, groups: 4, side: sdxlMiniSide}
)

// imageChannels are those of images.
const imageChannels = 3

// sdxlDecoder makes images of latents, with the names that Optimum exports.
func sdxlDecoder(name, title, official string, s sdxlVAESize, seed uint64) Architecture {
	sides := s.side << (len(s.channels) - 1)
	in := onnx.Value{Name: "latent_sample", Type: onnx.Type{Elem: onnx.Float32, Shape: onnx.Batched(latentChannels, s.side, s.side)}}
	return Architecture{
		Name: name, Title: title, Official: official, Seed: seed,
		Inputs:  []onnx.Value{in},
		Outputs: []onnx.Value{{Name: "sample", Type: onnx.Type{Elem: onnx.Float32, Shape: onnx.Batched(imageChannels, sides, sides)}}},
		layers: func(b *Builder, _ Options) {
			n := sdxlVAENet{b, s}
			b.Output(b.rename(n.build(b.Input(in.Name, onnx.Float32, in.Type.Shape)), "sample"))
		},
	}
}

type sdxlVAENet struct {
	*Builder
	sdxlVAESize
}

func (n sdxlVAENet) build(x *onnx.Value) *onnx.Value {
	levels := slices.Clone(n.channels)
	slices.Reverse(levels)
	r := residual{groups: n.groups, epsilon: 1e-6}
	conv := func(name string, x *onnx.Value, filters, kernel int64, gain float64) *onnx.Value {
		return n.Conv(name, x, Conv{Filters: filters, Kernel: Axes{kernel}, Pads: Pad(kernel / 2), Weights: He{Gain: gain, ZeroMean: true}, Bias: Constant(0)})
	}
	x = conv("conv_in", conv("post_quant", x, latentChannels, 1, 1), levels[0], 3, 1)
	x = n.residual("mid/resnet0", x, levels[0], r)
	x = n.residual("mid/resnet1", n.attention("mid/attention", x), levels[0], r)
	for i, filters := range levels {
		name := fmt.Sprintf("up%d", i)
		for k := range n.layers + 1 {
			x = n.residual(fmt.Sprintf("%s/resnet%d", name, k), x, filters, r)
		}
		if i < len(levels)-1 {
			x = n.upsample(name, x)
		}
	}
	x = n.silu("norm_out/silu", n.groupNorm("norm_out", x, n.groups, 1e-6), 1)
	return conv("conv_out", x, imageChannels, 3, 0.7)
}

// attention has all places of the image look at each other, with one head.
func (n sdxlVAENet) attention(name string, x *onnx.Value) *onnx.Value {
	channels, height, width := x.Channels(), extentOf(x, 2), extentOf(x, 3)
	flat := n.Reshape(name+"/flat", n.groupNorm(name+"/norm", x, n.groups, 1e-6), 0, channels, height*width)
	y := n.Transpose(name+"/places", flat, 0, 2, 1)
	part := func(what string) *onnx.Value {
		return n.Linear(name+"/"+what, y, channels, Bell{1 / math.Sqrt(float64(channels))}, nil)
	}
	y = n.attend(name, 1, channels, part("q"), part("k"), part("v"), nil, float32(1/math.Sqrt(float64(channels))))
	y = n.Transpose(name+"/planes", n.Linear(name+"/out", y, channels, Bell{1 / math.Sqrt(float64(channels))}, nil), 0, 2, 1)
	return n.Add(name+"/sum", x, n.Reshape(name+"/back", y, 0, channels, height, width))
}
