package loadgen

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// A Result is the outcome of a test.
type Result struct {
	SUTName                   string
	NamingTook                time.Duration // of SUT.Name, as the reference logs it
	QSLName                   string
	QSLTotalSampleCount       int
	QSLPerformanceSampleCount int

	Requested TestSettings
	Effective EffectiveSettings

	StartTime time.Time
	Events    []Event // in order, with the reference's keys

	AccuracySamples uint64       // answered in accuracy mode
	accuracy        []*recorder  // of the phases of accuracy mode
	Performance     *Performance // nil if no performance phase was run
	Peak            []PeakStep   // FindPeakPerformance: every rate that was tried

	Interrupted error   // why the test was stopped early from outside; nil: it was not
	Faults      []error // mistakes of the SUT, the QSL or the accuracy log
}

// Valid reports whether the result may be used: the test ran to its end, the SUT made no
// mistake, and every constraint is met.
func (r *Result) Valid() bool {
	if r.Interrupted != nil || len(r.Faults) > 0 {
		return false
	}
	return r.Performance == nil || r.Performance.Valid()
}

// Problems lists, in words, why a result is not VALID: faults, broken rules, and the interruption of the test.
func (r *Result) Problems() []string {
	var list []string
	for _, fault := range r.Faults {
		list = append(list, fault.Error())
	}
	if r.Performance != nil {
		list = append(list, r.Performance.Problems()...)
	}
	if r.Interrupted != nil {
		list = append(list, fmt.Sprintf("the test was stopped early: %v", r.Interrupted))
	}
	return list
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
	// Prepared is how many queries the reference would have drawn before the start, in
	// SingleStream and MultiStream. Here more are drawn when they run out.
	Prepared uint64

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

	// In Server and at fixed intervals, how much later than scheduled queries were issued, and
	// how much of that was the generator's own delay; the rest is the SUT's, which was still
	// inside IssueQuery. MaxIssueDelay bounds the generator's part; 0: no bound.
	IssueDelay     LatencyStats
	GeneratorDelay LatencyStats
	MaxIssueDelay  time.Duration
	IssuePriority  string // of the issue threads, in words; empty where nothing is scheduled
	GC             GCStats

	rec   *recorder
	ended ending
}

// GCStats is the work of this process's garbage collector during a phase.
type GCStats struct {
	Cycles int
	Pause  time.Duration // all goroutines stopped, summed
}

// Valid reports whether every constraint is met, but for those of the reference alone.
func (p *Performance) Valid() bool {
	return !slices.ContainsFunc(p.Constraints(), func(c Constraint) bool { return !c.Met && !c.ReferenceOnly })
}

// EarlyStoppingMet reports whether the run had enough queries to trust the percentile.
func (p *Performance) EarlyStoppingMet() bool {
	if p.Effective.WithoutEarlyStopping {
		return true
	}
	if p.Effective.UseTokenLatencies {
		return p.EarlyStopping.Met && p.FirstTokenEarlyStopping.Met
	}
	return p.EarlyStopping.Met
}

// HasPerfConstraints reports whether the scenario bounds a latency.
func (p *Performance) HasPerfConstraints() bool {
	return p.Effective.Scenario == Server || p.Effective.FixedInterval
}

// ScheduledQPS is the rate at which Server queries were scheduled: one less than
// their number, because the last one only marks the end of the interval. Like all rates
// it is NaN if nothing was measured.
func (p *Performance) ScheduledQPS() float64 { return p.lessOnePer(p.FinalQueryScheduled) }

// CompletedQPS is the rate up to the completion of the last issued Server query.
func (p *Performance) CompletedQPS() float64 { return p.lessOnePer(p.FinalQueryCompleted) }

// QPSWithOverhead is the SingleStream rate of issuing.
func (p *Performance) QPSWithOverhead() float64 { return p.lessOnePer(p.FinalQueryIssued) }

// QPSWithoutOverhead is the reciprocal of the mean latency.
func (p *Performance) QPSWithoutOverhead() float64 { return rate(1, p.SampleLatency.Mean) }

// SamplesPerSecond is the Offline result.
func (p *Performance) SamplesPerSecond() float64 {
	return rate(float64(p.SampleCount), p.SampleLatency.Max)
}

// InferredTokensPerSecond estimates the token rate from the sample rate, in Server and Offline.
func (p *Performance) InferredTokensPerSecond() float64 {
	samples, factor := float64(p.SampleCount), float64(p.Effective.TokenLatencyScalingFactor)
	if p.Effective.Scenario == Server {
		return rate((samples-1)*factor, p.FinalQueryCompleted)
	}
	return rate(samples*factor, p.SampleLatency.Max)
}

// lessOnePer counts samples after the first one, which begins the time: of one sample it is 0, as in the reference.
func (p *Performance) lessOnePer(d time.Duration) float64 { return rate(float64(p.SampleCount)-1, d) }

func rate(n float64, d time.Duration) float64 {
	if n < 0 || d <= 0 {
		return math.NaN()
	}
	return n / seconds(d)
}

// EachSample passes the record of every issued sample to f, in the order of the
// traffic.
func (p *Performance) EachSample(f func(SampleRecord)) {
	p.rec.eachSample(f)
}

// A SampleRecord is the measurement of one sample. Instants count from the start of
// the phase.
type SampleRecord struct {
	QuerySample
	Query     uint64        // number of its query
	Start     time.Duration // from where the latency counts
	Issued    time.Duration
	Completed time.Duration // negative if it was never completed
	// FirstToken is the instant of the first token; negative if none was reported.
	FirstToken time.Duration
	Tokens     int           // as reported
	Paused     time.Duration // of the time after the first token, none of the tokens
	// GeneratorDelay is the generator's own part of the time from Start to Issued.
	GeneratorDelay time.Duration
}

// PerToken is the mean time of the tokens after the first; 0 without them.
func (s SampleRecord) PerToken() time.Duration {
	if s.Tokens < leastTokens {
		return 0
	}
	return (s.Completed - s.FirstToken - s.Paused) / time.Duration(s.Tokens-1)
}

// EachAccuracySample passes the record of every sample that was issued in accuracy mode to
// f, in the order of the traffic. Instants count from StartTime here.
func (r *Result) EachAccuracySample(f func(SampleRecord)) {
	for _, rec := range r.accuracy {
		offset := rec.started.Sub(r.StartTime)
		rec.eachSample(func(s SampleRecord) { f(s.After(offset)) })
	}
}

// After returns the record with all its instants later by an offset.
func (s SampleRecord) After(offset time.Duration) SampleRecord {
	s.Start += offset
	s.Issued += offset
	for _, instant := range []*time.Duration{&s.Completed, &s.FirstToken} {
		if *instant >= 0 {
			*instant += offset
		}
	}
	return s
}
