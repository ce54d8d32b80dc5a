package arch

import (
	"cmp"
	"errors"
	"fmt"
	"math"
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

// Axes holds one number for each spatial axis. A single number stands for all axes,
// none for the default.
type Axes []int64

func (a Axes) expand(what string, n int, otherwise int64) ([]int64, error) {
	switch {
	case len(a) == n:
	case len(a) == 1:
		return slices.Repeat(a, n), nil
	case len(a) == 0 && otherwise > 0:
		return slices.Repeat([]int64{otherwise}, n), nil
	default:
		return nil, fmt.Errorf("%d %s for %d spatial axes", len(a), what, n)
	}
	return a, nil
}

// Pads says how a window treats the border. The zero Pads add nothing.
type Pads struct {
	Begin, End Axes
	// Same gives the padding that TensorFlow calls SAME: the output has ⌈in/stride⌉
	// elements, and an odd number of padding elements puts the larger half at the end.
	Same bool
}

// Pad returns equal padding at both ends of every axis.
func Pad(n int64) Pads { return Pads{Begin: Axes{n}, End: Axes{n}} }

// PadSame returns the padding that TensorFlow calls SAME.
func PadSame() Pads { return Pads{Same: true} }

// expand returns the padding at the beginning of each axis, and then at the end of each. SAME is worked out later.
func (p Pads) expand(n int) ([]int64, error) {
	if p.Same || len(p.Begin)+len(p.End) == 0 {
		return make([]int64, 2*n), nil
	}
	begin, errBegin := p.Begin.expand("pads", n, 0)
	end, errEnd := p.End.expand("pads", n, 0)
	return slices.Concat(begin, end), errors.Join(errBegin, errEnd)
}

// A window slides over the spatial axes of a value, those after batch and channel.
type window struct {
	kernel, strides, dilations []int64
	pads                       []int64    // all beginnings, then all ends
	out                        onnx.Shape // spatial axes of the result
}

func newWindow(x *onnx.Value, kernel, strides, dilations Axes, pads Pads) (window, error) {
	n := len(x.Type.Shape) - 2
	if n < 1 {
		return window{}, fmt.Errorf("input %v has no spatial axes", x)
	}
	var w window
	err := errors.Join(
		assign(&w.kernel)(kernel.expand("kernel sizes", n, 0)),
		assign(&w.strides)(strides.expand("strides", n, 1)),
		assign(&w.dilations)(dilations.expand("dilations", n, 1)),
		assign(&w.pads)(pads.expand(n)),
	)
	if err != nil {
		return window{}, err
	}
	w.out = make(onnx.Shape, n)
	for i, in := range x.Type.Shape[2:] {
		if err := w.slide(i, in, pads.Same); err != nil {
			return window{}, fmt.Errorf("axis %d of input %v: %w", i+2, x, err)
		}
	}
	return w, nil
}

func assign(dst *[]int64) func([]int64, error) error {
	return func(v []int64, err error) error {
		*dst = v
		return err
	}
}

// slide works out the padding and the output size of one axis.
func (w *window) slide(i int, in onnx.Dim, same bool) error {
	if w.kernel[i] < 1 || w.strides[i] < 1 || w.dilations[i] < 1 {
		return fmt.Errorf("kernel %d, stride %d and dilation %d must be positive", w.kernel[i], w.strides[i], w.dilations[i])
	}
	n := len(w.kernel)
	reach := (w.kernel[i]-1)*w.dilations[i] + 1
	if !in.Known() {
		// With half of the reach at both ends the output has ⌈in/stride⌉ elements.
		if same || in.Param == "" || w.pads[i] != w.pads[n+i] || 2*w.pads[i] != reach-1 {
			return errors.New("its size must be known, or be padded by half of the window at both ends")
		}
		if w.out[i] = in; w.strides[i] > 1 {
			w.out[i] = onnx.Free(fmt.Sprintf("%s/%d", in.Param, w.strides[i]))
		}
		return nil
	}
	if same {
		out := (in.Size + w.strides[i] - 1) / w.strides[i]
		total := max(0, (out-1)*w.strides[i]+reach-in.Size)
		w.pads[i], w.pads[n+i] = total/2, total-total/2
	}
	room := in.Size + w.pads[i] + w.pads[n+i] - reach
	if room < 0 {
		return fmt.Errorf("a window of %d elements does not fit into %d", reach, room+reach)
	}
	w.out[i] = onnx.Fixed(room/w.strides[i] + 1)
	return nil
}

func (w *window) attrs() []onnx.Attribute {
	attrs := []onnx.Attribute{onnx.Attr("kernel_shape", w.kernel), onnx.Attr("strides", w.strides), onnx.Attr("pads", w.pads)}
	if slices.ContainsFunc(w.dilations, func(d int64) bool { return d != 1 }) {
		attrs = append(attrs, onnx.Attr("dilations", w.dilations))
	}
	return attrs
}

// Unary adds an elementwise operation on one value, such as Sigmoid or Tanh.
func (b *Builder) Unary(op, name string, x *onnx.Value, attrs ...onnx.Attribute) *onnx.Value {
	return b.layer(op, name, []*onnx.Value{x}, attrs, x.Type, 0)
}

// Relu adds max(x, 0).
func (b *Builder) Relu(name string, x *onnx.Value) *onnx.Value { return b.Unary("Relu", name, x) }

// Clip adds min(max(x, low), high).
func (b *Builder) Clip(name string, x *onnx.Value, low, high float32) *onnx.Value {
	return b.layer("Clip", name, []*onnx.Value{x, b.scalar(low), b.scalar(high)}, nil, x.Type, 0)
}

// Relu6 adds min(max(x, 0), 6).
func (b *Builder) Relu6(name string, x *onnx.Value) *onnx.Value { return b.Clip(name, x, 0, 6) }

// Binary adds an elementwise operation on two values with broadcasting, such as Mul.
func (b *Builder) Binary(op, name string, x, y *onnx.Value) *onnx.Value {
	shape, err := broadcast(x.Type.Shape, y.Type.Shape)
	if err == nil && x.Type.Elem != y.Type.Elem {
		err = fmt.Errorf("types %v and %v do not fit", x.Type.Elem, y.Type.Elem)
	}
	if err != nil {
		return b.fail(op, name, err)
	}
	return b.layer(op, name, []*onnx.Value{x, y}, nil, onnx.Type{Elem: x.Type.Elem, Shape: shape}, 0)
}

// Add adds x + y.
func (b *Builder) Add(name string, x, y *onnx.Value) *onnx.Value { return b.Binary("Add", name, x, y) }

// Softmax adds a softmax along an axis; -1 is the last.
func (b *Builder) Softmax(name string, x *onnx.Value, axis int64) *onnx.Value {
	if _, err := axisOf(x, axis); err != nil {
		return b.fail("Softmax", name, err)
	}
	return b.Unary("Softmax", name, x, onnx.Attr("axis", axis))
}

// ArgMax adds the index of the largest element along an axis, the first of equal ones,
// as int64. The axis goes away.
func (b *Builder) ArgMax(name string, x *onnx.Value, axis int64) *onnx.Value {
	at, err := axisOf(x, axis)
	if err != nil {
		return b.fail("ArgMax", name, err)
	}
	out := slices.Delete(slices.Clone(x.Type.Shape), at, at+1)
	attrs := []onnx.Attribute{onnx.Attr("axis", axis), onnx.Attr("keepdims", int64(0))}
	return b.layer("ArgMax", name, []*onnx.Value{x}, attrs, onnx.Type{Elem: onnx.Int64, Shape: out}, 0)
}

// Flatten adds a reshape to [d0 d1·d2·…].
func (b *Builder) Flatten(name string, x *onnx.Value) *onnx.Value {
	if len(x.Type.Shape) < 2 || !allKnown(x.Type.Shape[1:]) {
		return b.fail("Flatten", name, fmt.Errorf("input %v has inner axes of unknown size", x))
	}
	out := onnx.Shape{x.Type.Shape[0], onnx.Fixed(x.Type.Shape[1:].PerSample())}
	return b.layer("Flatten", name, []*onnx.Value{x}, nil, onnx.Type{Elem: x.Type.Elem, Shape: out}, 0)
}

func allKnown(s onnx.Shape) bool {
	return !slices.ContainsFunc(s, func(d onnx.Dim) bool { return !d.Known() })
}

// Reshape adds a reshape. A 0 keeps the input's axis at that place, one -1 takes what
// is left.
func (b *Builder) Reshape(name string, x *onnx.Value, dims ...int64) *onnx.Value {
	out, err := reshape(x.Type.Shape, dims)
	if err != nil {
		return b.fail("Reshape", name, fmt.Errorf("input %v to %v: %w", x, dims, err))
	}
	shape := b.Constant(onnx.TensorOf(name+"/shape", dims, int64(len(dims))))
	return b.layer("Reshape", name, []*onnx.Value{x, shape}, nil, onnx.Type{Elem: x.Type.Elem, Shape: out}, 0)
}

func reshape(in onnx.Shape, dims []int64) (onnx.Shape, error) {
	out := onnx.FixedShape(dims)
	rest := slices.Clone(in) // the axes that are not kept
	open := -1
	for i, d := range dims {
		switch {
		case d == 0 && i >= len(in):
			return nil, errNoAxis
		case d == 0:
			out[i], rest[i] = in[i], onnx.Fixed(1)
		case d == -1 && open < 0:
			open = i
		case d < 1:
			return nil, errors.New("axes must be positive but for 0 and one -1")
		}
	}
	return out, fillOpen(in, rest, dims, out, open)
}

// fillOpen works out the axis that was given as -1, if there is one.
func fillOpen(in, rest onnx.Shape, dims []int64, out onnx.Shape, open int) error {
	have, want := rest.PerSample(), product(slices.DeleteFunc(slices.Clone(dims), func(d int64) bool { return d < 1 }))
	free := slices.DeleteFunc(slices.Clone(rest), onnx.Dim.Known)
	switch {
	case have%want != 0, open < 0 && (have != want || len(free) > 0):
		return fmt.Errorf("%d elements for each of %d", have, want)
	case open < 0:
	case len(free) == 0:
		out[open] = onnx.Fixed(have / want)
	case len(free) == 1 && have == want:
		out[open] = free[0]
	default:
		out[open] = onnx.Free("")
	}
	return nil
}

// Concat joins values along an axis, all other axes being equal.
func (b *Builder) Concat(name string, axis int64, xs ...*onnx.Value) *onnx.Value {
	if len(xs) == 0 {
		return b.fail("Concat", name, errors.New("nothing to join"))
	}
	at, err := axisOf(xs[0], axis)
	if err != nil {
		return b.fail("Concat", name, err)
	}
	out := slices.Clone(xs[0].Type.Shape)
	for _, x := range xs[1:] {
		if err := join(out, x, at, xs[0].Type.Elem); err != nil {
			return b.fail("Concat", name, fmt.Errorf("input %v to %v: %w", x, out, err))
		}
	}
	return b.layer("Concat", name, xs, []onnx.Attribute{onnx.Attr("axis", axis)}, onnx.Type{Elem: xs[0].Type.Elem, Shape: out}, 0)
}

func join(out onnx.Shape, x *onnx.Value, at int, elem onnx.ElemType) error {
	shape := x.Type.Shape
	if len(shape) != len(out) || x.Type.Elem != elem || !out[at].Known() || !shape[at].Known() {
		return errors.New("types or numbers of axes do not fit")
	}
	for i := range out {
		if i != at && !sameDim(out[i], shape[i]) {
			return fmt.Errorf("axis %d differs", i)
		}
	}
	out[at].Size += shape[at].Size
	return nil
}

// Transpose puts the axes into another order: axis i of the result is axis perm[i].
func (b *Builder) Transpose(name string, x *onnx.Value, perm ...int64) *onnx.Value {
	out := make(onnx.Shape, len(perm))
	seen := make(map[int64]bool)
	for i, p := range perm {
		if p < 0 || int(p) >= len(x.Type.Shape) || seen[p] || len(perm) != len(x.Type.Shape) {
			return b.fail("Transpose", name, fmt.Errorf("%v does not order the axes of %v", perm, x))
		}
		seen[p] = true
		out[i] = x.Type.Shape[p]
	}
	return b.layer("Transpose", name, []*onnx.Value{x}, []onnx.Attribute{onnx.Attr("perm", perm)}, onnx.Type{Elem: x.Type.Elem, Shape: out}, 0)
}

// Resize describes a change of the spatial size.
type Resize struct {
	Sizes       Axes   // of the spatial axes of the result
	Mode        string // nearest, linear or cubic; empty means linear
	Coordinates string // half_pixel, align_corners, asymmetric, …; empty means half_pixel
	Nearest     string // how nearest rounds; empty means ONNX's default, round_prefer_floor
}

// Resize adds a change of the spatial size: [N C spatial…] → [N C Sizes…]. It is
// encoded as factors, since sizes would have to name the batch size too.
func (b *Builder) Resize(name string, x *onnx.Value, r Resize) *onnx.Value {
	n := len(x.Type.Shape) - 2
	sizes, err := r.Sizes.expand("sizes", max(n, 0), 0)
	if err != nil || n < 1 || !allKnown(x.Type.Shape[2:]) {
		return b.fail("Resize", name, errors.Join(err, fmt.Errorf("input %v needs spatial axes of known size", x)))
	}
	out := slices.Clone(x.Type.Shape)
	scales := []float32{1, 1}
	for i, size := range sizes {
		if size < 1 || out[2+i].Size < 1 {
			return b.fail("Resize", name, fmt.Errorf("%d to %d elements", out[2+i].Size, size))
		}
		scales = append(scales, scaleTo(out[2+i].Size, size))
		out[2+i] = onnx.Fixed(size)
	}
	factors := b.Constant(onnx.TensorOf(name+"/scales", scales, int64(len(scales))))
	return b.layer("Resize", name, []*onnx.Value{x, nil, factors}, r.attrs(), onnx.Type{Elem: x.Type.Elem, Shape: out}, 0)
}

// Like adds a bilinear change of the spatial size to that of another value, which may be known only when the model runs.
func (b *Builder) Like(name string, x, other *onnx.Value) *onnx.Value {
	n := len(x.Type.Shape)
	if n < 3 || len(other.Type.Shape) != n {
		return b.fail("Resize", name, fmt.Errorf("input %v cannot get the size of %v", x, other))
	}
	extents := func(of string, v *onnx.Value, start, end int) *onnx.Value {
		attrs := []onnx.Attribute{onnx.Attr("start", int64(start)), onnx.Attr("end", int64(end))}
		return b.Node("Shape", name+"/"+of, []*onnx.Value{v}, attrs, onnx.Type{Elem: onnx.Int64, Shape: onnx.FixedShape([]int64{int64(end - start)})})[0]
	}
	sizes := b.Concat(name+"/sizes", 0, extents("own", x, 0, 2), extents("other", other, 2, n))
	out := append(x.Type.Shape[:2:2], other.Type.Shape[2:]...)
	return b.layer("Resize", name, []*onnx.Value{x, nil, nil, sizes}, Resize{}.attrs(), onnx.Type{Elem: x.Type.Elem, Shape: out}, 0)
}

func (r Resize) attrs() []onnx.Attribute {
	attrs := []onnx.Attribute{
		onnx.Attr("mode", cmp.Or(r.Mode, "linear")),
		onnx.Attr("coordinate_transformation_mode", cmp.Or(r.Coordinates, "half_pixel")),
	}
	if r.Nearest != "" {
		attrs = append(attrs, onnx.Attr("nearest_mode", r.Nearest))
	}
	return attrs
}

// scaleTo returns the factor that makes size elements of in. Resize rounds in·factor
// down, so the quotient may have to be the next larger number. ONNX Runtime multiplies in float32, and from
// version 1.28 on checks the shapes in the file in float64, which is less where float32 rounds up.
func scaleTo(in, size int64) float32 {
	scale := float32(size) / float32(in)
	for float64(in)*float64(scale) < float64(size) {
		scale = math.Nextafter32(scale, math.MaxFloat32)
	}
	return scale
}

// Cast changes the type of the elements.
func (b *Builder) Cast(name string, x *onnx.Value, elem onnx.ElemType) *onnx.Value {
	return b.layer("Cast", name, []*onnx.Value{x}, []onnx.Attribute{onnx.Attr("to", int64(elem))}, onnx.Type{Elem: elem, Shape: x.Type.Shape}, 0)
}

// Slice keeps the elements from start up to but not including end of one axis, whose
// size must be known. Numbers below zero count from the axis's end.
func (b *Builder) Slice(name string, x *onnx.Value, axis, start, end int64) *onnx.Value {
	at, err := axisOf(x, axis)
	if err == nil && !x.Type.Shape[at].Known() {
		err = fmt.Errorf("input %v: the size of axis %d is not known", x, axis)
	}
	if err != nil {
		return b.fail("Slice", name, err)
	}
	n := x.Type.Shape[at].Size
	first, last := fromEnd(start, n), fromEnd(end, n)
	if first < 0 || first >= last || last > n {
		return b.fail("Slice", name, fmt.Errorf("%d to %d of %d elements", start, end, n))
	}
	out := slices.Clone(x.Type.Shape)
	out[at] = onnx.Fixed(last - first)
	inputs := []*onnx.Value{x, b.ints(first), b.ints(last), b.ints(int64(at))}
	return b.layer("Slice", name, inputs, nil, onnx.Type{Elem: x.Type.Elem, Shape: out}, 0)
}

func fromEnd(i, n int64) int64 {
	if i < 0 {
		return i + n
	}
	return i
}

// ints returns a constant list of numbers, which is shared by all that ask for it.
func (b *Builder) ints(numbers ...int64) *onnx.Value {
	name := fmt.Sprintf("constant/%v", numbers)
	if v := b.values[name]; v != nil {
		return v
	}
	return b.Constant(onnx.TensorOf(name, numbers, int64(len(numbers))))
}

// Gather puts, in the place of an axis, the elements that indices name: for axis 0 and a
// list of indices, some of the rows.
func (b *Builder) Gather(name string, x, indices *onnx.Value, axis int64) *onnx.Value {
	at, err := axisOf(x, axis)
	if err != nil {
		return b.fail("Gather", name, err)
	}
	out := slices.Concat(x.Type.Shape[:at], indices.Type.Shape, x.Type.Shape[at+1:])
	return b.layer("Gather", name, []*onnx.Value{x, indices}, []onnx.Attribute{onnx.Attr("axis", axis)}, onnx.Type{Elem: x.Type.Elem, Shape: out}, 0)
}

// GatherND looks up elements, or what is below them, by lists of indices, the last axis of
// indices. The first axes, as many as batch says, belong together in x and indices.
func (b *Builder) GatherND(name string, x, indices *onnx.Value, batch int) *onnx.Value {
	xs, is := x.Type.Shape, indices.Type.Shape
	if len(is) == 0 || !is[len(is)-1].Known() || batch >= len(is) || batch+int(is[len(is)-1].Size) > len(xs) {
		return b.fail("GatherND", name, fmt.Errorf("%v cannot be looked up in %v", indices, x))
	}
	inner := batch + int(is[len(is)-1].Size)
	out := slices.Concat(is[:len(is)-1], xs[inner:])
	attrs := []onnx.Attribute{onnx.Attr("batch_dims", int64(batch))}
	return b.layer("GatherND", name, []*onnx.Value{x, indices}, attrs, onnx.Type{Elem: x.Type.Elem, Shape: out}, 0)
}

// TopK keeps the k largest elements along an axis, the largest first, and says where they
// were. Of equal elements the first is taken first.
func (b *Builder) TopK(name string, x *onnx.Value, axis, k int64) (largest, indices *onnx.Value) {
	at, err := axisOf(x, axis)
	if err == nil && (k < 1 || x.Type.Shape[at].Known() && x.Type.Shape[at].Size < k) {
		err = fmt.Errorf("%d elements of axis %d of input %v", k, axis, x)
	}
	if err != nil {
		v := b.fail("TopK", name, err)
		return v, v
	}
	return b.topK(name, x, at, b.ints(k), onnx.Fixed(k))
}

// topK takes the number of elements from the graph.
func (b *Builder) topK(name string, x *onnx.Value, axis int, k *onnx.Value, size onnx.Dim) (largest, indices *onnx.Value) {
	out := slices.Clone(x.Type.Shape)
	out[axis] = size
	pair := b.Node("TopK", name, []*onnx.Value{x, k}, []onnx.Attribute{onnx.Attr("axis", int64(axis))},
		onnx.Type{Elem: x.Type.Elem, Shape: out}, onnx.Type{Elem: onnx.Int64, Shape: out})
	return pair[0], pair[1]
}

// Reduce folds one axis away, with ReduceSum, ReduceMax and the like.
func (b *Builder) Reduce(op, name string, x *onnx.Value, axis int64) *onnx.Value {
	at, err := axisOf(x, axis)
	if err != nil {
		return b.fail(op, name, err)
	}
	out := slices.Delete(slices.Clone(x.Type.Shape), at, at+1)
	inputs, attrs := []*onnx.Value{x}, []onnx.Attribute{onnx.Attr("keepdims", int64(0))}
	if op == "ReduceSum" { // the first whose axes became an input
		inputs = append(inputs, b.ints(axis))
	} else {
		attrs = append(attrs, onnx.Attr("axes", []int64{axis}))
	}
	return b.layer(op, name, inputs, attrs, onnx.Type{Elem: x.Type.Elem, Shape: out}, 0)
}

// NMS describes a non-maximum suppression, by class.
type NMS struct {
	PerClass int64   // how many boxes are kept of each class
	IoU      float32 // boxes that overlap a better one by more are dropped
	Score    float32 // boxes with this score or a lower one are dropped
}

// NonMaxSuppression lists the boxes that are left, as [batch class box]: [batch boxes 4]
// and [batch classes boxes] → [any number, 3]. The boxes are given by two corners.
func (b *Builder) NonMaxSuppression(name string, boxes, scores *onnx.Value, n NMS) *onnx.Value {
	bs, ss := boxes.Type.Shape, scores.Type.Shape
	if len(bs) != 3 || len(ss) != 3 || bs[2] != onnx.Fixed(4) || n.PerClass < 1 {
		return b.fail("NonMaxSuppression", name, errors.Join(fmt.Errorf("boxes %v, scores %v, %d per class", boxes, scores, n.PerClass)))
	}
	inputs := []*onnx.Value{boxes, scores, b.ints(n.PerClass), b.scalar(n.IoU), b.scalar(n.Score)}
	return b.layer("NonMaxSuppression", name, inputs, nil, onnx.Type{Elem: onnx.Int64, Shape: onnx.Shape{onnx.Free(name), onnx.Fixed(3)}}, 0)
}

// ScatterND puts updates into x, at the places that indices list, each as in GatherND.
func (b *Builder) ScatterND(name string, x, indices, updates *onnx.Value) *onnx.Value {
	return b.layer("ScatterND", name, []*onnx.Value{x, indices, updates}, nil, x.Type, 0)
}

// Compare adds an elementwise comparison with broadcasting, such as Greater.
func (b *Builder) Compare(op, name string, x, y *onnx.Value) *onnx.Value {
	shape, err := broadcast(x.Type.Shape, y.Type.Shape)
	if err != nil {
		return b.fail(op, name, err)
	}
	return b.layer(op, name, []*onnx.Value{x, y}, nil, onnx.Type{Elem: onnx.Bool, Shape: shape}, 0)
}

// Unsqueeze adds an axis of one element, which is axis at of the result.
func (b *Builder) Unsqueeze(name string, x *onnx.Value, at int) *onnx.Value {
	if at < 0 || at > len(x.Type.Shape) {
		return b.fail("Unsqueeze", name, fmt.Errorf("input %v: %w", x, errNoAxis))
	}
	out := slices.Insert(slices.Clone(x.Type.Shape), at, onnx.Fixed(1))
	return b.layer("Unsqueeze", name, []*onnx.Value{x, b.ints(int64(at))}, nil, onnx.Type{Elem: x.Type.Elem, Shape: out}, 0)
}

// Squeeze takes away an axis of one element.
func (b *Builder) Squeeze(name string, x *onnx.Value, axis int64) *onnx.Value {
	at, err := axisOf(x, axis)
	if err == nil && x.Type.Shape[at] != onnx.Fixed(1) {
		err = fmt.Errorf("axis %d of input %v has not one element", axis, x)
	}
	if err != nil {
		return b.fail("Squeeze", name, err)
	}
	out := slices.Delete(slices.Clone(x.Type.Shape), at, at+1)
	return b.layer("Squeeze", name, []*onnx.Value{x, b.ints(int64(at))}, nil, onnx.Type{Elem: x.Type.Elem, Shape: out}, 0)
}

// NonZero lists the places of the elements that are not zero: one row for each axis of x,
// one column for each place.
func (b *Builder) NonZero(name string, x *onnx.Value) *onnx.Value {
	out := onnx.Shape{onnx.Fixed(int64(len(x.Type.Shape))), onnx.Free(name)}
	return b.layer("NonZero", name, []*onnx.Value{x}, nil, onnx.Type{Elem: onnx.Int64, Shape: out}, 0)
}

// Join joins lists whose lengths are not known until the model runs. The name of the axis
// is that of the result's length.
func (b *Builder) Join(name, axis string, xs ...*onnx.Value) *onnx.Value {
	if len(xs) == 0 || len(xs[0].Type.Shape) == 0 {
		return b.fail("Concat", name, errors.New("nothing to join"))
	}
	out := slices.Clone(xs[0].Type.Shape)
	for _, x := range xs[1:] {
		if len(x.Type.Shape) == 0 || !slices.EqualFunc(x.Type.Shape[1:], out[1:], sameDim) || x.Type.Elem != xs[0].Type.Elem {
			return b.fail("Concat", name, fmt.Errorf("input %v does not fit to %v", x, xs[0]))
		}
	}
	out[0] = onnx.Free(axis)
	return b.layer("Concat", name, xs, []onnx.Attribute{onnx.Attr("axis", int64(0))}, onnx.Type{Elem: xs[0].Type.Elem, Shape: out}, 0)
}

// ConvTranspose describes a transposed convolution without overlap, which enlarges
// each spatial axis by the size of its kernel.
type ConvTranspose struct {
	Filters int64  // output channels
	Kernel  Axes   // elements, and strides
	Weights Filler // [channels, filters, kernel…]
	Bias    Filler // no bias
}

// ConvTranspose adds a transposed convolution: [N C spatial…] → [N Filters spatial·Kernel…].
func (b *Builder) ConvTranspose(name string, x *onnx.Value, c ConvTranspose) *onnx.Value {
	kernel, err := c.kernelFor(x)
	if err != nil {
		return b.fail("ConvTranspose", name, err)
	}
	dims := append([]int64{x.Channels(), c.Filters}, kernel...)
	inputs := []*onnx.Value{x, b.Weight(name+"/weights", c.Weights, dims...)}
	if c.Bias != nil {
		inputs = append(inputs, b.Weight(name+"/bias", c.Bias, c.Filters))
	}
	out := onnx.Shape{x.Type.Shape[0], onnx.Fixed(c.Filters)}
	for i, d := range x.Type.Shape[2:] {
		out = append(out, onnx.Fixed(d.Size*kernel[i]))
	}
	attrs := []onnx.Attribute{onnx.Attr("kernel_shape", kernel), onnx.Attr("strides", kernel)}
	return b.layer("ConvTranspose", name, inputs, attrs, onnx.Type{Elem: x.Type.Elem, Shape: out}, out.PerSample()*x.Channels())
}

// kernelFor is the size of the kernel along each spatial axis of an input, if that fits.
func (c ConvTranspose) kernelFor(x *onnx.Value) ([]int64, error) {
	kernel, err := c.Kernel.expand("kernel sizes", max(len(x.Type.Shape)-2, 0), 0)
	if err != nil {
		return nil, err
	}
	if len(kernel) == 0 || slices.Min(kernel) < 1 || c.Filters < 1 || x.Channels() == 0 || !allKnown(x.Type.Shape[2:]) {
		return nil, fmt.Errorf("%d filters of %v elements cannot read input %v", c.Filters, c.Kernel, x)
	}
	return kernel, nil
}

// InstanceNorm describes a normalisation of each channel of each sample:
// Gamma·(x-mean)/√(variance+Epsilon)+Beta, with the mean and variance of that channel.
type InstanceNorm struct {
	Epsilon float32 // 1e-5
	Gamma   Filler  // Constant(1)
	Beta    Filler  // Constant(0)
}

// InstanceNorm adds an instance normalisation over axis 1.
func (b *Builder) InstanceNorm(name string, x *onnx.Value, n InstanceNorm) *onnx.Value {
	if len(x.Type.Shape) < 3 || x.Channels() == 0 {
		return b.fail("InstanceNormalization", name, fmt.Errorf("input %v has no spatial axes or no known number of channels", x))
	}
	if n.Epsilon == 0 {
		n.Epsilon = 1e-5
	}
	inputs := []*onnx.Value{
		x,
		b.Weight(name+"/gamma", or(n.Gamma, 1), x.Channels()),
		b.Weight(name+"/beta", or(n.Beta, 0), x.Channels()),
	}
	return b.layer("InstanceNormalization", name, inputs, []onnx.Attribute{onnx.Attr("epsilon", n.Epsilon)}, x.Type, 0)
}

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

// sines writes numbers as cosines and sines of falling frequencies: [… 1] → [… width].
func (b *Builder) sines(name string, x *onnx.Value, width int64) *onnx.Value {
	frequencies := make([]float32, width/2)
	for i := range frequencies {
		frequencies[i] = float32(math.Exp(-math.Log(10000) * float64(i) / float64(width/2)))
	}
	angles := b.Binary("Mul", name+"/angles", x, b.Constant(onnx.TensorOf(name+"/frequencies", frequencies, width/2)))
	return b.Concat(name, -1, b.Unary("Cos", name+"/cos", angles), b.Unary("Sin", name+"/sin", angles))
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

// rmsNorm adds a normalisation along the last axis by the root of the mean square, times a gain: SimplifiedLayerNormalization in
// ONNX's own operators.
func (b *Builder) rmsNorm(name string, x, gain *onnx.Value, epsilon float32) *onnx.Value {
	if width(x) == 0 {
		return b.fail("ReduceMean", name, errNoAxis)
	}
	mean := append(onnx.Shape{}, x.Type.Shape...)
	mean[len(mean)-1] = onnx.Fixed(1)
	squares := b.layer("ReduceMean", name+"/mean", []*onnx.Value{b.Binary("Mul", name+"/squares", x, x)},
		[]onnx.Attribute{onnx.Attr("axes", []int64{-1}), onnx.Attr("keepdims", int64(1))}, onnx.Type{Elem: x.Type.Elem, Shape: mean}, 0)
	root := b.Unary("Sqrt", name+"/root", b.Add(name+"/biased", squares, b.scalar(epsilon)))
	return b.Binary("Mul", name, b.Binary("Div", name+"/scaled", x, root), gain)
}

// Gelu adds x·Φ(x), with the error function as BERT has it.
func (b *Builder) Gelu(name string, x *onnx.Value) *onnx.Value {
	const inverseRoot2 = 0.70710678
	erf := b.Unary("Erf", name+"/erf", b.Binary("Mul", name+"/scaled", x, b.scalar(inverseRoot2)))
	sum := b.Add(name+"/sum", erf, b.scalar(1))
	return b.Binary("Mul", name, b.Binary("Mul", name+"/half", x, b.scalar(0.5)), sum)
}

// tanhGelu adds Gelu with a hyperbolic tangent in the place of the error function.
func (b *Builder) tanhGelu(name string, x *onnx.Value) *onnx.Value {
	const root2OverPi, cubic = 0.7978846, 0.044715
	times := func(what string, x, y *onnx.Value) *onnx.Value { return b.Binary("Mul", name+"/"+what, x, y) }
	cube := times("cube", times("square", x, x), x)
	inner := times("inner", b.Add(name+"/sum", x, times("cubic", cube, b.scalar(cubic))), b.scalar(root2OverPi))
	gate := b.Add(name+"/gate", b.Unary("Tanh", name+"/tanh", inner), b.scalar(1))
	return b.Binary("Mul", name, times("half", x, b.scalar(0.5)), gate)
}

// Heads splits the last axis into heads: [N S heads·size] → [N heads S size].
func (b *Builder) heads(name string, x *onnx.Value, heads, size int64) *onnx.Value {
	return b.Transpose(name+"/heads", b.Reshape(name+"/split", x, 0, 0, heads, size), 0, 2, 1, 3)
}

// A recurrent describes an LSTM over sequences, with ONNX's order of gates: i, o, f, c.
type recurrent struct {
	Hidden     int64
	Cells      int64  // 2: one for each direction
	Weights    Filler // [cells·4·hidden, inputs]
	Recurrence Filler // [cells·4·hidden, hidden]
	Bias       Filler // [cells·8·hidden]: for each cell those for the input, and then those for the last output
}

// lstm adds an LSTM: [steps sequences inputs], and perhaps the lengths of the sequences,
// behind which outputs are 0. Its outputs are all steps, [steps cells sequences hidden],
// and the last h and c of each sequence.
func (b *Builder) lstm(name string, x, lengths *onnx.Value, r recurrent) []*onnx.Value {
	in, rows, direction := x.Type.Shape, r.Cells*4*r.Hidden, "forward"
	if len(in) != 3 || !in[2].Known() {
		v := b.fail("LSTM", name, errNoAxis)
		return []*onnx.Value{v, v, v}
	}
	if r.Cells == 2 {
		direction = "bidirectional"
	}
	w := b.Weight(name+"/weights", r.Weights, rows, in[2].Size)
	recurrence := b.Weight(name+"/recurrence", r.Recurrence, rows, r.Hidden)
	bias := b.Weight(name+"/bias", r.Bias, 2*rows)
	inputs := []*onnx.Value{
		x,
		b.Reshape(name+"/w", w, r.Cells, 4*r.Hidden, in[2].Size),
		b.Reshape(name+"/r", recurrence, r.Cells, 4*r.Hidden, r.Hidden),
		b.Reshape(name+"/b", bias, r.Cells, 8*r.Hidden),
	}
	if lengths != nil {
		inputs = append(inputs, lengths)
	}
	attrs := []onnx.Attribute{onnx.Attr("hidden_size", r.Hidden), onnx.Attr("direction", direction)}
	last := onnx.Type{Elem: onnx.Float32, Shape: onnx.Shape{onnx.Fixed(r.Cells), in[1], onnx.Fixed(r.Hidden)}}
	steps := onnx.Type{Elem: onnx.Float32, Shape: onnx.Shape{in[0], onnx.Fixed(r.Cells), in[1], onnx.Fixed(r.Hidden)}}
	return b.Node("LSTM", name, inputs, attrs, steps, last, last)
}

// lstmCell adds one step of an LSTM (BasicLSTMCell): the gates i, j, f and o from the input,
// which ends with the last output, and then output and cell. The bias of forgetting is part
// of the bias.
func (b *Builder) lstmCell(name string, x, c *onnx.Value, hidden int64, weights, bias Filler) (h, next *onnx.Value) {
	z := b.Dense(name+"/gates", x, Dense{Units: 4 * hidden, Weights: weights, Bias: bias})
	gate := func(i int64, name string) *onnx.Value { return b.Slice(name, z, 1, i*hidden, (i+1)*hidden) }
	sigmoid := func(what string, x *onnx.Value) *onnx.Value { return b.Unary("Sigmoid", name+"/"+what, x) }
	forgotten := b.Binary("Mul", name+"/kept", c, sigmoid("forget", gate(gateForget, name+"/gate2")))
	learned := b.Binary("Mul", name+"/new", sigmoid("input", gate(gateInput, name+"/gate0")),
		b.Unary("Tanh", name+"/candidate", gate(gateCandidate, name+"/gate1")))
	next = b.Add(name+"/c", forgotten, learned)
	return b.Binary("Mul", name+"/h", b.Unary("Tanh", name+"/squashed", next), sigmoid("output", gate(gateOutput, name+"/gate3"))), next
}

// The gates of a cell, in TensorFlow's order.
const (
	gateInput = iota
	gateCandidate
	gateForget
	gateOutput
)

// onnxGates are the gates in the order of ONNX's LSTM: i, o, f, c.
var onnxGates = [4]int{gateInput, gateOutput, gateForget, gateCandidate}

// width is the size of the last axis, 0 where it is not known.
func width(x *onnx.Value) int64 { return extentOf(x, len(x.Type.Shape)-1) }

// extentOf is the size of an axis, 0 where it is not known: after an error values have no axes.
func extentOf(x *onnx.Value, axis int) int64 {
	if axis < 0 || axis >= len(x.Type.Shape) || !x.Type.Shape[axis].Known() {
		return 0
	}
	return x.Type.Shape[axis].Size
}
