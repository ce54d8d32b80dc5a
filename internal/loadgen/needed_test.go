package loadgen

import "testing"

func TestNeededQueriesOfTheUsualPercentiles(t *testing.T) {
	// Measured with the reference's MinPassingQueriesFinder.
	for _, c := range []struct {
		over       uint64
		percentile float64
		want       uint64
	}{{0, 0.9, 44}, {1, 0.9, 64}, {0, 0.99, 459}, {1, 0.99, 662}, {1, 0.97, 219}, {100, 0.999, 125826}} {
		if got := NeededQueries(c.over, c.percentile); got != c.want {
			t.Errorf("NeededQueries(%d, %g) = %d, want %d", c.over, c.percentile, got, c.want)
		}
	}
}
