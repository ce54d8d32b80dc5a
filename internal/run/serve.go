package run

import (
	"context"

	"github.com/mlperf-go/mlperf/internal/harness"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// ResolveService finds out what a request means whose model answers others, without a test. The model
// is run as in Offline, whatever the scenario of the request: by all cores, in batches. Nothing is
// written, so that no folder for results is chosen, and those in the request's are left alone.
func ResolveService(q Request) (*Resolved, error) {
	q.Scenario, q.Output, q.Force = loadgen.Offline.String(), "", false
	return meaningOf(q)
}

// Parts are the files of the model that can be run by themselves; none: only its own predictors can
// run them.
func (p *Prepared) Parts() ([]workload.File, error) {
	if p.model.FilesRunTogether() {
		return nil, nil
	}
	return p.model.FilesOf(p.bench.Backend.ModelPath)
}

// OpenService opens a file of the model as another workload, without a test.
func (p *Prepared) OpenService(ctx context.Context, path string, w workload.Model, done harness.Answered) (*harness.Service, error) {
	cfg := *p.bench
	cfg.Model, cfg.Options, cfg.Judge, cfg.Backend.ModelPath = w, nil, nil, path
	return harness.OpenService(ctx, cfg, done)
}

// OpenSequences opens the model with the benchmark's own predictors, for a row for each limit at a
// time: how many tokens its next answer may have. It also returns the workload with the data set.
func (p *Prepared) OpenSequences(ctx context.Context, limits []int, done harness.Answered) (*harness.Service, *workload.Workload, error) {
	cfg := *p.bench
	cfg.Judge = nil
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

// OpenWorkload joins the model with its data, as a test does, and says what its files take and give.
func (p *Prepared) OpenWorkload(ctx context.Context) (*workload.Workload, map[string]workload.Ports, error) {
	cfg := p.bench
	files, err := p.model.FilesOf(cfg.Backend.ModelPath)
	if err != nil {
		return nil, nil, err
	}
	ports, err := workload.PortsOf(ctx, cfg.Engine, files, cfg.Backend)
	if err != nil {
		return nil, nil, err
	}
	w, err := p.model.Open(workload.Setup{ModelPath: cfg.Backend.ModelPath, DatasetDir: cfg.DatasetDir, Count: cfg.Count, Ports: ports, Options: cfg.Options})
	return w, ports, err
}

// Version names the content of the model.
func (p *Prepared) Version() string { return p.Fingerprint.Model }

// ModelName is the model's name in the catalogue.
func (r *Resolved) ModelName() string { return r.model.Name }
