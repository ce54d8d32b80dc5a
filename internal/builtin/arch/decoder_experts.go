package arch

import (
	"math"

	"github.com/mlperf-go/mlperf/internal/onnx"
)

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
	if d.form == fusedInt4 {
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
	if d.form != fusedInt4 {
		return []*onnx.Value{d.Weight(name+"/weights", Bell{strength / math.Sqrt(float64(inputs))}, d.experts, units, inputs)}
	}
	if d.given != nil {
		v := d.fail("weights", name+"/weights", errFewBits)
		return []*onnx.Value{v, v}
	}
	m := int4Matrix{inputs: inputs, units: units * d.experts, stream: streamSeed(d.seed, name)}
	weights := d.Constant(&onnx.Tensor{Name: name + "/weights", Type: onnx.Uint8, Dims: []int64{d.experts, units, inputs / 2}, Data: int4Weights{m}})
	scales := d.Constant(&onnx.Tensor{Name: name + "/scales", Type: onnx.Float32, Dims: []int64{d.experts, units, inputs / int4Block}, Data: int4Scales{m}})
	return []*onnx.Value{weights, scales}
}
