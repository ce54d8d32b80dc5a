package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mlperf-go/mlperf/internal/backend/ort"
	"github.com/mlperf-go/mlperf/internal/bench"
	"github.com/mlperf-go/mlperf/internal/builtin"
	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/convert"
	"github.com/mlperf-go/mlperf/internal/home"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/machine"
	"github.com/mlperf-go/mlperf/internal/models"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/workload"
)

// runOptions are the flags of run.
type runOptions struct {
	model, scenario, mode string
	rules                 string
	mlperfConf            string
	userConf              string
	auditConf             string
	allowUnknownKeys      bool
	set                   []string // key=value
	quick                 bool
	targetLatency         string
	precision             string

	pace    pacerFlags
	engine  engineOptions
	backend backendFlags
	bind    modelFlags

	modelPath, datasetPath string
	count                  int
	instances, maxBatch    int
	reserveCore            bool
	maxDelay               time.Duration
	profile                string
	output                 string
	trace, asJSON          bool
}

func newRun() *cobra.Command {
	o := &runOptions{}
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Run one benchmark: --model M --scenario S",
		Long: `Run one benchmark and judge it by the rules.

Without --model-path and --dataset-path the built-in model and data are used: the
official architecture with random weights, and synthetic images. Their speed is real,
their knowledge is not, and the result says so.

If neither user.conf nor a flag gives a target (--target-qps in Server and Offline,
--target-latency in SingleStream and MultiStream), one is measured first.

Settings come from the rule set's mlperf.conf, then user.conf, then flags, then
audit.config. A flag may also be given as an environment variable (MLPERF_TARGET_QPS)
or in mlperf.yaml (target-qps: 100).

Exit status: 0 done and VALID, 1 error, 2 usage, 3 INVALID, 4 accuracy below target,
130 interrupted.`,
		Example: `  mlperf run --model resnet50 --scenario server --quick --target-latency auto
  mlperf run --model mobilenet --scenario offline --mode accuracy
  mlperf run --model resnet50 --scenario server --target-qps 30 --model-path my.onnx --dataset-path imagenet`,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	o.define(cmd.Flags())
	return cmd
}

// settingFlags are the flags that set one key of conf files.
var settingFlags = []struct{ flag, key, kind, text string }{
	{"target-qps", "target_qps", "rate", "Server: queries per second; Offline: expected samples per second"},
	{"min-duration", "min_duration", "duration", "shortest test, e.g. 60s"},
	{"max-duration", "max_duration", "duration", "longest test"},
	{"min-query-count", "min_query_count", "number", "fewest queries; in Offline fewest samples"},
	{"max-query-count", "max_query_count", "number", "most queries"},
	{"samples-per-query", "samples_per_query", "number", "samples of a MultiStream query"},
	{"performance-sample-count", "performance_sample_count_override", "number", "samples to keep in memory"},
}

func (o *runOptions) define(f *pflag.FlagSet) {
	f.StringVar(&o.model, "model", "", "model of the catalogue (mlperf list models)")
	f.StringVar(&o.scenario, "scenario", "", "SingleStream, MultiStream, Server or Offline")
	f.StringVar(&o.mode, "mode", "performance", "performance, accuracy, submission or find-peak")
	f.StringVar(&o.rules, "rules", config.Newest, "rule set: durations, counts, percentiles, seeds")
	f.BoolVar(&o.quick, "quick", false, "about ten seconds of traffic, judged by the 90th percentile (slow models: a few queries, the median); not a result under the rules")
	for _, s := range settingFlags {
		f.String(s.flag, "", s.text)
	}
	f.StringVar(&o.targetLatency, "target-latency", "", "Server: latency bound, or auto; SingleStream and MultiStream: expected latency")
	f.StringArrayVar(&o.set, "set", nil, "any other setting of conf files, as key=value (repeatable)")
	f.StringVar(&o.mlperfConf, "mlperf-conf", "", "file to use instead of the rule set's mlperf.conf")
	f.StringVar(&o.userConf, "user-conf", "", "user.conf; ./user.conf is used if it exists")
	f.StringVar(&o.auditConf, "audit-conf", "", "audit.config of a compliance test")
	f.BoolVar(&o.allowUnknownKeys, "allow-unknown-keys", false, "warn of unknown keys in conf files instead of refusing them")

	f.StringVar(&o.modelPath, "model-path", "", "ONNX file to use instead of the built-in model")
	f.StringVar(&o.datasetPath, "dataset-path", "", "folder of the data set to use instead of the built-in one")
	f.IntVar(&o.count, "count", 0, "use only the first N samples of the data set")
	o.bind.define(f, feeding)

	o.engine.define(f)
	f.StringVar(&o.precision, "precision", "", "fp32, fp16 or int8: converted by the device, or once by mlperf (see quantize); default: as the model is")
	o.backend.define(f)
	f.IntVar(&o.instances, "instances", 0, "workers that run the model at once; 0: chosen for the scenario")
	f.IntVar(&o.maxBatch, "max-batchsize", 0, "most samples in one run of the model; 0: chosen for the scenario")
	durationVar(f, &o.maxDelay, "max-batch-delay", 0, "how long a sample may wait for a batch to fill; in Server at most what the latency bound leaves")

	o.pace.define(f)
	f.BoolVar(&o.reserveCore, "reserve-core", false, "Server: leave a core to the load generator")

	f.StringVar(&o.profile, "profile", "", "instances, threads, batches and delay that mlperf tune found: auto, or the file of a profile; other flags win")
	f.StringVar(&o.output, "output", "", "folder for logs and results (default results/<model>/<scenario>/<mode>/<time>)")
	f.BoolVar(&o.trace, "trace", false, "also write mlperf_log_trace.json, for chrome://tracing")
	f.BoolVar(&o.asJSON, "json", false, "print the result as JSON")
}

// run carries the command out.
func (o *runOptions) run(cmd *cobra.Command) error {
	merged, err := mergeOptions(cmd)
	if err != nil {
		return usage("%w", err)
	}
	model, cfg, err := o.configure(cmd.Flags(), merged)
	if err != nil {
		return err
	}
	applied, err := o.useProfile(cfg, merged)
	if err != nil {
		return err
	}
	progress := newProgress(cmd.ErrOrStderr())
	defer progress.done()
	cfg.Observer = progress
	applied.tell(cfg)
	if err := o.provide(cmd.Context(), model, cfg); err != nil {
		return exitOf(nil, err)
	}
	defer cfg.Engine.Close()
	results, err := bench.Run(cmd.Context(), *cfg)
	progress.done()
	if results != nil {
		err = errors.Join(err, linkLatest(cfg.OutputDir, o.output == ""), o.show(cmd, results, cfg.OutputDir))
	}
	return exitOf(results, err)
}

// configure turns flags, environment, mlperf.yaml and conf files into what to run.
func (o *runOptions) configure(flags *pflag.FlagSet, merged *config.Merged) (workload.Model, *bench.Config, error) {
	none := workload.Model{}
	if o.model == "" || o.scenario == "" {
		return none, nil, usage("run needs --model and --scenario")
	}
	model, err := models.Lookup(o.model)
	if err != nil {
		return none, nil, usage("%w", err)
	}
	if o.precision != "" && !slices.Contains(convert.Precisions(), o.precision) {
		return none, nil, usage("--precision is %q, want %s", o.precision, strings.Join(convert.Precisions(), ", "))
	}
	if err := errors.Join(o.checkNumbers(), o.engine.check()); err != nil {
		return none, nil, err
	}
	resolved, err := o.resolve(model, flags, merged)
	if err != nil {
		return none, nil, err
	}
	cfg := &bench.Config{
		Program:    program(),
		Model:      model,
		Rules:      resolved.Rules.Version,
		Settings:   resolved.Settings,
		Warnings:   append(merged.Warnings, resolved.Warnings...),
		Instances:  o.instances,
		MaxBatch:   o.maxBatch,
		MaxDelay:   o.maxDelay,
		Count:      o.count,
		Trace:      o.trace,
		FreeMemory: machine.AvailableMemory,
		FreeDisk:   freeDisk,
		FindPeak:   o.mode == findPeak,

		ReserveCore: o.reserveCore,
		NewPacer:    o.pace.newPacer,
		OutputDir:   o.output,
	}
	cfg.Options = o.bind.values()
	if err := optionUsage(model.CheckOptions(cfg.Options)); err != nil {
		return none, nil, err
	}
	if cfg.Backend, err = o.backend.parse(); err != nil {
		return none, nil, err
	}
	for _, s := range resolved.Made {
		cfg.Made = append(cfg.Made, report.Setting{Key: s.Key, Value: strings.TrimSpace(s.Value + " " + s.Unit), Origin: s.Origin})
	}
	if err := o.chooseRuns(resolved, cfg); err != nil {
		return none, nil, err
	}
	cfg.Calibrate = needsTarget(resolved)
	cfg.AutoLatency = o.targetLatency == autoLatency
	cfg.FewQueries = o.fewQueries(resolved)
	cfg.Marks = o.marks(resolved)
	if cfg.OutputDir == "" {
		cfg.OutputDir = o.resultsFolder(model, resolved.Settings.Scenario)
	}
	cfg.Files, err = o.confFiles()
	return model, cfg, err
}

// resultsFolder is where logs and results go if nobody says where.
func (o *runOptions) resultsFolder(model workload.Model, s loadgen.Scenario) string {
	return filepath.Join("results", model.Name, strings.ToLower(s.String()), o.mode, time.Now().Format("20060102-150405"))
}

func (o *runOptions) checkNumbers() error {
	for _, n := range []struct {
		flag  string
		value int
	}{
		{"instances", o.instances}, {"max-batchsize", o.maxBatch}, {"count", o.count},
		{"intra-threads", o.backend.options.IntraThreads}, {"inter-threads", o.backend.options.InterThreads},
	} {
		if n.value < 0 {
			return usage("--%s is %d, want a positive number, or 0 for the default", n.flag, n.value)
		}
	}
	return nil
}

// provide opens the engine and sees to it that there is a model file and a data set.
func (o *runOptions) provide(ctx context.Context, model workload.Model, cfg *bench.Config) (err error) {
	cache, err := home.CacheDir()
	if err != nil {
		return err
	}
	cfg.CacheDir = filepath.Join(cache, "samples")
	cfg.System = machine.Describe(cfg.OutputDir)
	cfg.Backend.ModelPath, cfg.DatasetDir = o.modelPath, o.datasetPath
	maker := builtin.Maker{Dir: cache, Observer: cfg.Observer, Program: cfg.Program}
	if o.engine.name == onnxRuntime {
		if maker.Engine, err = o.engine.openORT(); err != nil {
			return err
		}
		cfg.Engine = maker.Engine
	}
	if err = o.provideBuiltIn(ctx, maker, model, cfg); err == nil && cfg.Engine == nil {
		cfg.Engine, err = o.engine.simulate()
	}
	if err != nil && maker.Engine != nil {
		return errors.Join(err, maker.Engine.Close())
	}
	return err
}

// provideBuiltIn makes what the user does not bring.
func (o *runOptions) provideBuiltIn(ctx context.Context, maker builtin.Maker, model workload.Model, cfg *bench.Config) (err error) {
	if o.datasetPath == "" {
		if cfg.DatasetDir, err = maker.Dataset(ctx, model); err != nil {
			return err
		}
		cfg.BuiltInData = true
	}
	if o.modelPath == "" {
		if cfg.Backend.ModelPath, err = maker.Model(ctx, model); err != nil {
			return err
		}
		cfg.BuiltInModel = true
	}
	if cfg.Backend.ModelPath, err = o.convert(ctx, maker, cfg); err != nil {
		return err
	}
	if cfg.Precision = o.precision; cfg.Precision == "" && cfg.BuiltInModel {
		cfg.Precision = convert.FP32
	}
	scored := cfg.Settings.Mode == loadgen.AccuracyOnly || cfg.Settings.Mode == loadgen.SubmissionRun
	if cfg.BuiltInData && cfg.BuiltInModel && scored && maker.Engine != nil {
		cfg.Reference, err = maker.Reference(ctx, model)
	}
	return err
}

// convert returns the file of the model in the precision that was asked for. Devices that
// convert by themselves get the FP32 model.
func (o *runOptions) convert(ctx context.Context, maker builtin.Maker, cfg *bench.Config) (string, error) {
	source := cfg.Backend.ModelPath
	if o.precision == "" || o.precision == convert.FP32 || ort.Converts(cfg.Backend.Device, o.precision) {
		cfg.Backend.Precision = o.precision
		return source, nil
	}
	if maker.Engine == nil {
		return "", usage("--precision %s needs ONNX Runtime, the engine is %s", o.precision, o.engine.name)
	}
	c := convert.Converter{
		Model: cfg.Model, Source: source, DatasetDir: cfg.DatasetDir, Options: cfg.Options,
		Engine: maker.Engine, CacheDir: cfg.CacheDir, Program: cfg.Program, Observer: cfg.Observer,
	}
	r := convert.Request{Precision: o.precision}
	r.Options.SevenBitWeights = !machine.FastInt8()
	path, err := c.Cached(ctx, r, filepath.Join(maker.Dir, "converted"))
	if err == nil {
		cfg.Observer.Note("the model is converted to " + o.precision + ", described in " + convert.DescriptionFile(path))
	}
	return path, err
}

// freeDisk is the space that is left where a folder is or would be; 0 if that is not known.
func freeDisk(dir string) uint64 {
	d, err := machine.DiskOf(dir)
	if err != nil {
		return 0
	}
	return d.FreeBytes
}

// linkLatest points the link "latest" beside a run's folder to it.
func linkLatest(dir string, wanted bool) error {
	if !wanted {
		return nil
	}
	link := filepath.Join(filepath.Dir(dir), "latest")
	temporary := link + ".new"
	_ = os.Remove(temporary) // left by a run that was killed here
	if err := os.Symlink(filepath.Base(dir), temporary); err != nil {
		return fmt.Errorf("linking the latest results: %w", err)
	}
	return os.Rename(temporary, link)
}

// show prints the results, and where they are.
func (o *runOptions) show(cmd *cobra.Command, r *report.Results, dir string) error {
	if o.asJSON {
		return report.JSON(cmd.OutOrStdout(), r)
	}
	if err := report.Summary(cmd.OutOrStdout(), r); err != nil {
		return err
	}
	_, err := fmt.Fprintf(cmd.OutOrStdout(), "%sLogs and results: %s\n", o.remedy(r), dir)
	return err
}

// remedy says what to do if integers cost too much accuracy.
func (o *runOptions) remedy(r *report.Results) string {
	model, err := models.Lookup(o.model)
	if err != nil || o.precision != convert.INT8 || r.Accuracy == nil || r.Accuracy.Met {
		return ""
	}
	return fmt.Sprintf("To reach the target: mlperf quantize --model %s --target %g leaves the most sensitive layers in FP32; "+
		"run takes its file with --model-path\n", o.model, model.Quality.Fraction)
}

// exitOf turns the outcome of a run into the exit status.
func exitOf(r *report.Results, err error) error {
	switch {
	case errors.Is(err, errInterrupted):
		return statusError{status: exitInterrupted}
	case err != nil:
		return err
	case !r.Valid():
		return finished(exitInvalid)
	case r.Accuracy != nil && !r.Accuracy.Met:
		return finished(exitInaccurate)
	}
	return nil
}
