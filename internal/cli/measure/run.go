package measure

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mlperf-go/mlperf/internal/cli"
	"github.com/mlperf-go/mlperf/internal/cli/progress"
	"github.com/mlperf-go/mlperf/internal/cli/request"
	"github.com/mlperf-go/mlperf/internal/harness"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/run"
)

// runFlags are the flags of run.
type runFlags struct {
	request.Flags
	asJSON bool
	sweep  sweepFlags
}

func newRun() *cobra.Command {
	o := &runFlags{}
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
or in mlperf.yaml (target-qps: 100). Each setting that makes the test easier than the
rules do is a caveat of the result, with both values.

A Server run that no rate can save, because a single sample takes longer than the
latency bound, ends before its traffic begins; --anyway runs it.

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

func (o *runFlags) define(f *pflag.FlagSet) {
	o.Flags.Define(f)
	f.StringVar(&o.Mode, "mode", "performance", "performance, accuracy, submission or find-peak")
	f.BoolVar(&o.Quick, "quick", false, "about ten seconds of traffic, judged by the 90th percentile (slow models: a few queries, the median); not a result under the rules")
	request.DefineSettings(f)
	f.StringVar(&o.AuditConf, "audit-conf", "", "audit.config of a compliance test")
	f.StringVar(&o.ModelPath, "model-path", "", "ONNX `file` to use instead of the built-in model")
	f.StringVar(&o.Precision, "precision", "", "fp32, fp16 or int8: converted by the device, or once by mlperf (see quantize); default: as the model is")
	f.IntVar(&o.Instances, "instances", 0, "workers that run the model at once; 0: chosen for the scenario")
	f.IntVar(&o.Backend.IntraThreads, "intra-threads", 0, "threads inside an operator; 0: chosen for the scenario")
	f.IntVar(&o.MaxBatch, "max-batchsize", 0, "most samples in one run of the model; 0: chosen for the scenario")
	cli.DurationVar(f, &o.MaxDelay, "max-batch-delay", 0, "how long a sample may wait for a batch to fill; in Server at most what the latency bound leaves")
	f.StringVar(&o.Backend.Affinity, "thread-affinity", "", "processors of the threads, in ONNX Runtime's notation, e.g. 1;2")
	f.StringVar(&o.Backend.OptimizedModel, "optimized-model", "", "`file` that keeps the optimised graph for later runs")
	f.StringVar(&o.Profile, "profile", "", "instances, threads, batches and delay that mlperf tune found: auto, or the file of a profile; other flags win")
	f.StringVar(&o.Output, "output", "", "`folder` for logs and results (default results/<model>/<scenario>/<mode>/<time>)")
	f.BoolVar(&o.Force, "force", false, "replace the results that are in the folder of --output")
	f.BoolVar(&o.Anyway, "anyway", false, "Server: run even if no rate can keep the latency bound")
	f.BoolVar(&o.Trace, "trace", false, "also write mlperf_log_trace.json, for chrome://tracing")
	f.BoolVar(&o.NoReport, "no-report", false, "do not write report.html beside the results")
	f.StringVar(&o.Power, "power", "", "read the energy that the traffic takes: auto, rapl, nvml, ptd:HOST:PORT or file:CSV")
	f.BoolVar(&o.Ranging, "power-ranging", false, "measure twice, as power is for submissions: a ranging run first (--power ptd:HOST:PORT); writes ranging, run_1 and power below --output")
	f.BoolVar(&o.asJSON, "json", false, "print the result as JSON")
	o.sweep.define(f)
}

// run asks for what the flags say: one run, or a sweep of them.
func (o *runFlags) run(cmd *cobra.Command) error {
	if !o.complete() {
		return cli.Usage("run needs --model and --scenario, for instance:\n  mlperf run --model resnet50 --scenario offline --quick\nmlperf list names the models; the scenarios are SingleStream, MultiStream, Server and Offline")
	}
	q, err := o.Build(cmd.Flags())
	if err != nil {
		return err
	}
	q.Command = append([]string{"mlperf"}, os.Args[1:]...)
	remote := answersElsewhere(q.Engine.Name)
	if remote {
		q.Cores = cli.MakePlaces()
	}
	if o.sweep.asked() {
		return o.sweep.run(cmd, q, o.asJSON)
	}
	resolved, err := run.Resolve(q)
	if err != nil {
		return err
	}
	if remote {
		defer runtime.KeepAlive(cli.Ballast())
	}
	return o.carryOut(cmd, resolved)
}

// complete reports whether the flags say which benchmark it is.
func (o *runFlags) complete() bool {
	model := o.Model != "" || o.Engine.Name == run.OpenAI
	scenario := o.Scenario != "" || o.sweep.asked()
	return model && scenario
}

// answersElsewhere reports whether servers compute what an engine answers, so that this process is only their client.
func answersElsewhere(engine string) bool { return engine == run.OpenAI || engine == run.OIP }

// carryOut provides what is missing, runs, and shows what came of it.
func (o *runFlags) carryOut(cmd *cobra.Command, resolved *run.Resolved) error {
	display := cli.NewDisplay(cmd)
	defer display.Done()
	display.About(strings.TrimSpace(resolved.Request.Model + " " + resolved.ScenarioName()))
	if text := resolved.Foretold(); text != "" {
		display.Note(text)
	}
	prepared, err := resolved.Provide(cmd.Context(), display)
	if err != nil {
		return exitOf(nil, err)
	}
	results, err := prepared.Run(cmd.Context())
	err = errors.Join(err, prepared.Close())
	display.Done()
	if results != nil {
		err = errors.Join(err, o.show(cmd, results, resolved.Request.Output))
	}
	return exitOf(results, hopeless(err))
}

// show prints the results, and where they are.
func (o *runFlags) show(cmd *cobra.Command, r *report.Results, dir string) error {
	if o.asJSON {
		return report.JSON(cmd.OutOrStdout(), r)
	}
	var b strings.Builder
	if err := report.Summary(&b, r); err != nil {
		return err
	}
	text := b.String()
	if f, ok := cmd.OutOrStdout().(*os.File); ok {
		text = strings.Replace(text, ": "+r.Verdict()+" on", ": "+progress.Verdict(f, r.Verdict())+" on", 1)
	}
	_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s%sLogs and results: %s\n%s", text, finer(r), dir, next(os.Args[1:], r, dir))
	return err
}

// finer says what to do if integers cost too much accuracy.
func finer(r *report.Results) string {
	q := run.FinerInt8(r)
	if q == nil {
		return ""
	}
	return fmt.Sprintf("To reach the target: mlperf quantize --model %s --target %.4g leaves the most sensitive layers in FP32; "+
		"run takes its file with --model-path\n", q.Model, q.Target)
}

// hopeless adds to the error of a run that no rate can save the commands that would work.
func hopeless(err error) error {
	var h *harness.HopelessError
	if !errors.As(err, &h) {
		return err
	}
	again := "mlperf " + report.CommandLine(os.Args[1:])
	return fmt.Errorf("%w\n  %s --target-latency auto   chooses a bound that can be met, of the open division\n  %s --anyway   runs all the same, to see how far off it is", h, again, again)
}

// exitOf turns the outcome of a run into the exit status.
func exitOf(r *report.Results, err error) error {
	switch {
	case errors.Is(err, cli.ErrInterrupted):
		return cli.Interrupted(err)
	case err != nil:
		return err
	case !r.Valid():
		return cli.Finished(cli.ExitInvalid)
	case r.Accuracy.Below():
		return cli.Finished(cli.ExitInaccurate)
	}
	return nil
}
