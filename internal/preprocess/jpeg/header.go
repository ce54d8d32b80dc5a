package jpeg

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"slices"
	"strings"
)

// Marker codes (ITU-T T.81, table B.1).
const (
	markerTEM   = 0x01
	markerSOF0  = 0xC0
	markerSOF1  = 0xC1
	markerSOF2  = 0xC2
	markerDHT   = 0xC4
	markerSOF15 = 0xCF
	markerDAC   = 0xCC
	markerRST0  = 0xD0
	markerRST7  = 0xD7
	markerSOI   = 0xD8
	markerEOI   = 0xD9
	markerSOS   = 0xDA
	markerDQT   = 0xDB
	markerDNL   = 0xDC
	markerDRI   = 0xDD
	markerAPP0  = 0xE0
	markerAPP1  = 0xE1
	markerAPP14 = 0xEE
	markerAPP15 = 0xEF
	markerCOM   = 0xFE
)

const (
	maxDimension  = 65500 // JPEG_MAX_DIMENSION of libjpeg
	maxComponents = 4     // no colour model has more
	maxSampling   = 4     // T.81 B.2.2
	maxMCUBlocks  = 10    // T.81 B.2.3
)

var errTruncated = errors.New("file ends before any image data")

// A source hands out the parts of a file. Its end counts as an end-of-image marker, as in
// libjpeg's file reader.
type source struct {
	data    []byte
	pos     int
	pending byte // marker that ended the entropy-coded data; 0 if there is none
}

// nextMarker reads the next marker. It passes over bytes that belong to no segment, stuffed
// zeros and fill bytes.
func (s *source) nextMarker() byte {
	for {
		i := bytes.IndexByte(s.data[s.pos:], 0xFF)
		if i < 0 {
			s.pos = len(s.data)
			return markerEOI
		}
		s.pos += i + 1
		if m := s.afterFF(); m != 0 {
			return m
		}
	}
}

// afterFF returns the first byte that is not FF. Behind an FF it is the code of a marker, or 0
// for a data byte FF.
func (s *source) afterFF() byte {
	for ; s.pos < len(s.data); s.pos++ {
		if b := s.data[s.pos]; b != 0xFF {
			s.pos++
			return b
		}
	}
	return markerEOI
}

// segment returns what a marker segment holds behind its two length bytes.
func (s *source) segment() ([]byte, error) {
	rest := s.data[s.pos:]
	if len(rest) < 2 {
		return nil, errTruncated
	}
	n := int(rest[0])<<8 | int(rest[1])
	if n < 2 {
		return nil, fmt.Errorf("segment has length %d, expected at least 2", n)
	}
	if n > len(rest) {
		return nil, errTruncated
	}
	s.pos += n
	return rest[2:n], nil
}

// entropyCoded appends the entropy-coded bytes up to the next marker to buf, without the
// stuffed zeros. The marker becomes the pending one.
func (s *source) entropyCoded(buf []byte) []byte {
	for {
		rest := s.data[s.pos:]
		i := bytes.IndexByte(rest, 0xFF)
		if i < 0 {
			s.pending = s.nextMarker()
			return append(buf, rest...)
		}
		buf = append(buf, rest[:i]...)
		s.pos += i + 1
		// libjpeg takes FF FF 00 for one data byte FF.
		if m := s.afterFF(); m != 0 {
			s.pending = m
			return buf
		}
		buf = append(buf, 0xFF)
	}
}

// A component is one colour plane of a frame.
type component struct {
	id            uint8
	h, v          int // sampling factors
	quantSlot     uint8
	width, height int // size in samples: the image's, divided by the sampling ratio
	blocksX       int // size in blocks, just covering the samples
	blocksY       int

	quantOK bool // deq is as it was when the component's first scan began
	deq     dequantiser
	wanted  image.Rectangle // the blocks whose samples are needed
	stride  int             // of samples
	samples []uint8         // decoded blocks, blocksY·8 rows of stride samples

	// Used by files of several scans only.
	coefStride int // of coefs, in blocks
	coefs      []codedBlock
	exact      uint64 // has a bit for each coefficient that the scans gave to the last bit
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
	model         colorModel

	jfif        bool
	adobe       bool
	transform   uint8 // of the Adobe segment
	app1        bool
	orientation int
}

// A scan is what SOS says, and how its MCUs are laid out.
type scan struct {
	comps          []*component
	dcSlot, acSlot [4]uint8 // by position in comps

	ss, se, ah, al int // spectral selection and successive approximation

	mcusX, mcusY int
	blocks       []mcuBlock
}

// An mcuBlock is the place of one block in an MCU.
type mcuBlock struct {
	comp   *component
	pos    int // of comp in the scan
	dx, dy int // in blocks, from the MCU's first block of that component
	mx, my int // size of the MCU, in blocks of that component
}

// readConfig reads the file up to the first scan and sets up frame and scan for it.
func (d *Decoder) readConfig(data []byte) (Config, error) {
	d.src = source{data: data, pos: 2}
	d.tables.quantOK, d.tables.dcOK, d.tables.acOK = [4]bool{}, [4]bool{}, [4]bool{}
	f := &d.frame
	*f = frame{comps: f.comps[:0], orientation: 1}
	if !bytes.HasPrefix(data, []byte{0xFF, markerSOI}) {
		return Config{}, errors.New("file does not begin with the JPEG marker FF D8")
	}
	found, err := d.readMarkers()
	if err == nil && !found {
		err = errTruncated
	}
	if err == nil {
		err = f.layOut()
	}
	if err != nil {
		return Config{}, err
	}
	return Config{Width: f.width, Height: f.height, Orientation: f.orientation}, nil
}

// readMarkers reads segments until a scan begins, and reports whether one did; if not, the
// image has ended.
func (d *Decoder) readMarkers() (bool, error) {
	for {
		m := d.src.pending
		d.src.pending = 0
		if m == 0 {
			m = d.src.nextMarker()
		}
		if m == markerEOI {
			return false, nil
		}
		if m == markerTEM || m >= markerRST0 && m <= markerRST7 {
			continue // without a segment
		}
		seg, err := d.src.segment()
		if err == nil {
			err = d.readSegment(m, seg)
		}
		if err != nil {
			return false, fmt.Errorf("marker FF %02X: %w", m, err)
		}
		if m == markerSOS {
			return true, nil
		}
	}
}

func (d *Decoder) readSegment(m byte, seg []byte) error {
	f := &d.frame
	startsWith := func(name string, length int) bool {
		return len(seg) >= length && strings.HasPrefix(string(seg[:length]), name)
	}
	switch {
	case m == markerAPP0 && startsWith("JFIF\x00", 14):
		f.jfif = true
	case m == markerAPP14 && startsWith("Adobe", 12):
		f.adobe, f.transform = true, seg[11]
	case m == markerAPP1 && !f.app1:
		// OpenCV looks at the first APP1 only, and never at its name.
		f.app1 = true
		f.orientation = exifOrientation(seg[min(6, len(seg)):])
	case m >= markerAPP0 && m <= markerAPP15, m == markerCOM, m == markerDNL, m == markerDAC:
	case m == markerDHT:
		return d.tables.readHuffman(seg)
	case m == markerDQT:
		return d.tables.readQuant(seg)
	case m == markerDRI:
		if len(seg) != 2 {
			return fmt.Errorf("restart interval has %d bytes, expected 2", len(seg))
		}
		f.restart = int(seg[0])<<8 | int(seg[1])
	case m == markerSOS:
		return d.scan.read(seg, f)
	case m >= markerSOF0 && m <= markerSOF15:
		return f.read(m, seg)
	default:
		return errors.New("is not allowed here")
	}
	return nil
}

// read reads a SOF segment. It keeps the memory of the components of the previous image.
func (f *frame) read(m byte, seg []byte) error {
	switch m {
	case markerSOF0, markerSOF1, markerSOF2:
	case 0xC9, 0xCA:
		return errors.New("arithmetic coding is not supported")
	case 0xC3, 0xCB:
		return errors.New("lossless coding is not supported")
	default:
		return errors.New("hierarchical coding is not supported")
	}
	if f.seen {
		return errors.New("second frame header")
	}
	if len(seg) < 6 || len(seg) != 6+3*int(seg[5]) {
		return fmt.Errorf("frame header has a wrong length of %d bytes", len(seg))
	}
	if seg[0] != 8 {
		return fmt.Errorf("%d bits per sample are not supported, expected 8", seg[0])
	}
	f.height = int(seg[1])<<8 | int(seg[2])
	f.width = int(seg[3])<<8 | int(seg[4])
	if f.height == 0 && f.width > 0 {
		return errors.New("a height in a DNL marker is not supported")
	}
	if f.width == 0 || f.width > maxDimension || f.height > maxDimension {
		return fmt.Errorf("size is %d×%d pixels: must be 1×1 to %d×%d", f.width, f.height, maxDimension, maxDimension)
	}
	f.progressive = m == markerSOF2
	f.seen = true
	n := int(seg[5])
	if n != 1 && n != 3 && n != maxComponents {
		return fmt.Errorf("%d components are not supported, expected 1, 3 or 4", n)
	}
	if cap(f.comps) < n {
		grown := make([]component, n)
		copy(grown, f.comps[:cap(f.comps)])
		f.comps = grown
	}
	f.comps = f.comps[:n]
	for i := range f.comps {
		c := &f.comps[i]
		s := seg[6+3*i:]
		*c = component{
			id: s[0], h: int(s[1] >> 4), v: int(s[1] & 15), quantSlot: s[2],
			samples: c.samples, coefs: c.coefs,
		}
	}
	return nil
}

// layOut computes the sizes that follow from the sampling factors, and guesses what the
// components stand for, as default_decompress_parms in libjpeg's jdapimin.c does.
func (f *frame) layOut() error {
	f.maxH, f.maxV = 1, 1
	for _, c := range f.comps {
		if c.h < 1 || c.v < 1 || c.h > maxSampling || c.v > maxSampling {
			return fmt.Errorf("component %d has sampling factors %d×%d, expected 1 to %d", c.id, c.h, c.v, maxSampling)
		}
		f.maxH, f.maxV = max(f.maxH, c.h), max(f.maxV, c.v)
	}
	f.mcusX = ceilDiv(f.width, 8*f.maxH)
	f.mcusY = ceilDiv(f.height, 8*f.maxV)
	for i := range f.comps {
		c := &f.comps[i]
		if f.maxH%c.h != 0 || f.maxV%c.v != 0 {
			return fmt.Errorf("sampling ratio %d/%d×%d/%d is not supported, expected whole numbers", f.maxH, c.h, f.maxV, c.v)
		}
		c.width = ceilDiv(f.width*c.h, f.maxH)
		c.height = ceilDiv(f.height*c.v, f.maxV)
		c.blocksX = ceilDiv(f.width*c.h, 8*f.maxH)
		c.blocksY = ceilDiv(f.height*c.v, 8*f.maxV)
		c.stride = 8 * c.blocksX
	}
	switch len(f.comps) {
	case 1:
		f.model = gray
	case 3:
		f.model = yCbCr
		if !f.jfif && (f.adobe && f.transform == 0 || !f.adobe && f.comps[0].id == 'R' && f.comps[1].id == 'G' && f.comps[2].id == 'B') {
			f.model = rgb
		}
	case 4:
		f.model = cmyk
		if f.adobe && f.transform != 0 {
			f.model = ycck
		}
	}
	return nil
}

// want notes which blocks hold the pixels of a rectangle. Smooth upsampling looks at one
// sample more on each side.
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

// read reads a SOS segment. The order of the components must be that of the frame header, as
// in libjpeg.
func (s *scan) read(seg []byte, f *frame) error {
	if !f.seen {
		return errors.New("scan without a frame header")
	}
	if len(seg) < 1 || seg[0] < 1 || seg[0] > maxComponents || len(seg) != 4+2*int(seg[0]) {
		return fmt.Errorf("scan header has a wrong length of %d bytes", len(seg))
	}
	n := int(seg[0])
	s.comps = s.comps[:0]
	for i := range n {
		id, slots := seg[1+2*i], seg[2+2*i]
		for k := range f.comps {
			c := &f.comps[k]
			if c.id == id && k >= i && !slices.Contains(s.comps, c) {
				s.comps = append(s.comps, c)
				break
			}
		}
		if len(s.comps) == i {
			return fmt.Errorf("scan has an unknown, repeated or misplaced component %d", id)
		}
		s.dcSlot[i], s.acSlot[i] = slots>>4, slots&15
	}
	tail := seg[1+2*n:]
	s.ss, s.se, s.ah, s.al = int(tail[0]), int(tail[1]), int(tail[2]>>4), int(tail[2]&15)
	return nil
}

// allowed reports whether a progressive scan is one of those of T.81 table G.1.
func (s *scan) allowed() bool {
	if s.al > 13 || s.ah != 0 && s.al != s.ah-1 {
		return false
	}
	if s.ss == 0 { // DC
		return s.se == 0
	}
	return s.ss <= s.se && s.se <= 63 && len(s.comps) == 1
}

// tables are the quantisation and Huffman tables defined so far.
type tables struct {
	quant               [4][64]uint16 // steps in zigzag order
	dc, ac              [4]huffmanSpec
	quantOK, dcOK, acOK [4]bool
}

// A huffmanSpec is a Huffman table as it is written in a file.
type huffmanSpec struct {
	counts [17]uint8  // number of codes of each length; [0] is unused
	values [256]uint8 // symbols in order of their codes
}

// readQuant reads a DQT segment.
func (t *tables) readQuant(seg []byte) error {
	for len(seg) > 0 {
		wide, slot := seg[0]>>4 != 0, seg[0]&15
		if slot >= 4 {
			return fmt.Errorf("quantisation table has number %d, expected 0 to 3", slot)
		}
		seg = seg[1:]
		size := 64
		if wide {
			size = 128
		}
		if len(seg) < size {
			return fmt.Errorf("quantisation table %d has %d bytes, expected %d", slot, len(seg), size)
		}
		for i := range t.quant[slot] {
			if wide {
				t.quant[slot][i] = uint16(seg[2*i])<<8 | uint16(seg[2*i+1])
			} else {
				t.quant[slot][i] = uint16(seg[i])
			}
		}
		t.quantOK[slot] = true
		seg = seg[size:]
	}
	return nil
}

// readHuffman reads a DHT segment.
func (t *tables) readHuffman(seg []byte) error {
	for len(seg) > 16 {
		class, slot := seg[0]>>4, seg[0]&15
		if class > 1 || slot >= 4 {
			return fmt.Errorf("class %d or number %d of a Huffman table is wrong: must be class 0 or 1 and number 0 to 3", class, slot)
		}
		var h huffmanSpec
		copy(h.counts[1:], seg[1:])
		seg = seg[17:]
		total := 0
		for _, count := range h.counts {
			total += int(count)
		}
		if total > 256 || total > len(seg) {
			return fmt.Errorf("number %d of Huffman tables has %d symbols but %d bytes", slot, total, len(seg))
		}
		copy(h.values[:], seg[:total])
		seg = seg[total:]
		if class == 0 {
			t.dc[slot], t.dcOK[slot] = h, true
		} else {
			t.ac[slot], t.acOK[slot] = h, true
		}
	}
	if len(seg) != 0 {
		return fmt.Errorf("segment of Huffman tables has %d bytes too many", len(seg))
	}
	return nil
}
