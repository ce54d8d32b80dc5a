package charts

import (
	"time"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/loadgen"
)

// A Source is a finished phase: what is known of it, and the records of its samples.
type Source struct {
	Effective loadgen.EffectiveSettings
	Queries   uint64
	Samples   uint64
	End       time.Duration // of the phase
	Latency   loadgen.LatencyStats
	// Delays and Tokens say whether queries had a schedule, and samples first tokens.
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
	if s.queries() {
		s.Latency = p.QueryLatency
	}
	return s.Charts()
}

// queries reports whether latencies are those of queries.
func (s Source) queries() bool { return s.Effective.Scenario == loadgen.MultiStream }

// Charts reads the records. It is nil if nothing was answered.
func (s Source) Charts() *Charts {
	if s.Latency.Count == 0 || s.End <= 0 {
		return nil
	}
	c := newCollector(s)
	s.Each(c.sample)
	return c.finish()
}

// A collector takes over the records of samples in the order of the traffic.
type collector struct {
	charts  Charts
	time    *timeline
	parts   *parts // nil in Offline
	queries bool   // latencies are those of queries

	query   loadgen.SampleRecord // that is being gathered, with the last of its completions
	missing bool                 // a sample of it was never completed
	any     bool
}

func newCollector(s Source) *collector {
	c := &collector{time: newTimeline(s), queries: s.queries()}
	c.charts = Charts{Schema: schema, Latency: backend.NewTimes()}
	if s.Effective.Scenario != loadgen.Offline {
		c.parts = newParts(s, c.charts.Latency)
	}
	if s.Delays {
		c.charts.IssueDelay, c.charts.GeneratorDelay = backend.NewTimes(), backend.NewTimes()
	}
	if s.Tokens {
		c.charts.FirstToken, c.charts.TimePerOutputToken = backend.NewTimes(), backend.NewTimes()
	}
	return c
}

func (c *collector) sample(s loadgen.SampleRecord) {
	c.time.counted(int64(s.Start), int64(s.Completed))
	if s.Completed >= 0 && c.charts.FirstToken != nil {
		c.tokens(s)
	}
	if !c.queries {
		if s.Completed >= 0 {
			c.answered(s.Start, s.Issued, s.GeneratorDelay, s.Completed)
		}
		return
	}
	if c.any && s.Query == c.query.Query {
		c.query.Completed = max(c.query.Completed, s.Completed)
		c.missing = c.missing || s.Completed < 0
		return
	}
	c.endQuery()
	c.query, c.missing, c.any = s, s.Completed < 0, true
}

func (c *collector) endQuery() {
	if c.any && !c.missing {
		q := &c.query
		c.answered(q.Start, q.Issued, q.GeneratorDelay, q.Completed)
	}
}

// answered is told of everything that has a latency.
func (c *collector) answered(start, issued, own, completed time.Duration) {
	c.charts.Latency.Add(completed - start)
	if c.parts == nil {
		return
	}
	c.parts.add(int64(start), int64(completed-start))
	c.time.move(int64(start))
	c.time.latency.Add(completed - start)
	if c.charts.IssueDelay != nil {
		c.charts.GeneratorDelay.Add(own)
		c.charts.IssueDelay.Add(issued - start)
		c.time.delay.Add(issued - start)
	}
}

func (c *collector) tokens(s loadgen.SampleRecord) {
	if s.FirstToken < 0 {
		return
	}
	c.time.move(int64(s.Start))
	first := s.FirstToken - s.Start
	c.charts.FirstToken.Add(first)
	c.time.first.Add(first)
	if s.Tokens > 1 {
		each := (s.Completed - s.FirstToken) / time.Duration(s.Tokens-1)
		c.charts.TimePerOutputToken.Add(each)
		c.time.perToken.Add(each)
	}
}

func (c *collector) finish() *Charts {
	if c.queries {
		c.endQuery()
	}
	c.charts.Timeline = c.time.finish()
	if c.parts != nil {
		c.charts.Batches = c.parts.finish()
		c.charts.Percentiles = c.parts.percentiles()
	}
	return &c.charts
}
