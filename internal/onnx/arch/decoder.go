package arch

import (
	"cmp"
	"fmt"
	"math"
	"sync"

	"github.com/mlperf-go/mlperf/internal/onnx"
)

// The operators of ONNX Runtime's own.
const (
	microsoftDomain  = "com.microsoft"
	microsoftVersion = 1
)

// A decoderNet is a decoder while it is written.
type decoderNet struct {
	*Builder
	decoderSize
	form  DecoderForm
	knows *decoderKnowledge
	in    map[string]*onnx.Value

	plain          *plainParts
	lengths, total *onnx.Value // of the sequences, less one; of the longest
}

func newDecoderNet(b *Builder, s decoderSize, form DecoderForm) *decoderNet {
	d := &decoderNet{Builder: b, decoderSize: s, form: form, in: map[string]*onnx.Value{}}
	if s.layers <= knowingLayers && s.hidden <= knowingHidden {
		d.knows = newDecoderKnowledge(s)
	}
	in, _ := s.ports(form)
	for _, v := range in {
		d.in[v.Name] = b.Input(v.Name, v.Type.Elem, v.Type.Shape)
	}
	return d
}

func (d *decoderNet) build() {
	x := d.embedded()
	switch d.lengths, d.total = d.in["seqlens_k"], d.in["total_sequence_length"]; d.form {
	case PlainDecoder:
		d.plain = d.plainParts()
	case ExportedDecoder:
		d.lengths, d.total = d.maskLengths(d.in["attention_mask"])
	}
	var presents []*onnx.Value
	y := d.norm("layer0/norm", x)
	for i := range d.layers {
		name := fmt.Sprintf("layer%d", i)
		if d.parallel {
			var kept []*onnx.Value
			x, y, kept = d.parallelLayer(name, int(i), x, y)
			presents = append(presents, kept...)
			continue
		}
		attended, key, value := d.attention(name+"/attention", int(i), y)
		presents = append(presents, d.rename(key, fmt.Sprintf("present.%d.key", i)), d.rename(value, fmt.Sprintf("present.%d.value", i)))
		x, y = d.addNorm(name+"/attended", x, attended)
		x, y = d.addNorm(name+"/fed", x, d.feedForward(name, int(i), y))
	}
	d.head(y, presents)
}

// maskLengths works out the lengths of sequences by their masks, as exports do.
func (d *decoderNet) maskLengths(mask *onnx.Value) (lengths, total *onnx.Value) {
	row := onnx.Type{Elem: onnx.Int64, Shape: onnx.Shape{onnx.Free(axisBatch)}}
	sum := d.layer("ReduceSum", "mask/sum", []*onnx.Value{mask, d.ints(1)}, []onnx.Attribute{onnx.Attr("keepdims", int64(0))}, row, 0)
	lengths = d.Cast("mask/lengths", d.Binary("Sub", "mask/less", sum, d.ints(1)), onnx.Int32)
	shape := d.layer("Shape", "mask/shape", []*onnx.Value{mask}, nil, onnx.Type{Elem: onnx.Int64, Shape: onnx.FixedShape([]int64{2})}, 0)
	return lengths, d.Cast("mask/total", d.Slice("mask/longest", shape, 0, 1, 2), onnx.Int32)
}

// head adds what becomes of the last layer's rows: of the last one of each sequence, or, in the
// plain form, of all.
func (d *decoderNet) head(y *onnx.Value, presents []*onnx.Value) {
	if d.form == PlainDecoder || d.form == ExportedDecoder {
		logits := d.linear("lm_head", y, d.rows, d.knows.head())
		d.Output(append([]*onnx.Value{d.rename(logits, "logits")}, presents...)...)
		return
	}
	flat := onnx.Type{Elem: onnx.Float32, Shape: onnx.Shape{onnx.Free("rows"), onnx.Fixed(d.hidden)}}
	all := d.Builder.Node("Reshape", "last/flat", []*onnx.Value{y, d.ints(-1, d.hidden)}, nil, flat)[0]
	logits := d.linear("lm_head", d.Gather("last", all, d.in["last_rows"], 0), d.rows, d.knows.head())
	next := d.ArgMax("next", logits, -1)
	d.Output(append([]*onnx.Value{d.rename(next, "next_token"), d.rename(logits, "logits")}, presents...)...)
}

// embedded looks the tokens up. Tables that mean nothing have 16 bits.
func (d *decoderNet) embedded() *onnx.Value {
	if d.knows == nil {
		return d.Cast("embedded", d.Gather("embedded/half", d.halfTable("embedding", d.rows, d.hidden), d.in["input_ids"], 0), onnx.Float32)
	}
	return d.Gather("embedded", d.Weight("embedding", d.knows.embedding(), d.rows, d.hidden), d.in["input_ids"], 0)
}

// linear adds x·W.
func (d *decoderNet) linear(name string, x *onnx.Value, units int64, f Filler) *onnx.Value {
	inputs := width(x)
	if inputs == 0 {
		return d.fail("MatMul", name, errNoAxis)
	}
	if f == nil {
		f = Bell{1 / math.Sqrt(float64(inputs))}
	}
	if d.form == FusedInt4 {
		return d.matMulInt4(name, x, units, f, d.knows == nil)
	}
	return d.MatMul(name, x, d.Weight(name+"/weights", f, inputs, units))
}

// qkvWidth is that of queries, keys and values side by side.
func (d *decoderNet) qkvWidth() int64 { return (d.queryHeads + 2*d.kvHeads) * d.headSize }

// attention adds an attention with rotary places. It returns the keys and values that are kept too.
func (d *decoderNet) attention(name string, layer int, x *onnx.Value) (y, key, value *onnx.Value) {
	qkv := d.linear(name+"/qkv", x, d.qkvWidth(), d.knows.qkv(layer))
	past := func(kv string) *onnx.Value { return d.in[fmt.Sprintf("past_key_values.%d.%s", layer, kv)] }
	if d.form == PlainDecoder {
		y, key, value = d.plainAttention(name, qkv, past("key"), past("value"))
	} else {
		cos, sin := d.rotary()
		shape := onnx.Shape{onnx.Free(axisBatch), onnx.Free(axisSequence), onnx.Fixed(d.queryHeads * d.headSize)}
		kept := onnx.Type{Elem: onnx.Float32, Shape: onnx.Shape{onnx.Free(axisBatch), onnx.Fixed(d.kvHeads), onnx.Free(axisTotal), onnx.Fixed(d.headSize)}}
		out := d.contrib("GroupQueryAttention", name,
			[]*onnx.Value{qkv, nil, nil, past("key"), past("value"), d.lengths, d.total, cos, sin},
			d.attentionAttrs(),
			onnx.Type{Elem: onnx.Float32, Shape: shape}, kept, kept)
		y, key, value = out[0], out[1], out[2]
	}
	return d.linear(name+"/out", y, d.hidden, d.knows.out(layer)), key, value
}

func (d *decoderNet) attentionAttrs() []onnx.Attribute {
	attrs := []onnx.Attribute{onnx.Attr("num_heads", d.queryHeads), onnx.Attr("kv_num_heads", d.kvHeads), onnx.Attr("do_rotary", int64(1)),
		onnx.Attr("scale", d.scale())}
	if d.parallel {
		attrs = append(attrs, onnx.Attr("rotary_interleaved", int64(1)))
	}
	return attrs
}

func (d *decoderNet) scale() float32 { return float32(1 / math.Sqrt(float64(d.headSize))) }

// rotary returns the tables of cosines and sines of places, [context, head size / 2].
func (d *decoderNet) rotary() (cos, sin *onnx.Value) {
	table := func(name string, f func(float64) float64) *onnx.Value {
		if v := d.values[name]; v != nil {
			return v
		}
		half := d.turningNumbers() / 2
		v := Patched{Constant(0), func(place int, w []float32) {
			for i := range w {
				w[i] = float32(f(float64(place) * d.frequency(i)))
			}
		}}
		return d.fill(name, auxiliary, v, []int64{d.context, half})
	}
	return table("rotary/cos", math.Cos), table("rotary/sin", math.Sin)
}

// turningNumbers is how many numbers of a head turn.
func (s decoderSize) turningNumbers() int64 { return cmp.Or(s.turning, s.headSize) }

// frequency is that of a pair of numbers of a head.
func (s decoderSize) frequency(i int) float64 {
	return math.Pow(s.theta, -2*float64(i)/float64(s.turningNumbers()))
}

// pair are the numbers of a head that turn together.
func (s decoderSize) pair(i int64) (first, second int64) {
	if s.parallel {
		return 2 * i, 2*i + 1
	}
	return i, i + s.headSize/2
}

const decoderEpsilon = float32(1e-5)

// norm adds a normalisation by the root mean square.
func (d *decoderNet) norm(name string, x *onnx.Value) *onnx.Value {
	if d.parallel {
		return d.LayerNorm(name, x, decoderEpsilon, Constant(1), Constant(0))
	}
	gain := d.Weight(name+"/gain", Constant(1), d.hidden)
	if d.form == PlainDecoder {
		return d.rmsNorm(name, x, gain, decoderEpsilon)
	}
	attrs := []onnx.Attribute{onnx.Attr("axis", int64(-1)), onnx.Attr("epsilon", decoderEpsilon), onnx.Attr("stash_type", int64(1))}
	return d.layer("SimplifiedLayerNormalization", name, []*onnx.Value{x, gain}, attrs, x.Type, 0)
}

// addNorm returns a + b, and that normalised.
func (d *decoderNet) addNorm(name string, a, b *onnx.Value) (sum, normed *onnx.Value) {
	if d.form == PlainDecoder {
		sum = d.Add(name+"/sum", a, b)
		return sum, d.norm(name, sum)
	}
	gain := d.Weight(name+"/gain", Constant(1), d.hidden)
	out := d.contrib("SkipSimplifiedLayerNormalization", name, []*onnx.Value{a, b, gain},
		[]onnx.Attribute{onnx.Attr("epsilon", decoderEpsilon)}, a.Type, onnx.Type{}, onnx.Type{}, a.Type)
	return out[3], out[0]
}

// feedForward adds the dense part of a layer: SwiGLU.
func (d *decoderNet) feedForward(name string, layer int, x *onnx.Value) *onnx.Value {
	if d.experts > 0 {
		return d.mixture(name, x)
	}
	gate := d.linear(name+"/gate", x, d.inner, nil)
	up := d.linear(name+"/up", x, d.inner, nil)
	open := d.Binary("Mul", name+"/silu", gate, d.Unary("Sigmoid", name+"/sigmoid", gate))
	return d.linear(name+"/down", d.Binary("Mul", name+"/gated", open, up), d.hidden, d.knows.down(layer))
}

// contrib adds a node of an operator of ONNX Runtime. An output without a type is one that is left
// out; its value is nil.
func (b *Builder) contrib(op, name string, inputs []*onnx.Value, attrs []onnx.Attribute, outputs ...onnx.Type) []*onnx.Value {
	results := b.Node(op, name, inputs, attrs, outputs...)
	if b.err != nil {
		return results
	}
	n := b.graph.Nodes[len(b.graph.Nodes)-1]
	n.Domain = microsoftDomain
	if b.model.Opset(microsoftDomain) == 0 {
		b.model.Opsets = append(b.model.Opsets, onnx.Opset{Domain: microsoftDomain, Version: microsoftVersion})
	}
	for i, t := range outputs {
		if t.Elem == onnx.Undefined {
			b.forget(results[i])
			n.Outputs[i], results[i] = "", nil
		}
	}
	return results
}

// forget takes a value out of the books.
func (b *Builder) forget(v *onnx.Value) {
	delete(b.values, v.Name)
	for i, known := range b.graph.Values {
		if known == v {
			b.graph.Values = append(b.graph.Values[:i], b.graph.Values[i+1:]...)
			return
		}
	}
}

// plainParts is what all attentions of the plain form read.
type plainParts struct {
	cos, sin *onnx.Value // of the places of the new tokens, [batch 1 sequence half]
	mask     *onnx.Value // 0 where a token may look, and far below elsewhere, [batch 1 1 sequence total]
}

// plainParts works out which tokens may look at which: a token sees those of the mask whose
// place is not behind its own.
func (d *decoderNet) plainParts() *plainParts {
	cos, sin := d.rotary()
	places, mask := d.in["position_ids"], d.in["attention_mask"]
	rows := func(name string, table *onnx.Value) *onnx.Value {
		return d.Unsqueeze(name+"/wide", d.Gather(name, table, places, 0), 1)
	}
	axis := d.Constant(onnx.TensorOf("mask/axis", []int64{1}))
	counted := d.layer("CumSum", "mask/counted", []*onnx.Value{mask, axis}, nil, mask.Type, 0)
	keys := d.Binary("Sub", "mask/places", counted, d.Constant(onnx.TensorOf("mask/one", []int64{1})))
	seen := d.Compare("LessOrEqual", "mask/seen", d.Unsqueeze("mask/keys", keys, 1), d.Unsqueeze("mask/queries", places, 2))
	there := d.Unsqueeze("mask/wide", d.Cast("mask/there", mask, onnx.Bool), 1)
	allowed := d.Compare("And", "mask/allowed", seen, there)
	shape := onnx.Shape{onnx.Free(axisBatch), onnx.Free(axisSequence), onnx.Free(axisTotal)}
	added := d.layer("Where", "mask/added", []*onnx.Value{allowed, d.scalar(0), d.scalar(-1e30)}, nil, onnx.Type{Elem: onnx.Float32, Shape: shape}, 0)
	return &plainParts{rows("cos", cos), rows("sin", sin), d.Unsqueeze("mask/heads", d.Unsqueeze("mask/groups", added, 1), 1)}
}

// plainAttention is what GroupQueryAttention does, in ONNX's own operators.
func (d *decoderNet) plainAttention(name string, qkv, pastKey, pastValue *onnx.Value) (y, key, value *onnx.Value) {
	q, k := d.queryHeads*d.headSize, d.kvHeads*d.headSize
	part := func(what string, heads, from, to int64) *onnx.Value {
		return d.Builder.heads(name+"/"+what, d.Slice(name+"/"+what+"/part", qkv, 2, from, to), heads, d.headSize)
	}
	query := d.turned(name+"/query/turned", part("query", d.queryHeads, 0, q))
	key = d.grown(name+"/key/all", pastKey, d.turned(name+"/key/turned", part("key", d.kvHeads, q, q+k)))
	value = d.grown(name+"/value/all", pastValue, part("value", d.kvHeads, q+k, q+2*k))

	grouped := d.Reshape(name+"/query/groups", query, 0, d.kvHeads, d.queryHeads/d.kvHeads, -1, d.headSize)
	keys := d.Transpose(name+"/key/t", d.Unsqueeze(name+"/key/wide", key, 2), 0, 1, 2, 4, 3)
	scores := d.Binary("Mul", name+"/scaled", d.MatMul(name+"/scores", grouped, keys), d.scalar(d.scale()))
	weights := d.Softmax(name+"/weights", d.Add(name+"/masked", scores, d.plain.mask), -1)
	seen := d.MatMul(name+"/seen", weights, d.Unsqueeze(name+"/value/wide", value, 2))
	flat := d.Reshape(name+"/heads", seen, 0, d.queryHeads, -1, d.headSize)
	return d.Reshape(name+"/joined", d.Transpose(name+"/back", flat, 0, 2, 1, 3), 0, 0, q), key, value
}

// turned turns the pairs of numbers of each head by its place: the first half of the numbers with
// the second.
func (d *decoderNet) turned(name string, x *onnx.Value) *onnx.Value {
	half := d.headSize / 2
	a, b := d.Slice(name+"/first", x, 3, 0, half), d.Slice(name+"/second", x, 3, half, d.headSize)
	times := func(what string, x, y *onnx.Value) *onnx.Value { return d.Binary("Mul", name+"/"+what, x, y) }
	first := d.Binary("Sub", name+"/difference", times("ac", a, d.plain.cos), times("bs", b, d.plain.sin))
	second := d.Add(name+"/sum", times("bc", b, d.plain.cos), times("as", a, d.plain.sin))
	return d.Concat(name, 3, first, second)
}

// grown adds new rows to a cache.
func (d *decoderNet) grown(name string, past, now *onnx.Value) *onnx.Value {
	shape := onnx.Shape{onnx.Free(axisBatch), onnx.Fixed(d.kvHeads), onnx.Free(axisTotal), onnx.Fixed(d.headSize)}
	return d.layer("Concat", name, []*onnx.Value{past, now}, []onnx.Attribute{onnx.Attr("axis", int64(2))},
		onnx.Type{Elem: onnx.Float32, Shape: shape}, 0)
}

// parallelLayer adds a layer of GPT-J. It returns the sum, that normalised, and keys and values.
func (d *decoderNet) parallelLayer(name string, layer int, x, normed *onnx.Value) (sum, next *onnx.Value, kept []*onnx.Value) {
	attended, key, value := d.attention(name+"/attention", layer, normed)
	kept = []*onnx.Value{d.rename(key, fmt.Sprintf("present.%d.key", layer)), d.rename(value, fmt.Sprintf("present.%d.value", layer))}
	sum = d.Add(name+"/sum", d.Add(name+"/attended", x, attended), d.dense(name, layer, normed))
	return sum, d.norm(name+"/norm_after", sum), kept
}

// dense adds the dense part of a layer of GPT-J.
func (d *decoderNet) dense(name string, layer int, x *onnx.Value) *onnx.Value {
	inner := d.Add(name+"/in/sum", d.linear(name+"/in", x, d.inner, nil), d.Weight(name+"/in/bias", Constant(0), d.inner))
	gelu := d.contrib("FastGelu", name+"/gelu", []*onnx.Value{inner}, nil, inner.Type)[0]
	return d.Add(name+"/out/sum", d.linear(name+"/out", gelu, d.hidden, d.knows.down(layer)), d.Weight(name+"/out/bias", Constant(0), d.hidden))
}

// expertsPerToken is how many experts are asked for each token (Jiang et al., arXiv:2401.04088).
const expertsPerToken = 2

// mixture adds experts in the place of a dense part: a router scores them, and the best two of each token
// are asked. Gates and values of an expert lie row by row beside each other.
func (d *decoderNet) mixture(name string, x *onnx.Value) *onnx.Value {
	rows := onnx.Type{Elem: onnx.Float32, Shape: onnx.Shape{onnx.Free("rows"), onnx.Fixed(d.hidden)}}
	flat := d.Node("Reshape", name+"/rows", []*onnx.Value{x, d.ints(-1, d.hidden)}, nil, rows)[0]
	router := d.MatMul(name+"/router", flat, d.Weight(name+"/router/weights", Bell{1 / math.Sqrt(float64(d.hidden))}, d.hidden, d.experts))
	in := d.expertWeights(name+"/in", 2*d.inner, d.hidden, 1)
	out := d.expertWeights(name+"/out", d.hidden, d.inner, decoderNoise)
	mixed := "MoE"
	inputs := []*onnx.Value{flat, router, in[0], nil, out[0], nil}
	attrs := []onnx.Attribute{
		onnx.Attr("activation_type", "swiglu"), onnx.Attr("swiglu_fusion", int64(1)), onnx.Attr("k", int64(expertsPerToken)),
		onnx.Attr("normalize_routing_weights", int64(1)), onnx.Attr("activation_alpha", float32(1)), onnx.Attr("activation_beta", float32(0)),
	}
	if d.form == FusedInt4 {
		mixed = "QMoE"
		inputs = []*onnx.Value{flat, router, in[0], in[1], nil, out[0], out[1], nil}
		attrs = append(attrs, onnx.Attr("expert_weight_bits", int64(4)), onnx.Attr("block_size", int64(int4Block)))
	}
	y := d.contrib(mixed, name+"/experts", inputs, attrs, rows)[0]
	shape := onnx.Type{Elem: onnx.Float32, Shape: x.Type.Shape}
	like := d.Node("Shape", name+"/shape", []*onnx.Value{x}, nil, onnx.Type{Elem: onnx.Int64, Shape: onnx.FixedShape([]int64{3})})[0]
	return d.Node("Reshape", name+"/mixed", []*onnx.Value{y, like}, nil, shape)[0]
}

// expertWeights returns the weights of all experts [experts, units, inputs], and where they have 4
// bits their scales. Those are drawn: they mean nothing.
func (d *decoderNet) expertWeights(name string, units, inputs int64, strength float64) []*onnx.Value {
	if d.form != FusedInt4 {
		return []*onnx.Value{d.Weight(name+"/weights", Bell{strength / math.Sqrt(float64(inputs))}, d.experts, units, inputs)}
	}
	if d.given != nil {
		v := d.fail("weights", name+"/weights", errFewBits)
		return []*onnx.Value{v, v}
	}
	m := int4Matrix{inputs: inputs, units: units * d.experts, stream: streamSeed(d.seed, name)}
	weights := d.Constant(&onnx.Tensor{Name: name + "/weights", Type: onnx.Uint8, Dims: []int64{d.experts, units, inputs / 2}, Data: int4Weights{m}})
	scales := d.Constant(&onnx.Tensor{Name: name + "/scales", Type: onnx.Float32, Dims: []int64{d.experts, units, inputs / int4Block},
		Data: int4Scales{m}})
	return []*onnx.Value{weights, scales}
}

// A decoderSize is what a decoder of the Llama family consists of (Touvron et al.,
// arXiv:2302.13971).
type decoderSize struct {
	layers, hidden, queryHeads, kvHeads, headSize, inner, rows, context int64

	theta   float64 // base of the rotary frequencies
	experts int64   // of each feed-forward part, of which two are asked for each token; 0: one that is always used

	// parallel is the form of GPT-J (Wang and Komatsuzaki, 2021): attention and dense part read the same,
	// norms have means, the dense part has no gates, and pairs of numbers that turn are neighbours.
	parallel bool
	turning  int64 // numbers of a head that turn; 0: all
}

// A DecoderForm is how a decoder is written down.
type DecoderForm uint8

const (
	// FusedDecoder uses GroupQueryAttention, which writes keys and values into the memory that it reads
	// them from, and gives out the next token.
	FusedDecoder DecoderForm = iota
	// FusedInt4 is that with the matrices in 4 bits (MatMulNBits).
	FusedInt4
	// ExportedDecoder is that with the names that onnxruntime-genai exports: lengths follow from a mask,
	// and what it gives out are all logits.
	ExportedDecoder
	// PlainDecoder has ONNX's own operators and the names that Optimum exports: what it gives
	// out are all logits, and caches that are longer than those that went in.
	PlainDecoder
)

// The axes of decoders.
const (
	axisBatch    = "batch"
	axisSequence = "sequence"
	axisPast     = "past_sequence"
	axisTotal    = "total_sequence"
)

// Sizes of decoders: those of the real ones, and one that is small enough to be made without being
// asked for, of which all parts are there (60 M parameters).
var (
	llama8B = decoderSize{layers: 32, hidden: 4096, queryHeads: 32, kvHeads: 8, headSize: 128, inner: 14336, rows: 128256, context: 8192,
		theta: 500000}
	llama70B = decoderSize{layers: 80, hidden: 8192, queryHeads: 64, kvHeads: 8, headSize: 128, inner: 28672, rows: 32000, context: 4096,
		theta: 10000}
	mixtral8x7B = decoderSize{layers: 32, hidden: 4096, queryHeads: 32, kvHeads: 8, headSize: 128, inner: 14336, rows: 32000, context: 4096,
		theta: 1e6, experts: 8}
	mixtral70M = decoderSize{layers: 8, hidden: 512, queryHeads: 8, kvHeads: 4, headSize: 64, inner: 256, rows: 32000, context: 2048, theta: 5e6,
		experts: 8}
	gptj6B = decoderSize{layers: 28, hidden: 4096, queryHeads: 16, kvHeads: 16, headSize: 256, inner: 16384, rows: 50400, context: 2048,
		theta: 10000, parallel: true, turning: 64}
	gptj60M = decoderSize{layers: 8, hidden: 512, queryHeads: 8, kvHeads: 8, headSize: 64, inner: 2048, rows: 32000, context: 2048, theta: 5e6,
		parallel: true}
	llama60M = decoderSize{layers: 8, hidden: 512, queryHeads: 8, kvHeads: 4, headSize: 64, inner: 1536, rows: 32000, context: 2048, theta: 5e6}
)

// Llama8B is Llama 3.1 8B.
func Llama8B() Architecture {
	return newDecoder("llama3.1-8b", "Llama 3.1 8B", "https://huggingface.co/meta-llama/Llama-3.1-8B-Instruct", llama8B, FusedInt4)
}

// Llama70B is Llama 2 70B.
func Llama70B() Architecture {
	return newDecoder("llama2-70b", "Llama 2 70B", "https://huggingface.co/meta-llama/Llama-2-70b-chat-hf", llama70B, FusedInt4)
}

// Mixtral is Mixtral 8x7B.
func Mixtral() Architecture {
	return newDecoder("mixtral-8x7b", "Mixtral 8x7B", "https://huggingface.co/mistralai/Mixtral-8x7B-Instruct-v0.1", mixtral8x7B, FusedInt4)
}

// SmallMixtral stands in for Mixtral.
func SmallMixtral() Architecture {
	return newDecoder("mixtral-70m", "decoder of the Mixtral family with 8 experts and 70 M parameters", "", mixtral70M, FusedDecoder)
}

// GPTJ is GPT-J 6B.
func GPTJ() Architecture {
	return newDecoder("gpt-j-6b", "GPT-J 6B", "https://huggingface.co/EleutherAI/gpt-j-6b", gptj6B, FusedInt4)
}

// SmallGPTJ stands in for GPTJ.
func SmallGPTJ() Architecture {
	return newDecoder("gpt-j-60m", "decoder of the GPT-J family with 60 M parameters", "", gptj60M, FusedDecoder)
}

// SmallLlama stands in for Llama8B and Llama70B.
func SmallLlama(form DecoderForm) Architecture {
	suffix, written := "", ""
	switch form {
	case FusedInt4:
		suffix, written = "-int4", " in 4 bits"
	case ExportedDecoder:
		suffix, written = "-export", " as onnxruntime-genai exports it"
	case PlainDecoder:
		suffix, written = "-plain", " in ONNX's own operators"
	}
	return newDecoder("llama-60m"+suffix, "decoder of the Llama family with 60 M parameters"+written, "", llama60M, form)
}

func newDecoder(name, title, official string, size decoderSize, form DecoderForm) Architecture {
	in, out := size.ports(form)
	return Architecture{
		Name: name, Title: title, Official: official, Inputs: in, Outputs: out,
		Layers: size.layers, Rows: size.rows, Seed: 21,
		Metadata: func(o Options) []onnx.Property {
			return []onnx.Property{
				{Key: "context_length", Value: fmt.Sprint(size.context)}, {Key: "vocab_size", Value: fmt.Sprint(o.Rows)},
				{Key: "eos_token_id", Value: fmt.Sprint(decoderEnd)},
			}
		},
		layers: func(b *Builder, o Options) {
			s := size
			s.layers, s.rows = o.Layers, o.Rows
			newDecoderNet(b, s, form).build()
		},
	}
}

// What the built-in data sets have to know of decoders: the tokens that begin and end a text, and the
// first one that is a word.
const (
	decoderStart     = 1
	decoderEnd       = 2
	DecoderFirstWord = 16
)

// ports are the inputs and outputs.
func (s decoderSize) ports(form DecoderForm) (in, out []onnx.Value) {
	batch, sequence, total, headSize := onnx.Free(axisBatch), onnx.Free(axisSequence), onnx.Free(axisTotal), onnx.Fixed(s.headSize)
	if form == ExportedDecoder {
		headSize = onnx.Free("kv_cache_dim") // a cache may be compressed
	}
	value := func(name string, elem onnx.ElemType, shape ...onnx.Dim) onnx.Value {
		return onnx.Value{Name: name, Type: onnx.Type{Elem: elem, Shape: shape}}
	}
	in = append(in, value("input_ids", onnx.Int64, batch, sequence))
	if form == PlainDecoder || form == ExportedDecoder {
		in = append(in, value("attention_mask", onnx.Int64, batch, total))
		if form == PlainDecoder {
			in = append(in, value("position_ids", onnx.Int64, batch, sequence))
		}
		out = append(out, value("logits", onnx.Float32, batch, sequence, onnx.Fixed(s.rows)))
	} else {
		in = append(in, value("last_rows", onnx.Int64, batch), value("seqlens_k", onnx.Int32, batch),
			value("total_sequence_length", onnx.Int32, onnx.Fixed(1)))
		out = append(out, value("next_token", onnx.Int64, batch), value("logits", onnx.Float32, batch, onnx.Fixed(s.rows)))
	}
	for i := range s.layers {
		for _, kv := range []string{"key", "value"} {
			in = append(in, value(fmt.Sprintf("past_key_values.%d.%s", i, kv), onnx.Float32, batch, onnx.Fixed(s.kvHeads), onnx.Free(axisPast), headSize))
			out = append(out, value(fmt.Sprintf("present.%d.%s", i, kv), onnx.Float32, batch, onnx.Fixed(s.kvHeads), total, onnx.Fixed(s.headSize)))
		}
	}
	return in, out
}

// decoderKnowledge are the weights by which a decoder copies a marked part of its prompt: it looks for
// the last place where the two tokens that it has just read follow each other, and says
// what comes then, until that is the end of a text. Of the numbers that stand for a token some
// have a meaning, in all layers:
//
//	content  a direction that is the token's own
//	before   that of the token before it
//	answer   that of the token that is to come
//	second   that of the token before the one before it
//	constant the same for all
//
// A head of the first layer looks one place back and copies content, one of the second copies what
// stands for before; by both a head of the fourth compares places. All other weights are noise. A
// cache with a hole, or one that is not advanced, and a prompt of which a part is missing,
// leave nothing to be found; rounding the weights adds to the noise.
//
// A nil decoderKnowledge knows nothing.
type decoderKnowledge struct {
	decoderSize
	content func() []float32 // of all tokens
	copies  map[int]copyHead
}

// Sizes up to which decoders know something. Larger ones take too long for
// a whole data set.
const (
	knowingLayers = 8
	knowingHidden = 1024
)

// How strong the parts are.
const (
	decoderNoise   = 0.09
	decoderContent = 8
	decoderSharp   = 9  // of a head that looks one place back, for each of its pairs of numbers
	decoderPairs   = 12 // the quickest ones, which tell places apart
	decoderSlow    = 13 // from here on pairs hardly turn within a prompt
	decoderMatch   = 30 // of a head that compares
	decoderGain    = 2
	decoderAnswer  = 12
	decoderOther   = 0.5  // of the numbers without a meaning
	decoderScores  = 0.02 // of the noise of the last layer
)

// The parts, as multiples of the head size.
const (
	partContent = iota
	partBefore
	partAnswer
	partSecond
	partOther
)

// A copyHead is a head that copies a part of the token one place back.
type copyHead struct{ from, to int64 }

func newDecoderKnowledge(s decoderSize) *decoderKnowledge {
	k := &decoderKnowledge{decoderSize: s, copies: map[int]copyHead{0: {partContent, partBefore}, 1: {partBefore, partSecond}}}
	k.content = sync.OnceValue(k.contents)
	return k
}

// compares is the layer of the head that compares.
const compares = 3

// contents draws the directions.
func (k *decoderKnowledge) contents() []float32 {
	all := make([]float32, k.rows*k.headSize)
	source := bell{stream: streamSeed(0, "decoder contents"), outputs: k.rows, fan: k.headSize, scale: 1 / math.Sqrt(sumVariance)}
	list := &elementList{make([]float32, 0, len(all))}
	if _, err := source.WriteTo(list); err != nil {
		panic("networks: " + err.Error()) // a list takes everything
	}
	for t := range k.rows {
		own := list.elements[t*k.headSize:][:k.headSize]
		norm := 0.0
		for _, v := range own {
			norm += float64(v) * float64(v)
		}
		for i, v := range own {
			all[t*k.headSize+int64(i)] = float32(decoderContent * float64(v) / math.Sqrt(norm))
		}
	}
	return all
}

// after is by how much a normalised content is shorter or longer than decoderContent: contents of all
// tokens are as long as each other.
func (k *decoderKnowledge) after() float64 {
	others := decoderOther * decoderOther * float64(k.hidden-1-partOther*k.headSize)
	return decoderContent / math.Sqrt((2*decoderContent*decoderContent+others)/float64(k.hidden))
}

func (k *decoderKnowledge) constant() int { return int(k.hidden) - 1 }

// embedding fills the table of tokens.
func (k *decoderKnowledge) embedding() Filler {
	return Patched{Bell{decoderOther}, func(token int, x []float32) {
		clear(x[:partOther*k.headSize])
		copy(x, k.content()[int64(token)*k.headSize:][:k.headSize])
		x[k.constant()] = decoderContent
	}}
}

func (k *decoderKnowledge) noise(inputs int64) Filler {
	return Bell{decoderNoise / math.Sqrt(float64(inputs))}
}

// qkv fills the weights of queries, keys and values of a layer, side by side.
func (k *decoderKnowledge) qkv(layer int) Filler {
	if k == nil {
		return nil
	}
	head, copies := k.copies[layer]
	switch {
	case copies:
		return Patched{k.noise(k.hidden), func(row int, w []float32) { k.lookBack(row, k.clearHead(w), layer, head) }}
	case layer == compares:
		return Patched{k.noise(k.hidden), func(row int, w []float32) { k.compare(row, k.clearHead(w)) }}
	}
	return k.noise(k.hidden)
}

// A qkvRow has the places of the first head in a row of weights.
type qkvRow struct{ query, key, value []float32 }

// clearHead makes room for a head with a meaning.
func (k *decoderKnowledge) clearHead(w []float32) qkvRow {
	q, kv := k.queryHeads*k.headSize, k.kvHeads*k.headSize
	r := qkvRow{w[:k.headSize], w[q:][:k.headSize], w[q+kv:][:k.headSize]}
	clear(r.query)
	clear(r.key)
	clear(r.value)
	return r
}

// lookBack makes a head look one place back: the query is the key, turned by one place.
func (k *decoderKnowledge) lookBack(row int, w qkvRow, layer int, head copyHead) {
	if row == k.constant() {
		size := k.after()
		if layer > 0 {
			size *= 0.83 // a part more is there by then
		}
		amplitude := math.Sqrt(decoderSharp*math.Sqrt(float64(k.headSize))) / size
		for i := range decoderPairs {
			sin, cos := math.Sincos(-k.frequency(i))
			first, second := k.pair(int64(i))
			w.query[first], w.query[second] = float32(amplitude*cos), float32(amplitude*sin)
			w.key[first] = float32(amplitude)
		}
	}
	if at := int64(row) - head.from*k.headSize; at >= 0 && at < k.headSize {
		w.value[at] = 1
	}
}

// compare makes a head look for the place before which the same two tokens are.
func (k *decoderKnowledge) compare(row int, w qkvRow) {
	slow := k.headSize/2 - decoderSlow
	strength := decoderGain * math.Sqrt(decoderMatch*math.Sqrt(float64(k.headSize))/float64(2*slow)) / k.after()
	part, at := int64(row)/k.headSize, int64(row)%k.headSize
	mix := func(w []float32, which uint64) {
		for i := range slow {
			first, second := k.pair(decoderSlow + i)
			w[first], w[second] = float32(strength*k.mixing(which, at, 2*i)), float32(strength*k.mixing(which, at, 2*i+1))
		}
	}
	switch part {
	case partContent:
		mix(w.query, 0)
		w.value[at] = 1
	case partBefore:
		mix(w.query, 1)
		mix(w.key, 0)
	case partSecond:
		mix(w.key, 1)
	}
}

// mixing is a number of the matrices by which contents are compared.
func (k *decoderKnowledge) mixing(which uint64, from, to int64) float64 {
	s := streamSeed(which<<32|uint64(from)<<16|uint64(to), "decoder mixing")
	sum := 0.0
	for range 4 {
		sum += float64(uint16(s[0])) - 32767.5
		s[0] >>= 16
	}
	return sum / math.Sqrt(sumVariance)
}

// out fills the weights by which heads write.
func (k *decoderKnowledge) out(layer int) Filler {
	if k == nil {
		return nil
	}
	head, copies := k.copies[layer]
	to, strength := head.to, decoderContent/k.after()
	switch {
	case copies && layer > 0:
		strength /= 0.83
	case layer == compares:
		to, strength = partAnswer, decoderAnswer/k.after()
	}
	noise := k.noise(k.queryHeads * k.headSize)
	if !copies && layer != compares {
		return noise
	}
	return Patched{noise, func(row int, w []float32) {
		if int64(row) < k.headSize {
			clear(w)
			w[to*k.headSize+int64(row)] = float32(strength)
		}
	}}
}

// down fills the weights by which the dense part of a layer writes.
func (k *decoderKnowledge) down(int) Filler {
	if k == nil {
		return nil
	}
	return k.noise(k.inner)
}

// head fills the weights of the scores: how much the answer is like each token.
func (k *decoderKnowledge) head() Filler {
	if k == nil {
		return nil
	}
	return Patched{Bell{decoderScores / math.Sqrt(float64(k.hidden))}, func(row int, w []float32) {
		if at := int64(row) - partAnswer*k.headSize; at >= 0 && at < k.headSize {
			for t := range w {
				w[t] += k.content()[int64(t)*k.headSize+at]
			}
		}
	}}
}
