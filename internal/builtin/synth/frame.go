package synth

import "github.com/mlperf-go/mlperf/internal/preprocess/jpeg"

// A frame is how a scene becomes a file: everything but what is to be seen.
type frame struct {
	width, height int // as seen, which with an orientation is not as stored
	options       jpeg.EncodeOptions
}

// A mix is a distribution of frames.
type mix struct {
	common   []size // sizes that many pictures have
	ordinary int    // weight of pictures of any proportions between the limits of side
	side     [2]int // of the longer side
	small    int    // weight of pictures with a side below 224
	large    int    // weight of pictures with a side above 1000
}

// A size has a weight per mille. Upright pictures are as many as turned says, of each
// hundred.
type size struct{ width, height, weight, turned int }

// imageNetMix is like the sizes of the ILSVRC-2012 validation set: half the pictures
// have 500×375 pixels, a few are tiny or huge.
func imageNetMix() mix {
	return mix{
		common: []size{
			{500, 375, 560, 22},
			{500, 333, 140, 25},
			{500, 500, 30, 0},
			{640, 480, 30, 20},
			{400, 300, 20, 25},
		},
		ordinary: 190, side: [2]int{300, 640},
		small: 15, large: 15,
	}
}

// cocoMix is like val2017, whose longer side is 640 but for a few.
func cocoMix() mix {
	return mix{
		common: []size{
			{640, 480, 430, 27},
			{640, 427, 260, 22},
			{640, 640, 15, 0},
			{640, 426, 60, 20},
			{500, 375, 75, 25},
			{612, 612, 20, 0},
		},
		ordinary: 130, side: [2]int{400, 640},
		small: 10,
	}
}

// openImagesMix is like the validation set of OpenImages: the longer side has 1024 pixels.
func openImagesMix() mix {
	return mix{
		common: []size{
			{1024, 768, 480, 27},
			{1024, 683, 300, 25},
			{1024, 680, 60, 20},
			{1024, 576, 40, 20},
			{1024, 1024, 30, 0},
		},
		ordinary: 90, side: [2]int{900, 1024},
	}
}

// draw chooses a frame.
func (m *mix) draw(r *stream) frame {
	var f frame
	f.width, f.height = m.drawSize(r)
	// The better of two: files of low quality are rarer.
	f.options.Quality = max(r.between(70, 98), r.between(70, 98))
	f.options.Sampling = jpeg.Sampling(r.pick(samplingWeights[:]))
	return f
}

// samplingWeights are per cent, by jpeg.Sampling, about as in the ILSVRC-2012 validation set.
var samplingWeights = [jpeg.SamplingGray + 1]int{jpeg.Sampling444: 76, jpeg.Sampling422: 1, jpeg.Sampling420: 20, jpeg.Sampling440: 1, jpeg.SamplingGray: 2}

func (m *mix) drawSize(r *stream) (width, height int) {
	weights := []int{m.ordinary, m.small, m.large}
	for _, s := range m.common {
		weights = append(weights, s.weight)
	}
	switch i := r.pick(weights); i {
	case 0:
		return anySize(r, m.side[0], m.side[1])
	case 1:
		return anySize(r, 110, 223)
	case 2:
		return anySize(r, 1024, 1800)
	default:
		s := m.common[i-3]
		return turnedSize(r, s.width, s.height, s.turned)
	}
}

// anySize draws a longer side between limits and a shorter one of 56 to 100 per cent.
func anySize(r *stream, low, high int) (width, height int) {
	longer := r.between(low, high)
	return turnedSize(r, longer, longer*r.between(56, 100)/100, 30)
}

// turnedSize exchanges the sides with a chance in per cent.
func turnedSize(r *stream, width, height, turned int) (int, int) {
	if r.below(100) < turned {
		return height, width
	}
	return width, height
}
