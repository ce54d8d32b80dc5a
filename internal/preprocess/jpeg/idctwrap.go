package jpeg

// inverseWrapping is the inverse DCT of a block whose values may leave 16 bits, which
// happens in damaged files. The plain C code of libjpeg-turbo and its SIMD code, which
// keeps 16 bits between the steps, differ then; this is what the SIMD code for x86-64
// does (simd/x86_64/jidctint-avx2.asm): products and sums of inputs wrap, results of a
// pass saturate.
func inverseWrapping(dst []uint8, stride int, b *block, nonZero uint64) {
	var ws block
	if nonZero&^0xFF == 0 { // no AC terms in any column
		for i := range ws {
			ws[i] = b[i&7] << 2
		}
	} else {
		for x := range 8 {
			ws.pass(x, 8, b, columnShift)
		}
	}
	var out block
	for y := range 8 {
		out.pass(8*y, 1, &ws, rowShift)
		line := dst[y*stride:][:8]
		for x := range line {
			line[x] = uint8(min(max(out[8*y+x], -128), 127) + 128)
		}
	}
}

// pass transforms eight values of in, step apart from first on.
func (out *block) pass(first, step int, in *block, shift uint) {
	at := func(k int) int16 { return in[first+k*step] }
	x0, x4 := at(0), at(4)
	x2, x6 := int32(at(2)), int32(at(6))
	x1, x3, x5, x7 := int32(at(1)), int32(at(3)), int32(at(5)), int32(at(7))

	e0, e1 := int32(x0+x4)<<13, int32(x0-x4)<<13 // wrapping
	e3 := (fix0541+fix0765)*x2 + fix0541*x6
	e2 := fix0541*x2 + (fix0541-fix1847)*x6

	z3, z4 := int32(at(7)+at(3)), int32(at(5)+at(1)) // wrapping
	s3 := (fix1175-fix1961)*z3 + fix1175*z4
	s4 := fix1175*z3 + (fix1175-fix0390)*z4
	b0 := (fix0298-fix0899)*x7 - fix0899*x1 + s3
	b1 := (fix2053-fix2562)*x5 - fix2562*x3 + s4
	b2 := (fix3072-fix2562)*x3 - fix2562*x5 + s3
	b3 := (fix1501-fix0899)*x1 - fix0899*x7 + s4

	even := [4]int32{e0 + e3, e1 + e2, e1 - e2, e0 - e3}
	odd := [4]int32{b3, b2, b1, b0}
	for k := range 4 {
		out[first+k*step] = saturate((even[k] + odd[k] + 1<<(shift-1)) >> shift)
		out[first+(7-k)*step] = saturate((even[k] - odd[k] + 1<<(shift-1)) >> shift)
	}
}

func saturate(v int32) int16 {
	return int16(min(max(v, -1<<15), 1<<15-1))
}
