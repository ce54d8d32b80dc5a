package accuracy

import "github.com/mlperf-go/mlperf/internal/tensor"

// mean returns the mean as numpy.mean computes it. v must not be empty.
func mean(v []float64) float64 { return tensor.Sum(v) / float64(len(v)) }

// linspace returns n numbers from start to stop as numpy.linspace computes them, which
// are not always the nearest to the decimals that they stand for (0.8999999999999999).
func linspace(start, stop float64, n int) []float64 {
	step := (stop - start) / float64(n-1)
	v := make([]float64, n)
	for i := range v {
		v[i] = float64(float64(i)*step) + start // no fused multiply-add
	}
	v[n-1] = stop
	return v
}
