package quantize

import (
	"math"
	"slices"

	"github.com/mlperf-go/mlperf/internal/onnx"
)

// operators are those that the tests' models use, by their definitions in the ONNX
// specification.
var operators = map[string]func(n *onnx.Node, in []array) array{
	"Add":                elementwise(func(x, y float64) float64 { return x + y }),
	"Sub":                elementwise(func(x, y float64) float64 { return x - y }),
	"Mul":                elementwise(func(x, y float64) float64 { return x * y }),
	"Div":                elementwise(func(x, y float64) float64 { return x / y }),
	"Abs":                unary(math.Abs),
	"Relu":               unary(func(x float64) float64 { return max(x, 0) }),
	"Exp":                unary(math.Exp),
	"Identity":           func(_ *onnx.Node, in []array) array { return in[0].copy() },
	"Clip":               clip,
	"Cast":               cast,
	"Conv":               conv,
	"Gemm":               gemm,
	"MatMul":             func(_ *onnx.Node, in []array) array { return product(in[0], in[1], array{}, false) },
	"BatchNormalization": batchNormalization,
	"GlobalAveragePool":  globalAveragePool,
	"MaxPool":            maxPool,
	"Flatten":            flatten,
	"Reshape":            reshape,
	"Unsqueeze":          unsqueeze,
	"Concat":             concat,
	"Size": func(_ *onnx.Node, in []array) array {
		return array{onnx.Int64, nil, []float64{float64(len(in[0].data))}}
	},
	"ReduceMin":        reduce(func(list []float64) float64 { return slices.Min(list) }),
	"ReduceMax":        reduce(func(list []float64) float64 { return slices.Max(list) }),
	"ReduceMean":       reduce(mean),
	"QuantizeLinear":   quantizeLinear,
	"DequantizeLinear": dequantizeLinear,
}

func mean(list []float64) float64 {
	sum := 0.0
	for _, x := range list {
		sum += x
	}
	return sum / float64(len(list))
}

func (a array) copy() array { return array{a.elem, slices.Clone(a.shape), slices.Clone(a.data)} }

func unary(f func(float64) float64) func(*onnx.Node, []array) array {
	return func(_ *onnx.Node, in []array) array {
		y := in[0].copy()
		for i, x := range y.data {
			y.data[i] = f(x)
		}
		return y
	}
}

// at returns the element of an array that is broadcast to a shape, at a position of it.
func (a array) at(shape []int64, position int) float64 {
	index, stride := 0, 1
	for axis := len(shape) - 1; axis >= 0; axis-- {
		own := axis - (len(shape) - len(a.shape))
		if own >= 0 {
			if a.shape[own] != 1 {
				index += position % int(shape[axis]) * stride
			}
			stride *= int(a.shape[own])
		}
		position /= int(shape[axis])
	}
	return a.data[index]
}

func elementwise(f func(x, y float64) float64) func(*onnx.Node, []array) array {
	return func(_ *onnx.Node, in []array) array {
		shape := slices.Clone(in[0].shape)
		if len(in[1].shape) > len(shape) {
			shape = slices.Clone(in[1].shape)
		}
		for i := range shape {
			for _, a := range in {
				if own := i - (len(shape) - len(a.shape)); own >= 0 {
					shape[i] = max(shape[i], a.shape[own])
				}
			}
		}
		y := newArray(in[0].elem, shape...)
		for i := range y.data {
			y.data[i] = f(in[0].at(shape, i), in[1].at(shape, i))
		}
		return y
	}
}

func clip(_ *onnx.Node, in []array) array {
	y := in[0].copy()
	for i := range y.data {
		if len(in) > 1 && in[1].data != nil {
			y.data[i] = max(y.data[i], in[1].data[0])
		}
		if len(in) > 2 && in[2].data != nil {
			y.data[i] = min(y.data[i], in[2].data[0])
		}
	}
	return y
}

func cast(n *onnx.Node, in []array) array {
	y := in[0].copy()
	y.elem = onnx.ElemType(onnx.AttrOr(n, "to", int64(0)))
	return y
}

// conv convolves two spatial axes.
func conv(n *onnx.Node, in []array) array {
	x, w := in[0], in[1]
	groups := onnx.AttrOr(n, "group", int64(1))
	strides := onnx.AttrOr(n, "strides", []int64{1, 1})
	pads := onnx.AttrOr(n, "pads", []int64{0, 0, 0, 0})
	batch, filters, perGroup := x.shape[0], w.shape[0], w.shape[1]
	height := (x.shape[2]+pads[0]+pads[2]-w.shape[2])/strides[0] + 1
	width := (x.shape[3]+pads[1]+pads[3]-w.shape[3])/strides[1] + 1
	y := newArray(x.elem, batch, filters, height, width)
	for i := range y.data {
		p := int64(i)
		column, row, filter, sample := p%width, p/width%height, p/width/height%filters, p/width/height/filters
		sum := 0.0
		if len(in) > 2 {
			sum = in[2].data[filter]
		}
		for k := range perGroup * w.shape[2] * w.shape[3] {
			dx, dy, c := k%w.shape[3], k/w.shape[3]%w.shape[2], k/w.shape[3]/w.shape[2]
			r, s := row*strides[0]+dy-pads[0], column*strides[1]+dx-pads[1]
			if r < 0 || r >= x.shape[2] || s < 0 || s >= x.shape[3] {
				continue
			}
			channel := filter/(filters/groups)*perGroup + c
			sum += w.data[filter*perGroup*w.shape[2]*w.shape[3]+k] * x.data[((sample*x.shape[1]+channel)*x.shape[2]+r)*x.shape[3]+s]
		}
		y.data[i] = sum
	}
	return y
}

func gemm(n *onnx.Node, in []array) array {
	var bias array
	if len(in) > 2 {
		bias = in[2]
	}
	alpha, beta := float64(onnx.AttrOr(n, "alpha", float32(1))), float64(onnx.AttrOr(n, "beta", float32(1)))
	return product(in[0].times(alpha), in[1], bias.times(beta), onnx.AttrOr(n, "transB", int64(0)) != 0)
}

// times returns an array multiplied by a factor.
func (a array) times(factor float64) array {
	data := slices.Clone(a.data)
	for i := range data {
		data[i] *= factor
	}
	a.data = data
	return a
}

func product(a, b, bias array, transposed bool) array {
	rows, inner := a.shape[0], a.shape[1]
	columns := b.shape[1]
	if transposed {
		columns = b.shape[0]
	}
	y := newArray(a.elem, rows, columns)
	for i := range y.data {
		row, column := int64(i)/columns, int64(i)%columns
		for k := range inner {
			at := k*columns + column
			if transposed {
				at = column*inner + k
			}
			y.data[i] += a.data[row*inner+k] * b.data[at]
		}
		if bias.data != nil {
			y.data[i] += bias.data[column]
		}
	}
	return y
}

func batchNormalization(n *onnx.Node, in []array) array {
	y := in[0].copy()
	plane := int(y.shape[2] * y.shape[3])
	epsilon := float64(onnx.AttrOr(n, "epsilon", float32(1e-5)))
	for i := range y.data {
		c := i / plane % int(y.shape[1])
		y.data[i] = (y.data[i]-in[3].data[c])/math.Sqrt(in[4].data[c]+epsilon)*in[1].data[c] + in[2].data[c]
	}
	return y
}

func globalAveragePool(_ *onnx.Node, in []array) array {
	x := in[0]
	y := newArray(x.elem, x.shape[0], x.shape[1], 1, 1)
	plane := len(x.data) / len(y.data)
	for i := range y.data {
		y.data[i] = mean(x.data[i*plane:][:plane])
	}
	return y
}

// maxPool pools squares without padding.
func maxPool(n *onnx.Node, in []array) array {
	x := in[0]
	k, s := onnx.AttrOr(n, "kernel_shape", []int64{1, 1}), onnx.AttrOr(n, "strides", []int64{1, 1})
	y := newArray(x.elem, x.shape[0], x.shape[1], (x.shape[2]-k[0])/s[0]+1, (x.shape[3]-k[1])/s[1]+1)
	for i := range y.data {
		p := int64(i)
		column, row, plane := p%y.shape[3], p/y.shape[3]%y.shape[2], p/y.shape[3]/y.shape[2]
		y.data[i] = math.Inf(-1)
		for j := range k[0] * k[1] {
			at := (plane*x.shape[2]+row*s[0]+j/k[1])*x.shape[3] + column*s[1] + j%k[1]
			y.data[i] = max(y.data[i], x.data[at])
		}
	}
	return y
}

func flatten(_ *onnx.Node, in []array) array {
	y := in[0].copy()
	y.shape = []int64{y.shape[0], int64(len(y.data)) / y.shape[0]}
	return y
}

func reshape(_ *onnx.Node, in []array) array {
	y := in[0].copy()
	y.shape = nil
	rest := int64(len(y.data))
	for _, d := range in[1].data {
		y.shape = append(y.shape, int64(d))
		if d > 0 {
			rest /= int64(d)
		}
	}
	for i, d := range y.shape {
		if d < 0 {
			y.shape[i] = rest
		}
	}
	return y
}

func unsqueeze(_ *onnx.Node, in []array) array {
	y := in[0].copy()
	for _, axis := range in[1].data {
		y.shape = slices.Insert(y.shape, int(axis), 1)
	}
	return y
}

func concat(n *onnx.Node, in []array) array {
	axis := int(onnx.AttrOr(n, "axis", int64(0)))
	shape := slices.Clone(in[0].shape)
	shape[axis] = 0
	outer := 1
	for _, d := range shape[:axis] {
		outer *= int(d)
	}
	y := array{elem: in[0].elem, shape: shape}
	for block := range outer {
		for _, a := range in {
			size := len(a.data) / outer
			y.data = append(y.data, a.data[block*size:][:size]...)
		}
	}
	for _, a := range in {
		shape[axis] += a.shape[axis]
	}
	return y
}

// reduce reduces all axes, or all but axis 1.
func reduce(f func([]float64) float64) func(*onnx.Node, []array) array {
	return func(n *onnx.Node, in []array) array {
		x := in[0]
		if onnx.AttrOr[[]int64](n, "axes", nil) == nil && len(in) < 2 {
			return array{x.elem, nil, []float64{f(x.data)}}
		}
		y := newArray(x.elem, x.shape[1])
		plane := len(x.data) / int(x.shape[0]*x.shape[1])
		for c := range y.data {
			var list []float64
			for i, v := range x.data {
				if i/plane%len(y.data) == c {
					list = append(list, v)
				}
			}
			y.data[c] = f(list)
		}
		return y
	}
}

func quantizeLinear(_ *onnx.Node, in []array) array {
	y, low, high := in[0].copy(), 0.0, 255.0
	if y.elem = in[2].elem; y.elem == onnx.Int8 {
		low, high = -128, 127
	}
	for i, x := range y.data {
		y.data[i] = min(high, max(low, math.RoundToEven(x/in[1].data[0])+in[2].data[0]))
	}
	return y
}

func dequantizeLinear(n *onnx.Node, in []array) array {
	y := in[0].copy()
	y.elem = onnx.Float32
	axis := int(onnx.AttrOr(n, "axis", int64(1)))
	inner := 1
	if len(in[1].shape) > 0 {
		for _, d := range y.shape[axis+1:] {
			inner *= int(d)
		}
	}
	for i, q := range y.data {
		p := i / inner % len(in[1].data)
		y.data[i] = (q - in[2].data[p]) * in[1].data[p]
	}
	return y
}
