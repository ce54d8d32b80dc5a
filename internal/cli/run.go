package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mlperf-go/mlperf/internal/cli/progress"
	"github.com/mlperf-go/mlperf/internal/config/limitation"
	"github.com/mlperf-go/mlperf/internal/harness"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/report/page"
	"github.com/mlperf-go/mlperf/internal/run"
	"github.com/mlperf-go/mlperf/internal/run/catalogue"
	"github.com/mlperf-go/mlperf/internal/run/engine"
	"github.com/mlperf-go/mlperf/internal/run/outdir"
	"github.com/mlperf-go/mlperf/internal/tune"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// runFlags are the flags of run.
type runFlags struct {
	requestFlags
	asJSON bool
	slo    []string
	with   []string // other benchmarks at the same time
	first  bool     // there are no results yet
	// writeUserConf puts what find-peak found into user.conf.
	writeUserConf bool
	sweep         tune.Sweep
	live          string // address of the live page
	cancelPercent float64
}

func newRun() *cobra.Command {
	o := &runFlags{}
	cmd := &cobra.Command{
		Use:   "run [MODEL.onnx]",
		Short: "Run your own model file, or a benchmark: --model M --scenario S",
		Long: `Run your own model file, or a benchmark, which is judged by the rules. Without --scenario
all four traffic patterns run for a few seconds each; without a model it is the built-in
resnet50.

MODEL.onnx is any model that ONNX Runtime opens, of any task. Its inputs are made from a
seed by type and shape (--input, --shape), or read from --data: a folder with an array for
each input (NAME.npy, or .npz), or with images: a folder per class, val_map.txt, or without
labels. Labels give Top-1 and Top-5 accuracy (--mode accuracy). The result says "own model":
no rules apply to it.

--model M runs a benchmark. Without --model-path and --dataset-path the built-in model and
data are used: the official architecture with random weights, and synthetic images. Speed is
representative, answers are not, and the result says so.

A target that is not given (--target-qps in Server and Offline, else --target-latency) is
measured first. Settings come from the rule set's mlperf.conf, then user.conf, flags and
audit.config; each that is easier than the rules is a limitation of the result.

If one sample takes longer than the latency bound, a Server run is INVALID after ten seconds
at the rate that the machine sustains. --anyway runs it at full length, --target-latency
auto chooses a bound.

Exit status: 0 done and VALID, 1 error, 2 usage, 3 INVALID, 4 accuracy below target,
130 interrupted.`,
		Example: `  mlperf run my.onnx
  mlperf run my.onnx --scenario server --target-latency 20ms --data images
  mlperf run --model resnet50 --scenario server --quick --target-latency auto
  mlperf run --model mobilenet --scenario offline --mode accuracy
  mlperf run --model resnet50 --scenario server --target-qps 30 --model-path my.onnx --dataset-path imagenet`,
		Args: arguments(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd, args) },
	}
	o.define(cmd.Flags())
	cmd.Flags().StringArrayVar(&o.slo, "slo", nil,
		"service level `objective`: 'p99<50ms', 'ttft<500ms', 'tpot p90<40ms' (repeatable): met or not, goodput; Server: the bound, too")
	cmd.Flags().StringArrayVar(&o.with, "with", nil,
		"another benchmark at the same time on this machine, each with its own verdict: `MODEL/SCENARIO`, MODEL/SCENARIO@RATE or a suite "+
			"(repeatable); not of the rules")
	cmd.Flags().StringVar(&o.live, "live", "", "show the run on a page while it goes on, at this `address`: --live=127.0.0.1:8080; alone: any port")
	cmd.Flags().Lookup("live").NoOptDefVal = anyPort
	cmd.Flags().BoolVar(&o.writeUserConf, "write-user-conf", false,
		"find-peak: put the load that was found into the file of --user-conf, or ./user.conf")
	return cmd
}

func (o *runFlags) define(f *pflag.FlagSet) {
	o.requestFlags.define(f)
	f.StringVar(&o.Mode, "mode", "performance", "performance, accuracy, submission or find-peak")
	f.BoolVar(&o.Quick, "quick", false,
		"about ten seconds of traffic, judged by the 90th percentile (slow models: a few queries, the median); not rule-compliant")
	for _, s := range settingFlags() {
		defineSetting(f, s.flag)
	}
	f.StringVar(&o.AuditConf, "audit-conf", "", "audit.config of a compliance test")
	f.StringVar(&o.ModelPath, "model-path", "",
		"`file` of ONNX, TensorFlow Lite (.tflite) or TensorFlow (frozen .pb) to use instead of the built-in model")
	f.Float64Var(&o.TargetAccuracy, "target-accuracy", 0, "own models: Top-1 accuracy to reach, in `percent` (default: none)")
	f.StringVar(&o.Precision, "precision", "",
		"fp32, fp16, int8 or int4: converted by the device, or once by mlperf (see quantize); bf16: OpenVINO alone; default: as the model is")
	f.IntVar(&o.Instances, "instances", 0, "workers that run the model at once; 0: chosen for the scenario")
	f.IntVar(&o.Backend.IntraThreads, "intra-threads", 0, "threads inside an operator; 0: chosen for the scenario")
	f.IntVar(&o.MaxBatch, "max-batchsize", 0, "most samples in one run of the model; 0: chosen for the scenario")
	durationVar(f, &o.MaxDelay, "max-batch-delay", 0, "how long a sample may wait for a batch to fill; in Server at most what the latency bound leaves")
	f.StringVar(&o.Backend.Affinity, "thread-affinity", "", "processors of the threads, in ONNX Runtime's notation, e.g. 1;2")
	f.StringVar(&o.Backend.OptimizedModel, "optimized-model", "", "`file` that keeps the optimised graph for later runs")
	f.StringVar(&o.Profile, "profile", "",
		"instances, threads, batches and delay that mlperf tune found: auto, or the file of a profile; other flags win")
	f.StringVar(&o.Output, "output", "", "`folder` for logs and results (default results/<model>/<scenario>/<mode>/<time>)")
	f.BoolVar(&o.Force, "force", false, "replace the results that are in the folder of --output")
	f.BoolVar(&o.Anyway, "anyway", false, "Server: run at full length even if no rate can keep the latency bound")
	f.BoolVar(&o.Trace, "trace", false, "also write mlperf_log_trace.json, for chrome://tracing")
	durationVar(f, &o.WarmUp, "warm-up", 0,
		"runs without a benchmark: leave the first seconds of a test out of the figures, which say so; a ramp: --arrivals ramp:30s")
	durationVar(f, &o.CoolDown, "cool-down", 0, "and the last seconds before the last request was due")
	f.Float64Var(&o.cancelPercent, "request-cancellation-rate", 0,
		"servers of text, without a benchmark: give up the answers to so many `percent` of the requests, "+
			"drawn from a seed, and leave them out of the figures")
	durationVar(f, &o.Engine.Remote.CancelAfter, "request-cancellation-delay", 0, "how long after sending they are given up")
	f.BoolVar(&o.EachRequest, "save-detailed", false,
		"also write requests.jsonl.gz: when each request was due, sent and answered, each token's time, why it ended")
	f.BoolVar(&o.NoReport, "no-report", false, "do not write report.html beside the results")
	f.StringVar(&o.Power, "power", "", "read the energy that the traffic takes: auto, rapl, nvml, ptd:HOST:PORT or file:CSV")
	f.BoolVar(&o.Ranging, "power-ranging", false,
		"measure twice, as power is for submissions: a ranging run first (--power ptd:HOST:PORT); writes ranging, run_1 and power below --output")
	jsonFlag(f, &o.asJSON)
	f.BoolVar(&o.sweep.Search, "sweep", false,
		"servers: one request at a time, as many as it takes, and rates between, up to the highest that keeps the bounds; "+
			"ten minutes at most, and the same command goes on")
	f.Float64SliceVar(&o.sweep.Rates, "sweep-qps", nil, "servers: a Server run at each of these `rates`, and a table of them (sweep.json, sweep.csv)")
	f.IntSliceVar(&o.sweep.Concurrency, "sweep-concurrency", nil,
		"servers: an Offline run with each of these `numbers` of requests under way, and a table of them")
}

// run does what the flags ask for: a sweep, all four traffic patterns, several benchmarks at the same time, or one test.
func (o *runFlags) run(cmd *cobra.Command, args []string) error {
	sweeps := o.sweep.Search || len(o.sweep.Rates)+len(o.sweep.Concurrency) > 0
	if err := o.check(cmd.Flags(), args, sweeps); err != nil {
		return err
	}
	patterns := o.complete(cmd, sweeps)
	q, err := o.request(cmd)
	if err != nil {
		return err
	}
	if q.Engine.Name == engine.OpenAI || q.Engine.Name == engine.OIP { // this process is only the client of servers
		q.Cores = addThreads()
		defer runtime.KeepAlive(newBallast())
	}
	switch {
	case sweeps:
		return runSweep(cmd, o.sweep, q, o.asJSON)
	case len(o.with) > 0 && patterns:
		return usage("--with needs the --scenario of this benchmark, too")
	case len(o.with) > 0:
		return o.runTogether(cmd, q)
	case patterns:
		return o.runPatterns(cmd, q)
	}
	return o.runOne(cmd, q)
}

// check takes the model from the arguments, and refuses flags that exclude each other.
func (o *runFlags) check(flags *pflag.FlagSet, args []string, sweeps bool) error {
	for name, value := range map[string]string{"model": o.Model, "scenario": o.Scenario, "model-path": o.ModelPath} {
		if value == "" && originOf(flags, name) != "" { // a variable of a shell that is not set
			return usage("--%s is empty", name)
		}
	}
	if err := takeModel(flags, args); err != nil {
		return err
	}
	if o.writeUserConf && o.Mode != run.FindPeak {
		return usage("--write-user-conf is of --mode %s, which finds a load", run.FindPeak)
	}
	if o.live != "" && (sweeps || len(o.with) > 0) {
		return usage("--live shows one test at a time: leave out --sweep, --sweep-qps, --sweep-concurrency and --with")
	}
	return nil
}

// complete fills in the model and the scenario that are not given. It reports whether all four traffic patterns are to run.
func (o *runFlags) complete(cmd *cobra.Command, sweeps bool) (patterns bool) {
	if served := o.Engine.Name == engine.OIP && o.Engine.Remote.Model != ""; o.Model == "" && o.ModelPath == "" && !served &&
		o.Engine.Name != engine.OpenAI {
		o.Model = "resnet50"
	}
	if entries, err := os.ReadDir(outdir.Root); len(entries) == 0 && (err == nil || errors.Is(err, fs.ErrNotExist)) {
		o.first = o.Output == "" && cmd.Flag("progress").Value.String() != string(progress.None)
	}
	if o.Scenario != "" || sweeps {
		return false
	}
	switch o.Mode {
	case "performance":
		return true
	case run.FindPeak:
		o.Scenario = loadgen.Server.String()
	default:
		o.Scenario = loadgen.Offline.String()
	}
	return false
}

// request is the request of the flags.
func (o *runFlags) request(cmd *cobra.Command) (run.Request, error) {
	q, err := o.build(cmd.Flags())
	if err != nil {
		return q, err
	}
	for _, text := range o.slo {
		objective, err := report.ParseObjective(text)
		if err != nil {
			return q, usage("--slo %w", err)
		}
		q.SLO = append(q.SLO, objective)
	}
	q.Engine.Remote.Cancel = o.cancelPercent / 100
	q.Command = append([]string{"mlperf"}, os.Args[1:]...)
	return q, nil
}

// runOne runs a benchmark in one scenario.
func (o *runFlags) runOne(cmd *cobra.Command, q run.Request) error {
	resolved, err := run.Resolve(q)
	if err != nil {
		return err
	}
	title := strings.TrimSpace(resolved.Request.Model + " " + resolved.ScenarioName())
	display := newDisplay(cmd)
	defer display.Done()
	display.About(title)
	if text := resolved.Forecast(); text != "" {
		display.Note(text)
	}
	observer, end, err := o.observer(cmd, display, title)
	if err != nil {
		return err
	}
	defer func() { end("The run has ended without a result.") }()
	prepared, err := resolved.Provide(cmd.Context(), observer)
	if err != nil {
		return exitOfRun(nil, err)
	}
	results, err := prepared.Run(cmd.Context())
	err = errors.Join(err, prepared.Close())
	display.Done()
	if results != nil {
		end("The run has ended: " + results.Verdict() + ". Its page: " + filepath.Join(resolved.Request.Output, page.FileName))
		err = errors.Join(err, o.show(cmd, results, resolved.Request.Output))
		if peak := results.Peak; o.writeUserConf && peak != nil && peak.UserConf != "" {
			err = errors.Join(err, writeUserConf(cmd, cmp.Or(o.UserConf, "user.conf"), string(peak.UserConf)))
		}
	}
	return exitOfRun(results, explainHopeless(err))
}

// about is what the flags say of what runs the model.
func (o *runFlags) about() string {
	parts := []string{cmp.Or(o.Engine.Name, engine.ONNXRuntime), o.Backend.Device, o.Precision, o.ModelPath}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), ", ")
}

// observer is the display of a run, and its live page if that is wanted. End ends the page, once.
func (o *runFlags) observer(cmd *cobra.Command, display *progress.Display, title string) (observer run.Observer, end func(text string), err error) {
	if o.live == "" {
		return display, func(string) {}, nil
	}
	d, closeLive, err := listenLive(cmd, display, o.live, title, o.about())
	if err != nil {
		return nil, nil, err
	}
	var once sync.Once
	return d, func(text string) { once.Do(func() { closeLive(text) }) }, nil
}

// takeModel takes the model from the argument of a verb, a file or a name of the catalogue, as its flag would. It wins over
// what the environment and mlperf.yaml say of the model.
func takeModel(flags *pflag.FlagSet, args []string) error {
	if len(args) == 0 {
		return nil
	}
	_, path, err := catalogue.Choose(args[0])
	name, other := "model", "model-path"
	if path != "" {
		name, other = other, name
	}
	if onCommandLine(flags, name) {
		return usage("unexpected argument %q: --%s names the model already", args[0], name)
	}
	if err != nil {
		return unflagged(err)
	}
	if originOf(flags, other) != "" && !onCommandLine(flags, other) {
		f := flags.Lookup(other)
		if err := f.Value.Set(f.DefValue); err != nil {
			return err
		}
		delete(f.Annotations, originKey)
	}
	if err := flags.Set(name, args[0]); err != nil {
		return err
	}
	return setOrigin(flags, name, argument, limitation.Flag)
}

// unflagged is an error about an argument: it is a wrong command line, and bears no name of a flag.
func unflagged(err error) error {
	if of := (*userinput.Error)(nil); errors.As(err, &of) {
		return usage("%w", of.Err)
	}
	return err
}

// notFile refuses a model file where only the catalogue helps.
func notFile(verb, arg string) error {
	if _, path, _ := catalogue.Choose(arg); path != "" {
		return usage("%s is a model file: %s takes a name of the catalogue", path, verb)
	}
	return nil
}

// runPatterns runs a model under all four traffic patterns.
func (o *runFlags) runPatterns(cmd *cobra.Command, q run.Request) error {
	display := newDisplay(cmd)
	defer display.Done()
	display.About(cmp.Or(q.Model, q.ModelPath))
	observer, end, err := o.observer(cmd, display, cmp.Or(q.Model, q.ModelPath))
	if err != nil {
		return err
	}
	list, err := run.Patterns(cmd.Context(), q, observer)
	display.Done()
	end("The runs have ended.")
	if len(list) > 0 {
		if o.asJSON {
			err = errors.Join(err, printJSON(cmd.OutOrStdout(), "patterns", list))
		} else {
			err = errors.Join(err, report.Patterns(cmd.OutOrStdout(), list), o.welcome(cmd.OutOrStdout(), list[0].Folder))
		}
	}
	if errors.Is(err, ErrInterrupted) {
		return interrupted(err)
	}
	return err
}

// show prints the results, where they are, and which command helps.
func (o *runFlags) show(cmd *cobra.Command, r *report.Results, dir string) error {
	if o.asJSON {
		return report.JSON(cmd.OutOrStdout(), r)
	}
	lines := []string{"Logs and results: " + userinput.PrintableLine(dir)}
	if next := nextCommand(os.Args[1:], r, dir); next != "" {
		lines = append(lines, next)
	}
	var b strings.Builder
	if err := report.Summary(&b, r, lines...); err != nil {
		return err
	}
	text := strings.Replace(b.String(), ": "+r.Verdict()+" on", ": "+colour(cmd.OutOrStdout(), r.Verdict())+" on", 1)
	if _, err := io.WriteString(cmd.OutOrStdout(), text); err != nil || r.Result != report.Valid {
		return err
	}
	return o.welcome(cmd.OutOrStdout(), dir)
}

// welcome names what to try after the first result.
func (o *runFlags) welcome(w io.Writer, dir string) error {
	if !o.first {
		return nil
	}
	program := "mlperf"
	if strings.ContainsAny(os.Args[0], `/\`) { // it is not in the PATH
		program = os.Args[0]
	}
	_, err := fmt.Fprintf(w, `Try next:
  %s
    what the run was judged by; report.html in that folder is its page
  %s
    any model of yours under all four traffic patterns
  %s
    every benchmark of a round, with accuracy
`, report.CommandLine([]string{program, "explain", dir}), report.CommandLine([]string{program, "run", "my.onnx"}),
		report.CommandLine([]string{program, "suite", "run", "v0.5", "--quick"}))
	return err
}

// explainHopeless adds to the error of a run that no rate can save the commands that work.
func explainHopeless(err error) error {
	var h *harness.LatencyBoundError
	if !errors.As(err, &h) {
		return err
	}
	again := "mlperf " + report.CommandLine(os.Args[1:])
	return errors.Join(h, errors.New("  "+again+" --target-latency auto   chooses a bound that can be met, of the open division"),
		errors.New("  "+again+" --anyway   runs all the same, to see how far off it is"))
}

// exitOfRun turns the outcome of a run into the exit status.
func exitOfRun(r *report.Results, err error) error {
	switch {
	case errors.Is(err, ErrInterrupted):
		return interrupted(err)
	case err != nil:
		return err
	case !r.Valid():
		return finished(ExitInvalid)
	case r.Accuracy.Below():
		return finished(ExitInaccurate)
	}
	return nil
}
