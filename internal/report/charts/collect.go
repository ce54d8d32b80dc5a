package charts

import (
	"math"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/loadgen"
)

// A Source is a finished phase: its settings and statistics, and the records of its samples.
type Source struct {
	Effective loadgen.EffectiveSettings
	Queries   uint64
	Samples   uint64
	End       time.Duration // of the phase
	Latency   loadgen.LatencyStats
	// Delays and Tokens report whether queries had a schedule, and samples first tokens.
	Delays, Tokens bool
	// Each passes the records in the order of the traffic.
	Each func(func(loadgen.SampleRecord))
}

// Of reads the records of a finished phase. It is nil if nothing was answered.
func Of(p *loadgen.Performance) *Charts {
	if p == nil {
		return nil
	}
	s := Source{
		Effective: p.Effective, Queries: p.QueryCount, Samples: p.SampleCount, Latency: p.SampleLatency,
		End:    max(p.LastCompletion, p.FinalQueryScheduled, p.FinalQueryIssued),
		Delays: p.IssueDelay.Count > 0, Tokens: p.FirstToken.Count > 0, Each: p.EachSample,
	}
	if p.Effective.Scenario == loadgen.MultiStream {
		s.Latency = p.QueryLatency
	}
	return s.Charts()
}

// Charts reads the records. It is nil if nothing was answered.
func (s Source) Charts() *Charts {
	if s.Latency.Count == 0 || s.End <= 0 {
		return nil
	}
	c := &Charts{Schema: schema, Latency: backend.NewTimes()}
	if s.Delays {
		c.IssueDelay, c.GeneratorDelay = backend.NewTimes(), backend.NewTimes()
	}
	if s.Tokens {
		c.FirstToken, c.TimePerOutputToken = backend.NewTimes(), backend.NewTimes()
	}
	buckets, batches := newBuckets(s), newBatches(s)
	answered := func(r loadgen.SampleRecord) {
		latency := r.Completed - r.Start
		c.Latency.Add(latency)
		if s.Effective.Scenario == loadgen.Offline {
			return // all samples start at once: latencies over time say nothing
		}
		batches.add(r.Start, latency)
		buckets.moveTo(r.Start)
		buckets.latency.Add(latency)
		if s.Delays {
			c.GeneratorDelay.Add(r.GeneratorDelay)
			c.IssueDelay.Add(r.Issued - r.Start)
			buckets.delay.Add(r.Issued - r.Start)
		}
	}

	// A MultiStream query completes with its last sample. It has no latency if it lacks one.
	var query loadgen.SampleRecord
	multi, gathering := s.Effective.Scenario == loadgen.MultiStream, false
	endQuery := func() {
		if gathering && query.Completed >= 0 {
			answered(query)
		}
		gathering = false
	}
	s.Each(func(r loadgen.SampleRecord) {
		if r.Query != query.Query {
			endQuery()
		}
		buckets.count(r)
		if s.Tokens && r.Completed >= 0 && r.FirstToken >= 0 {
			buckets.moveTo(r.Start)
			c.FirstToken.Add(r.FirstToken - r.Start)
			buckets.firstToken.Add(r.FirstToken - r.Start)
			if r.Tokens > 1 {
				perToken := r.PerToken()
				c.TimePerOutputToken.Add(perToken)
				buckets.perToken.Add(perToken)
			}
		}
		switch {
		case !multi && r.Completed >= 0:
			answered(r)
		case multi && !gathering:
			query, gathering = r, true
		case multi && min(r.Completed, query.Completed) < 0:
			query.Completed = -1
		case multi:
			query.Completed = max(query.Completed, r.Completed)
		}
	})
	endQuery()
	c.Timeline = buckets.timeline()
	c.Batches, c.Percentiles = batches.finish(c.Latency)
	return c
}

// A bucket of the timeline has at least leastPerBucket queries, unless there would be fewer than
// fewestBuckets.
const (
	leastPerBucket = 50
	fewestBuckets  = 20
	mostBuckets    = 300
	instants       = 16 // of a bucket, at which the outstanding samples are counted
)

// buckets count a run over time.
type buckets struct {
	out   Timeline
	n     int
	perNS float64 // instants in a nanosecond: a division for each sample would take longest of all
	// started and ended count samples between one instant and the next.
	started, ended []int64

	// The traffic is in order, so these are of the bucket that has not ended.
	now                                  int
	latency, delay, firstToken, perToken *backend.Times
}

func newBuckets(s Source) *buckets {
	n := s.Queries
	if s.Effective.Scenario == loadgen.Offline {
		n = s.Samples
	}
	b := &buckets{n: int(min(max(n/leastPerBucket, fewestBuckets), mostBuckets))}
	all := int64(b.n * instants)
	width := (int64(s.End) + all) / all // of an instant, so that the end lies within
	b.perNS, b.out.BucketNS = 1/float64(width), width*instants
	b.started, b.ended = make([]int64, all), make([]int64, all)
	b.latency, b.delay, b.firstToken, b.perToken = backend.NewTimes(), backend.NewTimes(), backend.NewTimes(), backend.NewTimes()
	return b
}

// count takes every sample that was issued.
func (b *buckets) count(r loadgen.SampleRecord) {
	last := len(b.started) - 1
	b.started[min(int(float64(r.Start)*b.perNS), last)]++
	if r.Completed >= 0 {
		b.ended[min(int(float64(r.Completed)*b.perNS), last)]++
	}
}

// moveTo ends the buckets before the one of an instant.
func (b *buckets) moveTo(start time.Duration) {
	for b.now < b.n-1 && int64(start) >= int64(b.now+1)*b.out.BucketNS {
		b.endBucket()
	}
}

func (b *buckets) endBucket() {
	o := &b.out
	for _, c := range []struct {
		of      *backend.Times
		columns []*Column // p50, p90, p99 and the maximum
	}{
		{b.latency, []*Column{&o.P50, &o.P90, &o.P99, &o.Max}}, {b.delay, []*Column{&o.DelayP50, nil, nil, &o.DelayMax}},
		{b.firstToken, []*Column{&o.FirstTokenP50, &o.FirstTokenP90}}, {b.perToken, []*Column{&o.PerTokenP50, &o.PerTokenP90}},
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
	b.now++
}

// timeline ends the run. Columns without any number are left out.
func (b *buckets) timeline() *Timeline {
	for b.now < b.n {
		b.endBucket()
	}
	o, outstanding := &b.out, int64(0)
	for i := range b.n {
		issued, completed, most := int64(0), int64(0), outstanding
		for k := i * instants; k < (i+1)*instants; k++ {
			issued, completed = issued+b.started[k], completed+b.ended[k]
			outstanding += b.started[k] - b.ended[k]
			most = max(most, outstanding)
		}
		o.Issued, o.Completed, o.Outstanding = append(o.Issued, float64(issued)), append(o.Completed, float64(completed)),
			append(o.Outstanding, float64(most))
	}
	for _, c := range o.columns() {
		if _, at := c.Max(); at < 0 {
			*c = nil
		}
	}
	return o
}
