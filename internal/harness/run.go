package harness

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"github.com/mlperf-go/mlperf/internal/config/limitation"
	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/machine/clock"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/report/charts"
	"github.com/mlperf-go/mlperf/internal/units"
)

// errFailed is the error of a run whose model or data failed. The results say why.
var errFailed = errors.New("the run failed")

// Run runs a benchmark and returns what was measured: of several runs the last one, of a search the test of the highest load that
// keeps the bound. If it returns a test, its logs were written, even if there is an error too: errFailed, or what interrupted the run.
func Run(ctx context.Context, cfg Config) (t *Test, err error) {
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
	hash     string          // of these files; empty: not computed yet
	bytes    int64           // of these files, then
	workload *workload.Workload
	model    loadedModel
	qsl      *qsl
	raw      *rawSamples // nil: samples are made before the test

	phases      []report.PhaseTime
	warm        warmUp
	costs       *batchCosts // nil: not measured
	calibration *report.Calibration
	failure     atomic.Pointer[error] // the first of a prediction
	impossible  *LatencyBoundError    // why the test is short; nil: it is not
	stuck       bool                  // a prediction outlived its test

	// Of the last test.
	issued *loadgen.Result // at full length; nil: none
	sut    *sut
	gauges *gauges
	// How long servers took to end the requests whose answers were given up, and how many ran still (afterCancelled).
	cancelTook  time.Duration
	cancelStill float64
	cpuTime     time.Duration     // of this process
	sums        map[string]string // SHA-256, of its files
	charts      *charts.Charts    // nil: none
	servers     serverCheck
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
	begin := clock.Now()
	err := context.Cause(ctx)
	if err == nil {
		err = f()
	}
	r.phases = append(r.phases, report.PhaseTime{Name: name, Seconds: clock.Since(begin).Seconds()})
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
	if r.workload != nil && r.workload.Close != nil {
		errs = append(errs, r.workload.Close())
	}
	return errors.Join(errs...)
}

// test runs the test of the run's settings and scores it. The logs go to dir.
func (r *run) test(ctx context.Context, dir string) (*Test, error) {
	const mostRepeats = 2
	traffic, err := r.issue(ctx, dir)
	for again := 0; again < mostRepeats && err == nil && r.lengthen(traffic); again++ {
		traffic, err = r.issue(ctx, dir)
	}
	if traffic == nil {
		return nil, err
	}
	t := r.measured(ctx, traffic, dir)
	t.Unlogged = err
	return t, errors.Join(err, t.writeReplay(), r.writeLog(ctx, t), r.score(ctx, t))
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
	r.cfg.Observer.Note(fmt.Sprintf(
		"the test took %s, less than %s, at %s instead of the %s that were measured before: running it again with more samples",
		units.Duration(p.LastCompletion), units.Duration(r.cfg.Settings.MinDuration), units.Text(reached, "samples/s"),
		units.Number(r.calibration.SamplesPerSecond)))
	r.cfg.Settings.OfflineExpectedQPS = offlineMargin * reached
	r.calibration.SamplesPerSecond, r.calibration.Chosen.Value = reached, offlineMargin*reached
	r.calibration.Reason = fmt.Sprintf("a test reached %s and was too short; a quarter more makes it long enough", units.Text(reached, "samples/s"))
	r.set("target_qps", rateSetting(r.cfg.Settings.OfflineExpectedQPS), "calibration", limitation.Calibration)
	return true
}

// repeat runs the test several times, each in a folder run_1, run_2, … as the rules name them, and keeps each. It ends early if a
// run fails.
func (r *run) repeat(ctx context.Context) (last *Test, err error) {
	for i := range r.cfg.Runs {
		folder := fmt.Sprintf("run_%d", i+1)
		if err = fileio.MkdirIn(r.cfg.OutputDir, folder); err != nil {
			return last, fmt.Errorf("making the folder of a run: %w", err)
		}
		r.cfg.Observer.Note(fmt.Sprintf("run %d of %d", i+1, r.cfg.Runs))
		t, err := r.test(ctx, filepath.Join(r.cfg.OutputDir, folder))
		if t == nil {
			return last, err
		}
		last, t.Kept = t, true
		if err = errors.Join(err, r.keep(t)); err != nil {
			return last, err
		}
	}
	return last, nil
}
