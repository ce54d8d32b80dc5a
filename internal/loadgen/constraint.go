package loadgen

import (
	"math"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf/internal/units"
)

// A Constraint is a rule that a performance phase was judged by, as data: the requirement
// and the observation, both as numbers with units. Every text about a rule, in
// logs, reports and errors, is made from it.
type Constraint struct {
	ID ConstraintID `json:"id"`
	// Bound says on which side of Required the observation must lie.
	Bound    Bound    `json:"bound"`
	Required Quantity `json:"required"`
	// Observed is nil if nothing was measured.
	Observed *Quantity `json:"observed,omitempty"`
	// Percentile is the fraction of all values that must keep the bound; 0: one value.
	Percentile float64 `json:"percentile,omitempty"`
	Met        bool    `json:"met"`
	// ReferenceOnly marks a rule of the reference LoadGen that this package does not have: a
	// result may be VALID without it.
	ReferenceOnly bool `json:"reference_only,omitempty"`
	// Setting is the setting that asks for it; empty if the measurement does.
	Setting string `json:"setting,omitempty"`
	// Origin is where the setting comes from: a file, a flag, rules. This package does not know it.
	Origin string `json:"origin,omitempty"`
	Advice string `json:"advice,omitempty"` // what to do; empty if the rule is kept
}

// A ConstraintID names a kind of constraint.
type ConstraintID string

// The constraints, in the order in which they are listed. Not all exist in every scenario.
const (
	ConstraintLatency            ConstraintID = "latency"
	ConstraintFirstToken         ConstraintID = "time_to_first_token"
	ConstraintPerToken           ConstraintID = "time_per_output_token"
	ConstraintIntervals          ConstraintID = "intervals" // between queries, of rules before v2.0
	ConstraintDuration           ConstraintID = "duration"
	ConstraintQueries            ConstraintID = "queries"
	ConstraintSamples            ConstraintID = "samples"
	ConstraintEarlyStopping      ConstraintID = "early_stopping"
	ConstraintFirstTokenStopping ConstraintID = "first_token_early_stopping"
	ConstraintGenerator          ConstraintID = "generator"
	ConstraintExpectedLatency    ConstraintID = "expected_latency"
)

// String returns the name in words.
func (id ConstraintID) String() string { return strings.ReplaceAll(string(id), "_", " ") }

// A Bound is a side of a number.
type Bound string

// The two bounds. Both allow the number itself.
const (
	AtLeast Bound = "at_least"
	AtMost  Bound = "at_most"
)

// RequiredText is the requirement, e.g. "≤ 15 ms at the 99th percentile".
func (c Constraint) RequiredText() string { return c.required("≥", "≤") }

func (c Constraint) required(least, most string) string {
	text, _ := c.texts()
	if c.Percentile > 0 {
		text += " at the " + units.Ordinal(c.Percentile) + " percentile"
	}
	if c.Bound == AtMost {
		return most + " " + text
	}
	return least + " " + text
}

// ObservedText is the observation.
func (c Constraint) ObservedText() string {
	_, observed := c.texts()
	return observed
}

// texts are the two numbers, with all digits where fewer would hide that a rule is broken.
func (c Constraint) texts() (required, observed string) {
	if c.Observed == nil {
		return c.Required.String(), "nothing measured"
	}
	required, observed = c.Required.String(), c.Observed.String()
	if required == observed && !c.Met {
		return c.Required.exact(), c.Observed.exact()
	}
	return required, observed
}

// String is one sentence about the rule; if it was not kept, with advice.
func (c Constraint) String() string {
	text := c.ID.String() + ": " + c.ObservedText() + ", must be " + c.required("at least", "at most")
	if c.Advice != "" {
		text += "; " + c.Advice
	}
	return text
}

// Constraints lists every rule that the phase was judged by, and after those the rules of
// the reference that it broke without being judged by them.
func (p *Performance) Constraints() []Constraint {
	e := p.Effective
	var list []Constraint
	add := func(c Constraint) {
		if c.Met {
			c.Advice = ""
		}
		list = append(list, c)
	}

	// Latencies. A SUT is slow only where the generator kept its schedule.
	slow := "lower the target QPS, or make the system faster"
	if !p.GeneratorMet {
		slow = "measure again on a machine that is less busy: the generator's own delay is part of this latency"
	}
	latency := func(id ConstraintID, setting string, limit time.Duration, stats LatencyStats, met bool) {
		add(Constraint{
			ID: id, Bound: AtMost, Required: nanosecondsOf(limit), Observed: measured(stats.Count, nanosecondsOf(stats.Target)),
			Percentile: e.TargetLatencyPercentile, Met: met, Setting: setting, Advice: slow,
		})
	}
	switch {
	case e.FixedInterval:
		add(Constraint{
			ID: ConstraintIntervals, Bound: AtMost, Required: Quantity{1, "intervals"},
			Observed:   measured(p.QueryCount, Quantity{float64(p.IntervalsTarget), "intervals"}),
			Percentile: e.TargetLatencyPercentile, Met: p.PerfConstraintsMet, Setting: "samples_per_query",
			Advice: "lower the samples per query, or make the system faster",
		})
	case e.Scenario == Server && e.UseTokenLatencies:
		latency(ConstraintFirstToken, "ttft_latency", e.ServerTTFTLatency, p.FirstToken, p.TTFTMet)
		latency(ConstraintPerToken, "tpot_latency", e.ServerTPOTLatency, p.TimePerOutputToken, p.TPOTMet)
	case e.Scenario == Server:
		latency(ConstraintLatency, "target_latency", e.TargetLatency, p.SampleLatency, p.PerfConstraintsMet)
	}

	// Duration and counts.
	ended, cutShort := endings[p.ended]
	if !cutShort {
		ended = "the test ended early; the detail log says why"
	}
	short := ended
	switch {
	case cutShort:
	case e.PerformanceIssueUnique:
		short = "performance_issue_unique allows no more samples than are loaded: load more, or leave it out"
	case e.Scenario == Offline:
		short = "raise the target QPS, so that the query has more samples"
	case e.Scenario != Server: // whose schedule is never too short
		short = "lower the expected latency, so that more queries are prepared"
	}
	add(Constraint{
		ID: ConstraintDuration, Bound: AtLeast, Required: nanosecondsOf(e.MinDuration),
		Observed: measured(p.SampleCount, nanosecondsOf(p.judgedDuration())), Met: p.MinDurationMet, Setting: "min_duration", Advice: short,
	})
	count := func(id ConstraintID, required, observed uint64, unit string) {
		add(Constraint{
			ID: id, Bound: AtLeast, Required: Quantity{float64(required), unit}, Observed: &Quantity{float64(observed), unit},
			Met: observed >= required, Setting: "min_query_count", Advice: ended,
		})
	}
	count(ConstraintQueries, e.MinQueryCount, p.QueryCount, "queries")
	count(ConstraintSamples, e.MinSampleCount, p.SampleCount, "samples")

	// Early stopping. More queries help only where the share of those beyond the bound is small enough.
	few := "run longer: raise min_query_count or min_duration"
	if e.Scenario == Server && !p.PerfConstraintsMet {
		few = "keep the bound of the latencies first: while so many queries are beyond it, a longer run asks for more of them again"
	}
	stopping := func(id ConstraintID, es EarlyStopping) {
		add(Constraint{
			ID: id, Bound: AtLeast, Required: Quantity{float64(es.Needed), "queries"}, Observed: &Quantity{float64(es.Processed), "queries"},
			Met: es.Met, Advice: few,
		})
	}
	if e.Scenario != Offline && !e.WithoutEarlyStopping {
		stopping(ConstraintEarlyStopping, p.EarlyStopping)
		if e.UseTokenLatencies && p.EarlyStopping.Met { // the second is not looked at otherwise
			stopping(ConstraintFirstTokenStopping, p.FirstTokenEarlyStopping)
		}
	}

	if p.MaxIssueDelay > 0 {
		add(Constraint{
			ID: ConstraintGenerator, Bound: AtMost, Required: nanosecondsOf(p.MaxIssueDelay),
			Observed:   measured(p.GeneratorDelay.Count, nanosecondsOf(p.GeneratorDelay.Target)),
			Percentile: e.TargetLatencyPercentile, Met: p.GeneratorMet,
			Advice: "this machine was too busy to keep the schedule, which says nothing about the SUT: " +
				"leave a core to the load generator, or lower the load of the machine",
		})
	}
	if c, ok := p.expectedLatencyConstraint(); ok {
		add(c)
	}
	return list
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

// endings are the advice on a phase that was ended before its time.
var endings = map[ending]string{
	endMaxQueries:  "max_query_count ended the test: raise it, or leave it out",
	endMaxDuration: "max_duration ended the test: raise it, or leave it out",
	endOutstanding: "the test was ended because too many queries were outstanding: lower the target QPS, or make the system faster",
	endStopped:     "the test was stopped before its end; the detail log says why",
}

// expectedLatencyConstraint asks for the expected latency with which the reference would have prepared as many
// queries as this phase has issued. It returns false if those that the settings ask for were enough. The
// reference ends such a run without them, and calls it INVALID; here more are drawn.
func (p *Performance) expectedLatencyConstraint() (Constraint, bool) {
	if p.Prepared == 0 || p.QueryCount <= p.Prepared || p.Effective.FixedInterval {
		return Constraint{}, false
	}
	exact := 2 * float64(p.Effective.TargetDuration) / float64(p.QueryCount-2) // see traffic.wanted
	digit := math.Pow(10, math.Floor(math.Log10(exact))-2)
	wanted := math.Floor(exact/digit) * digit // three digits, rounded to the safe side
	return Constraint{
		ID: ConstraintExpectedLatency, Bound: AtMost, Required: Quantity{wanted, "ns"}, Observed: &Quantity{1e9 / p.Effective.TargetQPS, "ns"},
		ReferenceOnly: true, Setting: "target_latency",
		Advice: "the reference LoadGen would have run out of prepared queries and said INVALID: lower the expected latency",
	}, true
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

// A Quantity is a number with its unit: "ns", or the things counted, in the plural.
type Quantity struct {
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
}

const unitNanoseconds = "ns"

func nanosecondsOf(d time.Duration) Quantity { return Quantity{float64(d), unitNanoseconds} }

// String writes times with about four digits, and other numbers with all of those before the point.
func (q Quantity) String() string {
	if singular := things[q.Unit]; singular != "" {
		return units.Count(q.Value, singular)
	}
	return units.Text(q.Value, q.Unit)
}

// things are the units that are counted, with their singulars.
var things = map[string]string{"queries": "query", "samples": "sample", "intervals": "interval"}

// exact writes the number with all its digits.
func (q Quantity) exact() string {
	if q.isTime() {
		return units.ExactDuration(time.Duration(q.Value))
	}
	return units.With(units.Exact(q.Value), q.Unit)
}

// isTime reports whether the number is a time that a time.Duration can hold.
func (q Quantity) isTime() bool {
	return q.Unit == unitNanoseconds && math.Abs(q.Value) < math.MaxInt64
}
