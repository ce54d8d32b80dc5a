package session

import (
	"context"

	"github.com/mlperf-go/mlperf/internal/bench"
	"github.com/mlperf-go/mlperf/internal/field"
	"github.com/mlperf-go/mlperf/internal/workload"
)

// OpenService opens the model file as another workload, without a test.
func (p *Prepared) OpenService(ctx context.Context, w workload.Model, done func(row int, response []byte, err error)) (*bench.Service, error) {
	if p.model.Files != nil {
		return nil, field.Errorf("model", "%s consists of several files, and a server of the protocol has no such models", p.model.Name)
	}
	cfg := *p.bench
	cfg.Model, cfg.Options, cfg.Judge = w, nil, nil
	return bench.OpenService(ctx, cfg, done)
}

// Sequences reports whether the model is one that only the benchmark's own predictors can run: of
// several files, or token by token.
func (p *Prepared) Sequences() bool { return p.model.Files != nil }

// OpenSequences opens the model with the benchmark's own predictors, for so many rows from
// elsewhere at a time.
func (p *Prepared) OpenSequences(ctx context.Context, rows int, done func(row int, response []byte, err error)) (*bench.Service, workload.Writer, error) {
	cfg := *p.bench
	cfg.Judge = nil
	var writer workload.Writer
	open := cfg.Model.Open
	cfg.Model.Open = func(s workload.Setup) (workload.Workload, error) {
		w, err := open(s)
		if err != nil {
			return nil, err
		}
		var ok bool
		if writer, ok = w.(workload.Writer); !ok {
			return nil, field.Errorf("model", "%s is not offered: its samples cannot come from elsewhere", p.model.Name)
		}
		return writer.Elsewhere(rows), nil
	}
	s, err := bench.OpenService(ctx, cfg, done)
	return s, writer, err
}

// OpenWorkload joins the model with its data, as a test does.
func (p *Prepared) OpenWorkload(ctx context.Context) (workload.Workload, error) {
	cfg := p.bench
	files, err := p.model.FilesOf(cfg.Backend.ModelPath)
	if err != nil {
		return nil, err
	}
	ports, err := workload.PortsOf(ctx, cfg.Engine, files, cfg.Backend)
	if err != nil {
		return nil, err
	}
	return p.model.Open(workload.Setup{ModelPath: cfg.Backend.ModelPath, DatasetDir: cfg.DatasetDir, Count: cfg.Count, Ports: ports, Options: cfg.Options})
}

// Version names the content of the model.
func (p *Prepared) Version() string { return p.Fingerprint.Model }

// ModelName is the model's name in the catalogue.
func (p *Prepared) ModelName() string { return p.model.Name }
