package preprocess

import (
	"fmt"
	"math"
)

// A Kernel is a way to resize an image, as one of the libraries that the reference uses
// does it. All of them give each output pixel a few input pixels and weights; they
// differ in which, in which arithmetic, and in how that is rounded.
type Kernel uint8

// The kernels.
const (
	CV2Linear       Kernel = iota + 1 // OpenCV INTER_LINEAR
	CV2Area                           // OpenCV INTER_AREA
	PillowBilinear                    // Pillow BILINEAR, antialiased
	PillowBicubic                     // Pillow BICUBIC, antialiased
	TorchBilinear                     // PyTorch interpolate(mode="bilinear", align_corners=False); float32 only
	TFLiteBilinear                    // TFLite ResizeBilinear, neither corners aligned nor half pixels; float32 only
	DeepLabBilinear                   // TensorFlow resize_bilinear with aligned corners, as bytes as DeepLab's padding leaves them; bytes only
)

var kernelNames = [...]string{
	CV2Linear: "OpenCV INTER_LINEAR", CV2Area: "OpenCV INTER_AREA",
	PillowBilinear: "Pillow BILINEAR", PillowBicubic: "Pillow BICUBIC",
	TorchBilinear: "PyTorch bilinear", TFLiteBilinear: "TFLite ResizeBilinear",
	DeepLabBilinear: "DeepLab resize_bilinear",
}

// String returns the name that the library gives the kernel.
func (k Kernel) String() string {
	if k == 0 || int(k) >= len(kernelNames) {
		return fmt.Sprintf("Kernel(%d)", uint8(k))
	}
	return kernelNames[k]
}

// A span is one axis of a resize: how many pixels there are before and after, and
// which of those after are wanted.
type span struct {
	src, dst    int
	first, size int
}

// whole asks for all pixels.
func whole(src, dst int) span { return span{src: src, dst: dst, size: dst} }

// scale returns source pixels per output pixel, with OpenCV's rounding.
func (s span) scale() float64 { return 1 / (float64(s.dst) / float64(s.src)) }

// source returns an interval of input pixels that no kernel leaves: the widest one,
// bicubic, reaches two output pixels beyond the wanted ones, or two input pixels if
// these are larger.
func (s span) source() (from, to int) {
	scale := float64(s.src) / float64(s.dst)
	reach := 2*max(scale, 1) + 2
	from = int(max(float64(s.first)*scale-reach, 0))
	to = int(math.Ceil(min(float64(s.first+s.size)*scale+reach, float64(s.src))))
	return from, to
}

// A task is a resize of interleaved pixels with a number of channels. The result has
// y.size rows of x.size pixels.
type task struct {
	kernel   Kernel
	channels int
	x, y     span
}

func (t task) width() int { return t.channels * t.x.size }

// A sample is a channel of a pixel before it is resized.
type sample interface{ uint8 | float32 }

// ResizeBytes resizes src, rows of pixels of interleaved channels, from one size to
// another into dst. It fails if the kernel does not work on bytes, or a size does not
// fit. What has its size already is copied, whatever the kernel.
func (s *Scratch) ResizeBytes(dst, src []byte, k Kernel, channels int, from, to Size) error {
	t, err := newTask(len(dst), len(src), k, channels, from, to)
	if err != nil {
		return err
	}
	if err := s.bytes.start(t, src); err != nil {
		return err
	}
	for y := range to.Height {
		s.bytes.row(y, dst[y*t.width():][:t.width()])
	}
	return nil
}

// ResizeFloats is ResizeBytes with float32 pixels.
func (s *Scratch) ResizeFloats(dst, src []float32, k Kernel, channels int, from, to Size) error {
	t, err := newTask(len(dst), len(src), k, channels, from, to)
	if err != nil {
		return err
	}
	if err := s.floats.start(t, src); err != nil {
		return err
	}
	for y := range to.Height {
		s.floats.row(y, dst[y*t.width():][:t.width()])
	}
	return nil
}

// A Size is that of an image in pixels.
type Size struct{ Width, Height int }

func newTask(dst, src int, k Kernel, channels int, from, to Size) (task, error) {
	t := task{kernel: k, channels: channels, x: whole(from.Width, to.Width), y: whole(from.Height, to.Height)}
	for _, n := range []int{channels, from.Width, from.Height, to.Width, to.Height} {
		if n < 1 {
			return t, fmt.Errorf("resizing %d channels from %v to %v: sizes must be positive", channels, from, to)
		}
	}
	if src != channels*from.Width*from.Height || dst != channels*to.Width*to.Height {
		return t, fmt.Errorf("resizing %d channels from %v to %v: slices have %d and %d elements", channels, from, to, src, dst)
	}
	return t, nil
}
