package preprocess

import "math"

// A corner is where an output pixel lies between two input pixels.
type corner struct {
	low, high int
	fraction  float32
}

// cornerRows is the bilinear resize of PyTorch and TFLite: a weighted sum of the four
// input pixels around, in float32.
type cornerRows[T sample] struct {
	kernel           Kernel
	channels, stride int
	src              []T
	x, y             []corner
}

func (r *cornerRows[T]) start(t task, src []T) {
	r.kernel, r.channels, r.stride, r.src = t.kernel, t.channels, t.channels*t.x.src, src
	position := torchPosition
	if t.kernel == TFLiteBilinear {
		position = tflitePosition
	}
	r.x = corners(r.x, t.x, position)
	r.y = corners(r.y, t.y, position)
}

// torchPosition counts from pixel centres and does not go below the first (area_pixel_
// compute_source_index in ATen/native/UpSample.h).
func torchPosition(i int, scale float32) float32 {
	return max(float32(scale*(float32(i)+0.5))-0.5, 0)
}

// tflitePosition counts from the pixels' upper left corners (ComputeInterpolationValues
// in kernels/internal/reference/resize_bilinear.h).
func tflitePosition(i int, scale float32) float32 {
	return float32(float32(i) * scale)
}

func corners(buf []corner, s span, position func(i int, scale float32) float32) []corner {
	buf = resized(buf, s.size)
	scale := float32(s.src) / float32(s.dst)
	for i := range buf {
		at := position(s.first+i, scale)
		low := min(int(math.Floor(float64(at))), s.src-1)
		buf[i] = corner{low, min(low+1, s.src-1), at - float32(low)}
	}
	return buf
}

func (r *cornerRows[T]) row(y int, dst []float32) {
	v := r.y[y]
	upper, lower := r.src[v.low*r.stride:][:r.stride], r.src[v.high*r.stride:][:r.stride]
	sum := tfliteSum
	if r.kernel == TorchBilinear {
		sum = torchSum
	}
	for i, h := range r.x {
		for c := range r.channels {
			left, right := r.channels*h.low+c, r.channels*h.high+c
			dst[r.channels*i+c] = sum(float32(upper[left]), float32(upper[right]),
				float32(lower[left]), float32(lower[right]), h.fraction, v.fraction)
		}
	}
}

// tfliteSum adds column by column; a and b are the upper two pixels, c and d the lower
// two, x and y the fractions.
func tfliteSum(a, b, c, d, x, y float32) float32 {
	s := float32(float32(a*(1-y))*(1-x)) + float32(float32(c*y)*(1-x))
	s += float32(float32(b*(1-y)) * x)
	return s + float32(float32(d*y)*x)
}

// torchSum interpolates the rows, then between them.
func torchSum(a, b, c, d, x, y float32) float32 {
	upper := float32(a*(1-x)) + float32(b*x)
	lower := float32(c*(1-x)) + float32(d*x)
	return float32(upper*(1-y)) + float32(lower*y)
}
