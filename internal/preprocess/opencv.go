package preprocess

import (
	"math"

	"github.com/mlperf-go/mlperf/internal/tensor"
)

// Resizing as OpenCV does it (imgproc/src/resize.cpp).

// A between is where an output pixel lies between two input pixels: a fraction of the way from
// low to high.
type between struct {
	low, high int
	fraction  float32
}

// linearColumns returns where the output columns of OpenCV's linear resize lie. Enlarging with
// INTER_AREA is the same with other fractions. Columns beyond the edges are at the edges.
func linearColumns(buf []between, s span, area bool) []between {
	buf = linearRows(buf, s, area)
	for i, b := range buf {
		if b.low == b.high {
			buf[i].fraction = 0
		}
	}
	return buf
}

// linearRows is linearColumns for rows: those beyond the edges keep their fraction, with
// which OpenCV rounds.
func linearRows(buf []between, s span, area bool) []between {
	buf = tensor.Grown(buf, s.size)
	scale, inverse := s.scale(), float64(s.dst)/float64(s.src)
	for i := range buf {
		at := float64(s.first + i)
		var floor float64
		var fraction float32
		if area {
			floor = math.Floor(at * scale)
			if f := float32(at + 1 - float64((floor+1)*inverse)); f > 0 {
				fraction = f - float32(math.Floor(float64(f)))
			}
		} else {
			f := float32(float64((at+0.5)*scale) - 0.5)
			floor = math.Floor(float64(f))
			fraction = f - float32(floor)
		}
		low := int(floor)
		buf[i] = between{min(max(low, 0), s.src-1), min(max(low+1, 0), s.src-1), fraction}
	}
	return buf
}

// A pairCache keeps the last two rows that have been resized sideways.
type pairCache[T any] struct {
	rows [2][]T
	have [2]int // numbers of the source rows in rows, -1 for none
}

func (c *pairCache[T]) reset(width int) {
	for i := range c.rows {
		c.rows[i] = tensor.Grown(c.rows[i], width)
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

// linearBytes is OpenCV's linear resize of bytes: 11 fractional bits sideways, of which 7 are
// kept, then 11 more downwards, rounded to two and from there to none.
type linearBytes struct {
	stride  int
	src     []byte
	places  []between
	columns []column
	rows    []between
	cache   pairCache[int16]
	fill    func(dst []int16, row int)
}

// A column says where two pixels begin, and their weights in 1/2048.
type column struct{ left, right, wLeft, wRight int32 }

func (r *linearBytes) start(t task, src []byte) {
	r.stride, r.src = 3*t.x.src, src
	r.places = linearColumns(r.places, t.x, t.kernel == CV2Area)
	r.columns = tensor.Grown(r.columns, t.x.size)
	for i, b := range r.places {
		c := &r.columns[i]
		c.left, c.right = int32(3*b.low), int32(3*b.high)
		c.wLeft, c.wRight = weights2048(b.fraction)
	}
	r.rows = linearRows(r.rows, t.y, t.kernel == CV2Area)
	r.cache.reset(t.width())
	if r.fill == nil {
		r.fill = r.sideways
	}
}

// weights2048 rounds the two weights to 11 bits, half to even.
func weights2048(fraction float32) (left, right int32) {
	return roundHalfEven(2048 * (1 - fraction)), roundHalfEven(2048 * fraction)
}

// roundHalfEven rounds a number of less than 2²² in absolute value: after adding 1.5·2²³ the
// lowest bits of its mantissa are the result. The conversions keep a compiler from fusing the
// addition with a multiplication before it.
func roundHalfEven(v float32) int32 {
	const magic, magicBits = 3 << 22, 0x4B400000
	return int32(math.Float32bits(float32(float32(v)+magic))) - magicBits
}

// sideways resizes a row to 19 bits per value, of which the lowest 4 are cut off.
func (r *linearBytes) sideways(dst []int16, row int) {
	src := r.src[row*r.stride:]
	for i := sidewaysVectors(dst, src, r.columns); i < len(r.columns); i++ {
		c := &r.columns[i]
		p, q, d := src[c.left:][:3], src[c.right:][:3], dst[3*i:][:3]
		d[0] = int16((int32(p[0])*c.wLeft + int32(q[0])*c.wRight) >> 4)
		d[1] = int16((int32(p[1])*c.wLeft + int32(q[1])*c.wRight) >> 4)
		d[2] = int16((int32(p[2])*c.wLeft + int32(q[2])*c.wRight) >> 4)
	}
}

func (r *linearBytes) row(y int, dst []byte) {
	at := r.rows[y]
	a, b := r.cache.get(at.low, at.high, r.fill)
	wa, wb := weights2048(at.fraction)
	a, b = a[:len(dst)], b[:len(dst)]
	for i := bytesVectors(dst, a, b, wa, wb); i < len(dst); i++ {
		dst[i] = uint8((int32(a[i])*wa>>16 + int32(b[i])*wb>>16 + 2) >> 2)
	}
}

// linearFloats is OpenCV's linear resize in float32; every product and every sum is rounded.
type linearFloats struct {
	stride        int
	src           []byte
	columns, rows []between
	cache         pairCache[float32]
	fill          func(dst []float32, row int)
}

func (r *linearFloats) start(t task, src []byte) {
	r.stride, r.src = 3*t.x.src, src
	r.columns = linearColumns(r.columns, t.x, false)
	r.rows = linearRows(r.rows, t.y, false)
	r.cache.reset(t.width())
	if r.fill == nil {
		r.fill = r.sideways
	}
}

func (r *linearFloats) sideways(dst []float32, row int) {
	src := r.src[row*r.stride:]
	for i := floatsSidewaysVectors(dst, src, r.columns); i < len(r.columns); i++ {
		c := &r.columns[i]
		wa, wb := 1-c.fraction, c.fraction
		p, q, d := src[3*c.low:][:3], src[3*c.high:][:3], dst[3*i:][:3]
		d[0] = float32(float32(p[0])*wa) + float32(float32(q[0])*wb)
		d[1] = float32(float32(p[1])*wa) + float32(float32(q[1])*wb)
		d[2] = float32(float32(p[2])*wa) + float32(float32(q[2])*wb)
	}
}

func (r *linearFloats) row(y int, dst []float32) {
	at := r.rows[y]
	a, b := r.cache.get(at.low, at.high, r.fill)
	wa, wb := 1-at.fraction, at.fraction
	a, b = a[:len(dst)], b[:len(dst)]
	for i := floatsVectors(dst, a, b, wa, wb); i < len(dst); i++ {
		dst[i] = float32(a[i]*wa) + float32(b[i]*wb)
	}
}

// areaTaps returns how OpenCV's INTER_AREA covers one axis when it shrinks
// (computeResizeAreaTab). A pixel of which less than a thousandth is covered does not count.
func areaTaps(t *taps[float32], s span) {
	t.reset()
	scale, n := s.scale(), float64(s.src)
	for i := range s.size {
		from := float64(float64(s.first+i) * scale)
		to := from + scale
		cell := min(scale, n-from)
		last := min(math.Floor(to), n-1)
		first := min(math.Ceil(from), last)
		if first-from > 1e-3 {
			t.next(int(first) - 1)
			t.add(float32((first - from) / cell))
		} else {
			t.next(int(first))
		}
		for range int(last) - int(first) {
			t.add(float32(1 / cell))
		}
		if to-last > 1e-3 {
			t.add(float32(min(min(to-last, 1), cell) / cell))
		}
	}
	t.finish(s.src)
}

// areaRows is OpenCV's INTER_AREA for shrinking by factors that are not both whole. It adds up
// float32 numbers, first sideways, then downwards, in the order of the pixels.
type areaRows struct {
	stride      int
	src         []byte
	x, y        taps[float32]
	left, right int       // columns of src that are needed
	source      []float32 // these of source row number have
	line        []float32 // the same, resized sideways
	have        int
	sum         []float32
}

func (r *areaRows) start(t task, src []byte) {
	r.stride, r.src = 3*t.x.src, src
	areaTaps(&r.x, t.x)
	areaTaps(&r.y, t.y)
	r.left, r.right = r.x.reach()
	r.source = tensor.Grown(r.source, 3*(r.right-r.left))
	r.line = tensor.Grown(r.line, t.width())
	r.sum = tensor.Grown(r.sum, t.width())
	r.have = -1
}

func (r *areaRows) row(y int, dst []byte) {
	clear(r.sum)
	for k, w := range r.y.weights(y) {
		if w == 0 {
			continue
		}
		if at := r.y.first[y] + k; at != r.have {
			for i, v := range r.src[at*r.stride:][3*r.left : 3*r.right] {
				r.source[i] = float32(v)
			}
			r.sideways()
			r.have = at
		}
		line := r.line[:len(r.sum)]
		for i := range r.sum {
			r.sum[i] += float32(w * line[i])
		}
	}
	for i, v := range r.sum[:len(dst)] {
		dst[i] = uint8(min(max(roundHalfEven(v), 0), 255))
	}
}

// sideways resizes the source row, from which only what is needed has been kept.
func (r *areaRows) sideways() {
	for i, first := range r.x.first {
		p, d := r.source[3*(first-r.left):], r.line[3*i:][:3]
		var s0, s1, s2 float32
		for _, w := range r.x.weights(i) {
			s0 += float32(p[0] * w)
			s1 += float32(p[1] * w)
			s2 += float32(p[2] * w)
			p = p[3:]
		}
		d[0], d[1], d[2] = s0, s1, s2
	}
}

// wholeFactor returns the number of input pixels per output pixel if it is whole, else 0.
func (s span) wholeFactor() int {
	const epsilon = 2.220446049250313e-16 // DBL_EPSILON
	scale := s.scale()
	if whole := math.RoundToEven(scale); math.Abs(scale-whole) < epsilon {
		return int(whole)
	}
	return 0
}

// halves reports whether both sides shrink to half.
func (t task) halves() bool { return t.x.wholeFactor() == 2 && t.y.wholeFactor() == 2 }

// cellRows is OpenCV's INTER_AREA for shrinking by whole factors, and INTER_LINEAR for half:
// each output pixel is the mean of a cell of input pixels.
type cellRows struct {
	stride  int
	src     []byte
	x, y    span
	fx, fy  int
	offsets []int // from the first value of a cell to all of its channel, row by row
}

func (r *cellRows) start(t task, src []byte) {
	r.stride, r.src = 3*t.x.src, src
	r.x, r.y, r.fx, r.fy = t.x, t.y, t.x.wholeFactor(), t.y.wholeFactor()
	r.offsets = r.offsets[:0]
	for dy := range r.fy {
		for dx := range r.fx {
			r.offsets = append(r.offsets, dy*r.stride+3*dx)
		}
	}
}

// sum adds up the cell of the i-th value in output row y.
func (r *cellRows) sum(i, y int) (sum int32) {
	cell := r.src[(r.y.first+y)*r.fy*r.stride+3*(r.x.first+i/3)*r.fx+i%3:]
	for _, at := range r.offsets {
		sum += int32(cell[at])
	}
	return sum
}

func (r *cellRows) floatRow(y int, dst []float32) {
	for i := range dst {
		dst[i] = float32(r.sum(i, y)) / float32(len(r.offsets))
	}
}

// byteRow rounds half to even, but half up for the mean of 2×2 pixels.
func (r *cellRows) byteRow(y int, dst []byte) {
	scale := 1 / float32(len(r.offsets))
	for i := range dst {
		if sum := r.sum(i, y); r.fx == 2 && r.fy == 2 {
			dst[i] = uint8((sum + 2) >> 2)
		} else {
			dst[i] = uint8(roundHalfEven(float32(sum) * scale))
		}
	}
}
