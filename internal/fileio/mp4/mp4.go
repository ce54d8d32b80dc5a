package mp4

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"image"
	"image/jpeg"
	"math"
)

const (
	channels = 3
	quality  = 95
	// maxSide is what a box has room for.
	maxSide = math.MaxUint16
)

// Is reports whether bytes are the beginning of an MP4 file, whose first box is of type ftyp.
func Is(data []byte) bool { return len(data) >= 8 && string(data[4:8]) == "ftyp" }

// A Writer collects the frames of a video. One goroutine uses it.
type Writer struct {
	width, height, rate int
	frame               *image.YCbCr
	frames              bytes.Buffer // JPEG images, one after the other
	sizes               []uint32
}

// NewWriter returns a writer of frames of a size, so many a second.
func NewWriter(width, height, rate int) *Writer {
	return &Writer{width: width, height: height, rate: rate, frame: image.NewYCbCr(image.Rect(0, 0, width, height), image.YCbCrSubsampleRatio420)}
}

// Reset forgets the frames.
func (w *Writer) Reset() {
	w.frames.Reset()
	w.sizes = w.sizes[:0]
}

// Add adds a frame, rows of pixels of red, green and blue.
func (w *Writer) Add(pixels []byte) error {
	if len(pixels) != channels*w.width*w.height || len(pixels) == 0 || w.width > maxSide || w.height > maxSide || w.rate < 1 {
		return fmt.Errorf("a frame of %d bytes, expected %d×%d pixels of %d", len(pixels), w.width, w.height, channels)
	}
	w.convert(pixels)
	before := w.frames.Len()
	if err := jpeg.Encode(&w.frames, w.frame, &jpeg.Options{Quality: quality}); err != nil {
		return err
	}
	w.sizes = append(w.sizes, uint32(w.frames.Len()-before))
	return nil
}

// convert makes brightness and colours of pixels (JFIF 1.02): colours are those of two by two pixels.
func (w *Writer) convert(pixels []byte) {
	f := w.frame
	for y := range w.height {
		row := pixels[channels*w.width*y:][:channels*w.width]
		for x := range w.width {
			r, g, b := int32(row[channels*x]), int32(row[channels*x+1]), int32(row[channels*x+2])
			f.Y[y*f.YStride+x] = uint8((19595*r + 38470*g + 7471*b + 1<<15) >> 16)
		}
	}
	for y := 0; y < w.height; y += 2 {
		for x := 0; x < w.width; x += 2 {
			var r, g, b, n int32
			for _, at := range [4][2]int{{x, y}, {x + 1, y}, {x, y + 1}, {x + 1, y + 1}} {
				if at[0] < w.width && at[1] < w.height {
					p := pixels[channels*(at[1]*w.width+at[0]):]
					r, g, b, n = r+int32(p[0]), g+int32(p[1]), b+int32(p[2]), n+1
				}
			}
			i := f.COffset(x, y)
			f.Cb[i] = chroma(-11056*r-21712*g+32768*b, n)
			f.Cr[i] = chroma(32768*r-27440*g-5328*b, n)
		}
	}
}

// chroma is a colour of n pixels, of its sum in 1/65536.
func chroma(sum, n int32) uint8 { return uint8(min(max((sum/n+128<<16+1<<15)>>16, 0), 255)) }

// File returns the whole file.
func (w *Writer) File() ([]byte, error) {
	n := uint32(len(w.sizes))
	if n == 0 {
		return nil, fmt.Errorf("a video of no frames")
	}
	if w.frames.Len() > math.MaxUint32-1<<20 {
		return nil, fmt.Errorf("a video of %d bytes: must be below 4 GiB", w.frames.Len())
	}
	rate, width, height := uint32(w.rate), uint16(w.width), uint16(w.height)
	matrix := list(uint32(1<<16), uint32(0), uint32(0), uint32(0), uint32(1<<16), uint32(0), uint32(0), uint32(0), uint32(1<<30))
	head := box("ftyp", []byte("isom"), list(uint32(512)), []byte("isomiso2mp41"))

	const jpegObject, visual = 0x6c, 0x11
	descriptor := full("esds", 0, []byte{3, 21, 0, 1, 0, 4, 13, jpegObject, visual, 0, 0, 0}, make([]byte, 8), []byte{6, 1, 2})
	const perInch, depth = 72 << 16, 24
	entry := box("mp4v", make([]byte, 6), list(uint16(1)), make([]byte, 16), list(width, height, uint32(perInch), uint32(perInch), uint32(0), uint16(1)),
		make([]byte, 32), list(uint16(depth), int16(-1)), descriptor)
	table := box("stbl",
		full("stsd", 0, list(uint32(1)), entry),
		full("stts", 0, list(uint32(1), n, uint32(1))),
		full("stsc", 0, list(uint32(1), uint32(1), n, uint32(1))),
		full("stsz", 0, list(uint32(0), n), list(w.sizes)),
		full("stco", 0, list(uint32(1), uint32(len(head)+8))))
	media := box("minf",
		full("vmhd", 1, make([]byte, 8)),
		box("dinf", full("dref", 0, list(uint32(1)), full("url ", 1))),
		table)
	const undetermined = 0x55c4 // language "und"
	track := box("trak",
		full("tkhd", 3, list(uint32(0), uint32(0), uint32(1), uint32(0), n), make([]byte, 16), matrix, list(uint32(width)<<16, uint32(height)<<16)),
		box("mdia",
			full("mdhd", 0, list(uint32(0), uint32(0), rate, n, uint16(undetermined), uint16(0))),
			full("hdlr", 0, make([]byte, 4), []byte("vide"), make([]byte, 12), []byte("v\x00")),
			media))
	movie := box("moov",
		full("mvhd", 0, list(uint32(0), uint32(0), rate, n, uint32(1<<16), uint16(1<<8)), make([]byte, 10), matrix, make([]byte, 24), list(uint32(2))),
		track)
	return bytes.Join([][]byte{head, box("mdat", w.frames.Bytes()), movie}, nil), nil
}

// box is a box of a type with its content.
func box(kind string, parts ...[]byte) []byte {
	content := bytes.Join(parts, nil)
	return bytes.Join([][]byte{list(uint32(8 + len(content))), []byte(kind), content}, nil)
}

// full is a box of version 0 with flags.
func full(kind string, flags uint32, parts ...[]byte) []byte {
	return box(kind, append([][]byte{list(flags)}, parts...)...)
}

// list writes numbers, the high byte first.
func list(numbers ...any) (data []byte) {
	for _, n := range numbers {
		data, _ = binary.Append(data, binary.BigEndian, n) // numbers have a size
	}
	return data
}
