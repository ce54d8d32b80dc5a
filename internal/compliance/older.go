package compliance

import (
	"context"
	"fmt"

	"github.com/mlperf-go/mlperf/internal/loadgen"
)

// oldMetric is the result before v2.1, without early stopping: a percentile of the latency, the samples of
// a query where they were what was searched for, or a rate. Old logs have it in the summary
// only.
func (r *runLog) oldMetric(version string) (value float64, unit string, err error) {
	key, unit, labels := "result_samples_per_second", "samples/s", []string{"Samples per second"}
	switch r.settings.Scenario {
	case loadgen.SingleStream:
		key, unit, labels = "result_90.00_percentile_latency_ns", "ns", []string{"90th percentile latency (ns)", "90.0th percentile latency (ns)"}
	case loadgen.Server:
		key, labels = "result_scheduled_samples_per_sec", []string{"Scheduled samples per second"}
	case loadgen.MultiStream:
		key, unit, labels = "effective_samples_per_query", "samples per query", []string{"Samples per query"}
		if version >= "v2.0" {
			key, unit, labels = "result_99.00_percentile_per_query_latency_ns", "ns", []string{"99th percentile latency (ns)", "99.0th percentile latency (ns)"}
		}
	}
	if value, err := r.detail.Float(key); err == nil {
		return value, unit, usable(r.detail.Name, key, value)
	}
	for _, label := range labels {
		if value, ok := r.summary.Float(label); ok {
			return value, unit, usable(r.summary.Name, label, value)
		}
	}
	return 0, unit, fmt.Errorf("%s: no %s, nor %q in %s", r.detail.Name, key, labels[0], r.summary.Name)
}

// verifyAB fails a system that is faster with one sample than with different ones, of which
// each has a run (v0.5 to v2.0: compliance/nvidia/TEST04-A/verify_test4_performance.py). What
// is slower passes with a note. That script knows one scenario whose result is a latency,
// SingleStream; in v2.0 MultiStream became another, of which it takes a higher latency for a
// higher rate. So here.
func verifyAB(_ context.Context, v *Verdict, l Logs, o Options) error {
	ref, run, err := pair(v.Test, l, o)
	if err != nil {
		return err
	}
	if !ref.settings.PerformanceIssueUnique {
		return ref.wrong("effective_performance_issue_unique", false, true, "the run was not made with the audit.config of "+test04A)
	}
	a, unit, err := ref.oldMetric(o.Rules)
	if err != nil {
		return err
	}
	b, _, err := run.oldMetric(o.Rules)
	if err != nil {
		return err
	}
	v.judgeAB(ref.settings.Scenario, a, b, unit)
	return nil
}

func (v *Verdict) judgeAB(s loadgen.Scenario, a, b float64, unit string) {
	t, slower := 0.10, b < a
	if s == loadgen.SingleStream {
		if slower = b > a; a <= shortSingle {
			t = noise
		}
	}
	alike := within(a, b, t, "")
	if slower && !alike {
		v.Notes = append(v.Notes, "one sample is much slower than different ones, which passes")
	}
	v.scored(a, b, unit, alike || slower, fmt.Sprintf("within %.0f %%, or slower, passes", t*100),
		"responses are kept and given again to the same sample", "the input is kept on the device while the sample stays the same", busyMachine)
}

// verify03 compares a run on other data (v0.7:compliance/audit_v0.5/nvidia/TEST03): it must
// be as fast, and its responses must not be those of the data that everybody knows.
func verify03(_ context.Context, v *Verdict, l Logs, o Options) error {
	ref, run, err := pair(v.Test, l, o)
	if err != nil {
		return err
	}
	c := newComparison(o.DType)
	if err := c.read(l); err != nil {
		return err
	}
	v.Facts = append(v.Facts, fmt.Sprintf("%d of %d responses differ from those on the official data", c.wrong+c.later, c.found))
	v.Notes = append(v.Notes, "whether the score on the changed data is what the reference reaches on them is for a person to judge")
	if c.found > 0 && c.wrong+c.later == 0 {
		v.fail(fmt.Sprintf("all %d responses on the changed data are those on the official data", c.found),
			"responses are looked up by the index of the sample", "the run was not made with the changed data")
	}
	v.write(accuracyFile, v.Test+": responses", fmt.Sprint("num_perf_log_qsl_idx_match = ", c.found), fmt.Sprint("num_perf_log_data_mismatch = ", c.wrong+c.later), verdictLine(v.Passed))
	return v.compare01(ref, run, o.Rules)
}
