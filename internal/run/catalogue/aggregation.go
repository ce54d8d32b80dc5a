package catalogue

import (
	"io"

	"github.com/mlperf-go/mlperf/internal/dataset"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// CriteoPairs is how many user-item pairs the validation set of the recommendation benchmarks
// has: the first half of day 23 of Criteo Terabyte.
const CriteoPairs = 89137319

// WriteAggregation writes how pairs make the samples of the recommendation benchmarks.
func WriteAggregation(w io.Writer, pairs int) error {
	if pairs < 1 {
		return userinput.Invalid("pairs", pairs, "a positive number")
	}
	return dataset.WriteRuns(w, dataset.AggregatePairs(pairs))
}
