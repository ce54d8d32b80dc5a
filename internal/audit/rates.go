package audit

import (
	"fmt"

	"github.com/mlperf-go/mlperf/internal/loadgen"
)

const performanceFile = "verify_performance.txt"

// Streams so fast that the system's noise counts may differ by more.
const (
	noise        = 0.20
	shortSingle  = 200_000   // ns
	shortStreams = 1_600_000 // ns
)

// tolerance is the fraction that a score may differ; a score of fast streams: noise.
func tolerance(s loadgen.Scenario, score, usual float64) float64 {
	if s == loadgen.SingleStream && score <= shortSingle || s == loadgen.MultiStream && score <= shortStreams {
		return noise
	}
	return usual
}

// bothValid fails a test one of whose runs is INVALID.
func (v *Verdict) bothValid(ref, run *runLog) bool {
	for _, r := range []*runLog{ref, run} {
		if !r.summary.Valid {
			v.fail(r.summary.Name+" is of a run that is INVALID", "a run that is too short, or a target that the system does not reach")
		}
	}
	return ref.summary.Valid && run.summary.Valid
}

// scored compares two scores, and writes what the official checker reads.
func (v *Verdict) scored(ref, run float64, unit string, passes bool, limit string, causes ...string) {
	v.Facts = append(v.Facts, fmt.Sprintf("the result has %s %s, the test %s (%s; %s)", number(ref), unit, number(run), percent(ref, run), limit))
	if !passes {
		v.fail(fmt.Sprintf("performance: %s %s where the result has %s: %s, %s", number(run), unit, number(ref), percent(ref, run), limit), causes...)
	}
	v.write(performanceFile, v.Test+": performance", "Reference score = "+number(ref), "Test score = "+number(run), verdictLine(passes))
}

const busyMachine = "something else used the machine during one of the runs"

// compare01 compares the metrics of two detail logs (compliance/TEST01/verify_performance.py).
func (v *Verdict) compare01(ref, run *runLog) error {
	if !v.bothValid(ref, run) {
		v.write(performanceFile, verdictLine(false))
		return nil
	}
	s := ref.settings.Scenario
	if a, b := ref.settings.TargetLatency, run.settings.TargetLatency; s == loadgen.Server && a != b {
		return run.wrong("effective_target_latency_ns", b.Nanoseconds(), a.Nanoseconds(), "the bound of "+ref.detail.Name)
	}
	key, unit := metricOf(s)
	a, err := ref.detail.Float(key)
	if err != nil {
		return err
	}
	b, err := run.detail.Float(key)
	if err != nil {
		return err
	}
	t := tolerance(s, a, 0.10)
	passes := a*(1-t) <= b && b <= a*(1+t)
	v.scored(a, b, unit, passes, fmt.Sprintf("within %.0f %% passes", t*100), busyMachine, "writing many responses slows the system down")
	return nil
}

// metricOf is the result of a scenario in the detail log.
func metricOf(s loadgen.Scenario) (key, unit string) {
	switch s {
	case loadgen.SingleStream:
		return "early_stopping_latency_ss", "ns"
	case loadgen.MultiStream:
		return "early_stopping_latency_ms", "ns"
	case loadgen.Server:
		return "result_completed_samples_per_sec", "samples/s"
	}
	return "result_samples_per_second", "samples/s"
}

// metric is the result of a scenario in the summary: of streams a latency.
func (r *runLog) metric() (float64, error) {
	label := "Samples per second"
	switch r.settings.Scenario {
	case loadgen.SingleStream:
		return r.estimate(90, 99.9)
	case loadgen.MultiStream:
		return r.estimate(99)
	case loadgen.Server:
		label = "Completed samples per second"
	}
	if score, ok := r.summary.Float(label); ok {
		return score, nil
	}
	return 0, fmt.Errorf("%s: no %q", r.summary.Name, label)
}

// estimate is the estimate of early stopping at the first of some percentiles that has one.
func (r *runLog) estimate(percentiles ...float64) (float64, error) {
	for _, p := range percentiles {
		if ns, ok := r.summary.Estimate(p); ok {
			return float64(ns), nil
		}
	}
	return 0, fmt.Errorf("%s: no early stopping estimate of the %vth percentile: the run had too few queries, give both runs more", r.summary.Name, percentiles[0])
}

// metrics are those of the result and of the test; false if one run is INVALID.
func (v *Verdict) metrics(l Logs) (ref *runLog, a, b float64, ok bool, err error) {
	ref, run, err := pair(v.Test, l)
	if err != nil {
		return nil, 0, 0, false, err
	}
	if !v.bothValid(ref, run) {
		v.write(performanceFile, verdictLine(false))
		return ref, 0, 0, false, nil
	}
	if a, err = ref.metric(); err != nil {
		return nil, 0, 0, false, err
	}
	b, err = run.metric()
	return ref, a, b, err == nil, err
}

func isStream(s loadgen.Scenario) bool {
	return s == loadgen.SingleStream || s == loadgen.MultiStream
}

// verify04 fails a system that is faster with one sample than with different ones
// (compliance/TEST04/verify_performance.py). That script compares queries/s of streams with
// limits that were meant for nanoseconds, so nearly all streams may be 20 % faster; so here.
func verify04(v *Verdict, l Logs, _ Options) error {
	ref, a, b, ok, err := v.metrics(l)
	if err != nil || !ok {
		return err
	}
	s, unit := ref.settings.Scenario, "samples/s"
	if isStream(s) {
		a, b, unit = 1e9/a, 1e9/b, "queries/s"
	}
	t := tolerance(s, a, 0.10)
	v.scored(a, b, unit, b < a*(1+t), fmt.Sprintf("less than %.0f %% faster passes", t*100),
		"responses are kept and given again to the same sample", "the input is kept on the device while the sample stays the same", busyMachine)
	return nil
}

// verify05 fails a system that is slower with other seeds (compliance/TEST05/
// verify_performance.py, as v3.1 to v4.1 have it; earlier both directions counted).
func verify05(v *Verdict, l Logs, o Options) error {
	ref, a, b, ok, err := v.metrics(l)
	if err != nil || !ok {
		return err
	}
	s, unit := ref.settings.Scenario, "samples/s"
	t := tolerance(s, a, 0.05)
	passes, limit := b > a*(1-t), "less than %.0f %% slower passes"
	if isStream(s) {
		passes, unit = b < a*(1+t), "ns"
	}
	if o.Rules < "v3.1" {
		passes, limit = a*(1-t) <= b && b <= a*(1+t), "within %.0f %% passes"
	}
	v.scored(a, b, unit, passes, fmt.Sprintf(limit, t*100), "the system is tuned to the order of samples or the arrivals of the round's seeds", busyMachine)
	return nil
}
