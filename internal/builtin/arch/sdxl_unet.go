package arch

import (
	"fmt"
	"math"

	"github.com/mlperf-go/mlperf/internal/onnx"
)

// A sdxlUNetSize is what the denoising network of Stable Diffusion XL consists of (Podell et al.,
// arXiv:2307.01952; UNet2DConditionModel of diffusers).
type sdxlUNetSize struct {
	channels []int64 // of the levels, from the largest images to the smallest
	depth    []int64 // blocks of attention at each level
	layers   int64   // residual blocks of a level on the way down; one more on the way up
	headSize int64
	groups   int64 // of the norms

	context, pooled int64 // numbers of a token, and of the whole text
	sizes           int64 // numbers for each of the six sizes of an image
	side            int64 // of the latents
	knows           bool
}

// The size of Stable Diffusion XL (unet/config.json of stable-diffusion-xl-base-1.0), and that of
// the built-in pipeline, which has the same kinds of layers.
var (
	sdxlUNet = sdxlUNetSize{
		channels: []int64{320, 640, 1280}, depth: []int64{0, 2, 10}, layers: 2, headSize: 64, groups: 32,
		context: 768 + 1280, pooled: 1280, sizes: 256, side: 128,
	}
	sdxlMiniUNet = sdxlUNetSize{
		channels: []int64{32, 32, 64}, depth: []int64{0, 1, 1}, layers: 1, headSize: 16, groups: 2,
		context: 32 + 64, pooled: 64, sizes: 16, side: sdxlMiniSide, knows: true,
	}
)

// sdxlMiniSide is that of the built-in latents, an eighth of that of the images.
const sdxlMiniSide = 16

// latentChannels are those of latents.
const latentChannels = 4

// sdxlUNetArchitecture is the denoising network with the names that Optimum exports.
func sdxlUNetArchitecture(name, title, official string, s sdxlUNetSize, seed uint64) Architecture {
	latents := onnx.Batched(latentChannels, s.side, s.side)
	floats := func(name string, shape onnx.Shape) onnx.Value {
		return onnx.Value{Name: name, Type: onnx.Type{Elem: onnx.Float32, Shape: shape}}
	}
	a := Architecture{
		Name: name, Title: title, Official: official, Seed: seed,
		Inputs: []onnx.Value{
			floats("sample", latents), {Name: "timestep", Type: onnx.Type{Elem: onnx.Int64, Shape: onnx.FixedShape([]int64{1})}},
			floats("encoder_hidden_states", onnx.Batched(captionLength, s.context)),
			floats("text_embeds", onnx.Batched(s.pooled)), floats("time_ids", onnx.Batched(6)),
		},
		Outputs: []onnx.Value{floats("out_sample", latents)},
	}
	inputs := a.Inputs
	a.layers = func(b *Builder, _ Options) {
		in := map[string]*onnx.Value{}
		for _, v := range inputs {
			in[v.Name] = b.Input(v.Name, v.Type.Elem, v.Type.Shape)
		}
		n := &sdxlUNetNet{Builder: b, sdxlUNetSize: s, in: in}
		b.Output(b.rename(n.build(), "out_sample"))
	}
	return a
}

type sdxlUNetNet struct {
	*Builder
	sdxlUNetSize
	in map[string]*onnx.Value

	when  *onnx.Value   // the step and the sizes, as all residual blocks read them
	skips []*onnx.Value // what goes across, from the way down to the way up
}

func (n *sdxlUNetNet) build() *onnx.Value {
	n.when = n.silu("when/silu", n.Add("when", n.stepEmbedding(), n.sizeEmbedding()), 1)
	x := n.Conv("conv_in", n.in["sample"], Conv{Filters: n.channels[0], Kernel: Axes{3}, Pads: Pad(1), Weights: n.knownIn(), Bias: n.knownInBias()})
	n.skips = []*onnx.Value{x}
	last := len(n.channels) - 1
	for level := range n.channels {
		x = n.down(level, x)
	}
	x = n.resnet("mid/resnet0", x, n.channels[last], false)
	x = n.transformer("mid/attention", x, n.depth[last])
	x = n.resnet("mid/resnet1", x, n.channels[last], false)
	for level := last; level >= 0; level-- {
		x = n.up(level, x)
	}
	x = n.silu("norm_out/silu", n.groupNorm("norm_out", x, n.groups, 1e-5), 1)
	return n.Conv("conv_out", x, Conv{Filters: latentChannels, Kernel: Axes{3}, Pads: Pad(1), Weights: n.knownOut(), Bias: Constant(0)})
}

// stepEmbedding tells how much noise there is: sines of the step, and two dense layers.
func (n *sdxlUNetNet) stepEmbedding() *onnx.Value {
	at := n.Reshape("time/step", n.Cast("time/float", n.in["timestep"], onnx.Float32), 1, 1)
	return n.twoDense("time", n.sines("time/sines", at, n.channels[0]))
}

// sizeEmbedding tells what the whole text says, and which sizes the image has.
func (n *sdxlUNetNet) sizeEmbedding() *onnx.Value {
	sizes := n.sines("add/sines", n.Reshape("add/each", n.in["time_ids"], 0, 6, 1), n.sizes)
	flat := n.Reshape("add/flat", sizes, 0, 6*n.sizes)
	return n.twoDense("add", n.Concat("add/joined", 1, n.in["text_embeds"], flat))
}

func (n *sdxlUNetNet) twoDense(name string, x *onnx.Value) *onnx.Value {
	units := 4 * n.channels[0]
	inputs := width(x)
	x = n.Linear(name+"/linear1", x, units, Bell{1.4 / math.Sqrt(float64(inputs))}, nil)
	return n.Linear(name+"/linear2", n.silu(name+"/silu", x, 1), units, Bell{1.4 / math.Sqrt(float64(units))}, nil)
}

// sines writes numbers as cosines and sines of falling frequencies: [… 1] → [… width].
func (n *sdxlUNetNet) sines(name string, x *onnx.Value, width int64) *onnx.Value {
	frequencies := make([]float32, width/2)
	for i := range frequencies {
		frequencies[i] = float32(math.Exp(-math.Log(10000) * float64(i) / float64(width/2)))
	}
	angles := n.Binary("Mul", name+"/angles", x, n.Constant(onnx.TensorOf(name+"/frequencies", frequencies, width/2)))
	return n.Concat(name, -1, n.Unary("Cos", name+"/cos", angles), n.Unary("Sin", name+"/sin", angles))
}

// down adds a level of the way down.
func (n *sdxlUNetNet) down(level int, x *onnx.Value) *onnx.Value {
	name := fmt.Sprintf("down%d", level)
	for i := range n.layers {
		x = n.resnet(fmt.Sprintf("%s/resnet%d", name, i), x, n.channels[level], false)
		x = n.transformer(fmt.Sprintf("%s/attention%d", name, i), x, n.depth[level])
		n.skips = append(n.skips, x)
	}
	if level < len(n.channels)-1 {
		x = n.Conv(name+"/downsample", x, Conv{Filters: n.channels[level], Kernel: Axes{3}, Strides: Axes{2}, Pads: Pad(1), Weights: diffusionWeights(), Bias: Constant(0)})
		n.skips = append(n.skips, x)
	}
	return x
}

// up adds a level of the way up, whose residual blocks also read what comes across.
func (n *sdxlUNetNet) up(level int, x *onnx.Value) *onnx.Value {
	name := fmt.Sprintf("up%d", level)
	for i := range n.layers + 1 {
		skip := n.skips[len(n.skips)-1]
		n.skips = n.skips[:len(n.skips)-1]
		part := fmt.Sprintf("%s/resnet%d", name, i)
		x = n.resnet(part, n.Concat(part+"/joined", 1, x, skip), n.channels[level], len(n.skips) == 0)
		x = n.transformer(fmt.Sprintf("%s/attention%d", name, i), x, n.depth[level])
	}
	if level > 0 {
		x = n.upsample(name, x)
	}
	return x
}
