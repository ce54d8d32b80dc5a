package jpeg

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
)

// A block holds the coefficients of 8×8 samples, row by row.
type block [64]int16

// entropy is the state of decoding the entropy-coded data of a scan.
type entropy struct {
	bits bitReader
	buf  []byte // the current segment without stuffed zeros, and padding

	huffDC, huffAC [4]huffman // by slot
	slots          [4]struct{ dc, ac *huffman }
	dcPred         [4]int32 // by position of the component in the scan
	eobRun         int      // blocks still to come that are at their end of band
	coefs          block    // zero between blocks

	restart int  // interval in MCUs; 0 if there is none
	toGo    int  // MCUs until the next restart marker
	nextRST byte // its number, 0 to 7
}

// nextSegment goes on with the data behind the last marker.
func (e *entropy) nextSegment(src *source) {
	e.buf = src.entropyCoded(e.buf[:0])
	e.buf = append(e.buf, make([]byte, padding)...)
	e.bits = bitReader{data: e.buf}
}

// naturalOrder maps the zigzag index of a coefficient to its place in the block, row
// by row (ITU-T T.81, figure A.6). A run of zeros in damaged data may lead up to 15
// places beyond the block; libjpeg puts those into the last place.
var naturalOrder = [80]uint8{
	0, 1, 8, 16, 9, 2, 3, 10, 17, 24, 32, 25, 18, 11, 4, 5,
	12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13, 6, 7, 14, 21, 28,
	35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51,
	58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63,
	63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63,
}

// padding lies behind the data in a bitReader, so that eight bytes can be read
// wherever data begin.
const padding = 8

// A bitReader reads the bits of one entropy-coded segment, from which stuffed zeros
// have been taken out. Behind its end come zero bits without end.
type bitReader struct {
	data []byte // with padding
	pos  int    // of the byte to load next
	acc  uint64 // the next bits, the very next on top
	n    uint   // how many bits of acc count; those below may be there already
	bad  bool   // a code was met that the Huffman table does not have
}

// refill makes sure that at least 56 bits are in acc. It may load bits below those
// that count; they are the right ones, so loading them again changes nothing.
func (r *bitReader) refill() {
	if uint(r.pos) <= uint(len(r.data)-padding) {
		r.acc |= binary.BigEndian.Uint64(r.data[r.pos:]) >> (r.n & 63)
	}
	r.pos += int((63 - r.n) >> 3)
	r.n |= 56
}

// overrun reports whether more bits have been taken than the segment has.
func (r *bitReader) overrun() bool {
	return 8*r.pos-int(r.n) > 8*(len(r.data)-padding)
}

// take returns the next n bits, at most 32. The caller has seen to it that they are in acc.
func (r *bitReader) take(n uint) uint32 {
	v := uint32(r.acc >> 32 >> (32 - n))
	r.acc <<= n
	r.n -= n
	return v
}

// bit returns the next bit.
func (r *bitReader) bit() bool {
	if r.n == 0 {
		r.refill()
	}
	b := int64(r.acc) < 0
	r.acc <<= 1
	r.n--
	return b
}

// symbol decodes the next symbol and leaves at least 15 bits in acc, as many as may
// belong to it.
func (r *bitReader) symbol(h *huffman) uint8 {
	if r.n < 32 {
		r.refill()
	}
	if e := h.symbols[r.acc>>(64-symbolBits)]; e != 0 {
		r.acc <<= e >> 8
		r.n -= uint(e >> 8)
		return uint8(e)
	}
	return r.longSymbol(h)
}

// longSymbol decodes a code that the lookup tables do not hold. libjpeg takes 17 bits
// that are no code at all for the symbol 0.
func (r *bitReader) longSymbol(h *huffman) uint8 {
	length := uint(symbolBits + 1)
	code := int32(r.acc >> (64 - length))
	for code > h.largest[length] {
		length++
		code = int32(r.acc >> (64 - length))
	}
	r.acc <<= length
	r.n -= length
	if length > 16 {
		r.bad = true
		return 0
	}
	return h.bySize[uint8(code+h.offset[length])]
}

const (
	symbolBits = 9  // of the lookup table for symbols
	valueBits  = 10 // of the lookup table for symbols with the value behind them
)

// A huffman decodes one Huffman code. All tables are indexed by the next bits.
type huffman struct {
	// symbols has code length<<8 | symbol, or 0 if the code is longer than symbolBits.
	symbols [1 << symbolBits]uint16
	// values has what one step of sequential decoding needs; see value.
	values [1 << valueBits]value

	largest [18]int32 // largest code of each length, -1 if there is none
	offset  [18]int32 // from a code of that length to its place in bySize
	bySize  [256]uint8
}

// A value packs how far to move in the bits and in the block, and what to store:
//
//	bits  0…5   length of the code and, if resolved, of the bits behind it
//	bit   7     not resolved: bits 8…15 are the symbol, and if the length is 0 not even that
//	bits  8…15  resolved: coefficients to skip before it, or instead of it
//	bits 16…31  resolved: coefficient, 0 for end of block or a run of 16 zeros
type value uint32

const unresolved value = 1 << 7

// build derives the decoding tables as jpeg_make_d_derived_tbl in libjpeg's jdhuff.c does, and
// rejects what it rejects. Sequential scans need the table of values too.
func (h *huffman) build(spec *huffmanSpec, dc, sequential bool) error {
	h.symbols = [1 << symbolBits]uint16{}
	h.bySize = spec.values
	code, n := 0, 0
	for length := 1; length <= 16; length++ {
		h.offset[length] = int32(n - code)
		h.largest[length] = -1
		for range spec.counts[length] {
			if length <= symbolBits {
				first := code << (symbolBits - length)
				last := min(first+1<<(symbolBits-length), len(h.symbols))
				for i := first; i < last; i++ {
					h.symbols[i] = uint16(length)<<8 | uint16(spec.values[n])
				}
			}
			code++
			n++
		}
		if spec.counts[length] > 0 {
			h.largest[length] = int32(code - 1)
			if code >= 1<<length { // no code may be all ones
				return fmt.Errorf("too many codes of length %d in a Huffman table", length)
			}
		}
		code <<= 1
	}
	h.largest[17] = 1<<31 - 1 // ends the search for a code that does not exist
	for _, s := range spec.values[:n] {
		if dc && s > 15 {
			return fmt.Errorf("symbol %d in a DC Huffman table, expected at most 15", s)
		}
	}
	if !sequential {
		return nil
	}
	for i := range h.values {
		h.values[i] = unresolved
		if e := h.symbols[i>>(valueBits-symbolBits)]; e != 0 {
			h.values[i] = resolve(uint32(i), int(e>>8), uint8(e))
		}
	}
	return nil
}

// resolve looks up the value for the valueBits bits that begin with a code of the
// given length for a symbol: run length in its upper, size in its lower half.
func resolve(bits uint32, length int, symbol uint8) value {
	run, size := symbol>>4, int(symbol&15)
	switch {
	case size == 0 && run == 15:
		return value(length) | 15<<8
	case size == 0:
		return value(length) | 63<<8 // end of block: skip beyond it
	case length+size > valueBits:
		return value(length) | unresolved | value(symbol)<<8
	}
	extra := bits >> (valueBits - length - size) & (1<<size - 1)
	return value(length+size) | value(run)<<8 | value(uint16(extend(int32(extra), size)))<<16
}

// extend turns the size bits behind a symbol into the signed number they stand for
// (T.81 figure F.12).
func extend(bits int32, size int) int32 {
	if bits < 1<<(size-1) {
		return bits - 1<<size + 1
	}
	return bits
}

// A codedBlock holds coefficients of a file with several scans, in zigzag order and not
// yet dequantised.
type codedBlock struct {
	coefs   block
	nonZero uint64 // has a bit for each coefficient that may not be zero
}

// set stores a coefficient; what goes beyond the block ends up in its last place, as in
// libjpeg.
func (b *codedBlock) set(k int, v int16) {
	k = min(k, 63)
	b.coefs[k&63] = v
	b.nonZero &^= 1 << (k & 63)
	if v != 0 {
		b.nonZero |= 1 << (k & 63)
	}
}

// dequantised returns the coefficients row by row, and the set of those that may not be zero.
func (b *codedBlock) dequantised(deq *dequantiser) (out block, nonZero uint64) {
	for rest := b.nonZero; rest != 0; rest &= rest - 1 {
		k := bits.TrailingZeros64(rest) & 63
		d := deq[k]
		out[d&63] = int16(int64(b.coefs[k]) * int64(d>>8))
		nonZero |= 1 << (d & 63)
	}
	return out, nonZero
}

// A dequantiser tells, by the zigzag index of a coefficient, where it goes in the
// block (bits 0…7) and what to multiply it by (from bit 8 on). Like naturalOrder it
// goes on beyond the block.
type dequantiser [80]uint32

// inOrder leaves the coefficients as they are, in zigzag order.
var inOrder = func() (d dequantiser) {
	for k := range d {
		d[k] = 1<<8 | uint32(min(k, 63))
	}
	return d
}()

// block decodes one block of a sequential scan into b and dequantises it. It returns the set
// of coefficients that may not be zero.
func (r *bitReader) block(b *block, dc, ac *huffman, deq *dequantiser, pred *int32) (nonZero uint64) {
	if r.n < 32 {
		r.refill()
	}
	difference := dc.values[r.acc>>(64-valueBits)]
	r.acc <<= difference & 63
	r.n -= uint(difference & 63)
	if difference&unresolved == 0 {
		*pred += int32(difference) >> 16
	} else {
		_, v := r.finish(dc, difference)
		*pred += int32(v)
	}
	b[0] = int16(int64(int16(*pred)) * int64(deq[0]>>8))
	nonZero = 1
	acc, n := r.acc, r.n // in registers
	for k := 1; k < 64; k++ {
		if n < 32 {
			r.acc, r.n = acc, n
			r.refill()
			acc, n = r.acc, r.n
		}
		e := ac.values[acc>>(64-valueBits)]
		acc <<= e & 63
		n -= uint(e & 63)
		v := int(int32(e) >> 16)
		if v != 0 {
			k += int(e >> 8 & 15)
		} else {
			if e&unresolved == 0 {
				k += int(e >> 8 & 127)
				continue
			}
			var run int
			r.acc, r.n = acc, n
			run, v = r.finish(ac, e)
			acc, n = r.acc, r.n
			k += run
			if v == 0 {
				continue
			}
		}
		d := deq[k]
		nonZero |= 1 << (d & 63)
		b[d&63] = int16(int64(v) * int64(d>>8))
	}
	r.acc, r.n = acc, n
	return nonZero
}

// finish decodes what the entry e, whose bits have been taken, leaves open: how many
// coefficients to skip, and the value to store, 0 if there is none.
func (r *bitReader) finish(h *huffman, e value) (skip, v int) {
	symbol := uint8(e >> 8)
	if e&63 == 0 {
		symbol = r.longSymbol(h)
	}
	run, size := int(symbol>>4), uint(symbol&15)
	switch {
	case size > 0:
		return run, int(extend(int32(r.take(size)), int(size)))
	case run == 15:
		return 15, 0
	}
	return 63, 0 // end of block
}

// The following decode one block of a scan into a coefficient buffer; pos is the position of
// its component in the scan.

func (e *entropy) sequential(b *codedBlock, pos int, _ *scan) {
	slot := &e.slots[pos]
	b.nonZero |= e.bits.block(&b.coefs, slot.dc, slot.ac, &inOrder, &e.dcPred[pos])
}

// dcFirst decodes the DC coefficient but for its al lowest bits (T.81 G.1.2.1).
func (e *entropy) dcFirst(b *codedBlock, pos int, s *scan) {
	r := &e.bits
	if size := uint(r.symbol(e.slots[pos].dc)); size > 0 {
		e.dcPred[pos] += extend(int32(r.take(size)), int(size))
	}
	b.set(0, int16(e.dcPred[pos]<<s.al))
}

// dcRefine decodes one more bit of the DC coefficient.
func (e *entropy) dcRefine(b *codedBlock, _ int, s *scan) {
	if e.bits.bit() {
		b.set(0, b.coefs[0]|1<<s.al)
	}
}

// acFirst decodes a band of AC coefficients but for their al lowest bits (T.81 G.1.2.2).
func (e *entropy) acFirst(b *codedBlock, _ int, s *scan) {
	if e.eobRun > 0 {
		e.eobRun--
		return
	}
	r, ac := &e.bits, e.slots[0].ac
	for k := s.ss; k <= s.se; k++ {
		symbol := r.symbol(ac)
		run, size := int(symbol>>4), uint(symbol&15)
		k += run
		if size > 0 {
			b.set(k, int16(extend(int32(r.take(size)), int(size))<<s.al))
		} else if run < 15 {
			e.eobRun = r.endOfBand(run) - 1
			break
		}
	}
}

// endOfBand returns the number of blocks that an end-of-band symbol speaks of, this
// one included.
func (r *bitReader) endOfBand(run int) int {
	return 1<<run + int(r.take(uint(run)))
}

// acRefine decodes one more bit of a band of AC coefficients (T.81 G.1.2.3).
func (e *entropy) acRefine(b *codedBlock, _ int, s *scan) {
	r, ac := &e.bits, e.slots[0].ac
	k := s.ss
	for e.eobRun == 0 && k <= s.se {
		symbol := r.symbol(ac)
		run, size := int(symbol>>4), symbol&15
		if size == 0 && run < 15 {
			e.eobRun = r.endOfBand(run)
			break
		}
		var fresh int16
		if size > 0 { // should be 1, but libjpeg does not insist
			fresh = -1 << s.al
			if r.bit() {
				fresh = 1 << s.al
			}
		}
		k = r.refine(b, k, s.se, run, s.al)
		if fresh != 0 {
			b.set(k, fresh)
		}
		k++
	}
	if e.eobRun > 0 {
		r.refine(b, k, s.se, math.MaxInt, s.al)
		e.eobRun--
	}
}

// refine reads a bit for each coefficient from k to last that is not zero, and passes
// over run zeros. It returns the index of the zero behind these, or last+1.
func (r *bitReader) refine(b *codedBlock, k, last, run, al int) int {
	band := b.nonZero >> k << k & (2<<last - 1)
	for {
		next := last + 1
		if band != 0 {
			next = bits.TrailingZeros64(band)
		}
		if run < next-k {
			return k + run
		}
		if next > last {
			return next
		}
		run -= next - k
		k = next + 1
		band &= band - 1
		c := &b.coefs[next&63]
		if !r.bit() || *c&(1<<al) != 0 {
			continue
		}
		if *c > 0 {
			*c += 1 << al
		} else {
			*c -= 1 << al
		}
	}
}
