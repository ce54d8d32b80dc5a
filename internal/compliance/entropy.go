package compliance

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/mlperf-go/mlperf/internal/accuracy"
)

// A recommendation is what DLRM's logs have of a query: candidates with the model's
// predictions, and in the accuracy log their labels and weights.
type recommendation struct {
	time, query                  int
	predictions, labels, weights []float32
}

// floats reads the numbers of a response.
func floats(data []byte) ([]float32, error) {
	if len(data)%4 != 0 {
		return nil, fmt.Errorf("%d bytes are not numbers of 4 bytes", len(data))
	}
	values := make([]float32, len(data)/4)
	for i := range values {
		values[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
	}
	return values, nil
}

// parseRecommendation reads a response: time, query, predictions, and if labelled also
// labels, weights, and how many candidates there are.
func parseRecommendation(data []byte, labelled bool) (r recommendation, err error) {
	v, err := floats(data)
	if err != nil {
		return r, err
	}
	if len(v) < 2 {
		return r, fmt.Errorf("%d numbers, want a time, a query, and predictions", len(v))
	}
	count := float32(0)
	if labelled {
		count = v[len(v)-1]
	}
	if err := whole(map[string]float32{"time": v[0], "query": v[1], "number of candidates": count}); err != nil {
		return r, err
	}
	r = recommendation{time: int(v[0]), query: int(v[1]), predictions: v[2:]}
	if !labelled {
		return r, nil
	}
	n := int(count)
	if n < 0 || len(v) != 3+3*n {
		return r, fmt.Errorf("%d numbers for %d candidates, want %d", len(v), n, 3+3*n)
	}
	r.predictions, r.labels, r.weights = v[2:2+n], v[2+n:2+2*n], v[2+2*n:2+3*n]
	return r, nil
}

// whole refuses numbers that are none of a time, a query or a count.
func whole(numbers map[string]float32) error {
	for name, x := range numbers {
		if !(math.Abs(float64(x)) <= 1<<31) {
			return fmt.Errorf("the %s is %v, want a whole number", name, x)
		}
	}
	return nil
}

// smallest keeps logarithms finite (run_verification.py, eps).
const smallest = 1e-7

// clip is numpy's, which has the bounds in the precision of what it clips: the upper one is
// 1.2e-7 below 1.
func clip(x float32) float64 { return float64(min(max(x, smallest), float32(1-smallest))) }

// entropy is the cross entropy of predictions, normalised by that of the mean label: of
// which 1 is no better than a guess.
func entropy(predictions, labels, weights []float32) float64 {
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

// An entropyComparison matches the recommendations of two logs.
type entropyComparison struct {
	tolerance                  float64
	known                      map[[2]int]recommendation
	accuracy, performance      int
	matched, unmatched, differ int
	examples                   []string
}

func (c *entropyComparison) learn(path string) func(accuracy.Record) error {
	return func(r accuracy.Record) error {
		one, err := parseRecommendation(r.Data, true)
		if err != nil {
			return fmt.Errorf("%s: record %d: %w", path, r.Number, err)
		}
		c.accuracy++
		c.known[[2]int{one.time, one.query}] = one
		return nil
	}
}

func (c *entropyComparison) compare(path string) func(accuracy.Record) error {
	return func(r accuracy.Record) error {
		one, err := parseRecommendation(r.Data, false)
		if err != nil {
			return fmt.Errorf("%s: record %d: %w", path, r.Number, err)
		}
		c.performance++
		ref, ok := c.known[[2]int{one.time, one.query}]
		if !ok {
			c.unmatched++
			c.note("time %d, query %d (record %d of %s) is not in the accuracy log", one.time, one.query, r.Number, path)
			return nil
		}
		if len(one.predictions) != len(ref.predictions) {
			return fmt.Errorf("%s: record %d: %d predictions for time %d, query %d, the accuracy log has %d", path, r.Number, len(one.predictions), one.time, one.query, len(ref.predictions))
		}
		c.matched++
		a, b := entropy(ref.predictions, ref.labels, ref.weights), entropy(one.predictions, ref.labels, ref.weights)
		if c.alike(a, b) {
			return nil
		}
		c.differ++
		c.note("time %d, query %d (record %d of %s): entropy %.6f, the accuracy run's %.6f (%s)", one.time, one.query, r.Number, path, b, a, percent(a, b))
		return nil
	}
}

func (c *entropyComparison) note(format string, args ...any) {
	if len(c.examples) < mostExamples {
		c.examples = append(c.examples, fmt.Sprintf(format, args...))
	}
}

// alike compares two entropies. None is near to 0, and two that are no numbers are alike. One
// alone is not, though the reference's script passes it: NaN is not more than its tolerance.
func (c *entropyComparison) alike(a, b float64) bool {
	return a == b || math.IsNaN(a) && math.IsNaN(b) || a != 0 && b != 0 && math.Abs(b-a)/math.Abs(a) <= c.tolerance
}

// verify08 compares the entropy of recommendations (compliance/TEST08/run_verification.py).
func verify08(_ context.Context, v *Verdict, l Logs, o Options) error {
	run, err := single(v.Test, l, o)
	if err != nil {
		return err
	}
	if err := checkAccuracy(l.Accuracy, run); err != nil {
		return err
	}
	c := &entropyComparison{tolerance: cmp.Or(o.Tolerance, usualTolerance), known: map[[2]int]recommendation{}}
	if err := eachRecord(l.accuracyLog(), c.learn(l.accuracyLog())); err != nil {
		return err
	}
	if err := eachRecord(l.responses, c.compare(l.responses)); err != nil {
		return err
	}
	c.judge(v)
	return nil
}

// judge writes what came of the comparison.
func (c *entropyComparison) judge(v *Verdict) {
	passes := c.differ == 0 && c.unmatched == 0 && c.matched > 0
	v.Facts = append(v.Facts, fmt.Sprintf("%d of %d recommendations have the entropy of the accuracy run's, within %v %%", c.matched-c.differ, c.performance, c.tolerance*100))
	if !passes {
		v.fail(fmt.Sprintf("%d recommendations differ by more than %v %%, %d are not in the accuracy log, %d match", c.differ, c.tolerance*100, c.unmatched, c.matched-c.differ),
			"the system computes less in performance mode, or the two logs are of different streams")
		v.Findings = append(v.Findings, c.examples...)
	}
	v.write(accuracyFile, v.Test+": entropy", fmt.Sprint("num_acc_log_entries = ", c.accuracy), fmt.Sprint("num_perf_log_entries = ", c.performance),
		fmt.Sprint("num_matched = ", c.matched), fmt.Sprint("num_unmatched = ", c.unmatched), fmt.Sprint("num_ne_mismatch = ", c.differ),
		fmt.Sprintf("tolerance = %v %%", c.tolerance*100), verdictLine(passes))
}
