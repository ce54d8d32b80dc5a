package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/backend/metrics"
	"github.com/mlperf-go/mlperf/internal/backend/ort"
	"github.com/mlperf-go/mlperf/internal/builtin"
	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/config/limitation"
	"github.com/mlperf-go/mlperf/internal/convert"
	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/harness"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/machine"
	"github.com/mlperf-go/mlperf/internal/machine/cgroup"
	"github.com/mlperf-go/mlperf/internal/machine/home"
	"github.com/mlperf-go/mlperf/internal/machine/power"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/onnx"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/run/engine"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// A Prepared request has everything that a run needs. It must be closed.
type Prepared struct {
	*Resolved
	Fingerprint Fingerprint

	config *harness.Config
	maker  builtin.Maker
	leave  func()           // gives the cache free
	watch  *metrics.Watcher // of what servers tell of themselves; nil: nothing

	// What only the record tells.
	host       string
	system     any                // description of the machine
	known      report.Limitations // of every test
	conversion *report.Conversion // of the model from FP32; nil: not known
	ceiling    *report.Ceiling    // the most that this machine was measured to do; nil: it was not measured
	ownWeights bool               // the model is built-in
	beside     []string           // benchmarks that run at the same time on this machine
	dataFiles  []fileio.Found     // of the user's data set
	followed   []string           // digests of the files of an accuracy run that options name by default
}

// Provide opens the engine, and finds or makes the data set and the model, in the precision of the request.
func (r *Resolved) Provide(ctx context.Context, o Observer) (*Prepared, error) {
	cache, err := home.CacheDir()
	if err != nil {
		return nil, err
	}
	var processors []int
	if r.Request.Pin {
		if processors = machine.Processors(); len(processors) == 0 {
			return nil, userinput.Errorf("pin", "this system does not say which processors threads may use")
		}
	}
	for _, note := range r.Notes {
		o.Note(note)
	}
	p := r.prepare(cache, processors, o)
	for _, step := range []func(context.Context) error{p.takeModel, p.openEngines, p.checkEarly, p.findFiles, p.followAccuracy, p.simulate,
		p.fingerprint, p.watchServers} {
		if err := step(ctx); err != nil {
			return nil, errors.Join(err, p.Close())
		}
	}
	return p, nil
}

// prepare fills in what needs no files.
func (r *Resolved) prepare(cache string, processors []int, o Observer) *Prepared {
	q := &r.Request
	p := &Prepared{Resolved: r, leave: func() {}, system: machine.Describe(q.Output), known: r.limitations()}
	p.host, _ = os.Hostname()
	p.maker = builtin.Maker{
		Dir: cache, Observer: o, Program: q.Program, FullSize: q.FullSize, Rows: q.Rows, Most: q.Count,
		FreeDisk: machine.FreeDisk, FreeMemory: machine.AvailableMemory,
	}
	p.config = &harness.Config{
		Program: q.Program, Model: r.model, Rules: r.Rules.Version,
		Settings: r.Settings, Made: r.made(), Runs: r.runs(), FindPeak: q.Mode == FindPeak, Anyway: q.Anyway, Brief: q.AuditConf == "",
		Calibrate: r.needsTarget(), AutoLatency: q.AutoLatency, Own: q.ownModel(), FitStreams: r.fitStreams(), FewQueries: r.fewQueries(),
		Longest: q.Longest,

		Backend: q.Backend, Accelerator: ort.Accelerates(q.Backend.Device), ClientCores: cmp.Or(q.Cores, runtime.GOMAXPROCS(0)),
		Instances: q.Instances, MaxBatch: q.MaxBatch, MaxDelay: q.MaxDelay, ReserveCore: q.ReserveCore, Processors: processors,
		DatasetDir: q.DatasetPath, Count: q.Count, TimedPreprocessing: q.TimedPreprocessing, Options: q.Options,

		OutputDir: q.Output, EachRequest: q.EachRequest, Cancels: q.Engine.Remote.Cancel > 0, CacheDir: filepath.Join(cache, "samples"), Files: r.confFiles,
		Gauges: machine.Gauges(), CPUTime: machine.CPUTime, NewPacer: q.NewPacer, Observer: o,
		FreeMemory: machine.AvailableMemory, FreeDisk: machine.FreeDisk, FreeThreads: func() (int, bool) { return cgroup.ThreadsLeft("/") },
	}
	p.config.Backend.ModelPath = q.ModelPath
	return p
}

// takeModel takes the user's model file, before data are made for it, and says where it comes from.
func (p *Prepared) takeModel(ctx context.Context) (err error) {
	q, cfg := &p.Request, p.config
	if q.ModelPath == "" {
		return nil
	}
	if !q.Engine.IsRemote() {
		if cfg.Backend, err = p.WithModel(ctx, q.ModelPath); err != nil {
			return err
		}
		q.ModelPath = cfg.Backend.ModelPath
	}
	var prints []onnx.Fingerprint
	if p.Fingerprint.Model, prints, err = p.modelFingerprint(ctx, q.ModelPath); err != nil {
		return err
	}
	unknown, notes, err := p.sourceOfModel(ctx, prints)
	if err != nil {
		return fmt.Errorf("the model file: %w", err)
	}
	p.known, p.source = append(p.known, unknown...), notes
	for _, l := range unknown { // which the forecast could not know
		if !q.Quick {
			cfg.Observer.Note("not rule-compliant: " + report.Sentence(l))
		}
	}
	return nil
}

// watchServers begins to read what servers tell of themselves. What this machine does is no part of a test of theirs.
func (p *Prepared) watchServers(ctx context.Context) (err error) {
	if !p.Request.Engine.IsRemote() {
		return nil
	}
	p.watch, err = p.Request.Engine.WatchMetrics(ctx)
	p.config.Gauges = p.watch.Gauges()
	return err
}

// simulate opens a simulated engine, if the request has no other.
func (p *Prepared) simulate(context.Context) (err error) {
	if p.config.Engine == nil {
		p.config.Blank = true // it looks at no sample
		p.config.Engine, err = p.Request.Engine.Simulate()
	}
	return err
}

// openEngines opens the engine, unless it is simulated, and ONNX Runtime beside one that asks servers: to make data
// and to score. Without ONNX Runtime, only data are made that do not need it.
func (p *Prepared) openEngines(ctx context.Context) (err error) {
	q, cfg := &p.Request, p.config
	remote, network := &q.Engine.Remote, p.division == config.Network
	var local []string
	switch q.Engine.Name {
	case engine.ONNXRuntime:
		cfg.Engine, err = q.Engine.OpenORT(q.Backend)
		p.maker.Engine = cfg.Engine
		return err
	case engine.OpenAI:
		warm := cmp.Or(min(remote.Concurrency, engine.WarmConnections), engine.WarmConnections)
		if p.Settings.Scenario == loadgen.SingleStream {
			warm = 1
		}
		cfg.Engine, local, err = remote.OpenOpenAI(ctx, q.Prompts.Route, p.streams(), q.exact(), warm, q.Prompts.Extras, network)
	case engine.OIP:
		cfg.Engine, cfg.Model, local, err = remote.OpenOIP(ctx, p.model, network)
	default:
		return nil
	}
	if len(local) > 0 {
		p.known = append(p.known, limitation.Limitation{ID: limitation.LocalEndpoint, Value: strings.Join(local, ", ")})
	}
	if err != nil || q.noBenchmark() {
		return err
	}
	library, err := q.Engine.OpenORT(q.Backend)
	var none *ort.NotFoundError
	if errors.As(err, &none) {
		return nil
	}
	p.maker.Engine, cfg.ScoreEngine = library, library
	return err
}

// checkEarly refuses what would fail later, before models and data are made, which takes minutes: the device, files and folders.
func (p *Prepared) checkEarly(ctx context.Context) error {
	q, cfg := &p.Request, p.config
	if q.DatasetPath != "" {
		if _, err := os.Stat(q.DatasetPath); errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("data set: the folder %s is missing", q.DatasetPath)
		} else if err != nil {
			return fmt.Errorf("data set: %w", err)
		}
	}
	if q.Output != "" {
		if err := writableBelow(q.Output); err != nil {
			return fmt.Errorf("making the output folder: %w", err)
		}
	}
	if q.Backend.OptimizedModel != "" {
		if _, err := os.Stat(filepath.Dir(q.Backend.OptimizedModel)); err != nil {
			return userinput.Wrap("optimized_model", err)
		}
	}
	for _, file := range q.Backend.CustomOps {
		if _, err := os.Stat(file); err != nil {
			return userinput.Wrap("custom_ops", err)
		}
	}
	if q.Power != "" {
		source, err := power.Parse(q.Power)
		if err == nil {
			err = source.Check(ctx)
		}
		if err != nil {
			return fmt.Errorf("reading the energy: %w", err)
		}
	}
	if err := p.checkConversion(q.Precision); err != nil {
		return err
	}
	if library, ok := cfg.Engine.(*ort.Engine); ok && (q.ModelPath == "" || q.DatasetPath == "") && !p.maker.Made(p.model, p.files) {
		if err := library.Try(ctx, cfg.Backend); err != nil {
			return err
		}
	}
	return p.checkMaterial(ctx)
}

// followAccuracy gives options their defaults from the accuracy run of the same result, as far as it left the files.
func (p *Prepared) followAccuracy(ctx context.Context) error {
	q, cfg := &p.Request, p.config
	if q.AccuracyRun == "" {
		return nil
	}
	given := cfg.Options
	cfg.Options = p.model.FromAccuracy(given, q.AccuracyRun, cfg.DatasetDir, p.scored())
	for _, name := range slices.Sorted(maps.Keys(cfg.Options)) {
		if given[name] != "" {
			continue
		}
		switch sum, _, err := fileio.SHA256(ctx, cfg.Options[name]); {
		case errors.Is(err, fs.ErrNotExist):
			delete(cfg.Options, name)
		case err != nil:
			return err
		default:
			p.followed = append(p.followed, sum)
		}
	}
	return nil
}

// checkMaterial refuses what the user gives, a model or a data set, where the other has to be made or the model converted first.
func (p *Prepared) checkMaterial(ctx context.Context) error {
	q, cfg := &p.Request, p.config
	if q.noBenchmark() || q.Engine.IsRemote() {
		return nil
	}
	if n := p.maker.Samples(p.files); q.DatasetPath == "" && n > 0 && q.Count > n {
		return userinput.Invalid("count", q.Count, fmt.Sprintf("at most the %d samples of the built-in data set", n))
	}
	setup := workload.Setup{ModelPath: q.ModelPath, DatasetDir: q.DatasetPath, Count: q.Count, Rules: cfg.Rules,
		Interactive: cfg.Model.Rules.Interactive, Options: cfg.Options, Scored: p.scored()}
	var err error
	switch {
	case (q.ModelPath == "") == (q.DatasetPath == "") && (q.ModelPath == "" || !p.converts(q.Precision)):
		return nil // neither is given, or both are, and the run opens them first of all
	case q.ModelPath == "":
		setup.Ports, setup.ModelPath, err = p.maker.Ports(p.model)
	default:
		setup.Ports, err = p.portsOfFiles(ctx)
	}
	if err != nil || q.DatasetPath == "" {
		return err
	}
	_, there := os.Stat(setup.ModelPath)
	if q.ModelPath == "" && there == nil {
		return nil
	}
	if info, err := os.Stat(q.DatasetPath); err == nil && !info.IsDir() {
		return fmt.Errorf("data set: %s is a file: must be a folder", q.DatasetPath)
	}
	_, err = p.model.Open(setup)
	var missing *fs.PathError
	if there != nil && errors.As(err, &missing) && strings.HasPrefix(missing.Path, filepath.Dir(setup.ModelPath)) {
		return nil // of the model, which is made later
	}
	return err
}

// portsOfFiles reads the inputs and outputs of the user's model.
func (p *Prepared) portsOfFiles(ctx context.Context) (ports map[string]workload.Ports, err error) {
	reader := p.config.Engine
	if reader == nil {
		if reader, err = p.Request.Engine.Simulate(); err != nil {
			return nil, err
		}
		defer reader.Close()
	}
	files, err := p.model.FilesOf(p.Request.ModelPath)
	if err != nil {
		return nil, err
	}
	return workload.PortsOf(ctx, reader, files, p.config.Backend)
}

// scored reports whether answers are scored.
func (p *Prepared) scored() bool {
	mode := p.Settings.Mode
	return mode == loadgen.AccuracyOnly || mode == loadgen.SubmissionRun
}

// writableBelow finds folders in which the folder of a run cannot be made, or in which nothing can be written.
func writableBelow(dir string) error {
	for {
		info, err := os.Stat(dir)
		switch {
		case err == nil && info.IsDir():
			return fileio.Writable(dir)
		case err == nil:
			return fmt.Errorf("%s is a file: must be a folder", dir)
		case !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR):
			return err
		}
		up := filepath.Dir(dir)
		if up == dir {
			return err
		}
		dir = up
	}
}

// converts reports whether the model is converted to a precision, which devices may do by themselves.
func (p *Prepared) converts(precision string) bool {
	return precision != "" && precision != convert.FP32 && !ort.Converts(p.config.Backend.Device, precision)
}

// checkConversion finds precisions that need ONNX Runtime where there is none.
func (p *Prepared) checkConversion(precision string) error {
	if !p.converts(precision) || p.Request.freePrompts() {
		return nil
	}
	if err := convert.CheckPrecision(precision, convert.Precisions()...); err != nil {
		return err
	}
	if p.maker.Engine == nil {
		return userinput.Errorf("precision", "%s needs ONNX Runtime, the engine is %s", precision, p.Request.Engine.Name)
	}
	return nil
}

// findFiles finds or makes the data set and the model, and computes the reference score of built-in data.
func (p *Prepared) findFiles(ctx context.Context) (err error) {
	q, cfg := &p.Request, p.config
	p.leave = home.Hold(p.maker.Dir)
	cfg.BuiltInData, p.ownWeights = p.builtInData(), p.builtInModel()
	if q.DatasetPath == "" && !q.noBenchmark() {
		if cfg.DatasetDir, err = p.maker.Dataset(ctx, p.files); err != nil {
			return err
		}
	}
	if q.ModelPath == "" && !q.Engine.IsRemote() {
		if cfg.Backend.ModelPath, err = p.maker.Model(ctx, p.model); err != nil {
			return err
		}
		if lacks := p.maker.Smaller(p.model); lacks != "" {
			p.known = append(p.known, limitation.Limitation{ID: limitation.SmallerModel, Value: lacks})
		}
	}
	if option := p.model.BesideServers; option != "" && q.Options[option] == "" && cfg.BuiltInData {
		folder, err := p.maker.Model(ctx, p.files)
		if err != nil {
			return err
		}
		cfg.Options = maps.Clone(cfg.Options)
		if cfg.Options == nil {
			cfg.Options = workload.Values{}
		}
		cfg.Options[option] = folder
	}
	if p.Fingerprint.Data, err = p.dataFingerprint(ctx); err != nil {
		return fmt.Errorf("the data set: %w", err)
	}
	if err := p.compareData(ctx); err != nil {
		return fmt.Errorf("the data set: %w", err)
	}
	if q.freePrompts() {
		return nil
	}
	if cfg.Backend, err = p.InPrecision(ctx, q.Precision); err != nil {
		return err
	}
	cfg.Precision = q.Precision
	if files, err := p.model.FilesOf(cfg.Backend.ModelPath); cfg.Backend.ModelPath != "" && err == nil {
		var paths []string
		for _, f := range files {
			paths = append(paths, f.Path)
		}
		if cfg.Precision == "" {
			cfg.Precision, _ = convert.PrecisionOf(paths...) // "" of a format that only the engine reads
		}
		p.conversion = convert.ConversionOf(paths...)
		p.ceiling = ceilingOf(cfg.Backend.Device, cfg.Precision)
		for _, l := range p.conversion.Limitations() {
			if p.known = append(p.known, l); l.ID == limitation.OtherAnswers {
				cfg.Observer.Note(report.Sentence(l)) // before the traffic
			}
		}
	}
	questions, asked := p.model.BuiltIn.(workload.Questions)
	asked = asked || p.model.ScoresWithServers
	switch {
	case q.ownModel():
		cfg.Reference = q.TargetAccuracy
	case q.DatasetPath != "":
	case asked:
		cfg.Reference = cmp.Or(questions.Best, 100) // the answers are in the questions
	case q.ModelPath == "" && q.Count == 0 && p.scored() && p.maker.Engine != nil && !p.model.ScoredElsewhere:
		cfg.Reference, err = p.maker.Reference(ctx, p.files)
	}
	return err
}

// InPrecision returns the options of the engine that run the model in a precision. The
// model is converted, once, unless the device does that by itself. Empty: as it is.
func (p *Prepared) InPrecision(ctx context.Context, precision string) (backend.Options, error) {
	cfg, options := p.config, p.config.Backend
	if !p.converts(precision) {
		options.Precision = precision
		return options, nil
	}
	if err := p.checkConversion(precision); err != nil {
		return options, err
	}
	c := convert.Converter{
		Model: p.model, Source: options.ModelPath, DatasetDir: cfg.DatasetDir, Data: p.Fingerprint.Data, Options: p.Request.Options,
		Engine: p.maker.Engine, CacheDir: cfg.CacheDir, Program: cfg.Program, Observer: cfg.Observer,
	}
	path, err := c.Cached(ctx, c.Default(precision), filepath.Join(p.maker.Dir, "converted"))
	if err != nil {
		return options, err
	}
	cfg.Observer.Note("the model is converted to " + precision + ", described in " + convert.DescriptionFile(path))
	options.ModelPath = path
	return options, nil
}

// Close closes the engines and leaves the cache.
func (p *Prepared) Close() error {
	p.leave()
	p.watch.Close()
	var errs []error
	if p.config.Engine != nil {
		errs = append(errs, p.config.Engine.Close())
	}
	if p.maker.Engine != nil && p.maker.Engine != p.config.Engine {
		errs = append(errs, p.maker.Engine.Close())
	}
	return errors.Join(errs...)
}
