package charts

import (
	"math"

	"github.com/mlperf-go/mlperf/internal/backend/histogram"
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

	now int // the bucket that the histograms are of; the traffic is in order
	// Those of what was scheduled in a bucket.
	latency, delay, first, perToken *histogram.Histogram
	// allDelays are those of the buckets that have ended; nil: there are none.
	allDelays *histogram.Histogram
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
	for _, h := range []**histogram.Histogram{&t.latency, &t.first, &t.perToken} {
		*h = histogram.New(fineBits)
	}
	t.delay = histogram.New(keptBits)
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

func (t *timeline) answered(start, latency int64) {
	t.move(start)
	t.latency.Add(latency)
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
		column *Column
		of     *histogram.Histogram
		p      float64
	}{
		{&o.P50, t.latency, 0.5}, {&o.P90, t.latency, 0.9}, {&o.P99, t.latency, 0.99}, {&o.Max, t.latency, 1},
		{&o.DelayP50, t.delay, 0.5}, {&o.DelayMax, t.delay, 1},
		{&o.FirstTokenP50, t.first, 0.5}, {&o.FirstTokenP90, t.first, 0.9},
		{&o.PerTokenP50, t.perToken, 0.5}, {&o.PerTokenP90, t.perToken, 0.9},
	} {
		*c.column = append(*c.column, quantile(c.of, c.p))
	}
	if t.allDelays != nil {
		t.allDelays.Merge(t.delay)
	}
	for _, h := range []*histogram.Histogram{t.latency, t.delay, t.first, t.perToken} {
		h.Reset()
	}
}

func quantile(h *histogram.Histogram, p float64) float64 {
	switch {
	case h.Count() == 0:
		return math.NaN()
	case p == 1:
		return float64(h.Max())
	}
	return float64(h.Quantile(p))
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
