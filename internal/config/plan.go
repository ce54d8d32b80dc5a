package config

import (
	"fmt"
	"math"
	"time"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/mlperf-go/mlperf/internal/loadgen"
)

// PlanConfidence is the confidence of all numbers of queries in the rules.
const PlanConfidence = 0.99

// Margin is the margin of error that the rules allow a tail latency percentile, given
// as a fraction: a twentieth of its distance to 1 (MLPerf Inference Benchmark, Reddi et
// al. 2019, equation 1; inference_rules.adoc v0.5, appendix "Number of Queries").
func Margin(percentile float64) float64 { return (1 - percentile) / 20 }

// NumQueries is how many queries it takes to know with a confidence that a fraction
// percentile of all queries meets the latency limit, up to a margin (ibid., equation
// 2): the sample size of an election poll,
//
//	NormsInv((1-confidence)/2)² · percentile · (1-percentile) / margin²
//
// rounded to the nearest whole number, as in Table 4 of the paper.
func NumQueries(percentile, confidence, margin float64) (uint64, error) {
	inside := func(name string, v float64) error {
		if v > 0 && v < 1 {
			return nil
		}
		return fmt.Errorf("%s must be a fraction between 0 and 1, is %g", name, v)
	}
	if err := inside("percentile", percentile); err != nil {
		return 0, err
	}
	if err := inside("confidence", confidence); err != nil {
		return 0, err
	}
	if err := inside("margin", margin); err != nil {
		return 0, err
	}
	z := distuv.UnitNormal.Quantile((1 - confidence) / 2)
	n := math.Round(z * z * percentile * (1 - percentile) / (margin * margin))
	if n >= 1<<63 {
		return 0, fmt.Errorf("a margin of %g needs more queries than can be counted", margin)
	}
	return uint64(n), nil
}

// queryBlock is what the rules round numbers of queries up to.
const queryBlock = 1 << 13

// RoundedQueries rounds a number of queries up to a multiple of 2^13, as the rules do.
func RoundedQueries(n uint64) uint64 { return (n + queryBlock - 1) / queryBlock * queryBlock }

// A QueryCount is a row of Table 4 of the paper.
type QueryCount struct {
	Percentile float64 // a fraction
	Margin     float64
	Inferences uint64
	Rounded    uint64
}

// QueryCounts returns Table 4 of the MLPerf Inference Benchmark paper: the queries for
// tail latency percentiles of 90, 95, 97 and 99 % at a confidence of 99 %.
func QueryCounts() []QueryCount {
	var table []QueryCount
	for _, p := range []float64{0.90, 0.95, 0.97, 0.99} {
		n, err := NumQueries(p, PlanConfidence, Margin(p))
		if err != nil {
			continue // none of these fractions is outside 0 and 1
		}
		table = append(table, QueryCount{p, Margin(p), n, RoundedQueries(n)})
	}
	return table
}

// A Plan says what a performance run will take.
type Plan struct {
	Queries uint64 // at least
	Samples uint64
	// EarlyStopping is how many queries early stopping asks for at least: with none over
	// the limit in Server, with one in SingleStream and MultiStream. 0: it does not apply.
	EarlyStopping uint64
	Runs          int           // Server runs before v1.0: 5
	Duration      time.Duration // of all runs together
}

// NewPlan says what a run with these settings will take on a system that answers
// samplesPerSecond: in SingleStream and MultiStream one query after the other, in
// Server as many as it is asked, in Offline as fast as it can.
func NewPlan(r *Resolved, samplesPerSecond float64, qslPerformanceSampleCount, qslTotalSampleCount uint64) (Plan, error) {
	if samplesPerSecond <= 0 || math.IsInf(samplesPerSecond, 0) || math.IsNaN(samplesPerSecond) {
		return Plan{}, fmt.Errorf("the speed must be above 0 samples per second, is %g", samplesPerSecond)
	}
	if err := r.Settings.Validate(); err != nil {
		return Plan{}, err
	}
	e := r.Settings.Effective(qslPerformanceSampleCount, qslTotalSampleCount)
	p := Plan{Runs: 1, Queries: e.MinQueryCount, EarlyStopping: r.earlyStopping(e)}
	if e.Scenario == loadgen.Server {
		p.Runs = r.Rules.ServerRuns
	}
	perSecond := queriesPerSecond(e, samplesPerSecond)
	if e.Scenario != loadgen.Offline {
		lasting := math.Ceil(e.TargetDuration.Seconds() * perSecond)
		p.Queries = max(p.Queries, p.EarlyStopping, uint64(min(lasting, math.MaxInt64)))
	}
	if e.MaxQueryCount > 0 {
		p.Queries = min(p.Queries, e.MaxQueryCount)
	}
	p.Samples = p.Queries * e.SamplesPerQuery
	p.Duration = runTime(float64(p.Runs) * float64(p.Queries) / perSecond)
	// Before v2.0 mlperf.conf leaves the size of the query to the submitter, who has to keep the
	// rules. A limit of the user's own is followed.
	own := e.MaxQueryCount > 0 || !r.byRules("min_query_count")
	if least := r.Rules.MinQueries(e.Scenario, r.model); e.Scenario == loadgen.Offline && !own && p.Samples < least {
		p.Samples, p.Duration = least, runTime(float64(least)/samplesPerSecond)
	}
	return p, nil
}

// byRules reports whether nobody but the rules made a setting.
func (r *Resolved) byRules(name string) bool {
	origin := r.Origin(name)
	return origin == Default || origin == "rules "+r.Rules.Version
}

// earlyStopping is the least number of queries that it accepts.
func (r *Resolved) earlyStopping(e loadgen.EffectiveSettings) uint64 {
	switch {
	case !r.Rules.EarlyStopping || e.Scenario == loadgen.Offline:
		return 0
	case e.Scenario == loadgen.Server:
		return loadgen.NeededQueries(0, e.TargetLatencyPercentile)
	}
	return loadgen.NeededQueries(1, e.TargetLatencyPercentile)
}

// queriesPerSecond is how fast queries follow each other.
func queriesPerSecond(e loadgen.EffectiveSettings, samplesPerSecond float64) float64 {
	if e.Scenario == loadgen.Server || e.FixedInterval {
		return e.TargetQPS
	}
	return samplesPerSecond / float64(max(1, e.SamplesPerQuery))
}

// runTime converts seconds, up to the longest time there is.
func runTime(seconds float64) time.Duration {
	ns := math.Round(seconds * 1e9)
	if ns >= math.MaxInt64 {
		return math.MaxInt64
	}
	return time.Duration(ns)
}
