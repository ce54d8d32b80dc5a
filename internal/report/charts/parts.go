package charts

import (
	"cmp"
	"math"
	"slices"

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

// batches is how many parts a run is cut into. With fewer their variance is not known well, with
// more they depend on each other.
const batches = 20

// A Percentile is a latency with the interval in which that of an endless run lies, in 95 of
// 100 cases. It is found from the shares of the batches that lie above the percentile: how
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
// luck spared the run the long waits that it is about.
const leastBeyond = 5

// A limit is a percentile of the whole run, and the share of each batch that lies above.
type limit struct {
	fraction float64
	value    int64
	above    []float64
}

// parts cuts a run into batches.
type parts struct {
	total  uint64 // queries that the run has
	seen   uint64
	limits []limit
	ended  []Batch
	all    *backend.Times // of the run

	// Of the batch that has not ended.
	now   []int64
	sum   float64
	start int64
}

func newParts(s Source, all *backend.Times) *parts {
	out := &parts{total: s.Queries, all: all}
	fractions := BatchPercentiles()
	for i, f := range fractions {
		out.limits = append(out.limits, limit{fraction: f, value: int64(s.Latency.Percentiles[i])})
	}
	if target := s.Effective.TargetLatencyPercentile; !slices.Contains(fractions, target) && target > 0 && target < 1 {
		out.limits = append(out.limits, limit{fraction: target, value: int64(s.Latency.Target)})
	}
	return out
}

// add is told of queries in their order.
func (p *parts) add(start, latency int64) {
	if p.seen*batches >= uint64(len(p.ended)+1)*p.total {
		p.end()
	}
	if len(p.now) == 0 {
		p.start = start
	}
	p.now = append(p.now, latency)
	p.sum += float64(latency)
	p.seen++
}

func (p *parts) end() {
	slices.Sort(p.now)
	n := len(p.now)
	b := Batch{Queries: uint64(n), StartNS: p.start, MeanNS: int64(p.sum / float64(max(n, 1)))}
	for _, q := range BatchPercentiles() {
		b.QuantilesNS = append(b.QuantilesNS, quantile(p.now, q))
	}
	for i := range p.limits {
		l := &p.limits[i]
		first, _ := slices.BinarySearch(p.now, l.value+1)
		l.above = append(l.above, float64(n-first)/float64(max(n, 1)))
	}
	p.ended = append(p.ended, b)
	p.now, p.sum = p.now[:0], 0
}

// quantile is a percentile of sorted values at LoadGen's index; 0 of none.
func quantile(sorted []int64, p float64) int64 {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(int(p*float64(len(sorted))), len(sorted)-1)]
}

// finish returns the batches; none if there are too few queries for 20.
func (p *parts) finish() []Batch {
	if len(p.now) > 0 {
		p.end()
	}
	if len(p.ended) != batches {
		return nil
	}
	return p.ended
}

// percentiles are those of the whole run with their intervals, in ascending order.
func (p *parts) percentiles() []Percentile {
	var list []Percentile
	atMedian := p.limits[0].effective(p.seen) // the first of BatchPercentiles
	for _, l := range p.limits {
		list = append(list, l.percentile(p.all, p.seen, atMedian))
	}
	slices.SortFunc(list, func(a, b Percentile) int { return cmp.Compare(a.Percentile, b.Percentile) })
	return list
}

// effective is the number of independent queries whose share above the limit would vary as that
// of the batches does. What one batch passes on to the next counts too.
func (l limit) effective(n uint64) float64 {
	if len(l.above) != batches {
		return 0
	}
	mean, variance := stat.MeanVariance(l.above, nil)
	passedOn := 0.0
	for i := 1; i < batches; i++ {
		passedOn += (l.above[i] - mean) * (l.above[i-1] - mean)
	}
	// The sum of the squares; a correlation is too low by 1/batches on average.
	if squares := variance * (batches - 1); squares > 0 {
		r := min(max(passedOn/squares+1.0/batches, 0), 0.9)
		variance *= (1 + r) / (1 - r)
	}
	return min(l.fraction*(1-l.fraction)*batches/max(variance, 1e-18), float64(n))
}

func (l limit) percentile(all *backend.Times, n uint64, atMedian float64) Percentile {
	out := Percentile{Percentile: l.fraction, ValueNS: l.value, Effective: l.effective(n)}
	if out.Effective == 0 || atMedian*(1-l.fraction) < leastBeyond {
		return out
	}
	half := distuv.StudentsT{Sigma: 1, Nu: batches - 1}.Quantile(0.975) * math.Sqrt(l.fraction*(1-l.fraction)/out.Effective)
	out.LowerNS, out.UpperNS = int64(all.Quantile(l.fraction-half)), int64(all.Quantile(l.fraction+half))
	return out
}
