package preprocess

import (
	"math"

	"github.com/mlperf-go/mlperf/internal/tensor"
)

// A filter weighs an input pixel by its distance from the output pixel's centre; beyond radius
// it is zero.
type filter struct {
	radius float64
	weight func(x float64) float64
}

var triangle = filter{1, func(x float64) float64 { return max(1-math.Abs(x), 0) }}

// cubic is the cubic convolution with a = −0.5.
var cubic = filter{2, func(x float64) float64 {
	const a = -0.5
	x = math.Abs(x)
	switch {
	case x < 1:
		return float64(float64((float64((a+2)*x)-(a+3))*x)*x) + 1
	case x < 2:
		return float64((float64((float64((x-5)*x)+8)*x) - 4) * a)
	}
	return 0
}}

// pillowTaps returns the weights of Pillow's antialiased resize along one axis
// (precompute_coeffs in libImaging/Resample.c).
func pillowTaps(t *taps[float64], s span, f filter) {
	t.reset()
	scale := float64(s.src) / float64(s.dst)
	stretch := max(scale, 1)
	support := float64(f.radius * stretch)
	for i := range s.size {
		center := float64((float64(s.first+i) + 0.5) * scale)
		from := max(int(center-support+0.5), 0)
		to := min(int(center+support+0.5), s.src)
		t.next(from)
		sum := 0.0
		for k := from; k < to; k++ {
			w := f.weight(float64((float64(k) - center + 0.5) * (1 / stretch)))
			t.add(w)
			sum += w
		}
		if weights := t.of(i); sum != 0 {
			for k := range weights {
				weights[k] /= sum
			}
		}
	}
	t.finish(s.src)
}

// pillowBits is the number of fractional bits of Pillow's weights for bytes.
const (
	pillowBits = 32 - 8 - 2
	half       = 1 << (pillowBits - 1)
)

// pillowRows is Pillow's resize of bytes: sideways first, rounded to bytes, then downwards.
type pillowRows struct {
	x, y     taps[float64]
	wx, wy   []int32
	firstRow int
	lines    []byte // the rows that are needed, resized sideways
	width    int    // of a row in lines
	sum      []int32
}

func (r *pillowRows) start(t task, src []byte) {
	f := triangle
	if t.kernel == PillowBicubic {
		f = cubic
	}
	r.width = t.width()
	pillowTaps(&r.x, t.x, f)
	pillowTaps(&r.y, t.y, f)
	r.wx, r.wy = fixed(r.wx, &r.x), fixed(r.wy, &r.y)
	from, to := r.y.reach()
	r.firstRow = from
	r.lines = tensor.Grown(r.lines, (to-from)*r.width)
	stride := 3 * t.x.src
	for y := from; y < to; y++ {
		r.sideways(r.lines[(y-from)*r.width:][:r.width], src[y*stride:][:stride])
	}
	r.sum = tensor.Grown(r.sum, r.width)
}

// fixed rounds the weights to pillowBits, half away from zero.
func fixed(buf []int32, t *taps[float64]) []int32 {
	buf = tensor.Grown(buf, len(t.weight))
	for i, w := range t.weight {
		buf[i] = int32(float64(w*(1<<pillowBits)) + math.Copysign(0.5, w))
	}
	return buf
}

func (r *pillowRows) sideways(dst, src []byte) {
	for i, first := range r.x.first {
		weights := r.wx[i*r.x.count:][:r.x.count]
		s0, s1, s2 := int32(half), int32(half), int32(half)
		p := src[3*first:][:3*len(weights)]
		for k, w := range weights {
			s0 += int32(p[3*k]) * w
			s1 += int32(p[3*k+1]) * w
			s2 += int32(p[3*k+2]) * w
		}
		d := dst[3*i:][:3]
		d[0], d[1], d[2] = clip(s0), clip(s1), clip(s2)
	}
}

func clip(v int32) uint8 { return uint8(min(max(v>>pillowBits, 0), 255)) }

func (r *pillowRows) row(y int, dst []byte) {
	weights := r.wy[y*r.y.count:][:r.y.count]
	lines := r.lines[(r.y.first[y]-r.firstRow)*r.width:]
	sum := r.sum
	for i := range sum {
		sum[i] = half
	}
	for ; len(weights) >= 2; weights = weights[2:] {
		w0, w1 := weights[0], weights[1]
		a, b := lines[:len(sum)], lines[r.width:][:len(sum)]
		for i := range sum {
			sum[i] += int32(a[i])*w0 + int32(b[i])*w1
		}
		lines = lines[2*r.width:]
	}
	for _, w := range weights {
		for i, v := range lines[:len(sum)] {
			sum[i] += int32(v) * w
		}
	}
	for i, v := range sum {
		dst[i] = clip(v)
	}
}
