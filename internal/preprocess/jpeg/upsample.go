package jpeg

import "encoding/binary"

// rowBuffers hold one row of each component at the size of the image.
type rowBuffers struct {
	comps [maxComponents][]uint8
}

// row returns row y of component c of the image, enlarged if the component has fewer
// samples. It may be longer than the image is wide.
func (r *rowBuffers) row(f *frame, ci, y int) []uint8 {
	c := &f.comps[ci]
	sx, sy := f.maxH/c.h, f.maxV/c.v
	near := c.row(y / sy)
	if sx == 1 && sy == 1 {
		return near
	}
	dst := resized(r.comps[ci], sx*c.width)
	r.comps[ci] = dst
	smooth := c.width > 2 // libjpeg smoothes sideways only then
	switch {
	case sx == 2 && sy == 1 && smooth:
		widen(dst, near, near, 4, 8)
	case sx == 1 && sy == 2:
		upsample1x2(dst, near, c.next(y), int32(1+y&1))
	case sx == 2 && sy == 2 && smooth:
		widen(dst, near, c.next(y), 8, 7)
	default:
		repeat(dst, near, sx)
	}
	return dst
}

// row returns the samples of a row, without those that only fill up a block.
func (c *component) row(y int) []uint8 {
	return c.samples[y*c.stride:][:c.width]
}

// next returns the row that is second nearest to row y of the image, which has twice
// as many rows. Beyond the first and the last, these are repeated.
func (c *component) next(y int) []uint8 {
	other := y>>1 - 1
	if y&1 != 0 {
		other += 2
	}
	return c.row(min(max(other, 0), c.height-1))
}

// repeat repeats each sample n times.
func repeat(dst, src []uint8, n int) {
	for _, v := range src {
		for i := range n {
			dst[i] = v
		}
		dst = dst[n:]
	}
}

// upsample1x2 makes one of the two rows between near and far. The rounding alternates
// between upper and lower rows.
func upsample1x2(dst, near, far []uint8, bias int32) {
	far = far[:len(near)]
	dst = dst[:len(near)]
	for i, v := range near {
		dst[i] = uint8((3*int32(v) + int32(far[i]) + bias) >> 2)
	}
}

// widen doubles a row of samples that lies between near and far, three times nearer to
// near: sums of 3·near+far are interpolated in the same way, with rounding that differs
// for even and odd places. It is the "fancy" upsampling of libjpeg's jdsample.c, both
// the one in two directions, with 8 and 7 for the rounding, and the one sideways only,
// where near and far are one row: then the sums are four times the samples and the
// rounding is 4 and 8.
func widen(dst, near, far []uint8, even, odd uint64) {
	n := len(near)
	far, dst = far[:n], dst[:2*n]
	sum := func(i int) uint64 { return 3*uint64(near[i]) + uint64(far[i]) }
	prev := sum(0)
	i := 0
	if n >= 8 {
		i, prev = widenFours(dst, near, far, even, odd)
	}
	for ; i < n; i++ {
		here := sum(i)
		next := here
		if i+1 < n {
			next = sum(i + 1)
		}
		dst[2*i] = uint8((3*here + prev + even) >> 4)
		dst[2*i+1] = uint8((3*here + next + odd) >> 4)
		prev = here
	}
}

// Four numbers of 16 bits side by side in one of 64.
const (
	ones     = 0x0001_0001_0001_0001
	lowBytes = 0x00FF * ones
)

// widenFours does four samples at a time, as long as one follows them. It returns how
// many, and the last sum.
func widenFours(dst, near, far []uint8, even, odd uint64) (int, uint64) {
	even, odd = even*ones, odd*ones
	here := 3*spread(near, 0) + spread(far, 0)
	prev := here & 0xFFFF
	far = far[:len(near)]
	i := 0
	for ; i+8 <= len(near); i += 4 {
		next := 3*spread(near, i+4) + spread(far, i+4)
		here3 := 3 * here
		left := (here3 + (here<<16 | prev) + even) >> 4 & lowBytes
		right := (here3 + (here>>16 | next<<48) + odd) >> 4 & lowBytes
		binary.LittleEndian.PutUint64(dst[2*i:2*i+8], left|right<<8)
		prev = here >> 48
		here = next
	}
	return i, prev
}

// spread reads four bytes from index i on as four numbers of 16 bits, the first one
// lowest.
func spread(b []uint8, i int) uint64 {
	v := uint64(binary.LittleEndian.Uint32(b[i : i+4]))
	v = (v | v<<16) & 0x0000_FFFF_0000_FFFF
	return (v | v<<8) & lowBytes
}
