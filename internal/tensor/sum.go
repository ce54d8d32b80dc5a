package tensor

// Sum returns the sum as numpy.sum computes it.
//
// The order of the additions decides the last bits, and these can decide the last
// printed digit. NumPy 1.24 adds blocks of 8192, its buffer size, one after another,
// and within a block by halves.
func Sum(v []float64) float64 {
	const buffer = 8192
	sum := 0.0
	for len(v) > buffer {
		sum += pairwiseSum(v[:buffer])
		v = v[buffer:]
	}
	return sum + pairwiseSum(v)
}

// pairwiseSum adds halves, and up to 128 numbers in eight running sums
// (numpy/core/src/umath/loops_utils.h.src).
func pairwiseSum(v []float64) float64 {
	n := len(v)
	if n < 8 {
		sum := 0.0
		for _, x := range v {
			sum += x
		}
		return sum
	}
	if n > 128 {
		half := n / 2
		half -= half % 8
		return pairwiseSum(v[:half]) + pairwiseSum(v[half:])
	}
	r := [8]float64(v)
	i := 8
	for ; i+8 <= n; i += 8 {
		for k := range r {
			r[k] += v[i+k]
		}
	}
	sum := ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]))
	for ; i < n; i++ {
		sum += v[i]
	}
	return sum
}
