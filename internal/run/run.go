package run

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/convert"
	"github.com/mlperf-go/mlperf/internal/harness"
	"github.com/mlperf-go/mlperf/internal/machine"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/report/page"
	"github.com/mlperf-go/mlperf/internal/run/outdir"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// Do resolves a request, provides what it needs, and runs it.
func Do(ctx context.Context, q Request, o Observer) (*report.Results, error) {
	resolved, err := Resolve(q)
	if err != nil {
		return nil, err
	}
	return resolved.do(ctx, o)
}

// do provides what a resolved request needs, and runs it.
func (r *Resolved) do(ctx context.Context, o Observer) (*report.Results, error) {
	prepared, err := r.Provide(ctx, o)
	if err != nil {
		return nil, err
	}
	results, err := prepared.Run(ctx)
	return results, errors.Join(err, prepared.Close())
}

// Run runs the benchmark. If it returns results, they and the logs were written to the
// folder, even if it returns an error too.
func (p *Prepared) Run(ctx context.Context) (*report.Results, error) {
	if err := p.makeFolder(); err != nil {
		return nil, err
	}
	dir := p.config.OutputDir
	unlock, err := outdir.Lock(dir)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if err := p.checkFolder(dir); err != nil { // a run that began since may have written there
		return nil, err
	}
	if p.Request.Force {
		if err := outdir.Clear(dir); err != nil {
			return nil, err
		}
	}
	if p.Request.Ranging {
		return p.runTwice(ctx)
	}
	energy, err := p.startMeter(ctx)
	if err != nil {
		return nil, err
	}
	return p.run(ctx, energy)
}

// makeFolder makes the folder that was chosen for the results, or one beside it.
func (p *Prepared) makeFolder() error {
	if !p.newFolder {
		return nil
	}
	dir, below := p.config.OutputDir, ""
	if p.Request.Ranging {
		dir, below = filepath.Split(dir)
	}
	made, err := outdir.New(filepath.Clean(dir))
	if err != nil {
		return fmt.Errorf("making the output folder: %w", err)
	}
	p.config.OutputDir = filepath.Join(made, below)
	p.Request.Output = p.config.OutputDir
	return nil
}

// run is Run with a meter that reads already; nil: none.
func (p *Prepared) run(ctx context.Context, energy meter) (*report.Results, error) {
	q, c := &p.Request, p.config
	if settings := machine.CurrentConditions().Settings(); len(settings) > 0 && !q.Quick { // a short run has them in its notes
		c.Observer.Note("this machine: " + strings.Join(settings, "; "))
	}
	results, err := p.measure(ctx, *c, energy)
	if results == nil {
		return nil, err
	}
	if !q.NoReport {
		if problem := page.WriteRun(c.OutputDir); problem != nil {
			c.Observer.Note(fmt.Sprintf("report.html was not written: %v", problem)) // the results are there
		}
	}
	if p.newFolder && !q.Ranging { // the two runs of a ranging measurement lie a folder below
		if problem := outdir.LinkLatest(c.OutputDir); errors.Is(problem, fs.ErrExist) { // without a link outdir.Latest finds it
			c.Observer.Note(problem.Error())
		}
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
	cfg := *p.config
	cfg.Observer = harness.Silent{}
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

// WithModel are the options of the engine with another model file, which is converted, once, if it is not of ONNX.
func (p *Prepared) WithModel(ctx context.Context, path string) (options backend.Options, err error) {
	options = p.config.Backend
	if options.ModelPath, err = convert.CachedFile(ctx, path, p.maker.Dir); err != nil {
		err = userinput.Wrap("model_path", err)
	}
	return options, err
}

// Cores is how many of the cores are for workers.
func (p *Prepared) Cores(all int) int { return p.config.Cores(all) }

// DatasetDir is the folder of the data.
func (p *Prepared) DatasetDir() string { return p.config.DatasetDir }

// ModelPath is the file of the model, in the precision of the request.
func (p *Prepared) ModelPath() string { return p.config.Backend.ModelPath }

// Parts are the files of the model that can run by themselves; none: only the model's own predictors can run them.
func (p *Prepared) Parts() ([]workload.File, error) {
	if p.model.FilesRunTogether() {
		return nil, nil
	}
	return p.model.FilesOf(p.config.Backend.ModelPath)
}

// OpenService opens a file of the model as another workload, without a test.
func (p *Prepared) OpenService(ctx context.Context, path string, w workload.Model, done harness.Answered) (*harness.Service, error) {
	cfg := *p.config
	cfg.Model, cfg.Options, cfg.Backend.ModelPath = w, nil, path
	return harness.OpenService(ctx, cfg, done)
}

// OpenSequences opens the model with the benchmark's own predictors, for a row for each limit at a
// time: how many tokens its next response may have. It also returns the workload with the data set.
func (p *Prepared) OpenSequences(ctx context.Context, limits []int, done harness.Answered) (*harness.Service, *workload.Workload, error) {
	cfg := *p.config
	var w *workload.Workload
	open := cfg.Model.Open
	cfg.Model.Open = func(s workload.Setup) (_ *workload.Workload, err error) {
		if w, err = open(s); err != nil {
			return nil, err
		}
		if w.Exchange == nil || w.Exchange.Sequences == nil {
			return nil, userinput.Errorf("model", "%s is not offered: its samples cannot come from elsewhere", p.model.Name)
		}
		return w.Exchange.Sequences.ForRows(limits), nil
	}
	s, err := harness.OpenService(ctx, cfg, done)
	return s, w, err
}

// OpenWorkload joins the model with its data, as a test does. It also returns the inputs and outputs of the model's files.
func (p *Prepared) OpenWorkload(ctx context.Context) (*workload.Workload, map[string]workload.Ports, error) {
	cfg := p.config
	files, err := p.model.FilesOf(cfg.Backend.ModelPath)
	if err != nil {
		return nil, nil, err
	}
	ports, err := workload.PortsOf(ctx, cfg.Engine, files, cfg.Backend)
	if err != nil {
		return nil, nil, err
	}
	w, err := p.model.Open(workload.Setup{ModelPath: cfg.Backend.ModelPath, DatasetDir: cfg.DatasetDir, Count: cfg.Count, Ports: ports,
		Rules: cfg.Rules, Interactive: cfg.Model.Rules.Interactive, Options: cfg.Options})
	return w, ports, err
}
