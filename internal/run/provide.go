package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/backend/ort"
	"github.com/mlperf-go/mlperf/internal/builtin"
	"github.com/mlperf-go/mlperf/internal/convert"
	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/harness"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/machine"
	"github.com/mlperf-go/mlperf/internal/machine/home"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/quantize"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// A Prepared request has everything that a run needs. It must be closed.
type Prepared struct {
	*Resolved
	Fingerprint Fingerprint

	bench   *harness.Config
	maker   builtin.Maker
	release func() // of the cache
}

// Provide opens the engine, and sees to it that there is a model in the precision that was
// asked for, and a data set.
func (r *Resolved) Provide(ctx context.Context, o Observer) (p *Prepared, err error) {
	cfg, err := r.config()
	if err != nil {
		return nil, err
	}
	cache, err := home.CacheDir()
	if err != nil {
		return nil, err
	}
	for _, note := range r.Notes {
		o.Note(note)
	}
	cfg.Observer, cfg.CacheDir, cfg.System = o, filepath.Join(cache, "samples"), machine.Describe(cfg.OutputDir)
	cfg.Gauges, cfg.Command = machine.Gauges(), r.Request.Command
	cfg.Host, _ = os.Hostname()
	p = &Prepared{Resolved: r, bench: cfg, release: func() {}, maker: builtin.Maker{Dir: cache, Observer: o, Program: r.Request.Program, FullSize: r.Request.FullSize, Rows: r.Request.Rows, FreeDisk: freeDisk, FreeMemory: machine.AvailableMemory}}
	if err := p.provide(ctx); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

func (p *Prepared) provide(ctx context.Context) (err error) {
	if err := p.Request.checkModelPath(); err != nil {
		return err
	}
	if err := p.openEngines(ctx); err != nil {
		return err
	}
	p.release = home.Hold(p.maker.Dir)
	if err := p.files(ctx); err != nil {
		return err
	}
	if p.bench.Engine == nil {
		if p.bench.Engine, err = p.Request.Engine.simulate(); err != nil {
			return err
		}
	}
	return p.identify(ctx)
}

// checkModelPath finds what can be no model, before data are made for it.
func (q *Request) checkModelPath() error {
	if q.ModelPath == "" {
		return nil
	}
	if info, err := os.Stat(q.ModelPath); err == nil && info.IsDir() {
		return nil // of a model of several files
	}
	if _, err := fileio.Stat(q.ModelPath); err != nil {
		return fmt.Errorf("the model file: %w", err)
	}
	return nil
}

// files finds or makes the data and the model.
func (p *Prepared) files(ctx context.Context) (err error) {
	q, cfg := &p.Request, p.bench
	cfg.DatasetDir, cfg.Backend.ModelPath = q.DatasetPath, q.ModelPath
	if q.free() {
		p.Fingerprint.Data, err = p.dataOf(ctx)
		return err
	}
	if err := p.builtIn(ctx); err != nil {
		return err
	}
	if p.Fingerprint.Data, err = p.dataOf(ctx); err != nil {
		return fmt.Errorf("the data set: %w", err)
	}
	if cfg.Backend, err = p.InPrecision(ctx, q.Precision); err != nil {
		return err
	}
	return p.reference(ctx)
}

// builtIn makes the data and the model that nobody gave.
func (p *Prepared) builtIn(ctx context.Context) (err error) {
	q, cfg := &p.Request, p.bench
	cfg.BuiltInData, cfg.BuiltInModel = p.builtInData(), p.builtInModel()
	if q.DatasetPath == "" {
		if cfg.DatasetDir, err = p.maker.Dataset(ctx, p.model); err != nil {
			return err
		}
	}
	if q.ModelPath != "" || q.remote() {
		return nil
	}
	if cfg.Backend.ModelPath, err = p.maker.Model(ctx, p.model); err != nil {
		return err
	}
	if lacks := p.maker.Smaller(p.model); lacks != "" {
		cfg.Caveats = append(cfg.Caveats, "the built-in model is smaller than the real one: "+lacks)
	}
	return nil
}

// allRight is what can be reached of built-in questions, in percent: their answers are in them.
const allRight = 100

// reference says which precision the results are of, and what they are compared with. The score of a part
// of the data is compared with nothing, so that the whole need not be run for it.
func (p *Prepared) reference(ctx context.Context) (err error) {
	q, cfg := &p.Request, p.bench
	if cfg.Precision = q.Precision; cfg.Precision == "" {
		cfg.Precision = p.ownPrecision()
	}
	if _, asked := p.model.BuiltIn.(workload.Questions); asked && q.DatasetPath == "" {
		cfg.Reference = allRight
		return nil
	}
	builtIn := q.DatasetPath == "" && (q.ModelPath == "" || q.remote())
	if builtIn && q.Count == 0 && scored(cfg.Settings.Mode) && p.maker.Engine != nil {
		cfg.Reference, err = p.maker.Reference(ctx, p.model)
	}
	return err
}

// scored reports whether a test of a mode has a score.
func scored(m loadgen.Mode) bool { return m == loadgen.AccuracyOnly || m == loadgen.SubmissionRun }

// ownPrecision is that of the model's files; empty: they are elsewhere, or of a format that only the engine reads.
func (p *Prepared) ownPrecision() string {
	if p.bench.Backend.ModelPath == "" || p.Request.remote() {
		return ""
	}
	files, err := p.model.FilesOf(p.bench.Backend.ModelPath)
	if err != nil {
		return "" // opening them says why
	}
	paths := make([]string, len(files))
	for i, f := range files {
		paths[i] = f.Path
	}
	precision, err := convert.PrecisionOf(paths...)
	if err != nil {
		return ""
	}
	return precision
}

// InPrecision returns the options of the engine that run the model in a precision. The
// model is converted, once, unless the device does that by itself. Empty: as it is.
func (p *Prepared) InPrecision(ctx context.Context, precision string) (backend.Options, error) {
	cfg, options := p.bench, p.bench.Backend
	if precision == "" || precision == convert.FP32 || ort.Converts(options.Device, precision) {
		options.Precision = precision
		return options, nil
	}
	if err := oneOf("precision", precision, convert.Precisions()...); err != nil {
		return options, err
	}
	if p.maker.Engine == nil {
		return options, userinput.Errorf("precision", "%s needs ONNX Runtime, the engine is %s", precision, p.Request.Engine.Name)
	}
	c := convert.Converter{
		Model: p.model, Source: options.ModelPath, DatasetDir: cfg.DatasetDir, Data: p.Fingerprint.Data, Options: p.Request.Options,
		Engine: p.maker.Engine, CacheDir: cfg.CacheDir, Program: cfg.Program, Observer: cfg.Observer,
	}
	r := convert.Request{Precision: precision}
	r.Options.SevenBitWeights = !machine.FastInt8()
	if p.model.Attends && precision == convert.INT8 {
		r.Method = quantize.AtRunTime
	}
	path, err := c.Cached(ctx, r, filepath.Join(p.maker.Dir, "converted"))
	if err != nil {
		return options, err
	}
	cfg.Observer.Note("the model is converted to " + precision + ", described in " + convert.DescriptionFile(path))
	options.ModelPath = path
	return options, nil
}
