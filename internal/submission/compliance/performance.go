package compliance

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/mlperf-go/mlperf/internal/config/rounds"
	"github.com/mlperf-go/mlperf/internal/loadgen"
)

// Latencies of streams that are so short may differ by more, for the noise of the system counts (verify_performance.py).
const (
	noise            = 0.20
	shortSingle      = 200_000   // ns
	shortMultiStream = 1_600_000 // ns
)

// tolerance returns the fraction by which a result may differ.
func tolerance(s loadgen.Scenario, value, usual float64, multiStream bool) float64 {
	if s == loadgen.SingleStream && value <= shortSingle || multiStream && s == loadgen.MultiStream && value <= shortMultiStream {
		return noise
	}
	return usual
}

// within reports whether a result differs by at most a fraction. Before v5.1 the scripts fail a result at the very bound.
func within(ref, run, t float64, version string) bool {
	least, most := ref*(1-t), ref*(1+t)
	return least < run && run < most || !rounds.Before(version, "v5.1") && (run == least || run == most)
}

// bothValid fails a test if one of the logs says that its run is INVALID, or if a detail log that must say VALID does not.
func (v *verification) bothValid(ref, run *runLog, must bool) bool {
	both := true
	for _, r := range []*runLog{ref, run} {
		valid, has, err := r.detail.Valid()
		known := err == nil && has
		invalid := ""
		if !r.summary.Valid {
			invalid = r.summary.Name
		} else if known && !valid {
			invalid = r.detail.Name
		}
		switch {
		case invalid != "":
			v.fail(invalid+" is of a run that is INVALID", "a run that is too short, or a target that the system does not reach")
		case must && !known:
			v.fail(r.detail.Name + " does not say that the run is VALID")
		default:
			continue
		}
		both = false
	}
	return both
}

// withoutErrors fails a test if one of its runs has errors: the reference's script ends without a verdict. Before v5.1 it
// warns. num_errors counts, and the messages if it is missing.
func (v *verification) withoutErrors(ref, run *runLog) bool {
	without := true
	for _, r := range []*runLog{ref, run} {
		n, err := r.detail.Uint("num_errors")
		if err != nil {
			n = uint64(len(r.detail.Errors()))
		}
		text := fmt.Sprintf("%s says that the run had %d errors", r.detail.Name, n)
		switch {
		case n > 0 && rounds.Before(v.Rules, "v5.1"):
			v.Notes = append(v.Notes, text+", which passes")
		case n > 0:
			without = false
			v.fail(text, "the messages with error in their key name them")
		}
	}
	return without
}

const busyMachine = "another program used the machine during one of the runs"

// compare states two results, and writes the file that the official checker reads.
func (v *verification) compare(ref, run float64, unit string, passes bool, limit string, causes ...string) {
	v.Facts = append(v.Facts, fmt.Sprintf("the result has %s %s, the test %s (%s; %s)", number(ref), unit, number(run), percent(ref, run), limit))
	if !passes {
		v.fail(fmt.Sprintf("performance: %s %s where the result has %s: %s, %s", number(run), unit, number(ref), percent(ref, run), limit), causes...)
	}
	v.write(performanceFile, v.Test+": performance", "Reference score = "+number(ref), "Test score = "+number(run), verdictLine(passes))
}

// compareDetails compares the results in two detail logs (compliance/TEST01/verify_performance.py).
func (v *verification) compareDetails(ref, run *runLog) error {
	if valid, good := v.bothValid(ref, run, !rounds.Before(v.Rules, "v5.1")), v.withoutErrors(ref, run); !valid || !good {
		v.write(performanceFile, verdictLine(false))
		return nil
	}
	s := ref.settings.Scenario
	if a, b := ref.settings.TargetLatency, run.settings.TargetLatency; s == loadgen.Server && a != b {
		return run.wrong("effective_target_latency_ns", b.Nanoseconds(), a.Nanoseconds(), "the bound of "+ref.detail.Name)
	}
	a, unit, err := ref.detailResult(v.Rules)
	if err != nil {
		return err
	}
	b, _, err := run.detailResult(v.Rules)
	if err != nil {
		return err
	}
	t := tolerance(s, a, 0.10, !rounds.Before(v.Rules, "v2.0"))
	v.compare(a, b, unit, within(a, b, t, v.Rules), fmt.Sprintf("within %.0f %% passes", t*100), busyMachine,
		"writing many responses slows the system down")
	return nil
}

// compareSummaries reads the results in both summaries and lets judge compare them, if both runs are valid.
func (v *verification) compareSummaries(judge func(s loadgen.Scenario, a, b float64)) error {
	ref, run, err := v.bothRuns()
	if err != nil {
		return err
	}
	if !v.bothValid(ref, run, false) {
		v.write(performanceFile, verdictLine(false))
		return nil
	}
	// The scripts read the percentiles of the rules alone. A short run of a slow model has too few queries for those.
	percentiles := map[loadgen.Scenario][]float64{loadgen.SingleStream: {90, 99.9}, loadgen.MultiStream: {99}}[ref.settings.Scenario]
	own := math.Round(1000*ref.settings.TargetLatencyPercentile) / 10
	if _, ok := ref.summary.Estimate(own); ok && !slices.ContainsFunc(percentiles,
		func(p float64) bool { _, ok := ref.summary.Estimate(p); return ok }) {
		percentiles = []float64{own}
		v.Notes = append(v.Notes, fmt.Sprintf("the runs are compared by their %vth percentile, which the official script does not read", own))
	}
	a, err := ref.summaryResult(v.Rules, percentiles)
	if err != nil {
		return err
	}
	b, err := run.summaryResult(v.Rules, percentiles)
	if err == nil {
		judge(ref.settings.Scenario, a, b)
	}
	return err
}

func isStream(s loadgen.Scenario) bool {
	return s == loadgen.SingleStream || s == loadgen.MultiStream
}

// The usual causes of a system that is faster with one sample.
const (
	keptResponses = "responses are kept and given again to the same sample"
	keptInput     = "the input is kept on the device while the sample stays the same"
)

// verify04 fails a system that is faster with one sample than with different ones (compliance/TEST04/verify_performance.py).
// That script compares queries/s of streams with limits that are meant for nanoseconds, so nearly all streams may be 20 %
// faster; so here.
func (v *verification) verify04(context.Context) error {
	return v.compareSummaries(func(s loadgen.Scenario, a, b float64) {
		unit := "samples/s"
		if isStream(s) {
			a, b, unit = 1e9/a, 1e9/b, "queries/s"
		}
		t := tolerance(s, a, 0.10, true)
		v.compare(a, b, unit, b < a*(1+t), fmt.Sprintf("less than %.0f %% faster passes", t*100), keptResponses, keptInput, busyMachine)
	})
}

// verify04AB fails a system that is faster with one sample than with different ones, in a run for each (v0.5 to v2.0:
// compliance/nvidia/TEST04-A/verify_test4_performance.py). A slower one passes with a note. For that script a higher result
// is a faster one, but in SingleStream; in v2.0, the result of MultiStream is a latency too, and its verdict is the wrong way
// round; so here.
func (v *verification) verify04AB(context.Context) error {
	ref, run, err := v.bothRuns()
	if err != nil {
		return err
	}
	if !ref.settings.PerformanceIssueUnique {
		return ref.wrong("effective_performance_issue_unique", false, true, "the run was not made with the audit.config of "+test04A)
	}
	a, unit, err := ref.resultBefore21(v.Rules)
	if err != nil {
		return err
	}
	b, _, err := run.resultBefore21(v.Rules)
	if err != nil {
		return err
	}
	t, slower := 0.10, b < a
	if ref.settings.Scenario == loadgen.SingleStream {
		if slower = b > a; a <= shortSingle {
			t = noise
		}
	}
	alike := within(a, b, t, "")
	if slower && !alike {
		v.Notes = append(v.Notes, "one sample is much slower than different ones, which passes")
	}
	v.compare(a, b, unit, alike || slower, fmt.Sprintf("within %.0f %%, or slower, passes", t*100), keptResponses, keptInput, busyMachine)
	return nil
}

// verify05 fails a system that is slower with other seeds (compliance/TEST05/verify_performance.py, as v3.1 to v4.1 have it,
// where v3.1's fails every Server run, by mistake; earlier both directions count, and in v0.5 the limit is 10 %).
func (v *verification) verify05(context.Context) error {
	return v.compareSummaries(func(s loadgen.Scenario, a, b float64) {
		unit, usual := "samples/s", 0.05
		if v.Rules == "v0.5" {
			usual = 0.10
		}
		t := tolerance(s, a, usual, !rounds.Before(v.Rules, "v2.1"))
		passes, limit := b > a*(1-t), "less than %.0f %% slower passes"
		if isStream(s) {
			passes, unit = b < a*(1+t), "ns"
		}
		if rounds.Before(v.Rules, "v3.1") {
			passes, limit = within(a, b, t, v.Rules), "within %.0f %% passes"
		}
		v.compare(a, b, unit, passes, fmt.Sprintf(limit, t*100), "the system is tuned to the order of samples or the arrivals of the round's seeds",
			busyMachine)
	})
}

// detailResult returns the result in the detail log.
func (r *runLog) detailResult(version string) (value float64, unit string, err error) {
	if rounds.Before(version, "v2.1") {
		return r.resultBefore21(version)
	}
	key, unit := "result_samples_per_second", "samples/s"
	switch r.settings.Scenario {
	case loadgen.SingleStream:
		key, unit = "early_stopping_latency_ss", "ns"
	case loadgen.MultiStream:
		key, unit = "early_stopping_latency_ms", "ns"
	case loadgen.Server:
		key = "result_completed_samples_per_sec"
	}
	if value, err = r.detail.Float(key); err == nil {
		err = checkResult(r.detail.Name, key, value)
	}
	return value, unit, err
}

// summaryResult returns the result in the summary: a rate, or of streams the latency that early stopping estimates of the first
// of the percentiles that it has.
func (r *runLog) summaryResult(version string, percentiles []float64) (value float64, err error) {
	label := "Samples per second"
	switch s := r.settings.Scenario; {
	case rounds.Before(version, "v2.1"):
		value, _, err := r.resultBefore21(version)
		return value, err
	case isStream(s):
		for _, p := range percentiles {
			if ns, ok := r.summary.Estimate(p); ok {
				return float64(ns), checkResult(r.summary.Name, fmt.Sprintf("the estimate of the %vth percentile", p), float64(ns))
			}
		}
		return 0, fmt.Errorf("%s: no early stopping estimate of the %vth percentile: the run had too few queries, give both runs more",
			r.summary.Name, percentiles[0])
	case s == loadgen.Server:
		label = "Completed samples per second"
	}
	value, ok := r.summary.Float(label)
	if !ok {
		return 0, fmt.Errorf("%s: no %q", r.summary.Name, label)
	}
	return value, checkResult(r.summary.Name, label, value)
}

// resultBefore21 returns the result of the rounds without early stopping: a percentile of the latency, a rate, or before v2.0
// the samples of a query in MultiStream. Old logs have it in the summary only.
func (r *runLog) resultBefore21(version string) (value float64, unit string, err error) {
	key, unit, labels := "result_samples_per_second", "samples/s", []string{"Samples per second"}
	switch r.settings.Scenario {
	case loadgen.SingleStream:
		key, unit, labels = "result_90.00_percentile_latency_ns", "ns", []string{"90th percentile latency (ns)", "90.0th percentile latency (ns)"}
	case loadgen.Server:
		key, labels = "result_scheduled_samples_per_sec", []string{"Scheduled samples per second"}
	case loadgen.MultiStream:
		key, unit, labels = "effective_samples_per_query", "samples per query", []string{"Samples per query"}
		if !rounds.Before(version, "v2.0") {
			key, unit, labels = "result_99.00_percentile_per_query_latency_ns", "ns",
				[]string{"99th percentile latency (ns)", "99.0th percentile latency (ns)"}
		}
	}
	if value, err := r.detail.Float(key); err == nil {
		return value, unit, checkResult(r.detail.Name, key, value)
	}
	for _, label := range labels {
		if value, ok := r.summary.Float(label); ok {
			return value, unit, checkResult(r.summary.Name, label, value)
		}
	}
	return 0, unit, fmt.Errorf("%s: no %s, nor %q in %s", r.detail.Name, key, labels[0], r.summary.Name)
}

// checkResult refuses a result that every result is within a share of, or none: infinity, 0 and below.
func checkResult(log, key string, value float64) error {
	if value > 0 && !math.IsInf(value, 1) {
		return nil
	}
	return fmt.Errorf("%s: %s is %v: must be a number above 0", log, key, value)
}
