package config

import (
	"fmt"
	"math"
	"time"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/units"
)

// PlanConfidence is the confidence of all numbers of queries in the rules.
const PlanConfidence = 0.99

// Margin is the margin of error that the rules allow a tail latency percentile, given
// as a fraction: a twentieth of its distance to 1 (MLPerf Inference Benchmark, Reddi et
// al. 2019, equation 1; inference_rules.adoc v0.5, appendix "Number of Queries").
func Margin(percentile float64) float64 { return (1 - percentile) / 20 }

// NumQueries returns the number of queries that show with a confidence that a fraction
// percentile of all queries meets the latency limit, up to a margin (ibid., equation
// 2): the sample size of an election poll,
//
//	NormsInv((1-confidence)/2)² · percentile · (1-percentile) / margin²
//
// rounded to the nearest whole number, as in Table 4 of the paper.
func NumQueries(percentile, confidence, margin float64) (uint64, error) {
	for i, v := range []float64{percentile, confidence, margin} {
		if !(v > 0 && v < 1) {
			return 0, fmt.Errorf("%s must be a fraction between 0 and 1, is %g", []string{"percentile", "confidence", "margin"}[i], v)
		}
	}
	z := distuv.UnitNormal.Quantile((1 - confidence) / 2)
	n := math.Round(z * z * percentile * (1 - percentile) / (margin * margin))
	if n >= 1<<63 {
		return 0, fmt.Errorf("a margin of %g needs more queries than can be counted", margin)
	}
	return uint64(n), nil
}

// RoundedQueries rounds a number of queries up to a multiple of 2^13, as the rules do.
func RoundedQueries(n uint64) uint64 {
	const block = 1 << 13
	return (n + block - 1) / block * block
}

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
		n, _ := NumQueries(p, PlanConfidence, Margin(p)) // of fractions
		table = append(table, QueryCount{p, Margin(p), n, RoundedQueries(n)})
	}
	return table
}

// A Plan is the size of a performance run.
type Plan struct {
	Queries uint64 // at least
	Samples uint64
	// EarlyStopping is how many queries early stopping asks for at least: with none over
	// the limit in Server, with one in SingleStream and MultiStream. 0: it does not apply.
	EarlyStopping uint64
	Runs          int           // Server runs before v1.0: 5
	Duration      time.Duration // of all runs together
}

// NewPlan returns the size of a run with these settings on a system that answers
// samplesPerSecond: in SingleStream and MultiStream one query after the other, in
// Server at the target rate, in Offline as fast as it can.
func NewPlan(r *Resolved, samplesPerSecond float64, qslPerformanceSampleCount, qslTotalSampleCount uint64) (Plan, error) {
	if samplesPerSecond <= 0 || !units.Finite(samplesPerSecond) {
		return Plan{}, fmt.Errorf("the speed must be above 0 samples per second, is %g", samplesPerSecond)
	}
	if err := r.Settings.Validate(); err != nil {
		return Plan{}, err
	}
	s := r.Settings
	if origin := r.Origin("target_latency"); origin == Default || origin == "rules "+r.Rules.Version {
		// The latency that confs have is a placeholder; with sample_concatenate_permutation the number of queries follows from it.
		s.SingleStreamExpectedLatencyNS = 1e9 / samplesPerSecond
		s.MultiStreamExpectedLatencyNS = float64(s.MultiStreamSamplesPerQuery) * 1e9 / samplesPerSecond
	}
	e := s.Effective(qslPerformanceSampleCount, qslTotalSampleCount)
	p := Plan{Runs: 1, Queries: e.MinQueryCount}
	if e.Scenario == loadgen.Server {
		p.Runs = r.Rules.ServerRuns
	}
	switch {
	case !r.Rules.EarlyStopping || e.Scenario == loadgen.Offline:
	case e.Scenario == loadgen.Server:
		p.EarlyStopping = loadgen.NeededQueries(0, e.TargetLatencyPercentile)
	default:
		p.EarlyStopping = loadgen.NeededQueries(1, e.TargetLatencyPercentile)
	}
	perSecond := samplesPerSecond / float64(max(1, e.SamplesPerQuery)) // queries
	if e.Scenario == loadgen.Server || e.FixedInterval {
		perSecond = e.TargetQPS
	}
	if e.Scenario != loadgen.Offline {
		lasting := math.Ceil(e.TargetDuration.Seconds() * perSecond)
		p.Queries = max(p.Queries, p.EarlyStopping, uint64(min(lasting, math.MaxInt64)))
	}
	if e.MaxQueryCount > 0 {
		p.Queries = min(p.Queries, e.MaxQueryCount)
	}
	p.Samples = p.Queries * e.SamplesPerQuery
	p.Duration = runTime(float64(p.Runs) * float64(p.Queries) / perSecond)
	return p, nil
}

// runTime converts seconds, up to the longest time there is.
func runTime(seconds float64) time.Duration {
	ns := math.Round(seconds * 1e9)
	if ns >= math.MaxInt64 {
		return math.MaxInt64
	}
	return time.Duration(ns)
}

// A Bandwidth is that of the network of a datacenter system, in bytes per second. 0: any.
type Bandwidth struct{ Ingress, Egress float64 }

// MinBandwidth returns the bandwidth that the rules of a version ask of a datacenter system which
// answers samplesPerSecond of a model, with inputs and outputs of bytesPerValue. It
// returns an error for a model that these rules have no formula for.
func MinBandwidth(version string, m Model, samplesPerSecond float64, bytesPerValue int) (Bandwidth, error) {
	if samplesPerSecond < 0 || bytesPerValue <= 0 {
		return Bandwidth{}, fmt.Errorf("expected a speed of at least 0 and values of at least 1 byte, got %g and %d", samplesPerSecond, bytesPerValue)
	}
	sample, ok := m.sampleIn(version)
	if !ok {
		return Bandwidth{}, fmt.Errorf("rules %s have no formula for the bandwidth of %s", version, m.Name)
	}
	return Bandwidth{
		Ingress: samplesPerSecond * (float64(sample.InValues)*float64(bytesPerValue) + float64(sample.InBytes)),
		Egress:  samplesPerSecond * float64(sample.OutValues) * float64(bytesPerValue),
	}, nil
}
