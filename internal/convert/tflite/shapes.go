package tflite

import (
	"math"
	"slices"

	"github.com/mlperf-go/mlperf/internal/onnx"
)

func (g *graph) concat() {
	l := g.common()
	a := axis(g.in(0), g.op.options.int(0, 0))
	shape := slices.Clone(g.in(0).shape)
	for n := range g.op.inputs[1:] {
		if t := g.in(n + 1); t.rank() == len(shape) {
			shape[a] += t.shape[a]
		}
	}
	g.settle(0, shape...)
	if l == first {
		a = int64(slices.Index(toFirst, a))
	}
	var inputs []string
	for n := range g.op.inputs {
		if g.in(n).rank() != g.res(0).rank() {
			refuse("the shapes %v and %v have different numbers of axes", g.in(n).shape, g.res(0).shape)
		}
		inputs = append(inputs, g.real(n, l))
	}
	g.setReal(0, l, g.node("Concat", inputs, onnx.Attr("axis", a)), g.op.options.byte(1))
}

// pad fills with the real number 0, or with the third input.
func (g *graph) pad(mode string) {
	x, l := g.in(0), g.common()
	amounts := must(g.in(1).integers())
	if len(amounts) != 2*x.rank() {
		refuse("%d amounts for %d axes", len(amounts), x.rank())
	}
	var front, behind []int64
	for a := range x.rank() {
		k := a
		if l == first {
			k = int(toFirst[a])
		}
		front, behind = append(front, amounts[2*k]), append(behind, amounts[2*k+1])
	}
	inputs := []string{g.real(0, l), g.ints(append(front, behind...)...)}
	if g.has(2) {
		value := g.real(2, last)
		inputs = append(inputs, g.node("Reshape", []string{value, g.constant(onnx.TensorOf("constant", []int64{}, 0))}))
	}
	g.setReal(0, l, g.node("Pad", inputs, onnx.Attr("mode", mode)), actNone)
}

func (g *graph) mirrorPad() {
	if g.op.options.byte(0) != 0 {
		refuse("mode SYMMETRIC is not converted")
	}
	g.pad("reflect")
}

// alike reports whether input and result store elements in one way, so that moving them needs no arithmetic.
func (g *graph) alike() bool {
	x, y := g.in(0), g.res(0)
	return x.elem == y.elem && slices.Equal(x.scales, y.scales) && slices.Equal(x.zeros, y.zeros)
}

// move makes the result of an operator that moves elements, by f in the layout of the file.
func (g *graph) move(f func(x string) string) {
	if g.alike() && len(g.in(0).scales) < 2 {
		g.set(0, last, f(g.raw(0, last)))
		return
	}
	g.setReal(0, last, f(g.real(0, last)), actNone)
}

// resolve returns the shape that was asked of the elements of another, where one extent may be -1: the rest.
func resolve(asked []int64, of []int) []int {
	shape, rest, open := make([]int, len(asked)), 1, -1
	for _, d := range of {
		rest *= d
	}
	for a, d := range asked {
		if shape[a] = int(d); d == -1 {
			open = a
		} else if d > 0 {
			rest /= int(d)
		}
	}
	if open >= 0 {
		shape[open] = rest
	}
	return shape
}

// reshape takes the shape that the result has in the file, or that its operator has.
func (g *graph) reshape() {
	x, asked := g.in(0), longs(g.op.options.ints(0))
	switch {
	case g.op.name == "RESHAPE" && g.has(1) && g.in(1).data != nil:
		asked = must(g.in(1).integers())
	case g.op.name == "SQUEEZE":
		var gone []int64
		for _, a := range asked {
			gone = append(gone, axis(x, int(a)))
		}
		asked = nil
		for a, d := range x.shape {
			if !slices.Contains(gone, int64(a)) && (len(gone) > 0 || d != 1) {
				asked = append(asked, int64(d))
			}
		}
	}
	if g.op.name != "EXPAND_DIMS" {
		g.settle(0, resolve(asked, x.shape)...)
	}
	g.move(func(x string) string { return g.node("Reshape", []string{x, g.ints(longs(g.res(0).shape)...)}) })
}

func (g *graph) transposition() {
	perm := must(g.in(1).integers())
	g.move(func(x string) string { return g.transpose(x, perm) })
}

func (g *graph) tile() {
	times := must(g.in(1).integers())
	g.move(func(x string) string { return g.node("Tile", []string{x, g.ints(times...)}) })
}

func (g *graph) gather() {
	if g.op.options.int(1, 0) != 0 {
		refuse("batch dimensions are not converted")
	}
	a := axis(g.in(0), g.op.options.int(0, 0))
	g.move(func(x string) string { return g.node("Gather", []string{x, g.raw(1, last)}, onnx.Attr("axis", a)) })
}

// lookUp takes rows of a table, as the converter writes products with one-hot vectors.
func (g *graph) lookUp() {
	g.setReal(0, last, g.node("Gather", []string{g.real(1, last), g.raw(0, last)}), actNone)
}

func (g *graph) oneHot() {
	depth := must(g.in(1).integers())
	if len(depth) != 1 {
		refuse("depth %v: expected one number", depth)
	}
	on, off := g.node("Reshape", []string{g.real(2, last), g.ints(1)}), g.node("Reshape", []string{g.real(3, last), g.ints(1)})
	values := g.node("Concat", []string{off, on}, onnx.Attr("axis", int64(0)))
	indices := g.node("Cast", []string{g.raw(0, last)}, onnx.Attr("to", int64(onnx.Int64)))
	g.setReal(0, last, g.node("OneHot", []string{indices, g.ints(depth[0]), values}, onnx.Attr("axis", int64(g.op.options.int(0, 0)))), actNone)
}

func (g *graph) pack() {
	a := axis(g.res(0), g.op.options.int(1, 0))
	var inputs []string
	for n := range g.op.inputs {
		inputs = append(inputs, g.node("Unsqueeze", []string{g.real(n, last), g.ints(a)}))
	}
	g.setReal(0, last, g.node("Concat", inputs, onnx.Attr("axis", a)), actNone)
}

// parts splits x, the input with the elements, evenly.
func (g *graph) parts(n int, a int64) []string {
	return g.nodes("Split", len(g.op.outputs), []string{g.real(n, last)}, onnx.Attr("axis", a), onnx.Attr("num_outputs", int64(len(g.op.outputs))))
}

func (g *graph) unpack() {
	a := axis(g.in(0), g.op.options.int(1, 0))
	for n, part := range g.parts(0, a) {
		g.setReal(n, last, g.node("Squeeze", []string{part, g.ints(a)}), actNone)
	}
}

func (g *graph) split() {
	axes := must(g.in(0).integers())
	if len(axes) != 1 || axes[0] != int64(int32(axes[0])) {
		refuse("axes %v: expected one", axes)
	}
	for n, part := range g.parts(1, axis(g.in(1), int(axes[0]))) {
		g.setReal(n, last, part, actNone)
	}
}

func (g *graph) slice() {
	begin, size := must(g.in(1).integers()), must(g.in(2).integers())
	if len(begin) != g.in(0).rank() || len(size) != len(begin) {
		refuse("begins %v and sizes %v for %d axes", begin, size, g.in(0).rank())
	}
	end := make([]int64, len(begin))
	for a := range begin {
		if end[a] = begin[a] + size[a]; size[a] < 0 {
			end[a] = math.MaxInt64
		}
	}
	g.move(func(x string) string { return g.node("Slice", []string{x, g.ints(begin...), g.ints(end...)}) })
}

func (g *graph) stridedSlice() {
	begin, end, steps, o := must(g.in(1).integers()), must(g.in(2).integers()), must(g.in(3).integers()), g.op.options
	if len(begin) > g.in(0).rank() || len(end) != len(begin) || len(steps) != len(begin) {
		refuse("begins %v, ends %v and steps %v for %d axes", begin, end, steps, g.in(0).rank())
	}
	if o.int(2, 0) != 0 || o.int(3, 0) != 0 || o.bool(5) {
		refuse("masks for an ellipsis or new axes are not converted")
	}
	axes := make([]int64, len(begin))
	for a := range begin {
		axes[a] = int64(a)
		bit := 1 << a
		switch {
		case o.int(4, 0)&bit != 0: // one element, whose axis goes

			if steps[a], end[a] = 1, begin[a]+1; end[a] == 0 {
				end[a] = math.MaxInt64
			}
			continue
		case steps[a] < 0 && o.int(1, 0)&bit != 0:
			end[a] = math.MinInt64
		case o.int(1, 0)&bit != 0:
			end[a] = math.MaxInt64
		}
		if o.int(0, 0)&bit != 0 {
			if begin[a] = 0; steps[a] < 0 {
				begin[a] = math.MaxInt64
			}
		}
	}
	g.move(func(x string) string {
		x = g.node("Slice", []string{x, g.ints(begin...), g.ints(end...), g.ints(axes...), g.ints(steps...)})
		return g.node("Reshape", []string{x, g.ints(longs(g.res(0).shape)...)})
	})
}
