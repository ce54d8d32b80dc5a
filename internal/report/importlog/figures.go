package importlog

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/mlperf-go/mlperf/internal/loadgen"
)

// figures are the measurements of a test, put together from its logs.
type figures struct {
	*logs
	performance *loadgen.Performance // nil: the logs have no result
	valid       bool
	// What the logs do not have.
	withoutCount, withoutDuration, withoutNeeded bool
	rate, scheduled, tokenRate                   float64 // per second; 0: not known
}

// figures reads what was measured.
func (l *logs) figures(e loadgen.EffectiveSettings) *figures {
	if p := e.TargetLatencyPercentile; !(p >= 0 && p <= 1) {
		l.findings = append(l.findings, fmt.Sprintf("effective_target_latency_percentile is %g, want a fraction", p))
		e.TargetLatencyPercentile = 0
	}
	f := &figures{logs: l}
	valid, found := l.verdict()
	if !found {
		return f
	}
	f.valid = valid
	p := &loadgen.Performance{Effective: e, TTFTMet: true, TPOTMet: true, GeneratorMet: true}
	f.performance = p
	p.PerfConstraintsMet, _ = l.met("result_perf_constraints_met", "Performance constraints satisfied")
	p.MinDurationMet, _ = l.met("result_min_duration_met", "Min duration satisfied")
	p.MinQueriesMet, _ = l.met("result_min_queries_met", "Min queries satisfied")
	stopping, has := l.met("early_stopping_met", "Early stopping satisfied")
	has = has && !l.withoutCriterion(e.Scenario, stopping)
	l.stopping, p.Effective.WithoutEarlyStopping = has, !has
	p.Effective.FixedInterval = e.Scenario == loadgen.MultiStream && !has
	f.counts()
	f.measure()
	f.durations()
	if has {
		f.stopping(stopping)
	}
	return f
}

// counts are the numbers of queries and samples. LoadGen before v2.0 logs only how many it has
// generated, which are all issued in Server and Offline, but not in the streams.
func (f *figures) counts() {
	p, e := f.performance, f.performance.Effective
	p.QueryCount = f.count("result_query_count")
	if p.QueryCount == 0 && (e.Scenario == loadgen.Server || e.Scenario == loadgen.Offline) {
		p.QueryCount = f.count("generated_query_count")
	}
	f.withoutCount = p.QueryCount == 0
	per := max(1, e.SamplesPerQuery)
	if n := f.count("generated_samples_per_query"); n > 0 {
		per = n // more than the setting with equal issue
	}
	if p.QueryCount > math.MaxUint64/per {
		f.findings = append(f.findings, fmt.Sprintf("%d queries of %d samples are more than can be", p.QueryCount, per))
		p.QueryCount, f.withoutCount = 0, true
	}
	p.SampleCount = p.QueryCount * per
	p.Overlatency = f.count("result_overlatency_query_count")
}

// measure looks up latencies.
func (f *figures) measure() {
	p, e := f.performance, f.performance.Effective
	target := e.TargetLatencyPercentile
	p.SampleLatency = f.latencies(target, statName("", "_latency_ns", "_percentile_latency_ns", "latency (ns)"))
	if e.Scenario == loadgen.MultiStream {
		p.QueryLatency = f.latencies(target, statName("", "_query_latency_ns", "_percentile_per_query_latency_ns", "latency (ns)"))
	}
	if e.FixedInterval {
		f.intervals(target)
	}
	if !e.UseTokenLatencies || e.Scenario == loadgen.Offline {
		return
	}
	p.FirstToken = f.latencies(target, statName("first_token_", "_latency_ns", "_percentile_latency_ns", "first token latency (ns)"))
	p.TimePerOutputToken = f.latencies(target, statName("time_per_output_token_", "_ns", "_percentile_ns", "time to output token (ns)"))
	if e.Scenario == loadgen.Server && !p.PerfConstraintsMet {
		within := func(l loadgen.LatencyStats, limit time.Duration) bool { return l.Target > 0 && l.Target <= limit }
		p.TTFTMet, p.TPOTMet = within(p.FirstToken, e.ServerTTFTLatency), within(p.TimePerOutputToken, e.ServerTPOTLatency)
	}
}

// intervals are those between queries, of MultiStream before v2.0.
func (f *figures) intervals(target float64) {
	for i, p := range loadgen.Percentiles() {
		stat := fmt.Sprintf("%.2f percentile", p*100)
		v, ok := f.number(name{fmt.Sprintf("result_%.2f_percentile_num_intervals_between_queries", p*100), stat})
		if !ok || v < 0 || v >= 1<<53 {
			continue
		}
		f.performance.Intervals[i] = uint64(v)
		if math.Abs(p-target) < 1e-9 {
			f.performance.IntervalsTarget = uint64(v)
		}
	}
}

// durations follow from the rates, which have six digits, or from the times of day between
// which power is measured.
func (f *figures) durations() {
	p := f.performance
	switch p.Effective.Scenario {
	case loadgen.Offline:
		p.LastCompletion = p.SampleLatency.Max
		f.rate, _ = f.number(name{"result_samples_per_second", "Samples per second"})
		f.withoutDuration = p.LastCompletion == 0
	case loadgen.Server:
		f.scheduled, _ = f.number(name{"result_scheduled_samples_per_sec", "Scheduled samples per second"})
		f.rate, _ = f.number(name{"result_completed_samples_per_sec", "Completed samples per second"})
		p.FinalQueryScheduled = f.lasted(f.scheduled, "scheduled samples per second")
		p.FinalQueryCompleted = f.lasted(f.rate, "")
		p.LastCompletion = p.FinalQueryCompleted
	case loadgen.SingleStream:
		f.rate, _ = f.number(name{"result_qps_with_loadgen_overhead", "QPS w/ loadgen overhead"})
		p.FinalQueryIssued = f.lasted(f.rate, "queries per second")
		p.LastCompletion = p.FinalQueryIssued
	case loadgen.MultiStream:
		p.FinalQueryIssued = f.lasted(0, "")
		p.LastCompletion = p.FinalQueryIssued
		if p.LastCompletion > 0 {
			f.rate = float64(p.SampleCount) / p.LastCompletion.Seconds()
		}
	}
	f.tokens()
}

// lasted is how long a test of some rate lasted. The logs call the time long enough or not;
// rounding must not contradict that.
func (f *figures) lasted(rate float64, what string) time.Duration {
	p := f.performance
	least := p.Effective.MinDuration
	d := time.Duration(0)
	switch ns := (float64(p.SampleCount) - 1) / rate * 1e9; {
	case rate > 0 && ns > 0 && ns < math.MaxInt64:
		d = time.Duration(ns).Round(time.Microsecond)
		if what != "" {
			f.note("the observed duration is the number of samples by the %s, which have six digits", what)
		}
	default:
		d = f.powered()
	}
	if d == 0 {
		f.withoutDuration = true
		return 0
	}
	if p.MinDurationMet {
		return max(d, least)
	}
	return d
}

// powered is the time between the times of day between which power is measured; 0: not known.
func (f *figures) powered() time.Duration {
	const layout = "01-02-2006 15:04:05.999"
	begin, err := time.Parse(layout, f.text("power_begin", ""))
	end, err2 := time.Parse(layout, f.text("power_end", ""))
	if errors.Join(err, err2) != nil || !end.After(begin) {
		return 0
	}
	note := "the observed duration is that between power_begin and power_end"
	if !slices.Contains(f.notes, note) {
		f.note("%s", note)
	}
	return end.Sub(begin)
}

// tokens are counted by their rate.
func (f *figures) tokens() {
	p := f.performance
	key := name{"result_tokens_per_second", "Tokens per second"}
	lasted := p.SampleLatency.Max
	if p.Effective.Scenario == loadgen.Server {
		key, lasted = name{"result_completed_tokens_per_second", "Completed tokens per second"}, p.FinalQueryCompleted
	}
	if v, ok := f.number(key); ok && p.Effective.UseTokenLatencies {
		f.tokenRate = v
		if n := v * lasted.Seconds(); n >= 0 && n < math.MaxInt64 {
			p.TokenCount = int64(n)
		}
	}
}
