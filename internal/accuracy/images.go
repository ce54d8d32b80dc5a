package accuracy

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/mlperf-go/mlperf/internal/tokenizer/pytext"
)

// The values of images that a model made from texts.
const (
	CLIPScore = "CLIP_SCORE"
	FIDScore  = "FID_SCORE"
)

// CLIPSimilarity is how well an image fits a text: a hundred times the cosine of the angle
// between their features from the two towers of CLIP (text_to_image, tools/clip/clip_encoder.py).
func CLIPSimilarity(image, text []float32) (float64, error) {
	if len(image) != len(text) || len(image) == 0 {
		return 0, fmt.Errorf("an image has %d features, its text %d", len(image), len(text))
	}
	var product, images, texts float64
	for i, v := range image {
		product += float64(v) * float64(text[i])
		images += float64(v) * float64(v)
		texts += float64(text[i]) * float64(text[i])
	}
	similarity := 100 * product / math.Sqrt(images) / math.Sqrt(texts)
	if math.IsNaN(similarity) || math.IsInf(similarity, 0) {
		return 0, fmt.Errorf("the features of an image or its text have no direction: their lengths are %v and %v", math.Sqrt(images), math.Sqrt(texts))
	}
	return similarity, nil
}

// ImageScore is the score of images by their similarities to their texts and
// their distance from photographs, as accuracy_coco.py prints it.
func ImageScore(similarities []float64, distance float64, c Coverage) (*Score, error) {
	if len(similarities) == 0 {
		return nil, errors.New("the log has no images")
	}
	clip := mean(similarities)
	s := &Score{
		Values:   []Value{{Name: CLIPScore, Value: clip}, {Name: FIDScore, Value: distance, LowerIsBetter: true}},
		Coverage: c,
	}
	s.printf("Accuracy Results: {'%s': '%s', '%s': '%s'}", FIDScore, pytext.Float(distance), CLIPScore, pytext.Float(clip))
	return s, nil
}

// FeatureStatistics describe many images: the mean of a network's features, and
// their covariance, row by row.
type FeatureStatistics struct{ Mean, Covariance []float64 }

// check wants numbers of the right sizes.
func (s FeatureStatistics) check() error {
	n := len(s.Mean)
	if n == 0 || len(s.Covariance) != n*n {
		return fmt.Errorf("statistics have a mean of %d features and a covariance of %d numbers, expected n and n·n", n, len(s.Covariance))
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
		return FeatureStatistics{}, fmt.Errorf("the covariance of the features of %d images, expected at least 2", n)
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
	s.Covariance = mat.DenseCopyOf(&product).RawMatrix().Data
	return s, s.check()
}

// FrechetDistance is that of two normal distributions, FID where the features are those of
// Inception-v3 (text_to_image, tools/fid/fid_score.py):
//
//	|m1 − m2|² + Tr(C1 + C2 − 2·√(C1·C2))
//
// The reference takes the square root of a product that is not symmetric, which may become
// complex, and adds 10⁻⁶ where it fails. The trace of the root is also the sum of the singular values of
// F1·F2ᵀ, where C is Fᵀ·F: they are never negative, and lose none of their digits to a square,
// even with fewer images than features, whose covariance has no inverse.
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
	first, err := factorOf(a)
	second, err2 := factorOf(b)
	if err := errors.Join(err, err2); err != nil || first == nil || second == nil {
		return distance, err
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
	return distance - 2*trace, nil
}

// factorOf returns F with Fᵀ·F = C, with as many rows as the covariance C has rank; nil if that is 0.
func factorOf(s FeatureStatistics) (*mat.Dense, error) {
	m := mat.NewSymDense(len(s.Mean), nil)
	for i := range s.Mean {
		for j := i; j < len(s.Mean); j++ { // rounding may have left the halves unequal
			m.SetSym(i, j, (s.Covariance[i*len(s.Mean)+j]+s.Covariance[j*len(s.Mean)+i])/2)
		}
	}
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
	case left > 1e-6*all: // more than rounding leaves
		return nil, errors.New("a covariance has negative eigenvalues")
	case rank == 0:
		return nil, nil
	}
	return factor, nil
}
