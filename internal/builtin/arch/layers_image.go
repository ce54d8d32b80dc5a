package arch

import (
	"fmt"

	"github.com/mlperf-go/mlperf/internal/onnx"
)

// groupNorm adds a normalisation of groups of channels: [N C H W], each group of each sample by its
// mean and variance. It is written as exporters write it before opset 18.
func (b *Builder) groupNorm(name string, x *onnx.Value, groups int64, epsilon float32) *onnx.Value {
	channels := x.Channels()
	if len(x.Type.Shape) != 4 || channels == 0 || channels%groups != 0 || !allKnown(x.Type.Shape[2:]) {
		return b.fail("GroupNormalization", name, fmt.Errorf("%d groups of the channels of %v", groups, x))
	}
	side := func(i int) int64 { return x.Type.Shape[i].Size }
	flat := b.Reshape(name+"/flat", x, 0, groups, channels/groups*side(2)*side(3))
	inputs := []*onnx.Value{flat, b.repeated(1, groups), b.repeated(0, groups)}
	normal := b.layer("InstanceNormalization", name+"/normal", inputs, []onnx.Attribute{onnx.Attr("epsilon", epsilon)}, flat.Type, 0)
	y := b.Reshape(name+"/back", normal, 0, channels, side(2), side(3))
	y = b.Binary("Mul", name+"/scaled", y, b.Weight(name+"/gamma", Constant(1), channels, 1, 1))
	return b.Add(name, y, b.Weight(name+"/beta", Constant(0), channels, 1, 1))
}

// repeated returns a constant list of the same number, which is shared by all that ask for it.
func (b *Builder) repeated(x float32, n int64) *onnx.Value {
	name := fmt.Sprintf("constant/%v·%d", x, n)
	if v := b.values[name]; v != nil {
		return v
	}
	values := make([]float32, n)
	for i := range values {
		values[i] = x
	}
	return b.Constant(onnx.TensorOf(name, values, n))
}

// silu adds x·σ(x), and with a factor x·σ(factor·x): CLIP's quick GELU.
func (b *Builder) silu(name string, x *onnx.Value, factor float32) *onnx.Value {
	gate := x
	if factor != 1 {
		gate = b.Binary("Mul", name+"/steep", x, b.scalar(factor))
	}
	return b.Binary("Mul", name, x, b.Unary("Sigmoid", name+"/gate", gate))
}

// attend adds an attention of several heads: queries [N S heads·size] over keys and values
// [N T heads·size], and a mask that is added to the scores, if there is one.
func (b *Builder) attend(name string, heads, size int64, query, key, value, mask *onnx.Value, scale float32) *onnx.Value {
	q, v := b.heads(name+"/query", query, heads, size), b.heads(name+"/value", value, heads, size)
	k := b.Transpose(name+"/key/turned", b.heads(name+"/key", key, heads, size), 0, 1, 3, 2)
	scores := b.Binary("Mul", name+"/scaled", b.MatMul(name+"/scores", q, k), b.scalar(scale))
	if mask != nil {
		scores = b.Add(name+"/masked", scores, mask)
	}
	y := b.MatMul(name+"/context", b.Softmax(name+"/weights", scores, -1), v)
	return b.Reshape(name+"/joined", b.Transpose(name+"/context/turned", y, 0, 2, 1, 3), 0, 0, heads*size)
}

// product adds x·W without a bias.
func (b *Builder) product(name string, x *onnx.Value, units int64, weights Filler) *onnx.Value {
	shape := x.Type.Shape
	if len(shape) == 0 || !shape[len(shape)-1].Known() {
		return b.fail("MatMul", name, errNoAxis)
	}
	return b.MatMul(name, x, b.Weight(name+"/weights", weights, shape[len(shape)-1].Size, units))
}
