package loadgen

import (
	"fmt"
	"math"
	"time"

	"github.com/mlperf-go/mlperf/internal/units"
)

// Options are the parameters of a test that are not settings of LoadGen. The zero value is useful.
type Options struct {
	// AccuracyLog receives the responses to keep; nil drops them.
	AccuracyLog AccuracyLog
	// Progress is called about once per ProgressEvery while queries are issued, from
	// a goroutine of its own, never twice at the same time.
	Progress      func(Progress)
	ProgressEvery time.Duration // default 500 ms
	// StallTimeout is how long the SUT may complete none of its samples,
	// or stay inside IssueQuery, before the test gives it up. Default: 5 minutes.
	StallTimeout time.Duration
	// Working counts steps of work on samples that are not complete, for instance tokens. The SUT has not
	// stalled while it grows: a long answer may take minutes. nil: only completed samples count.
	Working func() int64
	// MaxIssueDelay bounds how late the generator may issue Server queries by its own fault, at
	// the test's target percentile. Default: half the target latency, or with token
	// latencies half the bound of the first token.
	MaxIssueDelay time.Duration
	// MaxOutstanding ends a Server performance phase, INVALID, when more queries
	// are outstanding and the settings give no limit; 0: it continues.
	MaxOutstanding uint64
	// MaxDrain is how long such a test then waits for answers. Samples without one are dropped, which is a fault; 0: as
	// long as it takes.
	MaxDrain time.Duration
	// LogTimeout is how long the accuracy log may take for one response before it is given up,
	// and the run with it. Default: 30 s.
	LogTimeout time.Duration
	// LogBuffer is how many bytes of responses may wait for the accuracy log. Default: 512 MiB.
	LogBuffer int64
	// Checkpoint receives the result so far, marked as that of an interrupted test: when
	// the first samples are loaded, and then every CheckpointEvery while queries are issued. Written to
	// a file, it survives a program that is killed. It is called from
	// a goroutine of its own, never twice at the same time, and may take its time.
	Checkpoint      func(*Result)
	CheckpointEvery time.Duration // default 1 minute
	// DropInterrupted leaves out what an interrupted test has measured: the statistics of ten million samples take a second.
	DropInterrupted bool
	// NewPacer makes the pacer of an issue thread; nil: NewPacer(DefaultSpin, true).
	NewPacer func() Pacer
}

func (o Options) withDefaults() Options {
	if o.ProgressEvery <= 0 {
		o.ProgressEvery = 500 * time.Millisecond
	}
	if o.StallTimeout <= 0 {
		o.StallTimeout = 5 * time.Minute
	}
	if o.Working == nil {
		o.Working = func() int64 { return 0 }
	}
	if o.CheckpointEvery <= 0 {
		o.CheckpointEvery = time.Minute
	}
	if o.LogTimeout <= 0 {
		o.LogTimeout = 30 * time.Second
	}
	if o.LogBuffer <= 0 {
		o.LogBuffer = 512 << 20
	}
	if o.NewPacer == nil {
		o.NewPacer = func() Pacer { return NewPacer(DefaultSpin, true) }
	}
	return o
}

// Progress describes a running phase.
type Progress struct {
	Accuracy  bool // the phase
	Set, Sets int  // which loaded set, counted from 1, of how many
	Elapsed   time.Duration
	// PlannedDuration is how long the phase lasts if all goes as planned; 0 where the
	// number of samples decides.
	PlannedDuration time.Duration
	Issued          uint64 // queries
	// AllIssued says that in Server no query follows: the test waits for the answers of those that are outstanding.
	AllIssued bool
	// DropIn is how long these answers are still awaited; 0: as long as it takes.
	DropIn time.Duration
	// Planned is the number of queries if the SUT is as fast as expected;
	// SingleStream and MultiStream may have more, or fewer.
	Planned   uint64
	Completed uint64 // samples
	Samples   uint64 // of all planned queries
	// Percentiles of the latency of recent queries, one of them the test's own; 0 in Offline.
	RecentP50, RecentP90, RecentP99, RecentTarget time.Duration
	// RecentWithin is the share of recent queries that kept the latency bound; 0 without a bound.
	RecentWithin float64
	// Test are the settings of the test. They must not be changed.
	Test *EffectiveSettings
}

// Needed is how many queries early stopping asks for if latencies stay as they are; 0: it does not apply, or no number suffices.
func (p Progress) Needed() uint64 {
	t := p.Test
	if t == nil || p.Accuracy || t.WithoutEarlyStopping || t.FixedInterval || t.UseTokenLatencies ||
		!(t.TargetLatencyPercentile > 0 && t.TargetLatencyPercentile < 1) {
		return 0
	}
	switch {
	case t.Scenario == SingleStream, t.Scenario == MultiStream:
		return NeededQueries(1, t.TargetLatencyPercentile)
	case t.Scenario == Server && p.RecentWithin > t.TargetLatencyPercentile:
		return NeededQueries(uint64((1-p.RecentWithin)*float64(p.Issued)), t.TargetLatencyPercentile)
	}
	return 0
}

// Expected is how many queries the test has at its end if it goes on as it does.
func (p Progress) Expected() uint64 {
	t, n := p.Test, p.Planned
	if t == nil || p.Accuracy {
		return n
	}
	if stream := t.Scenario == SingleStream || t.Scenario == MultiStream; stream && !t.FixedInterval && !t.PerformanceIssueUnique && p.Elapsed > 0 {
		// Each query waits for the one before, so that time and pace decide.
		atPace := float64(p.Issued) * p.PlannedDuration.Seconds() / p.Elapsed.Seconds()
		n = max(p.Issued, t.MinQueryCount, uint64(min(atPace, math.MaxInt64)))
	}
	if t.MaxQueryCount > 0 {
		n = min(n, t.MaxQueryCount)
	}
	return n
}

// IssuedSamples is how many samples the issued queries have.
func (p Progress) IssuedSamples() uint64 {
	if p.Planned == 0 {
		return 0
	}
	return p.Issued * (p.Samples / p.Planned)
}

// Waiting is how many samples wait for their answers.
func (p Progress) Waiting() uint64 { return max(p.IssuedSamples(), p.Completed) - p.Completed }

// Rate is the number of samples per second so far.
func (p Progress) Rate() float64 {
	if p.Elapsed <= 0 {
		return 0
	}
	return float64(p.Completed) / p.Elapsed.Seconds()
}

// Left is how long the test still takes: its planned time and its queries; 0: not known.
func (p Progress) Left() time.Duration {
	if p.AllIssued {
		if p.DropIn > 0 {
			return p.DropIn
		}
		if p.Completed == 0 || p.Samples <= p.Completed {
			return 0
		}
		return min(Seconds(float64(p.Samples-p.Completed)/p.Rate()), math.MaxInt64-max(p.Elapsed, 0))
	}
	left := p.PlannedDuration - p.Elapsed
	if p.Test != nil && p.Test.Scenario == Offline && p.Samples > p.Completed && p.Completed > 0 {
		left = max(left, Seconds(float64(p.Samples-p.Completed)/p.Rate()))
	}
	if queries := p.Expected(); queries > p.Issued && p.Issued > 0 {
		left = max(left, Seconds(float64(queries-p.Issued)*p.Elapsed.Seconds()/float64(p.Issued)))
	}
	return min(max(left, 0), math.MaxInt64-max(p.Elapsed, 0)) // so that the sum of both is a time
}

// Seconds is a time, up to the longest.
func Seconds(s float64) time.Duration {
	if s >= math.MaxInt64/1e9 {
		return math.MaxInt64
	}
	return time.Duration(s * 1e9)
}

// Bound is the bound of latencies, and the share of queries that must keep it; 0: none.
func (p Progress) Bound() (time.Duration, float64) {
	if p.Test == nil || p.Accuracy || p.Test.UseTokenLatencies || p.Test.TargetLatency <= 0 {
		return 0, 0
	}
	return p.Test.TargetLatency, p.Test.TargetLatencyPercentile
}

// Outlook is the verdict if latencies stay as they are, VALID or INVALID, and the reason; empty: not enough data.
func (p Progress) Outlook() (verdict, reason string) {
	bound, percentile := p.Bound()
	switch needed, expected := p.Needed(), p.Expected(); {
	case p.RecentTarget == 0:
	case bound > 0 && p.RecentTarget > bound:
		return "INVALID", fmt.Sprintf("%s is %s × the bound", units.Percentile(percentile),
			units.Exact(units.Rounded(p.RecentTarget.Seconds()/bound.Seconds(), 2)))
	case needed > expected:
		return "INVALID", fmt.Sprintf("early stopping needs %s, the test will have %s", units.Count(needed, "query"), units.Number(float64(expected)))
	case bound > 0:
		return "VALID", ""
	}
	return "", ""
}
