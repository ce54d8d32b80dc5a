package report

import (
	"fmt"
	"math"
	"time"

	"github.com/mlperf-go/mlperf/internal/loadgen"
)

// Fill takes over everything that a finished test knows.
func (r *Results) Fill(test *loadgen.Result, origin func(key string) string) {
	r.Scenario = test.Effective.Scenario.String()
	r.Mode = test.Effective.Mode.String()
	r.Result = Valid
	if !test.Valid() {
		r.Result = Invalid
	}
	for _, fault := range test.Faults {
		r.Problems = append(r.Problems, fault.Error())
	}
	for _, e := range test.Events {
		if e.IsWarning {
			r.Warnings = append(r.Warnings, fmt.Sprint(e.Value))
		}
	}
	if p := test.Performance; p != nil {
		r.Problems = append(r.Problems, p.Problems()...)
		r.Constraints = constraints(p, origin)
		r.Performance = performance(p)
		r.Metric = metric(p)
		r.Peak = referencePeak(test.Peak)
	}
	if test.Interrupted != nil {
		r.Result = Interrupted
		r.Problems = append(r.Problems, fmt.Sprintf("the test was stopped early: %v", test.Interrupted))
	}
}

// referencePeak is what LoadGen's own search found, if there was one.
func referencePeak(steps []loadgen.PeakStep) *Peak {
	if len(steps) == 0 {
		return nil
	}
	peak := &Peak{Unit: "queries/s"}
	for _, s := range steps {
		peak.Steps = append(peak.Steps, PeakStep{Load: s.TargetQPS, Met: s.PerfConstraintsMet, Full: true})
		if s.PerfConstraintsMet {
			peak.Best = max(peak.Best, s.TargetQPS)
		}
	}
	return peak
}

// metric is the number by which the rules compare systems: tokens of models that measure
// token latencies, samples of others, and latencies in the stream scenarios.
func metric(p *loadgen.Performance) *Metric {
	e := p.Effective
	percentile := ordinal(percent(e.TargetLatencyPercentile)) + " percentile"
	switch e.Scenario {
	case loadgen.SingleStream:
		return latencyMetric(percentile+" latency", p, p.SampleLatency)
	case loadgen.MultiStream:
		if e.FixedInterval {
			return &Metric{Name: "streams", Value: float64(e.SamplesPerQuery), Unit: "samples per query"}
		}
		return latencyMetric(percentile+" query latency", p, p.QueryLatency)
	case loadgen.Server:
		if e.UseTokenLatencies {
			return &Metric{Name: "completed tokens", Value: perSecond(p.TokenCount, p.FinalQueryCompleted), Unit: "tokens/s"}
		}
		return &Metric{Name: "completed samples", Value: finite(p.CompletedQPS()), Unit: "samples/s"}
	default:
		if e.UseTokenLatencies {
			return &Metric{Name: "tokens", Value: perSecond(p.TokenCount, p.SampleLatency.Max), Unit: "tokens/s"}
		}
		return &Metric{Name: "samples", Value: finite(p.SamplesPerSecond()), Unit: "samples/s"}
	}
}

// latencyMetric prefers the bound that early stopping gives, as the rules do. With token
// latencies that would be one of the time per token.
func latencyMetric(name string, p *loadgen.Performance, stats loadgen.LatencyStats) *Metric {
	if es := p.EarlyStopping; es.Met && !p.Effective.UseTokenLatencies {
		return &Metric{Name: name + " (early stopping estimate)", Value: milliseconds(es.Estimate), Unit: "ms"}
	}
	return &Metric{Name: name, Value: milliseconds(stats.Target), Unit: "ms"}
}

// percent turns a fraction into percent, without the digits that floating point adds.
func percent(fraction float64) float64 { return math.Round(fraction*1e6) / 1e4 }

// ordinal writes 90 as 90th and 92 as 92nd.
func ordinal(x float64) string {
	suffix := "th"
	if n := int(x); float64(n) == x && n%100/10 != 1 {
		switch n % 10 {
		case 1:
			suffix = "st"
		case 2:
			suffix = "nd"
		case 3:
			suffix = "rd"
		}
	}
	return fmt.Sprintf("%g%s", x, suffix)
}

func perSecond(count int64, d time.Duration) float64 { return finite(float64(count) / d.Seconds()) }

func milliseconds(d time.Duration) float64 { return float64(d) / 1e6 }

// finite replaces what JSON cannot hold by 0.
func finite(x float64) float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return 0
	}
	return x
}

func performance(p *loadgen.Performance) *Performance {
	out := &Performance{
		Queries:     p.QueryCount,
		Samples:     p.SampleCount,
		Overlatency: p.Overlatency,
		DurationNS:  int64(p.LastCompletion),
		LatencyNS:   NewLatencies(p.SampleLatency),
		Tokens:      p.TokenCount,
		GCCycles:    p.GC.Cycles,
		GCPauseNS:   int64(p.GC.Pause),

		IssuePriority: p.IssuePriority,
	}
	out.SamplesPerSecond = perSecond(int64(p.SampleCount), p.LastCompletion)
	optional := func(s loadgen.LatencyStats) *Latencies {
		if s.Count == 0 {
			return nil
		}
		l := NewLatencies(s)
		return &l
	}
	out.QueryLatencyNS = optional(p.QueryLatency)
	out.FirstTokenNS = optional(p.FirstToken)
	out.TimePerOutputTokenNS = optional(p.TimePerOutputToken)
	if p.Effective.Scenario == loadgen.Server {
		out.ScheduledPerSecond = finite(p.ScheduledQPS())
	}
	out.IssueDelayNS = optional(p.IssueDelay)
	if es := p.EarlyStopping; es.Estimate > 0 && !p.Effective.UseTokenLatencies {
		out.EarlyStopping = map[string]float64{
			"percentile":  es.Percentile,
			"estimate_ns": float64(es.Estimate),
		}
		if es.MultiStreamEstimate > 0 {
			out.EarlyStopping["multi_stream_estimate_ns"] = float64(es.MultiStreamEstimate)
		}
	}
	return out
}

// constraints lists every rule that the test was judged by.
func constraints(p *loadgen.Performance, origin func(string) string) []Constraint {
	e := p.Effective
	var list []Constraint
	add := func(c Constraint, key string) {
		if key != "" {
			c.Origin = origin(key)
		}
		if c.Met {
			c.Advice = ""
		}
		list = append(list, c)
	}
	if e.Scenario == loadgen.Server {
		for _, c := range latencyConstraints(p) {
			add(c.Constraint, c.key)
		}
	}
	if e.FixedInterval {
		add(intervalConstraint(p), "samples_per_query")
	}
	add(durationConstraint(p), "min_duration")
	add(Constraint{
		Name:     "queries",
		Required: fmt.Sprintf("≥ %d with ≥ %d samples", e.MinQueryCount, e.MinSampleCount),
		Observed: fmt.Sprintf("%d with %d samples", p.QueryCount, p.SampleCount),
		Met:      p.MinQueriesMet,
		Advice:   "the test ended early; the detail log says why",
	}, "min_query_count")
	if e.Scenario != loadgen.Offline && !e.WithoutEarlyStopping {
		add(earlyStoppingConstraint(p), "")
	}
	if p.MaxIssueDelay > 0 {
		add(Constraint{
			Name:     "generator",
			Required: fmt.Sprintf("issue delay ≤ %v", round(p.MaxIssueDelay)),
			Observed: fmt.Sprintf("%v at the target percentile", round(p.IssueDelay.Target)),
			Met:      p.GeneratorMet,
			Advice:   "leave a core to the load generator, or lower the load of the machine",
		}, "")
	}
	return list
}

// A keyed constraint knows the setting that sets it.
type keyed struct {
	Constraint
	key string
}

func latencyConstraints(p *loadgen.Performance) []keyed {
	e := p.Effective
	bound := func(name, key string, observed, limit time.Duration, met bool) keyed {
		return keyed{Constraint{
			Name:     name,
			Required: fmt.Sprintf("%g %% within %v", percent(e.TargetLatencyPercentile), round(limit)),
			Observed: fmt.Sprintf("%v", round(observed)),
			Met:      met,
			Advice:   "lower the target QPS, or make the system faster",
		}, key}
	}
	if !e.UseTokenLatencies {
		return []keyed{bound("latency", "target_latency", p.SampleLatency.Target, e.TargetLatency, p.PerfConstraintsMet)}
	}
	return []keyed{
		bound("time to first token", "ttft_latency", p.FirstToken.Target, e.ServerTTFTLatency, p.TTFTMet),
		bound("time per output token", "tpot_latency", p.TimePerOutputToken.Target, e.ServerTPOTLatency, p.TPOTMet),
	}
}

// intervalConstraint is the rule of MultiStream before v2.0.
func intervalConstraint(p *loadgen.Performance) Constraint {
	e := p.Effective
	return Constraint{
		Name:     "intervals",
		Required: fmt.Sprintf("%g %% of queries answered within %v", percent(e.TargetLatencyPercentile), round(e.TargetLatency)),
		Observed: fmt.Sprintf("%d of %d made the next interval be skipped", p.Skips, p.QueryCount),
		Met:      p.PerfConstraintsMet,
		Advice:   "lower the samples per query, or make the system faster",
	}
}

func durationConstraint(p *loadgen.Performance) Constraint {
	e := p.Effective
	lasted, advice := p.FinalQueryIssued, "lower the expected latency, so that more queries are prepared"
	switch e.Scenario {
	case loadgen.Server:
		lasted, advice = p.FinalQueryScheduled, "raise the target QPS, so that more queries are prepared"
	case loadgen.Offline:
		lasted, advice = p.SampleLatency.Max, "raise the target QPS, so that the query has more samples"
	}
	return Constraint{
		Name:     "duration",
		Required: fmt.Sprintf("≥ %v", round(e.MinDuration)),
		Observed: fmt.Sprintf("%v", round(lasted)),
		Met:      p.MinDurationMet,
		Advice:   advice,
	}
}

func earlyStoppingConstraint(p *loadgen.Performance) Constraint {
	es := p.EarlyStopping
	if p.Effective.UseTokenLatencies && es.Met {
		es = p.FirstTokenEarlyStopping
	}
	return Constraint{
		Name:     "early stopping",
		Required: fmt.Sprintf("≥ %d queries", es.Needed),
		Observed: fmt.Sprintf("%d queries", es.Processed),
		Met:      p.EarlyStoppingMet(),
		Advice:   "run longer: raise min_query_count or min_duration",
	}
}

// round shortens a time to about four digits.
func round(d time.Duration) time.Duration {
	switch {
	case d >= time.Minute:
		return d.Round(time.Second)
	case d >= time.Second:
		return d.Round(time.Millisecond)
	case d >= time.Millisecond:
		return d.Round(10 * time.Microsecond)
	case d >= time.Microsecond:
		return d.Round(10 * time.Nanosecond)
	}
	return d
}
