package compliance

import (
	"context"
	"fmt"
	"math"

	"github.com/mlperf-go/mlperf/internal/loadgen"
)

const performanceFile = "verify_performance.txt"

// Streams so fast that the system's noise counts may differ by more.
const (
	noise        = 0.20
	shortSingle  = 200_000   // ns
	shortStreams = 1_600_000 // ns
)

// tolerance is the fraction that a score may differ; a score of fast streams: noise. Of MultiStream
// that holds where its score is a latency, and the reference's script of the round says so.
func tolerance(s loadgen.Scenario, score, usual float64, multiStream bool) float64 {
	if s == loadgen.SingleStream && score <= shortSingle || multiStream && s == loadgen.MultiStream && score <= shortStreams {
		return noise
	}
	return usual
}

// within reports whether a score differs by no more than a fraction. The scripts before v5.1 leave out
// what differs by just that.
func within(ref, run, t float64, version string) bool {
	least, most := ref*(1-t), ref*(1+t)
	return least < run && run < most || version >= "v5.1" && (run == least || run == most)
}

// bothValid fails a test one of whose runs is INVALID, as either of its logs says, or whose detail
// log must say and does not.
func (v *Verdict) bothValid(ref, run *runLog, must bool) bool {
	both := true
	for _, r := range []*runLog{ref, run} {
		valid, has, err := r.detail.Valid()
		said := err == nil && has
		switch {
		case !r.summary.Valid:
			v.failInvalid(r.summary.Name)
		case said && !valid:
			v.failInvalid(r.detail.Name)
		case must && !said:
			v.fail(r.detail.Name + " does not say that the run is VALID")
		default:
			continue
		}
		both = false
	}
	return both
}

func (v *Verdict) failInvalid(log string) {
	v.fail(log+" is of a run that is INVALID", "a run that is too short, or a target that the system does not reach")
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

// withoutErrors fails a test one of whose runs has errors: of such a log the reference's script
// gives no verdict, and before v5.1 a warning. How many there are is what the log says of itself, if it does.
func (v *Verdict) withoutErrors(ref, run *runLog, version string) bool {
	without := true
	for _, r := range []*runLog{ref, run} {
		n := uint64(len(r.detail.Errors()))
		if said, err := r.detail.Uint("num_errors"); err == nil {
			n = said
		}
		text := fmt.Sprintf("%s says that the run had %d errors", r.detail.Name, n)
		switch {
		case n > 0 && version < "v5.1":
			v.Notes = append(v.Notes, text+", which passes")
		case n > 0:
			without = false
			v.fail(text, "what the messages with error in their key say")
		}
	}
	return without
}

// compare01 compares the metrics of two detail logs (compliance/TEST01/verify_performance.py).
func (v *Verdict) compare01(ref, run *runLog, version string) error {
	if valid, good := v.bothValid(ref, run, version >= "v5.1"), v.withoutErrors(ref, run, version); !valid || !good {
		v.write(performanceFile, verdictLine(false))
		return nil
	}
	s := ref.settings.Scenario
	if a, b := ref.settings.TargetLatency, run.settings.TargetLatency; s == loadgen.Server && a != b {
		return run.wrong("effective_target_latency_ns", b.Nanoseconds(), a.Nanoseconds(), "the bound of "+ref.detail.Name)
	}
	a, unit, err := ref.score(version)
	if err != nil {
		return err
	}
	b, _, err := run.score(version)
	if err != nil {
		return err
	}
	t := tolerance(s, a, 0.10, version >= "v2.0")
	v.scored(a, b, unit, within(a, b, t, version), fmt.Sprintf("within %.0f %% passes", t*100), busyMachine, "writing many responses slows the system down")
	return nil
}

// score is the result in the detail log. Before v2.1 it was none of early stopping.
func (r *runLog) score(version string) (value float64, unit string, err error) {
	if version < "v2.1" {
		return r.oldMetric(version)
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
		err = usable(r.detail.Name, key, value)
	}
	return value, unit, err
}

// usable refuses a result that nothing can be compared with: what is infinite is within every
// share of itself, and what is 0 or below is faster or slower than anything.
func usable(log, key string, value float64) error {
	if value > 0 && !math.IsInf(value, 1) {
		return nil
	}
	return fmt.Errorf("%s: %s is %v, want a number above 0", log, key, value)
}

// metric is the result of a scenario in the summary: of streams a latency.
func (r *runLog) metric(version string) (float64, error) {
	if version < "v2.1" {
		value, _, err := r.oldMetric(version)
		return value, err
	}
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
		return score, usable(r.summary.Name, label, score)
	}
	return 0, fmt.Errorf("%s: no %q", r.summary.Name, label)
}

// estimate is the estimate of early stopping at the first of some percentiles that has one.
func (r *runLog) estimate(percentiles ...float64) (float64, error) {
	for _, p := range percentiles {
		if ns, ok := r.summary.Estimate(p); ok {
			return float64(ns), usable(r.summary.Name, fmt.Sprintf("the estimate of the %vth percentile", p), float64(ns))
		}
	}
	return 0, fmt.Errorf("%s: no early stopping estimate of the %vth percentile: the run had too few queries, give both runs more", r.summary.Name, percentiles[0])
}

// metrics are those of the result and of the test; false if one run is INVALID.
func (v *Verdict) metrics(l Logs, o Options) (ref *runLog, a, b float64, ok bool, err error) {
	ref, run, err := pair(v.Test, l, o)
	if err != nil {
		return nil, 0, 0, false, err
	}
	if !v.bothValid(ref, run, false) {
		v.write(performanceFile, verdictLine(false))
		return ref, 0, 0, false, nil
	}
	if a, err = ref.metric(o.Rules); err != nil {
		return nil, 0, 0, false, err
	}
	b, err = run.metric(o.Rules)
	return ref, a, b, err == nil, err
}

func isStream(s loadgen.Scenario) bool {
	return s == loadgen.SingleStream || s == loadgen.MultiStream
}

// verify04 fails a system that is faster with one sample than with different ones
// (compliance/TEST04/verify_performance.py). That script compares queries/s of streams with
// limits that were meant for nanoseconds, so nearly all streams may be 20 % faster; so here.
func verify04(_ context.Context, v *Verdict, l Logs, o Options) error {
	ref, a, b, ok, err := v.metrics(l, o)
	if err != nil || !ok {
		return err
	}
	s, unit := ref.settings.Scenario, "samples/s"
	if isStream(s) {
		a, b, unit = 1e9/a, 1e9/b, "queries/s"
	}
	t := tolerance(s, a, 0.10, true)
	v.scored(a, b, unit, b < a*(1+t), fmt.Sprintf("less than %.0f %% faster passes", t*100),
		"responses are kept and given again to the same sample", "the input is kept on the device while the sample stays the same", busyMachine)
	return nil
}

// verify05 fails a system that is slower with other seeds (compliance/TEST05/
// verify_performance.py, as v3.1 to v4.1 have it, where v3.1's fails every Server run, by mistake;
// earlier both directions counted, and in v0.5 the limit was 10 %).
func verify05(_ context.Context, v *Verdict, l Logs, o Options) error {
	ref, a, b, ok, err := v.metrics(l, o)
	if err != nil || !ok {
		return err
	}
	s, unit, usual := ref.settings.Scenario, "samples/s", 0.05
	if o.Rules == "v0.5" {
		usual = 0.10
	}
	t := tolerance(s, a, usual, o.Rules >= "v2.1")
	passes, limit := b > a*(1-t), "less than %.0f %% slower passes"
	if isStream(s) {
		passes, unit = b < a*(1+t), "ns"
	}
	if o.Rules < "v3.1" {
		passes, limit = within(a, b, t, o.Rules), "within %.0f %% passes"
	}
	v.scored(a, b, unit, passes, fmt.Sprintf(limit, t*100), "the system is tuned to the order of samples or the arrivals of the round's seeds", busyMachine)
	return nil
}
