package arch

import "github.com/mlperf-go/mlperf/internal/onnx"

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
	return d.layer("Concat", name, []*onnx.Value{past, now}, []onnx.Attribute{onnx.Attr("axis", int64(2))}, onnx.Type{Elem: onnx.Float32, Shape: shape}, 0)
}

// plainNorm is SimplifiedLayerNormalization in ONNX's own operators.
func (d *decoderNet) plainNorm(name string, x, gain *onnx.Value) *onnx.Value {
	if width(x) == 0 {
		return d.fail("ReduceMean", name, errNoAxis)
	}
	mean := append(onnx.Shape{}, x.Type.Shape...)
	mean[len(mean)-1] = onnx.Fixed(1)
	squares := d.layer("ReduceMean", name+"/mean", []*onnx.Value{d.Binary("Mul", name+"/squares", x, x)},
		[]onnx.Attribute{onnx.Attr("axes", []int64{-1}), onnx.Attr("keepdims", int64(1))}, onnx.Type{Elem: x.Type.Elem, Shape: mean}, 0)
	root := d.Unary("Sqrt", name+"/root", d.Add(name+"/biased", squares, d.scalar(decoderEpsilon)))
	return d.Binary("Mul", name, d.Binary("Div", name+"/scaled", x, root), gain)
}
