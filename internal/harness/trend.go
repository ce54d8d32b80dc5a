package harness

import (
	"fmt"
	"math"
	"time"

	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/units"
)

// A trend is how latency changed over a test of Server: of a system that is asked for more than it can do, the queue grows, and with
// it the latency, whatever the bound is. It is a straight line through the means of parts of the test with equally many queries.
type trend struct {
	from, to float64 // of the line, at the beginning of the first part and at the end of the last, in nanoseconds
	t        float64 // its slope by the standard error of that
}

const (
	trendParts = 10
	// trendQueries is how many queries a trend takes: of a queue with one server and service times that are all alike, 89 % of tests with
	// 11 % too high a load show it then, and 4 % of those with 90 % of what the server can do (12 % with 95 %).
	trendQueries = 400
	leastQueries = 10 * trendParts // to say anything
	// surely is the slope from which it is one: a t of eight degrees of freedom exceeds it by chance once in 500 times, if parts were
	// independent. Those of a queue are not.
	surely = 4
	// leastRise is the rise that counts, as a share of the mean: a system that gets warm is no queue that grows.
	leastRise = 0.2
)

// trendOf is the trend of a test; the zero value where there are too few queries. Where tokens have latencies it is that of the first.
func trendOf(p *loadgen.Performance) (t trend) {
	if p.Effective.Scenario != loadgen.Server {
		return t
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
		return t
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
	if slope > 0 {
		t.t = slope / math.Sqrt(rest/(trendParts-2)/squares) // +Inf for a line without any deviation
	}
	t.from, t.to = max(mean-slope*trendParts/2, 0), mean+slope*trendParts/2
	return t
}

// grew reports whether the queue grew.
func (t trend) grew() bool { return t.t > surely && t.to-t.from > leastRise*(t.from+t.to)/2 }

func (t trend) String() string {
	return fmt.Sprintf("latency rose from %s to %s", units.Duration(time.Duration(t.from)), units.Duration(time.Duration(t.to)))
}
