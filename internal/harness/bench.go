package harness

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/report"
)

// errFailed is the error of a run whose model or data failed on the way. Results were
// written and say why.
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
	switch {
	case cfg.FindPeak:
		return r.findPeak(ctx)
	case cfg.Runs > 1:
		return r.repeat(ctx)
	}
	return r.test(ctx, cfg.OutputDir)
}

// A run is one call of Run.
type run struct {
	cfg      Config
	settings loadgen.TestSettings
	made     []report.Setting
	warnings warnings

	files    []workload.File // of the model
	workload *workload.Workload
	model    loadedModel
	qsl      *qsl
	sut      *sut
	gauges   *gauges       // of the last test
	worked   time.Duration // of processors for this process, during the last test

	phases      []report.PhaseTime
	answersSum  string // SHA-256 of the accuracy log of the last test
	warm        warmUp
	costs       *batchCosts // nil: not measured
	evidence    evidence    // of servers, about the last test
	calibration *report.Calibration
	failure     atomic.Pointer[error] // the first of a prediction
	stuck       bool                  // a prediction of a test that is over goes on
}

func newRun(cfg Config) *run {
	if cfg.FreeMemory == nil {
		cfg.FreeMemory = func() uint64 { return 0 }
	}
	return &run{cfg: cfg, settings: cfg.Settings, made: slices.Clone(cfg.Made)}
}

// phase runs and times a part of the run. If that fails because ctx has ended, the error
// is what ended it: engines only know that something did.
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

// set makes a setting that was found by measuring, instead of the one that was made before.
func (r *run) set(key, value, origin string) {
	s := report.Setting{Key: key, Value: value, Origin: origin}
	if i := r.find(key); i >= 0 {
		r.made[i] = s
		return
	}
	r.made = append(r.made, s)
}

// origin says who made a setting.
func (r *run) origin(key string) string {
	if i := r.find(key); i >= 0 {
		return r.made[i].Origin
	}
	return "default"
}

// find returns where a setting is in r.made, of several the last, which counts; -1: nowhere.
func (r *run) find(key string) int {
	for i := len(r.made) - 1; i >= 0; i-- {
		if r.made[i].Key == key {
			return i
		}
	}
	return -1
}

// close frees the model and the data.
func (r *run) close() error {
	if r.stuck {
		return nil // its memory goes with the process
	}
	errs := []error{r.model.close()}
	if r.qsl != nil {
		errs = append(errs, r.qsl.Close())
	}
	return errors.Join(errs...)
}
