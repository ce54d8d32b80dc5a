package loadgen

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// pieces passes numbers as a recorder does.
func pieces(list []int64) values {
	return func(f func([]int64)) {
		for piece := range slices.Chunk(list, pieceSize) {
			f(piece)
		}
	}
}

func TestStatistics(t *testing.T) {
	if got, rest := latencyStats(pieces(nil), 1, 0.99, 7); got != (LatencyStats{}) || !slices.Equal(rest, []int64{0}) {
		t.Errorf("statistics of nothing are %+v, %v", got, rest)
	}
	r := rand.New(rand.NewPCG(1, 2))
	kinds := map[string]func() int64{
		"equal":      func() int64 { return 42 },
		"two values": func() int64 { return r.Int64N(2) * 1e12 },
		"small":      func() int64 { return r.Int64N(100) },
		"uniform":    func() int64 { return r.Int64N(600e9) },
		"clusters":   func() int64 { return r.Int64N(2)*1e9 + r.Int64N(20_000) },
		"a tail":     func() int64 { return int64(math.Exp(r.Float64() * 30)) },
		"negative":   func() int64 { return r.Int64N(2e6) - 1e6 },
		"enormous":   func() int64 { return r.Int64N(math.MaxInt64) },
	}
	for name, draw := range kinds {
		for _, n := range []int{1, 2, 3, 10, 99, 100, 101, 1000, 5000} {
			list := make([]int64, n)
			for i := range list {
				list[i] = draw()
			}
			target := r.Float64()
			further := uint64(r.IntN(n))
			got, rest := latencyStats(pieces(list), uint64(n), target, further, uint64(n+5))
			sorted := slices.Sorted(slices.Values(list))
			for i, p := range Percentiles() {
				if want := sorted[int(float64(n)*p)]; int64(got.Percentiles[i]) != want {
					t.Errorf("%s, %d values: percentile %g = %d, want %d", name, n, p, got.Percentiles[i], want)
				}
			}
			if got.Count != uint64(n) || int64(got.Min) != sorted[0] || int64(got.Max) != sorted[n-1] || int64(got.Target) != sorted[int(float64(n)*target)] {
				t.Errorf("%s, %d values: %+v", name, n, got)
			}
			if rest[0] != sorted[further] || rest[1] != sorted[n-1] {
				t.Errorf("%s, %d values: elements %d, want those of the ranks %d and last", name, n, rest, further)
			}
			limit := sorted[n/2]
			at, _ := slices.BinarySearch(sorted, limit+1)
			if above := countAbove(pieces(list), limit); above != uint64(n-at) {
				t.Errorf("%s, %d values: %d above %d, want %d", name, n, above, limit, n-at)
			}
		}
	}
}

func TestMeanIsTruncatedAndDoesNotOverflow(t *testing.T) {
	for _, test := range []struct {
		value   int64
		times   int
		divisor uint64
		want    time.Duration
	}{
		{7, 3, 3, 7}, {7, 3, 2, 10}, {7, 3, 4, 5}, {0, 5, 5, 0},
		{math.MaxInt64 / pieceSize, 20000, 20000, math.MaxInt64 / pieceSize}, // a sum above 2^64
		{int64(600 * time.Second), 1, math.MaxUint32, 139},                   // few answers of many
		{-5, 3, 3, 0},                            // no latency
		{math.MaxInt64 / pieceSize, 20000, 1, 0}, // no duration
	} {
		v := values(func(f func([]int64)) {
			for range test.times {
				f([]int64{test.value})
			}
		})
		s := summarize(v)
		if got := s.mean(test.divisor); got != test.want {
			t.Errorf("the mean of %d times %d by %d = %d, want %d", test.times, test.value, test.divisor, got, test.want)
		}
	}
}
