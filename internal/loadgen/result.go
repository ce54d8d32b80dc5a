package loadgen

import (
	"fmt"
	"time"
)

// A Result is all that is known of a finished test.
type Result struct {
	SUTName                   string
	NamingTook                time.Duration // of SUT.Name, as the reference logs it
	QSLName                   string
	QSLTotalSampleCount       int
	QSLPerformanceSampleCount int

	Requested TestSettings
	Effective EffectiveSettings

	StartTime time.Time
	Events    []Event // what happened, in order, with the reference's keys

	AccuracySamples uint64       // answered in accuracy mode
	Performance     *Performance // nil if no performance phase was run
	Peak            []PeakStep   // FindPeakPerformance: every rate that was tried

	Interrupted error   // why the test was stopped early from outside; nil if it was not
	Faults      []error // what the SUT, or the accuracy log, did wrong
}

// Valid says whether the result may be used: the test ran to its end, the SUT made no
// mistake, and every constraint is met.
func (r *Result) Valid() bool {
	if r.Interrupted != nil || len(r.Faults) > 0 {
		return false
	}
	return r.Performance == nil || r.Performance.Valid()
}

// Errors counts the events that are errors.
func (r *Result) Errors() int {
	n := 0
	for _, e := range r.Events {
		if e.IsError {
			n++
		}
	}
	return n
}

// Warnings counts the events that are warnings.
func (r *Result) Warnings() int {
	n := 0
	for _, e := range r.Events {
		if e.IsWarning {
			n++
		}
	}
	return n
}

// An Event is a line of the detail log. Value is a string, a bool, an integer, a
// float64, or the []QuerySampleIndex of a loaded set.
type Event struct {
	Time      time.Time
	Key       string
	Value     any
	IsError   bool
	IsWarning bool
}

// Performance is the outcome of a performance phase.
type Performance struct {
	Effective EffectiveSettings
	Started   time.Duration // of the phase, since Result.StartTime

	QueryCount  uint64 // issued
	SampleCount uint64 // issued and answered

	SampleLatency LatencyStats
	QueryLatency  LatencyStats // MultiStream only; a query's is that of its last sample
	Overlatency   uint64       // Server: samples slower than the target latency

	// Only in MultiStream at fixed intervals: how many intervals passed from one query to
	// the next, at Percentiles and at the target percentile, and how many queries made
	// the next one wait.
	Intervals       [len(percentiles)]uint64
	IntervalsTarget uint64
	Skips           uint64

	// Only with token latencies:
	FirstToken            LatencyStats
	TimePerOutputToken    LatencyStats
	TokenCount            int64
	OverlatencyFirstToken uint64

	// Instants of the last issued query since the start of the phase.
	FinalQueryScheduled time.Duration
	FinalQueryIssued    time.Duration
	FinalQueryCompleted time.Duration
	// LastCompletion is the instant of the last completion of all.
	LastCompletion time.Duration

	EarlyStopping           EarlyStopping
	FirstTokenEarlyStopping EarlyStopping // with token latencies EarlyStopping is that of TPOT

	PerfConstraintsMet bool // Server, MultiStream at fixed intervals; true otherwise
	TTFTMet, TPOTMet   bool // the two parts of it with token latencies
	MinDurationMet     bool
	MinQueriesMet      bool
	GeneratorMet       bool // the generator kept its schedule, see MaxIssueDelay

	IssueDelay    LatencyStats // Server, fixed intervals: how much later than scheduled queries were issued
	MaxIssueDelay time.Duration
	IssuePriority string // of the issue threads, in words; empty where nothing is scheduled
	GC            GCStats

	rec *recorder
}

// GCStats tells how much the garbage collector of this process interfered.
type GCStats struct {
	Cycles int
	Pause  time.Duration // all goroutines stopped, summed
}

// Valid says whether all constraints are met.
func (p *Performance) Valid() bool {
	return p.PerfConstraintsMet && p.MinDurationMet && p.MinQueriesMet && p.EarlyStoppingMet() && p.GeneratorMet
}

// EarlyStoppingMet says whether there were enough queries to trust the percentile.
func (p *Performance) EarlyStoppingMet() bool {
	if p.Effective.WithoutEarlyStopping {
		return true
	}
	if p.Effective.UseTokenLatencies {
		return p.EarlyStopping.Met && p.FirstTokenEarlyStopping.Met
	}
	return p.EarlyStopping.Met
}

// HasPerfConstraints says whether the scenario bounds a latency.
func (p *Performance) HasPerfConstraints() bool {
	return p.Effective.Scenario == Server || p.Effective.FixedInterval
}

// ScheduledQPS is the rate at which Server queries were scheduled: one less than
// their number, because the last one only marks the end of the interval.
func (p *Performance) ScheduledQPS() float64 { return p.lessOne() / seconds(p.FinalQueryScheduled) }

// CompletedQPS is the rate up to the completion of the last issued Server query.
func (p *Performance) CompletedQPS() float64 { return p.lessOne() / seconds(p.FinalQueryCompleted) }

// QPSWithOverhead is the SingleStream rate of issuing.
func (p *Performance) QPSWithOverhead() float64 { return p.lessOne() / seconds(p.FinalQueryIssued) }

// QPSWithoutOverhead is the reciprocal of the mean latency.
func (p *Performance) QPSWithoutOverhead() float64 { return 1 / seconds(p.SampleLatency.Mean) }

// SamplesPerSecond is the Offline result.
func (p *Performance) SamplesPerSecond() float64 {
	return float64(p.SampleCount) / seconds(p.SampleLatency.Max)
}

func (p *Performance) lessOne() float64 { return float64(p.SampleCount) - 1 }

// EachSample passes the record of every issued sample to f, in the order of the
// traffic.
func (p *Performance) EachSample(f func(SampleRecord)) {
	p.rec.eachSample(f)
}

// A SampleRecord is what was measured of one sample. Instants count from the start of
// the phase.
type SampleRecord struct {
	QuerySample
	Query     uint64        // number of its query
	Start     time.Duration // from where the latency counts
	Issued    time.Duration
	Completed time.Duration // negative if it was never completed
}

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
	perf.measure(rec)
	perf.finalQuery(rec)
	perf.judgeLatency(rec)
	perf.judgeDuration()
	perf.MinQueriesMet = perf.QueryCount >= e.MinQueryCount && perf.SampleCount >= e.MinSampleCount
	if e.Scenario == Server || e.FixedInterval {
		perf.judgeGenerator(rec, opts.MaxIssueDelay)
	}
	return perf
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
	if p.QueryCount == 0 || p.QueryCount > rec.queries {
		return
	}
	b, q := rec.query(p.QueryCount - 1)
	p.FinalQueryIssued = time.Duration(b.start[q])
	if b.late != nil {
		p.FinalQueryScheduled = time.Duration(b.start[q])
		p.FinalQueryIssued += time.Duration(b.late[q])
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
		p.PerfConstraintsMet = p.SampleLatency.Target <= e.TargetLatency
		p.EarlyStopping = earlyStoppingServer(e, p.Overlatency, p.QueryCount)
		return
	}
	p.TTFTMet = p.FirstToken.Target <= e.ServerTTFTLatency
	p.TPOTMet = p.TimePerOutputToken.Target <= e.ServerTPOTLatency
	p.PerfConstraintsMet = p.TTFTMet && p.TPOTMet
	over := countAbove(rec.timesPerToken, int64(e.ServerTPOTLatency))
	if p.EarlyStopping = earlyStoppingServer(e, over, p.QueryCount); p.EarlyStopping.Met {
		over = countAbove(rec.firstTokens, int64(e.ServerTTFTLatency))
		p.FirstTokenEarlyStopping = earlyStoppingServer(e, over, p.QueryCount)
	}
}

// judgeDuration compares what the reference compares: the slowest sample in Offline,
// the schedule in Server, the issue of the last query otherwise.
func (p *Performance) judgeDuration() {
	lasted := p.FinalQueryIssued
	switch p.Effective.Scenario {
	case Offline:
		lasted = p.SampleLatency.Max
	case Server:
		lasted = p.FinalQueryScheduled
	}
	p.MinDurationMet = lasted >= p.Effective.MinDuration
}

// judgeGenerator tells a late generator from a slow SUT. Latency counts from the
// scheduled instant, so a late generator never flatters the SUT, but a run in which
// it takes a large part of the latency bound says nothing about the SUT either.
func (p *Performance) judgeGenerator(rec *recorder, bound time.Duration) {
	p.IssueDelay, _ = latencyStats(rec.delays, max(1, p.SampleCount), p.Effective.TargetLatencyPercentile)
	p.MaxIssueDelay = bound
	if bound == 0 {
		p.MaxIssueDelay = p.Effective.TargetLatency / 2
	}
	p.GeneratorMet = p.MaxIssueDelay == 0 || p.IssueDelay.Target <= p.MaxIssueDelay
}

// Problems lists the constraints that are not met, in words, each with what was
// required, what was observed, and what to do.
func (p *Performance) Problems() []string {
	var list []string
	say := func(met bool, format string, args ...any) {
		if !met {
			list = append(list, fmt.Sprintf(format, args...))
		}
	}
	e := p.Effective
	if e.FixedInterval {
		say(p.PerfConstraintsMet, "intervals: %d of %d queries made the next interval be skipped, at most %.3g %% may; lower the samples per query",
			p.Skips, p.QueryCount, (1-e.TargetLatencyPercentile)*100)
	} else if !e.UseTokenLatencies {
		say(p.PerfConstraintsMet, "latency: the %g %% percentile is %v, the limit %v; lower the target QPS",
			e.TargetLatencyPercentile*100, p.SampleLatency.Target, e.TargetLatency)
	}
	say(p.TTFTMet, "time to first token: the percentile is %v, the limit %v; lower the target QPS", p.FirstToken.Target, e.ServerTTFTLatency)
	say(p.TPOTMet, "time per output token: the percentile is %v, the limit %v; lower the target QPS", p.TimePerOutputToken.Target, e.ServerTPOTLatency)
	say(p.MinDurationMet, "duration: the test must last %v; %s", e.MinDuration, durationAdvice(e.Scenario))
	say(p.MinQueriesMet, "queries: %d of at least %d queries and %d of %d samples were done; the events say why the test ended early",
		p.QueryCount, e.MinQueryCount, p.SampleCount, e.MinSampleCount)
	say(p.EarlyStopping.Met || e.WithoutEarlyStopping, "early stopping: %d queries are too few, at least %d are needed; raise min_query_count or min_duration",
		p.EarlyStopping.Processed, p.EarlyStopping.Needed)
	say(p.FirstTokenEarlyStopping.Met || !e.UseTokenLatencies || !p.EarlyStopping.Met || e.WithoutEarlyStopping,
		"early stopping of the first token: %d queries are too few, at least %d are needed", p.FirstTokenEarlyStopping.Processed, p.FirstTokenEarlyStopping.Needed)
	say(p.GeneratorMet, "generator: queries were issued up to %v late (percentile of the target), more than %v; "+
		"the machine was too busy to keep the schedule, the SUT is not to blame", p.IssueDelay.Target, p.MaxIssueDelay)
	return list
}

func durationAdvice(s Scenario) string {
	switch s {
	case Server, Offline:
		return "raise the target QPS"
	default:
		return "lower the expected latency, so that more queries are prepared"
	}
}
