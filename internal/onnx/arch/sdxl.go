package arch

import (
	"fmt"
	"math"
	"slices"

	"github.com/mlperf-go/mlperf/internal/onnx"
)

const sdxlOfficial = "https://huggingface.co/stabilityai/stable-diffusion-xl-base-1.0"

// An SDXLSet has the files of Stable Diffusion XL.
type SDXLSet struct{ TextEncoder, TextEncoder2, UNet, VAEDecoder Architecture }

// SDXL are the files of Stable Diffusion XL.
func SDXL() SDXLSet {
	return SDXLSet{
		sdxlTextEncoder("sdxl-text-encoder", "first text encoder of Stable Diffusion XL", sdxlOfficial, sdxlText, 31),
		sdxlTextEncoder("sdxl-text-encoder-2", "second text encoder of Stable Diffusion XL", sdxlOfficial, sdxlText2, 32),
		sdxlUNetArchitecture("sdxl-unet", "UNet of Stable Diffusion XL", sdxlOfficial, sdxlUNet, 33),
		sdxlDecoder("sdxl-vae-decoder", "decoder of Stable Diffusion XL", sdxlOfficial, sdxlVAE, 34),
	}
}

// SmallSDXL stands in for SDXL.
func SmallSDXL() SDXLSet {
	return SDXLSet{
		sdxlTextEncoder("sdxl-mini-text-encoder", "text encoder of 2 layers", "", sdxlMiniText, 31),
		sdxlTextEncoder("sdxl-mini-text-encoder-2", "text encoder of 3 layers", "", sdxlMiniTwo, 32),
		sdxlUNetArchitecture("sdxl-mini-unet", "UNet of 11 residual blocks", "", sdxlMiniUNet, 33),
		sdxlDecoder("sdxl-mini-vae-decoder", "decoder of 10 residual blocks", "", sdxlMiniVAE, 34),
	}
}

// DiffusionSizes are how many tokens the text encoders know, and the side of the latents: of the
// built-in pipeline, or at full size.
func DiffusionSizes(full bool) (tokens, side int) {
	if full {
		return int(sdxlText.rows), int(sdxlUNet.side)
	}
	return sdxlMiniRows, sdxlMiniSide
}

// The features that the built-in networks see in images, of which the last ones are always 0: data
// sets use them to place what images are compared with at a distance.
const (
	EyesFeatures = 64
	EyesUnused   = 16
)

// Eyes is a small network that sees features in images: the stand-in for the image tower of CLIP, or
// for Inception-v3. It is seeded like all, so what it sees means nothing but tells images apart.
type Eyes struct {
	Input, Output string
	Side          int64 // of the images
	Seed          uint64

	Scale float32   // of the features
	Shift []float32 // that is added to them; nil: nothing
}

// Build returns the network.
func (e Eyes) Build() (*onnx.Model, error) {
	b := NewBuilder("eyes", e.Seed)
	x := b.Input(e.Input, onnx.Float32, onnx.Batched(imageChannels, e.Side, e.Side))
	for i, filters := range []int64{12, 24, 48} {
		name := fmt.Sprintf("conv%d", i)
		c := Conv{Filters: filters, Kernel: Axes{5}, Strides: Axes{[]int64{4, 2, 2}[i]}, Pads: Pad(2), Weights: He{ZeroMean: i > 0},
			Bias: Uniform{-0.3, 0.3}}
		x = b.Relu(name+"/relu", b.Conv(name, x, c))
	}
	last := Patched{He{Gain: 2, ZeroMean: true}, func(row int, w []float32) {
		if row >= EyesFeatures-EyesUnused {
			clear(w)
		}
	}}
	x = b.Relu("last/relu", b.Conv("last", x, Conv{Filters: EyesFeatures, Kernel: Axes{1}, Weights: last}))
	y := b.Binary("Mul", "scaled", b.Flatten("flat", b.GlobalAveragePool("pool", x)), b.scalar(e.Scale))
	shift := make([]float32, EyesFeatures)
	copy(shift, e.Shift)
	y = b.Add("shifted", y, b.Constant(onnx.TensorOf("shift", shift, EyesFeatures)))
	b.Output(b.rename(y, e.Output))
	m, _, err := b.Model()
	return m, err
}

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

// captionLength is how many tokens the text encoders read.
const captionLength = 77

// A clipTextSize is what a text encoder of CLIP consists of (Radford et al., arXiv:2103.00020).
type clipTextSize struct {
	layers, hidden, attentions, rows int64

	// projected is the form of the second encoder of Stable Diffusion XL: it has GELU instead of its
	// quick form, and what it makes of the whole text is projected.
	projected bool
}

// Sizes of text encoders: those of Stable Diffusion XL (text_encoder/config.json and
// text_encoder_2/config.json of stable-diffusion-xl-base-1.0), and small ones that take their
// place in the built-in pipeline.
var (
	sdxlText     = clipTextSize{layers: 12, hidden: 768, attentions: 12, rows: 49408}
	sdxlText2    = clipTextSize{layers: 32, hidden: 1280, attentions: 20, rows: 49408, projected: true}
	sdxlMiniText = clipTextSize{layers: 2, hidden: 32, attentions: 2, rows: sdxlMiniRows}
	sdxlMiniTwo  = clipTextSize{layers: 3, hidden: 64, attentions: 4, rows: sdxlMiniRows, projected: true}
)

// sdxlMiniRows is how many tokens the built-in text encoders know: 512 bytes, and what is joined of
// them.
const sdxlMiniRows = 1024

// sdxlTextEncoder is a text encoder with the names that Optimum exports. What the pipeline reads
// are the hidden states before the last layer, and of the second encoder the projected text.
func sdxlTextEncoder(name, title, official string, s clipTextSize, seed uint64) Architecture {
	state := onnx.Type{Elem: onnx.Float32, Shape: onnx.Batched(captionLength, s.hidden)}
	outputs := []onnx.Value{{Name: "text_embeds", Type: onnx.Type{Elem: onnx.Float32, Shape: onnx.Batched(s.hidden)}},
		{Name: "last_hidden_state", Type: state}}
	if !s.projected {
		outputs[0], outputs[1] = outputs[1], onnx.Value{Name: "pooler_output", Type: outputs[0].Type}
	}
	for i := range s.layers + 1 {
		outputs = append(outputs, onnx.Value{Name: fmt.Sprintf("hidden_states.%d", i), Type: state})
	}
	return Architecture{
		Name: name, Title: title, Official: official, Seed: seed,
		Inputs:  []onnx.Value{{Name: "input_ids", Type: onnx.Type{Elem: onnx.Int64, Shape: onnx.Batched(captionLength)}}},
		Outputs: outputs,
		Rows:    s.rows,
		layers: func(b *Builder, o Options) {
			s := s
			s.rows = o.Rows
			clipTextNet{b, s}.build(outputs)
		},
	}
}

type clipTextNet struct {
	*Builder
	clipTextSize
}

const clipEpsilon = 1e-5

func (n clipTextNet) build(outputs []onnx.Value) {
	ids := n.Input("input_ids", onnx.Int64, onnx.Batched(captionLength))
	tokens := n.Gather("embeddings/token", n.Weight("embeddings/token/weights", Bell{1}, n.rows, n.hidden), ids, 0)
	x := n.Add("embeddings", tokens, n.Weight("embeddings/position", Bell{0.3}, captionLength, n.hidden))
	values := map[string]*onnx.Value{}
	for i := range n.layers {
		values[fmt.Sprintf("hidden_states.%d", i)] = x
		x = n.layer(fmt.Sprintf("layer%d", i), x)
	}
	values[fmt.Sprintf("hidden_states.%d", n.layers)] = n.Unary("Identity", "last", x)
	last := n.LayerNorm("final_norm", x, clipEpsilon, nil, nil)
	whole := n.pooled(ids, last)
	if n.projected {
		whole = n.product("text_projection", whole, n.hidden, Bell{1 / math.Sqrt(float64(n.hidden))})
	}
	values["last_hidden_state"], values["text_embeds"], values["pooler_output"] = last, whole, whole
	for _, out := range outputs {
		n.Output(n.rename(values[out.Name], out.Name))
	}
}

// pooled is the state at the end of the text, the token with the largest number.
func (n clipTextNet) pooled(ids, states *onnx.Value) *onnx.Value {
	return n.GatherND("pooled", states, n.Unsqueeze("pooled/at", n.ArgMax("pooled/end", ids, 1), 1), 1)
}

// layer adds an attention that looks back only, and two dense layers.
func (n clipTextNet) layer(name string, x *onnx.Value) *onnx.Value {
	y := n.LayerNorm(name+"/norm1", x, clipEpsilon, nil, nil)
	part := func(what string) *onnx.Value {
		return n.Linear(name+"/attention/"+what, y, n.hidden, Bell{1 / math.Sqrt(float64(n.hidden))}, nil)
	}
	size := n.hidden / n.attentions
	y = n.attend(name+"/attention", n.attentions, size, part("q"), part("k"), part("v"), n.causal(), float32(1/math.Sqrt(float64(size))))
	x = n.Add(name+"/attended", x, n.Linear(name+"/attention/out", y, n.hidden, Bell{1 / math.Sqrt(float64(n.hidden))}, nil))
	y = n.Linear(name+"/fc1", n.LayerNorm(name+"/norm2", x, clipEpsilon, nil, nil), 4*n.hidden, Bell{1 / math.Sqrt(float64(n.hidden))}, nil)
	if n.projected {
		y = n.Gelu(name+"/gelu", y)
	} else {
		y = n.silu(name+"/gelu", y, 1.702)
	}
	return n.Add(name+"/fed", x, n.Linear(name+"/fc2", y, n.hidden, Bell{0.5 / math.Sqrt(float64(n.hidden))}, nil))
}

// causal is a mask that lets no token see those behind it.
func (n clipTextNet) causal() *onnx.Value {
	const name = "causal"
	if v := n.values[name]; v != nil {
		return v
	}
	mask := make([]float32, captionLength*captionLength)
	for i := range mask {
		if i%captionLength > i/captionLength {
			mask[i] = -math.MaxFloat32
		}
	}
	return n.Constant(onnx.TensorOf(name, mask, 1, 1, captionLength, captionLength))
}

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

// down adds a level of the way down.
func (n *sdxlUNetNet) down(level int, x *onnx.Value) *onnx.Value {
	name := fmt.Sprintf("down%d", level)
	for i := range n.layers {
		x = n.resnet(fmt.Sprintf("%s/resnet%d", name, i), x, n.channels[level], false)
		x = n.transformer(fmt.Sprintf("%s/attention%d", name, i), x, n.depth[level])
		n.skips = append(n.skips, x)
	}
	if level < len(n.channels)-1 {
		x = n.Conv(name+"/downsample", x, Conv{Filters: n.channels[level], Kernel: Axes{3}, Strides: Axes{2}, Pads: Pad(1),
			Weights: diffusionWeights(), Bias: Constant(0)})
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

// What the built-in network knows: most of what it says of the noise is the latents themselves,
// which are nothing else at first. It passes them on, once as they are and once turned round, as
// the difference of two SiLUs is their input; the rest follows from the text.
// So images become those of their captions, and not of the latents they begin with.
//
// The last norm has a group for what is passed on. Numbers that are always the same keep its size.
const (
	passed       = 2 * latentChannels
	passedSteady = 3    // the number that is always the same
	passedGain   = 2.25 // what the norm divides by: √((1+3²)/2)
	textGain     = 0.3  // of the rest
)

func (n *sdxlUNetNet) knownIn() Filler {
	if !n.knows {
		return diffusionWeights()
	}
	return Patched{diffusionWeights(), func(row int, w []float32) {
		if row >= 2*passed {
			return
		}
		clear(w)
		if row < passed {
			w[row/2*9+4] = 1 - 2*float32(row%2)
		}
	}}
}

func (n *sdxlUNetNet) knownInBias() Filler {
	return Patched{Constant(0), func(row int, w []float32) {
		if n.knows && row >= passed && row < 2*passed {
			w[0] = passedSteady * (1 - 2*float32(row%2))
		}
	}}
}

// nothing is added to what is passed on.
func (n *sdxlUNetNet) nothing(row int, w []float32) {
	if row < 2*passed {
		clear(w)
	}
}

// passOn takes what comes across from the beginning, behind what comes from below.
func (n *sdxlUNetNet) passOn(row int, w []float32) {
	if row < 2*passed {
		clear(w)
		w[len(w)-int(n.channels[0])+row] = 1
	}
}

func (n *sdxlUNetNet) knownOut() Filler {
	if !n.knows {
		return diffusionWeights()
	}
	return Patched{He{Gain: textGain, ZeroMean: true}, func(row int, w []float32) {
		clear(w[:2*passed*9])
		w[2*row*9+4], w[(2*row+1)*9+4] = passedGain, -passedGain
	}}
}

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
		return n.Conv(name, x, Conv{Filters: filters, Kernel: Axes{kernel}, Pads: Pad(kernel / 2), Weights: He{Gain: gain, ZeroMean: true},
			Bias: Constant(0)})
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
