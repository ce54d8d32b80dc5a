package quantize

import (
	"math"
	"slices"

	"github.com/mlperf-go/mlperf/internal/onnx"
)

// A Range is the interval of an activation that integers represent. Values outside become its nearest
// end.
type Range struct {
	Min float32 `json:"min"`
	Max float32 `json:"max"`
}

// Activations is the integer type of activations.
type Activations string

const (
	// U8 is 0 to 255 with any zero point. Processors have fast products of it with signed weights, and
	// it needs no Relu.
	U8 Activations = "u8"
	// S8 is -127 to 127 with zero point 0, as TensorRT wants it. On the CPU, ONNX Runtime then runs
	// convolutions with a Relu or Clip behind them in FP32.
	S8 Activations = "s8"
)

// Parameters map numbers to integers: q = round(x/Scale) + ZeroPoint, within the limits of the type.
type Parameters struct {
	Scale     float32 `json:"scale"`
	ZeroPoint int     `json:"zero_point"`
}

// of returns the parameters for a range. Zero always gets an integer of its own, since
// padding and Relu make it exactly.
func (a Activations) of(r Range) Parameters {
	low, high := min(float64(r.Min), 0), max(float64(r.Max), 0)
	if a == S8 {
		return Parameters{usable(max(-low, high) / 127), 0}
	}
	scale, zero := unsignedGrid(low, high)
	// ONNX Runtime drops a Clip before a QuantizeLinear if no integer stands for more than
	// its limit. Rounding of the scale must not spoil that.
	if zero == 0 && 255*scale > r.Max && r.Max > 0 {
		scale = math.Nextafter32(scale, 0)
	}
	return Parameters{scale, zero}
}

// unsignedGrid returns the smallest scale, and the zero point for it, with which 0 to 255 stand
// for low to high, both ends included. Rounding the zero point alone would move the grid by
// up to half a step: for pixels from -1 to 1 by half a step exactly, so that all of them
// would lie between two integers, and pairs of them become one.
func unsignedGrid(low, high float64) (scale float32, zero int) {
	step := float64(usable((high - low) / 255))
	below := -low / step // that many steps
	least, most := 0.0, 255.0
	if low < 0 {
		least = 1
	}
	if high > 0 {
		most = 254
	}
	best := math.Inf(1)
	for _, z := range []float64{math.Ceil(below), math.Floor(below)} {
		z = max(least, min(most, z))
		s := step
		if z > 0 && z < 255 {
			s = max(-low/z, high/(255-z))
		}
		if s < best {
			best, zero = s, int(z)
		}
	}
	return usable(best), zero
}

// sigmoidReach is where a Sigmoid is 0 or 1 but for 1e-7, the precision of float32.
const sigmoidReach = 16

// withinSigmoid cuts what a Sigmoid does not tell apart.
func withinSigmoid(x float32) float32 { return max(-sigmoidReach, min(sigmoidReach, x)) }

// smallestScale keeps the product of two scales a normal float32.
const smallestScale = 1e-18

// usable returns a scale that can be divided by: constant zero needs one too.
func usable(scale float64) float32 {
	switch {
	case scale == 0:
		return 1
	case scale < smallestScale:
		return smallestScale
	case scale > math.MaxFloat32/256:
		return math.MaxFloat32 / 256
	}
	return float32(scale)
}

func clampInt(x float64, low, high int) int {
	return int(max(float64(low), min(float64(high), x)))
}

// zeroPoints returns a tensor of n times the zero point, a scalar if n is 0.
func (a Activations) zeroPoints(name string, p Parameters, n int) *onnx.Tensor {
	var dims []int64
	if n > 0 {
		dims = []int64{int64(n)}
	}
	if a == S8 {
		return onnx.TensorOf(name, slices.Repeat([]int8{int8(p.ZeroPoint)}, max(n, 1)), dims...)
	}
	return onnx.TensorOf(name, slices.Repeat([]uint8{uint8(p.ZeroPoint)}, max(n, 1)), dims...)
}

// A weightUse is a layer that reads weights, which layers may share: its bias, and the scale of its
// input.
type weightUse struct {
	bias  []float32 // nil if there is none
	input float32
}

// quantizedWeights are weights as integers. There is one scale for each unit (filter,
// output channel), or one for all.
type quantizedWeights struct {
	values []int8
	scales []float32
}

// largestInt32 is the largest bias to which products can be added without an overflow: half of the range
// of int32.
const largestInt32 = 1 << 30

// quantizeWeights quantises weights w of the shape dims, whose units lie along an axis,
// symmetrically: w ≈ scale·q with -limit ≤ q ≤ limit.
func quantizeWeights(w []float32, dims []int64, axis int, perTensor bool, limit int, uses []weightUse) quantizedWeights {
	scales := make([]float64, dims[axis])
	eachUnit(dims, axis, func(unit, first, n int) {
		for _, v := range w[first : first+n] {
			scales[unit] = max(scales[unit], math.Abs(float64(v)))
		}
	})
	for unit := range scales {
		scales[unit] /= float64(limit)
		// The bias has the scale of weights times input. It has to fit into 32 bits.
		for _, use := range uses {
			if use.bias != nil {
				b := math.Abs(float64(use.bias[unit])) / (float64(use.input) * largestInt32)
				scales[unit] = max(scales[unit], b)
			}
		}
	}
	if perTensor {
		scales = []float64{slices.Max(append(scales, 0))}
	}
	q := quantizedWeights{values: make([]int8, len(w)), scales: make([]float32, len(scales))}
	for i, s := range scales {
		q.scales[i] = usable(s)
	}
	eachUnit(dims, axis, func(unit, first, n int) {
		scale := float64(q.scale(unit))
		for i := first; i < first+n; i++ {
			q.values[i] = int8(clampInt(math.RoundToEven(float64(w[i])/scale), -limit, limit))
		}
	})
	return q
}

// eachUnit calls visit for every stretch of a tensor that has one index along an axis.
func eachUnit(dims []int64, axis int, visit func(unit, first, n int)) {
	inner, outer := 1, 1
	for i, d := range dims {
		if i < axis {
			outer *= int(d)
		} else if i > axis {
			inner *= int(d)
		}
	}
	units := int(dims[axis])
	for block := range outer * units {
		visit(block%units, block*inner, inner)
	}
}

// scale returns the scale of a unit.
func (q quantizedWeights) scale(unit int) float32 { return q.scales[min(unit, len(q.scales)-1)] }

// quantizeBias returns a bias as integers, and how many did not fit.
func quantizeBias(bias, scales []float32) (values []int32, clamped int) {
	values = make([]int32, len(bias))
	for unit, b := range bias {
		x := math.RoundToEven(float64(b) / float64(scales[min(unit, len(scales)-1)]))
		if math.Abs(x) > math.MaxInt32 {
			clamped++
		}
		values[unit] = int32(clampInt(x, -math.MaxInt32, math.MaxInt32))
	}
	return values, clamped
}

// scaleTensor returns scales as the tensor that goes with an axis attribute, or without
// one if there is only one scale for all.
func scaleTensor(name string, scales []float32, perTensor bool) *onnx.Tensor {
	if perTensor {
		return onnx.TensorOf(name, scales[:1])
	}
	return onnx.TensorOf(name, scales, int64(len(scales)))
}

// meanShifts returns by how much errors of the weights shift the mean of each unit, for
// inputs whose channels have the given means. What padding takes away is ignored.
func meanShifts(n *onnx.Node, errors []float32, dims []int64, means []float32) []float64 {
	axis := unitAxis(n)
	shifts := make([]float64, dims[axis])
	if axis == 1 { // [channels, units]
		for i, e := range errors {
			shifts[i%len(shifts)] += float64(e) * float64(means[i/len(shifts)])
		}
		return shifts
	}
	perUnit := len(errors) / len(shifts)
	for i, e := range errors {
		shifts[i/perUnit] += float64(e) * float64(means[inputChannel(dims, len(means), i)])
	}
	return shifts
}

// inputChannel returns which of the channels of its input the i-th weight of a
// convolution [filters, channels/groups, kernel…] multiplies. The same goes for a
// matrix [units, channels].
func inputChannel(dims []int64, channels, i int) int {
	perGroup := int(dims[1])
	kernel := 1
	for _, d := range dims[2:] {
		kernel *= int(d)
	}
	filter := i / (perGroup * kernel)
	group := filter * (channels / perGroup) / int(dims[0])
	return group*perGroup + i/kernel%perGroup
}
