package jpeg

import (
	"errors"
	"fmt"
	"strings"

	"github.com/mlperf-go/mlperf/internal/preprocess/exif"
)

const (
	maxDimension  = 65500 // JPEG_MAX_DIMENSION of libjpeg, which neither reads nor writes more
	maxComponents = 4     // no colour model has more
	maxSampling   = 4     // T.81 B.2.2
	maxMCUBlocks  = 10    // T.81 B.2.3

	maxArithmeticTables = 16 // NUM_ARITH_TBLS of libjpeg, of DC and as many of AC
)

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
	if isTables(m) {
		seg, err := d.src.segment()
		if err != nil {
			return err
		}
		return d.readTables(m, seg)
	}
	if !isNote(m) {
		return errors.New("is not allowed here")
	}
	if seg, err := d.src.segment(); err == nil { // libjpeg overlooks a wrong length here
		d.frame.readApp(m, seg)
	}
	return nil
}

func hasSegment(m byte) bool { return m != markerTEM && !within(m, markerRST0, markerRST7) }

// isNote reports whether a segment can be passed over.
func isNote(m byte) bool {
	return within(m, markerAPP0, markerAPP15) || m == markerCOM || m == markerDNL
}

func isTables(m byte) bool {
	return within(m, markerSOF0, markerSOF15) || m == markerDQT || m == markerDRI
}

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
		return checkConditioning(seg)
	default:
		return d.frame.read(m, seg)
	}
}

// checkConditioning refuses what libjpeg refuses in a DAC segment, which only arithmetic coding
// uses otherwise: a table and its value each (T.81 §B.2.4.3).
func checkConditioning(seg []byte) error {
	for ; len(seg) > 1; seg = seg[2:] {
		table, value := seg[0], seg[1]
		if table >= 2*maxArithmeticTables {
			return fmt.Errorf("conditioning table has number %d, want at most %d", table, 2*maxArithmeticTables-1)
		}
		if lower, upper := value&15, value>>4; table < maxArithmeticTables && lower > upper {
			return fmt.Errorf("conditioning table %d has the bounds %d to %d", table, lower, upper)
		}
	}
	if len(seg) != 0 {
		return errors.New("segment of conditioning tables has a byte too many")
	}
	return nil
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
	begins := func(name string, atLeast int) bool {
		return len(seg) >= atLeast && strings.HasPrefix(string(seg[:atLeast]), name)
	}
	switch {
	case m == markerAPP0 && begins("JFIF\x00", 14):
		f.jfif = true
	case m == markerAPP14 && begins("Adobe", 12):
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
	if err := f.readSize(seg); err != nil {
		return err
	}
	f.progressive = m == markerSOF2
	f.seen = true
	return f.setComponents(seg[6:], int(seg[5]))
}

// readSize reads the bits of a sample, height and width.
func (f *frame) readSize(seg []byte) error {
	if seg[0] != 8 {
		return fmt.Errorf("%w: %d bits per sample, want 8", errUnsupported, seg[0])
	}
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
func (f *frame) setComponents(specs []byte, n int) error {
	if n != 1 && n != 3 && n != maxComponents {
		return fmt.Errorf("%w: %d components, want 1, 3 or 4", errUnsupported, n)
	}
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
	return nil
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
