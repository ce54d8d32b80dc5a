package quantize

import "math"

// bins is how finely a Histogram divides the interval between the smallest and the
// largest value.
const bins = 8192

// A histogram counts the values of an activation. Zeros are counted apart: half of what
// a Relu makes are, and any range represents them exactly.
type histogram struct {
	low, high float32
	counts    [bins]int64
	zeros     int64
	total     int64 // with the zeros
	strange   int64 // outside the interval, or not a number
}

func (h *histogram) width() float64 { return (float64(h.high) - float64(h.low)) / bins }

// add counts values.
func (h *histogram) add(values []float32) {
	low, scale := h.low, 0.0 // not a float32: it is none where values are tiny, nor is the distance of the largest
	if w := h.width(); w > 0 {
		scale = 1 / w
	}
	h.total += int64(len(values))
	for _, v := range values {
		if v == 0 {
			h.zeros++
			continue
		}
		if !(v >= low && v <= h.high) {
			h.strange++
			continue
		}
		i := min(int((float64(v)-float64(low))*scale), bins-1)
		h.counts[i]++
	}
}

// edge returns where a bin begins.
func (h *histogram) edge(bin float64) float64 { return float64(h.low) + bin*h.width() }

// percentile returns the value below which p percent of the values lie, with the values
// of a bin spread evenly over it.
func (h *histogram) percentile(p float64) float64 {
	want := p / 100 * float64(h.total)
	below := 0.0
	zeroBin := -1
	if h.zeros > 0 {
		zeroBin = h.binOf(0)
	}
	for i, c := range h.counts {
		n := float64(c)
		if i == zeroBin {
			n += float64(h.zeros)
		}
		if n > 0 && below+n >= want {
			return h.edge(float64(i) + max(0, want-below)/n)
		}
		below += n
	}
	return float64(h.high)
}

func (h *histogram) binOf(x float64) int {
	return clampInt((x-float64(h.low))/h.width(), 0, bins-1)
}

// cut returns the range between two percentiles, p and 100-p.
func (h *histogram) cut(p float64) Range {
	r := Range{max(h.low, float32(h.percentile(100-p))), min(h.high, float32(h.percentile(p)))}
	// Zero is an end if values lie on one side only: there is nothing to cut there.
	if h.low >= 0 {
		r.Min = h.low
	}
	if h.high <= 0 {
		r.Max = h.high
	}
	if r.Min > r.Max {
		return Range{h.low, h.high}
	}
	return r
}

// entropyBins is how many bins the search by entropy distinguishes on the way from zero
// to the largest magnitude, as in the method's first description (Migacz, 8-bit
// inference with TensorRT, GTC 2017).
const entropyBins = 2048

// minimiseDivergence returns the range |x| ≤ t, within the smallest and the largest
// value, for which the distribution of the integers is most alike to that of the values,
// if a number of levels is there for the magnitudes.
func (h *histogram) minimiseDivergence(levels int) Range {
	largest := max(math.Abs(float64(h.low)), math.Abs(float64(h.high)))
	magnitudes := h.magnitudes(largest)
	best, bestT := math.Inf(1), entropyBins
	for t := levels; t <= entropyBins; t += 2 {
		if d := divergence(magnitudes, t, levels); d < best {
			best, bestT = d, t
		}
	}
	limit := float32(largest * float64(bestT) / entropyBins)
	return Range{max(h.low, -limit), min(h.high, limit)}
}

// magnitudes counts the values by magnitude, without the zeros.
func (h *histogram) magnitudes(largest float64) []float64 {
	counts := make([]float64, entropyBins)
	scale := entropyBins / largest
	for i, c := range h.counts {
		if c > 0 {
			middle := math.Abs(h.edge(float64(i) + 0.5))
			counts[clampInt(middle*scale, 0, entropyBins-1)] += float64(c)
		}
	}
	return counts
}

// leastCount stands for the values of a bin that the levels leave empty and what is
// beyond them does not: without it, no range could end in the gap before an outlier.
const leastCount = 1e-4

// divergence returns how much information is lost if the first t bins are represented by
// a number of levels and everything beyond by the last: the Kullback-Leibler divergence
// Σ p·ln(p/q) of the values' distribution p, with what is beyond in the last bin, from
// the levels' distribution q, in which each level's values are spread evenly over
// its bins that are not empty.
func divergence(counts []float64, t, levels int) float64 {
	inside, beyond := sum(counts[:t]), sum(counts[t:])
	if inside == 0 {
		return math.Inf(1)
	}
	last := counts[t-1]
	counts[t-1] += beyond
	defer func() { counts[t-1] = last }()
	d := 0.0
	for level := range levels {
		bins := counts[level*t/levels : (level+1)*t/levels]
		filled, values := 0.0, sum(bins)
		for _, c := range bins {
			if c > 0 {
				filled++
			}
		}
		if level == levels-1 {
			values -= beyond
		}
		q := max(values/filled, leastCount) / inside
		for _, c := range bins {
			if c > 0 {
				p := c / (inside + beyond)
				d += p * math.Log(p/q)
			}
		}
	}
	return d
}

func sum(list []float64) float64 {
	total := 0.0
	for _, v := range list {
		total += v
	}
	return total
}
