package report

import (
	"fmt"
	"time"

	"github.com/mlperf-go/mlperf/internal/config/rounds"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/units"
)

// Fill takes the verdict and the measurements of a finished test. Origin says who made a setting.
func (r *Results) Fill(test *loadgen.Result, origin func(key string) string) {
	r.Scenario = test.Effective.Scenario.String()
	r.Mode = test.Effective.Mode.String()
	r.Result = Valid
	if !test.Valid() {
		r.Result = Invalid
	}
	if test.Interrupted != nil {
		r.Result = Interrupted
	}
	r.Test = NewTest(test.Effective)
	r.Problems = append(r.Problems, test.Problems()...)
	for _, e := range test.Events {
		if e.IsWarning {
			r.Warnings = append(r.Warnings, fmt.Sprint(e.Value))
		}
	}
	if p := test.Performance; p != nil {
		for _, c := range p.Constraints() {
			if c.Setting != "" {
				c.Origin = origin(c.Setting)
			}
			r.Constraints = append(r.Constraints, Constraint{Constraint: c})
		}
		r.Performance = performance(p)
		if !test.StartTime.IsZero() {
			began := test.StartTime.Add(p.Started).UTC()
			r.Performance.Began = &began
		}
		r.Metric = metric(p, comparisonOf(r.Rules))
		if len(test.Peak) > 0 { // of LoadGen's own search
			r.Peak = &Peak{Unit: "queries/s"}
		}
		for _, s := range test.Peak {
			r.Peak.Steps = append(r.Peak.Steps, PeakStep{Load: s.TargetQPS, Met: s.PerfConstraintsMet, Full: true})
			if s.PerfConstraintsMet {
				r.Peak.Best = max(r.Peak.Best, s.TargetQPS)
			}
		}
	}
}

// comparison says by which quantities a round compares systems (RESULT_FIELD of the submission checker at the tag of each round).
type comparison struct {
	estimates bool // streams by the bound that early stopping gives, since v2.0; before by the percentile itself
	scheduled bool // Server by the rate at which samples were scheduled, until v4.0; then by the rate at which they were completed
	tokens    bool // Server by tokens where token latencies are measured, since v4.1; before by samples
}

func comparisonOf(rules string) comparison {
	if rounds.Before(rules, "v0") { // no version
		return comparison{estimates: true, tokens: true} // as in the newest round
	}
	return comparison{estimates: !rounds.Before(rules, "v2.0"), scheduled: rounds.Before(rules, "v4.1"), tokens: !rounds.Before(rules, "v4.1")}
}

// Names of metrics that are tokens by a fixed number for each sample.
const (
	InferredTokens          = "inferred tokens"
	CompletedInferredTokens = "completed inferred tokens"
)

// metric is the number by which the rules compare systems: tokens of models that measure
// token latencies, samples of others, and latencies in the stream scenarios. It is nil if
// nothing was measured.
func metric(p *loadgen.Performance, by comparison) *Metric {
	e := p.Effective
	percentile := units.Ordinal(e.TargetLatencyPercentile) + " percentile"
	switch {
	case e.InferTokenLatencies && e.Scenario == loadgen.Server: // GPT-J since v4.1 (RESULT_FIELD of the submission checker)
		return rateMetric(CompletedInferredTokens, p.InferredTokensPerSecond(), "tokens/s")
	case e.InferTokenLatencies && e.Scenario == loadgen.Offline:
		return rateMetric(InferredTokens, p.InferredTokensPerSecond(), "tokens/s")
	case e.Scenario == loadgen.SingleStream:
		return latencyMetric(percentile+" latency", p, p.SampleLatency, by)
	case e.Scenario == loadgen.MultiStream && e.FixedInterval:
		return &Metric{Name: "streams", Value: float64(e.SamplesPerQuery), Unit: "samples per query"}
	case e.Scenario == loadgen.MultiStream:
		return latencyMetric(percentile+" query latency", p, p.QueryLatency, by)
	case e.Scenario == loadgen.Server:
		return serverMetric(p, by)
	case e.UseTokenLatencies:
		return rateMetric("tokens", perSecond(p.TokenCount, p.SampleLatency.Max), "tokens/s")
	}
	return rateMetric("samples", p.SamplesPerSecond(), "samples/s")
}

// MeanLatency is the name of the metric of recorded conversations.
const MeanLatency = "mean latency of a turn"

// ByMean makes the mean latency the metric, by which rounds compare recorded conversations (result_mean_latency_ns of mlcommons/endpoints). It
// stays as it is if nothing was measured.
func (r *Results) ByMean(p *loadgen.Performance) {
	if p == nil || p.SampleLatency.Count == 0 {
		return
	}
	r.Metric = &Metric{Name: MeanLatency, Value: milliseconds(p.SampleLatency.Mean), Unit: "ms"}
}

// ResultName is the name of the number by which a round compares systems, of a test with these settings.
func ResultName(rules string, e loadgen.EffectiveSettings) string {
	one := loadgen.LatencyStats{Count: 2, Mean: time.Second, Max: time.Second, Target: time.Second}
	m := metric(&loadgen.Performance{ // of any test that ran
		Effective: e, QueryCount: 2, SampleCount: 2, SampleLatency: one, QueryLatency: one, TokenCount: 2, FinalQueryScheduled: time.Second,
		FinalQueryIssued: time.Second, FinalQueryCompleted: time.Second, LastCompletion: time.Second, EarlyStopping: loadgen.EarlyStopping{Met: true},
	}, comparisonOf(rules))
	if m == nil {
		return ""
	}
	return m.Name
}

// serverMetric is that of the Server scenario: a rate, of what was completed or of what was scheduled.
func serverMetric(p *loadgen.Performance, by comparison) *Metric {
	switch {
	case p.Effective.UseTokenLatencies && by.tokens:
		return rateMetric("completed tokens", perSecond(p.TokenCount, p.FinalQueryCompleted), "tokens/s")
	case by.scheduled && !p.Effective.UseTokenLatencies:
		return rateMetric("scheduled samples", p.ScheduledQPS(), "samples/s")
	}
	return rateMetric("completed samples", p.CompletedQPS(), "samples/s")
}

// rateMetric is nil for a rate that is no number: nothing was measured.
func rateMetric(name string, value float64, unit string) *Metric {
	if orZero(value) <= 0 {
		return nil
	}
	return &Metric{Name: name, Value: value, Unit: unit}
}

// latencyMetric is the bound that early stopping gives where the round compares by it. With token
// latencies that would be one of the time per token.
func latencyMetric(name string, p *loadgen.Performance, stats loadgen.LatencyStats, by comparison) *Metric {
	if stats.Count == 0 {
		return nil
	}
	if es := p.EarlyStopping; by.estimates && es.Met && !p.Effective.UseTokenLatencies {
		return &Metric{Name: name + " (early stopping estimate)", Value: milliseconds(es.Estimate), Unit: "ms"}
	}
	return &Metric{Name: name, Value: milliseconds(stats.Target), Unit: "ms"}
}

func perSecond(count int64, d time.Duration) float64 { return orZero(float64(count) / d.Seconds()) }

func milliseconds(d time.Duration) float64 { return float64(d) / 1e6 }

// orZero replaces what JSON cannot hold by 0.
func orZero(x float64) float64 {
	if !units.Finite(x) {
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
		l := newLatencies(s)
		return &l
	}
	out.LatencyNS = optional(p.SampleLatency)
	out.QueryLatencyNS = optional(p.QueryLatency)
	out.FirstTokenNS = optional(p.FirstToken)
	out.TimePerOutputTokenNS = optional(p.TimePerOutputToken)
	if p.Effective.Scenario == loadgen.Server {
		out.ScheduledPerSecond = orZero(p.ScheduledQPS())
	}
	out.IssueDelayNS, out.GeneratorDelayNS = optional(p.IssueDelay), optional(p.GeneratorDelay)
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

// newLatencies converts what package loadgen measured.
func newLatencies(s loadgen.LatencyStats) Latencies {
	p := s.Percentiles
	return Latencies{
		Min: int64(s.Min), Mean: int64(s.Mean), Max: int64(s.Max),
		P50: int64(p[0]), P90: int64(p[1]), P95: int64(p[2]), P97: int64(p[3]), P99: int64(p[4]), P999: int64(p[5]),
	}
}
