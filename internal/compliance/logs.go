package compliance

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/loadgen/mlperflog"
	"github.com/mlperf-go/mlperf/internal/report"
)

// Logs are folders of logs, or of results that have logs in performance/run_1 and
// accuracy.
type Logs struct {
	Performance string // of the result
	Accuracy    string // of the result; TEST01, TEST03 and TEST08 need it; empty: the folder of Performance
	Audit       string // of the run under the test's settings

	responses string // the accuracy log of that run
}

// resolve finds the folders that have the logs.
func (l Logs) resolve(test string) (Logs, error) {
	if l.Accuracy == "" {
		l.Accuracy = l.Performance
	}
	var errs [3]error
	given := l.Audit
	l.Audit, errs[0] = folderOf(l.Audit, mlperflog.DetailFile, filepath.Join("performance", "run_1"))
	if kinds[test].performance {
		l.Performance, errs[1] = folderOf(l.Performance, mlperflog.DetailFile, filepath.Join("performance", "run_1"))
	}
	if kinds[test].accuracy {
		l.Accuracy, errs[2] = folderOf(l.Accuracy, mlperflog.AccuracyFile, "accuracy")
	}
	l.responses = filepath.Join(l.Audit, mlperflog.AccuracyFile)
	if folder, err := folderOf(given, mlperflog.AccuracyFile, "accuracy"); err == nil {
		l.responses = filepath.Join(folder, mlperflog.AccuracyFile)
	}
	return l, errors.Join(errs[:]...)
}

// folderOf returns the folder of a log: dir, or the usual one within.
func folderOf(dir, file, within string) (string, error) {
	inner := filepath.Join(dir, within)
	for _, folder := range []string{inner, dir} {
		if _, err := os.Stat(filepath.Join(folder, file)); err == nil {
			return folder, nil
		}
	}
	return "", fmt.Errorf("%s: no %s, neither there nor in %s", dir, file, within)
}

// A runLog is the logs of one performance run.
type runLog struct {
	detail   *mlperflog.Detail
	summary  *mlperflog.Summary
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
	return fmt.Errorf("%s:%d: %s is %v, want %v: %s", r.detail.Name, e.Line, key, found, want, why)
}

// checkMade refuses a log that was not made under the settings of the test.
func (r *runLog) checkMade(test, version string) error {
	s, why := r.settings, "the run was not made with the audit.config of "+test
	if s.Mode != loadgen.PerformanceOnly && test != Test03 {
		return r.wrong("effective_test_mode", s.Mode, loadgen.PerformanceOnly, why)
	}
	switch test {
	case Test03, Test05:
		return nil
	case Test04:
		return r.checkSame(why)
	}
	if want := samplingSeedOf(version, s.Scenario); s.AccuracyLogRNGSeed != want {
		return r.wrong("effective_accuracy_log_rng_seed", s.AccuracyLogRNGSeed, want, why)
	}
	return nil
}

// checkSame refuses a log of a run that had more than one sample.
func (r *runLog) checkSame(why string) error {
	s := r.settings
	if !s.PerformanceIssueSame || s.PerformanceIssueUnique {
		return r.wrong("effective_performance_issue_same", s.PerformanceIssueSame, true, why)
	}
	if s.PerformanceIssueSameIndex != sampleIndex {
		return r.wrong("effective_performance_issue_same_index", s.PerformanceIssueSameIndex, sampleIndex, why)
	}
	return nil
}

// checkPair refuses logs that are not of the same scenario and data, or not of the seeds
// that the test asks for.
func checkPair(test string, ref, run *runLog) error {
	a, b := ref.settings, run.settings
	if a.Scenario != b.Scenario {
		return run.wrong("effective_scenario", b.Scenario, a.Scenario, "the scenario of "+ref.detail.Name)
	}
	if a.Mode != loadgen.PerformanceOnly && a.Mode != loadgen.SubmissionRun {
		return ref.wrong("effective_test_mode", a.Mode, loadgen.PerformanceOnly, "the result's run measures performance")
	}
	same := test != Test05
	for _, c := range []struct {
		key  string
		a, b uint64
		same bool
		why  string
	}{
		{"effective_accuracy_sample_count", a.AccuracySampleCount, b.AccuracySampleCount, true, "another model or data set"},
		{"effective_performance_sample_count", a.PerformanceSampleCount, b.PerformanceSampleCount, true, "another model or data set"},
		{"effective_qsl_rng_seed", a.QSLRNGSeed, b.QSLRNGSeed, same, "seeds of another round"},
		{"effective_sample_index_rng_seed", a.SampleIndexRNGSeed, b.SampleIndexRNGSeed, same, "seeds of another round"},
		{"effective_schedule_rng_seed", a.ScheduleRNGSeed, b.ScheduleRNGSeed, same, "seeds of another round"},
	} {
		if c.same && c.a != c.b {
			return run.wrong(c.key, c.b, c.a, c.why+" than "+ref.detail.Name)
		}
		if !c.same && c.a == c.b {
			return run.wrong(c.key, c.b, "another", "the run has the seeds of the result; "+test+" needs those of its own")
		}
	}
	return nil
}

// checkAccuracy refuses the log of a run that was none for accuracy. Without a detail log
// beside it, nothing is known.
func checkAccuracy(dir string, ref *runLog) error {
	path := filepath.Join(dir, mlperflog.DetailFile)
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

// remarks takes caveats from the results of runs, where this program made them, and
// refuses those of different models.
func (v *Verdict) remarks(dirs ...string) error {
	var first *report.Results
	var caveats []string
	for _, dir := range dirs {
		r, err := resultsIn(dir)
		if err != nil {
			return err
		}
		if r == nil {
			continue
		}
		first = cmp.Or(first, r)
		if r.Model != first.Model {
			return fmt.Errorf("%s is a run of %s, the others are of %s", filepath.Join(dir, report.FileName), r.Model, first.Model)
		}
		caveats = append(caveats, r.Caveats...)
	}
	v.addCaveats(caveats)
	return nil
}

// addCaveats adds each caveat once, but not that there are settings of the test: they are as
// they should be.
func (v *Verdict) addCaveats(caveats []string) {
	seen := map[string]bool{}
	for _, c := range caveats {
		if !seen[c] && !strings.Contains(c, confFile+":") {
			v.Caveats = append(v.Caveats, c)
		}
		seen[c] = true
	}
}

// eachRecord calls f with each record of an accuracy log.
func eachRecord(path string, f func(accuracy.Record) error) error {
	file, err := fileio.Open(path)
	if err != nil {
		return err
	}
	for r, err := range accuracy.Records(accuracy.Named(path, file)) {
		if err == nil {
			err = f(r)
		}
		if err != nil {
			return errors.Join(err, file.Close())
		}
	}
	return file.Close()
}
