package preprocess

import (
	"fmt"
	"math"

	"github.com/mlperf-go/mlperf/internal/tensor"
)

// A Kernel is a way to resize an image, as one of the libraries that the reference uses does
// it. All of them give each output pixel a few input pixels and weights; they differ in which,
// in which arithmetic, and in how that is rounded.
type Kernel uint8

// The kernels.
const (
	CV2Linear Kernel = iota // OpenCV INTER_LINEAR, of bytes or float32
	CV2Area                 // OpenCV INTER_AREA, of bytes
	// Pillow BILINEAR, antialiased, of bytes, sideways first as up to Pillow 12: 13 resizes much taller images downwards first
	PillowBilinear
	PillowBicubic   // Pillow BICUBIC, antialiased, of bytes
	TFLiteBilinear  // TFLite ResizeBilinear, neither corners aligned nor half pixels, of float32
	DeepLabBilinear // TensorFlow resize_bilinear with aligned corners, as bytes as DeepLab's padding leaves them
)

// A Size is that of an image in pixels.
type Size struct{ Width, Height int }

// A span is one axis of a resize: how many pixels there are before and after, and which of
// those after are wanted.
type span struct {
	src, dst    int
	first, size int
}

// full asks for all pixels.
func full(src, dst int) span { return span{src: src, dst: dst, size: dst} }

// scale returns source pixels per output pixel, with OpenCV's rounding.
func (s span) scale() float64 { return 1 / (float64(s.dst) / float64(s.src)) }

// source returns an interval of input pixels that no kernel leaves: the widest one, bicubic,
// reaches two output pixels beyond the wanted ones, or two input pixels if these are larger.
func (s span) source() (from, to int) {
	scale := float64(s.src) / float64(s.dst)
	reach := 2*max(scale, 1) + 2
	from = int(max(float64(s.first)*scale-reach, 0))
	to = int(math.Ceil(min(float64(s.first+s.size)*scale+reach, float64(s.src))))
	return from, to
}

// A task is a resize of rows of RGB pixels. The result has y.size rows of x.size pixels.
type task struct {
	kernel Kernel
	x, y   span
}

// width is how many values a row of the result has.
func (t task) width() int { return 3 * t.x.size }

// unchanged reports whether the image has its size already, which no kernel changes.
func (t task) unchanged() bool { return t.x.src == t.x.dst && t.y.src == t.y.dst }

// row returns the wanted part of row y of the source.
func (t task) row(src []byte, y int) []byte {
	return src[3*((t.y.first+y)*t.x.src+t.x.first):][:t.width()]
}

// ResizeBytes resizes src, rows of RGB pixels, from one size to another into dst.
func (s *Scratch) ResizeBytes(dst, src []byte, k Kernel, from, to Size) {
	t := task{kernel: k, x: full(from.Width, to.Width), y: full(from.Height, to.Height)}
	row := s.startBytes(t, src)
	for y := range to.Height {
		row(y, dst[y*t.width():][:t.width()])
	}
}

// startBytes prepares a resize to bytes. The result writes row y of the wanted ones; it is
// fastest from top to bottom. OpenCV makes a mean of 2×2 pixels of INTER_LINEAR where it
// shrinks both sides to half, and a linear resize of INTER_AREA where it enlarges any.
func (s *Scratch) startBytes(t task, src []byte) func(y int, dst []byte) {
	switch {
	case t.unchanged():
		return func(y int, dst []byte) { copy(dst, t.row(src, y)) }
	case t.kernel == PillowBilinear || t.kernel == PillowBicubic:
		s.pillow.start(t, src)
		return s.pillow.row
	case t.kernel == DeepLabBilinear:
		s.deepLab.start(t, src)
		return s.deepLab.row
	case t.kernel == CV2Linear && t.halves(), t.kernel == CV2Area && t.x.wholeFactor() > 0 && t.y.wholeFactor() > 0:
		s.cells.start(t, src)
		return s.cells.byteRow
	case t.kernel == CV2Linear, t.kernel == CV2Area && (t.x.scale() < 1 || t.y.scale() < 1):
		s.linearBytes.start(t, src)
		return s.linearBytes.row
	case t.kernel == CV2Area:
		s.area.start(t, src)
		return s.area.row
	}
	panic(fmt.Sprintf("preprocess: kernel %d does not resize bytes", t.kernel))
}

// startFloats is startBytes with a float32 result.
func (s *Scratch) startFloats(t task, src []byte) func(y int, dst []float32) {
	switch {
	case t.unchanged():
		return func(y int, dst []float32) {
			for i, v := range t.row(src, y) {
				dst[i] = float32(v)
			}
		}
	case t.kernel == TFLiteBilinear:
		s.tflite.start(t, src, tflitePosition, ratio, tfliteSum)
		return s.tflite.row
	case t.kernel == CV2Linear && t.halves():
		s.cells.start(t, src)
		return s.cells.floatRow
	case t.kernel == CV2Linear:
		s.linearFloats.start(t, src)
		return s.linearFloats.row
	}
	panic(fmt.Sprintf("preprocess: kernel %d does not resize to float32", t.kernel))
}

// taps says which input pixels make up the output pixels along one axis: output pixel i is the
// sum over count input pixels from first[i] on, times the weights from weight[i*count] on. All
// have the same count, so that loops over them are predictable; those with fewer pixels get some
// of weight zero, which changes no sum.
type taps[W float32 | float64] struct {
	count  int
	first  []int
	weight []W

	ragged []W // the weights before they are brought to one count
	start  []int
}

func (t *taps[W]) reset() {
	t.first, t.ragged, t.start = t.first[:0], t.ragged[:0], t.start[:0]
}

// next begins the next output pixel, whose first input pixel is given.
func (t *taps[W]) next(first int) {
	t.first = append(t.first, first)
	t.start = append(t.start, len(t.ragged))
}

func (t *taps[W]) add(weight W) { t.ragged = append(t.ragged, weight) }

// of returns the weights of output pixel i that have been added.
func (t *taps[W]) of(i int) []W {
	if i+1 < len(t.start) {
		return t.ragged[t.start[i]:t.start[i+1]]
	}
	return t.ragged[t.start[i]:]
}

// finish brings all output pixels to one count. There are n input pixels.
func (t *taps[W]) finish(n int) {
	t.count = 0
	for i := range t.first {
		t.count = max(t.count, len(t.of(i)))
	}
	t.weight = tensor.Grown(t.weight, t.count*len(t.first))
	clear(t.weight)
	for i, first := range t.first {
		t.first[i] = min(first, n-t.count)
		copy(t.weight[i*t.count+first-t.first[i]:], t.of(i))
	}
}

// weights returns the weights of output pixel i.
func (t *taps[W]) weights(i int) []W {
	return t.weight[i*t.count:][:t.count]
}

// reach returns the first input pixel of all and the one behind the last.
func (t *taps[W]) reach() (from, to int) {
	from = t.first[0]
	for _, first := range t.first {
		from, to = min(from, first), max(to, first+t.count)
	}
	return from, to
}
