package synth

import (
	"bytes"
	"image"
	imagedraw "image/draw"
	"image/jpeg"
	"slices"
)

// A frame is how a scene becomes a JPEG file.
type frame struct {
	width, height int // as seen, which with an orientation is not as stored
	quality       int // 1 to 100
	gray          bool
	orientation   byte // of EXIF; 0: the file has none
}

// encode returns the file of a picture.
func (f frame) encode(picture *image.RGBA) ([]byte, error) {
	var stored image.Image = storedFor(picture, f.orientation)
	if f.gray {
		gray := image.NewGray(stored.Bounds())
		imagedraw.Draw(gray, gray.Bounds(), stored, image.Point{}, imagedraw.Src)
		stored = gray
	}
	var file bytes.Buffer
	if err := jpeg.Encode(&file, stored, &jpeg.Options{Quality: f.quality}); err != nil {
		return nil, err
	}
	if f.orientation == 0 {
		return file.Bytes(), nil
	}
	// Behind SOI comes an APP1 segment with a TIFF header and a directory of one entry (EXIF 2.3 §4.5.2, tag 0x0112).
	app1 := "\xFF\xE1\x00\x22Exif\x00\x00MM\x00\x2A\x00\x00\x00\x08\x00\x01\x01\x12\x00\x03\x00\x00\x00\x01\x00" +
		string(rune(f.orientation)) + "\x00\x00\x00\x00\x00\x00"
	return slices.Insert(file.Bytes(), 2, []byte(app1)...), nil
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
	f.quality = max(r.between(70, 98), r.between(70, 98))
	f.gray = r.below(100) < 2 // about as in the ILSVRC-2012 validation set
	return f
}

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
