package jpeg

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

// block decodes one block of a sequential scan into b and dequantises it. It returns
// the set of coefficients that may not be zero, and the sum of the absolute values
// of all.
func (r *bitReader) block(b *block, dc, ac *huffman, deq *dequantiser, pred *int32) (nonZero uint64, sum int64) {
	*pred += r.difference(dc)
	x := int64(int16(*pred)) * int64(deq[0]>>8)
	b[0] = int16(x)
	nonZero, sum = 1, abs(x)
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
		x := int64(v) * int64(d>>8)
		nonZero |= 1 << (d & 63)
		b[d&63] = int16(x)
		sum += abs(x)
	}
	r.acc, r.n = acc, n
	return nonZero, sum
}

// difference decodes the DC coefficient's difference to its predecessor.
func (r *bitReader) difference(dc *huffman) int32 {
	if r.n < 32 {
		r.refill()
	}
	e := dc.values[r.acc>>(64-valueBits)]
	r.acc <<= e & 63
	r.n -= uint(e & 63)
	if e&unresolved == 0 {
		return int32(e) >> 16
	}
	_, v := r.finish(dc, e)
	return int32(v)
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

func abs(x int64) int64 {
	sign := x >> 63
	return (x ^ sign) - sign
}
