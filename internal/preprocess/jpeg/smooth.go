package jpeg

import "slices"

// Progressive files that end before all coefficients are known exactly are smoothed,
// as libjpeg does by default (jdcoefct.c): the first AC coefficients that are still
// zero are estimated from the DC coefficients of the 5×5 blocks around.

// smoothed is the number of coefficients that smoothing looks at, in zigzag order.
const smoothed = 10

// A kernel weighs the DC coefficients of 5×5 blocks, row by row, for the estimate of
// one coefficient. The weights are those of libjpeg; their scale is 1/256.
type kernel [25]int32

// Estimates where AC coefficients are partly known, for zigzag index 1 to 5
// (T.81 section K.8, widened from 3×3 to 5×5 blocks).
var partlyKnown = [smoothed]kernel{
	1: {10: -7, 11: 50, 13: -50, 14: 7},
	2: {2: -7, 7: 50, 17: -50, 22: 7},
	3: {2: -1, 7: 13, 12: -24, 17: 13, 22: -1},
	4: {1: -1, 3: 1, 5: -1, 6: 10, 8: -10, 9: 1, 15: 1, 16: -10, 18: 10, 19: -1, 21: 1, 23: -1},
	5: {10: -1, 11: 13, 12: -24, 13: 13, 14: -1},
}

// Estimates where nothing but the DC coefficients is known, these included.
var dcOnly = [smoothed]kernel{
	0: {-2, -6, -8, -6, -2, -6, 6, 42, 6, -6, -8, 42, 152, 42, -8, -6, 6, 42, 6, -6, -2, -6, -8, -6, -2},
	1: {-1, -1, 0, 1, 1, -3, 13, 0, -13, 3, -3, 38, 0, -38, 3, -3, 13, 0, -13, 3, -1, -1, 0, 1, 1},
	2: {-1, -3, -3, -3, -1, -1, 13, 38, 13, -1, 0, 0, 0, 0, 0, 1, -13, -38, -13, 1, 1, 3, 3, 3, 1},
	3: {2: 1, 6: 2, 7: 7, 8: 2, 11: -5, 12: -14, 13: -5, 16: 2, 17: 7, 18: 2, 22: 1},
	4: {0: -1, 4: 1, 6: 9, 8: -9, 16: -9, 18: 9, 20: 1, 24: -1},
	5: {6: 2, 7: -5, 8: 2, 10: 1, 11: 7, 12: -14, 13: 7, 14: 1, 16: 2, 17: -5, 18: 2},
	6: {6: 1, 8: -1, 11: 2, 13: -2, 16: 1, 18: -1},
	7: {6: 1, 7: -3, 8: 1, 16: -1, 17: 3, 18: -1},
	8: {6: 1, 8: -1, 11: -3, 13: 3, 16: 1, 18: -1},
	9: {6: 1, 7: 2, 8: 1, 16: -1, 17: -2, 18: -1},
}

// needsSmoothing reports whether a progressive file with so many scans has left
// coefficients inexact that smoothing can estimate.
func (f *frame) needsSmoothing(scans int) bool {
	useful := false
	for i := range f.comps {
		c := &f.comps[i]
		if !c.quantOK || c.bits[0] < 0 || slices.Contains(c.quant[:smoothed], 0) {
			return false
		}
		useful = useful || slices.ContainsFunc(c.bits[1:smoothed], func(b int8) bool { return b != 0 })
		if scans == 1 {
			copy(c.prevBits[:], slices.Repeat([]int8{-1}, smoothed))
		}
	}
	return useful
}

// transformSmoothed turns the coefficients of all components into smoothed samples.
func (d *Decoder) transformSmoothed() {
	for i := range d.frame.comps {
		c := &d.frame.comps[i]
		for y := range c.blocksY {
			bits := &c.bits
			if y/c.v > d.ent.lastGood { // the last scan did not get here
				bits = &c.prevBits
			}
			c.smoothRow(y, d.frame.mcusY-1, bits)
		}
	}
}

// smoothRow does one row of blocks. lastMCU is the last row of interleaved MCUs.
func (c *component) smoothRow(y, lastMCU int, bits *[64]int8) {
	rows := c.neighbours(y, lastMCU)
	kernels := &dcOnly
	if slices.ContainsFunc(bits[1:smoothed], func(b int8) bool { return b != -1 }) {
		kernels = &partlyKnown
	}
	window := newWindow(rows)
	for x := range c.blocksX {
		for j, row := range rows {
			if x == 0 && c.blocksX > 1 {
				window[5*j+3] = int32(row[1].coefs[0])
			}
			if x+2 < c.blocksX {
				window[5*j+4] = int32(row[x+2].coefs[0])
			}
		}
		b := rows[2][x]
		c.estimate(&b, &window, kernels, bits)
		c.transform(&b, x, y)
		window.slide()
	}
}

// A dcWindow holds the DC coefficients of 5 × 5 blocks. It slides as in libjpeg: at the edges
// it repeats what it last held, which for a component two blocks wide is not the edge block.
type dcWindow [25]int32

// newWindow holds the first block of each row in all its places.
func newWindow(rows [5][]codedBlock) (w dcWindow) {
	for i := range w {
		w[i] = int32(rows[i/5][0].coefs[0])
	}
	return w
}

func (w *dcWindow) slide() {
	for j := range 5 {
		copy(w[5*j:5*j+4], w[5*j+1:5*j+5])
	}
}

// neighbours returns the rows of blocks from two above to two below row y. Where
// libjpeg takes a row for missing, the one next to it stands in.
func (c *component) neighbours(y, lastMCU int) [5][]codedBlock {
	at := func(row int) []codedBlock { return c.coefs[row*c.coefStride:][:c.blocksX] }
	mcu, inMCU := y/c.v, y%c.v
	rowsHere := c.v
	if mcu == lastMCU {
		rowsHere = (c.blocksY-1)%c.v + 1
	}
	rows := [5]int{y, y, y, y, y}
	if y > 0 {
		rows[1] = y - 1
	}
	rows[0] = rows[1]
	if inMCU > 1 || mcu > 1 {
		rows[0] = y - 2
	}
	if inMCU < rowsHere-1 || mcu < lastMCU {
		rows[3] = y + 1
	}
	rows[4] = rows[3]
	if inMCU < rowsHere-2 || mcu+1 < lastMCU {
		rows[4] = y + 2
	}
	var out [5][]codedBlock
	for j, row := range rows {
		out[j] = at(row)
	}
	return out
}

// estimate fills in coefficients of b that are zero but not known to be.
func (c *component) estimate(b *codedBlock, window *dcWindow, kernels *[smoothed]kernel, bits *[64]int8) {
	for k := 1; k < smoothed; k++ {
		al := bits[k]
		if k > 5 && kernels != &dcOnly || al == 0 || b.coefs[k] != 0 {
			continue
		}
		b.set(k, c.predict(&kernels[k], window, k, al))
	}
	if kernels == &dcOnly {
		b.set(0, c.predict(&kernels[0], window, 0, 0))
	}
}

// predict returns the estimate for coefficient k. Of its al lowest bits, if any, none
// is known, so it must be smaller than the lowest known bit.
func (c *component) predict(weights *kernel, window *dcWindow, k int, al int8) int16 {
	num := int64(0)
	for i, w := range weights {
		num += int64(w) * int64(window[i])
	}
	num *= int64(c.quant[0])
	q := int64(c.quant[k])
	size := num
	if num < 0 {
		size = -num
	}
	pred := int32((q<<7 + size) / (q << 8))
	if al > 0 && pred >= 1<<al {
		pred = 1<<al - 1
	}
	if num < 0 {
		pred = -pred
	}
	return int16(pred)
}
