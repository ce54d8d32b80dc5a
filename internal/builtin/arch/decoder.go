package arch

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
	inputs := width(x)
	if inputs == 0 {
		return d.fail("MatMul", name, errNoAxis)
	}
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
