package loadgen

import (
	"fmt"
	"time"
)

// This file turns what was recorded of a phase into its outcome.

// performance evaluates a finished phase of a test that began at begin.
func (p *phase) performance(begin time.Time, opts Options) *Performance {
	e, rec := p.e, p.rec
	perf := &Performance{
		Effective:          e,
		Started:            p.rec.started.Sub(begin),
		QueryCount:         uint64(p.returned.Load()),
		PerfConstraintsMet: true,
		TTFTMet:            true,
		TPOTMet:            true,
		GeneratorMet:       true,
		GC:                 p.gc,
		rec:                rec,
	}
	perf.IssuePriority, _ = p.priority.Load().(string)
	perf.ended = p.ended()
	if p.traffic.endless {
		perf.Prepared = p.traffic.count
	}
	perf.measure(rec)
	perf.finalQuery(rec)
	perf.judgeLatency(rec)
	perf.MinDurationMet = perf.judgedDuration() >= e.MinDuration
	perf.MinQueriesMet = perf.QueryCount >= e.MinQueryCount && perf.SampleCount >= e.MinSampleCount
	if e.Scenario == Server || e.FixedInterval {
		perf.judgeGenerator(rec, opts.MaxIssueDelay)
	}
	return perf
}

// warn says what a user should know of a finished phase although it breaks no rule.
func (p *Performance) warn(events *eventLog) {
	if wanted, ok := p.wantedExpectedLatency(); ok {
		events.warn("%v", p.expectedLatencyConstraint(wanted))
	}
	if text := p.sutDelay(); text != "" {
		events.warn("%s", text)
	}
}

func (p *Performance) measure(rec *recorder) {
	e := p.Effective
	p.SampleLatency, _ = latencyStats(rec.latencies, max(1, rec.answered()), e.TargetLatencyPercentile)
	p.SampleCount = p.SampleLatency.Count
	if e.Scenario == MultiStream {
		p.QueryLatency, _ = latencyStats(rec.queryLatencies, max(1, p.QueryCount), e.TargetLatencyPercentile)
	}
	if e.Scenario == Server {
		p.Overlatency = countAbove(rec.latencies, int64(e.TargetLatency))
	}
	if !e.UseTokenLatencies {
		return
	}
	n := max(1, p.SampleCount)
	p.TokenCount = rec.tokenCount()
	if e.Scenario == Offline {
		return
	}
	p.FirstToken, _ = latencyStats(rec.firstTokens, n, e.TargetLatencyPercentile)
	p.TimePerOutputToken, _ = latencyStats(rec.timesPerToken, n, e.TargetLatencyPercentile)
	if e.Scenario == Server {
		p.OverlatencyFirstToken = countAbove(rec.firstTokens, int64(e.TargetLatency))
	}
}

func (p *Performance) finalQuery(rec *recorder) {
	p.LastCompletion = time.Duration(rec.lastCompletion())
	if p.QueryCount == 0 || p.QueryCount > rec.queries.Load() {
		return
	}
	b, q := rec.query(p.QueryCount - 1)
	p.FinalQueryIssued = time.Duration(b.start[q])
	if b.late != nil {
		p.FinalQueryScheduled = time.Duration(b.start[q])
		p.FinalQueryIssued += b.late[q].duration()
	}
	p.FinalQueryCompleted = time.Duration(rec.queryCompletion(b, q))
}

func (p *Performance) judgeLatency(rec *recorder) {
	e := p.Effective
	switch e.Scenario {
	case Offline:
		p.EarlyStopping.Met = true
		p.FirstTokenEarlyStopping.Met = true
	case SingleStream:
		p.judgeStream(rec.latencies, rec)
	case MultiStream:
		p.judgeStream(rec.queryLatencies, rec)
		if e.FixedInterval {
			p.judgeIntervals(rec)
		}
	case Server:
		p.judgeServer(rec)
	}
}

// judgeIntervals allows as many queries to make the next interval be skipped as the
// percentile leaves: 1 % (rules before v2.0).
func (p *Performance) judgeIntervals(rec *recorder) {
	s := summarize(rec.intervalCounts)
	if s.n == 0 {
		return
	}
	p.Skips = countAbove(rec.intervalCounts, 1)
	ranks := []uint64{percentileRank(s.n, p.Effective.TargetLatencyPercentile)}
	for _, percentile := range percentiles {
		ranks = append(ranks, percentileRank(s.n, percentile))
	}
	found := orderStatistics(rec.intervalCounts, s, ranks)
	p.IntervalsTarget = uint64(found[0])
	for i := range p.Intervals {
		p.Intervals[i] = uint64(found[i+1])
	}
	p.PerfConstraintsMet = p.IntervalsTarget < 2
}

func (p *Performance) judgeStream(v values, rec *recorder) {
	e := p.Effective
	if !e.UseTokenLatencies {
		p.EarlyStopping = earlyStoppingStream(e, v, p.QueryCount)
		return
	}
	// The criterion of MultiStream looks at queries even then (loadgen/results.cc).
	perToken, firstToken := values(rec.timesPerToken), values(rec.firstTokens)
	if e.Scenario == MultiStream {
		perToken, firstToken = v, v
	}
	if p.EarlyStopping = earlyStoppingStream(e, perToken, p.QueryCount); p.EarlyStopping.Met {
		p.FirstTokenEarlyStopping = earlyStoppingStream(e, firstToken, p.QueryCount)
	}
}

func (p *Performance) judgeServer(rec *recorder) {
	e := p.Effective
	if !e.UseTokenLatencies {
		p.PerfConstraintsMet = within(p.SampleLatency, e.TargetLatency)
		p.EarlyStopping = earlyStoppingServer(e, p.Overlatency, p.QueryCount)
		return
	}
	p.TTFTMet = within(p.FirstToken, e.ServerTTFTLatency)
	p.TPOTMet = within(p.TimePerOutputToken, e.ServerTPOTLatency)
	p.PerfConstraintsMet = p.TTFTMet && p.TPOTMet
	over := countAbove(rec.timesPerToken, int64(e.ServerTPOTLatency))
	if p.EarlyStopping = earlyStoppingServer(e, over, p.QueryCount); p.EarlyStopping.Met {
		over = countAbove(rec.firstTokens, int64(e.ServerTTFTLatency))
		p.FirstTokenEarlyStopping = earlyStoppingServer(e, over, p.QueryCount)
	}
}

// within reports whether latencies were measured and keep a limit.
func within(l LatencyStats, limit time.Duration) bool { return l.Count > 0 && l.Target <= limit }

// judgeGenerator tells a late generator from a slow SUT. Latency counts from the
// scheduled instant, so a late generator never flatters the SUT, but a run in which
// it takes a large part of the latency bound says nothing about the SUT either. What a
// query waits because the SUT has not returned from IssueQuery is the SUT's latency.
func (p *Performance) judgeGenerator(rec *recorder, bound time.Duration) {
	e := p.Effective
	p.IssueDelay, _ = latencyStats(rec.delays, max(1, p.SampleCount), e.TargetLatencyPercentile)
	p.GeneratorDelay, _ = latencyStats(rec.ownDelays, max(1, p.SampleCount), e.TargetLatencyPercentile)
	p.MaxIssueDelay = bound
	if bound == 0 {
		p.MaxIssueDelay = e.latencyBound() / 2
	}
	p.GeneratorMet = p.MaxIssueDelay == 0 || p.GeneratorDelay.Target <= p.MaxIssueDelay
}

// latencyBound is the bound that the delay of the generator eats into.
func (e EffectiveSettings) latencyBound() time.Duration {
	if e.UseTokenLatencies {
		return e.ServerTTFTLatency
	}
	return e.TargetLatency
}

// sutDelay says that queries were issued late because the SUT stayed inside IssueQuery;
// nothing if few were.
func (p *Performance) sutDelay() string {
	if p.MaxIssueDelay == 0 || p.IssueDelay.Target <= p.MaxIssueDelay || p.GeneratorDelay.Target > p.MaxIssueDelay {
		return ""
	}
	return fmt.Sprintf("queries were issued %v late at the %s percentile, because the SUT was still inside IssueQuery when they were due: "+
		"that is part of its latency; the generator itself was %v late", p.IssueDelay.Target, Ordinal(p.Effective.TargetLatencyPercentile), p.GeneratorDelay.Target)
}
