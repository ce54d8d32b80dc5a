package jpeg

import "encoding/binary"

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

// reset begins a segment; padded is its data and the padding.
func (r *bitReader) reset(padded []byte) {
	*r = bitReader{data: padded}
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
