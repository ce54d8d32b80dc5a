package loadgen

import (
	"fmt"
	"time"

	"github.com/mlperf-go/mlperf/internal/units"
)

// This file turns the records of a phase into its outcome (loadgen/results.cc).

// performance evaluates a phase of a test that began at begin. maxIssueDelay bounds the generator's own delay; 0: the
// default.
func (p *phase) performance(begin time.Time, maxIssueDelay time.Duration) *Performance {
	e, rec := p.e, p.rec
	perf := &Performance{
		Effective:          e,
		Started:            rec.started.Sub(begin),
		QueryCount:         uint64(p.returned.Load()),
		LastCompletion:     time.Duration(rec.lastCompletion()),
		PerfConstraintsMet: true,
		TTFTMet:            true,
		TPOTMet:            true,
		GeneratorMet:       true,
		GC:                 p.gc,
		rec:                rec,
		ended:              ending(p.early.Load()),
	}
	perf.IssuePriority, _ = p.priority.Load().(string)
	if p.traffic.endless {
		perf.Prepared = p.traffic.count
	}
	perf.SampleLatency, _ = latencyStats(rec.latencies(), max(1, rec.answered()-uint64(rec.failed.Load())), e.TargetLatencyPercentile)
	perf.SampleCount = perf.SampleLatency.Count
	if e.UseTokenLatencies {
		perf.TokenCount = rec.tokenCount()
		if e.Scenario != Offline {
			perf.FirstToken, _ = latencyStats(rec.firstTokens(), max(1, perf.SampleCount), e.TargetLatencyPercentile)
			perf.TimePerOutputToken, _ = latencyStats(rec.timesPerToken(), max(1, perf.SampleCount), e.TargetLatencyPercentile)
		}
	}
	if n := perf.QueryCount; n > 0 && n <= rec.queries.Load() {
		b, q := rec.query(n - 1)
		perf.FinalQueryIssued = time.Duration(b.start[q])
		if b.late != nil {
			perf.FinalQueryScheduled = time.Duration(b.start[q])
			perf.FinalQueryIssued += time.Duration(b.late[q].ns())
		}
		if perf.FinalQueryCompleted = time.Duration(rec.queryCompletion(b, q)); perf.FinalQueryCompleted < 0 && rec.failed.Load() > 0 {
			perf.FinalQueryCompleted = perf.LastCompletion
		}
	}
	switch e.Scenario {
	case Offline:
		perf.EarlyStopping.Met = true
		perf.FirstTokenEarlyStopping.Met = true
	case SingleStream:
		perf.judgeStream(rec.latencies(), rec.timesPerToken(), rec.firstTokens())
	case MultiStream:
		// Early stopping looks at queries, with token latencies too.
		v := rec.queryLatencies()
		perf.QueryLatency, _ = latencyStats(v, max(1, perf.QueryCount), e.TargetLatencyPercentile)
		perf.judgeStream(v, v, v)
		if e.FixedInterval {
			perf.judgeIntervals(rec.intervals())
		}
	case Server:
		perf.judgeServer()
	}
	perf.MinDurationMet = perf.judgedDuration() >= e.MinDuration
	perf.MinQueriesMet = perf.QueryCount >= e.MinQueryCount && perf.SampleCount >= e.MinSampleCount
	if e.onSchedule() {
		perf.judgeGenerator(maxIssueDelay)
	}
	return perf
}

// judgeStream applies early stopping to the latencies of a scenario that has no bound of them.
func (p *Performance) judgeStream(latencies, perToken, firstToken values) {
	if !p.Effective.UseTokenLatencies {
		p.EarlyStopping = earlyStoppingStream(p.Effective, latencies, p.QueryCount)
	} else if p.EarlyStopping = earlyStoppingStream(p.Effective, perToken, p.QueryCount); p.EarlyStopping.Met {
		p.FirstTokenEarlyStopping = earlyStoppingStream(p.Effective, firstToken, p.QueryCount)
	}
}

// judgeIntervals allows as many queries to make the next interval be skipped as the
// percentile leaves: 1 % (rules before v2.0).
func (p *Performance) judgeIntervals(intervals values) {
	s := summarize(intervals)
	if s.n == 0 {
		return
	}
	p.Skips = countAbove(intervals, 1)
	ranks := []uint64{percentileRank(s.n, p.Effective.TargetLatencyPercentile)}
	for _, percentile := range percentiles {
		ranks = append(ranks, percentileRank(s.n, percentile))
	}
	found := orderStatistics(intervals, s, ranks)
	p.IntervalsTarget = uint64(found[0])
	for i := range p.Intervals {
		p.Intervals[i] = uint64(found[i+1])
	}
	p.PerfConstraintsMet = p.IntervalsTarget < 2
}

// judgeServer compares latencies with their bounds, and applies early stopping.
func (p *Performance) judgeServer() {
	e, rec := p.Effective, p.rec
	within := func(l LatencyStats, limit time.Duration) bool { return l.Count > 0 && l.Target <= limit }
	p.Overlatency = countAbove(rec.latencies(), int64(e.TargetLatency))
	if !e.UseTokenLatencies {
		p.PerfConstraintsMet = within(p.SampleLatency, e.TargetLatency)
		p.EarlyStopping = earlyStoppingServer(e, p.Overlatency, p.QueryCount)
		return
	}
	p.OverlatencyFirstToken = countAbove(rec.firstTokens(), int64(e.TargetLatency))
	p.TTFTMet = within(p.FirstToken, e.ServerTTFTLatency)
	p.TPOTMet = within(p.TimePerOutputToken, e.ServerTPOTLatency)
	p.PerfConstraintsMet = p.TTFTMet && p.TPOTMet
	over := countAbove(rec.timesPerToken(), int64(e.ServerTPOTLatency))
	if p.EarlyStopping = earlyStoppingServer(e, over, p.QueryCount); p.EarlyStopping.Met {
		over = countAbove(rec.firstTokens(), int64(e.ServerTTFTLatency))
		p.FirstTokenEarlyStopping = earlyStoppingServer(e, over, p.QueryCount)
	}
}

// judgeGenerator tells a late generator from a slow SUT. Latency counts from the
// scheduled instant, so a late generator never flatters the SUT, but a run in which
// it takes a large part of the latency bound says nothing about the SUT either. The time that a
// query waits because the SUT has not returned from IssueQuery is the SUT's latency.
func (p *Performance) judgeGenerator(bound time.Duration) {
	e := p.Effective
	p.IssueDelay, _ = latencyStats(p.rec.delays(), max(1, p.SampleCount), e.TargetLatencyPercentile)
	p.GeneratorDelay, _ = latencyStats(p.rec.ownDelays(), max(1, p.SampleCount), e.TargetLatencyPercentile)
	p.MaxIssueDelay = bound
	switch {
	case bound != 0:
	case e.UseTokenLatencies:
		p.MaxIssueDelay = e.ServerTTFTLatency / 2
	default:
		p.MaxIssueDelay = e.TargetLatency / 2
	}
	p.GeneratorMet = p.MaxIssueDelay == 0 || p.GeneratorDelay.Target <= p.MaxIssueDelay
}

// warnings are facts about a finished phase that break no rule, and matter to a user.
func (p *Performance) warnings() (list []string) {
	if c, ok := p.expectedLatencyConstraint(); ok {
		list = append(list, c.String())
	}
	if p.MaxIssueDelay != 0 && p.IssueDelay.Target > p.MaxIssueDelay && p.GeneratorDelay.Target <= p.MaxIssueDelay {
		list = append(list, fmt.Sprintf(
			"queries were issued %s late at the %s percentile, because the SUT was still inside IssueQuery when they were due: "+
				"that is part of its latency; the generator itself was %s late", units.Duration(p.IssueDelay.Target),
			units.Ordinal(p.Effective.TargetLatencyPercentile), units.Duration(p.GeneratorDelay.Target)))
	}
	return list
}
