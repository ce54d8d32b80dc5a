package jpeg

import (
	"errors"
	"fmt"
	"image"

	"github.com/mlperf-go/mlperf/internal/exif"
)

const (
	maxDimension  = 65500 // JPEG_MAX_DIMENSION of libjpeg
	maxComponents = 4     // no colour model has more
	maxSampling   = 4     // T.81 B.2.2
	maxMCUBlocks  = 10    // T.81 B.2.3
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

// readStart reads the file up to the first scan and sets up frame and scan for it.
func (d *Decoder) readStart() error {
	if d.src.byte() != 0xFF || d.src.byte() != markerSOI {
		return errors.New("file does not begin with the JPEG marker FF D8")
	}
	found, err := d.readMarkers()
	if err != nil {
		return err
	}
	if !found {
		return errors.New("file ends before any image data")
	}
	return d.frame.layOut()
}

// readMarkers reads segments until a scan begins, and reports whether one did; if
// not, the image has ended.
func (d *Decoder) readMarkers() (bool, error) {
	for {
		switch m := d.src.marker(); m {
		case markerSOS:
			return true, d.readScanHeader()
		case markerEOI:
			return false, nil
		default:
			if err := d.readSegment(m); err != nil {
				return false, fmt.Errorf("marker FF %02X: %w", m, err)
			}
		}
	}
}

// readSegment reads the segment of any marker but SOS and EOI.
func (d *Decoder) readSegment(m byte) error {
	if !hasSegment(m) {
		return nil
	}
	application := within(m, markerAPP0, markerAPP15)
	if !application && m != markerCOM && !within(m, markerSOF0, markerSOF15) && !within(m, markerDQT, markerDRI) {
		return errors.New("is not allowed here")
	}
	seg, err := d.src.segment()
	if application && err == nil {
		d.frame.readApp(m, seg)
	}
	if application || m == markerCOM || m == markerDNL { // libjpeg overlooks a wrong length here
		return nil
	}
	if err != nil {
		return err
	}
	return d.readTables(m, seg)
}

func hasSegment(m byte) bool { return m != markerTEM && !within(m, markerRST0, markerRST7) }

func within(m, first, last byte) bool { return m >= first && m <= last }

// readTables reads the segments of a frame, or of tables for it.
func (d *Decoder) readTables(m byte, seg []byte) error {
	switch m {
	case markerDHT:
		return d.tables.readHuffman(seg)
	case markerDQT:
		return d.tables.readQuant(seg)
	case markerDRI:
		return d.frame.readRestart(seg)
	case markerDAC:
		return nil // only arithmetic coding uses it, which the frame will tell
	default:
		return d.frame.read(m, seg)
	}
}

func (f *frame) readRestart(seg []byte) error {
	if len(seg) != 2 {
		return fmt.Errorf("restart interval has %d bytes, want 2", len(seg))
	}
	f.restart = int(seg[0])<<8 | int(seg[1])
	return nil
}

// readApp looks for what matters in application segments: colour model, orientation.
func (f *frame) readApp(m byte, seg []byte) {
	switch {
	case m == markerAPP0 && len(seg) >= 14 && string(seg[:5]) == "JFIF\x00":
		f.jfif = true
	case m == markerAPP14 && len(seg) >= 12 && string(seg[:5]) == "Adobe":
		f.adobe, f.transform = true, seg[11]
	case m == markerAPP1 && !f.app1:
		// OpenCV looks at the first APP1 only, and never at its name.
		f.app1 = true
		f.orientation = exif.Orientation(seg[min(6, len(seg)):])
	}
}

// read reads a SOF segment.
func (f *frame) read(m byte, seg []byte) error {
	if err := supported(m); err != nil {
		return err
	}
	if f.seen {
		return errors.New("second frame header")
	}
	if len(seg) < 6 || len(seg) != 6+3*int(seg[5]) {
		return fmt.Errorf("frame header has a wrong length of %d bytes", len(seg))
	}
	if seg[0] != 8 {
		return fmt.Errorf("%w: %d bits per sample, want 8", errUnsupported, seg[0])
	}
	if err := f.readSize(seg); err != nil {
		return err
	}
	n := int(seg[5])
	if n == 0 || n == 2 || n > maxComponents {
		return fmt.Errorf("%w: %d components, want 1, 3 or 4", errUnsupported, n)
	}
	f.setComponents(seg[6:], n)
	f.progressive = m == markerSOF2
	f.seen = true
	return nil
}

// readSize reads height and width.
func (f *frame) readSize(seg []byte) error {
	f.height = int(seg[1])<<8 | int(seg[2])
	f.width = int(seg[3])<<8 | int(seg[4])
	if f.height == 0 && f.width > 0 {
		return fmt.Errorf("%w: height is left to a DNL marker", errUnsupported)
	}
	if f.width == 0 || f.width > maxDimension || f.height > maxDimension {
		return fmt.Errorf("size is %d×%d pixels, want 1×1 to %d×%d", f.width, f.height, maxDimension, maxDimension)
	}
	return nil
}

// setComponents keeps the memory of the components of the previous image.
func (f *frame) setComponents(specs []byte, n int) {
	if cap(f.comps) < n {
		grown := make([]component, n)
		copy(grown, f.comps[:cap(f.comps)])
		f.comps = grown
	}
	f.comps = f.comps[:n]
	for i := range f.comps {
		c := &f.comps[i]
		s := specs[3*i:]
		*c = component{
			id: s[0], h: int(s[1] >> 4), v: int(s[1] & 15), quantSlot: s[2],
			samples: c.samples, coefs: c.coefs,
		}
	}
}

// supported names the kinds of frame that are not Huffman-coded DCT.
func supported(m byte) error {
	switch m {
	case markerSOF0, markerSOF1, markerSOF2:
		return nil
	case 0xC9, 0xCA:
		return fmt.Errorf("%w: arithmetic coding", errUnsupported)
	case 0xC3, 0xCB:
		return fmt.Errorf("%w: lossless coding", errUnsupported)
	case 0xC8:
		return fmt.Errorf("%w: reserved frame type", errUnsupported)
	}
	return fmt.Errorf("%w: hierarchical coding", errUnsupported)
}

// layOut computes the sizes that follow from the sampling factors.
func (f *frame) layOut() error {
	f.maxH, f.maxV = 1, 1
	for _, c := range f.comps {
		if c.h < 1 || c.h > maxSampling || c.v < 1 || c.v > maxSampling {
			return fmt.Errorf("component %d has sampling factors %d×%d, want 1 to %d", c.id, c.h, c.v, maxSampling)
		}
		f.maxH, f.maxV = max(f.maxH, c.h), max(f.maxV, c.v)
	}
	f.mcusX = ceilDiv(f.width, 8*f.maxH)
	f.mcusY = ceilDiv(f.height, 8*f.maxV)
	for i := range f.comps {
		c := &f.comps[i]
		if f.maxH%c.h != 0 || f.maxV%c.v != 0 {
			return fmt.Errorf("%w: sampling ratio %d/%d×%d/%d is not a whole number", errUnsupported, f.maxH, c.h, f.maxV, c.v)
		}
		c.width = ceilDiv(f.width*c.h, f.maxH)
		c.height = ceilDiv(f.height*c.v, f.maxV)
		c.blocksX = ceilDiv(f.width*c.h, 8*f.maxH)
		c.blocksY = ceilDiv(f.height*c.v, 8*f.maxV)
		c.stride = 8 * c.blocksX
	}
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
		ids := [3]uint8{f.comps[0].id, f.comps[1].id, f.comps[2].id}
		plain := f.adobe && f.transform == 0 || !f.adobe && ids == [3]uint8{'R', 'G', 'B'}
		if !f.jfif && plain {
			return rgbModel, nil
		}
		return yCbCrModel, nil
	case 4:
		if !f.adobe || f.transform == 0 {
			return cmykModel, nil
		}
		return ycckModel, nil
	}
	return 0, errors.New("scan without a frame header")
}
