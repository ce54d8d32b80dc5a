package importlog

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/units"
)

// figures are the measurements of a test, from both of its logs.
type figures struct {
	*logs
	performance *loadgen.Performance // nil: the logs have no result
	valid       bool
	// Set for numbers that the logs do not have.
	withoutCount, withoutDuration              bool
	rate, scheduled, tokenRate, inferredTokens float64 // per second; 0: not known
}

// figures reads the measurements.
func (l *logs) figures(e loadgen.EffectiveSettings) *figures {
	if p := e.TargetLatencyPercentile; !(p >= 0 && p <= 1) {
		l.findings = append(l.findings, fmt.Sprintf("effective_target_latency_percentile is %g: must be a fraction", p))
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
	f.latenciesAndIntervals()
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
		f.findings = append(f.findings, fmt.Sprintf("%d queries of %d samples are more than 64 bits hold", p.QueryCount, per))
		p.QueryCount, f.withoutCount = 0, true
	}
	p.SampleCount = p.QueryCount * per
	p.Overlatency = f.count("result_overlatency_query_count")
}

// latenciesAndIntervals looks up latencies; of MultiStream before v2.0 also intervals between queries.
func (f *figures) latenciesAndIntervals() {
	p, e := f.performance, f.performance.Effective
	target := e.TargetLatencyPercentile
	ofSamples := statName("", "_latency_ns", "_percentile_latency_ns", "latency (ns)")
	if e.Scenario == loadgen.MultiStream { // whose summary has those of queries
		p.SampleLatency = f.latencies(target, func(stat string) name { return name{key: ofSamples(stat).key} })
		p.QueryLatency = f.latencies(target, statName("", "_query_latency_ns", "_percentile_per_query_latency_ns", "latency (ns)"))
	} else {
		p.SampleLatency = f.latencies(target, ofSamples)
	}
	for i, percentile := range loadgen.Percentiles() {
		stat := fmt.Sprintf("%.2f percentile", percentile*100)
		v, ok := 0.0, false
		if e.FixedInterval {
			v, ok = f.number(name{fmt.Sprintf("result_%.2f_percentile_num_intervals_between_queries", percentile*100), stat})
		}
		if !ok || v < 0 || v >= 1<<53 {
			continue
		}
		p.Intervals[i] = uint64(v)
		if math.Abs(percentile-target) < 1e-9 {
			p.IntervalsTarget = uint64(v)
		}
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

// durations follow from the rates, which have six digits, or from the times of day between
// which power was measured. The number of tokens follows from a rate and a duration.
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
	inferred := name{"result_inferred_tokens_per_second", "Tokens per second (inferred)"}
	if p.Effective.Scenario == loadgen.Server {
		inferred = name{"result_inferred_completed_tokens_per_second", "Completed tokens per second (inferred)"}
	}
	if p.Effective.InferTokenLatencies {
		f.inferredTokens, _ = f.number(inferred)
	}
	// Of tokens only the rate is logged.
	key, lasted := name{"result_tokens_per_second", "Tokens per second"}, p.SampleLatency.Max
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

// lasted is the duration of a test by its rate. The logs say whether it is long enough;
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

// powered is the time between power_begin and power_end; 0: not known.
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

// highestPercentile is the highest for which early stopping is calculated: a log may have any.
const highestPercentile = 0.99999

// stopping fills in the criteria of early stopping. How many queries they need is in their texts, except where Server has
// enough; without token latencies that can be calculated.
func (f *figures) stopping(met bool) {
	p, e := f.performance, f.performance.Effective
	p.EarlyStopping = loadgen.EarlyStopping{Met: met, Processed: p.QueryCount, Percentile: e.TargetLatencyPercentile}
	p.FirstTokenEarlyStopping = p.EarlyStopping
	if e.UseTokenLatencies && !met { // the verdict is one for both criteria
		said, reached := f.criteria("early_stopping_tpot_result")
		p.EarlyStopping.Met = said && reached
	}
	over := uint64(1)
	if e.Scenario == loadgen.Server {
		over = p.Overlatency
	}
	percentile := e.TargetLatencyPercentile
	calculable := !f.withoutCount && over <= p.QueryCount && p.QueryCount <= 1<<40 && percentile > 0 && percentile <= highestPercentile
	switch {
	case e.UseTokenLatencies:
		p.EarlyStopping.Needed = f.needed("early_stopping_tpot_result")
		p.FirstTokenEarlyStopping.Needed = f.needed("early_stopping_ttft_result")
	case calculable:
		p.EarlyStopping.Needed = loadgen.NeededQueries(over, percentile)
	default:
		p.EarlyStopping.Needed = f.needed("early_stopping_result")
	}
	key := "early_stopping_latency_ss"
	if e.Scenario == loadgen.MultiStream {
		key = "early_stopping_latency_ms"
	}
	if v, err := f.detail.Time(key); err == nil {
		p.EarlyStopping.Estimate = v
	} else if v, ok := f.summary.Estimate(percentile * 100); ok {
		p.EarlyStopping.Estimate = time.Duration(v)
	}
	if e.Scenario == loadgen.SingleStream {
		p.EarlyStopping.MultiStreamEstimate, _ = f.detail.Time("early_stopping_latency_ms")
	}
}

// Parts of the texts of criteria with how many queries are needed, in all or beyond those that were processed: LoadGen's and
// this program's.
var (
	neededInAll = regexp.MustCompile(`(?:Processed at least|Need to process at least|, of at least|At least) (\d+)(?: queries| \(|\.)`)
	neededMore  = regexp.MustCompile(`[Aa]t least (\d+) more queries`)
)

// needed is how many queries a criterion needs by its text; 0: the logs do not say.
func (f *figures) needed(key string) uint64 {
	text, _ := f.detail.Text(key)
	beyond := uint64(0)
	m := neededInAll.FindStringSubmatch(text)
	if m == nil {
		m, beyond = neededMore.FindStringSubmatch(text), f.performance.QueryCount
	}
	if m == nil || f.withoutCount {
		return 0
	}
	n, err := strconv.ParseUint(m[1], 10, 62)
	if err != nil || n > 1<<62-beyond {
		return 0
	}
	return n + beyond
}

// withoutCriterion reports whether a good verdict of early stopping follows from no criterion, as in logs of this program under
// rules before v2.0.
func (l *logs) withoutCriterion(s loadgen.Scenario, met bool) bool {
	said, reached := l.criteria("early_stopping_result", "early_stopping_ttft_result", "early_stopping_tpot_result")
	_, fixedIntervals := l.detail.First("result_50.00_percentile_num_intervals_between_queries") // as before v2.0
	return fixedIntervals || s != loadgen.Offline && met && said && !reached
}

// succeeded are parts of the texts of criteria that were met: LoadGen's and this program's in Server, and both in the streams.
var succeeded = []string{"Run successful", "There were enough queries", "percentile estimate"}

// criteria reports whether the logs have texts of criteria of early stopping, and whether one of them was met.
func (l *logs) criteria(keys ...string) (said, met bool) {
	for _, key := range keys {
		text, err := l.detail.Text(key)
		said = said || err == nil
		met = met || slices.ContainsFunc(succeeded, func(part string) bool { return strings.Contains(text, part) })
	}
	return said, met
}

// complete replaces verdicts and numbers that follow from the figures by those of the logs.
func (f *figures) complete(r *report.Results) {
	for i := range r.Constraints {
		f.constrain(&r.Constraints[i])
	}
	logged := map[string]float64{
		"samples": f.rate, "completed samples": f.rate, "scheduled samples": f.scheduled, "tokens": f.tokenRate, "completed tokens": f.tokenRate,
		report.InferredTokens: f.inferredTokens, report.CompletedInferredTokens: f.inferredTokens,
	}
	if m := r.Metric; m != nil {
		if v := logged[m.Name]; v > 0 {
			m.Value = v
		}
		if m.Value <= 0 {
			r.Metric = nil
		}
	}
	if r.Metric == nil && f.valid && r.Mode == loadgen.PerformanceOnly.String() {
		f.valid = false
		r.Problems = append(r.Problems, "the logs say VALID, and have no result that can be read")
	}
	if f.withoutCount {
		f.note("the number of queries is not in the logs")
	}
	r.Performance.Tokens = 0 // only their rate is logged
	r.Performance.SamplesPerSecond = f.rate
	r.Result = report.Valid
	if !f.valid {
		r.Result = report.Invalid
		for _, c := range r.Constraints {
			if !c.Met {
				r.Problems = append(r.Problems, c.Sentence())
			}
		}
		recommended := f.summary.Recommendations
		if text := f.text("result_invalid_reason", ""); len(recommended) == 0 && text != "" {
			recommended = []string{text}
		}
		for _, text := range recommended {
			r.Problems = append(r.Problems, "the logs say: "+shorten(strings.TrimSpace(strings.TrimPrefix(text, "* "))))
		}
		if len(r.Problems) == 0 {
			r.Problems = append(r.Problems, "the logs do not say why")
		}
	}
}

// missing stands for a number that the logs do not have.
const missing = "not in the logs"

// constrain corrects a constraint: the logs say whether it was met, and may lack the observed number.
func (f *figures) constrain(c *report.Constraint) {
	required, known, p := c.RequiredText(), true, f.performance
	switch c.ID {
	case loadgen.ConstraintQueries, loadgen.ConstraintSamples: // the logs have one verdict for both
		if f.withoutCount || p.MinQueriesMet {
			c.Met = p.MinQueriesMet
		}
		known = !f.withoutCount
	case loadgen.ConstraintDuration:
		known = !f.withoutDuration
	case loadgen.ConstraintEarlyStopping, loadgen.ConstraintFirstTokenStopping:
		known = !f.withoutCount
		if c.Required.Value == 0 {
			required = "as many queries as the criterion wants"
			if known { // met, in Server with token latencies
				c.Words = &report.ConstraintWords{Required: required, Observed: c.ObservedText()}
			}
		}
	case loadgen.ConstraintLatency:
		known = p.SampleLatency.Target > 0
	case loadgen.ConstraintFirstToken:
		known = p.FirstToken.Target > 0
	case loadgen.ConstraintPerToken:
		known = p.TimePerOutputToken.Target > 0
	}
	if c.Met {
		c.Advice = ""
	}
	if !known {
		c.Observed = nil
		c.Words = &report.ConstraintWords{Required: required, Observed: missing}
	}
}

// A name is the key of a number in the detail log, and its label in the summary.
type name struct{ key, label string }

// number looks a number up. LoadGen before v1.0 had results in the summary only.
func (l *logs) number(n name) (float64, bool) {
	v, err := l.detail.Float(n.key)
	ok := err == nil
	if ok {
		l.compare(n, v)
	} else {
		l.find(err)
		v, ok = l.summary.Float(n.label)
	}
	if ok && !units.Finite(v) {
		l.findings = append(l.findings, fmt.Sprintf("%s (in the summary: %s) is %g: must be a number", n.key, n.label, v))
		return 0, false
	}
	return v, ok
}

// compare finds a result that both logs have, and that differs by more than rounding to six digits or two decimals.
func (l *logs) compare(n name, detail float64) {
	summary, has := l.summary.Float(n.label)
	if !has || l.differ || math.Abs(detail-summary) <= max(0.0051, 1e-5*math.Abs(detail)) || math.IsNaN(detail) && math.IsNaN(summary) {
		return
	}
	l.differ = true
	l.findings = append(l.findings, fmt.Sprintf("the detail log and the summary are of different runs: %s is %s in the one, and %q is %s in the other",
		n.key, strconv.FormatFloat(detail, 'f', -1, 64), n.label, strconv.FormatFloat(summary, 'f', -1, 64)))
}

// count looks up a whole number.
func (l *logs) count(key string) uint64 {
	n, err := l.detail.Uint(key)
	l.find(err)
	return n
}

// time looks up a time in nanoseconds.
func (l *logs) time(n name) (time.Duration, bool) {
	v, ok := l.number(n)
	if ok && !(v >= 0 && v < math.MaxInt64) {
		l.findings = append(l.findings, fmt.Sprintf("%s (in the summary: %s) is %g: must be nanoseconds", n.key, n.label, v))
		return 0, false
	}
	return time.Duration(v), ok
}

// verdict is that of the detail log, or of the summary.
func (l *logs) verdict() (valid, found bool) {
	valid, found, err := l.detail.Valid()
	l.find(err)
	switch s := l.summary; {
	case !found && s.HasResult:
		return s.Valid, true
	case found && s.HasResult && valid != s.Valid:
		l.findings = append(l.findings, "the detail log and the summary have different verdicts: the result counts as INVALID")
		return false, true
	}
	return valid, found
}

// met reports whether the logs say that a kind of constraint was met. Kinds that they do not mention did not
// exist in their version.
func (l *logs) met(key, label string) (met, found bool) {
	met, err := l.detail.Bool(key)
	if err == nil {
		return met, true
	}
	l.find(err)
	if f, ok := l.summary.Field(label); ok {
		met, isBool := f.(bool)
		return met, isBool
	}
	return true, false
}

// latencies looks up statistics; names gives the name of each: min, mean, max, or a percentile
// like 99.00. Target is 0 if LoadGen does not log this percentile.
func (l *logs) latencies(target float64, names func(stat string) name) (s loadgen.LatencyStats) {
	s.Min, _ = l.time(names("min"))
	s.Mean, _ = l.time(names("mean"))
	s.Max, _ = l.time(names("max"))
	for i, p := range loadgen.Percentiles() {
		v, ok := l.time(names(fmt.Sprintf("%.2f", p*100)))
		s.Percentiles[i] = v
		if ok {
			s.Count = 1 // or more: it only says that there are some
		}
		if ok && math.Abs(p-target) < 1e-9 {
			s.Target = v
		}
	}
	return s
}

// statName makes names of statistics: of the parts of a key before min, after min and after a percentile,
// and the end of the label.
func statName(before, after, afterPercentile, of string) func(stat string) name {
	return func(stat string) name {
		if strings.Contains(stat, ".") {
			return name{"result_" + before + stat + afterPercentile, stat + " percentile " + of}
		}
		return name{"result_" + before + stat + after, strings.ToUpper(stat[:1]) + stat[1:] + " " + of}
	}
}
