package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mlperf-go/mlperf/internal/bench"
	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/profile"
	"github.com/mlperf-go/mlperf/internal/tune"
)

// tuneOptions are the flags of tune: those of run that decide what is measured, and the
// axes.
type tuneOptions struct {
	run   runOptions
	flags *pflag.FlagSet // all flags of run, most of which are also flags of tune

	budget             time.Duration
	modelPaths         []string // [label=]file
	precisions         []string
	instances, threads []int
	batches            []int
	delays             []string
	output             string
	fresh, asJSON      bool
}

// notTuned are the flags of run that tune has not: it chooses them, or measures in its own
// way.
var notTuned = []string{
	"mode", "quick", "target-qps", "min-duration", "max-duration", "min-query-count", "max-query-count", "performance-sample-count",
	"audit-conf", "trace", "thread-affinity", "optimized-model", "profile",
	"model-path", "precision", "instances", "intra-threads", "max-batchsize", "max-batch-delay", "output", "json", // it has its own
}

func newTune() *cobra.Command {
	o := &tuneOptions{flags: pflag.NewFlagSet("run", pflag.ContinueOnError)}
	cmd := &cobra.Command{
		Use:   "tune",
		Short: "Search the fastest instances, threads, batches and delays for a model on this machine",
		Long: `Try ways to run a model, drop the slow ones early, and keep the best in a profile that
run --profile auto uses (docs/tuning.md).

What is better: in Offline more samples/s, in Server more queries/s within the latency
bound, in SingleStream and MultiStream a lower percentile of the latency.

Every measurement is kept at once. After Ctrl-C, the same command goes on where the
search was; with a larger --budget it goes on where the search ended. --fresh begins
anew. Values given with --instances, --intra-threads, --max-batchsize or
--max-batch-delay are the only ones tried. --precision fp32,int8 compares precisions, and
--model-path a=one.onnx --model-path b=other.onnx files; speed decides, so check the
accuracy of the winner.

Exit status: 0 a winner was found, 1 none was or an error, 2 usage, 130 interrupted.`,
		Example: `  mlperf tune --model mobilenet --scenario offline --budget 2m
  mlperf tune --model resnet50 --scenario server --target-latency auto --max-batchsize 1,2,4
  mlperf tune --model resnet50 --model-path fp32=my.onnx --model-path other=my.onnx --output my.json`,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.tune(cmd) },
	}
	o.define(cmd.Flags())
	return cmd
}

func (o *tuneOptions) define(f *pflag.FlagSet) {
	o.run.define(o.flags)
	scenario := o.flags.Lookup("scenario")
	o.run.scenario, scenario.DefValue = "offline", "offline"
	o.flags.VisitAll(func(flag *pflag.Flag) {
		if !slices.Contains(notTuned, flag.Name) {
			f.AddFlag(flag)
		}
	})
	durationVar(f, &o.budget, "budget", 5*time.Minute, "how long to search")
	f.StringArrayVar(&o.modelPaths, "model-path", nil, "ONNX file to use instead of the built-in model, as file or label=file (repeatable: they are compared)")
	f.StringSliceVar(&o.precisions, "precision", nil, "precisions to compare: fp32, fp16, int8 (default: as the model is)")
	f.IntSliceVar(&o.instances, "instances", nil, "numbers of workers to try (default: chosen for the scenario)")
	f.IntSliceVar(&o.threads, "intra-threads", nil, "numbers of threads inside an operator to try (default: that occupy the cores)")
	f.IntSliceVar(&o.batches, "max-batchsize", nil, "largest batches to try (default: chosen for the scenario)")
	f.StringSliceVar(&o.delays, "max-batch-delay", nil, "times to wait for a batch to fill to try, in Server (default: 0 and parts of the bound)")
	f.StringVar(&o.output, "output", "", "file for the profile (default: where run --profile auto looks)")
	f.BoolVar(&o.fresh, "fresh", false, "forget the measurements of earlier searches")
	f.BoolVar(&o.asJSON, "json", false, "print the outcome as JSON")
}

// tune carries the command out.
func (o *tuneOptions) tune(cmd *cobra.Command) error {
	merged, err := mergeOptions(cmd)
	if err != nil {
		return usage("%w", err)
	}
	files, err := o.modelFiles()
	if err != nil {
		return err
	}
	search, err := o.search(files)
	if err != nil {
		return err
	}
	model, cfg, err := o.run.configure(o.flags, merged)
	if err != nil {
		return err
	}
	progress := newProgress(cmd.ErrOrStderr())
	defer progress.done()
	cfg.Observer = progress
	if err := o.run.provide(cmd.Context(), model, cfg); err != nil {
		return exitOf(nil, err)
	}
	defer cfg.Engine.Close()
	if files, err = o.variants(cmd.Context(), cfg, files); err != nil {
		return exitOf(nil, err)
	}
	search.Axes.Variants = labels(files)
	subject := o.run.subject(cfg)
	output, err := o.profilePath(subject)
	if err != nil {
		return err
	}
	prepare(search, cfg, files)
	search.Header = o.header(subject, cfg, files, merged)
	search.Journal = strings.TrimSuffix(output, filepath.Ext(output)) + ".tune.jsonl"
	search.Observer = &tuneProgress{progress: progress}
	outcome, err := tune.Run(cmd.Context(), *search)
	progress.done()
	return o.conclude(cmd, outcome, err, subject, output)
}

// conclude writes the profile and shows what was found. Interrupted, there is no profile:
// the search goes on later.
func (o *tuneOptions) conclude(cmd *cobra.Command, out *tune.Outcome, err error, subject profile.Subject, path string) error {
	if out == nil {
		return exitOf(nil, err)
	}
	var found *profile.Profile
	if out.Found {
		found = out.Profile(subject)
		found.Program, found.Created = program(), time.Now().UTC().Truncate(time.Second)
		o.complete(found, out.Winner.Variant)
		if out.Finished {
			err = errors.Join(err, found.Write(path))
		}
	}
	if out.Finished && !out.Found && err == nil {
		err = noWinner(out)
	}
	return exitTuned(errors.Join(err, o.show(cmd, out, found, path)))
}

func noWinner(out *tune.Outcome) error {
	for _, m := range out.Done {
		if m.Err != "" {
			return fmt.Errorf("nothing could be measured; %v: %s", m.Point, m.Err)
		}
	}
	return fmt.Errorf("no way to run the model that was tried keeps the latency bound of %v at any rate: "+
		"--target-latency auto chooses a bound that can be met", out.Bound)
}

func exitTuned(err error) error {
	if errors.Is(err, errInterrupted) {
		return statusError{status: exitInterrupted}
	}
	return err
}

// search checks the flags that are tune's own.
func (o *tuneOptions) search(files []modelFile) (*tune.Config, error) {
	if len(files) > 1 && len(o.precisions) > 0 {
		return nil, usage("--precision is for one model file, --model-path has %d", len(files))
	}
	if o.run.model == "" {
		return nil, usage("tune needs --model")
	}
	if o.budget <= 0 {
		return nil, usage("--budget is %v, want a time to search", o.budget)
	}
	axes := tune.Axes{Instances: o.instances, Threads: o.threads, Batches: o.batches}
	for _, axis := range []struct {
		flag   string
		values []int
	}{{"instances", o.instances}, {"intra-threads", o.threads}, {"max-batchsize", o.batches}} {
		for _, v := range axis.values {
			if v < 1 {
				return nil, usage("--%s has %d, want positive numbers", axis.flag, v)
			}
		}
	}
	for _, text := range o.delays {
		d, err := parseDuration(text)
		if err != nil {
			return nil, usage("--max-batch-delay: %w", err)
		}
		axes.Delays = append(axes.Delays, d)
	}
	return &tune.Config{Budget: o.budget, Axes: axes, Fresh: o.fresh}, nil
}

// probeSamples is how many samples are in memory while a point is measured. More would
// only take longer to load.
const probeSamples = 64

// prepare says how points are opened.
func prepare(search *tune.Config, cfg *bench.Config, files []modelFile) {
	s := &cfg.Settings
	if n := s.PerformanceSampleCountOverride; n == 0 || n > probeSamples {
		s.PerformanceSampleCountOverride = probeSamples
	}
	search.Settings = *s
	search.Facts = tune.Facts{Cores: cfg.Cores(runtime.GOMAXPROCS(0)), Accelerator: accelerates(cfg.Backend.Device)}
	search.Open = func(ctx context.Context, p tune.Point) (tune.Opened, error) {
		c := *cfg
		c.Observer = quiet{}
		c.Instances, c.MaxBatch, c.MaxDelay, c.Backend.IntraThreads = p.Instances, p.MaxBatch, p.MaxDelay, p.Threads
		for _, f := range files {
			if f.label == p.Variant {
				c.Backend.ModelPath, c.Backend.Precision = f.path, f.precision
			}
		}
		probe, err := bench.OpenProbe(ctx, c)
		if err != nil {
			return nil, err // not probe, which would be an interface that is not nil
		}
		return probe, nil
	}
}

// accelerates says whether a device has its own processors.
func accelerates(device string) bool {
	first, _, _ := strings.Cut(strings.ToLower(device), ",")
	return !slices.Contains([]string{"", "cpu", "xnnpack", "dnnl", "acl"}, first)
}

// header names everything that decides what a point measures.
func (o *tuneOptions) header(subject profile.Subject, cfg *bench.Config, files []modelFile, merged *config.Merged) tune.Header {
	h := tune.Header{Subject: subject, Dataset: cfg.DatasetDir}
	options := cfg.Backend
	options.ModelPath, options.IntraThreads = "", 0
	if text, err := json.Marshal(options); err == nil {
		h.Options = string(text)
	}
	if o.run.engine.name == simulatedEngine {
		h.Options += fmt.Sprintf(" latency %v jitter %v", o.run.engine.latency, o.run.engine.jitter)
	}
	for _, f := range files {
		size := int64(0)
		if info, err := os.Stat(f.path); err == nil {
			size = info.Size()
		}
		h.ModelFiles = append(h.ModelFiles, strings.TrimSpace(fmt.Sprintf("%s %s, %d bytes", f.label, absolute(f.path), size)))
	}
	switch s := cfg.Settings; s.Scenario {
	case loadgen.Server:
		h.Percentile, h.BoundAsked = s.ServerTargetLatencyPercentile, s.ServerTargetLatency.String()
		if cfg.AutoLatency {
			h.BoundAsked = autoLatency
		}
	case loadgen.SingleStream:
		h.Percentile = s.SingleStreamTargetLatencyPercentile
	case loadgen.MultiStream:
		h.Percentile, h.SamplesPerQuery = s.MultiStreamTargetLatencyPercentile, int(s.MultiStreamSamplesPerQuery)
	}
	return h
}

func (o *tuneOptions) profilePath(s profile.Subject) (string, error) {
	if o.output != "" {
		return o.output, nil
	}
	return autoProfile(s)
}
