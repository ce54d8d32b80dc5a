package jpeg

import (
	"encoding/binary"
	"image"

	"github.com/mlperf-go/mlperf/internal/tensor"
)

// A colorModel says what the components of a file stand for.
type colorModel uint8

const (
	gray colorModel = iota
	yCbCr
	rgb
	cmyk
	ycck
)

// convert writes the wanted part of the image as RGB to dst.
func (d *Decoder) convert(dst []uint8, wanted image.Rectangle) {
	f := &d.frame
	var rows [maxComponents][]uint8
	for y := wanted.Min.Y; y < wanted.Max.Y; y++ {
		for i := range f.comps {
			rows[i] = d.row(i, y)[wanted.Min.X:wanted.Max.X]
		}
		line := dst[3*(y*f.width+wanted.Min.X):][:3*wanted.Dx()]
		switch f.model {
		case gray:
			interleave(line, rows[0], rows[0], rows[0])
		case yCbCr:
			fromYCbCr(line, rows[0], rows[1], rows[2])
		case rgb:
			interleave(line, rows[0], rows[1], rows[2])
		case cmyk:
			interleave(line, rows[0], rows[1], rows[2])
			applyBlack(line, rows[3])
		case ycck:
			fromYCbCr(line, rows[0], rows[1], rows[2])
			for i := range line {
				line[i] = 255 - line[i]
			}
			applyBlack(line, rows[3])
		}
	}
}

// row returns row y of component ci of the image, enlarged if the component has fewer samples.
// It may be longer than the image is wide.
func (d *Decoder) row(ci, y int) []uint8 {
	f := &d.frame
	c := &f.comps[ci]
	sx, sy := f.maxH/c.h, f.maxV/c.v
	samples := func(y int) []uint8 { return c.samples[y*c.stride:][:c.width] }
	near := samples(y / sy)
	if sx == 1 && sy == 1 {
		return near
	}
	// If the image has twice as many rows, a second row is nearest to row y. Beyond the first
	// and the last, these are repeated.
	far := near
	if sy == 2 {
		other := y/2 - 1 + y%2*2
		far = samples(min(max(other, 0), c.height-1))
	}
	dst := tensor.Grown(d.rows[ci], sx*c.width)
	d.rows[ci] = dst
	smooth := c.width > 2 // libjpeg smoothes sideways only then
	switch {
	case sx == 2 && sy == 1 && smooth:
		widen(dst, near, near, 4, 8)
	case sx == 1 && sy == 2:
		// The rounding alternates between upper and lower rows.
		for i, v := range near {
			dst[i] = uint8((3*int32(v) + int32(far[i]) + int32(1+y%2)) >> 2)
		}
	case sx == 2 && sy == 2 && smooth:
		widen(dst, near, far, 8, 7)
	default:
		for i, v := range near {
			for k := range sx {
				dst[sx*i+k] = v
			}
		}
	}
	return dst
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
	switch {
	case vectors && n >= 18:
		dst[0], dst[1] = uint8((4*prev+even)>>4), uint8((3*prev+sum(1)+odd)>>4)
		i = widenVectors(dst, near, far, even, odd)
		prev = sum(i - 1)
	case n >= 8:
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

func interleave(dst, r, g, b []uint8) {
	g, b = g[:len(r)], b[:len(r)]
	for x := range r {
		p := dst[3*x:][:3]
		p[0], p[1], p[2] = r[x], g[x], b[x]
	}
}

// applyBlack turns ink values into light. Like OpenCV it takes ink to be stored
// inverted, as Photoshop does, whatever the file says.
func applyBlack(ink, black []uint8) {
	for x, v := range black {
		p := ink[3*x:][:3]
		k := int32(v)
		for i, c := range p {
			p[i] = uint8(k - (255-int32(c))*k>>8)
		}
	}
}

// The colour transform adds three packed numbers, one per component of the input. From
// the bottom: 16 bits for R, 16 for B, 16 for the fraction of G and 16 for G. R and B
// are rounded beforehand, G is the rounded sum of two terms, as in libjpeg's jdcolor.c.
// Each number is offset by 256, so that none is negative; it is out of range unless it
// is 256 to 511.
const (
	laneR, laneB, laneG = 0, 16, 48

	lanes    = 1<<laneR | 1<<laneB | 1<<laneG
	laneMask = 0x300 * lanes
	inRange  = 0x100 * lanes
)

type packedTable [256]uint64

var (
	fromCr = newPackedTable(func(r int64) (red, blue, green int64) {
		return (91881*r+32768)>>16 + 256, 0, -46802 * r
	})
	fromCb = newPackedTable(func(b int64) (red, blue, green int64) {
		return 0, (116130*b+32768)>>16 + 256, -22554*b + 32768 + 256<<16
	})
)

// newPackedTable takes the terms of chrominance, green with 16 fractional bits.
func newPackedTable(terms func(v int64) (red, blue, green int64)) *packedTable {
	var t packedTable
	for i := range t {
		r, b, g := terms(int64(i) - 128)
		t[i] = uint64(r<<laneR + b<<laneB + g<<(laneG-16))
	}
	return &t
}

// fromYCbCr writes pixels given as YCbCr (JFIF, ITU-T T.871) as RGB.
func fromYCbCr(dst, luma, cb, cr []uint8) {
	tb, tr := fromCb, fromCr
	n := len(luma)
	cb, cr, dst = cb[:n], cr[:n], dst[:3*n]
	x := 0
	if vectors {
		x = fromYCbCrVectors(dst, luma, cb, cr)
	}
	for ; x+4 <= n; x += 4 {
		y4, b4, r4, p := luma[x:][:4], cb[x:][:4], cr[x:][:4], dst[3*x:][:12]
		p0 := clampRGB(uint64(y4[0])*lanes + tb[b4[0]] + tr[r4[0]])
		p1 := clampRGB(uint64(y4[1])*lanes + tb[b4[1]] + tr[r4[1]])
		p2 := clampRGB(uint64(y4[2])*lanes + tb[b4[2]] + tr[r4[2]])
		p3 := clampRGB(uint64(y4[3])*lanes + tb[b4[3]] + tr[r4[3]])
		binary.LittleEndian.PutUint64(p, p0|p1<<24|p2<<48)
		binary.LittleEndian.PutUint32(p[8:], uint32(p2>>16|p3<<8))
	}
	for ; x < n; x++ {
		p := clampRGB(uint64(luma[x])*lanes + tb[cb[x]] + tr[cr[x]])
		dst[3*x], dst[3*x+1], dst[3*x+2] = uint8(p), uint8(p>>8), uint8(p>>16)
	}
}

// clampRGB returns the three numbers of v, limited to a byte each, R lowest.
func clampRGB(v uint64) uint64 {
	if v&laneMask != inRange {
		v = clampLanes(v)
	}
	return v&0xFF00FF | v>>(laneG-8)&0xFF00
}

// clampLanes limits the three numbers to 256 to 511.
func clampLanes(v uint64) uint64 {
	var out uint64
	for _, lane := range [...]uint{laneR, laneB, laneG} {
		out |= min(max(v>>lane&0x3FF, 256), 511) << lane
	}
	return out
}
