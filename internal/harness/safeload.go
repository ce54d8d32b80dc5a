package harness

import (
	"math/rand/v2"
	"slices"
	"time"
)

// boundFill is the part of a latency bound that a sample and its wait for a worker may
// take. The rest is for other work on the machine.
const boundFill = 0.7

// safeLoad is the share of their capacity at which c workers that take s for a sample
// should keep a latency bound at a percentile, at most 60 %.
//
// It is the largest load at which a queue with Poisson arrivals and a fixed service time
// keeps latencies below 70 % of the bound, or leaves half of the room beside the sample
// itself if that is more. That is wanted at a percentile further out, because chance,
// which early stopping allows for, is to have room too. If the sample alone takes longer
// than the bound, no load is safe, and a tenth will do as well as any.
func safeLoad(c int, s, bound time.Duration, percentile float64) float64 {
	if s > bound {
		return 0.1
	}
	const least, most = 0.01, 0.6
	limit := max(boundFill*float64(bound), float64(s+bound)/2)/float64(s) - 1
	keeps := func(load float64) bool { return waitingTime(c, load, (1+percentile)/2) <= limit }
	if keeps(most) {
		return most
	}
	low, high := least, most
	for high-low > least/2 {
		if middle := (low + high) / 2; keeps(middle) {
			low = middle
		} else {
			high = middle
		}
	}
	return low
}

// waitingTime is a percentile of the time that samples wait in a queue for c workers, as a
// multiple of the time that a worker takes for one. It simulates the queue: because all
// samples take the same time, the workers take turns.
func waitingTime(c int, load, percentile float64) float64 {
	const samples = 1 << 15
	arrivals := rand.New(rand.NewPCG(1, 1))
	free := make([]float64, c) // when each worker is
	waits := make([]float64, samples)
	now := 0.0
	for i := range waits {
		now += arrivals.ExpFloat64() / (load * float64(c))
		worker := &free[i%c]
		waits[i] = max(*worker-now, 0)
		*worker = now + waits[i] + 1
	}
	slices.Sort(waits)
	return waits[int(percentile*samples)]
}
