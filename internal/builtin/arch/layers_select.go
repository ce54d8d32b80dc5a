package arch

import (
	"errors"
	"fmt"
	"slices"

	"github.com/mlperf-go/mlperf/internal/onnx"
)

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
