package compare

import (
	"fmt"

	"gonum.org/v1/gonum/stat"

	"github.com/mlperf-go/mlperf/internal/report/charts"
)

// A rate is compared by rateBatches means, each of which must last leastCorrelations times
// longer than what happens at one time depends on what happened before.
const (
	rateBatches       = 10
	leastCorrelations = 10
)

// rates compares throughputs.
func (d *decider) rates(m *Metric, a, b *charts.Charts) {
	x, y := rateParts(a), rateParts(b)
	if x == nil || y == nil {
		m.Method = "too short runs for an interval: longer ones, or repeats, would tell"
		return
	}
	aroundRatio(m, x, y)
	m.Method = fmt.Sprintf("%d means of each run, within these two runs", rateBatches)
}

// rateParts are the rates in the parts of a run; nil if they depend on each
// other. The last bucket is left out: a run ends somewhere in it.
func rateParts(c *charts.Charts) []float64 {
	if c.Timeline == nil {
		return nil
	}
	counts := c.Timeline.Completed[:len(c.Timeline.Completed)-1]
	each := len(counts) / rateBatches
	if float64(each) < leastCorrelations*correlation(counts) {
		return nil
	}
	var list []float64
	for i := range rateBatches {
		list = append(list, stat.Mean(counts[i*each:(i+1)*each], nil))
	}
	return list
}
