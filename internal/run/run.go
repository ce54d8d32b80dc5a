package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/harness"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/report/page"
)

// Run runs the benchmark. If it returns results, they and the logs were written to the
// folder, even if there is an error too.
func (p *Prepared) Run(ctx context.Context) (*report.Results, error) {
	if err := p.claimFolder(); err != nil {
		return nil, err
	}
	release, err := p.hold()
	if err != nil {
		return nil, err
	}
	defer release()
	if p.Request.Force {
		if err := clearFolder(p.bench.OutputDir); err != nil {
			return nil, err
		}
	}
	if p.Request.Ranging {
		return p.runTwice(ctx)
	}
	meter, err := p.startMeter(ctx)
	if err != nil {
		return nil, err
	}
	return p.runMetered(ctx, meter)
}

// runMetered is Run with a meter that reads already; nil: none.
func (p *Prepared) runMetered(ctx context.Context, meter *meter) (*report.Results, error) {
	before := p.lookAround()
	p.bench.Also = p.artifacts()
	p.bench.ClientCores = cmp.Or(p.Request.Cores, runtime.GOMAXPROCS(0))
	results, err := harness.Run(ctx, *p.bench)
	changed := results != nil && addConditions(results, before)
	err = errors.Join(err, meter.stop(results, p.bench.OutputDir))
	if changed && err == nil {
		err = results.Write(p.bench.OutputDir)
	}
	if results != nil && !p.Request.NoReport {
		if problem := page.WriteRun(p.bench.OutputDir); problem != nil {
			p.bench.Observer.Note(fmt.Sprintf("there is no page: %v", problem)) // the results are there
		}
	}
	if results != nil && p.chosenFolder && !p.Request.Ranging { // whose runs lie a folder below
		err = errors.Join(err, linkLatest(p.bench.OutputDir))
	}
	return results, err
}

// A Way is a way to run a model. Zero fields are chosen as a run does.
type Way struct {
	Instances, Threads, MaxBatch int
	MaxDelay                     time.Duration
	Backend                      *backend.Options // other files or precision; nil: the request's
	Samples                      uint64           // in memory at most; 0: as a run has
}

// Open opens the model in a way, to measure it.
func (p *Prepared) Open(ctx context.Context, w Way) (*harness.Probe, error) {
	cfg := *p.bench
	cfg.Observer = silent{}
	cfg.Instances, cfg.MaxBatch, cfg.MaxDelay = w.Instances, w.MaxBatch, w.MaxDelay
	if w.Backend != nil {
		cfg.Backend = *w.Backend
	}
	cfg.Backend.IntraThreads = w.Threads
	if n := cfg.Settings.PerformanceSampleCountOverride; w.Samples > 0 && (n == 0 || n > w.Samples) {
		cfg.Settings.PerformanceSampleCountOverride = w.Samples
	}
	return harness.OpenProbe(ctx, cfg)
}

// WithModel are the options of the engine with another model file.
func (p *Prepared) WithModel(path string) backend.Options {
	options := p.bench.Backend
	options.ModelPath = path
	return options
}

// Cores is how many of the cores are for workers.
func (p *Prepared) Cores(all int) int { return p.bench.Cores(all) }

// DatasetDir is the folder of the data.
func (p *Prepared) DatasetDir() string { return p.bench.DatasetDir }

// ModelPath is the file of the model, in the precision that was asked for.
func (p *Prepared) ModelPath() string { return p.bench.Backend.ModelPath }

// Close frees the engine, and lets go of the cache.
func (p *Prepared) Close() error {
	p.release()
	var errs []error
	if p.bench.Engine != nil {
		errs = append(errs, p.bench.Engine.Close())
	}
	if p.maker.Engine != nil && p.maker.Engine != p.bench.Engine {
		errs = append(errs, p.maker.Engine.Close())
	}
	return errors.Join(errs...)
}

// silent is an observer that says nothing.
type silent struct{}

func (silent) Phase(string)             {}
func (silent) Loading(int, int)         {}
func (silent) Items(int, int)           {}
func (silent) Traffic(loadgen.Progress) {}
func (silent) Note(string)              {}
