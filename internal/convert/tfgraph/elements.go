package tfgraph

import (
	"math"
	"slices"

	"github.com/mlperf-go/mlperf/internal/onnx"
)

func (s step) constantNode() {
	t := s.n.attrs["value"].tensor
	if t == nil {
		refuse("has no value")
	}
	v := &value{at: s.scope, rank: len(t.dims), elem: t.elem, data: t}
	if len(t.dims) > 0 {
		v.channels = t.dims[len(t.dims)-1]
	}
	s.made[port{s.n.name, 0}] = v
}

// pass makes the input the result.
func (s step) pass() { s.made[port{s.n.name, 0}] = s.get(s.n.inputs[0]) }

// passAll makes each input the result of its number.
func (s step) passAll() {
	for i, p := range s.n.inputs {
		s.made[port{s.n.name, i}] = s.get(p)
	}
}

// operands returns the inputs from the n-th on, in the layout that they have in common, and the axes of a result of all of them.
func (s step) operands(from int) (inputs []string, l layout, rank int) {
	fits := true
	for i := range s.n.inputs[from:] {
		v := s.arg(from + i)
		if rank = max(rank, v.rank); v.rank == -1 {
			rank = math.MaxInt
		}
		fits = fits && (v.rank == 0 || v.rank == 1 || v.rank == 4)
		if v.firstOnly() {
			l = first
		}
	}
	if rank == math.MaxInt {
		rank = -1
	}
	if !fits {
		l = last
	}
	for i := range s.n.inputs[from:] {
		v := s.arg(from + i)
		switch {
		case l == last || v.rank == 0:
			inputs = append(inputs, v.in(last))
		case v.rank == 1: // of channels
			inputs = append(inputs, s.node("Unsqueeze", []string{v.in(last), s.ints(1, 2)}))
		default:
			inputs = append(inputs, v.in(first))
		}
	}
	return inputs, l, rank
}

// elementwise converts an operator that ONNX has as well. elem is that of its result, Undefined: that of its inputs.
func (s step) elementwise(op string, elem onnx.ElemType, attributes ...onnx.Attribute) {
	inputs, l, rank := s.operands(0)
	if elem == onnx.Undefined {
		elem = s.arg(0).elem
	}
	v := s.set(0, l, s.node(op, inputs, attributes...), rank, elem)
	for i := range s.n.inputs {
		if a := s.arg(i); a.rank == rank {
			v.as(a)
		}
	}
}

func (s step) relu6() {
	x, l, rank := s.operands(0)
	elem := s.arg(0).elem
	s.set(0, l, s.node("Clip", []string{x[0], s.of(elem, 0), s.of(elem, 6)}), rank, elem)
}

func (s step) leakyRelu() {
	s.elementwise("LeakyRelu", onnx.Undefined, onnx.Attr("alpha", s.n.attrs["alpha"].f))
}

func (s step) rsqrt() {
	x, l, rank := s.operands(0)
	s.set(0, l, s.node("Reciprocal", []string{s.node("Sqrt", x)}), rank, s.arg(0).elem)
}

func (s step) square() {
	x, l, rank := s.operands(0)
	s.set(0, l, s.node("Mul", []string{x[0], x[0]}), rank, s.arg(0).elem)
}

func (s step) squaredDifference() {
	x, l, rank := s.operands(0)
	d := s.node("Sub", x)
	s.set(0, l, s.node("Mul", []string{d, d}), rank, s.arg(0).elem)
}

func isReal(elem onnx.ElemType) bool {
	return elem == onnx.Float32 || elem == onnx.Float64 || elem == onnx.Float16
}

// div rounds integers towards 0, as ONNX does.
func (s step) div() { s.elementwise("Div", onnx.Undefined) }

// floorDiv rounds down.
func (s step) floorDiv() {
	x, l, rank := s.operands(0)
	elem := s.arg(0).elem
	if isReal(elem) {
		s.set(0, l, s.node("Floor", []string{s.node("Div", x)}), rank, elem)
		return
	}
	whole := s.node("Sub", []string{x[0], s.node("Mod", x)})
	s.set(0, l, s.node("Div", []string{whole, x[1]}), rank, elem)
}

func (s step) notEqual() {
	x, l, rank := s.operands(0)
	s.set(0, l, s.node("Not", []string{s.node("Equal", x)}), rank, onnx.Bool)
}

// choose converts Select. A condition of one axis chooses rows of values with more.
func (s step) choose() {
	c, x := s.arg(0), s.arg(1)
	inputs := []string{s.x(0), s.x(1), s.x(2)}
	rank := x.rank
	if s.n.op == "Select" && c.rank == 1 && x.rank > 1 {
		var axes []int64
		for a := 1; a < x.rank; a++ {
			axes = append(axes, int64(a))
		}
		inputs[0] = s.node("Unsqueeze", []string{inputs[0], s.ints(axes...)})
	} else if s.n.op == "SelectV2" {
		if rank = max(c.rank, x.rank, s.arg(2).rank); min(c.rank, x.rank, s.arg(2).rank) == -1 {
			rank = -1
		}
	}
	s.set(0, last, s.node("Where", inputs), rank, x.elem)
}

func (s step) castNode() {
	x, l, rank := s.operands(0)
	to := elemTypes[uint64(s.n.attrs["DstT"].i)]
	if to == onnx.Undefined {
		refuse("elements of type %d are not converted", s.n.attrs["DstT"].i)
	}
	s.set(0, l, s.cast(x[0], to), rank, to)
}

func softmax(op string) func(step) {
	return func(s step) {
		x := s.arg(0)
		s.set(0, last, s.node(op, []string{x.in(last)}, onnx.Attr("axis", int64(-1))), x.rank, x.elem)
	}
}

// filled makes a number in the shape of the input.
func filled(number float64) func(step) {
	return func(s step) {
		x := s.arg(0)
		y := s.node("Expand", []string{s.of(x.elem, number), s.node("Shape", []string{x.in(last)})})
		s.set(0, last, y, x.rank, x.elem)
	}
}

// reduce keeps channels first where rows and columns go.
func reduce(op string) func(step) {
	return func(s step) {
		x, keep := s.arg(0), s.n.attrs["keep_dims"].i
		l, to, rank := last, last, x.rank
		inputs := []string{"", ""}
		attributes := []onnx.Attribute{onnx.Attr("keepdims", keep)}
		switch {
		case s.arg(1).data != nil:
			axes := slices.Clone(s.list(1))
			sorted := slices.Sorted(slices.Values(axes))
			if x.firstOnly() && slices.Equal(sorted, []int64{1, 2}) {
				if l, axes = first, []int64{2, 3}; keep != 0 {
					to = first
				}
			}
			if keep == 0 && rank >= 0 {
				rank -= len(axes)
			}
			inputs[1] = s.ints(axes...)
			if len(axes) == 0 {
				attributes = append(attributes, onnx.Attr("noop_with_empty_axes", int64(1)))
			}
		case s.allAxes():
			inputs = inputs[:1]
			if keep == 0 {
				rank = 0
			}
		default:
			inputs[1], rank = s.wholes(1), -1
		}
		in, elem := x.in(l), x.elem
		if elem == onnx.Bool {
			in = s.cast(in, onnx.Int32)
		}
		inputs[0] = in
		y := s.node(op, inputs, attributes...)
		if elem == onnx.Bool {
			y = s.cast(y, onnx.Bool)
		}
		v := s.set(0, to, y, max(rank, -1), elem)
		if l == first { // rows and columns went
			v.as(x)
		}
	}
}

// allAxes reports whether the axes of a reduction are computed as all of them.
func (s step) allAxes() bool {
	n := s.follow(s.n.inputs[1])
	if n == nil || n.op != "Range" || len(n.inputs) != 3 || !s.isNumber(n.inputs[0], 0) || !s.isNumber(n.inputs[2], 1) {
		return false
	}
	rank := s.follow(n.inputs[1])
	return rank != nil && rank.op == "Rank" && rank.inputs[0] == s.n.inputs[0]
}

func argument(op string) func(step) {
	return func(s step) {
		x := s.arg(0)
		y := s.node(op, []string{x.in(last)}, onnx.Attr("axis", s.number(1)), onnx.Attr("keepdims", int64(0)))
		elem := elemTypes[uint64(s.n.attrs["output_type"].i)]
		if elem == onnx.Int32 {
			y = s.cast(y, elem)
		}
		if elem != onnx.Int32 {
			elem = onnx.Int64
		}
		v := s.set(0, last, y, max(x.rank-1, -1), elem)
		v.batch = x.batch && s.number(1) != 0 && x.rank > 1 && s.number(1) != int64(-x.rank)
	}
}

func (s step) topK() {
	x := s.arg(0)
	k := s.ints(s.n.attrs["k"].i)
	if s.n.op == "TopKV2" {
		k = s.wholes(1)
	}
	parts := s.add(s.n.name, "TopK", 2, []string{x.in(last), k}, onnx.Attr("axis", int64(-1)))
	s.set(0, last, parts[0], x.rank, x.elem)
	s.set(1, last, s.cast(parts[1], onnx.Int32), x.rank, onnx.Int32)
}
