package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/bench"
	"github.com/mlperf-go/mlperf/internal/builtin"
	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/home"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/machine"
	"github.com/mlperf-go/mlperf/internal/models"
	"github.com/mlperf-go/mlperf/internal/report"
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

	engine  engineOptions
	backend backend.Options
	bind    bindingFlags

	modelPath, datasetPath string
	count                  int
	instances, maxBatch    int
	maxDelay               time.Duration
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
	f.BoolVar(&o.quick, "quick", false, "about ten seconds of traffic, judged by the 90th percentile; not a result under the rules")
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
	o.bind.define(f)

	o.engine.define(f)
	f.StringVar(&o.backend.Device, "device", "cpu", "execution provider: cpu, cuda, tensorrt, …")
	f.BoolVar(&o.backend.AllowFallback, "allow-fallback", false, "go on if the device cannot be used")
	f.IntVar(&o.instances, "instances", 0, "workers that run the model at once; 0: chosen for the scenario")
	f.IntVar(&o.backend.IntraThreads, "intra-threads", 0, "threads inside an operator; 0: chosen for the scenario")
	f.IntVar(&o.backend.InterThreads, "inter-threads", 0, "operators at once")
	f.IntVar(&o.maxBatch, "max-batchsize", 0, "most samples in one run of the model; 0: chosen for the scenario")
	durationVar(f, &o.maxDelay, "max-batch-delay", 0, "how long a sample may wait for a batch to fill")

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
	progress := newProgress(cmd.ErrOrStderr())
	defer progress.done()
	cfg.Observer = progress
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
func (o *runOptions) configure(flags *pflag.FlagSet, merged *config.Merged) (models.Model, *bench.Config, error) {
	none := models.Model{}
	if o.model == "" || o.scenario == "" {
		return none, nil, usage("run needs --model and --scenario")
	}
	model, err := models.Lookup(o.model)
	if err != nil {
		return none, nil, usage("%w", err)
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
		Backend:    o.backend,
		Instances:  o.instances,
		MaxBatch:   o.maxBatch,
		MaxDelay:   o.maxDelay,
		Count:      o.count,
		Trace:      o.trace,
		FreeMemory: machine.AvailableMemory,
		OutputDir:  o.output,
	}
	if cfg.Binding, err = o.bind.binding(); err != nil {
		return none, nil, err
	}
	for _, s := range resolved.Made {
		cfg.Made = append(cfg.Made, report.Setting{Key: s.Key, Value: strings.TrimSpace(s.Value + " " + s.Unit), Origin: s.Origin})
	}
	cfg.Calibrate = needsTarget(resolved)
	cfg.AutoLatency = o.targetLatency == autoLatency
	cfg.Marks = o.marks(resolved)
	if cfg.OutputDir == "" {
		cfg.OutputDir = filepath.Join("results", model.Name, strings.ToLower(resolved.Settings.Scenario.String()), o.mode,
			time.Now().Format("20060102-150405"))
	}
	cfg.Files, err = o.confFiles()
	return model, cfg, err
}

func (o *runOptions) checkNumbers() error {
	for _, n := range []struct {
		flag  string
		value int
	}{
		{"instances", o.instances}, {"max-batchsize", o.maxBatch}, {"count", o.count},
		{"intra-threads", o.backend.IntraThreads}, {"inter-threads", o.backend.InterThreads},
	} {
		if n.value < 0 {
			return usage("--%s is %d, want a positive number, or 0 for the default", n.flag, n.value)
		}
	}
	return nil
}

// autoLatency is the value of --target-latency that has the bound measured.
const autoLatency = "auto"

// resolve merges rules, conf files and flags.
func (o *runOptions) resolve(model models.Model, flags *pflag.FlagSet, merged *config.Merged) (*config.Resolved, error) {
	scenario, interactive, err := config.ParseScenario(o.scenario)
	if err != nil {
		return nil, usage("%w", err)
	}
	rules, err := config.Rules(o.rules)
	if err != nil {
		return nil, usage("%w", err)
	}
	if _, err := config.ParseMode(o.mode); err != nil {
		return nil, usage("%w", err)
	}
	if o.targetLatency == autoLatency && scenario != loadgen.Server {
		return nil, usage("--target-latency auto is for the Server scenario, the only one with a latency bound")
	}
	request := config.Request{Model: model.Name, Interactive: interactive, Scenario: scenario, Rules: rules}
	for _, f := range []struct {
		path string
		conf **config.Conf
	}{{o.mlperfConf, &request.MLPerfConf}, {o.userConfPath(), &request.UserConf}, {o.auditConf, &request.AuditConf}} {
		if f.path == "" {
			continue
		}
		if *f.conf, err = config.ReadConf(f.path, config.ParseOptions{AllowUnknownKeys: o.allowUnknownKeys}); err != nil {
			return nil, err
		}
	}
	if request.Options, err = o.overrides(scenario, flags, merged); err != nil {
		return nil, err
	}
	return config.Resolve(request)
}

// userConfPath is the user.conf to read: the one that was given, or the one that is there.
func (o *runOptions) userConfPath() string {
	const here = "user.conf"
	if o.userConf == "" {
		if _, err := os.Stat(here); err == nil {
			return here
		}
	}
	return o.userConf
}

// overrides are the settings that flags make. Those of --quick come first, so that an
// explicit flag wins.
func (o *runOptions) overrides(scenario loadgen.Scenario, flags *pflag.FlagSet, merged *config.Merged) ([]config.Override, error) {
	var list []config.Override
	add := func(key, value, origin string) {
		list = append(list, config.Override{Key: key, Value: value, Origin: origin})
	}
	if o.quick {
		for _, s := range quickSettings(scenario) {
			add(s[0], s[1], "--quick")
		}
	}
	add("mode", o.mode, merged.Origin("mode"))
	for _, s := range settingFlags {
		value := flags.Lookup(s.flag).Value.String()
		if value == "" {
			continue
		}
		if s.kind == "duration" {
			d, err := parseDuration(value)
			if err != nil {
				return nil, usage("--%s: %w", s.flag, err)
			}
			value = d.String()
		}
		add(s.key, value, merged.Origin(s.flag))
	}
	if o.targetLatency != "" && o.targetLatency != autoLatency {
		d, err := parseDuration(o.targetLatency)
		if err != nil {
			return nil, usage("--target-latency: %w", err)
		}
		add("target_latency", d.String(), merged.Origin("target-latency"))
	}
	for _, s := range o.set {
		key, value, ok := strings.Cut(s, "=")
		if !ok {
			return nil, usage("--set %s: want key=value", s)
		}
		add(key, value, "flag --set")
	}
	return list, nil
}

// quickSettings make a run of about ten seconds that can be VALID: the 90th percentile
// needs 64 queries to be known, the 99th would need 662.
func quickSettings(s loadgen.Scenario) [][2]string {
	settings := [][2]string{{"min_duration", "10s"}}
	switch s {
	case loadgen.Offline:
		return append(settings, [2]string{"min_query_count", "1"})
	case loadgen.SingleStream, loadgen.MultiStream:
		settings = append(settings, [2]string{"min_query_count", "64"})
	case loadgen.Server:
		settings = append(settings, [2]string{"min_query_count", "100"})
	}
	return append(settings, [2]string{"target_latency_percentile", "90"})
}

// needsTarget says whether nobody but the rules' placeholder gave the rate, or the
// expected latency, of the scenario.
func needsTarget(r *config.Resolved) bool {
	key := "target_qps"
	if s := r.Settings.Scenario; s == loadgen.SingleStream || s == loadgen.MultiStream {
		key = "target_latency"
	}
	origin := r.Origin(key)
	return origin == config.Default || strings.HasPrefix(origin, "rules ")
}

// marks say which of the settings make a run something else than the rules want.
func (o *runOptions) marks(r *config.Resolved) []string {
	var marks []string
	if o.quick {
		marks = append(marks, "a run under the rules: --quick lasts ten seconds and is judged by the 90th percentile")
	} else if r.Settings.MinDuration < r.Rules.MinDuration {
		marks = append(marks, fmt.Sprintf("a run under the rules: min_duration is %v, rules %s want %v",
			r.Settings.MinDuration, r.Rules.Version, r.Rules.MinDuration))
	}
	for _, key := range []string{"qsl_rng_seed", "sample_index_rng_seed", "schedule_rng_seed"} {
		if origin := r.Origin(key); !strings.HasPrefix(origin, "rules ") {
			marks = append(marks, fmt.Sprintf("a run under the rules: %s was changed (%s)", key, origin))
		}
	}
	return marks
}

// confFiles are the conf files that were used, to be kept with the results.
func (o *runOptions) confFiles() (map[string][]byte, error) {
	rules, err := config.Rules(o.rules)
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{"mlperf.conf": rules.Conf.Format()}
	for name, path := range map[string]string{"mlperf.conf": o.mlperfConf, "user.conf": o.userConfPath(), "audit.config": o.auditConf} {
		if path == "" {
			continue
		}
		if files[name], err = os.ReadFile(path); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// provide opens the engine and sees to it that there is a model file and a data set.
func (o *runOptions) provide(ctx context.Context, model models.Model, cfg *bench.Config) (err error) {
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
		cfg.Engine, err = o.engine.simulate(cfg.Backend.ModelPath)
	}
	if err != nil && maker.Engine != nil {
		return errors.Join(err, maker.Engine.Close())
	}
	return err
}

// provideBuiltIn makes what the user does not bring.
func (o *runOptions) provideBuiltIn(ctx context.Context, maker builtin.Maker, model models.Model, cfg *bench.Config) (err error) {
	if o.datasetPath == "" {
		if cfg.DatasetDir, err = maker.Dataset(ctx, model.Dataset); err != nil {
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
	scored := cfg.Settings.Mode == loadgen.AccuracyOnly || cfg.Settings.Mode == loadgen.SubmissionRun
	if cfg.BuiltInData && cfg.BuiltInModel && scored && maker.Engine != nil {
		cfg.Reference, err = maker.Reference(ctx, model)
	}
	return err
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
	_, err := fmt.Fprintf(cmd.OutOrStdout(), "Logs and results: %s\n", dir)
	return err
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
