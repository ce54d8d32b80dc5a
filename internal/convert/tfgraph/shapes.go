package tfgraph

import (
	"math"
	"slices"

	"github.com/mlperf-go/mlperf/internal/onnx"
)

// asked casts a result of int64 to the type that an attribute asks for, int32 if there is none.
func (s step) asked(x, attribute string) (string, onnx.ElemType) {
	if elemTypes[uint64(s.n.attrs[attribute].i)] == onnx.Int64 {
		return x, onnx.Int64
	}
	return s.cast(x, onnx.Int32), onnx.Int32
}

func (s step) shape() {
	long := s.node("Shape", []string{s.x(0)})
	y, elem := s.asked(long, "out_type")
	v := s.set(0, last, y, 1, elem)
	v.long, v.shapeOf = long, s.arg(0)
}

func (s step) size() {
	y, elem := s.asked(s.node("Size", []string{s.x(0)}), "out_type")
	s.set(0, last, y, 0, elem)
}

func (s step) rankNode() {
	s.set(0, last, s.cast(s.node("Size", []string{s.node("Shape", []string{s.x(0)})}), onnx.Int32), 0, onnx.Int32)
}

// length is how many elements an input of one axis has, -1 if that is not known.
func (s step) length(i int) int {
	v := s.arg(i)
	if v.data != nil {
		return int(v.data.len())
	}
	if n := s.follow(s.n.inputs[i]); n != nil && n.op == "Pack" {
		return len(n.inputs)
	}
	return -1
}

func (s step) reshape() {
	x, to := s.arg(0), s.arg(1)
	v := s.set(0, last, s.node("Reshape", []string{s.x(0), s.wholes(1)}, onnx.Attr("allowzero", int64(1))), s.length(1), x.elem)
	switch {
	case to.shapeOf != nil:
		v.rank = to.shapeOf.rank
		v.as(to.shapeOf)
	case to.data != nil && v.rank == 2 && x.rank == 2:
		if list := s.list(1); list[0] == -1 && list[1] == x.channels { // as it is
			v.as(x)
		}
	}
}

func (s step) squeeze() {
	x, axes := s.arg(0), s.n.attrs["squeeze_dims"].ints
	inputs, rank := []string{x.in(last)}, -1
	if len(axes) > 0 {
		inputs = append(inputs, s.ints(axes...))
		rank = max(x.rank-len(axes), -1)
	}
	v := s.set(0, last, s.node("Squeeze", inputs), rank, x.elem)
	if x.rank == 4 && slices.Equal(axes, []int64{1, 2}) {
		v.as(x)
	}
}

func more(rank, by int) int {
	if rank < 0 {
		return -1
	}
	return rank + by
}

func (s step) expandDims() {
	x := s.arg(0)
	s.set(0, last, s.node("Unsqueeze", []string{x.in(last), s.ints(s.number(1))}), more(x.rank, 1), x.elem)
}

func (s step) transposition() {
	x := s.arg(0)
	perm := s.list(1)
	if x.rank == 4 && x.firstOnly() && slices.Equal(perm, toFirst) { // to a network of the other layout: this is how it is
		s.set(0, last, x.in(first), 4, x.elem)
		return
	}
	s.set(0, last, s.node("Transpose", []string{x.in(last)}, onnx.Attr("perm", slices.Clone(perm))), len(perm), x.elem)
}

func (s step) concat() {
	values := step{s.scope, &node{name: s.n.name, op: s.n.op}}
	axis := len(s.n.inputs) - 1
	values.n.inputs = s.n.inputs[:axis]
	if s.n.op == "Concat" {
		axis = 0
		values.n.inputs = s.n.inputs[1:]
	}
	a := s.number(axis)
	inputs, l, rank := values.operands(0)
	if l == first {
		if rank != 4 || a < -4 || a > 3 {
			refuse("no axis %d", a)
		}
		a = int64(slices.Index(toFirst, (a+4)%4))
	}
	v := s.set(0, l, s.node("Concat", inputs, onnx.Attr("axis", a)), rank, values.arg(0).elem)
	v.batch = values.arg(0).batch && a > 0
}

// pack of constant scalars is a constant, which ONNX Runtime wants where a shape is given.
func (s step) pack() {
	whole := &tensor{elem: s.arg(0).elem, dims: []int64{int64(len(s.n.inputs))}, data: []byte{}}
	for i := range s.n.inputs {
		t := s.arg(i).data
		if t == nil || len(t.dims) > 0 || t.elem == onnx.Undefined {
			whole = nil
			break
		}
		whole.data = append(whole.data, t.bytes()...)
	}
	if whole != nil {
		s.made[port{s.n.name, 0}] = &value{at: s.scope, rank: 1, elem: whole.elem, data: whole}
		return
	}
	axis := s.ints(s.n.attrs["axis"].i)
	x := s.arg(0)
	var inputs []string
	for i := range s.n.inputs {
		inputs = append(inputs, s.node("Unsqueeze", []string{s.x(i), axis}))
	}
	s.set(0, last, s.node("Concat", inputs, onnx.Attr("axis", s.n.attrs["axis"].i)), more(x.rank, 1), x.elem)
}

const maxParts = 1 << 12

func (s step) unpack() {
	n, axis := s.n.attrs["num"].i, s.n.attrs["axis"].i
	if n < 1 || n > maxParts {
		refuse("%d results are not converted", n)
	}
	x := s.arg(0)
	for i, part := range s.add(s.n.name, "Split", int(n), []string{x.in(last)}, onnx.Attr("axis", axis), onnx.Attr("num_outputs", n)) {
		s.set(i, last, s.node("Squeeze", []string{part, s.ints(axis)}), max(x.rank-1, -1), x.elem)
	}
}

// split converts Split (axis, x) and SplitV (x, sizes, axis).
func (s step) split() {
	n := s.n.attrs["num_split"].i
	if n < 1 || n > maxParts {
		refuse("%d results are not converted", n)
	}
	at, axis := 1, 0
	if s.n.op == "SplitV" {
		at, axis = 0, 2
	}
	x := s.arg(at)
	inputs, attributes := []string{x.in(last)}, []onnx.Attribute{onnx.Attr("axis", s.number(axis))}
	if s.n.op == "SplitV" {
		inputs = append(inputs, s.whole(1))
	} else {
		attributes = append(attributes, onnx.Attr("num_outputs", n))
	}
	for i, part := range s.add(s.n.name, "Split", int(n), inputs, attributes...) {
		s.set(i, last, part, x.rank, x.elem)
	}
}

// slice takes size elements from begin on; all that are left where size is -1.
func (s step) slice() {
	x, size := s.arg(0), s.arg(2)
	begin, end := s.wholes(1), ""
	if size.data != nil {
		var ends []int64
		negative := false
		for _, n := range s.list(2) {
			ends = append(ends, n)
			negative = negative || n < 0
		}
		switch {
		case !negative:
			end = s.node("Add", []string{begin, s.ints(ends...)})
		case s.arg(1).data != nil:
			for a, from := range s.list(1) {
				if a >= len(ends) {
					refuse("%d sizes are too few", len(ends))
				}
				if ends[a] < 0 {
					ends[a] = math.MaxInt64
				} else {
					ends[a] += from
				}
			}
			end = s.ints(ends...)
		default: // the largest end where the size is negative
			sum := s.node("Add", []string{begin, s.ints(ends...)})
			end = s.node("Where", []string{s.node("Less", []string{s.ints(ends...), s.of(onnx.Int64, 0)}), s.of(onnx.Int64, math.MaxInt32), sum})
		}
	} else {
		sizes := s.wholes(2)
		sum := s.node("Add", []string{begin, sizes})
		end = s.node("Where", []string{s.node("Less", []string{sizes, s.of(onnx.Int64, 0)}), s.of(onnx.Int64, math.MaxInt32), sum})
	}
	s.set(0, last, s.node("Slice", []string{x.in(last), begin, end}), x.rank, x.elem)
}

// stridedSlice converts x[begin:end:step, …] with its masks.
func (s step) stridedSlice() {
	x := s.arg(0)
	mask := func(name string, i int) bool { return s.n.attrs[name+"_mask"].i>>i&1 != 0 }
	if s.arg(1).data == nil || s.arg(2).data == nil {
		s.movingSlice()
		return
	}
	begin, end, steps := s.list(1), s.list(2), s.list(3)
	if len(begin) > 32 || len(end) != len(begin) || len(steps) != len(begin) {
		refuse("begins %v, ends %v and steps %v do not fit", begin, end, steps)
	}
	ellipsis, added := -1, 0
	for i := range begin {
		if mask("ellipsis", i) {
			ellipsis = i
		}
	}
	var from, to, axes, by, gone, new []int64
	axis, result := int64(0), int64(0) // of the input; of the result; from behind after an ellipsis
	if ellipsis >= 0 {
		for i := ellipsis + 1; i < len(begin); i++ {
			added += b2i(mask("new_axis", i))
		}
	}
	for i := range begin {
		switch {
		case i == ellipsis:
			rest := len(begin) - i - 1
			axis, result = -int64(rest-added), -int64(rest)
			for k := i + 1; k < len(begin); k++ {
				if mask("shrink_axis", k) && !mask("new_axis", k) {
					result++
				}
			}
			continue
		case mask("new_axis", i):
			new = append(new, result)
			result++
			continue
		}
		b, e, st := begin[i], end[i], steps[i]
		if st == 0 {
			refuse("a step of 0")
		}
		if mask("shrink_axis", i) {
			if st, e = 1, b+1; e == 0 {
				e = math.MaxInt64
			}
			gone = append(gone, axis)
		} else {
			if mask("begin", i) {
				if b = 0; st < 0 {
					b = math.MaxInt64
				}
			}
			if mask("end", i) {
				if e = math.MaxInt64; st < 0 {
					e = math.MinInt64
				}
			}
			result++
		}
		from, to, axes, by = append(from, b), append(to, e), append(axes, axis), append(by, st)
		axis++
	}
	y := x.in(last)
	if len(axes) > 0 {
		y = s.node("Slice", []string{y, s.ints(from...), s.ints(to...), s.ints(axes...), s.ints(by...)})
	}
	if len(gone) > 0 {
		y = s.node("Squeeze", []string{y, s.ints(gone...)})
	}
	if len(new) > 0 {
		y = s.node("Unsqueeze", []string{y, s.ints(new...)})
	}
	s.set(0, last, y, max(more(x.rank, len(new)-len(gone)), -1), x.elem)
}

// movingSlice is a slice whose bounds are computed.
func (s step) movingSlice() {
	x, a := s.arg(0), s.n.attrs
	if a["ellipsis_mask"].i != 0 || a["new_axis_mask"].i != 0 {
		refuse("masks with bounds that are computed are not converted")
	}
	if one := s.length(1) == 1; one && a["shrink_axis_mask"].i == 1 {
		index := s.node("Squeeze", []string{s.wholes(1), s.ints(0)})
		s.set(0, last, s.node("Gather", []string{x.in(last), index}, onnx.Attr("axis", int64(0))), max(x.rank-1, -1), x.elem)
		return
	}
	steps := s.list(3)
	if a["shrink_axis_mask"].i != 0 {
		refuse("axes that go, with bounds that are computed, are not converted")
	}
	bound := func(i int, mask int64, open func(step int64) int64) string {
		name := s.wholes(i)
		if mask == 0 {
			return name
		}
		var free, by []int64
		for k, st := range steps {
			free, by = append(free, open(st)), append(by, mask>>min(k, 62)&1)
		}
		return s.node("Where", []string{s.cast(s.ints(by...), onnx.Bool), s.ints(free...), name})
	}
	begin := bound(1, a["begin_mask"].i, func(st int64) int64 { return int64(b2i(st < 0)) * math.MaxInt32 })
	end := bound(2, a["end_mask"].i, func(st int64) int64 {
		if st < 0 {
			return math.MinInt32
		}
		return math.MaxInt32
	})
	var axes []int64
	for k := range steps {
		axes = append(axes, int64(k))
	}
	s.set(0, last, s.node("Slice", []string{x.in(last), begin, end, s.ints(axes...), s.ints(steps...)}), x.rank, x.elem)
}

func (s step) gather() {
	x, i, axis := s.arg(0), s.arg(1), int64(0)
	if s.n.op == "GatherV2" {
		axis = s.number(2)
	}
	if s.n.attrs["batch_dims"].i != 0 {
		refuse("batch_dims %d are not converted", s.n.attrs["batch_dims"].i)
	}
	rank := -1
	if x.rank > 0 && i.rank >= 0 {
		rank = x.rank - 1 + i.rank
	}
	s.set(0, last, s.node("Gather", []string{x.in(last), i.in(last)}, onnx.Attr("axis", axis)), rank, x.elem)
}

func (s step) gatherNd() {
	s.set(0, last, s.node("GatherND", []string{s.x(0), s.whole(1)}), -1, s.arg(0).elem)
}

// where has the indices of elements that are true, one in each row.
func (s step) where() {
	s.set(0, last, s.node("Transpose", []string{s.node("NonZero", []string{s.x(0)})}, onnx.Attr("perm", []int64{1, 0})), 2, onnx.Int64)
}

func (s step) tile() {
	x := s.arg(0)
	s.set(0, last, s.node("Tile", []string{x.in(last), s.wholes(1)}), x.rank, x.elem)
}

func (s step) fill() {
	x := s.arg(1)
	s.set(0, last, s.node("Expand", []string{x.in(last), s.wholes(0)}), s.length(0), x.elem)
}

func (s step) rangeNode() {
	s.set(0, last, s.node("Range", []string{s.x(0), s.x(1), s.x(2)}), 1, s.arg(0).elem)
}

// pad converts amounts N×2: before and behind each axis. ONNX wants all before, then all behind.
func (s step) pad() {
	x, l := s.arg(0), last
	var amounts string
	if v := s.arg(1); v.data == nil {
		amounts = s.node("Reshape", []string{s.node("Transpose", []string{s.whole(1)}, onnx.Attr("perm", []int64{1, 0})), s.ints(-1)})
	} else {
		list := s.list(1)
		if len(list)%2 != 0 || x.rank >= 0 && len(list) != 2*x.rank {
			refuse("%d amounts for %d axes", len(list), x.rank)
		}
		if x.firstOnly() && len(list) == 8 {
			l = first
		}
		var before, behind []int64
		for a := range len(list) / 2 {
			if l == first {
				a = int(toFirst[a])
			}
			before, behind = append(before, list[2*a]), append(behind, list[2*a+1])
		}
		amounts = s.ints(append(before, behind...)...)
	}
	mode, inputs := "constant", []string{x.in(l), amounts}
	switch {
	case s.n.op == "MirrorPad" && s.n.attrs["mode"].s != "REFLECT":
		refuse("mode %q is not converted", s.n.attrs["mode"].s)
	case s.n.op == "MirrorPad":
		mode = "reflect"
	case s.n.op == "PadV2":
		inputs = append(inputs, s.x(2))
	}
	v := s.set(0, l, s.node("Pad", inputs, onnx.Attr("mode", mode)), x.rank, x.elem)
	v.batch = x.batch && s.arg(1).data != nil && s.list(1)[0] == 0 && s.list(1)[1] == 0
}
