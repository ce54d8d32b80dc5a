package arch

import (
	"fmt"

	"github.com/mlperf-go/mlperf/internal/onnx"
)

// embedded adds up tokens and places, of which those before are in the cache.
func (n *whisperNet) embedded() *onnx.Value {
	ids := n.in["input_ids"]
	length := n.extent("length", ids, 1)
	first, end := n.ints(0), length
	if past := n.in["past_key_values.0.decoder.key"]; past != nil {
		first = n.extent("past", past, 2)
		end = n.Add("end", first, length)
	}
	places := n.between("places", n.Weight("positions", n.knows.places(), whisperContext, n.hidden), first, end, ids.Type.Shape[1])
	tokens := n.Gather("tokens", n.Weight("embedding", n.knows.tokens(), n.rows, n.hidden), ids, 0)
	return n.Add("embedded", tokens, places)
}

// extent returns how long an axis is, when the model runs.
func (n *whisperNet) extent(name string, x *onnx.Value, axis int64) *onnx.Value {
	axes := int64(len(x.Type.Shape))
	shape := n.Node("Shape", name+"/shape", []*onnx.Value{x}, nil, onnx.Type{Elem: onnx.Int64, Shape: onnx.FixedShape([]int64{axes})})[0]
	return n.Slice(name, shape, 0, axis, axis+1)
}

// between returns rows of a table, from one on up to another.
func (n *whisperNet) between(name string, table, first, end *onnx.Value, length onnx.Dim) *onnx.Value {
	if len(table.Type.Shape) == 0 {
		return n.fail("Slice", name, errNoAxis)
	}
	shape := append(onnx.Shape{length}, table.Type.Shape[1:]...)
	return n.layer("Slice", name, []*onnx.Value{table, first, end, n.ints(0)}, nil, onnx.Type{Elem: table.Type.Elem, Shape: shape}, 0)
}

// decoderLayer adds attention to what was written, attention to what is heard, and a dense part.
func (n *whisperNet) decoderLayer(i int, x *onnx.Value) *onnx.Value {
	name := fmt.Sprintf("layer%d", i)
	part := func(of string) func(string) func(int, []float32) {
		return func(what string) func(int, []float32) { return n.knows.attention(i, of, what) }
	}
	y := n.LayerNorm(name+"/self/norm", x, whisperEpsilon, nil, nil)
	key, value := n.keyValue(name+"/self", y, part("decoder"))
	key, value = n.grown(name+"/self/keys", i, "key", key), n.grown(name+"/self/values", i, "value", value)
	x = n.Add(name+"/attended", x, n.attention(name+"/self", y, key, value, n.causal(), part("decoder")))

	y = n.LayerNorm(name+"/cross/norm", x, whisperEpsilon, nil, nil)
	key, value = n.in[fmt.Sprintf("past_key_values.%d.encoder.key", i)], n.in[fmt.Sprintf("past_key_values.%d.encoder.value", i)]
	if key == nil {
		key, value = n.keyValue(name+"/cross", n.in["encoder_hidden_states"], part("encoder"))
		key, value = n.rename(key, fmt.Sprintf("present.%d.encoder.key", i)), n.rename(value, fmt.Sprintf("present.%d.encoder.value", i))
		n.kept = append(n.kept, key, value)
	}
	x = n.Add(name+"/heard", x, n.attention(name+"/cross", y, key, value, nil, part("encoder")))
	return n.dense(name, x)
}

// grown puts new keys or values behind those of the cache, and gives all of them out.
func (n *whisperNet) grown(name string, layer int, kv string, now *onnx.Value) *onnx.Value {
	all := now
	if past := n.in[fmt.Sprintf("past_key_values.%d.decoder.%s", layer, kv)]; past != nil {
		shape := onnx.Shape{onnx.Free(axisBatch), onnx.Fixed(n.queryHeads), onnx.Free(axisGrown), onnx.Fixed(whisperHeadSize)}
		all = n.layer("Concat", name, []*onnx.Value{past, now}, []onnx.Attribute{onnx.Attr("axis", int64(2))}, onnx.Type{Elem: onnx.Float32, Shape: shape}, 0)
	}
	all = n.rename(all, fmt.Sprintf("present.%d.decoder.%s", layer, kv))
	n.kept = append(n.kept, all)
	return all
}

// causal is 0 where a token may look at another, and far below elsewhere; nil where it may look at all.
func (n *whisperNet) causal() *onnx.Value {
	const name = "mask"
	if n.in["encoder_hidden_states"] == nil {
		return nil
	}
	if v := n.values[name+":0"]; v != nil {
		return v
	}
	places := make([]int64, whisperContext)
	for i := range places {
		places[i] = int64(i)
	}
	ids := n.in["input_ids"]
	own := n.between(name+"/places", n.Constant(onnx.TensorOf(name+"/all", places, whisperContext)), n.ints(0), n.extent(name+"/length", ids, 1), ids.Type.Shape[1])
	seen := n.Compare("LessOrEqual", name+"/seen", n.Unsqueeze(name+"/keys", own, 0), n.Unsqueeze(name+"/queries", own, 1))
	shape := onnx.Shape{ids.Type.Shape[1], ids.Type.Shape[1]}
	return n.layer("Where", name, []*onnx.Value{seen, n.scalar(0), n.scalar(-1e9)}, nil, onnx.Type{Elem: onnx.Float32, Shape: shape}, 0)
}
