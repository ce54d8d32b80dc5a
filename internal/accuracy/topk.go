package accuracy

import (
	"fmt"
	"math"
	"sync/atomic"
)

// A TieRule says where a class ranks among classes of the same score.
type TieRule int

// The three rules in use. They differ only where scores are exactly equal, which
// quantised models make common.
const (
	LowerIndexFirst  TieRule = iota // numpy.argmax, tf.nn.top_k; the one to use
	HigherIndexFirst                // sklearn.metrics.top_k_accuracy_score
	AllTiesIn                       // tf.math.in_top_k: a tie at rank k counts as in
)

// Hits counts samples and those of them that were predicted correctly.
type Hits struct{ Good, Total int }

// Fraction returns Good/Total, NaN if there is no sample.
func (h Hits) Fraction() float64 { return float64(h.Good) / float64(h.Total) }

// Percent returns the fraction in percent, rounded as accuracy-imagenet.py does
// (100.0 * good / total).
func (h Hits) Percent() float64 { return 100 * float64(h.Good) / float64(h.Total) }

// ArgMax returns the index of the greatest score, the first of equal ones. A NaN
// counts as greater than any number, as in numpy.argmax. It returns -1 without scores.
func ArgMax(scores []float32) int {
	if len(scores) == 0 {
		return -1
	}
	best := 0
	for i, v := range scores {
		if v != v {
			return i
		}
		if v > scores[best] {
			best = i
		}
	}
	return best
}

// A ScoreMatrix holds the scores of each sample's classes in row-major order.
type ScoreMatrix struct {
	Scores  []float32
	Classes int // number of columns
}

// rows returns the number of samples, or an error if the matrix has no whole rows.
func (m ScoreMatrix) rows() (int, error) {
	if m.Classes <= 0 || len(m.Scores)%m.Classes != 0 {
		return 0, fmt.Errorf("score matrix: %d scores are not rows of %d classes", len(m.Scores), m.Classes)
	}
	return len(m.Scores) / m.Classes, nil
}

// TopK counts the samples whose label is among the k classes of the highest scores.
// Row i of scores belongs to labels[i], a column; subtract the offset of the labels
// first if they have one. A k beyond the number of classes counts every sample. A NaN
// ranks above every number, as ArgMax has it.
func TopK(scores ScoreMatrix, labels []int, k int, ties TieRule) (Hits, error) {
	rows, err := scores.rows()
	if err != nil {
		return Hits{}, err
	}
	if rows != len(labels) {
		return Hits{}, fmt.Errorf("top-%d: %d labels for %d rows of scores", k, len(labels), rows)
	}
	if k < 1 {
		return Hits{}, fmt.Errorf("top-%d: k must be at least 1", k)
	}
	if ties < LowerIndexFirst || ties > AllTiesIn {
		return Hits{}, fmt.Errorf("top-%d: unknown tie rule %d, want LowerIndexFirst, HigherIndexFirst or AllTiesIn", k, int(ties))
	}
	for i, label := range labels {
		if label < 0 || label >= scores.Classes {
			return Hits{}, fmt.Errorf("top-%d: label %d of sample %d is not one of the %d classes", k, label, i, scores.Classes)
		}
	}
	var good atomic.Int64
	forEachBlock(0, rows, 1024, func(first, last int) {
		n := 0
		for i := first; i < last; i++ {
			if Rank(scores.Scores[i*scores.Classes:(i+1)*scores.Classes], labels[i], ties) < k {
				n++
			}
		}
		good.Add(int64(n))
	})
	return Hits{int(good.Load()), rows}, nil
}

// Rank returns how many classes come before class, which must be an index of scores.
func Rank(scores []float32, class int, ties TieRule) int {
	own := scores[class]
	if own != own {
		return nanRank(scores, class, ties)
	}
	above, before, after := 0, 0, 0
	for _, v := range scores[:class] {
		if !(v <= own) { // greater, or NaN
			above++
		} else if v == own {
			before++
		}
	}
	for _, v := range scores[class+1:] {
		if !(v <= own) {
			above++
		} else if v == own {
			after++
		}
	}
	switch ties {
	case LowerIndexFirst:
		return above + before
	case HigherIndexFirst:
		return above + after
	}
	return above
}

// nanRank is Rank for a class whose score is NaN: only other NaNs can come before it.
func nanRank(scores []float32, class int, ties TieRule) int {
	equal := make([]float32, len(scores))
	for i, v := range scores {
		if v == v {
			equal[i] = float32(math.Inf(-1))
		}
	}
	return Rank(equal, class, ties)
}
