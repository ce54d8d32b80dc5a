package loadgen

import (
	"math"
	"sort"
	"time"

	"gonum.org/v1/gonum/mathext"
)

// Early stopping (loadgen/early_stopping.cc and the inference rules, appendix "Early
// Stopping Criterion") asks how many queries it takes to say with confidence c that
// at least a fraction p of all queries, not only of those measured, is under the
// latency limit. If a query is under it with probability p, then at most t of h + t
// queries are over it with probability
//
//	odds(h, t) = P[Binomial(h+t, 1-p) ≤ t] = I_p(h, t+1)
//
// where I is the regularised incomplete beta function. With t queries over the limit
// there must be at least the smallest h under it for which odds(h, t) < 1-c.

// earlyStoppingConfidence is c. It has a type because 1-c is not 0.01 in the reference, but
// what float64 arithmetic makes of it. The tolerance of the reference, a second
// parameter, is 0 and left out.
const earlyStoppingConfidence float64 = 0.99

// multiStreamPercentile is the percentile at which a SingleStream run also gives
// an estimate, from which a MultiStream result may be inferred.
const multiStreamPercentile = 0.99

// EarlyStopping is the outcome of the criterion for one kind of latency.
type EarlyStopping struct {
	Met       bool
	Processed uint64 // queries in the run
	// Needed is how many queries the run needs at least: to give an estimate
	// (SingleStream, MultiStream), or with as many queries over the limit (Server).
	Needed uint64

	// SingleStream and MultiStream: an upper bound of the latency percentile.
	Percentile float64
	Estimate   time.Duration
	Discarded  uint64 // slowest queries left out of the estimate

	// SingleStream: the same at the 99th percentile, which needs more queries.
	// MultiStreamEstimate is 0 without enough queries.
	MultiStreamNeeded   uint64
	MultiStreamEstimate time.Duration
}

// NeededQueries returns how many queries a run needs so that early stopping accepts it
// if over of them are above the latency limit, and the limit is for the given fraction
// of queries. SingleStream and MultiStream need NeededQueries(1, …). It is math.MaxUint64
// for a percentile that is not a fraction below 1.
func NeededQueries(over uint64, percentile float64) uint64 {
	if !(percentile >= 0 && percentile < 1) {
		return math.MaxUint64
	}
	passes := func(h int) bool {
		return h > 0 && mathext.RegIncBeta(float64(h), float64(over)+1, percentile) < 1-earlyStoppingConfidence
	}
	high := 1
	for !passes(high) {
		high *= 2
	}
	return uint64(sort.Search(high, passes)) + over
}

// EstimateRank returns the rank, in ascending order, of the latency that bounds the
// percentile p, and how many slower queries are discarded. It returns false
// without enough queries.
func EstimateRank(n uint64, p float64) (rank, discarded uint64, ok bool) {
	// The largest number of queries over the limit that n queries make up for.
	over := uint64(sort.Search(int(n), func(t int) bool { return NeededQueries(uint64(t)+1, p) > n }))
	if over == 0 {
		return 0, 0, false
	}
	return n - over, over - 1, true
}

// earlyStoppingStream applies the criterion to a scenario whose result is a latency.
// stats must be those of the n latencies in v.
func earlyStoppingStream(e EffectiveSettings, v values, n uint64) EarlyStopping {
	p := e.TargetLatencyPercentile
	es := EarlyStopping{Processed: n, Needed: NeededQueries(1, p), Percentile: p}
	rank, discarded, ok := EstimateRank(n, p)
	if !ok {
		return es
	}
	es.Met, es.Discarded = true, discarded
	s := summarize(v)
	ranks := []uint64{rank}
	if e.Scenario == SingleStream {
		es.MultiStreamNeeded = NeededQueries(1, multiStreamPercentile)
		if rank, _, ok := EstimateRank(n, multiStreamPercentile); ok {
			ranks = append(ranks, rank)
		}
	}
	if s.n == 0 {
		return es
	}
	found := orderStatistics(v, s, ranks)
	es.Estimate = time.Duration(found[0])
	if len(found) == 2 {
		es.MultiStreamEstimate = time.Duration(found[1])
	}
	return es
}

// earlyStoppingServer applies the criterion to n queries, over of them above the limit.
func earlyStoppingServer(e EffectiveSettings, over, n uint64) EarlyStopping {
	p := e.TargetLatencyPercentile
	es := EarlyStopping{Processed: n, Needed: NeededQueries(over, p), Percentile: p}
	es.Met = n >= es.Needed
	return es
}
