package jpeg

// dctScale is by how much the coefficients of dct are larger than those of the
// definition (T.81 §A.3.3).
const dctScale = 8

// Between the two passes of the transform numbers have some bits after the point.
const (
	cosBits  = 13 // of the constants
	passBits = 2
)

// dct transforms a block of samples from 0 to 255, in rows of a given stride. It is the
// fast transform of Loeffler, Ligtenberg and Moschytz (ICASSP 1989) with 12
// multiplications for 8 numbers, in whole numbers and so the same everywhere.
func dct(block *[64]int32, samples []uint8, stride int) {
	for y := range 8 {
		s := samples[y*stride : y*stride+8 : y*stride+8]
		row := (*[8]int32)(block[8*y:])
		for x, v := range s {
			row[x] = int32(v) - 128
		}
		transform(row, cosBits-passBits)
	}
	var column [8]int32
	for x := range 8 {
		for y := range 8 {
			column[y] = block[8*y+x]
		}
		transform(&column, cosBits+passBits)
		for y := range 8 {
			block[8*y+x] = column[y]
		}
	}
}

// Constants in units of 2⁻¹³. Each is a sum of cosines cₖ = √2·cos(kπ/16).
const (
	c6      = 4433  // 0.541196
	c2mc6   = 6270  // 0.765367
	c2pc6   = 15137 // 1.847759
	c3      = 9633  // 1.175876
	oddA    = 2446  // 0.298631 = -c1+c3+c5-c7
	oddB    = 16819 // 2.053120 =  c1+c3-c5+c7
	oddC    = 25172 // 3.072711 =  c1+c3+c5-c7
	oddD    = 12299 // 1.501321 =  c1+c3-c5-c7
	c3mc7   = 7373  // 0.899976
	c1pc3   = 20995 // 2.562915
	c3pc5   = 16069 // 1.961571
	c3mc5   = 3196  // 0.390181
	oneUnit = 1 << cosBits
)

// transform computes √8 times the transform of 8 numbers, in units of 2⁻¹³, and rounds by
// shift bits.
func transform(x *[8]int32, shift uint) {
	// Sums of numbers at equal distance from the middle decide on the even
	// coefficients, their differences on the odd ones.
	s0, s1, s2, s3 := x[0]+x[7], x[1]+x[6], x[2]+x[5], x[3]+x[4]
	d0, d1, d2, d3 := x[0]-x[7], x[1]-x[6], x[2]-x[5], x[3]-x[4]
	round := int32(1) << (shift - 1)

	outer, inner := s0+s3, s1+s2
	x[0] = ((outer+inner)*oneUnit + round) >> shift
	x[4] = ((outer-inner)*oneUnit + round) >> shift
	outer, inner = s0-s3, s1-s2
	turn := (outer+inner)*c6 + round
	x[2] = (turn + outer*c2mc6) >> shift
	x[6] = (turn - inner*c2pc6) >> shift

	both := (d0+d1+d2+d3)*c3 + round
	near, far := (d0+d3)*-c3mc7, (d1+d2)*-c1pc3
	even, odd := (d1+d3)*-c3pc5+both, (d0+d2)*-c3mc5+both
	x[7] = (d3*oddA + near + even) >> shift
	x[5] = (d2*oddB + far + odd) >> shift
	x[3] = (d1*oddC + far + even) >> shift
	x[1] = (d0*oddD + near + odd) >> shift
}
