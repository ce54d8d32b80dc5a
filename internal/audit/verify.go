package audit

import (
	"fmt"
	"path/filepath"

	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/field"
	"github.com/mlperf-go/mlperf/internal/loadgen/mlperflog"
)

// Options say how logs are verified. Zero fields are chosen.
type Options struct {
	Rules string // version; empty: the newest
	DType string // of TEST01's responses: byte, float32, int32 or int64; empty: byte
	// EOS is the token that ends an answer, for TEST06; 0: 2.
	EOS int32
	// LeastTokens and MostTokens bound the mean length of answers, for TEST09.
	LeastTokens, MostTokens float64
	// Scorer scores an accuracy log, for TEST01 of systems whose responses vary; nil: there
	// is none, and responses must not vary.
	Scorer Scorer
	// MaxLoss is how many percent the score of the same samples may differ; 0: 1.
	MaxLoss float64
}

// verifications do the work of each test.
var verifications = map[string]func(*Verdict, Logs, Options) error{
	Test01: verify01, Test04: verify04, Test05: verify05, Test06: verify06, Test09: verify09,
}

// Verify judges the logs of a test. A test that fails is a verdict and no error.
func Verify(test string, l Logs, o Options) (*Verdict, error) {
	test, err := lookup(test)
	if err != nil {
		return nil, err
	}
	set, err := config.Rules(o.Rules)
	if err != nil {
		return nil, field.Wrap("rules", err)
	}
	if o.Rules = set.Version; test == Test05 && (o.Rules < "v2.1" || o.Rules >= "v5") {
		return nil, field.Errorf("rules", "TEST05 is of the rules v2.1 to v4.1, not of %s", o.Rules)
	}
	if l, err = l.resolve(test); err != nil {
		return nil, err
	}
	v := &Verdict{Test: test, Passed: true, texts: map[string]string{}, audit: l.Audit, log: l.responses, Findings: []string{}}
	if err := verifications[test](v, l, o); err != nil {
		return nil, err
	}
	return v, v.remarks(l.Performance, l.Audit, l.Accuracy)
}

// pair reads the logs of the result and of the test, which must fit.
func pair(test string, l Logs) (ref, run *runLog, err error) {
	if ref, err = readRun(l.Performance); err != nil {
		return nil, nil, err
	}
	if run, err = single(test, l); err != nil {
		return nil, nil, err
	}
	return ref, run, checkPair(test, ref, run)
}

// single reads the logs of the test.
func single(test string, l Logs) (*runLog, error) {
	run, err := readRun(l.Audit)
	if err != nil {
		return nil, err
	}
	return run, run.checkMade(test)
}

// accuracyLog is that of the result.
func (l Logs) accuracyLog() string { return filepath.Join(l.Accuracy, mlperflog.AccuracyFile) }

// percent says how much larger b is than a.
func percent(a, b float64) string { return fmt.Sprintf("%+.1f %%", (b/a-1)*100) }
