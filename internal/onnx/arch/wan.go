package arch

import (
	"fmt"
	"math"

	"github.com/mlperf-go/mlperf/internal/onnx"
)

const wanOfficial = "https://huggingface.co/Wan-AI/Wan2.2-T2V-A14B-Diffusers"

// A WanSet has the files of Wan 2.2 for text to video. The experts, Transformer and Transformer2, have the same layers.
type WanSet struct{ TextEncoder, Transformer, Transformer2, VAEDecoder Architecture }

// Wan are the files of Wan 2.2 T2V A14B, for videos of 1280×720 pixels and 81 frames.
func Wan() WanSet {
	return WanSet{
		wanTextEncoder("wan-text-encoder", "text encoder of Wan 2.2", wanOfficial, umt5, 41),
		wanTransformer("wan-transformer", "high-noise expert of Wan 2.2", wanOfficial, wanDiT, 42),
		wanTransformer("wan-transformer-2", "low-noise expert of Wan 2.2", wanOfficial, wanDiT, 43),
		wanDecoder("wan-vae-decoder", "decoder of Wan 2.2", wanOfficial, wanVAE, 44),
	}
}

// SmallWan stands in for Wan: videos of 256×144 pixels and 9 frames.
func SmallWan() WanSet {
	return WanSet{
		wanTextEncoder("wan-mini-text-encoder", "text encoder of 2 layers", "", miniUMT5, 41),
		wanTransformer("wan-mini-transformer", "transformer of 3 layers", "", miniDiT, 42),
		wanTransformer("wan-mini-transformer-2", "transformer of 3 layers", "", miniDiT, 43),
		wanDecoder("wan-mini-vae-decoder", "decoder of 14 residual blocks", "", miniWanVAE, 44),
	}
}

// VideoLatents is the shape of the latents of a video, without a batch axis: channels, frames, height and width, of the built-in
// pipeline, or at full size.
func VideoLatents(full bool) []int64 {
	s := miniDiT
	if full {
		s = wanDiT
	}
	return []int64{s.channels, s.frames, s.height, s.width}
}

// VideoTokens is the number of tokens that the built-in text encoder knows.
func VideoTokens() int { return int(miniUMT5.rows) }

// WanTextLength is the number of tokens that the text encoder reads (diffusers 0.35.2, WanPipeline, max_sequence_length).
const WanTextLength = 512

// A umt5Size is what the encoder of UMT5 consists of (UMT5EncoderModel of transformers; Chung et al., arXiv:2304.09151).
type umt5Size struct{ layers, hidden, attentions, headSize, inner, rows int64 }

// The size of UMT5-XXL (text_encoder/config.json of the official checkpoint), and that of the built-in pipeline.
var (
	umt5     = umt5Size{layers: 24, hidden: 4096, attentions: 64, headSize: 64, inner: 10240, rows: 256384}
	miniUMT5 = umt5Size{layers: 2, hidden: 64, attentions: 4, headSize: 16, inner: 160, rows: 1024}
)

// Distances between tokens fall into buckets: half of them for tokens behind, and of either half one for each short distance, and
// wider ones up to the farthest (transformers, UMT5Attention).
const (
	umt5Buckets  = 32
	umt5Farthest = 128
	umt5Epsilon  = 1e-6
)

// wanTextEncoder is the text encoder. Layers have the names of the checkpoint's, with slashes for dots.
func wanTextEncoder(name, title, official string, s umt5Size, seed uint64) Architecture {
	tokens := onnx.Type{Elem: onnx.Int64, Shape: onnx.Batched(WanTextLength)}
	return Architecture{
		Name: name, Title: title, Official: official, Seed: seed, Rows: s.rows,
		Inputs:  []onnx.Value{{Name: "input_ids", Type: tokens}, {Name: "attention_mask", Type: tokens}},
		Outputs: []onnx.Value{{Name: "last_hidden_state", Type: onnx.Type{Elem: onnx.Float32, Shape: onnx.Batched(WanTextLength, s.hidden)}}},
		layers: func(b *Builder, o Options) {
			s := s
			s.rows = o.Rows
			b.Output(b.rename(umt5Net{b, s}.build(), "last_hidden_state"))
		},
	}
}

type umt5Net struct {
	*Builder
	umt5Size
}

func (n umt5Net) build() *onnx.Value {
	ids, mask := n.Input("input_ids", onnx.Int64, onnx.Batched(WanTextLength)), n.Input("attention_mask", onnx.Int64, onnx.Batched(WanTextLength))
	hidden := n.Binary("Sub", "mask/hidden", n.scalar(1), n.Cast("mask/float", mask, onnx.Float32))
	hidden = n.Reshape("mask", n.Binary("Mul", "mask/low", hidden, n.scalar(-math.MaxFloat32)), 0, 1, 1, WanTextLength)
	buckets := n.Constant(onnx.TensorOf("buckets", umt5BucketsOf(WanTextLength), WanTextLength, WanTextLength))
	x := n.Gather("shared", n.Weight("shared/weights", Bell{1}, n.rows, n.hidden), ids, 0)
	for i := range n.layers {
		x = n.block(fmt.Sprintf("encoder/block/%d/layer", i), x, buckets, hidden)
	}
	return n.norm("encoder/final_layer_norm", x)
}

func (n umt5Net) norm(name string, x *onnx.Value) *onnx.Value {
	return n.rmsNorm(name, x, n.Weight(name+"/weights", Constant(1), n.hidden), umt5Epsilon)
}

// block adds attention, with a bias of its own for each distance, and a gated dense part. Scores are not scaled: the weights are.
func (n umt5Net) block(name string, x, buckets, mask *onnx.Value) *onnx.Value {
	inner := n.attentions * n.headSize
	own := name + "/0/SelfAttention"
	table := n.Weight(own+"/relative_attention_bias/weights", Bell{1}, umt5Buckets, n.attentions)
	bias := n.Unsqueeze(own+"/bias/each", n.Transpose(own+"/bias/heads", n.Gather(own+"/bias", table, buckets, 0), 2, 0, 1), 0)
	y := n.norm(name+"/0/layer_norm", x)
	part := func(what string, gain float64) *onnx.Value {
		return n.product(own+"/"+what, y, inner, Bell{gain / math.Sqrt(float64(n.hidden))})
	}
	y = n.attend(own, n.attentions, n.headSize, part("q", 1/math.Sqrt(float64(n.headSize))), part("k", 1), part("v", 1), n.Add(own+"/mask", bias, mask), 1)
	x = n.Add(own+"/sum", x, n.product(own+"/o", y, n.hidden, Bell{1 / math.Sqrt(float64(inner))}))

	fed := name + "/1/DenseReluDense"
	y = n.norm(name+"/1/layer_norm", x)
	gate := n.tanhGelu(fed+"/gelu", n.product(fed+"/wi_0", y, n.inner, Bell{1 / math.Sqrt(float64(n.hidden))}))
	y = n.Binary("Mul", fed+"/gated", gate, n.product(fed+"/wi_1", y, n.inner, Bell{1 / math.Sqrt(float64(n.hidden))}))
	return n.Add(fed+"/sum", x, n.product(fed+"/wo", y, n.hidden, Bell{1 / math.Sqrt(float64(n.inner))}))
}

// umt5BucketsOf are the buckets of the distances from each of n tokens to each, in float32 as PyTorch computes them.
func umt5BucketsOf(n int) []int32 {
	const half, exact = umt5Buckets / 2, umt5Buckets / 4
	widest := float32(math.Log(umt5Farthest / exact))
	list := make([]int32, 0, n*n)
	for from := range n {
		for to := range n {
			bucket, distance := 0, from-to
			if to > from {
				bucket, distance = half, to-from
			}
			if distance < exact {
				bucket += distance
			} else {
				wide := float32(math.Log(float64(float32(distance)/exact))) / widest * (half - exact)
				bucket += min(exact+int(wide), half-1)
			}
			list = append(list, int32(bucket))
		}
	}
	return list
}

// A wanDiTSize is what an expert consists of (WanTransformer3DModel of diffusers 0.35.2; Wan team, arXiv:2503.20314), and the size
// of the latents.
type wanDiTSize struct {
	layers, attentions, headSize, inner int64
	text, step                          int64 // numbers of a token, and those that stand for a step
	channels                            int64 // of the latents
	frames, height, width               int64
	tokens                              int64 // of the text
}

// The size of the official experts (transformer/config.json), and that of the built-in pipeline.
var (
	wanDiT = wanDiTSize{layers: 40, attentions: 40, headSize: 128, inner: 13824, text: 4096, step: 256, channels: 16, frames: 21, height: 90, width: 160,
		tokens: WanTextLength}
	miniDiT = wanDiTSize{layers: 3, attentions: 4, headSize: 24, inner: 256, text: 64, step: 64, channels: 16, frames: 3, height: 18, width: 32,
		tokens: WanTextLength}
)

const (
	wanPatch   = 2     // pixels of latents along either side of a patch, which has one frame
	wanEpsilon = 1e-6  // of norms
	wanTheta   = 10000 // of the frequencies of places
)

// wanTransformer is an expert: the speed of latents at a step. Layers have the names of the checkpoint's, with slashes for dots.
func wanTransformer(name, title, official string, s wanDiTSize, seed uint64) Architecture {
	latents := onnx.Type{Elem: onnx.Float32, Shape: onnx.Batched(s.channels, s.frames, s.height, s.width)}
	a := Architecture{
		Name: name, Title: title, Official: official, Seed: seed,
		Inputs: []onnx.Value{
			{Name: "hidden_states", Type: latents}, {Name: "timestep", Type: onnx.Type{Elem: onnx.Int64, Shape: onnx.Batched()}},
			{Name: "encoder_hidden_states", Type: onnx.Type{Elem: onnx.Float32, Shape: onnx.Batched(s.tokens, s.text)}},
		},
		Outputs: []onnx.Value{{Name: "out_hidden_states", Type: latents}},
	}
	inputs := a.Inputs
	a.layers = func(b *Builder, _ Options) {
		in := make([]*onnx.Value, len(inputs))
		for i, v := range inputs {
			in[i] = b.Input(v.Name, v.Type.Elem, v.Type.Shape)
		}
		n := wanDiTNet{Builder: b, wanDiTSize: s}
		b.Output(b.rename(n.build(in[0], in[1], in[2]), "out_hidden_states"))
	}
	return a
}

type wanDiTNet struct {
	*Builder
	wanDiTSize
	text, when *onnx.Value // as blocks read them: [N tokens hidden] and [N 6 hidden]
	cos, sin   *onnx.Value // of places: [places 1 headSize]
	partners   *onnx.Value // of each number the index of the other of its pair
}

func (n *wanDiTNet) hidden() int64 { return n.attentions * n.headSize }

func (n *wanDiTNet) places() int64 { return n.frames * n.height / wanPatch * n.width / wanPatch }

// linear adds a dense layer.
func (n *wanDiTNet) linear(name string, x *onnx.Value, units int64, gain float64) *onnx.Value {
	return n.Linear(name, x, units, Bell{gain / math.Sqrt(float64(max(width(x), 1)))}, nil)
}

// plainNorm adds a normalisation along the last axis without weights.
func (n *wanDiTNet) plainNorm(name string, x *onnx.Value) *onnx.Value {
	attrs := []onnx.Attribute{onnx.Attr("axis", int64(-1)), onnx.Attr("epsilon", float32(wanEpsilon))}
	return n.layer("LayerNormalization", name, []*onnx.Value{x, n.repeated(1, n.hidden())}, attrs, x.Type, 0)
}

func (n *wanDiTNet) build(latents, step, text *onnx.Value) *onnx.Value {
	const condition = "condition_embedder/"
	n.rotations()
	patch := Axes{1, wanPatch, wanPatch}
	x := n.Conv("patch_embedding", latents, Conv{Filters: n.hidden(), Kernel: patch, Strides: patch, Weights: He{Gain: 1}, Bias: Constant(0)})
	x = n.Transpose("places", n.Reshape("flat", x, 0, n.hidden(), n.places()), 0, 2, 1)

	at := n.Unsqueeze("step", n.Cast("step/float", step, onnx.Float32), 1)
	when := n.linear(condition+"time_embedder/linear_1", n.sines("step/sines", at, n.step), n.hidden(), 1.4)
	when = n.linear(condition+"time_embedder/linear_2", n.silu(condition+"time_embedder/silu", when, 1), n.hidden(), 1.4)
	n.when = n.linear(condition+"time_proj", n.silu(condition+"silu", when, 1), 6*n.hidden(), 0.7)
	n.when = n.Reshape("when", n.when, 0, 6, n.hidden())
	n.text = n.linear(condition+"text_embedder/linear_1", text, n.hidden(), 1.4)
	n.text = n.linear(condition+"text_embedder/linear_2", n.tanhGelu(condition+"text_embedder/gelu", n.text), n.hidden(), 1.4)

	for i := range n.layers {
		x = n.block(fmt.Sprintf("blocks/%d", i), x)
	}
	head := n.Add("head", n.Weight("scale_shift_table", Bell{0.1}, 1, 2, n.hidden()), n.Unsqueeze("head/when", when, 1))
	x = n.modulated("head", n.plainNorm("norm_out", x), head, 0, 1)
	return n.unpatched(n.linear("proj_out", x, n.channels*wanPatch*wanPatch, 1))
}

// modulated scales and shifts by rows of a table: [N rows hidden].
func (n *wanDiTNet) modulated(name string, x, table *onnx.Value, shift, scale int64) *onnx.Value {
	times := n.Add(name+"/scale/more", n.row(name+"/scale", table, scale), n.scalar(1))
	return n.Add(name+"/modulated", n.Binary("Mul", name+"/scaled", x, times), n.row(name+"/shift", table, shift))
}

func (n *wanDiTNet) row(name string, table *onnx.Value, i int64) *onnx.Value {
	return n.Slice(name, table, 1, i, i+1)
}

// block adds attention among the places, attention to the text, and a dense part. The step shifts, scales and gates the first and
// the last of them.
func (n *wanDiTNet) block(name string, x *onnx.Value) *onnx.Value {
	table := n.Add(name+"/when", n.Weight(name+"/scale_shift_table", Bell{0.3}, 1, 6, n.hidden()), n.when)
	gated := func(part string, y *onnx.Value, gate int64) *onnx.Value {
		return n.Add(part+"/sum", x, n.Binary("Mul", part+"/gated", y, n.row(part+"/gate", table, gate)))
	}
	y := n.modulated(name+"/norm1", n.plainNorm(name+"/norm1", x), table, 0, 1)
	x = gated(name+"/attn1", n.attention(name+"/attn1", y, nil), 2)

	y = n.LayerNorm(name+"/norm2", x, wanEpsilon, nil, nil)
	x = n.Add(name+"/attn2/sum", x, n.attention(name+"/attn2", y, n.text))

	y = n.modulated(name+"/norm3", n.plainNorm(name+"/norm3", x), table, 3, 4)
	y = n.tanhGelu(name+"/ffn/gelu", n.linear(name+"/ffn/net/0/proj", y, n.inner, 1))
	return gated(name+"/ffn", n.linear(name+"/ffn/net/2", y, n.hidden(), 1.4), 5)
}

// attention looks at the text, or without one at the places themselves, which turn queries and keys.
func (n *wanDiTNet) attention(name string, x, text *onnx.Value) *onnx.Value {
	from, turn := x, n.turned
	if text != nil {
		from, turn = text, func(_ string, y *onnx.Value) *onnx.Value { return y }
	}
	normed := func(what string, y *onnx.Value) *onnx.Value {
		part := name + "/norm_" + what
		y = n.linear(name+"/to_"+what, y, n.hidden(), 1)
		return turn(part, n.rmsNorm(part, y, n.Weight(part+"/weights", Constant(1), n.hidden()), wanEpsilon))
	}
	y := n.attend(name, n.attentions, n.headSize, normed("q", x), normed("k", from), n.linear(name+"/to_v", from, n.hidden(), 1), nil,
		float32(1/math.Sqrt(float64(n.headSize))))
	return n.linear(name+"/to_out/0", y, n.hidden(), 1)
}

// turned turns pairs of numbers by the angles of their places (Su et al., arXiv:2104.09864): [N places heads·size].
func (n *wanDiTNet) turned(name string, x *onnx.Value) *onnx.Value {
	partner := n.Gather(name+"/partner", x, n.partners, 2)
	split := func(what string, x *onnx.Value) *onnx.Value {
		return n.Reshape(name+"/"+what, x, 0, 0, n.attentions, n.headSize)
	}
	y := n.Add(name+"/turned", n.Binary("Mul", name+"/cos", split("own/heads", x), n.cos),
		n.Binary("Mul", name+"/sin", split("partner/heads", partner), n.sin))
	return n.Reshape(name+"/joined", y, 0, 0, n.hidden())
}

// rotations makes the cosines and sines of all places: of each head a third belongs to the row of the place, a third to its column,
// and the rest to its frame. The sine of the first of two numbers is negative.
func (n *wanDiTNet) rotations() {
	side := 2 * (n.headSize / 6)
	type turns [][2][]float32 // of each place along an axis, cosines and sines
	along := func(size, extent int64) turns {
		list := make(turns, extent)
		for i := int64(0); i < size; i += 2 {
			slowness := math.Pow(wanTheta, float64(i)/float64(size))
			for at := range list {
				s, c := math.Sincos(float64(at) / slowness)
				list[at][0], list[at][1] = append(list[at][0], float32(c), float32(c)), append(list[at][1], float32(-s), float32(s))
			}
		}
		return list
	}
	frames, rows, columns := along(n.headSize-2*side, n.frames), along(side, n.height/wanPatch), along(side, n.width/wanPatch)
	table := func(name string, k int) *onnx.Value {
		list := make([]float32, 0, n.places()*n.headSize)
		for _, frame := range frames {
			for _, row := range rows {
				for _, column := range columns {
					list = append(append(append(list, frame[k]...), row[k]...), column[k]...)
				}
			}
		}
		return n.Constant(onnx.TensorOf(name, list, n.places(), 1, n.headSize))
	}
	n.cos, n.sin = table("rope/cos", 0), table("rope/sin", 1)
	pairs := make([]int64, n.hidden())
	for i := range pairs {
		pairs[i] = int64(i) ^ 1
	}
	n.partners = n.Constant(onnx.TensorOf("rope/partners", pairs, n.hidden()))
}

// unpatched puts patches side by side: [N places 2·2·channels] → [N channels frames height width].
func (n *wanDiTNet) unpatched(x *onnx.Value) *onnx.Value {
	x = n.Reshape("patches", x, 0, n.frames, n.height/wanPatch, n.width/wanPatch, wanPatch, wanPatch, n.channels)
	x = n.Transpose("patches/turned", x, 0, 6, 1, 2, 4, 3, 5)
	return n.Reshape("unpatched", x, 0, n.channels, n.frames, n.height, n.width)
}

// A wanVAESize is what the decoder of latents consists of (AutoencoderKLWan of diffusers 0.35.2), and the size of the latents.
type wanVAESize struct {
	base                  int64   // channels of the largest frames
	multipliers           []int64 // of the levels, from the largest frames to the smallest
	longer                []bool  // which upsampling, from the smallest frames on, doubles frames too
	blocks                int64   // residual blocks of a level, and one more
	channels              int64   // of the latents
	frames, height, width int64
}

// The size of the official decoder (vae/config.json), and that of the built-in pipeline.
var (
	wanVAE = wanVAESize{base: 96, multipliers: []int64{1, 2, 4, 4}, longer: []bool{true, true, false}, blocks: 2, channels: 16,
		frames: 21, height: 90, width: 160}
	miniWanVAE = wanVAESize{base: 8, multipliers: []int64{1, 2, 4, 4}, longer: []bool{true, true, false}, blocks: 2, channels: 16,
		frames: 3, height: 18, width: 32}
)

// framesOf is the number of frames of a video: one of the first latent frame, and twice as many of each further one by each
// upsampling that doubles them.
func (s wanVAESize) framesOf() int64 {
	n := s.frames
	for _, longer := range s.longer {
		if longer {
			n = 2*n - 1
		}
	}
	return n
}

// wanDecoder makes a video of latents. Layers have the names of the checkpoint's, with slashes for dots.
//
// The official code decodes frame by frame, and keeps the last two frames that each convolution has read. Since nothing looks
// ahead, the video is the same when all frames are decoded at once, as here.
func wanDecoder(name, title, official string, s wanVAESize, seed uint64) Architecture {
	scale := int64(1) << len(s.longer)
	in := onnx.Value{Name: "latent_sample", Type: onnx.Type{Elem: onnx.Float32, Shape: onnx.Batched(s.channels, s.frames, s.height, s.width)}}
	video := onnx.Batched(imageChannels, s.framesOf(), scale*s.height, scale*s.width)
	return Architecture{
		Name: name, Title: title, Official: official, Seed: seed,
		Inputs:  []onnx.Value{in},
		Outputs: []onnx.Value{{Name: "sample", Type: onnx.Type{Elem: onnx.Float32, Shape: video}}},
		layers: func(b *Builder, _ Options) {
			n := wanVAENet{b, s}
			b.Output(b.rename(n.build(b.Input(in.Name, onnx.Float32, in.Type.Shape)), "sample"))
		},
	}
}

type wanVAENet struct {
	*Builder
	wanVAESize
}

func (n wanVAENet) build(x *onnx.Value) *onnx.Value {
	filters := func(level int) int64 { return n.base * n.multipliers[level] }
	last := len(n.multipliers) - 1
	x = n.conv("post_quant_conv", x, n.channels, Axes{1}, 1)
	x = n.conv("decoder/conv_in", x, filters(last), Axes{3}, 1)
	x = n.residual("decoder/mid_block/resnets/0", x, filters(last))
	x = n.residual("decoder/mid_block/resnets/1", n.attention("decoder/mid_block/attentions/0", x), filters(last))
	for i := range n.multipliers {
		name := fmt.Sprintf("decoder/up_blocks/%d", i)
		for k := range n.blocks + 1 {
			x = n.residual(fmt.Sprintf("%s/resnets/%d", name, k), x, filters(last-i))
		}
		if i < last {
			x = n.upsampled(name+"/upsamplers/0", x, n.longer[i])
		}
	}
	x = n.silu("decoder/silu", n.norm("decoder/norm_out", x), 1)
	return n.Clip("clamped", n.conv("decoder/conv_out", x, imageChannels, Axes{3}, 1), -1, 1)
}

// conv adds a convolution that does not look ahead: all padding of the frames is in front of them.
func (n wanVAENet) conv(name string, x *onnx.Value, filters int64, kernel Axes, gain float64) *onnx.Value {
	if len(kernel) == 1 {
		kernel = Axes{kernel[0], kernel[0], kernel[0]}
	}
	pads := Pads{Begin: Axes{kernel[0] - 1, kernel[1] / 2, kernel[2] / 2}, End: Axes{0, kernel[1] / 2, kernel[2] / 2}}
	return n.Conv(name, x, Conv{Filters: filters, Kernel: kernel, Pads: pads, Weights: He{Gain: gain, ZeroMean: true}, Bias: Constant(0)})
}

// norm adds a normalisation of the channels of each place by their root mean square.
func (n wanVAENet) norm(name string, x *onnx.Value) *onnx.Value {
	channels := x.Channels()
	length := n.Unsqueeze(name+"/length/each", n.Reduce("ReduceL2", name+"/length", x, 1), 1)
	least := n.layer("Max", name+"/least", []*onnx.Value{length, n.scalar(1e-12)}, nil, length.Type, 0)
	y := n.Binary("Mul", name+"/scaled", n.Binary("Div", name+"/unit", x, least), n.scalar(float32(math.Sqrt(float64(channels)))))
	return n.Binary("Mul", name, y, n.Weight(name+"/gamma", Constant(1), channels, 1, 1, 1))
}

// residual adds a block: norm, SiLU and convolution, twice, beside a way around.
func (n wanVAENet) residual(name string, x *onnx.Value, filters int64) *onnx.Value {
	y := n.conv(name+"/conv1", n.silu(name+"/silu1", n.norm(name+"/norm1", x), 1), filters, Axes{3}, 1)
	y = n.conv(name+"/conv2", n.silu(name+"/silu2", n.norm(name+"/norm2", y), 1), filters, Axes{3}, 1)
	if x.Channels() != filters {
		x = n.conv(name+"/conv_shortcut", x, filters, Axes{1}, 1)
	}
	return n.Add(name+"/sum", y, x)
}

// attention has all places of a frame look at each other, with one head.
func (n wanVAENet) attention(name string, x *onnx.Value) *onnx.Value {
	channels, frames, height, width := x.Channels(), extentOf(x, 2), extentOf(x, 3), extentOf(x, 4)
	y := n.Transpose(name+"/frames", n.conv(name+"/to_qkv", n.norm(name+"/norm", x), 3*channels, Axes{1}, 1), 0, 2, 1, 3, 4)
	y = n.Reshape(name+"/flat", y, 0, frames, 3*channels, height*width)
	part := func(i int64) *onnx.Value {
		return n.Slice(fmt.Sprintf("%s/part%d", name, i), y, 2, i*channels, (i+1)*channels)
	}
	places := func(i int64) *onnx.Value {
		return n.Transpose(fmt.Sprintf("%s/part%d/places", name, i), part(i), 0, 1, 3, 2)
	}
	scores := n.Binary("Mul", name+"/scaled", n.MatMul(name+"/scores", places(0), part(1)), n.scalar(float32(1/math.Sqrt(float64(channels)))))
	y = n.Transpose(name+"/channels", n.MatMul(name+"/context", n.Softmax(name+"/weights", scores, -1), places(2)), 0, 3, 1, 2)
	y = n.Reshape(name+"/back", y, 0, channels, frames, height, width)
	return n.Add(name+"/sum", n.conv(name+"/proj", y, channels, Axes{1}, 1), x)
}

// upsampled doubles the sides of all frames and halves the channels. If longer is set, each frame but the first becomes two
// before, by a convolution that does not see the first.
func (n wanVAENet) upsampled(name string, x *onnx.Value, longer bool) *onnx.Value {
	channels, frames, height, width := x.Channels(), extentOf(x, 2), extentOf(x, 3), extentOf(x, 4)
	if longer && frames > 1 {
		more := n.conv(name+"/time_conv", n.Slice(name+"/later", x, 2, 1, frames), 2*channels, Axes{3, 1, 1}, 1)
		more = n.Reshape(name+"/pairs", more, 0, 2, channels, frames-1, height*width)
		more = n.Reshape(name+"/in_turn", n.Transpose(name+"/pairs/turned", more, 0, 2, 3, 1, 4), 0, channels, 2*(frames-1), height, width)
		x = n.Concat(name+"/longer", 2, n.Slice(name+"/first", x, 2, 0, 1), more)
		frames = 2*frames - 1
	}
	flat := n.Reshape(name+"/flat", x, 0, channels*frames, height, width)
	flat = n.Resize(name+"/nearest", flat, Resize{Sizes: Axes{2 * height, 2 * width}, Mode: "nearest", Coordinates: "asymmetric", Nearest: "floor"})
	return n.conv(name+"/resample/1", n.Reshape(name+"/back", flat, 0, channels, frames, 2*height, 2*width), channels/2, Axes{1, 3, 3}, 1)
}
