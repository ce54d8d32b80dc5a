package loadgen

import (
	"math"
	"testing"
)

func TestNeededQueriesOfTheUsualPercentiles(t *testing.T) {
	// Measured with the reference's MinPassingQueriesFinder.
	for _, c := range []struct {
		over       uint64
		percentile float64
		want       uint64
	}{{0, 0.9, 44}, {1, 0.9, 64}, {0, 0.99, 459}, {1, 0.99, 662}, {1, 0.97, 219}, {100, 0.999, 125826},
		{0, 0.1, 2}, {0, 0.01, 1}} { // where 1-0.99 is not 0.01
		if got := NeededQueries(c.over, c.percentile); got != c.want {
			t.Errorf("NeededQueries(%d, %g) = %d, want %d", c.over, c.percentile, got, c.want)
		}
	}
}

func TestNoNumberOfQueriesIsEnoughForWhatIsNoFraction(t *testing.T) {
	for _, p := range []float64{math.NaN(), 1, 1.5, -0.1, math.Inf(1), math.Inf(-1)} {
		if got := NeededQueries(1, p); got != math.MaxUint64 {
			t.Errorf("NeededQueries(1, %g) = %d, want %d", p, got, uint64(math.MaxUint64))
		}
		if _, _, ok := EstimateRank(1000, p); ok {
			t.Errorf("EstimateRank(1000, %g) finds a rank", p)
		}
	}
}
