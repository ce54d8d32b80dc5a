package preprocess

import "math"

// A Fit is how an image of any shape becomes the model's square.
type Fit uint8

// The fits of the reference's pre-processing functions and of the mobile app. The Crop ones
// keep the proportions: the shorter side is resized to a little more than the
// model's size, or just to it, and the middle is cut out. They round differently.
const (
	Stretch       Fit = iota // resize both sides to the model's size
	CropCV2                  // resize_with_aspectratio and center_crop of the reference's dataset.py
	CropTorch                // torchvision Resize(size/0.875) and CenterCrop(size)
	CropTorchFull            // torchvision Resize(size) and CenterCrop(size)
	CropTFLite               // TFLite evaluation stage with a cropping fraction of 0.875
	PadDeepLab               // DeepLab's input_preprocess.py: the longer side is resized, right and bottom are filled up
	CropStretched            // both sides are resized to Pipeline.Short, and the middle is cut out
	PadBlack                 // black below or at the right makes a square, which is resized
)

// spans returns what to resize along each axis, and what to keep, for an output of size×size
// pixels. short is the shorter side before the middle is cut out; 0: that of the fit.
func (f Fit) spans(from Size, size, short int) (x, y span) {
	if short == 0 && f == CropTorchFull {
		short = size
	}
	if short == 0 {
		short = int(100.0 * float64(size) / 87.5) // 12.5 % of it are cut off
	}
	var to Size // before cropping
	switch long := func(a, b int) int { return int(float64(short*a) / float64(b)) }; {
	case f == Stretch, f == PadBlack:
		to = Size{size, size}
	case f == CropStretched:
		to = Size{short, short}
	case f == CropTFLite: // both sides are multiplied by one float32 ratio and rounded half up
		ratio := max(float32(short)/float32(from.Width), float32(short)/float32(from.Height))
		round := func(n int) int { return int(math.Round(float64(float32(n) * ratio))) }
		to = Size{round(from.Width), round(from.Height)}
	case f == PadDeepLab: // resize_to_range in core/preprocess_utils.py, with one size for both bounds
		ratio := float32(size) / float32(max(from.Width, from.Height))
		fit := func(n int) int { return min(int(math.Ceil(float64(float32(n)*ratio))), size) }
		to = Size{fit(from.Width), fit(from.Height)}
	case from.Height > from.Width:
		to = Size{short, long(from.Height, from.Width)}
	default:
		to = Size{long(from.Width, from.Height), short}
	}
	x, y = full(from.Width, to.Width), full(from.Height, to.Height)
	if f == Stretch || f == PadBlack || f == PadDeepLab {
		return x, y
	}
	// margin is how many pixels before the middle are cut off if both sides together lose n.
	margin := func(n int) int {
		switch f {
		case CropTorch, CropTorchFull:
			return int(math.RoundToEven(float64(n) / 2))
		case CropTFLite:
			return (n + 1) / 2
		}
		return n / 2
	}
	x.first, x.size = margin(to.Width-size), size
	y.first, y.size = margin(to.Height-size), size
	return x, y
}
