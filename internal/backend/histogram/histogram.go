package histogram

import (
	"math"
	"math/bits"
)

// A Histogram counts values from 0 up. The zero Histogram cannot be used: see New.
type Histogram struct {
	bits     uint
	counts   []uint64 // nil: there was no value yet
	n        uint64
	min, max int64 // min > max: there is no value
}

// maxBits is the largest number of bits: 32768 buckets an octave.
const maxBits = 15

// New makes an empty histogram with 2^bits buckets for an octave; bits is 1 to maxBits. The buckets, some
// megabytes where they are fine, are made for the first value.
func New(bits uint) *Histogram {
	h := &Histogram{bits: min(max(bits, 1), maxBits)}
	h.empty()
	return h
}

// room makes the buckets.
func (h *Histogram) room() {
	if h.counts == nil {
		h.counts = make([]uint64, buckets(h.bits))
	}
}

// buckets is how many there are for values up to 2^63-1.
func buckets(bits uint) int { return (64 - int(bits)) << bits }

func (h *Histogram) empty() { h.n, h.min, h.max = 0, math.MaxInt64, 0 }

// used are the buckets that may have values.
func (h *Histogram) used() (from, to int) {
	if h.n == 0 {
		return 0, -1
	}
	return h.bucket(h.min), h.bucket(h.max)
}

// Reset empties the histogram. It costs as much as there are buckets in use.
func (h *Histogram) Reset() {
	first, last := h.used()
	clear(h.counts[first : last+1])
	h.empty()
}

// Add counts a value; a negative one counts as 0.
func (h *Histogram) Add(v int64) {
	h.room()
	v = max(v, 0)
	h.counts[h.bucket(v)]++
	h.n++
	if v < h.min {
		h.min = v
	}
	if v > h.max {
		h.max = v
	}
}

// Merge adds the values of a histogram with as many buckets for an octave, or more.
func (h *Histogram) Merge(of *Histogram) {
	if of.n == 0 {
		return
	}
	h.room()
	first, last := of.used()
	for i := first; i <= last; i++ {
		if c := of.counts[i]; c > 0 {
			from, _ := of.bounds(i)
			h.counts[h.bucket(int64(from))] += c
		}
	}
	h.n += of.n
	h.min, h.max = min(h.min, of.min), max(h.max, of.max)
}

func (h *Histogram) bucket(v int64) int {
	if v < 1<<h.bits {
		return int(v)
	}
	e := uint(bits.Len64(uint64(v))) - 1 - h.bits
	return int(uint64(e+1)<<h.bits | uint64(v)>>e&(1<<h.bits-1))
}

// bounds are the first value of a bucket and that of the next one.
func (h *Histogram) bounds(i int) (from, to float64) {
	if i < 1<<h.bits {
		return float64(i), float64(i + 1)
	}
	e := uint(i)>>h.bits - 1
	m := float64(uint64(i)&(1<<h.bits-1) | 1<<h.bits)
	width := math.Ldexp(1, int(e))
	return m * width, (m + 1) * width
}

// Count is the number of values.
func (h *Histogram) Count() uint64 { return h.n }

// Min and Max are the smallest and the largest value; 0 if there is none.
func (h *Histogram) Min() int64 {
	if h.n == 0 {
		return 0
	}
	return h.min
}

// Max is the largest value; 0 if there is none.
func (h *Histogram) Max() int64 { return h.max }

// Quantile returns the value below which a share p of all values lie, from 0 to 1: the
// element that is as far along in ascending order, as LoadGen reads percentiles. Within its
// bucket it is taken to lie where it would if the values there were evenly apart. 0 if there
// are no values; a share below 0 is 0, one above 1 is 1, and NaN is 0.
func (h *Histogram) Quantile(p float64) int64 {
	if h.n == 0 {
		return 0
	}
	rank := uint64(0)
	if p > 0 { // NaN is not
		rank = uint64(min(p*float64(h.n), float64(h.n-1)))
	}
	below := uint64(0)
	first, last := h.used()
	for i := first; i <= last; i++ {
		if c := h.counts[i]; below+c > rank {
			return h.within(i, (float64(rank-below)+0.5)/float64(c))
		}
		below += h.counts[i]
	}
	return h.max
}

// within is a value of a bucket, a share of the way through it.
func (h *Histogram) within(i int, share float64) int64 {
	from, to := h.bounds(i)
	if i < 1<<h.bits {
		return int64(from)
	}
	v := from + share*(to-from)
	return min(max(int64(v), h.min), h.max)
}

// Above is the share of values that lie in later buckets than a value.
func (h *Histogram) Above(v int64) float64 {
	if h.n == 0 {
		return 0
	}
	n := uint64(0)
	first, last := h.used()
	for i := max(h.bucket(max(v, 0))+1, first); i <= last; i++ {
		n += h.counts[i]
	}
	return float64(n) / float64(h.n)
}

// Each passes the buckets that are not empty, in ascending order: the values from which and
// up to which they reach, and how many lie there.
func (h *Histogram) Each(f func(from, to float64, count uint64)) {
	first, last := h.used()
	for i := first; i <= last; i++ {
		if h.counts[i] > 0 {
			from, to := h.bounds(i)
			f(from, to, h.counts[i])
		}
	}
}
