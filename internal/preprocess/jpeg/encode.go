package jpeg

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
)

// Sampling says how coarsely a JPEG file keeps colour.
type Sampling int

// The samplings of files one meets. Sampling444 is the zero value.
const (
	Sampling444  Sampling = iota // colour for each pixel
	Sampling422                  // one colour for two pixels side by side
	Sampling420                  // one for a square of four
	Sampling440                  // one for two pixels one upon the other
	SamplingGray                 // none: one component
	samplings
)

// String returns the usual name.
func (s Sampling) String() string {
	switch s {
	case Sampling444:
		return "4:4:4"
	case Sampling422:
		return "4:2:2"
	case Sampling420:
		return "4:2:0"
	case Sampling440:
		return "4:4:0"
	case SamplingGray:
		return "gray"
	}
	return fmt.Sprintf("Sampling(%d)", int(s))
}

// factors returns how many samples of brightness there are for one of colour.
func (s Sampling) factors() (across, down int) {
	switch s {
	case Sampling422:
		return 2, 1
	case Sampling420:
		return 2, 2
	case Sampling440:
		return 1, 2
	}
	return 1, 1
}

// EncodeOptions choose what Encode writes. The zero value is quality 75, 4:4:4, and no
// extras.
type EncodeOptions struct {
	Quality  int // 1 to 100 as in libjpeg; 0: 75
	Sampling Sampling

	// RestartInterval is the number of MCUs from one restart marker to the next, up to
	// 65535. 0: no markers. An MCU is a block of pixels, 8 or 16 on each side.
	RestartInterval int

	// ExifOrientation is written into an EXIF header, 1 to 8. The pixels stay as they
	// are. 0: no such header.
	ExifOrientation int

	// Comment goes into a COM segment, of at most 65533 bytes. Empty: none.
	Comment string
}

const (
	defaultQuality = 75
	maxSegment     = 65535 - 2 // bytes after the length; T.81 §B.1.1.4
)

// Encode writes a picture as a baseline JPEG file with the tables of the standard
// (ITU-T T.81 annex K) and libjpeg's scale of quality. The same picture and options give
// the same bytes on every platform.
func Encode(w io.Writer, img *RGB, opts EncodeOptions) error {
	var e Encoder
	data, err := e.Append(nil, img, opts)
	if err != nil {
		return fmt.Errorf("encoding JPEG: %w", err)
	}
	_, err = w.Write(data)
	return err
}

// check finds what cannot be encoded.
func (o EncodeOptions) check(img *RGB) error {
	within := func(v, low, high int, name string) error {
		if v < low || v > high {
			return fmt.Errorf("%s is %d, want %d to %d", name, v, low, high)
		}
		return nil
	}
	for _, err := range []error{
		within(img.Width, 1, maxDimension, "the width"),
		within(img.Height, 1, maxDimension, "the height"),
		within(o.Quality, 0, 100, "the quality"),
		within(int(o.Sampling), 0, int(samplings)-1, "the sampling"),
		within(o.RestartInterval, 0, 65535, "the restart interval"),
		within(o.ExifOrientation, 0, 8, "the orientation"),
		within(len(o.Comment), 0, maxSegment, "the length of the comment"),
	} {
		if err != nil {
			return err
		}
	}
	if img.Stride < 3*img.Width || len(img.Pix) < (img.Height-1)*img.Stride+3*img.Width {
		return fmt.Errorf("%d bytes with a stride of %d are too few for %d×%d pixels",
			len(img.Pix), img.Stride, img.Width, img.Height)
	}
	return nil
}

// writeHeader writes everything that comes before the first scan.
func (e *Encoder) writeHeader(opts EncodeOptions) {
	e.buf = append(e.buf, 0xff, markerSOI)
	// JFIF 1.01 without a thumbnail, square pixels.
	e.segment(markerAPP0, []byte("JFIF\x00\x01\x01\x00\x00\x01\x00\x01\x00\x00"))
	if opts.ExifOrientation != 0 {
		e.segment(markerAPP1, exifHeader(opts.ExifOrientation))
	}
	if opts.Comment != "" {
		e.segment(markerCOM, []byte(opts.Comment))
	}
	tables := min(e.components, 2) // one for brightness, one for both colours
	for i := range tables {
		e.segment(markerDQT, append([]byte{byte(i)}, e.quants[i].step[:]...))
	}
	e.segment(markerSOF0, e.frameHeader())
	for i := range tables {
		e.segment(markerDHT, standardDC[i].segment(0x00+i))
		e.segment(markerDHT, standardAC[i].segment(0x10+i))
	}
	if opts.RestartInterval > 0 {
		e.segment(markerDRI, binary.BigEndian.AppendUint16(nil, uint16(opts.RestartInterval)))
	}
	e.segment(markerSOS, e.scanHeader())
}

func (e *Encoder) segment(marker byte, content []byte) {
	e.buf = append(e.buf, 0xff, marker)
	e.buf = binary.BigEndian.AppendUint16(e.buf, uint16(len(content)+2))
	e.buf = append(e.buf, content...)
}

// frameHeader follows T.81 §B.2.2: 8 bits, the size, and each component's number,
// sampling and quantisation table.
func (e *Encoder) frameHeader() []byte {
	h := []byte{8}
	h = binary.BigEndian.AppendUint16(h, uint16(e.img.Height))
	h = binary.BigEndian.AppendUint16(h, uint16(e.img.Width))
	h = append(h, byte(e.components), 1, byte(e.across<<4|e.down), 0)
	if e.components == 3 {
		h = append(h, 2, 0x11, 1, 3, 0x11, 1)
	}
	return h
}

// scanHeader follows T.81 §B.2.3: each component's Huffman tables, then the whole
// spectrum in one go.
func (e *Encoder) scanHeader() []byte {
	h := []byte{byte(e.components), 1, 0x00}
	if e.components == 3 {
		h = append(h, 2, 0x11, 3, 0x11)
	}
	return append(h, 0, 63, 0)
}

// exifHeader is a TIFF directory with one entry: tag 0x0112, a SHORT.
func exifHeader(orientation int) []byte {
	var b bytes.Buffer
	b.WriteString("Exif\x00\x00" + "MM\x00\x2a\x00\x00\x00\x08")
	b.Write([]byte{0, 1, 0x01, 0x12, 0, 3, 0, 0, 0, 1, 0, byte(orientation), 0, 0})
	b.Write([]byte{0, 0, 0, 0}) // no further directory
	return b.Bytes()
}
