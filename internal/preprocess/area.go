package preprocess

import "math"

// areaTaps returns how OpenCV's INTER_AREA covers one axis when it shrinks
// (computeResizeAreaTab in imgproc/src/resize.cpp). A pixel of which less than a
// thousandth is covered does not count.
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

// wholeFactor returns the number of input pixels per output pixel if it is whole, else 0.
func wholeFactor(s span) int {
	const epsilon = 2.220446049250313e-16 // DBL_EPSILON
	scale := s.scale()
	if whole := math.RoundToEven(scale); math.Abs(scale-whole) < epsilon {
		return int(whole)
	}
	return 0
}

// areaRows is OpenCV's INTER_AREA for shrinking by factors that are not both whole. It
// adds up float32 numbers, first sideways, then downwards, in the order of the pixels.
type areaRows[T sample] struct {
	channels, stride int
	src              []T
	x, y             taps[float32]
	left, right      int       // columns of src that are needed
	source           []float32 // these of source row number have
	line             []float32 // the same, resized sideways
	have             int
	sum              []float32
}

func (r *areaRows[T]) start(t task, src []T) {
	r.channels, r.stride, r.src = t.channels, t.channels*t.x.src, src
	areaTaps(&r.x, t.x)
	areaTaps(&r.y, t.y)
	r.left, r.right = r.x.reach()
	r.line = resized(r.line, t.width())
	r.sum = resized(r.sum, t.width())
	r.have = -1
}

func (r *areaRows[T]) floatRow(y int, dst []float32) {
	copy(dst, r.total(y))
}

func (r *areaRows[T]) byteRow(y int, dst []byte) {
	for i, v := range r.total(y)[:len(dst)] {
		dst[i] = uint8(min(max(roundHalfEven(v), 0), 255))
	}
}

// total returns output row y, valid until the next call.
func (r *areaRows[T]) total(y int) []float32 {
	clear(r.sum)
	n := r.channels
	for k, w := range r.y.weights(y) {
		if w == 0 {
			continue
		}
		if at := r.y.first[y] + k; at != r.have {
			r.source = floats(r.source, r.src[at*r.stride:][n*r.left:n*r.right])
			r.sideways()
			r.have = at
		}
		line := r.line[:len(r.sum)]
		for i := range r.sum {
			r.sum[i] += float32(w * line[i])
		}
	}
	return r.sum
}

// sideways resizes the source row, from which only what is needed has been kept.
func (r *areaRows[T]) sideways() {
	if r.channels == 3 && r.x.count == 3 {
		r.sideways3()
		return
	}
	n := r.channels
	for i, first := range r.x.first {
		p := r.source[n*(first-r.left):]
		d := r.line[n*i:][:n]
		clear(d)
		for _, w := range r.x.weights(i) {
			for c, v := range p[:n] {
				d[c] += float32(v * w)
			}
			p = p[n:]
		}
	}
}

// sideways3 is for three channels and three taps, the usual case.
func (r *areaRows[T]) sideways3() {
	weights := r.x.weight
	for i, first := range r.x.first {
		p, d, w := r.source[3*(first-r.left):][:9], r.line[3*i:][:3], weights[3*i:][:3]
		w0, w1, w2 := w[0], w[1], w[2]
		d[0] = float32(p[0]*w0) + float32(p[3]*w1) + float32(p[6]*w2)
		d[1] = float32(p[1]*w0) + float32(p[4]*w1) + float32(p[7]*w2)
		d[2] = float32(p[2]*w0) + float32(p[5]*w1) + float32(p[8]*w2)
	}
}

// cellRows is OpenCV's INTER_AREA for shrinking by whole factors: each output pixel is
// the mean of a cell of input pixels.
type cellRows[T sample] struct {
	channels, stride int
	src              []T
	x, y             span
	fx, fy           int
	offsets          []int // from the first sample of a cell to all of its channel, row by row
}

func (r *cellRows[T]) start(t task, src []T) {
	r.channels, r.stride, r.src = t.channels, t.channels*t.x.src, src
	r.x, r.y, r.fx, r.fy = t.x, t.y, wholeFactor(t.x), wholeFactor(t.y)
	r.offsets = r.offsets[:0]
	for dy := range r.fy {
		for dx := range r.fx {
			r.offsets = append(r.offsets, dy*r.stride+dx*r.channels)
		}
	}
}

// cell returns the samples from the first one of the cell of the i-th sample in output
// row y on.
func (r *cellRows[T]) cell(i, y int) []T {
	x, channel := i/r.channels, i%r.channels
	return r.src[(r.y.first+y)*r.fy*r.stride+(r.x.first+x)*r.fx*r.channels+channel:]
}

// floatRow adds the samples of a cell up in fours. OpenCV's SSE code for 2×2 samples of
// one or four channels adds them in pairs, as far as there are four results to a step.
func (r *cellRows[T]) floatRow(y int, dst []float32) {
	scale := 1 / float32(len(r.offsets))
	pairs := 0
	if r.fx == 2 && r.fy == 2 && (r.channels == 1 || r.channels == 4) {
		pairs = r.x.dst * r.channels &^ 3
	}
	for i := range dst {
		cell := r.cell(i, y)
		if r.x.first*r.channels+i < pairs {
			o := r.offsets
			upper := float32(cell[o[0]]) + float32(cell[o[1]])
			dst[i] = (upper + (float32(cell[o[2]]) + float32(cell[o[3]]))) * scale
			continue
		}
		var sum float32
		rest := r.offsets
		for ; len(rest) >= 4; rest = rest[4:] {
			sum += float32(cell[rest[0]]) + float32(cell[rest[1]]) + float32(cell[rest[2]]) + float32(cell[rest[3]])
		}
		for _, at := range rest {
			sum += float32(cell[at])
		}
		dst[i] = sum * scale
	}
}

// byteRow rounds half to even, but half up for the mean of 2×2 samples.
func (r *cellRows[T]) byteRow(y int, dst []byte) {
	scale := 1 / float32(len(r.offsets))
	for i := range dst {
		cell := r.cell(i, y)
		sum := int32(0)
		for _, at := range r.offsets {
			sum += int32(cell[at])
		}
		if r.fx == 2 && r.fy == 2 {
			dst[i] = uint8((sum + 2) >> 2)
		} else {
			dst[i] = uint8(roundHalfEven(float32(sum) * scale))
		}
	}
}
