package jpeg

import (
	"errors"
	"fmt"
	"image"
)

// A component is one colour plane of a frame.
type component struct {
	id            uint8
	h, v          int // sampling factors
	quantSlot     uint8
	width, height int // size in samples: the image's, divided by the sampling ratio
	blocksX       int // size in blocks, just covering the samples
	blocksY       int

	quant   quantTable // as it was when the component's first scan began
	quantOK bool
	deq     dequantiser
	wanted  image.Rectangle // the blocks whose samples are needed
	stride  int             // of samples
	samples []uint8         // decoded blocks, blocksY·8 rows of stride samples

	// Used by files of several scans only.
	coefStride int // of coefs, in blocks
	coefs      []codedBlock
	bits       [64]int8
	prevBits   [64]int8
}

// A frame is what SOF and the other header segments say about the image.
type frame struct {
	seen          bool
	progressive   bool
	width, height int
	maxH, maxV    int // largest sampling factors
	mcusX, mcusY  int // size in interleaved MCUs
	comps         []component
	restart       int // restart interval in MCUs; 0 if there is none

	jfif        bool
	adobe       bool
	transform   uint8 // of the Adobe segment
	app1        bool
	orientation int
}

func (f *frame) reset() {
	*f = frame{comps: f.comps[:0], orientation: 1}
}

// layOut computes the sizes that follow from the sampling factors.
func (f *frame) layOut() error {
	possible := func(factor int) bool { return factor >= 1 && factor <= maxSampling }
	f.maxH, f.maxV = 1, 1
	for _, c := range f.comps {
		if !possible(c.h) || !possible(c.v) {
			return fmt.Errorf("component %d has sampling factors %d×%d, want 1 to %d", c.id, c.h, c.v, maxSampling)
		}
		f.maxH, f.maxV = max(f.maxH, c.h), max(f.maxV, c.v)
	}
	f.mcusX = ceilDiv(f.width, 8*f.maxH)
	f.mcusY = ceilDiv(f.height, 8*f.maxV)
	for i := range f.comps {
		if err := f.comps[i].layOut(f); err != nil {
			return err
		}
	}
	return nil
}

// layOut computes the sizes of a component.
func (c *component) layOut(f *frame) error {
	if f.maxH%c.h != 0 || f.maxV%c.v != 0 {
		return fmt.Errorf("%w: sampling ratio %d/%d×%d/%d is not a whole number", errUnsupported, f.maxH, c.h, f.maxV, c.v)
	}
	c.width = ceilDiv(f.width*c.h, f.maxH)
	c.height = ceilDiv(f.height*c.v, f.maxV)
	c.blocksX = ceilDiv(f.width*c.h, 8*f.maxH)
	c.blocksY = ceilDiv(f.height*c.v, 8*f.maxV)
	c.stride = 8 * c.blocksX
	return nil
}

// want notes which blocks it takes to get the pixels of a rectangle. Smooth upsampling
// looks at one sample more on each side.
func (f *frame) want(pixels image.Rectangle) {
	for i := range f.comps {
		c := &f.comps[i]
		sx, sy := f.maxH/c.h, f.maxV/c.v
		c.wanted = image.Rect(
			(pixels.Min.X/sx-1)/8, (pixels.Min.Y/sy-1)/8,
			ceilDiv(ceilDiv(pixels.Max.X, sx)+1, 8), ceilDiv(ceilDiv(pixels.Max.Y, sy)+1, 8),
		).Intersect(image.Rect(0, 0, c.blocksX, c.blocksY))
	}
}

func ceilDiv(a, b int) int { return (a + b - 1) / b }

// colorModel guesses what the components stand for, as default_decompress_parms in
// libjpeg's jdapimin.c does.
func (f *frame) colorModel() (colorModel, error) {
	switch len(f.comps) {
	case 1:
		return grayModel, nil
	case 3:
		if f.isRGB() {
			return rgbModel, nil
		}
		return yCbCrModel, nil
	case 4:
		if f.adobe && f.transform != 0 {
			return ycckModel, nil
		}
		return cmykModel, nil
	}
	return 0, errors.New("scan without a frame header")
}

// isRGB looks at what names three components: JFIF, else Adobe, else their ids.
func (f *frame) isRGB() bool {
	if f.jfif {
		return false
	}
	if f.adobe {
		return f.transform == 0
	}
	return f.comps[0].id == 'R' && f.comps[1].id == 'G' && f.comps[2].id == 'B'
}
