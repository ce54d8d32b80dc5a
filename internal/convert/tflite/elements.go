package tflite

import (
	"math"
	"slices"

	"github.com/mlperf-go/mlperf/internal/onnx"
)

// common is the layout of operators that compute element by element: channels first if a variable has only
// this layout, and the others can have it.
func (g *graph) common() layout {
	l := last
	for n, i := range g.op.inputs {
		if i < 0 || g.in(n).data != nil {
			continue
		}
		if g.in(n).rank() != 4 {
			return last
		}
		if g.firstOnly(i) {
			l = first
		}
	}
	return l
}

// elementwise converts an operator that ONNX has as well.
func (g *graph) elementwise(op string, activation int) {
	l := g.common()
	var inputs []string
	var shape []int
	for n := range g.op.inputs {
		inputs = append(inputs, g.real(n, l))
		shape = broadcast(shape, g.in(n).shape)
	}
	g.settle(0, shape...)
	g.setReal(0, l, g.node(op, inputs), activation)
}

// broadcast is the shape of a result of both shapes, where they fit together.
func broadcast(a, b []int) []int {
	if len(a) < len(b) {
		a, b = b, a
	}
	shape := slices.Clone(a)
	for n, d := range b {
		if at := &shape[len(a)-len(b)+n]; *at == 1 {
			*at = d
		}
	}
	return shape
}

// unary converts an activation that stands by itself.
func (g *graph) unary(activation int) {
	l := g.common()
	g.settle(0, g.in(0).shape...)
	g.setReal(0, l, g.real(0, l), activation)
}

func (g *graph) rsqrt() {
	l := g.common()
	g.setReal(0, l, g.node("Reciprocal", []string{g.node("Sqrt", []string{g.real(0, l)})}), actNone)
}

func (g *graph) square() {
	l := g.common()
	x := g.real(0, l)
	g.setReal(0, l, g.node("Mul", []string{x, x}), actNone)
}

func (g *graph) squaredDifference() {
	l := g.common()
	x := g.node("Sub", []string{g.real(0, l), g.real(1, l)})
	g.setReal(0, l, g.node("Mul", []string{x, x}), actNone)
}

func (g *graph) leakyRelu() {
	l := g.common()
	g.setReal(0, l, g.node("LeakyRelu", []string{g.real(0, l)}, onnx.Attr("alpha", g.op.options.float(0))), actNone)
}

func (g *graph) gelu() {
	l, approximate := g.common(), "none"
	if g.op.options.bool(0) {
		approximate = "tanh"
	}
	g.setReal(0, l, g.node("Gelu", []string{g.real(0, l)}, onnx.Attr("approximate", approximate)), actNone)
}

func (g *graph) softmax() {
	x := g.real(0, last)
	g.settle(0, g.in(0).shape...)
	if beta := g.op.options.float(0); beta != 1 {
		x = g.node("Mul", []string{x, g.scalar(beta)})
	}
	g.setReal(0, last, g.node("Softmax", []string{x}, onnx.Attr("axis", int64(-1))), actNone)
}

// quantize also changes one quantisation into another.
func (g *graph) quantize() {
	l := g.common()
	g.settle(0, g.in(0).shape...)
	g.setReal(0, l, g.real(0, l), actNone)
}

// same makes a constant input the result: its reader wants it as it is stored.
func (g *graph) same() bool {
	x, y := g.in(0), g.res(0)
	if x.data == nil {
		return false
	}
	name := y.name
	*y = *x
	y.name = name
	return true
}

// densify has nothing to do: sparse constants became dense as they were read.
func (g *graph) densify() {
	if !g.same() {
		refuse("input %q is not a constant", g.in(0).name)
	}
}

func (g *graph) dequantize() {
	if g.same() {
		return
	}
	x := g.in(0)
	l := g.common()
	v := g.real(0, l)
	if x.elem == onnx.Float16 {
		v = g.node("Cast", []string{v}, onnx.Attr("to", int64(onnx.Float32)))
	}
	g.set(0, l, v)
}

func (g *graph) cast() {
	if g.in(0).quantised() || g.res(0).quantised() {
		refuse("quantised tensors are not cast")
	}
	l := g.common()
	g.set(0, l, g.node("Cast", []string{g.real(0, l)}, onnx.Attr("to", int64(g.res(0).elem))))
}

// axis returns an axis of t, counted from the front.
func axis(t *tensor, a int) int64 {
	if a < 0 {
		a += t.rank()
	}
	if a < 0 || a >= t.rank() {
		refuse("no axis %d in the shape %v", a, t.shape)
	}
	return int64(a)
}

// reduce keeps channels first where rows and columns go and the axes stay.
func (g *graph) reduce(op string) {
	x, keep := g.in(0), g.op.options.bool(0)
	l, axes := g.common(), []int64{}
	for _, a := range must(g.in(1).integers()) {
		if a < math.MinInt32 || a > math.MaxInt32 {
			refuse("no axis %d", a)
		}
		axes = append(axes, axis(x, int(a)))
	}
	var shape []int
	for a, d := range x.shape {
		if !slices.Contains(axes, int64(a)) {
			shape = append(shape, d)
		} else if keep {
			shape = append(shape, 1)
		}
	}
	g.settle(0, shape...)
	if l == first && !keep && (len(axes) != 2 || !slices.Contains(axes, 1) || !slices.Contains(axes, 2)) {
		l = last
	}
	to := l
	if l == first {
		for i, a := range axes {
			axes[i] = int64(slices.Index(toFirst, a))
		}
		if !keep {
			to = last // rows and columns are gone: both layouts are N C
		}
	}
	y := g.node(op, []string{g.real(0, l), g.ints(axes...)}, onnx.Attr("keepdims", int64(b2i(keep))))
	g.setReal(0, to, y, actNone)
}

func (g *graph) argument(op string) {
	axes := must(g.in(1).integers())
	if len(axes) != 1 || axes[0] != int64(int32(axes[0])) {
		refuse("axes %v: expected one", axes)
	}
	// On equal values the first one counts, of dequantised ones as well.
	y := g.node(op, []string{g.real(0, last)}, onnx.Attr("axis", axis(g.in(0), int(axes[0]))), onnx.Attr("keepdims", int64(0)))
	if g.res(0).elem != onnx.Int64 {
		y = g.node("Cast", []string{y}, onnx.Attr("to", int64(g.res(0).elem)))
	}
	g.set(0, last, y)
}
