package harness

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/config/limitation"
	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/report/charts"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// errFailed is the error of a run whose model or data failed. The results say why.
var errFailed = errors.New("the run failed")

// Run runs a benchmark. If it returns results, they and the logs were written to
// OutputDir, even if there is an error too: errFailed, or what interrupted the run.
func Run(ctx context.Context, cfg Config) (results *report.Results, err error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	if err := makeOutputDir(cfg); err != nil {
		return nil, err
	}
	r := newRun(cfg)
	defer func() { err = errors.Join(err, r.close()) }()
	if err := r.open(ctx); err != nil {
		return nil, err
	}
	if err := r.warmUp(ctx); err != nil {
		return nil, err
	}
	if err := r.calibrate(ctx); err != nil {
		return nil, err
	}
	if err := r.checkHeadroom(ctx); err != nil {
		return nil, err
	}
	if cfg.Ready != nil {
		if err := r.phase(ctx, "waiting for the benchmarks at the same time", cfg.Ready); err != nil {
			return nil, err
		}
	}
	switch {
	case cfg.FindPeak:
		return r.findPeak(ctx)
	case r.cfg.Runs > 1:
		return r.repeat(ctx)
	}
	return r.test(ctx, cfg.OutputDir)
}

// A run is one call of Run.
type run struct {
	cfg      Config // with the settings that the run finds
	warnings warnings

	files    []workload.File // of the model
	workload *workload.Workload
	model    loadedModel
	qsl      *qsl

	phases      []report.PhaseTime
	warm        warmUp
	costs       *batchCosts // nil: not measured
	calibration *report.Calibration
	failure     atomic.Pointer[error] // the first of a prediction
	impossible  *LatencyBoundError    // why the test is short; nil: it is not
	stuck       bool                  // a prediction outlived its test

	// Of the last test.
	issued      *loadgen.Result // at full length; nil: none
	sut         *sut
	gauges      *gauges
	cpuTime     time.Duration     // of this process
	sums        map[string]string // SHA-256, of its files
	charts      *charts.Charts    // nil: none
	serverCheck serverCheck
}

func newRun(cfg Config) *run {
	if cfg.FreeMemory == nil {
		cfg.FreeMemory = func() uint64 { return 0 }
	}
	cfg.Made = slices.Clone(cfg.Made)
	return &run{cfg: cfg}
}

// phase runs and times a part of the run. If it fails because ctx has ended, the error is the cause: engines do not know it.
func (r *run) phase(ctx context.Context, name string, f func() error) error {
	r.cfg.Observer.Phase(name)
	begin := time.Now()
	err := context.Cause(ctx)
	if err == nil {
		err = f()
	}
	r.phases = append(r.phases, report.PhaseTime{Name: name, Seconds: time.Since(begin).Seconds()})
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return fmt.Errorf("%s: %w", name, err)
}

// set replaces the record of a setting by that of another value.
func (r *run) set(key, value, origin string, role limitation.Role) {
	s := report.Setting{Key: key, Value: value, Origin: origin, Role: role}
	if i := r.find(key); i >= 0 {
		r.cfg.Made[i] = s
		return
	}
	r.cfg.Made = append(r.cfg.Made, s)
}

// origin says where a setting comes from.
func (r *run) origin(key string) string { return report.MadeBy(r.cfg.Made, key).Origin }

// find returns the place of a setting in r.cfg.Made, of several the last, which counts; -1: none.
func (r *run) find(key string) int {
	for i := len(r.cfg.Made) - 1; i >= 0; i-- {
		if r.cfg.Made[i].Key == key {
			return i
		}
	}
	return -1
}

// close frees the model and the data.
func (r *run) close() error {
	if r.stuck {
		return nil // the memory is still in use, and goes with the process
	}
	errs := []error{r.model.close()}
	if r.qsl != nil {
		errs = append(errs, r.qsl.Close())
	}
	return errors.Join(errs...)
}

// test runs the test of the run's settings and judges it. Logs and results go to dir.
func (r *run) test(ctx context.Context, dir string) (*report.Results, error) {
	const mostRepeats = 2
	test, err := r.issue(ctx, dir)
	for again := 0; again < mostRepeats && err == nil && r.lengthen(test); again++ {
		test, err = r.issue(ctx, dir)
	}
	if test == nil {
		return nil, err
	}
	results := r.results(test)
	if dir == r.cfg.OutputDir { // otherwise one of several runs
		r.complete(results)
	}
	incomplete(results, "the logs are not complete", err)
	err = errors.Join(err, r.outcome(ctx, test, results, dir))
	written := writeResults(results, dir)
	if written == nil {
		written = r.writePictures(dir)
	}
	err = errors.Join(err, written)
	if r.cfg.Also != nil {
		var prompt func(index int) *backend.Prompt
		if r.workload.Prompts != nil {
			prompt = r.workload.Prompts.Prompt
		}
		err = errors.Join(err, r.cfg.Also(test, results, prompt))
	}
	return results, err
}

// lengthen reports whether an Offline test was too short, and has no other fault, because
// the rate that was measured before is lower than the rate of the test. It makes the query of the next test large enough.
func (r *run) lengthen(test *loadgen.Result) bool {
	p := test.Performance
	if r.calibration == nil || r.cfg.Settings.Scenario != loadgen.Offline || p == nil || r.failure.Load() != nil ||
		test.Interrupted != nil || len(test.Faults) > 0 || p.MinDurationMet || !p.MinQueriesMet || !p.PerfConstraintsMet {
		return false
	}
	reached := float64(p.SampleCount) / p.LastCompletion.Seconds()
	r.cfg.Observer.Note(fmt.Sprintf("the test took %v, less than %v, at %.4g samples/s instead of the %.4g that were measured before: running it again with more samples",
		p.LastCompletion.Round(time.Millisecond), r.cfg.Settings.MinDuration, reached, r.calibration.SamplesPerSecond))
	r.cfg.Settings.OfflineExpectedQPS = offlineMargin * reached
	r.calibration.SamplesPerSecond, r.calibration.Chosen.Value = reached, offlineMargin*reached
	r.calibration.Reason = fmt.Sprintf("a test reached %.4g samples/s and was too short; a quarter more makes it long enough", reached)
	r.set("target_qps", fmt.Sprintf("%.4g", r.cfg.Settings.OfflineExpectedQPS), "calibration", limitation.Calibration)
	return true
}

// complete has others add what they know of a test that has ended.
func (r *run) complete(results *report.Results) {
	if r.cfg.Complete != nil {
		r.cfg.Complete(results)
	}
}

// incomplete makes results INVALID if something could not be written: they cannot be checked.
func incomplete(out *report.Results, what string, err error) {
	if err == nil {
		return
	}
	out.Problems = append(out.Problems, what+": "+strings.Join(userinput.ErrorLines(err), "; "))
	if out.Result == report.Valid {
		out.Result = report.Invalid
	}
}

// writeResults writes the document of a run. If that fails, or if a file that it names is not there, the results are INVALID.
func writeResults(results *report.Results, dir string) error {
	for _, name := range slices.Sorted(maps.Keys(results.Files)) {
		if report.IsPicture(name) { // which is written after the document
			continue
		}
		_, err := fileio.Stat(filepath.Join(dir, filepath.FromSlash(name)))
		incomplete(results, "a file of the run is not there at its end", err)
	}
	err := results.Write(dir)
	incomplete(results, "the results were not written", err)
	return err
}

// repeat runs the test several times, each in a folder run_1, run_2, … as the rules name
// them. The lowest result is the result. It ends early if a run fails.
func (r *run) repeat(ctx context.Context) (*report.Results, error) {
	var lowest *report.Results
	var lowestDir string
	var outcomes []report.RunOutcome
	files := map[string]string{}
	var err error
	for i := range r.cfg.Runs {
		folder := fmt.Sprintf("run_%d", i+1)
		dir := filepath.Join(r.cfg.OutputDir, folder)
		if err = fileio.MkdirIn(r.cfg.OutputDir, folder); err != nil {
			err = fmt.Errorf("making the folder of a run: %w", err)
			break
		}
		r.cfg.Observer.Note(fmt.Sprintf("run %d of %d", i+1, r.cfg.Runs))
		var results *report.Results
		if results, err = r.test(ctx, dir); results == nil {
			break
		}
		for name, sum := range results.Files {
			files[folder+"/"+name] = sum
		}
		outcomes = append(outcomes, report.RunOutcome{Folder: folder, Result: results.Result, Metric: results.Metric})
		if lowest == nil || lower(results, lowest) {
			lowest, lowestDir = results, dir
		}
		if err != nil {
			break
		}
	}
	if lowest == nil {
		return nil, err
	}
	all := *lowest
	all.Runs, all.Phases, all.Files = outcomes, r.phases, files
	if sum := lowest.Files[charts.FileName]; sum != "" {
		all.Files[charts.FileName] = sum
	}
	if n := len(outcomes); n < r.cfg.Runs && all.Result == report.Valid {
		all.Result = report.Invalid
		all.Problems = append(all.Problems, fmt.Sprintf("only %d of %d runs were made", n, r.cfg.Runs))
	}
	r.complete(&all)
	return &all, errors.Join(err, writeResults(&all, r.cfg.OutputDir), copyCharts(lowestDir, r.cfg.OutputDir))
}

// lower reports whether a is worse than b: not valid, or slower.
func lower(a, b *report.Results) bool {
	if a.Valid() != b.Valid() {
		return b.Valid()
	}
	return a.Metric != nil && b.Metric != nil && a.Metric.Value < b.Metric.Value
}
