package arch

import (
	"math"
	"slices"

	"github.com/mlperf-go/mlperf/internal/onnx"
)

// operators are those of the built-in models, by their definitions in the ONNX specification and in ONNX Runtime's
// ContribOperators.md: slow, and without any of the tricks of the builder.
var operators = map[string]func(n *onnx.Node, in []array) []array{
	"Add": broadcasted(func(x, y float64) float64 { return x + y }), "Sub": broadcasted(func(x, y float64) float64 { return x - y }),
	"Mul": broadcasted(func(x, y float64) float64 { return x * y }), "Min": broadcasted(math.Min), "Div": divide, "Mod": broadcasted(math.Mod),
	"Greater": compared(func(x, y float64) bool { return x > y }), "LessOrEqual": compared(func(x, y float64) bool { return x <= y }),
	"And": compared(func(x, y float64) bool { return x != 0 && y != 0 }), "Less": compared(func(x, y float64) bool { return x < y }),

	"Relu": mapped(func(x float64) float64 { return max(x, 0) }), "Sigmoid": mapped(logistic), "Tanh": mapped(math.Tanh), "Erf": mapped(math.Erf),
	"Exp": mapped(math.Exp), "Sqrt": mapped(math.Sqrt), "Sin": mapped(math.Sin), "Cos": mapped(math.Cos), "Identity": mapped(func(x float64) float64 { return x }),
	"FastGelu": mapped(func(x float64) float64 { return x / 2 * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(x+0.044715*x*x*x))) }),

	"Cast": castTo, "Clip": clipTo, "Where": where, "Shape": shapeOfArray, "CumSum": cumSum,
	"Reshape": reshaped, "Flatten": flattened, "Squeeze": squeezed, "Unsqueeze": unsqueezed, "Transpose": transposed, "Concat": joined, "Slice": sliced,
	"Pad": padZeros, "Resize": resized,
	"Gather": gathered, "GatherND": gatheredND, "ScatterND": scatteredND, "NonZero": nonZeros, "TopK": topK, "NonMaxSuppression": suppressed,
	"ReduceSum": reduced(total), "ReduceMean": reduced(func(list []float64) float64 { return total(list) / float64(len(list)) }),
	"ReduceMax": reduced(slices.Max[[]float64]), "ReduceLogSumExp": reduced(logSumExp), "ArgMax": indexOfMax, "Softmax": softmax,
	"MatMul": matMul, "Gemm": gemm, "Conv": convolved, "ConvTranspose": convTransposed, "MaxPool": maxPooled, "GlobalAveragePool": globalAverage,
	"BatchNormalization": batchNormal, "InstanceNormalization": instanceNormal, "LayerNormalization": layerNormal, "LSTM": lstmOf,
	"SimplifiedLayerNormalization": simplifiedNormal, "SkipSimplifiedLayerNormalization": skipNormal,
	"GroupQueryAttention": groupQueryAttention, "MatMulNBits": matMulNBits, "MoE": experts,
}

func total(list []float64) (sum float64) {
	for _, x := range list {
		sum += x
	}
	return sum
}

func logSumExp(list []float64) float64 {
	top, sum := slices.Max(list), 0.0
	for _, x := range list {
		sum += math.Exp(x - top)
	}
	return top + math.Log(sum)
}

func mapped(f func(float64) float64) func(*onnx.Node, []array) []array {
	return func(_ *onnx.Node, in []array) []array { return []array{in[0].of(f)} }
}

// broadcastShape is that of elementwise operators, by NumPy's rules.
func broadcastShape(list ...array) []int64 {
	var shape []int64
	for _, a := range list {
		for len(shape) < len(a.shape) {
			shape = slices.Insert(shape, 0, 1)
		}
	}
	for i := range shape {
		for _, a := range list {
			if own := i - (len(shape) - len(a.shape)); own >= 0 && a.shape[own] != 1 {
				shape[i] = a.shape[own]
			}
		}
	}
	return shape
}

// spread repeats an array to a larger shape.
func (a array) spread(shape []int64) array {
	y := newArray(a.elem, shape...)
	strides, steps := a.strides(), y.strides()
	for i := range y.data {
		p := 0
		for own, s := range strides {
			axis := own + len(shape) - len(a.shape)
			if a.shape[own] != 1 {
				p += i / steps[axis] % int(shape[axis]) * s
			}
		}
		y.data[i] = a.data[p]
	}
	return y
}

func broadcasted(f func(x, y float64) float64) func(*onnx.Node, []array) []array {
	return func(_ *onnx.Node, in []array) []array {
		shape := broadcastShape(in...)
		x, y := in[0].spread(shape), in[1].spread(shape)
		for i := range x.data {
			x.data[i] = f(x.data[i], y.data[i])
		}
		return []array{x}
	}
}

func divide(n *onnx.Node, in []array) []array {
	f := func(x, y float64) float64 { return x / y }
	if in[0].elem == onnx.Int64 {
		f = func(x, y float64) float64 { return math.Trunc(x / y) }
	}
	return broadcasted(f)(n, in)
}

func compared(f func(x, y float64) bool) func(*onnx.Node, []array) []array {
	number := func(x, y float64) float64 {
		if f(x, y) {
			return 1
		}
		return 0
	}
	return func(n *onnx.Node, in []array) []array {
		out := broadcasted(number)(n, in)
		out[0].elem = onnx.Bool
		return out
	}
}

func where(_ *onnx.Node, in []array) []array {
	shape := broadcastShape(in...)
	c, x, y := in[0].spread(shape), in[1].spread(shape), in[2].spread(shape)
	for i := range c.data {
		if c.data[i] == 0 {
			x.data[i] = y.data[i]
		}
	}
	return []array{x}
}

func castTo(n *onnx.Node, in []array) []array {
	y := in[0].of(func(x float64) float64 { return x })
	if y.elem = onnx.ElemType(onnx.AttrOr(n, "to", int64(0))); y.elem == onnx.Int64 || y.elem == onnx.Int32 {
		y = y.of(math.Trunc)
	}
	return []array{y}
}

func clipTo(_ *onnx.Node, in []array) []array {
	return []array{in[0].of(func(x float64) float64 { return min(max(x, in[1].data[0]), in[2].data[0]) })}
}

func shapeOfArray(_ *onnx.Node, in []array) []array {
	return []array{numbers(in[0].shape, int64(len(in[0].shape)))}
}

func cumSum(_ *onnx.Node, in []array) []array {
	y := in[0].of(func(x float64) float64 { return x })
	outer, along, inner := y.split(int64(in[1].data[0]))
	for o := range outer {
		for a := 1; a < along; a++ {
			for i := range inner {
				y.data[(o*along+a)*inner+i] += y.data[(o*along+a-1)*inner+i]
			}
		}
	}
	return []array{y}
}

func softmax(n *onnx.Node, in []array) []array {
	y := in[0].of(func(x float64) float64 { return x })
	y.lines(onnx.AttrOr(n, "axis", int64(-1)), func(_ int, line []float64) []float64 {
		sum := logSumExp(line)
		for i := range line {
			line[i] = math.Exp(line[i] - sum)
		}
		return line
	})
	return []array{y}
}

// lines calls f for a copy of all elements along an axis, at each place of the other axes, and puts what it returns in their place.
func (a array) lines(axis int64, f func(i int, line []float64) []float64) {
	outer, along, inner := a.split(axis)
	for o := range outer {
		for i := range inner {
			line := make([]float64, along)
			for k := range line {
				line[k] = a.data[(o*along+k)*inner+i]
			}
			for k, v := range f(o*inner+i, line) {
				a.data[(o*along+k)*inner+i] = v
			}
		}
	}
}

// reduced folds one axis with a function of its elements.
func reduced(f func([]float64) float64) func(*onnx.Node, []array) []array {
	return func(n *onnx.Node, in []array) []array {
		axes := onnx.AttrOr[[]int64](n, "axes", nil)
		if len(in) > 1 {
			axes = []int64{int64(in[1].data[0])}
		}
		return []array{in[0].folded(axes[0], onnx.AttrOr(n, "keepdims", int64(1)) == 1, f)}
	}
}

func (a array) folded(axis int64, keep bool, f func([]float64) float64) array {
	if axis < 0 {
		axis += int64(len(a.shape))
	}
	shape := slices.Clone(a.shape)
	if shape[axis] = 1; !keep {
		shape = slices.Delete(shape, int(axis), int(axis)+1)
	}
	y := newArray(a.elem, shape...)
	a.lines(axis, func(i int, line []float64) []float64 {
		y.data[i] = f(line)
		return nil
	})
	return y
}

func indexOfMax(n *onnx.Node, in []array) []array {
	y := in[0].folded(onnx.AttrOr(n, "axis", int64(0)), onnx.AttrOr(n, "keepdims", int64(1)) == 1, func(line []float64) float64 {
		return float64(slices.Index(line, slices.Max(line)))
	})
	y.elem = onnx.Int64
	return []array{y}
}

// topK lists the k largest elements along an axis, of equal ones the first before the others.
func topK(n *onnx.Node, in []array) []array {
	x, k := in[0], int(in[1].data[0])
	axis := int(onnx.AttrOr(n, "axis", int64(-1)))
	if axis < 0 {
		axis += len(x.shape)
	}
	shape := slices.Clone(x.shape)
	shape[axis] = int64(k)
	best, places := newArray(x.elem, shape...), newArray(onnx.Int64, shape...)
	_, _, inner := x.split(int64(axis))
	x.lines(int64(axis), func(line int, list []float64) []float64 {
		order := make([]int, len(list))
		for i := range order {
			order[i] = i
		}
		slices.SortStableFunc(order, func(a, b int) int {
			switch {
			case list[a] > list[b]:
				return -1
			case list[a] < list[b]:
				return 1
			}
			return 0
		})
		for i := range k {
			p := (line/inner*k+i)*inner + line%inner
			best.data[p], places.data[p] = list[order[i]], float64(order[i])
		}
		return nil
	})
	return []array{best, places}
}
