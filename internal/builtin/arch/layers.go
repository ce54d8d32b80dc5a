package arch

import (
	"errors"
	"fmt"
	"slices"

	"github.com/mlperf-go/mlperf/internal/onnx"
)

// Conv describes a convolution over any number of spatial axes. The zero value of a
// field means what its comment says.
type Conv struct {
	Filters   int64  // output channels
	Kernel    Axes   // elements
	Strides   Axes   // 1
	Dilations Axes   // 1
	Pads      Pads   // none
	Groups    int64  // 1; the number of input channels makes it depthwise
	Weights   Filler // He{}; [filters, channels/groups, kernel…]
	Bias      Filler // no bias
	// Share names an earlier convolution, whose weights and bias this one uses too. It
	// has to have the same shape; its own fillers are ignored.
	Share string
}

// Conv adds a convolution: [N C spatial…] → [N Filters spatial…].
func (b *Builder) Conv(name string, x *onnx.Value, c Conv) *onnx.Value {
	w, err := newWindow(x, c.Kernel, c.Strides, c.Dilations, c.Pads)
	if err != nil {
		return b.fail("Conv", name, err)
	}
	groups := max(c.Groups, 1)
	channels := x.Type.Shape[1]
	if !channels.Known() || c.Filters < 1 || channels.Size%groups != 0 || c.Filters%groups != 0 {
		return b.fail("Conv", name, fmt.Errorf("%d groups of %v channels cannot make %d filters", groups, channels, c.Filters))
	}
	dims := append([]int64{c.Filters, channels.Size / groups}, w.kernel...)
	inputs := append([]*onnx.Value{x}, b.convWeights(name, c, dims)...)
	attrs := w.attrs()
	if groups > 1 {
		attrs = append(attrs, onnx.Attr("group", groups))
	}
	out := append(onnx.Shape{x.Type.Shape[0], onnx.Fixed(c.Filters)}, w.out...)
	return b.layer("Conv", name, inputs, attrs, onnx.Type{Elem: x.Type.Elem, Shape: out}, out.PerSample()*product(dims[1:]))
}

// convWeights returns the weights, and the bias if there is one, of a convolution.
func (b *Builder) convWeights(name string, c Conv, dims []int64) []*onnx.Value {
	if c.Share == "" {
		weights := []*onnx.Value{b.Weight(name+"/weights", c.Weights, dims...)}
		if c.Bias != nil {
			weights = append(weights, b.Weight(name+"/bias", c.Bias, c.Filters))
		}
		return weights
	}
	shared := b.values[c.Share+"/weights"]
	if shared == nil || !slices.EqualFunc(shared.Type.Shape, onnx.FixedShape(dims), sameDim) {
		return []*onnx.Value{b.fail("Conv", name, fmt.Errorf("no convolution %q with weights %v to share", c.Share, dims))}
	}
	if bias := b.values[c.Share+"/bias"]; bias != nil {
		return []*onnx.Value{shared, bias}
	}
	return []*onnx.Value{shared}
}

// BatchNorm describes a batch normalisation at inference time:
// Gamma·(x-Mean)/√(Variance+Epsilon)+Beta, each per channel.
type BatchNorm struct {
	Epsilon  float32 // 1e-5
	Gamma    Filler  // Constant(1)
	Beta     Filler  // Constant(0)
	Mean     Filler  // Constant(0)
	Variance Filler  // Constant(1)
}

// BatchNorm adds a batch normalisation over axis 1.
func (b *Builder) BatchNorm(name string, x *onnx.Value, n BatchNorm) *onnx.Value {
	if len(x.Type.Shape) < 2 || !x.Type.Shape[1].Known() {
		return b.fail("BatchNormalization", name, fmt.Errorf("input %v has no known number of channels", x))
	}
	if n.Epsilon == 0 {
		n.Epsilon = 1e-5
	}
	channels := []int64{x.Type.Shape[1].Size}
	inputs := []*onnx.Value{
		x,
		b.fill(name+"/gamma", parameter, or(n.Gamma, 1), channels),
		b.fill(name+"/beta", parameter, or(n.Beta, 0), channels),
		b.fill(name+"/mean", buffer, or(n.Mean, 0), channels),
		b.fill(name+"/variance", buffer, or(n.Variance, 1), channels),
	}
	return b.layer("BatchNormalization", name, inputs, []onnx.Attribute{onnx.Attr("epsilon", n.Epsilon)}, x.Type, 0)
}

func or(f Filler, otherwise Constant) Filler {
	if f == nil {
		return otherwise
	}
	return f
}

// Pool describes a pooling window.
type Pool struct {
	Kernel  Axes
	Strides Axes // 1
	Pads    Pads // none
}

// MaxPool adds max pooling: [N C spatial…] → [N C spatial…].
func (b *Builder) MaxPool(name string, x *onnx.Value, p Pool) *onnx.Value {
	const op = "MaxPool"
	w, err := newWindow(x, p.Kernel, p.Strides, nil, p.Pads)
	if err != nil {
		return b.fail(op, name, err)
	}
	out := append(x.Type.Shape[:2:2], w.out...)
	return b.layer(op, name, []*onnx.Value{x}, w.attrs(), onnx.Type{Elem: x.Type.Elem, Shape: out}, 0)
}

// GlobalAveragePool adds the mean over all spatial axes: [N C spatial…] → [N C 1…].
func (b *Builder) GlobalAveragePool(name string, x *onnx.Value) *onnx.Value {
	if len(x.Type.Shape) < 3 {
		return b.fail("GlobalAveragePool", name, fmt.Errorf("input %v has no spatial axes", x))
	}
	out := append(onnx.Shape{}, x.Type.Shape...)
	for i := range out[2:] {
		out[2+i] = onnx.Fixed(1)
	}
	return b.layer("GlobalAveragePool", name, []*onnx.Value{x}, nil, onnx.Type{Elem: x.Type.Elem, Shape: out}, 0)
}

// Dense describes a fully connected layer.
type Dense struct {
	Units   int64
	Weights Filler // He{}; [units, inputs], one row for each unit
	Bias    Filler // Constant(0)
}

// Dense adds a fully connected layer, a Gemm: [N inputs] → [N Units].
func (b *Builder) Dense(name string, x *onnx.Value, d Dense) *onnx.Value {
	if len(x.Type.Shape) != 2 || !x.Type.Shape[1].Known() || d.Units < 1 {
		return b.fail("Gemm", name, fmt.Errorf("%d units cannot read input %v", d.Units, x))
	}
	inputs := x.Type.Shape[1].Size
	weights := b.Weight(name+"/weights", d.Weights, d.Units, inputs)
	bias := b.Weight(name+"/bias", or(d.Bias, 0), d.Units)
	out := onnx.Shape{x.Type.Shape[0], onnx.Fixed(d.Units)}
	return b.layer("Gemm", name, []*onnx.Value{x, weights, bias}, []onnx.Attribute{onnx.Attr("transB", int64(1))},
		onnx.Type{Elem: x.Type.Elem, Shape: out}, out.PerSample()*inputs)
}

// MatMul adds a product of matrices, the last two axes of x and y: [… M K]·[… K N] →
// [… M N]. The axes before them are broadcast.
func (b *Builder) MatMul(name string, x, y *onnx.Value) *onnx.Value {
	xs, ys := x.Type.Shape, y.Type.Shape
	if len(xs) < 2 || len(ys) < 2 {
		return b.fail("MatMul", name, fmt.Errorf("inputs %v and %v must be matrices", x, y))
	}
	inner := xs[len(xs)-1]
	if !sameDim(inner, ys[len(ys)-2]) {
		return b.fail("MatMul", name, fmt.Errorf("inputs %v and %v do not fit", x, y))
	}
	out, err := broadcast(xs[:len(xs)-2], ys[:len(ys)-2])
	if err != nil {
		return b.fail("MatMul", name, err)
	}
	out = append(out, xs[len(xs)-2], ys[len(ys)-1])
	macs := out.PerSample() * onnx.Shape{inner}.PerSample()
	return b.layer("MatMul", name, []*onnx.Value{x, y}, nil, onnx.Type{Elem: x.Type.Elem, Shape: out}, macs)
}

// sameDim reports whether two axes certainly have the same extent.
func sameDim(x, y onnx.Dim) bool {
	return x.Size == y.Size && x.Param == y.Param && (x.Known() || x.Param != "")
}

// broadcast returns the shape of an elementwise operation on two values. Missing
// outer axes and axes of one element are repeated.
func broadcast(x, y onnx.Shape) (onnx.Shape, error) {
	if len(x) < len(y) {
		x, y = y, x
	}
	out := append(onnx.Shape{}, x...)
	for i := range y {
		at := len(x) - len(y) + i
		switch {
		case sameDim(x[at], y[i]), y[i] == onnx.Fixed(1):
		case x[at] == onnx.Fixed(1):
			out[at] = y[i]
		default:
			return nil, fmt.Errorf("shapes %v and %v do not fit", x, y)
		}
	}
	return out, nil
}

var errNoAxis = errors.New("no such axis")

// axisOf turns an axis that may be counted from the end into one from the front.
func axisOf(x *onnx.Value, axis int64) (int, error) {
	n := int64(len(x.Type.Shape))
	if axis < 0 {
		axis += n
	}
	if axis < 0 || axis >= n {
		return 0, fmt.Errorf("input %v: %w", x, errNoAxis)
	}
	return int(axis), nil
}
