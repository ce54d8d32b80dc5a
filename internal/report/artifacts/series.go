package artifacts

import (
	"math"
	"slices"
	"sort"
	"strconv"

	"github.com/mlperf-go/mlperf/internal/loadgen"
)

// A series is the spread of many values (Report, _series_to_metric_dict).
type series struct {
	Total       float64            `json:"total"`
	Min         float64            `json:"min"`
	Max         float64            `json:"max"`
	Median      float64            `json:"median"`
	Avg         float64            `json:"avg"`
	StdDev      float64            `json:"std_dev"`
	Percentiles map[string]float64 `json:"percentiles"`
	// EarlyStopping are LoadGen's estimates at the percentiles from the median on; nil of one: too few values.
	EarlyStopping map[string]*float64 `json:"early_stopping_percentiles,omitempty"`
	Histogram     buckets             `json:"histogram"`
}

// buckets are the values between edges that grow by the same factor.
type buckets struct {
	Buckets [][2]float64 `json:"buckets"`
	Counts  []int        `json:"counts"`
}

const (
	bucketCount = 30 // registry.py, n_histogram_buckets
	median      = 50
)

// percentiles are DEFAULT_PERCENTILES of registry.py.
var percentiles = []float64{99.9, 99, 97, 95, 90, 80, 75, median, 25, 10, 5, 1}

// key is how Python writes a percentile.
func key(p float64) string {
	text := strconv.FormatFloat(p, 'f', -1, 64)
	if p == math.Trunc(p) {
		text += ".0"
	}
	return text
}

// newSeries describes values, which it sorts; nil: there are none. Tails have early stopping.
func newSeries(values []float64, tail bool) *series {
	n := len(values)
	if n == 0 {
		return nil
	}
	slices.Sort(values)
	s := &series{Min: values[0], Max: values[n-1], Percentiles: map[string]float64{}, Histogram: histogram(values)}
	for _, v := range values {
		s.Total += v
	}
	s.Avg = s.Total / float64(n)
	for _, v := range values {
		s.StdDev += (v - s.Avg) * (v - s.Avg)
	}
	if n > 1 {
		s.StdDev = math.Sqrt(s.StdDev / float64(n-1))
	}
	for _, p := range percentiles {
		s.Percentiles[key(p)] = values[int(math.Floor(p/100*float64(n-1)))] // numpy's "lower"
	}
	s.Median = s.Percentiles[key(median)]
	if tail {
		s.EarlyStopping = estimates(values)
	}
	return s
}

// estimates bound percentiles as LoadGen's SingleStream does.
func estimates(sorted []float64) map[string]*float64 {
	list := map[string]*float64{}
	for _, p := range percentiles {
		if p < median {
			continue
		}
		list[key(p)] = nil
		if rank, _, ok := loadgen.EstimateRank(uint64(len(sorted)), p/100); ok {
			v := sorted[rank]
			list[key(p)] = &v
		}
	}
	return list
}

// histogram counts sorted values between edges from the least, or 1, to the greatest.
func histogram(sorted []float64) buckets {
	low := max(sorted[0], 1)
	high := max(sorted[len(sorted)-1], 10*low)
	step := math.Log(high/low) / bucketCount
	edge := func(i int) float64 { return math.Exp(math.Log(low) + float64(i)*step) }
	b := buckets{}
	below := 0
	for i := range bucketCount {
		upTo := len(sorted)
		if i < bucketCount-1 {
			upTo = sort.SearchFloat64s(sorted, edge(i+1))
		}
		b.Buckets, b.Counts = append(b.Buckets, [2]float64{edge(i), edge(i + 1)}), append(b.Counts, upTo-below)
		below = upTo
	}
	return b
}
