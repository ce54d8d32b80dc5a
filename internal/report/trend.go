package report

import (
	"fmt"
	"math"

	"github.com/mlperf-go/mlperf/internal/loadgen"
)

// A Trend is how latency changed over a test of Server: of a system that is asked for more than it can do, the queue grows, and with
// it the latency, whatever the bound is. It is a straight line through the means of parts of the test with equally many queries.
type Trend struct {
	FromNS int64 `json:"from_ns"` // of the line, at the beginning of the first part
	ToNS   int64 `json:"to_ns"`   // at the end of the last
	// Grew says that the queue grew: the slope is one, and the line rises.
	Grew bool `json:"queue_grew"`
}

// TrendQueries is how many queries a trend takes: of a queue with one server and service times that are all alike, 89 % of tests with
// 11 % too high a load show it then, and 4 % of those with 90 % of what the server can do (12 % with 95 %).
const TrendQueries = 400

const (
	trendParts   = 10
	leastQueries = 10 * trendParts // to say anything
	// surely is the slope from which it is one: a t of eight degrees of freedom exceeds it by chance once in 500 times, if parts were
	// independent. Those of a queue are not.
	surely = 4
	// leastRise is the rise that counts, as a share of the mean: a system that gets warm is no queue that grows.
	leastRise = 0.2
)

// TrendOf is the trend of a test; nil where there are too few queries, and in other scenarios than Server. Where tokens have latencies it
// is that of the first.
func TrendOf(p *loadgen.Performance) *Trend {
	if p.Effective.Scenario != loadgen.Server {
		return nil
	}
	var list []float64
	p.EachSample(func(s loadgen.SampleRecord) {
		at := s.Completed
		if p.Effective.UseTokenLatencies {
			at = s.FirstToken
		}
		if at >= 0 {
			list = append(list, float64(at-s.Start))
		}
	})
	if len(list) < leastQueries {
		return nil
	}
	var means [trendParts]float64
	mean := 0.0
	for i := range means {
		part := list[i*len(list)/trendParts : (i+1)*len(list)/trendParts]
		for _, v := range part {
			means[i] += v / float64(len(part))
		}
		mean += means[i] / trendParts
	}
	const middle = float64(trendParts-1) / 2
	across, squares := 0.0, 0.0
	for i, m := range means {
		x := float64(i) - middle
		across += x * (m - mean)
		squares += x * x
	}
	slope, rest := across/squares, 0.0
	for i, m := range means {
		off := m - mean - slope*(float64(i)-middle)
		rest += off * off
	}
	t := 0.0
	if slope > 0 {
		t = slope / math.Sqrt(rest/(trendParts-2)/squares) // +Inf for a line without any deviation
	}
	return newTrend(mean, slope*trendParts, t)
}

// newTrend is the trend of a line with a mean and a rise, whose slope is so many times its standard error.
func newTrend(mean, rise, t float64) *Trend {
	return &Trend{FromNS: int64(max(mean-rise/2, 0)), ToNS: int64(mean + rise/2), Grew: t > surely && rise > leastRise*mean}
}

func (t *Trend) String() string {
	return fmt.Sprintf("latency rose from %s to %s", nanoseconds(t.FromNS), nanoseconds(t.ToNS))
}
