package compliance

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/config/limitation"
	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/loadgen/mlperflog"
	"github.com/mlperf-go/mlperf/internal/models"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// Options say how logs are verified. Fields that are zero have the value of the reference's scripts.
type Options struct {
	Rules string // version; empty: the newest
	// DType is the type of the numbers in responses: for TEST01 byte, float32, int32 or int64, empty: byte; for TEST06 int16,
	// int32 or int64, empty: int32.
	DType string
	// Model is the one whose bounds TEST07 and TEST09 have; empty: that of the run's results, or else gpt-oss-120b.
	Model string
	// EOS is the token that ends an answer, for TEST06; 0: those of the run's results, or else 2.
	EOS int32
	// LeastTokens and MostTokens bound the mean length of answers, for TEST09.
	LeastTokens, MostTokens float64
	// Score is the command that prints the score of TEST07; empty: Scorer. It has {accuracy_log} for the log, and Pattern, a
	// regular expression, finds the number in what it prints; empty: as gpt-oss-120b's script prints it.
	Score, Pattern string
	LeastScore     float64 // of TEST07; 0: the model's
	// Tolerance is how much TEST08's entropy may differ, as a fraction; 0: 0.001.
	Tolerance float64
	// Scorer scores an accuracy log, for TEST07, and for TEST01 of systems whose responses vary; nil: they must not vary.
	Scorer scorer
}

// A scorer scores an accuracy log.
type scorer = func(ctx context.Context, log string) (*report.Accuracy, error)

// check refuses bounds that nothing can be compared with.
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
	switch {
	case o.Score != "" && !strings.Contains(o.Score, logWord):
		return errNoCommand
	case o.Score != "" && runtime.GOOS == "windows":
		return userinput.Errorf("accuracy_script", "TEST07 runs its command in a shell, which Windows does not have")
	}
	_, err := o.pattern()
	return err
}

// pattern finds the score in what the command prints.
func (o Options) pattern() (*regexp.Regexp, error) {
	pattern, err := regexp.Compile(cmp.Or(o.Pattern, scorePattern))
	if err != nil || pattern.NumSubexp() < 1 {
		return nil, userinput.Invalid("score_pattern", o.Pattern, "a regular expression with a group for the number")
	}
	return pattern, nil
}

// Logs are folders of logs, or of results that have logs in performance/run_1 and accuracy.
type Logs struct {
	Performance string // of the result
	Accuracy    string // of the result; TEST01, TEST03 and TEST08 need it; empty: the folder of Performance
	Audit       string // of the run under the test's settings
}

// A verification judges the logs of a test.
type verification struct {
	*Verdict
	Options
	Logs
	accuracyLog string          // of the result
	results     *report.Results // of the run under the test's settings; nil: unknown
	model       string          // given, or in the results; empty: unknown
}

// Verify judges the logs of a test. A test that fails is a verdict, not an error.
func Verify(ctx context.Context, test string, l Logs, o Options) (*Verdict, error) {
	test, version, err := lookup(test, o.Rules)
	if err != nil {
		return nil, err
	}
	o.Rules = version
	if err := o.check(); err != nil {
		return nil, err
	}
	v := &verification{Verdict: &Verdict{Test: test, Passed: true, Findings: []string{}, texts: map[string]string{}}, Options: o, Logs: l}
	if err := v.findLogs(); err != nil {
		return nil, err
	}
	if v.results, err = readResults(v.Audit); err != nil {
		return nil, err
	}
	if v.model = o.Model; v.model == "" && v.results != nil && v.results.Model != report.NotKnown {
		v.model = v.results.Model
	}
	verify := kinds[test].verify
	if twoRuns(test, version) {
		v.unique, verify = v.Performance, (*verification).verify04AB
	}
	if err := verify(v, ctx); err != nil {
		return nil, err
	}
	err = v.addLimitations()
	userinput.Lines(v.Verdict)
	return v.Verdict, err
}

// findLogs finds the folders that have the logs.
func (v *verification) findLogs() error {
	var errs [3]error
	given, need := v.Audit, kinds[v.Test]
	v.Accuracy = cmp.Or(v.Accuracy, v.Performance)
	v.Audit, errs[0] = findRun(given)
	if need.performance {
		v.Performance, errs[1] = findRun(v.Performance)
	}
	if need.accuracy {
		v.Accuracy, errs[2] = findLog(v.Accuracy, mlperflog.AccuracyFile, "accuracy")
	}
	responses, err := findLog(given, mlperflog.AccuracyFile, "accuracy")
	if err != nil {
		responses = v.Audit // which may have none
	}
	v.run, v.responses = v.Audit, filepath.Join(responses, mlperflog.AccuracyFile)
	v.accuracyLog = filepath.Join(v.Accuracy, mlperflog.AccuracyFile)
	return errors.Join(errs[:]...)
}

func findRun(dir string) (string, error) {
	return findLog(dir, mlperflog.DetailFile, filepath.Join("performance", "run_1"))
}

// findLog returns the folder of a log: the one within dir, or dir.
func findLog(dir, file, within string) (string, error) {
	for _, folder := range []string{filepath.Join(dir, within), dir} {
		if _, err := os.Stat(filepath.Join(folder, file)); err == nil {
			return folder, nil
		}
	}
	return "", fmt.Errorf("%s has no %s, and neither has its folder %s", dir, file, within)
}

// readResults reads the results of a run; nil: there are none of this program.
func readResults(folder string) (*report.Results, error) {
	r, err := report.Read(folder)
	if errors.Is(err, report.ErrNoRun) {
		return nil, nil
	}
	return r, err
}

// addLimitations adds those of the results of the runs, and refuses runs of different models. A setting of the test is none.
func (v *verification) addLimitations() error {
	add := func(l limitation.Limitation) { v.Limitations = v.Limitations.Add(l) }
	var first *report.Results
	for _, dir := range []string{v.Performance, v.Audit, v.Accuracy} {
		r, err := readResults(dir)
		if err != nil {
			return err
		}
		if r == nil {
			detail, _ := mlperflog.ReadDetail(filepath.Join(dir, mlperflog.DetailFile)) // the accuracy log may lie alone
			if detail != nil && detail.Ours() {
				add(limitation.Limitation{ID: limitation.NoRecord})
			}
			continue
		}
		first = cmp.Or(first, r)
		if r.Model != first.Model {
			return fmt.Errorf("%s is a run of %s, the others are of %s", filepath.Join(dir, report.FileName), r.Model, first.Model)
		}
		for _, l := range r.Limitations {
			if l.ID != limitation.Setting || l.Role != limitation.AuditConf {
				add(l)
			}
		}
	}
	return nil
}

const gptOSS = "gpt-oss-120b"

// rulesModel returns the rules' name of the model, for its bounds. Unknown logs are of gpt-oss-120b, as for the reference's
// scripts.
func (v *verification) rulesModel() (string, error) {
	name := cmp.Or(v.model, gptOSS)
	if m, err := models.Lookup(name); err == nil {
		return m.Rules.Name, nil
	}
	if m, known := models.Rules(name); known {
		return m.Name, nil
	}
	return "", userinput.Errorf("model", "unknown model %q: must be the name of a benchmark in the rules", name)
}

// A runLog is the logs of one performance run.
type runLog struct {
	detail   *mlperflog.Detail
	summary  *mlperflog.Summary // nil: of an accuracy run
	settings loadgen.EffectiveSettings
}

func readRun(dir string) (*runLog, error) {
	detail, err := mlperflog.ReadDetail(filepath.Join(dir, mlperflog.DetailFile))
	if err != nil {
		return nil, err
	}
	summary, err := mlperflog.ReadSummary(filepath.Join(dir, mlperflog.SummaryFile))
	if err != nil {
		return nil, err
	}
	settings, err := detail.Effective()
	return &runLog{detail, summary, settings}, err
}

// wrong is an error about a setting of a log.
func (r *runLog) wrong(key string, found, want any, why string) error {
	e, _ := r.detail.First(key)
	return fmt.Errorf("%s:%d: %s is %v: must be %v: %s", r.detail.Name, e.Line, key, found, want, why)
}

// auditRun reads the logs of the run under the test's settings.
func (v *verification) auditRun() (*runLog, error) {
	run, err := readRun(v.Audit)
	if err != nil {
		return nil, err
	}
	s, why := run.settings, "the run was not made with the audit.config of "+v.Test
	if v.Test == test03 {
		return run, nil
	}
	if s.Mode != loadgen.PerformanceOnly {
		return nil, run.wrong("effective_test_mode", s.Mode, loadgen.PerformanceOnly, why)
	}
	least := 0 // responses
	switch v.Test {
	case test04:
		if !s.PerformanceIssueSame || s.PerformanceIssueUnique {
			return nil, run.wrong("effective_performance_issue_same", s.PerformanceIssueSame, true, why)
		}
		if s.PerformanceIssueSameIndex != sampleIndex {
			return nil, run.wrong("effective_performance_issue_same_index", s.PerformanceIssueSameIndex, sampleIndex, why)
		}
		return run, nil
	case test05:
		return run, nil
	case test01:
		if v.model != "" && v.Rules != "v0.5" {
			least = samplingTarget(v.model)
		}
	case test06:
		least = samples06
	case test08:
		least = usualSamples
	}
	seed := uint64(samplingSeed)
	if v.Rules == "v0.5" {
		seed = samplingSeeds05[s.Scenario]
	}
	if s.AccuracyLogRNGSeed != seed {
		return nil, run.wrong("effective_accuracy_log_rng_seed", s.AccuracyLogRNGSeed, seed, why)
	}
	// The fewer responses there are, the easier all are right. Older LoadGens do not log the number.
	if kept, err := run.detail.Uint("effective_accuracy_log_sampling_target"); err == nil && kept < uint64(least) {
		v.limit(limitation.FewerLogged, kept, least)
	}
	return run, nil
}

// markFewer marks a verdict on fewer responses than the test has samples.
func (v *verification) markFewer(responses, want int) {
	if responses < want {
		v.limit(limitation.FewerResponses, responses, want)
	}
}

// bothRuns reads the logs of the result and of the test, and refuses them if they are not of the same scenario and data, or
// do not have the seeds that the test asks for.
func (v *verification) bothRuns() (ref, run *runLog, err error) {
	if ref, err = readRun(v.Performance); err != nil {
		return nil, nil, err
	}
	if run, err = v.auditRun(); err != nil {
		return nil, nil, err
	}
	a, b := ref.settings, run.settings
	if a.Scenario != b.Scenario {
		return nil, nil, run.wrong("effective_scenario", b.Scenario, a.Scenario, "the scenario of "+ref.detail.Name)
	}
	if a.Mode != loadgen.PerformanceOnly && a.Mode != loadgen.SubmissionRun {
		return nil, nil, ref.wrong("effective_test_mode", a.Mode, loadgen.PerformanceOnly, "the result's run measures performance")
	}
	for _, c := range []struct {
		key  string
		a, b uint64
		seed bool
	}{
		{"effective_accuracy_sample_count", a.AccuracySampleCount, b.AccuracySampleCount, false},
		{"effective_performance_sample_count", a.PerformanceSampleCount, b.PerformanceSampleCount, false},
		{"effective_qsl_rng_seed", a.QSLRNGSeed, b.QSLRNGSeed, true},
		{"effective_sample_index_rng_seed", a.SampleIndexRNGSeed, b.SampleIndexRNGSeed, true},
		{"effective_schedule_rng_seed", a.ScheduleRNGSeed, b.ScheduleRNGSeed, true},
	} {
		switch {
		case c.seed && v.Test == test05 && c.a == c.b:
			return nil, nil, run.wrong(c.key, c.b, "another", "the run has the seeds of the result; TEST05 needs other ones")
		case c.seed && v.Test != test05 && c.a != c.b:
			return nil, nil, run.wrong(c.key, c.b, c.a, "seeds of another round than "+ref.detail.Name)
		case !c.seed && c.a != c.b:
			return nil, nil, run.wrong(c.key, c.b, c.a, "another model or data set than "+ref.detail.Name)
		}
	}
	return ref, run, nil
}

// checkAccuracyRun refuses an accuracy log of another mode or other data, if there is a detail log beside it.
func (v *verification) checkAccuracyRun(ref *runLog) error {
	path := filepath.Join(v.Accuracy, mlperflog.DetailFile)
	if _, err := os.Stat(path); err != nil {
		return nil
	}
	detail, err := mlperflog.ReadDetail(path)
	if err != nil {
		return err
	}
	r := &runLog{detail: detail}
	if r.settings, err = detail.Effective(); err != nil {
		return err
	}
	if m := r.settings.Mode; m != loadgen.AccuracyOnly && m != loadgen.SubmissionRun {
		return r.wrong("effective_test_mode", m, loadgen.AccuracyOnly, "responses are compared with those of an accuracy run")
	}
	if a, b := ref.settings.AccuracySampleCount, r.settings.AccuracySampleCount; a != b {
		return r.wrong("effective_accuracy_sample_count", b, a, "another model or data set than "+ref.detail.Name)
	}
	return nil
}

// eachRecord calls f with each record of an accuracy log, and says which record an error is about.
func eachRecord(path string, f func(accuracy.Record) error) error {
	file, err := fileio.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	for r, err := range accuracy.Records(accuracy.Named(path, file)) {
		if err != nil {
			return err
		}
		if err := f(r); err != nil {
			return fmt.Errorf("%s: record %d: %w", path, r.Number, err)
		}
	}
	return nil
}
