//go:build ort

package arch

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/onnx"
)

// asWeights are the numbers of an array as weights.
func asWeights(a array) Given {
	g := make(Given, len(a.data))
	for i, x := range a.data {
		g[i] = float32(x)
	}
	return g
}

func TestORTLayersOfOneValueComputeWhatTheySay(t *testing.T) {
	x := normals(1, 2, 3, 4)
	sigmoid := func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
	for _, c := range []struct {
		name  string
		layer func(b *Builder, x *onnx.Value) *onnx.Value
		want  func(x float64) float64
	}{
		{"relu", func(b *Builder, x *onnx.Value) *onnx.Value { return b.Relu("l", x) }, func(x float64) float64 { return max(x, 0) }},
		{"relu6", func(b *Builder, x *onnx.Value) *onnx.Value {
			return b.Relu6("l", b.Binary("Mul", "m", x, b.scalar(8)))
		}, func(x float64) float64 { return min(max(8*x, 0), 6) }},
		{"clip", func(b *Builder, x *onnx.Value) *onnx.Value { return b.Clip("l", x, -0.5, 0.25) }, func(x float64) float64 { return min(max(x, -0.5), 0.25) }},
		{"GELU with the error function", func(b *Builder, x *onnx.Value) *onnx.Value { return b.Gelu("l", x) },
			func(x float64) float64 { return x * (1 + math.Erf(x/math.Sqrt2)) / 2 }},
		{"SiLU", func(b *Builder, x *onnx.Value) *onnx.Value { return b.silu("l", x, 1) }, func(x float64) float64 { return x * sigmoid(x) }},
		{"CLIP's quick GELU", func(b *Builder, x *onnx.Value) *onnx.Value { return b.silu("l", x, 1.702) }, func(x float64) float64 { return x * sigmoid(1.702*x) }},
		{"a sum with itself", func(b *Builder, x *onnx.Value) *onnx.Value { return b.Add("l", x, x) }, func(x float64) float64 { return 2 * x }},
		{"the same constant twice", func(b *Builder, x *onnx.Value) *onnx.Value {
			return b.Add("l", b.Binary("Mul", "m", x, b.scalar(3)), b.scalar(3))
		}, func(x float64) float64 { return 3*x + 3 }},
	} {
		t.Run(c.name, func(t *testing.T) { checkArray(t, c.name, layerOf(t, x, c.layer), x.of(c.want)) })
	}
}

func TestORTLayersThatMoveElementsMoveTheRightOnes(t *testing.T) {
	x := newArray(onnx.Float32, 2, 3, 4)
	for i := range x.data {
		x.data[i] = float64(i)
	}
	floats := func(shape []int64, list ...float32) array { return numbers(list, shape...) }
	for _, c := range []struct {
		name  string
		layer func(b *Builder, x *onnx.Value) *onnx.Value
		want  array
	}{
		{"a slice of the middle", func(b *Builder, x *onnx.Value) *onnx.Value { return b.Slice("l", b.Slice("s", x, 0, 1, 2), 2, 1, 3) },
			floats([]int64{1, 3, 2}, 13, 14, 17, 18, 21, 22)},
		{"a slice from the end", func(b *Builder, x *onnx.Value) *onnx.Value {
			return b.Slice("l", b.Slice("s", x, -3, -1, 2), -1, -2, -1)
		},
			floats([]int64{1, 3, 1}, 14, 18, 22)},
		{"rows by their numbers", func(b *Builder, x *onnx.Value) *onnx.Value { return b.Gather("l", x, b.ints(2, 0), 1) },
			floats([]int64{2, 2, 4}, 8, 9, 10, 11, 0, 1, 2, 3, 20, 21, 22, 23, 12, 13, 14, 15)},
		{"elements by their places", func(b *Builder, x *onnx.Value) *onnx.Value {
			return b.GatherND("l", x, b.Constant(onnx.TensorOf("at", []int64{0, 2, 1, 1, 0, 3}, 2, 3)), 0)
		}, floats([]int64{2}, 9, 15)},
		{"elements by their places in each batch", func(b *Builder, x *onnx.Value) *onnx.Value {
			return b.GatherND("l", x, b.Constant(onnx.TensorOf("at", []int64{2, 1, 0, 3}, 2, 1, 2)), 1)
		}, floats([]int64{2, 1}, 9, 15)},
		{"updates at places", func(b *Builder, x *onnx.Value) *onnx.Value {
			zeros := b.Slice("s", b.Binary("Mul", "z", x, b.scalar(0)), 0, 0, 1)
			at := b.Constant(onnx.TensorOf("at", []int64{0, 1, 2, 0, 0, 0}, 2, 3))
			return b.ScatterND("l", zeros, at, b.Constant(onnx.TensorOf("v", []float32{7, 8}, 2)))
		}, floats([]int64{1, 3, 4}, 8, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0, 0)},
		{"the sum along an axis", func(b *Builder, x *onnx.Value) *onnx.Value { return b.Reduce("ReduceSum", "l", x, -2) },
			floats([]int64{2, 4}, 12, 15, 18, 21, 48, 51, 54, 57)},
		{"the maximum along an axis", func(b *Builder, x *onnx.Value) *onnx.Value { return b.Reduce("ReduceMax", "l", x, 2) },
			floats([]int64{2, 3}, 3, 7, 11, 15, 19, 23)},
		{"the largest along an axis", func(b *Builder, x *onnx.Value) *onnx.Value { v, _ := b.TopK("l", x, 1, 2); return v },
			floats([]int64{2, 2, 4}, 8, 9, 10, 11, 4, 5, 6, 7, 20, 21, 22, 23, 16, 17, 18, 19)},
		{"a flattened value", func(b *Builder, x *onnx.Value) *onnx.Value { return b.Slice("l", b.Flatten("f", x), 1, 10, 12) }, floats([]int64{2, 2}, 10, 11, 22, 23)},
		{"heads", func(b *Builder, x *onnx.Value) *onnx.Value { return b.heads("l", b.Slice("s", x, 0, 0, 1), 2, 2) },
			floats([]int64{1, 2, 3, 2}, 0, 1, 4, 5, 8, 9, 2, 3, 6, 7, 10, 11)},
		{"joined along the last axis", func(b *Builder, x *onnx.Value) *onnx.Value {
			return b.Concat("l", -1, b.Slice("a", x, 2, 3, 4), b.Slice("c", x, 2, 0, 1))
		}, floats([]int64{2, 3, 2}, 3, 0, 7, 4, 11, 8, 15, 12, 19, 16, 23, 20)},
		{"a repeated constant", func(b *Builder, x *onnx.Value) *onnx.Value { return b.repeated(2.5, 3) }, floats([]int64{3}, 2.5, 2.5, 2.5)},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := layerOf(t, x, func(b *Builder, x *onnx.Value) *onnx.Value { return b.Unary("Identity", "out", c.layer(b, x)) })
			checkArray(t, c.name, got, c.want)
		})
	}
}

func TestORTAnArgMaxIsTheFirstOfEqualOnes(t *testing.T) {
	x := numbers([]float32{1, 5, 5, 2, 9, 0, 9, 9}, 2, 4)
	for _, axis := range []int64{1, -1} {
		got := layerOf(t, x, func(b *Builder, x *onnx.Value) *onnx.Value { return b.ArgMax("l", x, axis) })
		checkArray(t, "ArgMax", got, numbers([]int64{1, 0}, 2))
	}
}

func TestORTSoftmaxIsTakenAlongItsAxis(t *testing.T) {
	x := normals(2, 3, 4, 5)
	got := layerOf(t, x, func(b *Builder, x *onnx.Value) *onnx.Value { return b.Softmax("l", x, 1) })
	for i := range 3 {
		for k := range 5 {
			sum := 0.0
			for j := range 4 {
				sum += math.Exp(x.at(i, j, k))
			}
			for j := range 4 {
				if want := math.Exp(x.at(i, j, k)) / sum; abs(got.at(i, j, k)-want) > 1e-6 {
					t.Fatalf("at %d %d %d is %v, want %v", i, j, k, got.at(i, j, k), want)
				}
			}
		}
	}
}

// direct is a convolution of one sample by its definition, with padding at the beginning of rows and columns.
func direct(x, w, bias array, c Conv, top, left, height, width int) array {
	groups := max(int(c.Groups), 1)
	pick := func(a Axes, i int) int {
		if len(a) == 0 {
			return 1
		}
		return int(a[min(i, len(a)-1)])
	}
	y := newArray(onnx.Float32, 1, c.Filters, int64(height), int64(width))
	y.each(func(index []int, p int) {
		f := index[1]
		y.data[p] = bias.data[f]
		for ch := range int(w.shape[1]) {
			for i := range int(w.shape[2]) {
				for j := range int(w.shape[3]) {
					row := index[2]*pick(c.Strides, 0) + i*pick(c.Dilations, 0) - top
					col := index[3]*pick(c.Strides, 1) + j*pick(c.Dilations, 1) - left
					if row >= 0 && row < int(x.shape[2]) && col >= 0 && col < int(x.shape[3]) {
						y.data[p] += w.at(f, ch, i, j) * x.at(0, f/(int(c.Filters)/groups)*int(w.shape[1])+ch, row, col)
					}
				}
			}
		}
	})
	return y
}

func TestORTConvolutionsComputeWhatTheySay(t *testing.T) {
	for _, c := range []struct {
		name                     string
		conv                     Conv
		top, left, height, width int
	}{
		{"of one element", Conv{Filters: 3, Kernel: Axes{1}}, 0, 0, 9, 8},
		{"with padding all around", Conv{Filters: 2, Kernel: Axes{3}, Pads: Pad(1)}, 1, 1, 9, 8},
		{"with more padding at the end", Conv{Filters: 2, Kernel: Axes{3, 2}, Pads: Pads{Begin: Axes{0, 1}, End: Axes{2}}}, 0, 1, 9, 10},
		{"with strides", Conv{Filters: 2, Kernel: Axes{3}, Strides: Axes{2, 3}}, 0, 0, 4, 2},
		{"with dilations", Conv{Filters: 2, Kernel: Axes{3}, Dilations: Axes{2, 1}, Pads: Pad(2)}, 2, 2, 9, 10},
		{"of groups", Conv{Filters: 6, Groups: 2, Kernel: Axes{3}, Pads: Pad(1)}, 1, 1, 9, 8},
		{"of each channel", Conv{Filters: 4, Groups: 4, Kernel: Axes{3}}, 0, 0, 7, 6},
		{"as TensorFlow pads, of an odd size", Conv{Filters: 2, Kernel: Axes{3}, Strides: Axes{2}, Pads: PadSame()}, 1, 0, 5, 4},
		{"as TensorFlow pads, with a kernel of two", Conv{Filters: 2, Kernel: Axes{2}, Pads: PadSame()}, 0, 0, 9, 8},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := normals(1, 1, 4, 9, 8)
			kernel := Axes{c.conv.Kernel[0], c.conv.Kernel[len(c.conv.Kernel)-1]}
			w := normals(2, c.conv.Filters, 4/max(c.conv.Groups, 1), kernel[0], kernel[1])
			bias := normals(3, c.conv.Filters)
			c.conv.Weights, c.conv.Bias = asWeights(w), asWeights(bias)
			got := layerOf(t, x, func(b *Builder, x *onnx.Value) *onnx.Value { return b.Conv("l", x, c.conv) })
			checkArray(t, c.name, got, direct(x, w, bias, c.conv, c.top, c.left, c.height, c.width))
		})
	}
}

func TestORTATransposedConvolutionPutsItsKernelInThePlaceOfEachElement(t *testing.T) {
	x, w, bias := normals(1, 1, 2, 2, 2), normals(2, 2, 3, 2, 3), normals(3, 3)
	got := layerOf(t, x, func(b *Builder, x *onnx.Value) *onnx.Value {
		return b.ConvTranspose("l", x, ConvTranspose{Filters: 3, Kernel: Axes{2, 3}, Weights: asWeights(w), Bias: asWeights(bias)})
	})
	want := newArray(onnx.Float32, 1, 3, 4, 6)
	want.each(func(i []int, p int) {
		want.data[p] = bias.data[i[1]]
		for c := range 2 {
			want.data[p] += x.at(0, c, i[2]/2, i[3]/3) * w.at(c, i[1], i[2]%2, i[3]%3)
		}
	})
	checkArray(t, "ConvTranspose", got, want)
}

func TestORTPoolingTakesTheLargestOfEachWindow(t *testing.T) {
	x := normals(1, 2, 3, 7, 6)
	got := layerOf(t, x, func(b *Builder, x *onnx.Value) *onnx.Value {
		return b.MaxPool("l", x, Pool{Kernel: Axes{3, 2}, Strides: Axes{2}, Pads: Pad(1)})
	})
	want := newArray(onnx.Float32, 2, 3, 4, 4)
	want.each(func(i []int, p int) {
		want.data[p] = math.Inf(-1)
		for row := max(0, 2*i[2]-1); row < min(7, 2*i[2]+2); row++ {
			for col := max(0, 2*i[3]-1); col < min(6, 2*i[3]+1); col++ {
				want.data[p] = max(want.data[p], x.at(i[0], i[1], row, col))
			}
		}
	})
	checkArray(t, "MaxPool", got, want)
	mean := layerOf(t, x, func(b *Builder, x *onnx.Value) *onnx.Value { return b.GlobalAveragePool("l", x) })
	if want := total(x.data[7*6:][:7*6]) / (7 * 6); mean.shape[3] != 1 || abs(mean.at(0, 1, 0, 0)-want) > 1e-6 {
		t.Errorf("the mean of a channel is %v of %v, want %v", mean.at(0, 1, 0, 0), mean.shape, want)
	}
}

func TestORTDenseLayersHaveARowForEachUnitAndLinearOnesForEachInput(t *testing.T) {
	x, w, bias := normals(1, 2, 3), normals(2, 4, 3), normals(3, 4)
	want := newArray(onnx.Float32, 2, 4)
	want.each(func(i []int, p int) {
		want.data[p] = bias.data[i[1]]
		for k := range 3 {
			want.data[p] += x.at(i[0], k) * w.at(i[1], k)
		}
	})
	turned, unbiased := newArray(onnx.Float32, 3, 4), newArray(onnx.Float32, 2, 4)
	turned.each(func(i []int, p int) { turned.data[p] = w.at(i[1], i[0]) })
	unbiased.each(func(i []int, p int) { unbiased.data[p] = want.data[p] - bias.data[i[1]] })
	checkArray(t, "Dense", layerOf(t, x, func(b *Builder, x *onnx.Value) *onnx.Value {
		return b.Dense("l", x, Dense{Units: 4, Weights: asWeights(w), Bias: asWeights(bias)})
	}), want)
	checkArray(t, "Linear", layerOf(t, x, func(b *Builder, x *onnx.Value) *onnx.Value {
		return b.Linear("l", x, 4, asWeights(turned), asWeights(bias))
	}), want)
	checkArray(t, "product", layerOf(t, x, func(b *Builder, x *onnx.Value) *onnx.Value {
		return b.Add("l", b.product("p", x, 4, asWeights(turned)), b.Weight("b", asWeights(bias), 4))
	}), want)
	checkArray(t, "without a bias", layerOf(t, x, func(b *Builder, x *onnx.Value) *onnx.Value {
		return b.Dense("l", x, Dense{Units: 4, Weights: asWeights(w)})
	}), unbiased)
}

// normalOf is what a normalisation makes of a list.
func normalOf(list []float64, epsilon, gamma, beta float64) []float64 {
	mean := total(list) / float64(len(list))
	variance := 0.0
	for _, x := range list {
		variance += (x - mean) * (x - mean) / float64(len(list))
	}
	out := make([]float64, len(list))
	for i, x := range list {
		out[i] = (x-mean)/math.Sqrt(variance+epsilon)*gamma + beta
	}
	return out
}

func TestORTNormsComputeWhatTheySay(t *testing.T) {
	x := normals(4, 2, 4, 3, 3)
	gamma, beta := normals(5, 4), normals(6, 4)
	mean, variance := normals(7, 4), normals(8, 4).of(func(x float64) float64 { return float64(float32(x*x + 0.1)) })
	got := layerOf(t, x, func(b *Builder, x *onnx.Value) *onnx.Value {
		return b.BatchNorm("l", x, BatchNorm{Epsilon: 0.01, Gamma: asWeights(gamma), Beta: asWeights(beta), Mean: asWeights(mean), Variance: asWeights(variance)})
	})
	want := newArray(onnx.Float32, 2, 4, 3, 3)
	want.each(func(i []int, p int) {
		c := i[1]
		want.data[p] = (x.data[p]-mean.data[c])/math.Sqrt(variance.data[c]+0.01)*gamma.data[c] + beta.data[c]
	})
	checkArray(t, "BatchNorm", got, want)

	perChannel := newArray(onnx.Float32, 2, 4, 3, 3)
	perGroup := newArray(onnx.Float32, 2, 4, 3, 3)
	for c := range 8 {
		copy(perChannel.data[9*c:], normalOf(x.data[9*c:][:9], 1e-5, gamma.data[c%4], beta.data[c%4]))
	}
	for g := range 4 { // of two channels each
		copy(perGroup.data[18*g:], normalOf(x.data[18*g:][:18], 0.1, 1, 0))
	}
	checkArray(t, "InstanceNorm", layerOf(t, x, func(b *Builder, x *onnx.Value) *onnx.Value {
		return b.InstanceNorm("l", x, InstanceNorm{Gamma: asWeights(gamma), Beta: asWeights(beta)})
	}), perChannel)
	checkArray(t, "groupNorm", layerOf(t, x, func(b *Builder, x *onnx.Value) *onnx.Value { return b.groupNorm("l", x, 2, 0.1) }), perGroup)
}

func TestORTALayerNormIsTakenAlongTheLastAxis(t *testing.T) {
	x, gamma, beta := normals(4, 2, 3, 5), normals(5, 5), normals(6, 5)
	want := newArray(onnx.Float32, 2, 3, 5)
	for i := 0; i < 30; i += 5 {
		for j, v := range normalOf(x.data[i:][:5], 0.5, 1, 0) {
			want.data[i+j] = v*gamma.data[j] + beta.data[j]
		}
	}
	checkArray(t, "LayerNorm", layerOf(t, x, func(b *Builder, x *onnx.Value) *onnx.Value {
		return b.LayerNorm("l", x, 0.5, asWeights(gamma), asWeights(beta))
	}), want)
}

func TestORTAttentionIsTheWeightedMeanOfValues(t *testing.T) {
	const heads, size, from, at = 2, 3, 4, 5
	q, k, v := normals(1, 1, from, heads*size), normals(2, 1, at, heads*size), normals(3, 1, at, heads*size)
	mask := newArray(onnx.Float32, 1, 1, 1, at)
	mask.data[2] = -1e4
	for _, masked := range []bool{false, true} {
		b := NewBuilder("test", 1)
		in := func(name string, a array) *onnx.Value { return b.Input(name, onnx.Float32, onnx.FixedShape(a.shape)) }
		query, key, value, bias := in("q", q), in("k", k), in("v", v), in("mask", mask)
		if !masked {
			bias = nil
		}
		got := outputOf(t, b, b.attend("l", heads, size, query, key, value, bias, 0.7), map[string]array{"q": q, "k": k, "v": v, "mask": mask})
		want := newArray(onnx.Float32, 1, from, heads*size)
		for head := range heads {
			for s := range from {
				weights, sum := make([]float64, at), 0.0
				for i := range weights {
					score := 0.0
					for j := range size {
						score += q.at(0, s, head*size+j) * k.at(0, i, head*size+j) * 0.7
					}
					if !masked || i != 2 {
						weights[i] = math.Exp(score)
					}
					sum += weights[i]
				}
				for j := range size {
					for i, w := range weights {
						want.data[(s*heads+head)*size+j] += w / sum * v.at(0, i, head*size+j)
					}
				}
			}
		}
		checkArray(t, "attend", got, want)
	}
}

func TestORTResizedImagesHaveTheirOldNumbersWhereTheyShould(t *testing.T) {
	x := numbers([]float32{1, 2, 3, 4}, 1, 1, 2, 2)
	row := func(a array, i int) []float64 { return a.data[i*int(a.shape[3]):][:a.shape[3]] }
	for _, c := range []struct {
		name   string
		resize Resize
		want   []float64 // the first row
	}{
		{"nearest, of asymmetric coordinates rounded down", Resize{Sizes: Axes{4}, Mode: "nearest", Coordinates: "asymmetric", Nearest: "floor"}, []float64{1, 1, 2, 2}},
		{"linear with aligned corners", Resize{Sizes: Axes{4}, Coordinates: "align_corners"}, []float64{1, 4.0 / 3, 5.0 / 3, 2}},
		{"linear between the middles", Resize{Sizes: Axes{4}}, []float64{1, 1.25, 1.75, 2}},
		{"as large as it is", Resize{Sizes: Axes{2}}, []float64{1, 2}},
	} {
		got := layerOf(t, x, func(b *Builder, x *onnx.Value) *onnx.Value { return b.Resize("l", x, c.resize) })
		for i, want := range c.want {
			if abs(row(got, 0)[i]-want) > 1e-6 {
				t.Errorf("%s: the first row is %v, want %v", c.name, row(got, 0), c.want)
				break
			}
		}
	}
}

// steps runs an LSTM over a sequence by its definition, with a matrix for each gate.
func steps(x [][]float64, hidden int, gate func(kind int, x, h []float64) []float64) (hs [][]float64) {
	h, c := make([]float64, hidden), make([]float64, hidden)
	for _, now := range x {
		i, f, g, o := gate(gateInput, now, h), gate(gateForget, now, h), gate(gateCandidate, now, h), gate(gateOutput, now, h)
		next := make([]float64, hidden)
		for u := range hidden {
			c[u] = logistic(f[u])*c[u] + logistic(i[u])*math.Tanh(g[u])
			next[u] = logistic(o[u]) * math.Tanh(c[u])
		}
		h = next
		hs = append(hs, next)
	}
	return hs
}

// The layer that runs over sequences has ONNX's order of gates, and sees each sequence up to its end only.
func TestORTAnLSTMRunsInBothDirectionsToTheEndOfEachSequence(t *testing.T) {
	const length, sequences, inputs, hidden = 4, 2, 3, 2
	x, lengths := normals(1, length, sequences, inputs), []int32{4, 2}
	w, r, bias := normals(2, 2*4*hidden, inputs), normals(3, 2*4*hidden, hidden), normals(4, 2*8*hidden)
	b := NewBuilder("test", 1)
	in, ends := b.Input("x", onnx.Float32, onnx.FixedShape(x.shape)), b.Input("lengths", onnx.Int32, onnx.FixedShape([]int64{sequences}))
	out := b.lstm("l", in, ends, recurrent{Hidden: hidden, Cells: 2, Weights: asWeights(w), Recurrence: asWeights(r), Bias: asWeights(bias)})
	got := outputOf(t, b, out[0], map[string]array{"x": x, "lengths": numbers(lengths, sequences)})

	for cell := range 2 {
		for s, end := range lengths {
			gate := func(kind int, x, h []float64) []float64 {
				rows := (cell*4 + slices.Index(onnxGates[:], kind)) * hidden
				z := make([]float64, hidden)
				for u := range z {
					at := cell*8*hidden + slices.Index(onnxGates[:], kind)*hidden + u
					z[u] = bias.data[at] + bias.data[at+4*hidden]
					for i, v := range x {
						z[u] += v * w.at(rows+u, i)
					}
					for i, v := range h {
						z[u] += v * r.at(rows+u, i)
					}
				}
				return z
			}
			var read [][]float64
			for step := range int(end) {
				read = append(read, x.data[(step*sequences+s)*inputs:][:inputs])
			}
			if cell == 1 {
				slices.Reverse(read)
			}
			want := steps(read, hidden, gate)
			if cell == 1 {
				slices.Reverse(want)
			}
			for step := range length {
				for u := range hidden {
					expected := 0.0 // behind the end
					if step < int(end) {
						expected = want[step][u]
					}
					if abs(got.at(step, cell, s, u)-expected) > 1e-5 {
						t.Fatalf("step %d, cell %d, sequence %d, unit %d is %v, want %v", step, cell, s, u, got.at(step, cell, s, u), expected)
					}
				}
			}
		}
	}
}

// The layer of one step has TensorFlow's order of gates, and its input ends with the last output.
func TestORTACellOfAnLSTMIsOneStep(t *testing.T) {
	const inputs, hidden = 3, 2
	w, bias := normals(2, 4*hidden, inputs+hidden), normals(3, 4*hidden)
	xs := [][]float64{normals(4, inputs).data, normals(5, inputs).data, normals(6, inputs).data}
	want := steps(xs, hidden, func(kind int, x, h []float64) []float64 {
		z := make([]float64, hidden)
		for u := range z {
			z[u] = bias.data[kind*hidden+u]
			for i, v := range slices.Concat(x, h) {
				z[u] += v * w.at(kind*hidden+u, i)
			}
		}
		return z
	})
	h, c := make([]float64, hidden), newArray(onnx.Float32, 1, hidden)
	for i, x := range xs {
		b := NewBuilder("test", 1)
		in, cell := b.Input("x", onnx.Float32, onnx.FixedShape([]int64{1, inputs + hidden})), b.Input("c", onnx.Float32, onnx.FixedShape([]int64{1, hidden}))
		out, next := b.lstmCell("l", in, cell, hidden, asWeights(w), asWeights(bias))
		b.Output(out, next)
		m, _, err := b.Model()
		if err != nil {
			t.Fatal(err)
		}
		values := evaluate(t, m, map[string]array{"x": {onnx.Float32, []int64{1, inputs + hidden}, slices.Concat(x, h)}, "c": c})
		h, c = values[out.Name].data, values[next.Name]
		checkArray(t, "the output", values[out.Name], array{onnx.Float32, []int64{1, hidden}, want[i]})
	}
}

// A randomNet adds random layers, and counts by itself what they hold and do.
type randomNet struct {
	*rand.Rand
	b          *Builder
	parameters int64
	macs       []func() int64 // of layers, once their results are known
	layers     []string
}

// pick is a number from 1 on.
func (r *randomNet) pick(most int) int64 { return 1 + r.Int64N(int64(most)) }

// axes are as many numbers as there are spatial axes, or one for all.
func (r *randomNet) axes(x *onnx.Value, most int) Axes {
	list := Axes{r.pick(most)}
	if r.IntN(2) == 0 {
		for range len(x.Type.Shape) - 3 {
			list = append(list, r.pick(most))
		}
	}
	return list
}

func (r *randomNet) pads(x *onnx.Value) Pads {
	switch r.IntN(3) {
	case 0:
		return PadSame()
	case 1:
		return Pads{Begin: r.axes(x, 2), End: r.axes(x, 2)}
	}
	return Pads{}
}

// kernelSize is the number of elements of a kernel, given for each axis or for all.
func kernelSize(kernel Axes, axes int) int64 {
	n := int64(1)
	for i := range axes {
		n *= kernel[min(i, len(kernel)-1)]
	}
	return n
}

// elements is how many numbers of one sample a value has.
func elements(v *onnx.Value) int64 {
	n := int64(1)
	for _, d := range v.Type.Shape[1:] {
		n *= d.Size
	}
	return n
}

// layer adds one to an image of channels.
func (r *randomNet) layer(name string, x *onnx.Value) *onnx.Value {
	channels, axes := x.Channels(), len(x.Type.Shape)-2
	kinds := []func() *onnx.Value{
		func() *onnx.Value {
			c := Conv{Filters: r.pick(5), Kernel: r.axes(x, 3), Strides: r.axes(x, 2), Dilations: r.axes(x, 2), Pads: r.pads(x)}
			if r.IntN(3) == 0 {
				c.Groups, c.Filters = channels, channels*r.pick(2)
			}
			each := channels / max(1, c.Groups) * kernelSize(c.Kernel, axes)
			if r.parameters += c.Filters * each; r.IntN(2) == 0 {
				c.Bias = Constant(1)
				r.parameters += c.Filters
			}
			y := r.b.Conv(name, x, c)
			r.macs = append(r.macs, func() int64 { return elements(y) * each })
			return y
		},
		func() *onnx.Value {
			c := ConvTranspose{Filters: r.pick(4), Kernel: r.axes(x, 2), Bias: Constant(2)}
			r.parameters += c.Filters * (channels*kernelSize(c.Kernel, axes) + 1)
			y := r.b.ConvTranspose(name, x, c)
			r.macs = append(r.macs, func() int64 { return elements(y) * channels })
			return y
		},
		func() *onnx.Value { return r.b.MaxPool(name, x, Pool{Kernel: r.axes(x, 3), Strides: r.axes(x, 2)}) },
		func() *onnx.Value { return r.b.Relu6(name, x) },
		func() *onnx.Value { return r.b.Add(name, x, r.b.scalar(2)) },
		func() *onnx.Value { return r.b.Concat(name, 1, x, x) },
		func() *onnx.Value {
			r.parameters += 2 * channels
			return r.b.BatchNorm(name, x, BatchNorm{})
		},
		func() *onnx.Value {
			return r.b.Resize(name, x, Resize{Sizes: r.axes(x, 9), Mode: "nearest", Coordinates: "asymmetric", Nearest: "floor"})
		},
		func() *onnx.Value {
			order := []int64{0, 1}
			for i := range axes {
				order = append(order, int64(axes+1-i))
			}
			return r.b.Transpose(name, x, order...)
		},
		func() *onnx.Value { return r.b.GlobalAveragePool(name, x) },
	}
	kind := r.IntN(len(kinds))
	r.layers = append(r.layers, fmt.Sprint(kind))
	return kinds[kind]()
}

// Whatever layers follow each other, the graph says of each value what its operators make of it by their definitions, and the counts are those
// of a plain sum. Windows that do not fit are the only error.
func TestORTRandomNetworksAreWhatTheirGraphSays(t *testing.T) {
	built := 0
	for seed := range uint64(60) {
		r := &randomNet{Rand: rand.New(rand.NewPCG(seed, 21)), b: NewBuilder("random", seed)}
		dims := []int64{r.pick(4)}
		for range 1 + r.IntN(3) {
			dims = append(dims, 3+r.pick(6))
		}
		x := r.b.Input("x", onnx.Float32, onnx.Batched(dims...))
		for i := range 1 + r.IntN(5) {
			x = r.layer(fmt.Sprint("layer", i), x)
		}
		r.b.Output(x)
		m, stats, err := r.b.Model()
		if err != nil {
			if !strings.Contains(err.Error(), "window") && !strings.Contains(err.Error(), "kernel") && !strings.Contains(err.Error(), "fit") {
				t.Errorf("seed %d, layers %v: %v", seed, r.layers, err)
			}
			continue
		}
		built++
		if err := m.Check(); err != nil {
			t.Errorf("seed %d, layers %v: %v", seed, r.layers, err)
		}
		for _, batch := range []int64{1, 3} { // every value is compared with its type on the way
			evaluate(t, m, map[string]array{"x": normals(seed, append([]int64{batch}, dims...)...)})
		}
		macs := int64(0)
		for _, of := range r.macs {
			macs += of()
		}
		if stats.Parameters != r.parameters || stats.MACs != macs {
			t.Errorf("seed %d, layers %v: %d parameters and %d products, want %d and %d", seed, r.layers, stats.Parameters, stats.MACs, r.parameters, macs)
		}
	}
	if built < 30 {
		t.Errorf("%d of 60 networks could be built: they prove little", built)
	}
}

// Samples of a batch know nothing of each other.
func TestORTASampleIsTheSameInEveryBatch(t *testing.T) {
	for seed := range uint64(12) {
		r := &randomNet{Rand: rand.New(rand.NewPCG(seed, 22)), b: NewBuilder("random", seed)}
		x := r.b.Input("x", onnx.Float32, onnx.Batched(3, 8, 7))
		for i := range 3 {
			x = r.layer(fmt.Sprint("layer", i), x)
		}
		r.b.Output(x)
		m, _, err := r.b.Model()
		if err != nil {
			continue
		}
		images := normals(seed, 3, 3, 8, 7)
		name := m.Graph.Outputs[0].Name
		together := evaluate(t, m, map[string]array{"x": images})[name]
		each := len(together.data) / 3
		for k := range 3 {
			one := newArray(onnx.Float32, 1, 3, 8, 7)
			copy(one.data, images.data[k*len(one.data):])
			if alone := evaluate(t, m, map[string]array{"x": one})[name]; !slices.Equal(alone.data, together.data[k*each:][:each]) {
				t.Errorf("seed %d, layers %v: sample %d is another one in a batch", seed, r.layers, k)
			}
		}
	}
}

// Every layer that the builder knows, in one model: loading it compares the shapes,
// running it their real extents.
// selections uses the layers whose results have a length that depends on the data.
func selections(b *Builder, x *onnx.Value) []*onnx.Value {
	boxes := b.Reshape("corners", b.Slice("corner_channels", x, 1, 0, 8), 0, -1, 4)
	scores := b.Reshape("box_scores", b.Slice("score_channels", x, 1, 8, 12), 0, 2, -1)
	kept := b.NonMaxSuppression("kept", boxes, scores, NMS{PerClass: 3, IoU: 0.5, Score: 0.1})
	keptScores := b.GatherND("kept_scores", scores, kept, 0)
	best, order := b.best("best", keptScores, 4, "best_axis")
	above := b.Transpose("above_rows", b.NonZero("above", b.Compare("Greater", "is_above", x, b.scalar(1))), 1, 0)
	return []*onnx.Value{
		kept, best, order, above, b.Join("joined", "all", above, above),
		b.ScatterND("scattered", b.Binary("Mul", "zero", scores, b.scalar(0)), kept, keptScores),
	}
}

func TestORTAgreesWithAllShapes(t *testing.T) {
	useRuntime(t)
	b := NewBuilder("all layers", 1)
	x := b.Input("x", onnx.Float32, onnx.Batched(8, 14, 15))
	conv := b.Conv("conv", x, Conv{Filters: 16, Groups: 8, Kernel: Axes{3, 5}, Strides: Axes{2, 1}, Dilations: Axes{1, 2}, Pads: PadSame(), Bias: Uniform{-1, 1}})
	norm := b.Relu6("relu6", b.BatchNorm("norm", conv, seededNorm(1e-3, 1)))
	b.Output(
		conv, b.Relu("relu", norm), b.Clip("clip", norm, -1, 2.5),
		b.MaxPool("max", norm, Pool{Kernel: Axes{3}, Strides: Axes{2}, Pads: PadSame()}),
		b.GlobalAveragePool("global", norm),
		b.Dense("dense", b.Flatten("flat", norm), Dense{Units: 5}),
		b.MatMul("product", norm, b.Weight("matrix", He{}, 15, 4)),
		b.Add("sum", norm, b.Weight("vector", Uniform{-1, 1}, 16, 1, 1)),
		b.Unary("Sigmoid", "sigmoid", norm),
		b.Softmax("softmax", norm, -1), b.ArgMax("argmax", norm, 1),
		b.Reshape("reshape", norm, 0, 2, -1), b.Reshape("reshape batch", norm, -1, 16*7*15),
		b.Concat("concat", 1, norm, conv), b.Transpose("transpose", norm, 0, 2, 3, 1),
		b.ConvTranspose("up", norm, ConvTranspose{Filters: 4, Kernel: Axes{2, 3}, Bias: Uniform{-1, 1}}),
		b.InstanceNorm("instance", norm, InstanceNorm{Gamma: Uniform{1, 2}, Beta: Uniform{-1, 1}}),
		b.Cast("cast", norm, onnx.Int32), b.Slice("slice", norm, -1, -5, 14), b.Gather("gather", norm, b.ints(3, 1), 1),
		b.GatherND("places", norm, b.argMaxes(b.Slice("one_row", b.GlobalAveragePool("pooled", norm), 1, 0, 16)), 1),
		b.Reduce("ReduceSum", "total", norm, 1), b.Reduce("ReduceMax", "largest", norm, -1),
		b.Squeeze("squeeze", b.Unsqueeze("unsqueeze", norm, 2), 2),
		b.Conv("shared", x, Conv{Filters: 16, Groups: 8, Kernel: Axes{3, 5}, Share: "conv"}),
	)
	best, where := b.TopK("topk", norm, 2, 3)
	b.Output(best, where)
	b.Output(selections(b, norm)...)
	for i, r := range []Resize{
		{Sizes: Axes{33, 50}}, {Sizes: Axes{7, 3}, Mode: "nearest", Coordinates: "asymmetric", Nearest: "floor"},
		{Sizes: Axes{14, 29}, Coordinates: "align_corners"},
	} {
		b.Output(b.Resize(fmt.Sprint("resize", i), norm, r))
	}
	m, _, err := b.Model()
	if err != nil {
		t.Fatal(err)
	}
	n := load(t, m)
	img := noise(1, 1)[:8*14*15]
	for _, batch := range []int{1, 3} {
		for i, out := range n.run(slices.Repeat([][]float32{img}, batch)...) {
			checkFinite(t, m.Graph.Outputs[i].Name, out)
		}
	}
}

func total(list []float64) (sum float64) {
	for _, x := range list {
		sum += x
	}
	return sum
}
