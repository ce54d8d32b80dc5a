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
}

// An interval has the searches that share it. It is [lo, lo + buckets<<shift), with the shift of the pass.
type interval struct {
	lo       int64
	counts   []uint64 // of the values in it, in equal buckets
	searches []*search
}

const (
	bucketBits = 14
	buckets    = 1 << bucketBits
)

// orderStatistics returns the elements of v at the ranks, counted from 0 in
// ascending order. Each pass over the values counts those inside the interval of
// each search in equal buckets, and all searches continue with the bucket of their rank: three
// passes for nanoseconds up to minutes, for any distribution and number of ranks.
func orderStatistics(v values, s summary, ranks []uint64) []int64 {
	first := uint(0)
	for uint64(s.max-s.min)>>first >= buckets {
		first++
	}
	searches := make([]search, len(ranks))
	all := []*interval{{lo: s.min, counts: make([]uint64, buckets)}}
	for i, rank := range ranks {
		searches[i] = search{rank: min(rank, s.n-1), lo: s.min}
		all[0].searches = append(all[0].searches, &searches[i])
	}
	for shift := first; len(ranks) > 0; shift -= min(shift, bucketBits) {
		if len(all) == 1 {
			all[0].count(v, shift)
		} else {
			countAll(v, all, s.min, first, shift)
		}
		var next []*interval
		for _, in := range all {
			next = in.step(next, shift)
		}
		if all = next; shift == 0 {
			break
		}
	}
	found := make([]int64, len(ranks))
	for i, search := range searches {
		found[i] = search.lo
	}
	return found
}

// count counts the values of an interval.
func (in *interval) count(v values, shift uint) {
	lo, counts := in.lo, in.counts
	v(func(piece []int64) {
		for _, x := range piece {
			if i := uint64(x-lo) >> shift; i < buckets {
				counts[i]++
			}
		}
	})
}

// countAll counts the values of several intervals in one pass. A table of the buckets of the first pass tells which intervals
// a value may be in: none, for most.
func countAll(v values, all []*interval, least int64, first, shift uint) {
	var near [buckets]uint16
	lists := [][]*interval{nil}
	for _, in := range all {
		at := &near[uint64(in.lo-least)>>first]
		if *at == 0 {
			*at, lists = uint16(len(lists)), append(lists, nil)
		}
		lists[*at] = append(lists[*at], in)
	}
	v(func(piece []int64) {
		for _, x := range piece {
			at := near[uint64(x-least)>>first%buckets] // less than buckets: the compiler does not know
			if at == 0 {
				continue
			}
			for _, in := range lists[at] { // of the last pass they may overlap
				if i := uint64(x-in.lo) >> shift; i < buckets {
					in.counts[i]++
				}
			}
		}
	})
}

// step appends the intervals of the next pass: the buckets that hold the ranks of the searches.
func (in *interval) step(next []*interval, shift uint) []*interval {
	for _, s := range in.searches {
		i := 0
		for s.below+in.counts[i] <= s.rank {
			s.below += in.counts[i]
			i++
		}
		s.lo += int64(i) << shift
		k := slices.IndexFunc(next, func(n *interval) bool { return n.lo == s.lo })
		if k < 0 {
			k, next = len(next), append(next, &interval{lo: s.lo, counts: make([]uint64, buckets)})
		}
		next[k].searches = append(next[k].searches, s)
	}
	return next
}
