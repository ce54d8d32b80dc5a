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
	Letterbox                // Ultralytics' LetterBox: the longer side is resized, up too, and gray fills both ends of the other
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
	case f == Letterbox:
		ratio := min(float64(size)/float64(from.Height), float64(size)/float64(from.Width))
		fit := func(n int) int { return max(1, int(math.RoundToEven(float64(n)*ratio))) }
		to = Size{fit(from.Width), fit(from.Height)}
	case from.Height > from.Width:
		to = Size{short, long(from.Height, from.Width)}
	default:
		to = Size{long(from.Width, from.Height), short}
	}
	x, y = full(from.Width, to.Width), full(from.Height, to.Height)
	if f == Stretch || f == PadBlack || f == PadDeepLab || f == Letterbox {
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

// A frame is what a model gets of an image that is smaller after resizing: where in it that lies, and the colour of the rest.
type frame struct {
	Size
	left, top int
	around    [3]uint8
}

// letterboxGray is what fills a Letterbox.
const letterboxGray = 114

// frame returns the output for an image that was resized.
func (p Pipeline) frame(x, y span) frame {
	f := frame{Size: Size{p.Size, p.Size}, around: [3]uint8{uint8(deepLabMean[0]), uint8(deepLabMean[1]), uint8(deepLabMean[2])}}
	if p.Fit != Letterbox {
		return f
	}
	f.around = [3]uint8{letterboxGray, letterboxGray, letterboxGray}
	if p.Stride > 0 {
		up := func(n int) int { return n + (p.Size-n)%p.Stride }
		f.Size = Size{up(x.dst), up(y.dst)}
	}
	f.left, f.top = (f.Width-x.dst)/2, (f.Height-y.dst)/2
	return f
}

// A Box is a part of an image: its left upper and its right lower corner.
type Box struct{ X0, Y0, X1, Y1 float32 }

// Unframed returns where a box in the output of a Letterbox of a size lies in the image (Ultralytics' scale_boxes), within its edges.
func Unframed(b Box, output, image Size) Box {
	w, h := float64(image.Width), float64(image.Height)
	gain := min(float64(output.Height)/h, float64(output.Width)/w)
	pad := func(n int, size float64) float32 {
		return float32(math.RoundToEven((float64(n)-float64(size*gain))/2 - 0.1))
	}
	left, top := pad(output.Width, w), pad(output.Height, h)
	back := func(v, pad float32, size int) float32 { return min(max(0, (v-pad)/float32(gain)), float32(size)) }
	return Box{back(b.X0, left, image.Width), back(b.Y0, top, image.Height), back(b.X1, left, image.Width), back(b.Y1, top, image.Height)}
}
