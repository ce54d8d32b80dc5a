package jpeg

import "math/bits"

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

// transformAll turns the coefficients of all wanted blocks into samples.
func (f *frame) transformAll() {
	for i := range f.comps {
		c := &f.comps[i]
		for y := c.wanted.Min.Y; y < c.wanted.Max.Y; y++ {
			for x := c.wanted.Min.X; x < c.wanted.Max.X; x++ {
				c.transform(&c.coefs[y*c.coefStride+x], x, y)
			}
		}
	}
}

// transform turns the coefficients of the block at x, y into samples.
func (c *component) transform(coded *codedBlock, x, y int) {
	var b block
	var nonZero uint64
	sum := int64(0)
	rest := coded.nonZero
	if !c.quantOK {
		rest = 0 // no scan had this component
	}
	for ; rest != 0; rest &= rest - 1 {
		k := bits.TrailingZeros64(rest) & 63
		d := c.deq[k]
		v := int64(coded.coefs[k]) * int64(d>>8)
		b[d&63] = int16(v)
		nonZero |= 1 << (d & 63)
		sum += abs(v)
	}
	inverse(c.samples[8*(y*c.stride+x):], c.stride, &b, nonZero, sum)
}
