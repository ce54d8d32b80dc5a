package arch

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/mlperf-go/mlperf/internal/onnx"
)

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
			return b.fail("Transpose", name, fmt.Errorf("%v is no order of the axes of %v", perm, x))
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
// down, so the quotient may have to be the next larger number.
func scaleTo(in, size int64) float32 {
	scale := float32(size) / float32(in)
	for math.Floor(float64(float32(in)*scale)) < float64(size) {
		scale = math.Nextafter32(scale, math.MaxFloat32)
	}
	return scale
}
