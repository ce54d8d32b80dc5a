package jpeg

import (
	"encoding/binary"
	"math/bits"
)

// An Encoder writes JPEG files, one after the other, and keeps the memory that takes. The
// zero value is ready for use. An Encoder serves one goroutine.
type Encoder struct {
	img          *RGB
	components   int // 3, or 1 for gray
	across, down int // samples of brightness for one of colour
	quants       [2]divider
	quality      int // of quants
	strip        strip

	buf     []byte
	pending uint64 // bits that are not in buf yet, the last ones lowest
	count   uint   // how many; below 32 between calls of put
	dc      [3]int32
}

// Append appends the file to dst and returns it. With an error dst is as it was.
func (e *Encoder) Append(dst []byte, img *RGB, opts EncodeOptions) ([]byte, error) {
	if err := opts.check(img); err != nil {
		return dst, err
	}
	e.img, e.buf = img, dst
	e.across, e.down = opts.Sampling.factors()
	e.components = 3
	if opts.Sampling == SamplingGray {
		e.components = 1
	}
	if opts.Quality == 0 {
		opts.Quality = defaultQuality
	}
	if e.quality != opts.Quality {
		e.quality = opts.Quality
		for i := range e.quants {
			e.quants[i] = newDivider(&standardQuant[i], opts.Quality)
		}
	}
	e.writeHeader(opts)
	e.writeScan(opts.RestartInterval)
	e.buf = append(e.buf, 0xff, markerEOI)
	return e.buf, nil
}

// writeScan writes all MCUs, row by row.
func (e *Encoder) writeScan(restart int) {
	width, height := 8*e.across, 8*e.down
	columns := (e.img.Width + width - 1) / width
	rows := (e.img.Height + height - 1) / height
	e.strip.resize(e.components, columns*width, height, e.across, e.down)
	e.dc = [3]int32{}
	for i := range columns * rows {
		if i%columns == 0 {
			e.fill(i / columns * height)
		}
		if restart > 0 && i > 0 && i%restart == 0 {
			e.align()
			e.buf = append(e.buf, 0xff, byte(markerRST0+(i/restart-1)%8))
			e.dc = [3]int32{}
		}
		e.writeMCU(i%columns, i/columns)
	}
	e.align()
}

// writeMCU writes the blocks of brightness from left to right and from top to bottom,
// then one of each colour (T.81 §A.2.3). Those beyond the picture, of which nobody sees
// anything, are as short as can be.
func (e *Encoder) writeMCU(column, row int) {
	s := &e.strip
	for y := range e.down {
		for x := range e.across {
			across, down := column*e.across+x, row*e.down+y
			if 8*across >= e.img.Width || 8*down >= e.img.Height {
				e.writeSame()
				continue
			}
			e.writeBlock(0, s.planes[0][8*y*s.stride[0]+8*across:])
		}
	}
	for i := 1; i < e.components; i++ {
		e.writeBlock(i, s.planes[i][8*column:])
	}
}

// writeBlock transforms, quantises and codes a block.
func (e *Encoder) writeBlock(component int, samples []uint8) {
	table := min(component, 1)
	var block, coded [64]int32
	dct(&block, samples, e.strip.stride[component])
	used := e.quants[table].quantise(&coded, &block)

	difference := coded[0] - e.dc[component]
	e.dc[component] = coded[0]
	e.putNumber(dcCodes[table], 0, difference)
	codes := acCodes[table]
	last := 0
	for used &^= 1; used != 0; used &= used - 1 {
		i := bits.TrailingZeros64(used)
		zeros := i - last - 1
		for ; zeros > 15; zeros -= 16 {
			e.put(codes[sixteenZeros].code, codes[sixteenZeros].length)
		}
		e.putNumber(codes, zeros<<4, coded[i])
		last = i
	}
	if last != 63 {
		e.put(codes[endOfBlock].code, codes[endOfBlock].length)
	}
}

// writeSame writes a block of brightness that is flat and as bright as the one before.
func (e *Encoder) writeSame() {
	e.putNumber(dcCodes[0], 0, 0)
	e.put(acCodes[0][endOfBlock].code, acCodes[0][endOfBlock].length)
}

// Symbols with a meaning of their own (T.81 §F.1.2.2).
const (
	endOfBlock   = 0x00
	sixteenZeros = 0xf0
)

// quantise divides the coefficients of a block, puts them into the file's order, and
// returns which of them are not 0. Most are, so that is looked at first.
func (q *divider) quantise(coded, block *[64]int32) (used uint64) {
	for i, place := range naturalOrder[:64] {
		v, limit := block[place&63], q.limit[i]
		if v < limit && v > -limit {
			coded[i] = 0
			continue
		}
		coded[i] = q.divide(i, v)
		used |= 1 << i
	}
	return used
}

// putNumber writes the code of a number's size, together with what the symbol says
// besides, and then the number: its lowest bits, less one if it is negative.
func (e *Encoder) putNumber(codes *huffmanCodes, symbol int, v int32) {
	sign := v >> 31
	size := uint32(bits.Len32(uint32(v ^ sign - sign)))
	c := codes[(symbol|int(size))&0xff]
	low := uint32(v+sign) & (1<<size - 1)
	e.put(c.code<<size|low, c.length+size)
}

// put writes up to 27 bits.
func (e *Encoder) put(code, length uint32) {
	e.pending = e.pending<<length | uint64(code)
	e.count += uint(length)
	if e.count < 32 {
		return
	}
	e.count -= 32
	word := uint32(e.pending >> e.count)
	if hasFF(word) {
		e.putStuffed(word, 4)
		return
	}
	e.buf = binary.BigEndian.AppendUint32(e.buf, word)
}

// hasFF reports whether one of the bytes is 0xff: the usual test for a zero byte, of the
// complement.
func hasFF(word uint32) bool {
	return (^word-0x01010101)&word&0x80808080 != 0
}

// putStuffed writes the lowest bytes of a word, with a 0 after each 0xff so that no
// marker comes about (T.81 §F.1.2.3).
func (e *Encoder) putStuffed(word uint32, bytes int) {
	for i := bytes - 1; i >= 0; i-- {
		b := byte(word >> (8 * i))
		e.buf = append(e.buf, b)
		if b == 0xff {
			e.buf = append(e.buf, 0)
		}
	}
}

// align fills the last byte up with ones and writes what is pending.
func (e *Encoder) align() {
	fill := -e.count & 7
	word := uint32(e.pending<<fill) | (1<<fill - 1)
	e.putStuffed(word, int(e.count+fill)/8)
	e.pending, e.count = 0, 0
}
