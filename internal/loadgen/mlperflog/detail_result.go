package mlperflog

import (
	"math"
	"strings"

	"github.com/mlperf-go/mlperf/internal/loadgen"
)

// result writes the verdict and the measurements (loadgen/results.cc, LogDetail).
func (d *detailWriter) result(r *loadgen.Result) {
	p := r.Performance
	d.log("result_validity", validity(r))
	if p.HasPerfConstraints() {
		d.log("result_perf_constraints_met", p.PerfConstraintsMet)
	}
	d.log("result_min_duration_met", p.MinDurationMet)
	d.log("result_min_queries_met", p.MinQueriesMet)
	d.log("early_stopping_met", p.EarlyStoppingMet())
	if !r.Valid() {
		d.log("result_invalid_reason", unbroken(strings.Join(advice(r), " ")))
	}
	d.earlyStopping(p)
	d.log("result_query_count", p.QueryCount)
	if p.Effective.Scenario == loadgen.Server {
		d.log("result_overlatency_query_count", p.Overlatency)
	}
	d.rates(p)
	d.latencies("result_", "latency_ns", p.SampleLatency)
	if p.Effective.UseTokenLatencies {
		d.tokens(p)
	}
	d.inferred(p)
	d.log("num_errors", r.Errors())
}

func (d *detailWriter) earlyStopping(p *loadgen.Performance) {
	text := func(e loadgen.EarlyStopping) string { return unbroken(earlyStoppingText(p.Effective.Scenario, e)) }
	if !p.Effective.UseTokenLatencies {
		d.log("early_stopping_result", text(p.EarlyStopping))
		return
	}
	d.log("early_stopping_ttft_result", text(p.FirstTokenEarlyStopping))
	d.log("early_stopping_tpot_result", text(p.EarlyStopping))
}

// rates are the scenario's results.
func (d *detailWriter) rates(p *loadgen.Performance) {
	singleStream, multiStream := estimates(p)
	switch p.Effective.Scenario {
	case loadgen.SingleStream:
		d.rate("result_qps_with_loadgen_overhead", p.QPSWithOverhead())
		d.rate("result_qps_without_loadgen_overhead", p.QPSWithoutOverhead())
		d.log("early_stopping_latency_ss", singleStream.Nanoseconds())
		d.log("early_stopping_latency_ms", multiStream.Nanoseconds())
	case loadgen.MultiStream:
		if p.Effective.FixedInterval {
			d.intervals(p)
			break
		}
		d.extremes("result_", "_query_latency_ns", p.QueryLatency)
		d.percentiles("result_", "_percentile_per_query_latency_ns", p.QueryLatency)
		d.log("early_stopping_latency_ms", multiStream.Nanoseconds())
	case loadgen.Server:
		d.rate("result_scheduled_samples_per_sec", p.ScheduledQPS())
		d.rate("result_completed_samples_per_sec", p.CompletedQPS())
	case loadgen.Offline:
		d.rate("result_samples_per_second", p.SamplesPerSecond())
	}
}

// intervals are the results of queries at fixed intervals (loadgen/loadgen.cc at v1.0.1,
// LogDetail).
func (d *detailWriter) intervals(p *loadgen.Performance) {
	for i, fraction := range loadgen.Percentiles() {
		name := "result_" + percent(fraction, 2)
		d.log(name+"_percentile_num_intervals_between_queries", p.Intervals[i])
		d.log(name+"_percentile_per_query_latency_ns", p.QueryLatency.Percentiles[i].Nanoseconds())
	}
}

func (d *detailWriter) latencies(prefix, suffix string, l loadgen.LatencyStats) {
	d.extremes(prefix, "_"+suffix, l)
	d.percentiles(prefix, "_percentile_"+suffix, l)
}

// rate logs a number that was measured.
func (d *detailWriter) rate(key string, perSecond float64) {
	if !math.IsNaN(perSecond) {
		d.log(key, perSecond)
	}
}

func (d *detailWriter) extremes(prefix, suffix string, l loadgen.LatencyStats) {
	if l.Count == 0 {
		return
	}
	d.log(prefix+"min"+suffix, l.Min.Nanoseconds())
	d.log(prefix+"max"+suffix, l.Max.Nanoseconds())
	d.log(prefix+"mean"+suffix, l.Mean.Nanoseconds())
}

func (d *detailWriter) percentiles(prefix, suffix string, l loadgen.LatencyStats) {
	if l.Count == 0 {
		return
	}
	for i, p := range loadgen.Percentiles() {
		d.log(prefix+percent(p, 2)+suffix, l.Percentiles[i].Nanoseconds())
	}
}

func (d *detailWriter) tokens(p *loadgen.Performance) {
	if p.Effective.Scenario == loadgen.Offline {
		d.rate("result_tokens_per_second", tokensPer(p, p.SampleLatency.Max))
		return
	}
	d.latencies("result_first_token_", "latency_ns", p.FirstToken)
	d.rate("result_token_throughput_with_loadgen_overhead", tokensPer(p, p.FinalQueryIssued))
	d.rate("result_token_throughput", tokensPerNanosecond(p))
	d.percentiles("result_time_per_output_token_", "_percentile_ns", p.TimePerOutputToken)
	d.log("result_time_to_output_token_min", p.TimePerOutputToken.Min.Nanoseconds())
	d.log("result_time_to_output_token_max", p.TimePerOutputToken.Max.Nanoseconds())
	d.log("result_time_to_output_token_mean", p.TimePerOutputToken.Mean.Nanoseconds())
	d.rate("result_completed_tokens_per_second", tokensPer(p, p.FinalQueryCompleted))
}

func (d *detailWriter) inferred(p *loadgen.Performance) {
	if !p.Effective.InferTokenLatencies {
		return
	}
	switch p.Effective.Scenario {
	case loadgen.Server:
		d.rate("result_inferred_completed_tokens_per_second", inferredTokens(p))
	case loadgen.Offline:
		d.rate("result_inferred_tokens_per_second", inferredTokens(p))
	}
}

func unbroken(text string) string { return strings.ReplaceAll(text, "\n", " ") }
