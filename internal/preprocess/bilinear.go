package preprocess

import (
	"bytes"
	"math"

	"github.com/mlperf-go/mlperf/internal/tensor"
)

// bilinearRows is the bilinear resize of PyTorch, TFLite and TensorFlow: a weighted sum of the
// four input pixels around, in float32.
type bilinearRows[T uint8 | float32] struct {
	stride int
	src    []T
	x, y   []between
	sum    sum
}

// A sum adds up four pixels: a and b are the upper two, c and d the lower two, x and y the
// fractions.
type sum func(a, b, c, d, x, y float32) float32

func (r *bilinearRows[T]) start(t task, src []T, position func(i int, scale float32) float32, scale func(span) float32, sum sum) {
	r.stride, r.src, r.sum = 3*t.x.src, src, sum
	places := func(buf []between, s span) []between {
		buf = tensor.Grown(buf, s.size)
		for i := range buf {
			at := position(s.first+i, scale(s))
			low := min(int(math.Floor(float64(at))), s.src-1)
			buf[i] = between{low, min(low+1, s.src-1), at - float32(low)}
		}
		return buf
	}
	r.x, r.y = places(r.x, t.x), places(r.y, t.y)
}

func (r *bilinearRows[T]) row(y int, dst []float32) {
	v := r.y[y]
	upper, lower := r.src[v.low*r.stride:][:r.stride], r.src[v.high*r.stride:][:r.stride]
	for i, h := range r.x {
		for c := range 3 {
			left, right := 3*h.low+c, 3*h.high+c
			dst[3*i+c] = r.sum(float32(upper[left]), float32(upper[right]),
				float32(lower[left]), float32(lower[right]), h.fraction, v.fraction)
		}
	}
}

func ratio(s span) float32 { return float32(s.src) / float32(s.dst) }

// tflitePosition counts from the pixels' upper left corners (ComputeInterpolationValues in
// kernels/internal/reference/resize_bilinear.h).
func tflitePosition(i int, scale float32) float32 { return float32(float32(i) * scale) }

// tfliteSum adds column by column.
func tfliteSum(a, b, c, d, x, y float32) float32 {
	s := float32(float32(a*(1-y))*(1-x)) + float32(float32(c*y)*(1-x))
	s += float32(float32(b*(1-y)) * x)
	return s + float32(float32(d*y)*x)
}

// ResizeTorch resizes src, rows of RGB pixels, from one size to another into dst, as PyTorch's
// interpolate(mode="bilinear", align_corners=False) does.
func (s *Scratch) ResizeTorch(dst, src []float32, from, to Size) {
	t := task{x: full(from.Width, to.Width), y: full(from.Height, to.Height)}
	if t.unchanged() {
		copy(dst, src)
		return
	}
	s.torch.start(t, src, torchPosition, ratio, torchSum)
	for y := range to.Height {
		s.torch.row(y, dst[y*t.width():][:t.width()])
	}
}

// torchPosition counts from pixel centres and does not go below the first
// (area_pixel_compute_source_index in ATen/native/UpSample.h).
func torchPosition(i int, scale float32) float32 {
	return max(float32(scale*(float32(i)+0.5))-0.5, 0)
}

// torchSum interpolates the rows, then between them.
func torchSum(a, b, c, d, x, y float32) float32 {
	upper := float32(a*(1-x)) + float32(b*x)
	lower := float32(c*(1-x)) + float32(d*x)
	return float32(upper*(1-y)) + float32(lower*y)
}

// alignedRatio maps the first and the last pixels on each other (CalculateResizeScale in
// tensorflow/core/util/image_resizer_state.h).
func alignedRatio(s span) float32 {
	if s.dst == 1 {
		return ratio(s)
	}
	return float32(s.src-1) / float32(s.dst-1)
}

// tensorflowSum interpolates the rows, then between them, by differences (compute_lerp in
// tensorflow/core/kernels/image/resize_bilinear_op.cc).
func tensorflowSum(a, b, c, d, x, y float32) float32 {
	upper := a + float32((b-a)*x)
	lower := c + float32((d-c)*x)
	return upper + float32((lower-upper)*y)
}

// deepLabMean is the colour with which DeepLab fills up images by default: red, green, blue
// (_MEAN_RGB in tensorflow/models, research/deeplab/core/feature_extractor.py).
var deepLabMean = [3]float32{123.15, 115.90, 103.06}

// deepLabRows is TensorFlow's resize as DeepLab's padding leaves it: it subtracts its mean
// colour, fills up with zeros and adds the colour again, which now and then costs a byte 1
// when it is truncated.
type deepLabRows struct {
	floats bilinearRows[uint8]
	line   []float32
}

func (d *deepLabRows) start(t task, src []byte) {
	d.floats.start(t, src, tflitePosition, alignedRatio, tensorflowSum)
	d.line = tensor.Grown(d.line, t.width())
}

func (d *deepLabRows) row(y int, dst []byte) {
	d.floats.row(y, d.line)
	for i, v := range d.line {
		mean := deepLabMean[i%3]
		dst[i] = uint8(float32(v-mean) + mean)
	}
}

// noClass is DeepLab's class of pixels that do not count (ignore_label).
const noClass = 255

// PadClasses brings the classes of an image's pixels to a square of size×size pixels, as
// PadDeepLab does with the image: each pixel has the class of its nearest one
// (resize_nearest_neighbor with aligned corners), those beyond the image have noClass.
func PadClasses(classes []uint8, from Size, size int) []uint8 {
	// tensorflow/core/kernels/image/resize_nearest_neighbor_op.cc
	nearest := func(i int, s span) int {
		return min(int(math.Round(float64(tflitePosition(i, alignedRatio(s))))), s.src-1)
	}
	x, y := PadDeepLab.spans(from, size, 0)
	out := bytes.Repeat([]byte{noClass}, size*size)
	for i := range y.size {
		row := classes[nearest(i, y)*from.Width:][:from.Width]
		for k := range x.size {
			out[i*size+k] = row[nearest(k, x)]
		}
	}
	return out
}
