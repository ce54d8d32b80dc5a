package loadgen

import (
	"math"
	"time"
)

// This file lists the rules that a phase is judged by.

// Constraints lists every rule that the phase was judged by, and after those the rules of
// the reference that it broke without being judged by them.
func (p *Performance) Constraints() []Constraint {
	var list []Constraint
	list = append(list, p.latencyConstraints()...)
	list = append(list, p.durationConstraint(), p.queryConstraint(), p.sampleConstraint())
	list = append(list, p.stoppingConstraints()...)
	if p.MaxIssueDelay > 0 {
		list = append(list, p.generatorConstraint())
	}
	if wanted, ok := p.wantedExpectedLatency(); ok {
		list = append(list, p.expectedLatencyConstraint(wanted))
	}
	for i := range list {
		if list[i].Met {
			list[i].Advice = ""
		}
	}
	return list
}

func (p *Performance) latencyConstraints() []Constraint {
	e := p.Effective
	bound := func(id ConstraintID, setting string, limit time.Duration, stats LatencyStats, met bool) Constraint {
		return Constraint{
			ID: id, Bound: AtMost, Required: nanosecondsOf(limit), Observed: measured(stats.Count, nanosecondsOf(stats.Target)),
			Percentile: e.TargetLatencyPercentile, Met: met, Setting: setting, Advice: p.slowAdvice(),
		}
	}
	switch {
	case e.FixedInterval:
		return []Constraint{{
			ID: ConstraintIntervals, Bound: AtMost, Required: Quantity{1, "intervals"},
			Observed:   measured(p.QueryCount, Quantity{float64(p.IntervalsTarget), "intervals"}),
			Percentile: e.TargetLatencyPercentile, Met: p.PerfConstraintsMet, Setting: "samples_per_query",
			Advice: "lower the samples per query, or make the system faster",
		}}
	case e.Scenario != Server:
		return nil
	case e.UseTokenLatencies:
		return []Constraint{
			bound(ConstraintFirstToken, "ttft_latency", e.ServerTTFTLatency, p.FirstToken, p.TTFTMet),
			bound(ConstraintPerToken, "tpot_latency", e.ServerTPOTLatency, p.TimePerOutputToken, p.TPOTMet),
		}
	}
	return []Constraint{bound(ConstraintLatency, "target_latency", e.TargetLatency, p.SampleLatency, p.PerfConstraintsMet)}
}

// slowAdvice blames the SUT only where the generator kept its schedule.
func (p *Performance) slowAdvice() string {
	if !p.GeneratorMet {
		return "measure again on a machine that is less busy: the generator's own delay is part of this latency"
	}
	return "lower the target QPS, or make the system faster"
}

// judgedDuration is how long the phase lasted as the reference measures it: the slowest
// sample in Offline, the schedule in Server, the issue of the last query otherwise.
func (p *Performance) judgedDuration() time.Duration {
	switch p.Effective.Scenario {
	case Offline:
		return p.SampleLatency.Max
	case Server:
		return p.FinalQueryScheduled
	}
	return p.FinalQueryIssued
}

func (p *Performance) durationConstraint() Constraint {
	return Constraint{
		ID: ConstraintDuration, Bound: AtLeast, Required: nanosecondsOf(p.Effective.MinDuration),
		Observed: measured(p.SampleCount, nanosecondsOf(p.judgedDuration())), Met: p.MinDurationMet, Setting: "min_duration",
		Advice: p.shortAdvice(),
	}
}

// shortAdvice says why there was too little traffic, and what would give more.
func (p *Performance) shortAdvice() string {
	if advice, ok := endings[p.ended]; ok {
		return advice
	}
	switch {
	case p.Effective.PerformanceIssueUnique:
		return "performance_issue_unique allows no more samples than are loaded: load more, or leave it out"
	case p.Effective.Scenario == Server: // its schedule is never too short
		return endedEarly
	case p.Effective.Scenario == Offline:
		return "raise the target QPS, so that the query has more samples"
	}
	return "lower the expected latency, so that more queries are prepared"
}

const endedEarly = "the test ended early; the detail log says why"

// endings are what to do about a phase that was ended before its time.
var endings = map[ending]string{
	endMaxQueries:  "max_query_count ended the test: raise it, or leave it out",
	endMaxDuration: "max_duration ended the test: raise it, or leave it out",
	endOutstanding: "the test was ended because too many queries were outstanding: lower the target QPS, or make the system faster",
	endStopped:     "the test was stopped before its end; the detail log says why",
}

func (p *Performance) queryConstraint() Constraint {
	return p.countConstraint(ConstraintQueries, p.Effective.MinQueryCount, p.QueryCount, "queries")
}

func (p *Performance) sampleConstraint() Constraint {
	return p.countConstraint(ConstraintSamples, p.Effective.MinSampleCount, p.SampleCount, "samples")
}

func (p *Performance) countConstraint(id ConstraintID, required, observed uint64, unit string) Constraint {
	advice := endedEarly
	if text, ok := endings[p.ended]; ok {
		advice = text
	}
	return Constraint{
		ID: id, Bound: AtLeast, Required: Quantity{float64(required), unit}, Observed: &Quantity{float64(observed), unit},
		Met: observed >= required, Setting: "min_query_count", Advice: advice,
	}
}

func (p *Performance) stoppingConstraints() []Constraint {
	e := p.Effective
	if e.Scenario == Offline || e.WithoutEarlyStopping {
		return nil
	}
	criterion := func(id ConstraintID, es EarlyStopping) Constraint {
		return Constraint{
			ID: id, Bound: AtLeast, Required: Quantity{float64(es.Needed), "queries"}, Observed: &Quantity{float64(es.Processed), "queries"},
			Met: es.Met, Advice: p.fewAdvice(),
		}
	}
	list := []Constraint{criterion(ConstraintEarlyStopping, p.EarlyStopping)}
	if e.UseTokenLatencies && p.EarlyStopping.Met { // the second is not looked at otherwise
		list = append(list, criterion(ConstraintFirstTokenStopping, p.FirstTokenEarlyStopping))
	}
	return list
}

// fewAdvice asks for more queries only where the share of those beyond the bound is small enough that some number of them is enough.
func (p *Performance) fewAdvice() string {
	kept := p.PerfConstraintsMet
	if p.Effective.UseTokenLatencies {
		kept = p.TTFTMet && p.TPOTMet
	}
	if p.Effective.Scenario == Server && !kept {
		return "keep the bound of the latencies first: while so many queries are beyond it, a longer run asks for more of them again"
	}
	return "run longer: raise min_query_count or min_duration"
}

func (p *Performance) generatorConstraint() Constraint {
	return Constraint{
		ID: ConstraintGenerator, Bound: AtMost, Required: nanosecondsOf(p.MaxIssueDelay),
		Observed:   measured(p.GeneratorDelay.Count, nanosecondsOf(p.GeneratorDelay.Target)),
		Percentile: p.Effective.TargetLatencyPercentile, Met: p.GeneratorMet,
		Advice: "this machine was too busy to keep the schedule, which says nothing about the SUT: " +
			"leave a core to the load generator, or lower the load of the machine",
	}
}

// wantedExpectedLatency is the expected latency, in nanoseconds, below which the reference
// would have prepared as many queries as this phase has issued. It returns false if those
// that the settings ask for were enough. The reference ends such a run without them, and
// calls it INVALID; here more are drawn.
func (p *Performance) wantedExpectedLatency() (float64, bool) {
	if p.Prepared == 0 || p.QueryCount <= p.Prepared || p.Effective.FixedInterval {
		return 0, false
	}
	exact := 2 * float64(p.Effective.TargetDuration) / float64(p.QueryCount-2) // see traffic.wanted
	digit := math.Pow(10, math.Floor(math.Log10(exact))-2)
	return math.Floor(exact/digit) * digit, true // three digits, rounded to the safe side
}

func (p *Performance) expectedLatencyConstraint(wanted float64) Constraint {
	return Constraint{
		ID: ConstraintExpectedLatency, Bound: AtMost, Required: Quantity{wanted, "ns"}, Observed: &Quantity{1e9 / p.Effective.TargetQPS, "ns"},
		ReferenceOnly: true, Setting: "target_latency",
		Advice: "the reference LoadGen would have run out of prepared queries and said INVALID: lower the expected latency",
	}
}

// measured is a quantity if there were any values to measure it from.
func measured(n uint64, q Quantity) *Quantity {
	if n == 0 {
		return nil
	}
	return &q
}

// Problems lists the rules that were not kept, in words.
func (p *Performance) Problems() []string {
	var list []string
	for _, c := range p.Constraints() {
		if !c.Met && !c.ReferenceOnly {
			list = append(list, c.String())
		}
	}
	return list
}
