package jpeg

import "fmt"

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

// build derives the decoding tables as jpeg_make_d_derived_tbl in libjpeg's jdhuff.c
// does, and rejects what it rejects.
func (h *huffman) build(spec *huffSpec, dc bool) error {
	h.symbols = [1 << symbolBits]uint16{}
	h.bySize = spec.values
	code, n := 0, 0
	for length := 1; length <= 16; length++ {
		h.offset[length] = int32(n - code)
		h.largest[length] = -1
		for range spec.counts[length] {
			h.fill(code, length, spec.values[n])
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
			return fmt.Errorf("symbol %d in a DC Huffman table, want at most 15", s)
		}
	}
	return nil
}

func (h *huffman) fill(code, length int, symbol uint8) {
	if length > symbolBits {
		return
	}
	first := code << (symbolBits - length)
	last := min(first+1<<(symbolBits-length), len(h.symbols))
	for i := first; i < last; i++ {
		h.symbols[i] = uint16(length)<<8 | uint16(symbol)
	}
}

// buildValues derives the table for sequential decoding from the symbols.
func (h *huffman) buildValues() {
	for i := range h.values {
		h.values[i] = unresolved
		e := h.symbols[i>>(valueBits-symbolBits)]
		if e != 0 {
			h.values[i] = resolve(uint32(i), int(e>>8), uint8(e))
		}
	}
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
