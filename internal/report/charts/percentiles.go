package charts

import (
	"cmp"
	"math"
	"slices"
	"time"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/loadgen"
)

// A Batch is a part of a run: consecutive queries.
type Batch struct {
	Queries uint64 `json:"queries"`
	StartNS int64  `json:"start_ns"` // of its first query
	MeanNS  int64  `json:"mean_ns"`
	// QuantilesNS are the latencies at BatchPercentiles.
	QuantilesNS []int64 `json:"quantiles_ns"`
}

// BatchPercentiles are the fractions at which a Batch has quantiles.
func BatchPercentiles() []float64 { return loadgen.Percentiles() }

// batchCount is how many batches a run is cut into. The variance of fewer is not known well, and
// more depend on each other.
const batchCount = 20

// A Percentile is a latency with the interval that holds the percentile of an endless run in 95 of
// 100 cases. The interval follows from the shares of the batches that lie above the percentile: how
// they vary gives the number of independent queries that would tell as much.
type Percentile struct {
	Percentile float64 `json:"percentile"` // fraction
	ValueNS    int64   `json:"value_ns"`
	// Effective is the number of independent queries that are worth as much as the run's; 0:
	// not known.
	Effective float64 `json:"effective_queries,omitempty"`
	// LowerNS and UpperNS are absent where the run is too short to tell.
	LowerNS int64 `json:"lower_ns,omitempty"`
	UpperNS int64 `json:"upper_ns,omitempty"`
}

// leastBeyond is how many of the queries that the median is worth must lie above a percentile
// for it to have an interval. The percentile's own number would not do: it is smallest where
// luck spared the run the long waits.
const leastBeyond = 5

// A limit is a percentile of the whole run, and the share of each batch that lies above.
type limit struct {
	fraction float64
	value    int64
	above    []float64
}

// batches cut a run into parts.
type batches struct {
	total, seen uint64 // queries
	limits      []limit
	ended       []Batch

	// Of the batch that has not ended.
	latencies []int64
	sum       float64
	start     time.Duration
}

func newBatches(s Source) *batches {
	b := &batches{total: s.Queries}
	for i, f := range BatchPercentiles() {
		b.limits = append(b.limits, limit{fraction: f, value: int64(s.Latency.Percentiles[i])})
	}
	if target := s.Effective.TargetLatencyPercentile; !slices.Contains(BatchPercentiles(), target) && target > 0 && target < 1 {
		b.limits = append(b.limits, limit{fraction: target, value: int64(s.Latency.Target)})
	}
	return b
}

// add takes queries in their order.
func (b *batches) add(start, latency time.Duration) {
	if b.seen*batchCount >= uint64(len(b.ended)+1)*b.total {
		b.endBatch()
	}
	if len(b.latencies) == 0 {
		b.start = start
	}
	b.latencies = append(b.latencies, int64(latency))
	b.sum += float64(latency)
	b.seen++
}

func (b *batches) endBatch() {
	n := len(b.latencies)
	slices.Sort(b.latencies)
	batch := Batch{Queries: uint64(n), StartNS: int64(b.start), MeanNS: int64(b.sum / float64(n))}
	for _, p := range BatchPercentiles() {
		batch.QuantilesNS = append(batch.QuantilesNS, b.latencies[min(int(p*float64(n)), n-1)]) // LoadGen's index
	}
	for i := range b.limits {
		first, _ := slices.BinarySearch(b.latencies, b.limits[i].value+1)
		b.limits[i].above = append(b.limits[i].above, float64(n-first)/float64(n))
	}
	b.ended = append(b.ended, batch)
	b.latencies, b.sum = b.latencies[:0], 0
}

// finish returns the batches, none if the run has too few queries, and the percentiles of the run in
// ascending order. All are the latencies of the run. Offline has neither.
func (b *batches) finish(all *backend.Times) ([]Batch, []Percentile) {
	if b.seen == 0 {
		return nil, nil
	}
	b.endBatch()
	var list []Percentile
	atMedian := b.limits[0].effective(b.seen) // the first of BatchPercentiles
	for _, l := range b.limits {
		p := Percentile{Percentile: l.fraction, ValueNS: l.value, Effective: l.effective(b.seen)}
		if p.Effective > 0 && atMedian*(1-l.fraction) >= leastBeyond {
			half := distuv.StudentsT{Sigma: 1, Nu: batchCount - 1}.Quantile(0.975) * math.Sqrt(l.fraction*(1-l.fraction)/p.Effective)
			p.LowerNS, p.UpperNS = int64(all.Quantile(l.fraction-half)), int64(all.Quantile(l.fraction+half))
		}
		list = append(list, p)
	}
	slices.SortFunc(list, func(x, y Percentile) int { return cmp.Compare(x.Percentile, y.Percentile) })
	if len(b.ended) != batchCount {
		return nil, list
	}
	return b.ended, list
}

// effective is the number of independent queries whose share above the limit would vary as much as
// that of the batches, of n queries; 0: not known. Correlation of neighbouring batches counts too.
func (l limit) effective(n uint64) float64 {
	if len(l.above) != batchCount {
		return 0
	}
	mean, variance := stat.MeanVariance(l.above, nil)
	correlated := 0.0
	for i := 1; i < batchCount; i++ {
		correlated += (l.above[i] - mean) * (l.above[i-1] - mean)
	}
	// The sum of the squares; a correlation is too low by 1/batchCount on average.
	if squares := variance * (batchCount - 1); squares > 0 {
		r := min(max(correlated/squares+1.0/batchCount, 0), 0.9)
		variance *= (1 + r) / (1 - r)
	}
	return min(l.fraction*(1-l.fraction)*batchCount/max(variance, 1e-18), float64(n))
}
