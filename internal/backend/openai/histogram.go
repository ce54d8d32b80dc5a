package openai

import (
	"math/bits"
	"sync/atomic"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend"
)

// A histogram counts times in buckets that are at most 1/128 of themselves wide. Several
// goroutines may add to it at once.
type histogram struct {
	buckets  [bucketRows * bucketsInRow]atomic.Int64
	count    atomic.Int64
	sum      atomic.Int64
	min, max atomic.Int64
}

const (
	rowBits      = 7
	bucketsInRow = 1 << rowBits
	bucketRows   = 64 - rowBits
)

// bucketOf is the bucket of a time. Below 128 ns each has one of its own.
func bucketOf(ns int64) int {
	row := max(0, bits.Len64(uint64(ns))-rowBits-1)
	if row == 0 {
		return int(ns)
	}
	return row<<rowBits + int(ns>>row)
}

// middleOf is a time in the middle of a bucket.
func middleOf(bucket int) int64 {
	if bucket < 2*bucketsInRow {
		return int64(bucket)
	}
	row := bucket>>rowBits - 1
	return int64(bucket-row<<rowBits)<<row + 1<<row/2
}

func newHistogram() *histogram {
	h := &histogram{}
	h.reset()
	return h
}

func (h *histogram) reset() {
	for i := range h.buckets {
		h.buckets[i].Store(0)
	}
	h.count.Store(0)
	h.sum.Store(0)
	h.max.Store(0)
	h.min.Store(1<<63 - 1)
}

func (h *histogram) add(d time.Duration) {
	ns := max(0, int64(d))
	h.buckets[bucketOf(ns)].Add(1)
	h.count.Add(1)
	h.sum.Add(ns)
	for {
		most := h.max.Load()
		if ns <= most || h.max.CompareAndSwap(most, ns) {
			break
		}
	}
	for {
		least := h.min.Load()
		if ns >= least || h.min.CompareAndSwap(least, ns) {
			break
		}
	}
}

// spread describes what was added.
func (h *histogram) spread() backend.Spread {
	n := h.count.Load()
	if n == 0 {
		return backend.Spread{}
	}
	at := func(percentile float64) time.Duration { return h.at(int64(percentile * float64(n))) }
	return backend.Spread{
		Count: n, Mean: time.Duration(h.sum.Load() / n), Min: time.Duration(h.min.Load()), Max: time.Duration(h.max.Load()),
		P50: at(0.5), P90: at(0.9), P95: at(0.95), P99: at(0.99), P999: at(0.999),
	}
}

// at is the time with so many before it, in their order.
func (h *histogram) at(rank int64) time.Duration {
	seen := int64(0)
	for i := range h.buckets {
		if seen += h.buckets[i].Load(); seen > rank {
			return time.Duration(min(max(middleOf(i), h.min.Load()), h.max.Load()))
		}
	}
	return time.Duration(h.max.Load())
}
