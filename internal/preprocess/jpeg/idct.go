package jpeg

// The inverse DCT is libjpeg's accurate integer one ("islow", jidctint.c), the
// algorithm of Loeffler, Ligtenberg and Moschytz with 13 fractional bits. Its result
// depends on the rounding between its two passes only: all other arithmetic is exact and
// may be rearranged.
const (
	fix0298 = 2446  // 0.298631336
	fix0390 = 3196  // 0.390180644
	fix0541 = 4433  // 0.541196100
	fix0765 = 6270  // 0.765366865
	fix0899 = 7373  // 0.899976223
	fix1175 = 9633  // 1.175875602
	fix1501 = 12299 // 1.501321110
	fix1847 = 15137 // 1.847759065
	fix1961 = 16069 // 1.961570560
	fix2053 = 16819 // 2.053119869
	fix2562 = 20995 // 2.562915447
	fix3072 = 25172 // 3.072711026

	columnShift = 11 // 13 fractional bits, of which two are kept for the rows
	rowShift    = 18
)

// clamp maps a sample without its offset of 128 to the range of a byte. It is indexed
// by the upper bits of a row's result, a number in two's complement.
var clamp = func() (t [1 << (32 - rowShift)]uint8) {
	for i := range t {
		v := i
		if i >= len(t)/2 {
			v -= len(t)
		}
		t[i] = uint8(min(max(v+128, 0), 255))
	}
	return t
}()

// inverse writes the 8×8 samples of the dequantised block b to dst. Coefficients outside of
// nonZero are zero. Most blocks have only low frequencies, so that shorter forms serve when the
// upper half is zero.
func inverse(dst []uint8, stride int, b *block, nonZero uint64) {
	if nonZero <= 1 {
		v := clamp[uint32(int32(b[0])+4)<<(rowShift-3)>>rowShift]
		for y := range 8 {
			row := dst[y*stride:][:8]
			for x := range row {
				row[x] = v
			}
		}
		return
	}
	if vectors {
		inverseVectors(dst, stride, b)
		return
	}
	var ws [8][8]int32
	all, ac, upper := columns(nonZero), columns(nonZero&^0xFF), columns(nonZero>>32)
	half := all&0xF0 == 0
	for x := 0; all != 0; x++ {
		switch {
		case all&1 == 0:
		case ac&1 == 0:
			dc := int32(b[x&7]) << 2
			for y := range ws {
				ws[y][x&7] = dc
			}
		case upper&1 == 0:
			columnOf4(&ws, b, x&7)
		default:
			columnOf8(&ws, b, x&7)
		}
		all, ac, upper = all>>1, ac>>1, upper>>1
	}
	for y := range ws {
		if half {
			rowOf4(dst[y*stride:][:8], &ws[y])
		} else {
			rowOf8(dst[y*stride:][:8], &ws[y])
		}
	}
}

// columns returns the set of columns that have an element in the set of coefficients.
func columns(nonZero uint64) uint64 {
	nonZero |= nonZero >> 32
	nonZero |= nonZero >> 16
	nonZero |= nonZero >> 8
	return nonZero & 0xFF
}

// columnOf8 transforms column x, with rounding but without a clamp.
func columnOf8(ws *[8][8]int32, b *block, x int) {
	x0, x1, x2, x3 := int32(b[x&7]), int32(b[x&7+8]), int32(b[x&7+16]), int32(b[x&7+24])
	x4, x5, x6, x7 := int32(b[x&7+32]), int32(b[x&7+40]), int32(b[x&7+48]), int32(b[x&7+56])

	p := fix0541 * (x2 + x6)
	e2 := p - fix1847*x6
	e3 := p + fix0765*x2
	e0 := (x0+x4)<<13 | 1<<(columnShift-1)
	e1 := (x0-x4)<<13 | 1<<(columnShift-1)
	a0, a1, a2, a3 := e0+e3, e1+e2, e1-e2, e0-e3

	s1 := -fix0899 * (x7 + x1)
	s2 := -fix2562 * (x5 + x3)
	q := fix1175 * (x7 + x3 + x5 + x1)
	s3 := q - fix1961*(x7+x3)
	s4 := q - fix0390*(x5+x1)
	b0 := fix0298*x7 + s1 + s3
	b1 := fix2053*x5 + s2 + s4
	b2 := fix3072*x3 + s2 + s3
	b3 := fix1501*x1 + s1 + s4

	ws[0][x&7] = (a0 + b3) >> columnShift
	ws[1][x&7] = (a1 + b2) >> columnShift
	ws[2][x&7] = (a2 + b1) >> columnShift
	ws[3][x&7] = (a3 + b0) >> columnShift
	ws[4][x&7] = (a3 - b0) >> columnShift
	ws[5][x&7] = (a2 - b1) >> columnShift
	ws[6][x&7] = (a1 - b2) >> columnShift
	ws[7][x&7] = (a0 - b3) >> columnShift
}

// columnOf4 is columnOf8 where only the first four coefficients are not zero.
func columnOf4(ws *[8][8]int32, b *block, x int) {
	x0, x1, x2, x3 := int32(b[x&7]), int32(b[x&7+8]), int32(b[x&7+16]), int32(b[x&7+24])

	e0 := x0<<13 | 1<<(columnShift-1)
	e2 := fix0541 * x2
	e3 := (fix0541 + fix0765) * x2
	a0, a1, a2, a3 := e0+e3, e0+e2, e0-e2, e0-e3
	b0, b1, b2, b3 := oddOf4(x1, x3)

	ws[0][x&7] = (a0 + b3) >> columnShift
	ws[1][x&7] = (a1 + b2) >> columnShift
	ws[2][x&7] = (a2 + b1) >> columnShift
	ws[3][x&7] = (a3 + b0) >> columnShift
	ws[4][x&7] = (a3 - b0) >> columnShift
	ws[5][x&7] = (a2 - b1) >> columnShift
	ws[6][x&7] = (a1 - b2) >> columnShift
	ws[7][x&7] = (a0 - b3) >> columnShift
}

// oddOf4 is the odd half of a pass where x5 and x7 are zero.
func oddOf4(x1, x3 int32) (b0, b1, b2, b3 int32) {
	b0 = (fix1175-fix0899)*x1 + (fix1175-fix1961)*x3
	b1 = (fix1175-fix0390)*x1 + (fix1175-fix2562)*x3
	b2 = fix1175*x1 + (fix3072-fix2562+fix1175-fix1961)*x3
	b3 = (fix1501-fix0899+fix1175-fix0390)*x1 + fix1175*x3
	return b0, b1, b2, b3
}

// rowOf8 transforms a row and limits it to samples.
func rowOf8(dst []uint8, w *[8]int32) {
	x0, x1, x2, x3, x4, x5, x6, x7 := w[0]+1<<(rowShift-14), w[1], w[2], w[3], w[4], w[5], w[6], w[7]

	p := fix0541 * (x2 + x6)
	e2 := p - fix1847*x6
	e3 := p + fix0765*x2
	e0, e1 := (x0+x4)<<13, (x0-x4)<<13
	a0, a1, a2, a3 := e0+e3, e1+e2, e1-e2, e0-e3

	s1 := -fix0899 * (x7 + x1)
	s2 := -fix2562 * (x5 + x3)
	q := fix1175 * (x7 + x3 + x5 + x1)
	s3 := q - fix1961*(x7+x3)
	s4 := q - fix0390*(x5+x1)
	b0 := fix0298*x7 + s1 + s3
	b1 := fix2053*x5 + s2 + s4
	b2 := fix3072*x3 + s2 + s3
	b3 := fix1501*x1 + s1 + s4

	_ = dst[7]
	dst[0] = clamp[uint32(a0+b3)>>rowShift]
	dst[1] = clamp[uint32(a1+b2)>>rowShift]
	dst[2] = clamp[uint32(a2+b1)>>rowShift]
	dst[3] = clamp[uint32(a3+b0)>>rowShift]
	dst[4] = clamp[uint32(a3-b0)>>rowShift]
	dst[5] = clamp[uint32(a2-b1)>>rowShift]
	dst[6] = clamp[uint32(a1-b2)>>rowShift]
	dst[7] = clamp[uint32(a0-b3)>>rowShift]
}

// rowOf4 is rowOf8 where only the first four columns are not zero.
func rowOf4(dst []uint8, w *[8]int32) {
	e0 := (w[0] + 1<<(rowShift-14)) << 13
	e2 := fix0541 * w[2]
	e3 := (fix0541 + fix0765) * w[2]
	a0, a1, a2, a3 := e0+e3, e0+e2, e0-e2, e0-e3
	b0, b1, b2, b3 := oddOf4(w[1], w[3])

	_ = dst[7]
	dst[0] = clamp[uint32(a0+b3)>>rowShift]
	dst[1] = clamp[uint32(a1+b2)>>rowShift]
	dst[2] = clamp[uint32(a2+b1)>>rowShift]
	dst[3] = clamp[uint32(a3+b0)>>rowShift]
	dst[4] = clamp[uint32(a3-b0)>>rowShift]
	dst[5] = clamp[uint32(a2-b1)>>rowShift]
	dst[6] = clamp[uint32(a1-b2)>>rowShift]
	dst[7] = clamp[uint32(a0-b3)>>rowShift]
}
