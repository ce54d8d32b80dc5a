package jpeg

import (
	"encoding/binary"
	"image"
)

// convert writes the wanted part of the image as RGB to dst.
func (d *Decoder) convert(dst []uint8, c Config, wanted image.Rectangle) {
	var rows [maxComponents][]uint8
	for y := wanted.Min.Y; y < wanted.Max.Y; y++ {
		for i := range c.Components {
			rows[i] = d.rows.row(&d.frame, i, y)[wanted.Min.X:wanted.Max.X]
		}
		c.color.convert(dst[3*(y*c.Width+wanted.Min.X):][:3*wanted.Dx()], &rows)
	}
}

// convert writes the pixels of a row, given by its components, as RGB.
func (m colorModel) convert(line []uint8, rows *[maxComponents][]uint8) {
	switch m {
	case grayModel:
		replicate(line, rows[0])
	case yCbCrModel:
		fromYCbCr(line, rows[0], rows[1], rows[2])
	case rgbModel:
		interleave(line, rows[0], rows[1], rows[2])
	case cmykModel:
		interleave(line, rows[0], rows[1], rows[2])
		applyBlack(line, rows[3])
	case ycckModel:
		fromYCbCr(line, rows[0], rows[1], rows[2])
		for i := range line {
			line[i] = 255 - line[i]
		}
		applyBlack(line, rows[3])
	}
}

func replicate(dst, gray []uint8) {
	for x, v := range gray {
		p := dst[3*x:][:3]
		p[0], p[1], p[2] = v, v, v
	}
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
	for ; x+4 <= n; x += 4 {
		y4, b4, r4, p := luma[x:][:4], cb[x:][:4], cr[x:][:4], dst[3*x:][:12]
		p0 := rgb(uint64(y4[0])*lanes + tb[b4[0]] + tr[r4[0]])
		p1 := rgb(uint64(y4[1])*lanes + tb[b4[1]] + tr[r4[1]])
		p2 := rgb(uint64(y4[2])*lanes + tb[b4[2]] + tr[r4[2]])
		p3 := rgb(uint64(y4[3])*lanes + tb[b4[3]] + tr[r4[3]])
		binary.LittleEndian.PutUint64(p, p0|p1<<24|p2<<48)
		binary.LittleEndian.PutUint32(p[8:], uint32(p2>>16|p3<<8))
	}
	for ; x < n; x++ {
		p := rgb(uint64(luma[x])*lanes + tb[cb[x]] + tr[cr[x]])
		dst[3*x], dst[3*x+1], dst[3*x+2] = uint8(p), uint8(p>>8), uint8(p>>16)
	}
}

// rgb returns the three numbers of v, limited to a byte each, R lowest.
func rgb(v uint64) uint64 {
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
