package preprocess

import (
	"bytes"
	"fmt"
	"math"
)

// A corner is where an output pixel lies between two input pixels.
type corner struct {
	low, high int
	fraction  float32
}

// cornerRows is the bilinear resize of PyTorch, TFLite and TensorFlow: a weighted sum of the
// four input pixels around, in float32.
type cornerRows[T sample] struct {
	kernel           Kernel
	channels, stride int
	src              []T
	x, y             []corner
}

func (r *cornerRows[T]) start(t task, src []T) {
	r.kernel, r.channels, r.stride, r.src = t.kernel, t.channels, t.channels*t.x.src, src
	position, scale := torchPosition, ratio
	switch t.kernel {
	case TFLiteBilinear:
		position = tflitePosition
	case DeepLabBilinear:
		position, scale = tflitePosition, alignedRatio
	}
	r.x = corners(r.x, t.x, position, scale(t.x))
	r.y = corners(r.y, t.y, position, scale(t.y))
}

func ratio(s span) float32 { return float32(s.src) / float32(s.dst) }

// alignedRatio maps the first and the last pixels on each other (CalculateResizeScale in
// tensorflow/core/util/image_resizer_state.h).
func alignedRatio(s span) float32 {
	if s.dst == 1 {
		return ratio(s)
	}
	return float32(s.src-1) / float32(s.dst-1)
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

func corners(buf []corner, s span, position func(i int, scale float32) float32, scale float32) []corner {
	buf = resized(buf, s.size)
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
	switch r.kernel {
	case TorchBilinear:
		sum = torchSum
	case DeepLabBilinear:
		sum = tensorflowSum
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

// tensorflowSum interpolates the rows, then between them, by differences (compute_lerp in
// tensorflow/core/kernels/image/resize_bilinear_op.cc).
func tensorflowSum(a, b, c, d, x, y float32) float32 {
	upper := a + float32((b-a)*x)
	lower := c + float32((d-c)*x)
	return upper + float32((lower-upper)*y)
}

// deepLabBytes is cornerRows for bytes. DeepLab subtracts its mean colour, fills up with
// zeros and adds the colour again, which now and then costs a byte 1 when it is truncated.
type deepLabBytes struct {
	rows cornerRows[uint8]
	line []float32
}

func (d *deepLabBytes) start(t task, src []byte) {
	d.rows.start(t, src)
	d.line = resized(d.line, t.width())
}

func (d *deepLabBytes) row(y int, dst []byte) {
	d.rows.row(y, d.line)
	for i, v := range d.line {
		mean := deepLabMean[i%3]
		dst[i] = uint8(float32(v-mean) + mean)
	}
}

// PadClasses brings the classes of an image's pixels to a square of size×size pixels, as
// PadDeepLab does it with the image: each pixel has the class of its nearest one
// (resize_nearest_neighbor with aligned corners), those beyond the image have noClass.
func PadClasses(classes []uint8, from Size, size int) ([]uint8, error) {
	if from.Width < 1 || from.Height < 1 || size < 1 || len(classes) != from.Width*from.Height {
		return nil, fmt.Errorf("padding classes of %v pixels to %d: there are %d", from, size, len(classes))
	}
	x, y := PadDeepLab.spans(from, size)
	out := bytes.Repeat([]byte{noClass}, size*size)
	for i := range y.size {
		row := classes[nearest(i, y)*from.Width:][:from.Width]
		for k := range x.size {
			out[i*size+k] = row[nearest(k, x)]
		}
	}
	return out, nil
}

// noClass is DeepLab's class of pixels that do not count (ignore_label).
const noClass = 255

// nearest is where an output pixel's nearest input pixel is
// (tensorflow/core/kernels/image/resize_nearest_neighbor_op.cc).
func nearest(i int, s span) int {
	return min(int(math.Round(float64(tflitePosition(i, alignedRatio(s))))), s.src-1)
}
