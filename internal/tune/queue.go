package tune

import (
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// A queueModel is the SUT as it treats single samples that come at random: workers take
// batches from a queue as package harness does. It needs no machine, and no time.
type queueModel struct {
	workers  int
	maxBatch int
	maxDelay time.Duration
	service  func(n int) time.Duration // that a worker takes for a batch of n
}

const (
	queueSamples = 1 << 13 // enough for the 99th percentile
	queueSteps   = 12      // of halving: the rate is found to a four thousandth
)

// peak is the highest rate, in samples per second, at which a percentile of the latency
// stays within a bound; 0 if there is none.
func (q queueModel) peak(bound time.Duration, percentile float64) float64 {
	low, high := 0.0, q.capacity()
	if q.service(1) > bound || q.latency(high/(1<<queueSteps), percentile) > bound {
		return 0
	}
	for range queueSteps {
		if middle := (low + high) / 2; q.latency(middle, percentile) <= bound {
			low = middle
		} else {
			high = middle
		}
	}
	return low
}

// capacity is how many samples per second the workers can do.
func (q queueModel) capacity() float64 {
	best := 0.0
	for n := 1; n <= q.maxBatch; n++ {
		best = max(best, float64(n*q.workers)/q.service(n).Seconds())
	}
	return best
}

// latency is a percentile of the latency at a rate: samples arrive as a Poisson process.
// The arrivals are the same for all models and rates but for their scale, so that
// comparisons do not depend on chance.
func (q queueModel) latency(rate, percentile float64) time.Duration {
	arrivals := poisson(rate)
	latencies := make([]time.Duration, 0, len(arrivals))
	free := make([]time.Duration, q.workers) // when each worker is
	for next := 0; next < len(arrivals); {
		worker := earliest(free)
		start := max(free[worker], q.due(arrivals[next:]))
		n := 1
		for n < q.maxBatch && next+n < len(arrivals) && arrivals[next+n] <= start {
			n++
		}
		free[worker] = start + q.service(n)
		for _, arrival := range arrivals[next : next+n] {
			latencies = append(latencies, free[worker]-arrival)
		}
		next += n
	}
	slices.Sort(latencies)
	return latencies[int(percentile*float64(len(latencies)))]
}

// due is when a worker may take a batch that begins with the first of the arrivals: when it
// is full, or the first has waited long enough.
func (q queueModel) due(arrivals []time.Duration) time.Duration {
	at := arrivals[0] + q.maxDelay
	if q.maxBatch <= len(arrivals) {
		at = min(at, arrivals[q.maxBatch-1])
	}
	return at
}

// lastArrival is a time to which others may be added.
const lastArrival = math.MaxInt64 / 4

func poisson(rate float64) []time.Duration {
	gaps := rand.New(rand.NewPCG(1, 1))
	arrivals := make([]time.Duration, queueSamples)
	now := 0.0
	for i := range arrivals {
		now += gaps.ExpFloat64() / rate
		arrivals[i] = time.Duration(min(now*float64(time.Second), lastArrival))
	}
	return arrivals
}

// earliest returns the index of the smallest.
func earliest(times []time.Duration) int {
	best := 0
	for i, t := range times {
		if t < times[best] {
			best = i
		}
	}
	return best
}
