//go:build goexperiment.simd && amd64 && !go1.27

package preprocess

import "simd/archsimd"

// The functions of this file do as many of the first values as they can with vector instructions, and return how many; their callers do
// the rest, by the same arithmetic. Package archsimd may change with each release of Go, so another release takes novector.go.

var vectors = archsimd.X86.AVX2()

var (
	// pairsOfBytes puts the values of a pixel and of the next one side by side, as numbers of 16 bits.
	pairsOfBytes = archsimd.LoadInt8x16(&[16]int8{0, -1, 3, -1, 1, -1, 4, -1, 2, -1, 5, -1, -1, -1, -1, -1})
	// threeOfFour drops the last of each four numbers of 16 bits.
	threeOfFour = archsimd.LoadInt8x16(&[16]int8{0, 1, 2, 3, 4, 5, 8, 9, 10, 11, 12, 13, -1, -1, -1, -1})
	// twoPixels puts four bytes between a pixel and the next one.
	twoPixels = archsimd.LoadInt8x16(&[16]int8{0, 1, 2, -1, 3, 4, 5, -1, -1, -1, -1, -1, -1, -1, -1, -1})
	// lowBytes takes the lower byte of each number of 16 bits.
	lowBytes = archsimd.LoadInt8x16(&[16]int8{0, 2, 4, 6, 8, 10, 12, 14, -1, -1, -1, -1, -1, -1, -1, -1})
)

// sidewaysVectors makes pixels of linearBytes. The right pixel of each is the next one of the left, or has no weight.
func sidewaysVectors(dst []int16, src []byte, columns []column) int {
	if !vectors {
		return 0
	}
	pairs, pack := pairsOfBytes, threeOfFour
	sums := func(c *column) archsimd.Int32x4 {
		weights := archsimd.BroadcastUint32x4(uint32(c.wRight)<<16 | uint32(c.wLeft)).AsInt16x8()
		return archsimd.LoadUint8x16((*[16]uint8)(src[c.left:][:16])).PermuteOrZero(pairs).AsInt16x8().DotProductPairs(weights).ShiftAllRight(4)
	}
	i := 0
	for ; i+3 <= len(columns) && int(columns[i+1].left)+16 <= len(src); i += 2 { // it writes two values beyond
		two := sums(&columns[i]).SaturateToInt16Concat(sums(&columns[i+1])).AsUint8x16().PermuteOrZero(pack)
		two.AsInt16x8().Store((*[8]int16)(dst[3*i:][:8]))
	}
	archsimd.ClearAVXUpperBits()
	return i
}

// bytesVectors makes bytes of two rows of linearBytes. The upper 16 bits of a product of two numbers of 16 are the product >> 16.
func bytesVectors(dst []byte, a, b []int16, wa, wb int32) int {
	if !vectors {
		return 0
	}
	toA, toB, two := archsimd.BroadcastInt16x16(int16(wa)), archsimd.BroadcastInt16x16(int16(wb)), archsimd.BroadcastInt16x16(2)
	low := lowBytes
	i := 0
	for ; i+16 <= len(dst); i += 16 {
		above, below := archsimd.LoadInt16x16((*[16]int16)(a[i:][:16])), archsimd.LoadInt16x16((*[16]int16)(b[i:][:16]))
		sum := above.MulHigh(toA).Add(below.MulHigh(toB)).Add(two).ShiftAllRight(2)
		left, right := sum.GetLo().AsUint8x16().PermuteOrZero(low), sum.GetHi().AsUint8x16().PermuteOrZero(low)
		left.AsUint64x2().InterleaveLo(right.AsUint64x2()).AsUint8x16().Store((*[16]uint8)(dst[i:][:16]))
	}
	archsimd.ClearAVXUpperBits()
	return i
}

// floatsSidewaysVectors makes pixels of linearFloats, as sidewaysVectors does.
func floatsSidewaysVectors(dst []float32, src []byte, columns []between) int {
	if !vectors {
		return 0
	}
	apart := twoPixels
	i := 0
	for ; i+2 <= len(columns) && 3*columns[i].low+16 <= len(src); i++ { // it writes one value beyond
		c := &columns[i]
		both := archsimd.LoadUint8x16((*[16]uint8)(src[3*c.low:][:16])).PermuteOrZero(apart).ExtendLo8ToUint32().AsInt32x8().ConvertToFloat32()
		left := both.GetLo().Mul(archsimd.BroadcastFloat32x4(1 - c.fraction))
		right := both.GetHi().Mul(archsimd.BroadcastFloat32x4(c.fraction))
		left.Add(right).Store((*[4]float32)(dst[3*i:][:4]))
	}
	archsimd.ClearAVXUpperBits()
	return i
}

// floatsVectors makes values of two rows of linearFloats.
func floatsVectors(dst, a, b []float32, wa, wb float32) int {
	if !vectors {
		return 0
	}
	toA, toB := archsimd.BroadcastFloat32x8(wa), archsimd.BroadcastFloat32x8(wb)
	i := 0
	for ; i+8 <= len(dst); i += 8 {
		above, below := archsimd.LoadFloat32x8((*[8]float32)(a[i:][:8])), archsimd.LoadFloat32x8((*[8]float32)(b[i:][:8]))
		above.Mul(toA).Add(below.Mul(toB)).Store((*[8]float32)(dst[i:][:8]))
	}
	archsimd.ClearAVXUpperBits()
	return i
}

// applyVectors does the step to values of three channels.
func (s Step) applyVectors(pixels []float32) int {
	if !vectors {
		return 0
	}
	var by [24]float32
	for i := range by {
		by[i] = s.By[i%3]
	}
	a, b, c := archsimd.LoadFloat32x8((*[8]float32)(by[:])), archsimd.LoadFloat32x8((*[8]float32)(by[8:])),
		archsimd.LoadFloat32x8((*[8]float32)(by[16:]))
	i := 0
	for ; i+24 <= len(pixels); i += 24 {
		p, q, r := (*[8]float32)(pixels[i:][:8]), (*[8]float32)(pixels[i+8:][:8]), (*[8]float32)(pixels[i+16:][:8])
		x, y, z := archsimd.LoadFloat32x8(p), archsimd.LoadFloat32x8(q), archsimd.LoadFloat32x8(r)
		switch s.Op {
		case Subtract:
			x, y, z = x.Sub(a), y.Sub(b), z.Sub(c)
		case Divide:
			x, y, z = x.Div(a), y.Div(b), z.Div(c)
		case Multiply:
			x, y, z = x.Mul(a), y.Mul(b), z.Mul(c)
		}
		x.Store(p)
		y.Store(q)
		z.Store(r)
	}
	archsimd.ClearAVXUpperBits()
	return i
}

// planesVectors writes pixels of three channels into a plane for each. It returns the number of pixels.
func planesVectors(red, green, blue, pixels []float32) int {
	if !vectors {
		return 0
	}
	i := 0
	for ; 3*i+13 <= len(pixels); i += 4 { // it reads one value beyond
		load := func(k int) archsimd.Int32x4 {
			return archsimd.LoadFloat32x4((*[4]float32)(pixels[3*(i+k):][:4])).AsInt32x4()
		}
		p, q, r, s := load(0), load(1), load(2), load(3)
		rgP, rgR := p.InterleaveLo(q).AsInt64x2(), r.InterleaveLo(s).AsInt64x2()
		bP, bR := p.InterleaveHi(q).AsInt64x2(), r.InterleaveHi(s).AsInt64x2()
		rgP.InterleaveLo(rgR).AsFloat32x4().Store((*[4]float32)(red[i:][:4]))
		rgP.InterleaveHi(rgR).AsFloat32x4().Store((*[4]float32)(green[i:][:4]))
		bP.InterleaveLo(bR).AsFloat32x4().Store((*[4]float32)(blue[i:][:4]))
	}
	archsimd.ClearAVXUpperBits()
	return i
}
