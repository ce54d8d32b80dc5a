package loadgen

import (
	"math/bits"
	"slices"
	"time"
)

// values passes a set of numbers to f, in pieces that f must not keep. Every call
// passes the same numbers. So millions of latencies are never copied.
type values func(f func([]int64))

// percentiles are those that every log shows (loadgen/results.h).
var percentiles = [...]float64{0.50, 0.90, 0.95, 0.97, 0.99, 0.999}

// Percentiles returns the fractions at which LatencyStats has percentiles.
func Percentiles() []float64 { return slices.Clone(percentiles[:]) }

// LatencyStats describe a set of latencies. All are exact.
type LatencyStats struct {
	Count          uint64
	Min, Max, Mean time.Duration // the mean is truncated to whole nanoseconds
	Percentiles    [len(percentiles)]time.Duration
	Target         time.Duration // at the test's target percentile
}

// percentileRank is the index in ascending order at which the reference reads a
// percentile, without interpolation (loadgen/results.cc, ProcessLatencies).
func percentileRank(n uint64, p float64) uint64 { return uint64(float64(n) * p) }

// latencyStats computes the statistics of v, and the elements at further ranks.
// The mean is the sum divided by divisor.
func latencyStats(v values, divisor uint64, target float64, further ...uint64) (LatencyStats, []int64) {
	s := summarize(v)
	if s.n == 0 {
		return LatencyStats{}, make([]int64, len(further))
	}
	var ranks []uint64
	for _, p := range percentiles {
		ranks = append(ranks, percentileRank(s.n, p))
	}
	ranks = append(ranks, percentileRank(s.n, target))
	ranks = append(ranks, further...)
	found := orderStatistics(v, s, ranks)

	stats := LatencyStats{
		Count:  s.n,
		Min:    time.Duration(s.min),
		Max:    time.Duration(s.max),
		Mean:   s.mean(divisor),
		Target: time.Duration(found[len(percentiles)]),
	}
	for i := range stats.Percentiles {
		stats.Percentiles[i] = time.Duration(found[i])
	}
	return stats, found[len(percentiles)+1:]
}

type summary struct {
	n        uint64
	min, max int64
	// The sum has 128 bits: that of 100 million latencies of minutes is above 2^63 ns.
	sumHigh, sumLow uint64
}

func (s *summary) add(piece int64) {
	low, carry := bits.Add64(s.sumLow, uint64(piece), 0)
	s.sumLow = low
	s.sumHigh += uint64(piece>>63) + carry
}

// mean divides the sum, truncating. Latencies have no negative sum; of one the mean is 0.
func (s *summary) mean(divisor uint64) time.Duration {
	if int64(s.sumHigh) < 0 || s.sumHigh >= divisor {
		return 0
	}
	quotient, _ := bits.Div64(s.sumHigh, s.sumLow, divisor)
	return time.Duration(quotient)
}

func summarize(v values) summary {
	var s summary
	v(func(piece []int64) {
		sum := int64(0)
		for _, x := range piece {
			if s.n == 0 {
				s.min, s.max = x, x
			}
			s.n++
			sum += x
			s.min = min(s.min, x)
			s.max = max(s.max, x)
		}
		s.add(sum)
	})
	return s
}

// countAbove returns how many values exceed the limit.
func countAbove(v values, limit int64) uint64 {
	n := uint64(0)
	v(func(piece []int64) {
		for _, x := range piece {
			if x > limit {
				n++
			}
		}
	})
	return n
}

// A search narrows the interval that holds the element of one rank.
type search struct {
	rank  uint64
	below uint64 // elements smaller than lo
	lo    int64
	shift uint // the interval is [lo, lo + buckets<<shift)
	done  bool
}

const (
	bucketBits = 14
	buckets    = 1 << bucketBits
)

// orderStatistics returns the elements of v at the ranks, counted from 0 in
// ascending order. Each pass over the values counts those inside the interval of
// each search in equal buckets and continues with the bucket of the rank: three
// passes for nanoseconds up to minutes, for any distribution.
func orderStatistics(v values, s summary, ranks []uint64) []int64 {
	searches := make([]search, len(ranks))
	shift := uint(0)
	for uint64(s.max-s.min)>>shift >= buckets {
		shift++
	}
	for i, rank := range ranks {
		searches[i] = search{rank: min(rank, s.n-1), lo: s.min, shift: shift}
	}
	counts := make([]uint64, buckets)
	for i := range searches {
		for !searches[i].done {
			narrow(v, searches[i:], counts)
		}
	}
	found := make([]int64, len(ranks))
	for i, search := range searches {
		found[i] = search.lo
	}
	return found
}

// narrow counts the values in the interval of the first search and takes one step
// with all searches that share it.
func narrow(v values, searches []search, counts []uint64) {
	lo, shift := searches[0].lo, searches[0].shift
	clear(counts)
	v(func(piece []int64) {
		for _, x := range piece {
			if i := uint64(x-lo) >> shift; i < buckets {
				counts[i]++
			}
		}
	})
	for i := range searches {
		if s := &searches[i]; s.lo == lo && s.shift == shift && !s.done {
			s.step(counts)
		}
	}
}

func (s *search) step(counts []uint64) {
	i := 0
	for s.below+counts[i] <= s.rank {
		s.below += counts[i]
		i++
	}
	s.lo += int64(i) << s.shift
	s.done = s.shift == 0
	s.shift -= min(s.shift, bucketBits)
}
