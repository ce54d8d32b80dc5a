package compare

import (
	"math"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// An Interval is a range in which the true value lies in 95 of 100 cases.
type Interval struct {
	Lower float64 `json:"lower"`
	Upper float64 `json:"upper"`
}

func (i Interval) has(v float64) bool { return i.Lower <= v && v <= i.Upper }

// confidence is the share of cases in which an interval holds.
const confidence = 0.95

// quantileT is the half width of an interval in standard errors.
func quantileT(degrees float64) float64 {
	return distuv.StudentsT{Sigma: 1, Nu: degrees}.Quantile((1 + confidence) / 2)
}

// logs are the logarithms of numbers; nil if one is not positive.
func logs(values []float64) []float64 {
	out := make([]float64, len(values))
	for i, v := range values {
		if !(v > 0) || math.IsInf(v, 1) {
			return nil
		}
		out[i] = math.Log(v)
	}
	return out
}

// leastError is the smallest standard error of a logarithm: numbers that are measured in
// nanoseconds and kept with limited precision do not repeat more exactly.
const leastError = 2e-5

// paired is the mean of differences of logarithms, with its interval.
func paired(base, new []float64) (mean float64, i Interval, deviation float64) {
	d := make([]float64, len(base))
	for k := range d {
		d[k] = new[k] - base[k]
	}
	mean, deviation = stat.MeanStdDev(d, nil)
	half := quantileT(float64(len(d)-1)) * max(deviation/math.Sqrt(float64(len(d))), leastError)
	return mean, Interval{mean - half, mean + half}, deviation
}

// welch is the difference of two means of logarithms that are not paired.
func welch(base, new []float64) (mean float64, i Interval, deviation float64) {
	a, va := stat.MeanVariance(base, nil)
	b, vb := stat.MeanVariance(new, nil)
	va, vb = va/float64(len(base)), vb/float64(len(new))
	deviation = math.Sqrt(va*float64(len(base)) + vb*float64(len(new)))
	degrees := float64(min(len(base), len(new)) - 1)
	if va+vb > 0 { // Satterthwaite
		degrees = (va + vb) * (va + vb) / (va*va/float64(len(base)-1) + vb*vb/float64(len(new)-1))
	}
	half := quantileT(max(degrees, 1)) * max(math.Sqrt(va+vb), leastError)
	return b - a, Interval{b - a - half, b - a + half}, deviation
}

// mover is the difference of two logarithms that have intervals of their own (method of
// variance estimates recovery: Zou and Donner, 2008).
func mover(base, new float64, ofBase, ofNew Interval) (float64, Interval) {
	d := new - base
	return d, Interval{
		d - math.Hypot(new-ofNew.Lower, ofBase.Upper-base), d + math.Hypot(ofNew.Upper-new, base-ofBase.Lower),
	}
}

// needed is the number of pairs that would show a difference of logarithms with such a deviation; 0: more
// than 1000.
func needed(difference, deviation float64) int {
	const most = 1000
	if difference == 0 || math.IsNaN(deviation) {
		return 0
	}
	for n := 2; n <= most; n++ {
		if quantileT(float64(n-1))*deviation/math.Sqrt(float64(n)) < math.Abs(difference) {
			return n
		}
	}
	return 0
}

// correlation is the number of values of a series that depend on each other, at least 1: twice the
// sum of the autocorrelations up to the first that is not positive.
func correlation(values []float64) float64 {
	mean, variance := stat.PopMeanVariance(values, nil)
	sum := 1.0
	for lag := 1; variance > 0 && lag < len(values)/4; lag++ {
		c := 0.0
		for i := lag; i < len(values); i++ {
			c += (values[i] - mean) * (values[i-lag] - mean)
		}
		if c /= variance * float64(len(values)); c <= 0 {
			break
		}
		sum += 2 * c
	}
	return sum
}

// midP is McNemar's test with mid-p: the probability of a split at least as uneven of the samples that only
// one side answers right, if both sides are equally good. Half of the probability of the split itself
// counts.
func midP(lost, won int) float64 {
	n := lost + won
	if n == 0 {
		return 1
	}
	d := distuv.Binomial{N: float64(n), P: 0.5}
	k := float64(min(lost, won))
	return min(1, 2*d.CDF(k)-d.Prob(k))
}
