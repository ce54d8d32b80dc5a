package quantize

import (
	"math"

	"github.com/mlperf-go/mlperf/internal/onnx"
)

// A weightUse is a layer that reads weights: what bias it adds, and the scale of its
// input. Layers may share weights.
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

// largestInt32 is the largest bias that stays clear of an overflow when products are
// added to it: half of the range of int32.
const largestInt32 = 1 << 30

// quantizeWeights quantises weights w of the shape dims, whose units lie along an axis,
// symmetrically: w ≈ scale·q with -limit ≤ q ≤ limit.
func quantizeWeights(w []float32, dims []int64, axis int, perTensor bool, limit int, uses []weightUse) quantizedWeights {
	largest := largestPerUnit(w, dims, axis)
	scales := make([]float64, len(largest))
	for unit, m := range largest {
		scales[unit] = m / float64(limit)
		// The bias has the scale of weights times input. It has to fit into 32 bits.
		for _, use := range uses {
			if use.bias != nil {
				b := math.Abs(float64(use.bias[unit])) / (float64(use.input) * largestInt32)
				scales[unit] = max(scales[unit], b)
			}
		}
	}
	if perTensor {
		scales = []float64{maximum(scales)}
	}
	q := quantizedWeights{values: make([]int8, len(w)), scales: make([]float32, len(scales))}
	for i, s := range scales {
		q.scales[i] = usable(s)
	}
	eachUnit(dims, axis, func(unit, first, n int) {
		scale := float64(q.scales[min(unit, len(q.scales)-1)])
		for i := first; i < first+n; i++ {
			q.values[i] = int8(clampInt(math.RoundToEven(float64(w[i])/scale), -limit, limit))
		}
	})
	return q
}

func maximum(list []float64) float64 {
	largest := 0.0
	for _, v := range list {
		largest = max(largest, v)
	}
	return largest
}

// largestPerUnit returns the largest magnitude in each unit.
func largestPerUnit(w []float32, dims []int64, axis int) []float64 {
	largest := make([]float64, dims[axis])
	eachUnit(dims, axis, func(unit, first, n int) {
		for _, v := range w[first : first+n] {
			largest[unit] = max(largest[unit], math.Abs(float64(v)))
		}
	})
	return largest
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

// biasScales returns the scales of the bias: that of the input times those of the
// weights, as float32 like the engine computes them.
func (q quantizedWeights) biasScales(input float32) []float32 {
	scales := make([]float32, len(q.scales))
	for i, s := range q.scales {
		scales[i] = input * s
	}
	return scales
}

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

// errors returns by how much each weight has changed.
func (q quantizedWeights) errors(w []float32, dims []int64, axis int) []float32 {
	e := make([]float32, len(w))
	eachUnit(dims, axis, func(unit, first, n int) {
		for i := first; i < first+n; i++ {
			e[i] = float32(float64(q.values[i])*float64(q.scale(unit)) - float64(w[i]))
		}
	})
	return e
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
