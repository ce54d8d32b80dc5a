package jpeg

// standardQuant are the example tables for brightness and colour (T.81 tables K.1 and K.2),
// row by row, which nearly all encoders use, scaled by the quality.
var standardQuant = [2][64]uint8{
	{
		16, 11, 10, 16, 24, 40, 51, 61,
		12, 12, 14, 19, 26, 58, 60, 55,
		14, 13, 16, 24, 40, 57, 69, 56,
		14, 17, 22, 29, 51, 87, 80, 62,
		18, 22, 37, 56, 68, 109, 103, 77,
		24, 35, 55, 64, 81, 104, 113, 92,
		49, 64, 78, 87, 103, 121, 120, 101,
		72, 92, 95, 98, 112, 100, 103, 99,
	},
	{
		17, 18, 24, 47, 99, 99, 99, 99,
		18, 21, 26, 66, 99, 99, 99, 99,
		24, 26, 56, 99, 99, 99, 99, 99,
		47, 66, 99, 99, 99, 99, 99, 99,
		99, 99, 99, 99, 99, 99, 99, 99,
		99, 99, 99, 99, 99, 99, 99, 99,
		99, 99, 99, 99, 99, 99, 99, 99,
		99, 99, 99, 99, 99, 99, 99, 99,
	},
}

// A divider divides coefficients by steps. Entries are in the file's order.
type divider struct {
	step  [64]uint8
	limit [64]int32  // half a step: what is smaller becomes 0
	scale [64]uint64 // 2³²/step, rounded up; both in units of dct
}

// newDivider scales a table by a quality from 1 to 100 as libjpeg does
// (jpeg_quality_scaling and jpeg_add_quant_table in jcparam.c).
func newDivider(spec *[64]uint8, quality int) (q divider) {
	percent := 200 - 2*quality
	if quality < 50 {
		percent = 5000 / quality
	}
	for i, place := range naturalOrder[:64] {
		step := max(1, min((int(spec[place])*percent+50)/100, 255))
		q.step[i] = uint8(step)
		q.limit[i] = int32(step * dctScale / 2)
		q.scale[i] = 1<<32/uint64(step*dctScale) + 1
	}
	return q
}

// divide rounds a coefficient to steps, half away from zero. A multiplication does,
// exactly for all coefficients there can be: they are below 2¹⁵ and divisors below 2¹¹,
// so the error of the scale, below 1, cannot reach the next whole number.
func (q *divider) divide(i int, coefficient int32) int32 {
	sign := coefficient >> 31
	size := uint64(coefficient ^ sign - sign + q.limit[i])
	return int32(size*q.scale[i]>>32) ^ sign - sign
}

// dcCodes and acCodes are the codes of the standard's tables, for brightness and colour.
var (
	dcCodes = [2]*huffmanCodes{standardDC[0].codes(), standardDC[1].codes()}
	acCodes = [2]*huffmanCodes{standardAC[0].codes(), standardAC[1].codes()}
)

// segment returns the table as the file has it: class and number, then the codes.
func (s *huffSpec) segment(destination int) []byte {
	return append(append([]byte{byte(destination)}, s.counts[1:]...), s.values[:s.size()]...)
}

// huffmanCodes has the code of each symbol and its length in bits.
type huffmanCodes [256]struct{ code, length uint32 }

// codes counts up within a length and doubles for the next (T.81 §C.2).
func (s *huffSpec) codes() *huffmanCodes {
	var codes huffmanCodes
	code, next := uint32(0), 0
	for length, count := range s.counts {
		for range count {
			codes[s.values[next]].code = code
			codes[s.values[next]].length = uint32(length)
			code++
			next++
		}
		code <<= 1
	}
	return &codes
}
