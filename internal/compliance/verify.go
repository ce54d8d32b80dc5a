package compliance

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"regexp"

	"github.com/mlperf-go/mlperf/internal/loadgen/mlperflog"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// Options say how logs are verified. Zero fields are chosen.
type Options struct {
	Rules string // version; empty: the newest
	// DType is what responses are of: for TEST01 byte, float32, int32 or int64, empty: byte; for
	// TEST06 int16, int32 or int64, empty: int32.
	DType string
	// Model is whose bounds TEST07 and TEST09 have; empty: that of the run's results, or else
	// gpt-oss-120b.
	Model string
	// EOS is the token that ends an answer, for TEST06; 0: those of the run's results, or else 2.
	EOS int32
	// LeastTokens and MostTokens bound the mean length of answers, for TEST09.
	LeastTokens, MostTokens float64
	// Score is the command that TEST07 takes its score from; empty: Scorer. {accuracy_log} in
	// it is the log, and Pattern, a regular expression, finds the number in what it prints;
	// empty: as gpt-oss-120b's script prints it. LeastScore is the bound; 0: the model's.
	Score, Pattern string
	LeastScore     float64
	// Tolerance is how much TEST08's entropy may differ, as a fraction; 0: 0.001.
	Tolerance float64
	// Scorer scores an accuracy log, for TEST07, and for TEST01 of systems whose responses
	// vary; nil: there is none, and responses must not vary.
	Scorer Scorer
}

// check finds what no test may be judged by: of what is compared with a bound that is no number,
// nothing is beyond it.
func (o Options) check() error {
	for name, v := range map[string]float64{
		"tolerance": o.Tolerance, "min_tokens": o.LeastTokens, "max_tokens": o.MostTokens, "accuracy_threshold": o.LeastScore,
	} {
		if !(v >= 0) || math.IsInf(v, 1) {
			return userinput.Invalid(name, v, "a number from 0 on")
		}
	}
	if o.Tolerance >= 1 {
		return userinput.Invalid("tolerance", o.Tolerance, "a fraction below 1")
	}
	_, err := o.pattern()
	return err
}

// pattern finds the score in what the command of the score prints.
func (o Options) pattern() (*regexp.Regexp, error) {
	pattern, err := regexp.Compile(cmp.Or(o.Pattern, scorePattern))
	if err != nil || pattern.NumSubexp() < 1 {
		return nil, userinput.Invalid("score_pattern", o.Pattern, "a regular expression with a group for the number")
	}
	return pattern, nil
}

// Verify judges the logs of a test. A test that fails is a verdict and no error.
func Verify(ctx context.Context, test string, l Logs, o Options) (*Verdict, error) {
	test, version, err := lookup(test, o.Rules)
	if err != nil {
		return nil, err
	}
	o.Rules = version
	if err := o.check(); err != nil {
		return nil, err
	}
	if l, err = l.resolve(test); err != nil {
		return nil, err
	}
	v := &Verdict{Test: test, Passed: true, texts: map[string]string{}, audit: l.Audit, log: l.responses, Findings: []string{}}
	verify := kinds[test].verify
	if pairOfRuns(test, version) {
		v.unique, verify = l.Performance, verifyAB
	}
	if err := verify(ctx, v, l, o); err != nil {
		return nil, err
	}
	if err := errors.Join(v.easier(l, o), v.sampledLess(l, o)); err != nil {
		return nil, err
	}
	return v, v.remarks(l.Performance, l.Audit, l.Accuracy)
}

// pair reads the logs of the result and of the test, which must fit.
func pair(test string, l Logs, o Options) (ref, run *runLog, err error) {
	if ref, err = readRun(l.Performance); err != nil {
		return nil, nil, err
	}
	if run, err = single(test, l, o); err != nil {
		return nil, nil, err
	}
	return ref, run, checkPair(test, ref, run)
}

// single reads the logs of the test.
func single(test string, l Logs, o Options) (*runLog, error) {
	run, err := readRun(l.Audit)
	if err != nil {
		return nil, err
	}
	return run, run.checkMade(test, o.Rules)
}

// accuracyLog is that of the result.
func (l Logs) accuracyLog() string { return filepath.Join(l.Accuracy, mlperflog.AccuracyFile) }

// percent says how much larger b is than a.
func percent(a, b float64) string { return fmt.Sprintf("%+.1f %%", (b/a-1)*100) }
