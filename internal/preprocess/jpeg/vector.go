//go:build goexperiment.simd && amd64 && !go1.27

package jpeg

import (
	"encoding/binary"
	"simd/archsimd"
)

// The functions of this file do what their namesakes of idct.go and color.go do, with vector instructions: twice as fast a decoder of
// 4:2:0 files. Package archsimd may change with each release of Go, so another release takes the others.

var vectors = archsimd.X86.AVX2()

// An ints holds eight numbers, of a row or a column of a block.
type ints = archsimd.Int32x8

func inverseVectors(dst []uint8, stride int, b *block) {
	row := func(y int) ints { return archsimd.LoadInt16x8((*[8]int16)(b[8*y:][:8])).ExtendToInt32() }
	x0, x1, x2, x3, x4, x5, x6, x7 := pass(row(0), row(1), row(2), row(3), row(4), row(5), row(6), row(7),
		archsimd.BroadcastInt32x8(1<<(columnShift-1)))
	const n = columnShift
	x0, x1, x2, x3, x4, x5, x6, x7 = transpose(x0.ShiftAllRight(n), x1.ShiftAllRight(n), x2.ShiftAllRight(n), x3.ShiftAllRight(n),
		x4.ShiftAllRight(n), x5.ShiftAllRight(n), x6.ShiftAllRight(n), x7.ShiftAllRight(n))
	x0, x1, x2, x3, x4, x5, x6, x7 = pass(x0, x1, x2, x3, x4, x5, x6, x7, archsimd.BroadcastInt32x8(1<<(rowShift-1)))

	// Each is a column of samples now. Four of them are the four bytes of eight numbers, and these the halves of rows.
	low, high := fourBytes(x0, x1, x2, x3), fourBytes(x4, x5, x6, x7)
	put := func(y int, two archsimd.Uint64x2) {
		binary.LittleEndian.PutUint64(dst[y*stride:], two.GetElem(0))
		binary.LittleEndian.PutUint64(dst[(y+1)*stride:], two.GetElem(1))
	}
	even, odd := low.InterleaveLoGrouped(high).AsUint64x4(), low.InterleaveHiGrouped(high).AsUint64x4()
	put(0, even.GetLo())
	put(2, odd.GetLo())
	put(4, even.GetHi())
	put(6, odd.GetHi())
	archsimd.ClearAVXUpperBits()
}

// pass transforms eight columns, x0 to x7 from top to bottom. The sums have a rounding added, and are not shifted yet.
func pass(x0, x1, x2, x3, x4, x5, x6, x7, rounding ints) (_, _, _, _, _, _, _, _ ints) {
	p := times(x2.Add(x6), fix0541)
	e2 := p.Sub(times(x6, fix1847))
	e3 := p.Add(times(x2, fix0765))
	e0, e1 := x0.Add(x4).ShiftAllLeft(13).Add(rounding), x0.Sub(x4).ShiftAllLeft(13).Add(rounding)
	a0, a1, a2, a3 := e0.Add(e3), e1.Add(e2), e1.Sub(e2), e0.Sub(e3)

	x73, x51 := x7.Add(x3), x5.Add(x1)
	s1 := times(x7.Add(x1), -fix0899)
	s2 := times(x5.Add(x3), -fix2562)
	q := times(x73.Add(x51), fix1175)
	s3 := q.Sub(times(x73, fix1961))
	s4 := q.Sub(times(x51, fix0390))
	b0 := times(x7, fix0298).Add(s1).Add(s3)
	b1 := times(x5, fix2053).Add(s2).Add(s4)
	b2 := times(x3, fix3072).Add(s2).Add(s3)
	b3 := times(x1, fix1501).Add(s1).Add(s4)
	return a0.Add(b3), a1.Add(b2), a2.Add(b1), a3.Add(b0), a3.Sub(b0), a2.Sub(b1), a1.Sub(b2), a0.Sub(b3)
}

func times(v ints, k int32) ints { return v.Mul(archsimd.BroadcastInt32x8(k)) }

func transpose(x0, x1, x2, x3, x4, x5, x6, x7 ints) (_, _, _, _, _, _, _, _ ints) {
	a0, a1 := x0.InterleaveLoGrouped(x1).AsInt64x4(), x0.InterleaveHiGrouped(x1).AsInt64x4()
	a2, a3 := x2.InterleaveLoGrouped(x3).AsInt64x4(), x2.InterleaveHiGrouped(x3).AsInt64x4()
	a4, a5 := x4.InterleaveLoGrouped(x5).AsInt64x4(), x4.InterleaveHiGrouped(x5).AsInt64x4()
	a6, a7 := x6.InterleaveLoGrouped(x7).AsInt64x4(), x6.InterleaveHiGrouped(x7).AsInt64x4()
	b0, b1 := a0.InterleaveLoGrouped(a2).AsInt32x8(), a0.InterleaveHiGrouped(a2).AsInt32x8()
	b2, b3 := a1.InterleaveLoGrouped(a3).AsInt32x8(), a1.InterleaveHiGrouped(a3).AsInt32x8()
	b4, b5 := a4.InterleaveLoGrouped(a6).AsInt32x8(), a4.InterleaveHiGrouped(a6).AsInt32x8()
	b6, b7 := a5.InterleaveLoGrouped(a7).AsInt32x8(), a5.InterleaveHiGrouped(a7).AsInt32x8()
	return b0.Select128FromPair(0, 2, b4), b1.Select128FromPair(0, 2, b5), b2.Select128FromPair(0, 2, b6), b3.Select128FromPair(0, 2, b7),
		b0.Select128FromPair(1, 3, b4), b1.Select128FromPair(1, 3, b5), b2.Select128FromPair(1, 3, b6), b3.Select128FromPair(1, 3, b7)
}

// fourBytes limits the results of rows to bytes and puts four beside each other, a lowest.
func fourBytes(a, b, c, d ints) ints {
	middle, zero, most := archsimd.BroadcastInt32x8(128), archsimd.BroadcastInt32x8(0), archsimd.BroadcastInt32x8(255)
	limit := func(v ints) ints { return v.ShiftAllRight(rowShift).Add(middle).Max(zero).Min(most) }
	return limit(a).Or(limit(b).ShiftAllLeft(8)).Or(limit(c).ShiftAllLeft(16)).Or(limit(d).ShiftAllLeft(24))
}

// rgbBytes drops each fourth byte.
var rgbBytes = archsimd.LoadInt8x16(&[16]int8{0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1})

// fromYCbCrVectors does as many of the first pixels as it can, and returns their number. A term with 16 fractional bits, rounded, is
// (v·k + 1<<15) >> 16; where k has 16 bits, half of the upper 16 of 2·v·k, rounded up, is the same.
func fromYCbCrVectors(dst, luma, cb, cr []uint8) int {
	const (
		kR, kB   = 91881 - 1<<16, 116130 - 2<<16 // the rest of the factors are whole
		kGb, kGr = -22554, 1<<16 - 46802
	)
	middle, one := archsimd.BroadcastInt16x16(128), archsimd.BroadcastInt16x16(1)
	zero, most := archsimd.BroadcastInt16x16(0), archsimd.BroadcastInt16x16(255)
	toR, toB, half := archsimd.BroadcastInt16x16(kR), archsimd.BroadcastInt16x16(kB), archsimd.BroadcastInt32x8(1<<15)
	toG := archsimd.BroadcastInt32x8(kGr<<16 + kGb + 1<<16).AsInt16x16()
	pack := rgbBytes
	x := 0
	for ; x+18 <= len(luma); x += 16 { // it writes 4 bytes beyond
		y := numbers(luma[x:]).AsInt16x16()
		b, r := numbers(cb[x:]).AsInt16x16().Sub(middle), numbers(cr[x:]).AsInt16x16().Sub(middle)
		b2 := b.Add(b)
		red := r.Add(r).MulHigh(toR).Add(one).ShiftAllRight(1).Add(r).Add(y)
		blue := b2.MulHigh(toB).Add(one).ShiftAllRight(1).Add(b2).Add(y)
		lower := b.InterleaveLoGrouped(r).DotProductPairs(toG).Add(half).ShiftAllRight(16)
		upper := b.InterleaveHiGrouped(r).DotProductPairs(toG).Add(half).ShiftAllRight(16)
		green := lower.SaturateToInt16ConcatGrouped(upper).Sub(r).Add(y)
		rg := red.Max(zero).Min(most).Or(green.Max(zero).Min(most).ShiftAllLeft(8))
		blue = blue.Max(zero).Min(most)
		p, q := rg.InterleaveLoGrouped(blue).AsUint8x32(), rg.InterleaveHiGrouped(blue).AsUint8x32()
		put := func(i int, four archsimd.Uint8x16) { four.PermuteOrZero(pack).Store((*[16]uint8)(dst[3*x+3*i:][:16])) }
		put(0, p.GetLo())
		put(4, q.GetLo())
		put(8, p.GetHi())
		put(12, q.GetHi())
	}
	archsimd.ClearAVXUpperBits()
	return x
}

// numbers are the first sixteen bytes of b.
func numbers(b []uint8) archsimd.Uint16x16 {
	return archsimd.LoadUint8x16((*[16]uint8)(b[:16])).ExtendToUint16()
}

// widenVectors does some samples after the first one, and returns the index of the next.
func widenVectors(dst, near, far []uint8, even, odd uint64) int {
	three, e, o := archsimd.BroadcastUint16x16(3), archsimd.BroadcastUint16x16(uint16(even)), archsimd.BroadcastUint16x16(uint16(odd))
	sum := func(i int) archsimd.Uint16x16 { return numbers(near[i:]).Mul(three).Add(numbers(far[i:])) }
	i := 1
	for ; i+17 <= len(near); i += 16 {
		here := sum(i).Mul(three)
		left, right := here.Add(sum(i-1)).Add(e).ShiftAllRight(4), here.Add(sum(i+1)).Add(o).ShiftAllRight(4)
		left.Or(right.ShiftAllLeft(8)).AsUint8x32().Store((*[32]uint8)(dst[2*i:][:32]))
	}
	archsimd.ClearAVXUpperBits()
	return i
}
