package arch

import (
	"github.com/mlperf-go/mlperf/internal/onnx"
)

// Linear adds x·W + b along the last axis: [… inputs] → [… units]. Weights are
// [inputs, units], one row for each input.
func (b *Builder) Linear(name string, x *onnx.Value, units int64, weights, bias Filler) *onnx.Value {
	shape := x.Type.Shape
	if len(shape) == 0 || !shape[len(shape)-1].Known() {
		return b.fail("MatMul", name, errNoAxis)
	}
	w := b.Weight(name+"/weights", weights, shape[len(shape)-1].Size, units)
	return b.Add(name, b.MatMul(name+"/product", x, w), b.Weight(name+"/bias", or(bias, 0), units))
}

// LayerNorm adds a normalisation along the last axis.
func (b *Builder) LayerNorm(name string, x *onnx.Value, epsilon float32, gamma, beta Filler) *onnx.Value {
	shape := x.Type.Shape
	if len(shape) == 0 || !shape[len(shape)-1].Known() {
		return b.fail("LayerNormalization", name, errNoAxis)
	}
	n := shape[len(shape)-1].Size
	inputs := []*onnx.Value{x, b.Weight(name+"/gamma", or(gamma, 1), n), b.Weight(name+"/beta", or(beta, 0), n)}
	attrs := []onnx.Attribute{onnx.Attr("axis", int64(-1)), onnx.Attr("epsilon", epsilon)}
	return b.layer("LayerNormalization", name, inputs, attrs, x.Type, 0)
}

// Gelu adds x·Φ(x), with the error function as BERT has it.
func (b *Builder) Gelu(name string, x *onnx.Value) *onnx.Value {
	const inverseRoot2 = 0.70710678
	erf := b.Unary("Erf", name+"/erf", b.Binary("Mul", name+"/scaled", x, b.scalar(inverseRoot2)))
	sum := b.Add(name+"/sum", erf, b.scalar(1))
	return b.Binary("Mul", name, b.Binary("Mul", name+"/half", x, b.scalar(0.5)), sum)
}

// Heads splits the last axis into heads: [N S heads·size] → [N heads S size].
func (b *Builder) heads(name string, x *onnx.Value, heads, size int64) *onnx.Value {
	return b.Transpose(name+"/heads", b.Reshape(name+"/split", x, 0, 0, heads, size), 0, 2, 1, 3)
}
