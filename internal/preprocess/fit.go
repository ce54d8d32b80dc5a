package preprocess

import "math"

// A Fit is how an image of any shape is brought to the model's square.
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
)

// deepLabMean is what DeepLab fills up images with, unless it is told the network: red, green,
// blue (_MEAN_RGB in tensorflow/models, research/deeplab/core/feature_extractor.py).
var deepLabMean = [3]float32{123.15, 115.90, 103.06}

// spans returns what to resize along each axis, and what to keep, for an output of
// size×size pixels.
func (f Fit) spans(from Size, size int) (x, y span) {
	to := f.resized(from, size)
	x, y = whole(from.Width, to.Width), whole(from.Height, to.Height)
	if f != Stretch && f != PadDeepLab {
		x.first, x.size = f.margin(to.Width-size), size
		y.first, y.size = f.margin(to.Height-size), size
	}
	return x, y
}

// resized returns the size before cropping.
func (f Fit) resized(from Size, size int) Size {
	short := short(size)
	switch f {
	case CropTorchFull:
		short = size
	case CropTFLite:
		// Both sides are multiplied by one float32 ratio and rounded half up.
		ratio := max(float32(short)/float32(from.Width), float32(short)/float32(from.Height))
		round := func(n int) int { return int(math.Round(float64(float32(n) * ratio))) }
		return Size{round(from.Width), round(from.Height)}
	case Stretch:
		return Size{size, size}
	case PadDeepLab: // resize_to_range in core/preprocess_utils.py, with one size for both bounds
		ratio := float32(size) / float32(max(from.Width, from.Height))
		fit := func(n int) int { return min(int(math.Ceil(float64(float32(n)*ratio))), size) }
		return Size{fit(from.Width), fit(from.Height)}
	}
	long := func(a, b int) int { return int(float64(short*a) / float64(b)) }
	if from.Height > from.Width {
		return Size{short, long(from.Height, from.Width)}
	}
	return Size{long(from.Width, from.Height), short}
}

// short returns the length of the shorter side before 12.5 % of it are cut off.
func short(size int) int { return int(100.0 * float64(size) / 87.5) }

// margin returns what is cut off before the middle if both sides together lose n pixels.
func (f Fit) margin(n int) int {
	switch f {
	case CropTorch, CropTorchFull:
		return int(math.RoundToEven(float64(n) / 2))
	case CropTFLite:
		return (n + 1) / 2
	}
	return n / 2
}
