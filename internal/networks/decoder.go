package networks

import (
	"cmp"
	"fmt"
	"math"

	"github.com/mlperf-go/mlperf/internal/onnx"
)

// The operators of ONNX Runtime's own.
const (
	microsoftDomain  = "com.microsoft"
	microsoftVersion = 1
)

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

// A decoderForm is how a decoder is written down.
type decoderForm uint8

const (
	// fusedDecoder uses GroupQueryAttention, which writes keys and values into the memory that it reads
	// them from, and gives out the next token.
	fusedDecoder decoderForm = iota
	// fusedInt4 is that with the matrices in 4 bits (MatMulNBits).
	fusedInt4
	// exportedDecoder is that with the names that onnxruntime-genai exports: lengths follow from a mask,
	// and what it gives out are all logits.
	exportedDecoder
	// plainDecoder has ONNX's own operators and the names that Optimum exports: what it gives
	// out are all logits, and caches that are longer than those that went in.
	plainDecoder
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
	llama8B     = decoderSize{layers: 32, hidden: 4096, queryHeads: 32, kvHeads: 8, headSize: 128, inner: 14336, rows: 128256, context: 8192, theta: 500000}
	llama70B    = decoderSize{layers: 80, hidden: 8192, queryHeads: 64, kvHeads: 8, headSize: 128, inner: 28672, rows: 32000, context: 4096, theta: 10000}
	mixtral8x7B = decoderSize{layers: 32, hidden: 4096, queryHeads: 32, kvHeads: 8, headSize: 128, inner: 14336, rows: 32000, context: 4096, theta: 1e6, experts: 8}
	mixtral70M  = decoderSize{layers: 8, hidden: 512, queryHeads: 8, kvHeads: 4, headSize: 64, inner: 256, rows: 32000, context: 2048, theta: 5e6, experts: 8}
	gptj6B      = decoderSize{layers: 28, hidden: 4096, queryHeads: 16, kvHeads: 16, headSize: 256, inner: 16384, rows: 50400, context: 2048, theta: 10000, parallel: true, turning: 64}
	gptj60M     = decoderSize{layers: 8, hidden: 512, queryHeads: 8, kvHeads: 8, headSize: 64, inner: 2048, rows: 32000, context: 2048, theta: 5e6, parallel: true}
	llama60M    = decoderSize{layers: 8, hidden: 512, queryHeads: 8, kvHeads: 4, headSize: 64, inner: 1536, rows: 32000, context: 2048, theta: 5e6}
)

// decoders are the architectures of the Llama family.
func decoders() []Architecture {
	return []Architecture{
		newDecoder("llama3.1-8b", "Llama 3.1 8B", "https://huggingface.co/meta-llama/Llama-3.1-8B-Instruct", llama8B, fusedInt4),
		newDecoder("llama2-70b", "Llama 2 70B", "https://huggingface.co/meta-llama/Llama-2-70b-chat-hf", llama70B, fusedInt4),
		newDecoder("mixtral-8x7b", "Mixtral 8x7B", "https://huggingface.co/mistralai/Mixtral-8x7B-Instruct-v0.1", mixtral8x7B, fusedInt4),
		newDecoder("mixtral-70m", "decoder of the Mixtral family with 8 experts and 70 M parameters", "", mixtral70M, fusedDecoder),
		newDecoder("gpt-j-6b", "GPT-J 6B", "https://huggingface.co/EleutherAI/gpt-j-6b", gptj6B, fusedInt4),
		newDecoder("gpt-j-60m", "decoder of the GPT-J family with 60 M parameters", "", gptj60M, fusedDecoder),
		newDecoder("llama-60m", "decoder of the Llama family with 60 M parameters", "", llama60M, fusedDecoder),
		newDecoder("llama-60m-int4", "decoder of the Llama family with 60 M parameters in 4 bits", "", llama60M, fusedInt4),
		newDecoder("llama-60m-export", "decoder of the Llama family with 60 M parameters as onnxruntime-genai exports it", "", llama60M, exportedDecoder),
		newDecoder("llama-60m-plain", "decoder of the Llama family with 60 M parameters in ONNX's own operators", "", llama60M, plainDecoder),
	}
}

func newDecoder(name, title, official string, size decoderSize, form decoderForm) Architecture {
	in, out := size.ports(form)
	return Architecture{
		Name: name, Title: title, Official: official, Inputs: in, Outputs: out,
		Layers: size.layers, Rows: size.rows, Seed: 21,
		Metadata: func(o Options) []onnx.Property {
			return []onnx.Property{
				{Key: "context_length", Value: fmt.Sprint(size.context)}, {Key: "vocab_size", Value: fmt.Sprint(o.Rows)}, {Key: "eos_token_id", Value: fmt.Sprint(DecoderEnd)},
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
	DecoderStart     = 1
	DecoderEnd       = 2
	DecoderFirstWord = 16
)

// ports are the inputs and outputs.
func (s decoderSize) ports(form decoderForm) (in, out []onnx.Value) {
	batch, sequence, total := onnx.Free(axisBatch), onnx.Free(axisSequence), onnx.Free(axisTotal)
	value := func(name string, elem onnx.ElemType, shape ...onnx.Dim) onnx.Value {
		return onnx.Value{Name: name, Type: onnx.Type{Elem: elem, Shape: shape}}
	}
	in = append(in, value("input_ids", onnx.Int64, batch, sequence))
	if form == plainDecoder || form == exportedDecoder {
		in = append(in, value("attention_mask", onnx.Int64, batch, total))
		if form == plainDecoder {
			in = append(in, value("position_ids", onnx.Int64, batch, sequence))
		}
		out = append(out, value("logits", onnx.Float32, batch, sequence, onnx.Fixed(s.rows)))
	} else {
		in = append(in, value("last_rows", onnx.Int64, batch), value("seqlens_k", onnx.Int32, batch), value("total_sequence_length", onnx.Int32, onnx.Fixed(1)))
		out = append(out, value("next_token", onnx.Int64, batch), value("logits", onnx.Float32, batch, onnx.Fixed(s.rows)))
	}
	for i := range s.layers {
		for _, kv := range []string{"key", "value"} {
			in = append(in, value(fmt.Sprintf("past_key_values.%d.%s", i, kv), onnx.Float32, batch, onnx.Fixed(s.kvHeads), onnx.Free(axisPast), onnx.Fixed(s.headSize)))
			out = append(out, value(fmt.Sprintf("present.%d.%s", i, kv), onnx.Float32, batch, onnx.Fixed(s.kvHeads), total, onnx.Fixed(s.headSize)))
		}
	}
	return in, out
}

// A decoderNet is a decoder while it is written.
type decoderNet struct {
	*Builder
	decoderSize
	form  decoderForm
	knows *decoderKnowledge
	in    map[string]*onnx.Value

	plain          *plainParts
	lengths, total *onnx.Value // of the sequences, less one; of the longest
}

func newDecoderNet(b *Builder, s decoderSize, form decoderForm) *decoderNet {
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
	case plainDecoder:
		d.plain = d.plainParts()
	case exportedDecoder:
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
	if d.form == plainDecoder || d.form == exportedDecoder {
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
	inputs := x.Type.Shape[len(x.Type.Shape)-1].Size
	if f == nil {
		f = Bell{1 / math.Sqrt(float64(inputs))}
	}
	if d.form == fusedInt4 {
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
	if d.form == plainDecoder {
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
	attrs := []onnx.Attribute{onnx.Attr("num_heads", d.queryHeads), onnx.Attr("kv_num_heads", d.kvHeads), onnx.Attr("do_rotary", int64(1)), onnx.Attr("scale", d.scale())}
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
	if d.form == plainDecoder {
		return d.plainNorm(name, x, gain)
	}
	attrs := []onnx.Attribute{onnx.Attr("axis", int64(-1)), onnx.Attr("epsilon", decoderEpsilon), onnx.Attr("stash_type", int64(1))}
	return d.layer("SimplifiedLayerNormalization", name, []*onnx.Value{x, gain}, attrs, x.Type, 0)
}

// addNorm returns a + b, and that normalised.
func (d *decoderNet) addNorm(name string, a, b *onnx.Value) (sum, normed *onnx.Value) {
	if d.form == plainDecoder {
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
