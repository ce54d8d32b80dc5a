package charts

import (
	"math"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/loadgen"
)

// A bucket of the timeline has at least leastPerBucket queries, unless there would be fewer than
// fewestBuckets.
const (
	leastPerBucket = 50
	fewestBuckets  = 20
	bucketsAtMost  = 300
	instants       = 16 // of a bucket, at which what is outstanding is counted
)

// A timeline counts a run in buckets.
type timeline struct {
	out   Timeline
	width int64   // of an instant
	perNS float64 // instants in a nanosecond: a division for each sample would take longest of all
	n     int     // of buckets
	// started and ended count samples between one instant and the next.
	started, ended []int64

	// Of what was scheduled in the bucket that has not ended; the traffic is in order.
	now                             int
	latency, delay, first, perToken *backend.Times
}

func newTimeline(s Source) *timeline {
	n := s.Queries
	if s.Effective.Scenario == loadgen.Offline {
		n = s.Samples
	}
	t := &timeline{n: int(min(max(n/leastPerBucket, fewestBuckets), bucketsAtMost))}
	end := int64(s.End) + 1
	t.width = (end + int64(t.n*instants) - 1) / int64(t.n*instants)
	t.perNS = 1 / float64(t.width)
	t.started, t.ended = make([]int64, t.n*instants), make([]int64, t.n*instants)
	t.out.BucketNS = t.width * instants
	t.latency, t.delay, t.first, t.perToken = backend.NewTimes(), backend.NewTimes(), backend.NewTimes(), backend.NewTimes()
	return t
}

// counted is told of every sample that was issued. Completed is negative if it was not.
func (t *timeline) counted(start, completed int64) {
	last := len(t.started) - 1
	t.started[min(int(float64(start)*t.perNS), last)]++
	if completed >= 0 {
		t.ended[min(int(float64(completed)*t.perNS), last)]++
	}
}

// move ends the buckets before the one of an instant.
func (t *timeline) move(start int64) {
	for t.now < t.n-1 && start >= int64(t.now+1)*t.out.BucketNS {
		t.endBucket()
		t.now++
	}
}

func (t *timeline) endBucket() {
	o := &t.out
	for _, c := range []struct {
		of      *backend.Times
		columns []*Column // p50, p90, p99 and the maximum
	}{
		{t.latency, []*Column{&o.P50, &o.P90, &o.P99, &o.Max}}, {t.delay, []*Column{&o.DelayP50, nil, nil, &o.DelayMax}},
		{t.first, []*Column{&o.FirstTokenP50, &o.FirstTokenP90}}, {t.perToken, []*Column{&o.PerTokenP50, &o.PerTokenP90}},
	} {
		s := c.of.Spread()
		values := []time.Duration{s.P50, s.P90, s.P99, s.Max}
		for i, column := range c.columns {
			switch {
			case column == nil:
			case s.Count == 0:
				*column = append(*column, math.NaN())
			default:
				*column = append(*column, float64(values[i]))
			}
		}
		c.of.Reset()
	}
}

// finish makes the columns. Those without any number are left out.
func (t *timeline) finish() *Timeline {
	for ; t.now < t.n; t.now++ {
		t.endBucket()
	}
	o := &t.out
	outstanding := int64(0)
	for b := range t.n {
		issued, completed, most := int64(0), int64(0), outstanding
		for i := b * instants; i < (b+1)*instants; i++ {
			issued, completed = issued+t.started[i], completed+t.ended[i]
			most = max(most, outstanding+t.started[i]-t.ended[i])
			outstanding += t.started[i] - t.ended[i]
		}
		o.Issued, o.Completed, o.Outstanding = append(o.Issued, float64(issued)), append(o.Completed, float64(completed)), append(o.Outstanding, float64(most))
	}
	for _, c := range o.columns() {
		if _, at := c.Max(); at < 0 {
			*c = nil
		}
	}
	return o
}
