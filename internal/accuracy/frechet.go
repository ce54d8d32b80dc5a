package accuracy

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"
)

// FeatureStatistics describe what a network sees in many images: the mean of its features, and
// their covariance, row by row.
type FeatureStatistics struct{ Mean, Covariance []float64 }

// check wants numbers of the right sizes.
func (s FeatureStatistics) check() error {
	n := len(s.Mean)
	if n == 0 || len(s.Covariance) != n*n {
		return fmt.Errorf("statistics have a mean of %d features and a covariance of %d numbers, want n and n·n", n, len(s.Covariance))
	}
	for _, list := range [][]float64{s.Mean, s.Covariance} {
		for i, v := range list {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return fmt.Errorf("number %d of the statistics is %v", i, v)
			}
		}
	}
	return nil
}

// A FeatureTable collects the features of images.
type FeatureTable struct {
	width  int
	values []float64
}

// Add adds the features of an image, as many as those of the first one.
func (t *FeatureTable) Add(features []float32) error {
	if t.width == 0 {
		t.width = len(features)
	}
	if len(features) != t.width || t.width == 0 {
		return fmt.Errorf("an image has %d features, the first one %d", len(features), t.width)
	}
	for _, v := range features {
		t.values = append(t.values, float64(v))
	}
	return nil
}

// Len is the number of images.
func (t *FeatureTable) Len() int {
	if t.width == 0 {
		return 0
	}
	return len(t.values) / t.width
}

// Statistics are the mean and the unbiased covariance of the features, as numpy.mean and
// numpy.cov have them. There must be two images.
func (t *FeatureTable) Statistics() (FeatureStatistics, error) {
	n := t.Len()
	if n < 2 {
		return FeatureStatistics{}, fmt.Errorf("the covariance of the features of %d images, want at least 2", n)
	}
	s := FeatureStatistics{Mean: make([]float64, t.width)}
	for at, v := range t.values {
		s.Mean[at%t.width] += v
	}
	for k := range s.Mean {
		s.Mean[k] /= float64(n)
	}
	centred := make([]float64, len(t.values))
	for at, v := range t.values {
		centred[at] = v - s.Mean[at%t.width]
	}
	var product mat.SymDense
	product.SymOuterK(1/float64(n-1), mat.NewDense(n, t.width, centred).T())
	s.Covariance = rowsOf(&product)
	return s, s.check()
}

// rowsOf returns all elements, row by row.
func rowsOf(m *mat.SymDense) []float64 {
	n := m.SymmetricDim()
	rows := make([]float64, 0, n*n)
	for i := range n {
		for j := range n {
			rows = append(rows, m.At(i, j))
		}
	}
	return rows
}

// FrechetDistance is that of two normal distributions, FID where the features are those of
// Inception-v3 (text_to_image, tools/fid/fid_score.py):
//
//	|m1 − m2|² + Tr(C1 + C2 − 2·√(C1·C2))
//
// The reference takes the square root of a product that is not symmetric, which may become
// complex, and adds 10⁻⁶ where it fails. The trace is also the sum of the singular values of
// F1·F2ᵀ, where C is Fᵀ·F: they are never negative, and lose none of their digits to a square.
// So fewer images than features, whose covariance has no inverse, need nothing else.
func FrechetDistance(a, b FeatureStatistics) (float64, error) {
	if err := errors.Join(a.check(), b.check()); err != nil {
		return 0, err
	}
	n := len(a.Mean)
	if n != len(b.Mean) {
		return 0, fmt.Errorf("statistics of %d and of %d features cannot be compared", n, len(b.Mean))
	}
	distance := 0.0
	for i, m := range a.Mean {
		d := m - b.Mean[i]
		distance += d*d + a.Covariance[i*n+i] + b.Covariance[i*n+i]
	}
	trace, err := rootTrace(symmetric(a), symmetric(b))
	return distance - 2*trace, err
}

// symmetric is the covariance, of which rounding may have left the halves unequal.
func symmetric(s FeatureStatistics) *mat.SymDense {
	n := len(s.Mean)
	m := mat.NewSymDense(n, nil)
	for i := range n {
		for j := i; j < n; j++ {
			m.SetSym(i, j, (s.Covariance[i*n+j]+s.Covariance[j*n+i])/2)
		}
	}
	return m
}

// rootTrace is the trace of √(a·b).
func rootTrace(a, b *mat.SymDense) (float64, error) {
	first, err := factorOf(a)
	second, err2 := factorOf(b)
	if err := errors.Join(err, err2); err != nil || first == nil || second == nil {
		return 0, err
	}
	var product mat.Dense
	product.Mul(first, second.T())
	var svd mat.SVD
	if !svd.Factorize(&product, mat.SVDNone) {
		return 0, errors.New("the singular values of the covariances were not found")
	}
	trace := 0.0
	for _, v := range svd.Values(nil) {
		trace += v
	}
	return trace, nil
}

// notCovariance is how much of a covariance, in parts of its trace, rounding does not hide.
const notCovariance = 1e-6

// factorOf returns F with Fᵀ·F = m, with as many rows as m has rank; nil if that is 0.
func factorOf(m *mat.SymDense) (*mat.Dense, error) {
	var cholesky mat.PivotedCholesky
	cholesky.Factorize(m, -1)
	n, rank := m.SymmetricDim(), cholesky.Rank()
	upper, pivots := cholesky.RawU(), cholesky.ColumnPivots(nil)
	factor, left, all := mat.NewDense(max(rank, 1), n, nil), 0.0, 0.0
	for j, to := range pivots {
		rest := m.At(to, to)
		all += math.Abs(rest)
		for i := range min(rank, j+1) {
			v := upper.At(i, j)
			factor.Set(i, to, v)
			rest -= v * v
		}
		left += math.Abs(rest)
	}
	switch {
	case left > notCovariance*all:
		return nil, errors.New("a covariance is none: it has negative eigenvalues")
	case rank == 0:
		return nil, nil
	}
	return factor, nil
}
