package quantize

import (
	"math"
	"slices"

	"github.com/mlperf-go/mlperf/internal/onnx"
)

// A Range is the interval of an activation that quantisation keeps apart. What lies
// outside becomes its nearest end.
type Range struct {
	Min float32 `json:"min"`
	Max float32 `json:"max"`
}

// Activations chooses the integers that activations become.
type Activations string

const (
	// U8 is 0 to 255 with any zero point: the form for which processors have fast
	// products with signed weights, and that needs no Relu.
	U8 Activations = "u8"
	// S8 is -127 to 127 with zero point 0, as TensorRT wants it. ONNX Runtime's kernels for
	// the CPU do not: convolutions with a Relu or Clip behind them then run in FP32.
	S8 Activations = "s8"
)

// Parameters map numbers to integers: q = round(x/Scale) + ZeroPoint, within the
// limits of the type.
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

// magnitudes returns how many integers there are for the magnitudes of a range: half of
// them if it has both signs.
func (a Activations) magnitudes(low, high float32) int {
	if a == S8 || low < 0 && high > 0 {
		return 128
	}
	return 256
}

// sigmoidReach is from where on a Sigmoid is 0 or 1 but for 1e-7, the precision of float32.
const sigmoidReach = 16

// reaching cuts a range to what a Sigmoid tells apart.
func (r Range) reaching() Range {
	cut := func(x float32) float32 { return max(-sigmoidReach, min(sigmoidReach, x)) }
	return Range{cut(r.Min), cut(r.Max)}
}

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
