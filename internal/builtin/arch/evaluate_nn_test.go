package arch

import (
	"math"
	"slices"

	"github.com/mlperf-go/mlperf/internal/onnx"
)

// matMul multiplies the last two axes of arrays whose other axes are broadcast.
func matMul(_ *onnx.Node, in []array) []array {
	a, b := in[0], in[1]
	rows, inner, columns := int(a.shape[len(a.shape)-2]), int(a.shape[len(a.shape)-1]), int(b.shape[len(b.shape)-1])
	matrices := func(x array) array { return array{shape: x.shape[:len(x.shape)-2]} }
	outer := broadcastShape(matrices(a), matrices(b))
	for _, x := range []*array{&a, &b} {
		if shape := slices.Concat(outer, x.shape[len(x.shape)-2:]); !slices.Equal(shape, x.shape) {
			*x = x.spread(shape)
		}
	}
	y := newArray(a.elem, slices.Concat(outer, []int64{int64(rows), int64(columns)})...)
	for m := range int(product(outer)) {
		multiply(y.data[m*rows*columns:][:rows*columns], a.data[m*rows*inner:], b.data[m*inner*columns:], rows, inner, columns)
	}
	return []array{y}
}

// multiply adds a [rows inner] times b [inner columns] to y.
func multiply(y, a, b []float64, rows, inner, columns int) {
	for r := range rows {
		out := y[r*columns:][:columns]
		for k := range inner {
			factor := a[r*inner+k]
			for c, w := range b[k*columns:][:columns] {
				out[c] += factor * w
			}
		}
	}
}

// gemm multiplies with a matrix of a row for each output, and adds a bias.
func gemm(n *onnx.Node, in []array) []array {
	if onnx.AttrOr(n, "transB", int64(0)) != 1 {
		panic("the built-in models have no other Gemm")
	}
	rows, inner, units := in[0].shape[0], int(in[0].shape[1]), in[1].shape[0]
	y := newArray(in[0].elem, rows, units)
	for r := range int(rows) {
		copy(y.data[r*int(units):], timesRows(in[1].data, int(units), in[0].data[r*inner:][:inner]))
	}
	return broadcasted(func(x, y float64) float64 { return x + y })(nil, []array{y, in[2]})
}

// windows calls f for each place of an output of n spatial axes, and each element of the kernel that lies within the input:
// with the index of the place, of the element, and of where it lies.
func windows(n *onnx.Node, in, out, kernel []int64, f func(place, element, at int)) {
	ones := slices.Repeat([]int64{1}, len(in))
	strides, dilations := onnx.AttrOr(n, "strides", ones), onnx.AttrOr(n, "dilations", ones)
	pads := onnx.AttrOr(n, "pads", make([]int64, 2*len(in)))
	for place := range product(out) {
		for element := range product(kernel) {
			at, inside := int64(0), true
			step, p, e := int64(1), place, element
			for axis := len(in) - 1; axis >= 0; axis-- {
				x := p%out[axis]*strides[axis] + e%kernel[axis]*dilations[axis] - pads[axis]
				inside = inside && x >= 0 && x < in[axis]
				at += x * step
				step, p, e = step*in[axis], p/out[axis], e/kernel[axis]
			}
			if inside {
				f(int(place), int(element), int(at))
			}
		}
	}
}

// slid is the size of the spatial axes behind a window.
func slid(n *onnx.Node, in, kernel []int64) []int64 {
	ones := slices.Repeat([]int64{1}, len(in))
	strides, dilations := onnx.AttrOr(n, "strides", ones), onnx.AttrOr(n, "dilations", ones)
	pads := onnx.AttrOr(n, "pads", make([]int64, 2*len(in)))
	out := make([]int64, len(in))
	for i := range out {
		out[i] = (in[i]+pads[i]+pads[len(in)+i]-dilations[i]*(kernel[i]-1)-1)/strides[i] + 1
	}
	return out
}

func convolved(n *onnx.Node, in []array) []array {
	x, w := in[0], in[1]
	kernel := w.shape[2:]
	out := slid(n, x.shape[2:], kernel)
	y := newArray(x.elem, slices.Concat([]int64{x.shape[0], w.shape[0]}, out)...)
	groups := int(onnx.AttrOr(n, "group", int64(1)))
	filters, each := int(w.shape[0]), int(w.shape[1])
	plane, places, elements := int(product(x.shape[2:])), int(product(out)), int(product(kernel))
	for s := range int(x.shape[0]) {
		for f := range filters {
			part := y.data[(s*filters+f)*places:][:places]
			for i := range part {
				if len(in) > 2 {
					part[i] = in[2].data[f]
				}
			}
			for c := range each {
				channel := x.data[(s*int(x.shape[1])+f/(filters/groups)*each+c)*plane:]
				weights := w.data[(f*each+c)*elements:]
				windows(n, x.shape[2:], out, kernel, func(place, element, at int) { part[place] += channel[at] * weights[element] })
			}
		}
	}
	return []array{y}
}

// convTransposed enlarges: each element of the input becomes a kernel, which do not overlap.
func convTransposed(n *onnx.Node, in []array) []array {
	x, w := in[0], in[1]
	kernel := w.shape[2:]
	y := newArray(x.elem, x.shape[0], w.shape[1])
	for i, k := range kernel {
		y.shape = append(y.shape, x.shape[2+i]*k)
	}
	y.data = make([]float64, product(y.shape))
	y.each(func(index []int, p int) {
		from, element := []int{index[0], 0}, []int{0, index[1]}
		for i, k := range kernel {
			from, element = append(from, index[2+i]/int(k)), append(element, index[2+i]%int(k))
		}
		y.data[p] = in[2].data[index[1]]
		for c := range int(x.shape[1]) {
			from[1], element[0] = c, c
			y.data[p] += x.at(from...) * w.at(element...)
		}
	})
	return []array{y}
}

func maxPooled(n *onnx.Node, in []array) []array {
	x, kernel := in[0], onnx.AttrOr[[]int64](n, "kernel_shape", nil)
	out := slid(n, x.shape[2:], kernel)
	y := newArray(x.elem, slices.Concat(x.shape[:2], out)...)
	y = y.of(func(float64) float64 { return math.Inf(-1) })
	plane, places := int(product(x.shape[2:])), int(product(out))
	for c := range int(x.shape[0] * x.shape[1]) {
		windows(n, x.shape[2:], out, kernel, func(place, _, at int) {
			y.data[c*places+place] = max(y.data[c*places+place], x.data[c*plane+at])
		})
	}
	return []array{y}
}

func globalAverage(_ *onnx.Node, in []array) []array {
	x := in[0]
	y := newArray(x.elem, x.shape[0], x.shape[1])
	plane := len(x.data) / len(y.data)
	for i := range y.data {
		y.data[i] = total(x.data[i*plane:][:plane]) / float64(plane)
	}
	for range x.shape[2:] {
		y.shape = append(y.shape, 1)
	}
	return []array{y}
}

func batchNormal(n *onnx.Node, in []array) []array {
	y, epsilon := in[0].of(func(x float64) float64 { return x }), float64(onnx.AttrOr(n, "epsilon", float32(1e-5)))
	plane := int(product(y.shape[2:]))
	for i, x := range y.data {
		c := i / plane % int(y.shape[1])
		y.data[i] = (x-in[3].data[c])/math.Sqrt(in[4].data[c]+epsilon)*in[1].data[c] + in[2].data[c]
	}
	return []array{y}
}

// standardized has mean 0 and variance 1.
func standardized(list []float64, epsilon float64) {
	mean, squares := total(list)/float64(len(list)), 0.0
	for _, x := range list {
		squares += (x - mean) * (x - mean)
	}
	for i := range list {
		list[i] = (list[i] - mean) / math.Sqrt(squares/float64(len(list))+epsilon)
	}
}

func instanceNormal(n *onnx.Node, in []array) []array {
	y := in[0].of(func(x float64) float64 { return x })
	plane := int(product(y.shape[2:]))
	for i := 0; i < len(y.data); i += plane {
		c := i / plane % int(y.shape[1])
		standardized(y.data[i:][:plane], float64(onnx.AttrOr(n, "epsilon", float32(1e-5))))
		for j := i; j < i+plane; j++ {
			y.data[j] = y.data[j]*in[1].data[c] + in[2].data[c]
		}
	}
	return []array{y}
}

func layerNormal(n *onnx.Node, in []array) []array {
	y := in[0].of(func(x float64) float64 { return x })
	width := len(in[1].data)
	for i := 0; i < len(y.data); i += width {
		standardized(y.data[i:][:width], float64(onnx.AttrOr(n, "epsilon", float32(1e-5))))
		for j := range width {
			y.data[i+j] = y.data[i+j]*in[1].data[j] + in[2].data[j]
		}
	}
	return []array{y}
}

// simplifiedNormal divides by the root mean square.
func simplifiedNormal(n *onnx.Node, in []array) []array {
	y := in[0].of(func(x float64) float64 { return x })
	width := len(in[1].data)
	for i := 0; i < len(y.data); i += width {
		squares := 0.0
		for _, x := range y.data[i:][:width] {
			squares += x * x
		}
		for j := range width {
			y.data[i+j] *= in[1].data[j] / math.Sqrt(squares/float64(width)+float64(onnx.AttrOr(n, "epsilon", float32(1e-5))))
		}
	}
	return []array{y}
}

// skipNormal normalises a sum, which is its fourth output.
func skipNormal(n *onnx.Node, in []array) []array {
	sum := broadcasted(func(x, y float64) float64 { return x + y })(n, in[:2])[0]
	return []array{simplifiedNormal(n, []array{sum, in[2]})[0], {}, {}, sum}
}

// lstmOf runs an LSTM in one direction or two. Behind the end of a sequence it gives out zeros.
func lstmOf(n *onnx.Node, in []array) []array {
	x, hidden := in[0], int(onnx.AttrOr(n, "hidden_size", int64(0)))
	steps, batch, width := int(x.shape[0]), int(x.shape[1]), int(x.shape[2])
	cells := int(in[1].shape[0])
	y := newArray(x.elem, int64(steps), int64(cells), int64(batch), int64(hidden))
	lastH, lastC := newArray(x.elem, int64(cells), int64(batch), int64(hidden)), newArray(x.elem, int64(cells), int64(batch), int64(hidden))
	for cell := range cells {
		w, r, b := in[1].data[cell*4*hidden*width:], in[2].data[cell*4*hidden*hidden:], in[3].data[cell*8*hidden:]
		for s := range batch {
			length := steps
			if len(in) > 4 {
				length = int(in[4].data[s])
			}
			at := (cell*batch + s) * hidden
			h, c := lastH.data[at:][:hidden], lastC.data[at:][:hidden]
			for k := range length {
				step := k
				if cell == 1 {
					step = length - 1 - k
				}
				lstmStep(x.data[(step*batch+s)*width:][:width], h, c, w, r, b)
				copy(y.data[((step*cells+cell)*batch+s)*hidden:], h)
			}
		}
	}
	return []array{y, lastH, lastC}
}

// lstmStep changes the output and the cell of an LSTM by one input. The gates are i, o, f, c.
func lstmStep(x, h, c, w, r, b []float64) {
	hidden := len(h)
	z := make([]float64, 4*hidden)
	for row := range z {
		z[row] = b[row] + b[4*hidden+row]
		for i, v := range x {
			z[row] += v * w[row*len(x)+i]
		}
		for i, v := range h {
			z[row] += v * r[row*hidden+i]
		}
	}
	for u := range hidden {
		c[u] = logistic(z[2*hidden+u])*c[u] + logistic(z[u])*math.Tanh(z[3*hidden+u])
		h[u] = logistic(z[hidden+u]) * math.Tanh(c[u])
	}
}
