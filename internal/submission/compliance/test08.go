package compliance

import (
	"cmp"
	"context"
	"fmt"
	"math"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/config/limitation"
)

// usualTolerance is how much the entropy may differ (compliance/TEST08/run_verification.py, --tolerance).
const usualTolerance = 0.001

// entropy returns the cross entropy of predictions, normalised by that of the mean label: 1 is as good as a guess.
func entropy(predictions, labels, weights []float32) float64 {
	const smallest = 1e-7 // keeps logarithms finite (run_verification.py, eps)
	// clip is numpy's, which rounds the bounds to the precision of the number: the upper one is 1.2e-7 below 1.
	clip := func(x float32) float64 { return float64(min(max(x, smallest), float32(1-smallest))) }
	total, cross, mean := 0.0, 0.0, 0.0
	for i, w := range weights {
		p, l, w := clip(predictions[i]), clip(labels[i]), float64(w)
		total += w
		cross -= w * (l*math.Log(p) + (1-l)*math.Log(1-p))
		mean += w * l
	}
	if total == 0 {
		return 0
	}
	mean = min(max(mean/total, smallest), 1-smallest)
	baseline := -mean*math.Log(mean) - (1-mean)*math.Log(1-mean)
	return cross / (baseline * total)
}

// sameEntropy reports whether two entropies differ by at most a fraction. Two NaN are the same; one alone is not, though the
// reference's script passes it: NaN is not above its tolerance.
func sameEntropy(a, b, tolerance float64) bool {
	return a == b || math.IsNaN(a) && math.IsNaN(b) || a != 0 && b != 0 && math.Abs(b-a)/math.Abs(a) <= tolerance
}

// verify08 compares the entropy of recommendations (compliance/TEST08/run_verification.py).
func (v *verification) verify08(context.Context) error {
	run, err := v.auditRun()
	if err != nil {
		return err
	}
	if err := v.checkAccuracyRun(run); err != nil {
		return err
	}
	tolerance := cmp.Or(v.Tolerance, usualTolerance)
	if tolerance > usualTolerance {
		v.limit(limitation.WiderEntropies, fmt.Sprintf("%v %%", tolerance*100), fmt.Sprintf("%v %%", usualTolerance*100))
	}
	known, entries := map[[2]int]accuracy.Recommendation{}, 0
	if err := eachRecord(v.accuracyLog, func(r accuracy.Record) error {
		one, err := accuracy.ParseRecommendation(r.Data, true)
		if err != nil {
			return err
		}
		entries++
		known[[2]int{one.Time, one.Query}] = one
		return nil
	}); err != nil {
		return err
	}
	var performance, matched, unmatched, differ int
	var examples []string
	note := func(r accuracy.Record, one accuracy.Recommendation, format string, args ...any) {
		if len(examples) < mostExamples {
			examples = append(examples, fmt.Sprintf("time %d, query %d (record %d of %s)", one.Time, one.Query, r.Number, v.responses)+
				fmt.Sprintf(format, args...))
		}
	}
	if err := eachRecord(v.responses, func(r accuracy.Record) error {
		one, err := accuracy.ParseRecommendation(r.Data, false)
		if err != nil {
			return err
		}
		performance++
		ref, has := known[[2]int{one.Time, one.Query}]
		switch {
		case !has:
			unmatched++
			note(r, one, " is not in the accuracy log")
			return nil
		case len(one.Predictions) != len(ref.Predictions):
			return fmt.Errorf("%d predictions for time %d, query %d, the accuracy log has %d", len(one.Predictions), one.Time, one.Query, len(ref.Predictions))
		}
		matched++
		a, b := entropy(ref.Predictions, ref.Labels, ref.Weights), entropy(one.Predictions, ref.Labels, ref.Weights)
		if !sameEntropy(a, b, tolerance) {
			differ++
			note(r, one, ": entropy %.6f, the accuracy run's %.6f (%s)", b, a, percent(a, b))
		}
		return nil
	}); err != nil {
		return err
	}
	passes := differ == 0 && unmatched == 0 && matched > 0
	v.Facts = append(v.Facts, fmt.Sprintf("%d of %d recommendations have the entropy of the accuracy run's, within %v %%", matched-differ,
		performance, tolerance*100))
	if !passes {
		v.fail(fmt.Sprintf("%d recommendations differ by more than %v %%, %d are not in the accuracy log, %d match", differ, tolerance*100,
			unmatched, matched-differ),
			"the system computes less in performance mode, or the two logs are of different streams")
		v.Findings = append(v.Findings, examples...)
	}
	v.write(accuracyFile, v.Test+": entropy", fmt.Sprint("num_acc_log_entries = ", entries), fmt.Sprint("num_perf_log_entries = ", performance),
		fmt.Sprint("num_matched = ", matched), fmt.Sprint("num_unmatched = ", unmatched), fmt.Sprint("num_ne_mismatch = ", differ),
		fmt.Sprintf("tolerance = %v %%", tolerance*100), verdictLine(passes))
	return nil
}
