package preprocess

import "math"

// A tap is where an output pixel lies between two input pixels: at index, and a
// fraction of the way to the next.
type tap struct {
	index    int
	fraction float32
}

// linearTaps returns the taps of OpenCV's linear resize along an axis (resize in
// imgproc/src/resize.cpp). Enlarging with INTER_AREA is the same with other fractions.
func linearTaps(buf []tap, s span, area bool) []tap {
	buf = resized(buf, s.size)
	scale, inverse := s.scale(), float64(s.dst)/float64(s.src)
	for i := range buf {
		at := float64(s.first + i)
		if !area {
			f := float32(float64((at+0.5)*scale) - 0.5)
			floor := math.Floor(float64(f))
			buf[i] = tap{int(floor), f - float32(floor)}
			continue
		}
		floor := math.Floor(at * scale)
		f := float32(at + 1 - float64((floor+1)*inverse))
		if f <= 0 {
			f = 0
		} else {
			f -= float32(math.Floor(float64(f)))
		}
		buf[i] = tap{int(floor), f}
	}
	return buf
}

// holdEdges keeps taps within a row of n pixels. Columns are treated so; for rows only
// the row numbers are limited, and the fraction stays. The last pixel becomes the right
// one of a pair, so that every tap has a right neighbour unless n is 1.
func holdEdges(taps []tap, n int) {
	for i, t := range taps {
		if t.index < 0 || n == 1 {
			taps[i] = tap{0, 0}
		} else if t.index >= n-1 {
			taps[i] = tap{n - 2, 1}
		}
	}
}

// rowPair returns the two rows that a tap lies between.
func (t tap) rowPair(n int) (int, int) {
	return min(max(t.index, 0), n-1), min(max(t.index+1, 0), n-1)
}

// A pairCache keeps the last two rows that have been resized sideways.
type pairCache[T any] struct {
	rows [2][]T
	have [2]int // numbers of the source rows in rows, -1 for none
}

func (c *pairCache[T]) reset(width int) {
	for i := range c.rows {
		c.rows[i] = resized(c.rows[i], width)
		c.have[i] = -1
	}
}

// get returns the resized source rows a and b, making with fill those it has not got.
func (c *pairCache[T]) get(a, b int, fill func(dst []T, row int)) ([]T, []T) {
	if c.have[0] != a {
		c.rows[0], c.rows[1] = c.rows[1], c.rows[0]
		c.have[0], c.have[1] = c.have[1], c.have[0]
	}
	if c.have[0] != a {
		fill(c.rows[0], a)
		c.have[0] = a
	}
	if a == b {
		return c.rows[0], c.rows[0]
	}
	if c.have[1] != b {
		fill(c.rows[1], b)
		c.have[1] = b
	}
	return c.rows[0], c.rows[1]
}

// byteTap is a tap of a row of bytes: the offset of the left pixel, and the weights of it
// and of its right neighbour in 1/2048.
type byteTap struct{ left, wLeft, wRight int32 }

// linearBytes is OpenCV's linear resize of bytes: 11 fractional bits sideways, of which
// 7 are kept, then 11 more downwards, rounded to two and from there to none.
type linearBytes struct {
	channels, stride, height int
	src                      []byte
	columns                  []byteTap
	taps, rows               []tap
	cache                    pairCache[int32]
	fillRow                  func(dst []int32, row int)
}

func (r *linearBytes) start(t task, src []byte, area bool) {
	r.channels, r.stride, r.height, r.src = t.channels, t.channels*t.x.src, t.y.src, src
	r.taps = linearTaps(r.taps, t.x, area)
	holdEdges(r.taps, t.x.src)
	r.columns = resized(r.columns, t.x.size)
	for i, tap := range r.taps {
		left, right := weights2048(tap.fraction)
		r.columns[i] = byteTap{int32(t.channels * tap.index), left, right}
	}
	r.rows = linearTaps(r.rows, t.y, area)
	r.cache.reset(t.width())
	if r.fillRow == nil {
		r.fillRow = r.sideways
	}
}

// weights2048 rounds the two weights to 11 bits, half to even.
func weights2048(fraction float32) (left, right int32) {
	return roundHalfEven(2048 * (1 - fraction)), roundHalfEven(2048 * fraction)
}

// roundHalfEven rounds a number of less than 2²² in absolute value: after adding 1.5·2²³
// the lowest bits of its mantissa are the result. The conversions keep a compiler from
// fusing the addition with a multiplication before it.
func roundHalfEven(v float32) int32 {
	const magic, magicBits = 3 << 22, 0x4B400000
	return int32(math.Float32bits(float32(float32(v)+magic))) - magicBits
}

// sideways resizes a row to 19 bits per sample, of which the lowest 4 are cut off.
func (r *linearBytes) sideways(dst []int32, row int) {
	src, n := r.src[row*r.stride:][:r.stride], r.channels
	if n == 3 && len(src) > 3 {
		for i := range r.columns {
			t := &r.columns[i]
			p, d := src[t.left:][:6], dst[3*i:][:3]
			d[0] = (int32(p[0])*t.wLeft + int32(p[3])*t.wRight) >> 4
			d[1] = (int32(p[1])*t.wLeft + int32(p[4])*t.wRight) >> 4
			d[2] = (int32(p[2])*t.wLeft + int32(p[5])*t.wRight) >> 4
		}
		return
	}
	next := min(n, len(src)-n) // from a pixel to its right neighbour
	for i, t := range r.columns {
		for c, p := range src[t.left:][:n] {
			dst[n*i+c] = (int32(p)*t.wLeft + int32(src[int(t.left)+next+c])*t.wRight) >> 4
		}
	}
}

func (r *linearBytes) row(y int, dst []byte) {
	t := r.rows[y]
	upper, lower := t.rowPair(r.height)
	a, b := r.cache.get(upper, lower, r.fillRow)
	wa, wb := weights2048(t.fraction)
	a, b = a[:len(dst)], b[:len(dst)]
	for i := range dst {
		dst[i] = uint8((a[i]*wa>>16 + b[i]*wb>>16 + 2) >> 2)
	}
}

// linearFloats is OpenCV's linear resize in float32; every product and every sum is
// rounded.
type linearFloats[T sample] struct {
	channels, stride, height int
	src                      []T
	columns, rows            []tap
	line                     []float32 // a source row as float32
	cache                    pairCache[float32]
	fillRow                  func(dst []float32, row int)
}

func (r *linearFloats[T]) start(t task, src []T, area bool) {
	r.channels, r.stride, r.height, r.src = t.channels, t.channels*t.x.src, t.y.src, src
	r.columns = linearTaps(r.columns, t.x, area)
	holdEdges(r.columns, t.x.src)
	for i := range r.columns {
		r.columns[i].index *= t.channels
	}
	r.rows = linearTaps(r.rows, t.y, area)
	r.cache.reset(t.width())
	if r.fillRow == nil {
		r.fillRow = r.sideways
	}
}

func (r *linearFloats[T]) sideways(dst []float32, row int) {
	r.line = floats(r.line, r.src[row*r.stride:][:r.stride])
	src, n := r.line, r.channels
	if n == 3 && len(src) > 3 {
		for i := range r.columns {
			t := &r.columns[i]
			wa, wb := 1-t.fraction, t.fraction
			p, d := src[t.index:][:6], dst[3*i:][:3]
			d[0] = float32(p[0]*wa) + float32(p[3]*wb)
			d[1] = float32(p[1]*wa) + float32(p[4]*wb)
			d[2] = float32(p[2]*wa) + float32(p[5]*wb)
		}
		return
	}
	next := min(n, len(src)-n)
	for i, t := range r.columns {
		for c, p := range src[t.index:][:n] {
			dst[n*i+c] = float32(p*(1-t.fraction)) + float32(src[t.index+next+c]*t.fraction)
		}
	}
}

// floats returns src as float32 in buf's memory.
func floats[T sample](buf []float32, src []T) []float32 {
	buf = resized(buf, len(src))
	for i, v := range src {
		buf[i] = float32(v)
	}
	return buf
}

func (r *linearFloats[T]) row(y int, dst []float32) {
	t := r.rows[y]
	upper, lower := t.rowPair(r.height)
	a, b := r.cache.get(upper, lower, r.fillRow)
	wa, wb := 1-t.fraction, t.fraction
	a, b = a[:len(dst)], b[:len(dst)]
	for i := range dst {
		dst[i] = float32(a[i]*wa) + float32(b[i]*wb)
	}
}
