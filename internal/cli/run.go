package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
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
	"github.com/mlperf-go/mlperf/internal/convert"
	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/harness"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/machine"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/report/page"
	"github.com/mlperf-go/mlperf/internal/run"
	"github.com/mlperf-go/mlperf/internal/run/catalogue"
	"github.com/mlperf-go/mlperf/internal/run/engine"
	"github.com/mlperf-go/mlperf/internal/run/outdir"
	"github.com/mlperf-go/mlperf/internal/tune"
	"github.com/mlperf-go/mlperf/internal/units"
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
}

func newRun() *cobra.Command {
	o := &runFlags{}
	cmd := &cobra.Command{
		Use:   "run [MODEL.onnx]",
		Short: "Run a model file of yours, or a benchmark: --model M --scenario S",
		Long: `Run a model file of yours, or a benchmark, which is judged by the rules. Without --scenario
all four traffic patterns run for a few seconds each; without a model it is the built-in
resnet50.

MODEL.onnx is any model that ONNX Runtime opens, of any task. Its inputs are made from a
seed by type and shape (--input, --shape), or read from --data: a folder with an array for
each input (NAME.npy, or .npz), or with images: a folder per class, val_map.txt, or without
labels. Labels give Top-1 and Top-5 accuracy (--mode accuracy). The result says "own model":
it has no rules to keep.

--model M runs a benchmark. Without --model-path and --dataset-path the built-in model and
data are used: the official architecture with random weights, and synthetic images. Speed is
representative, answers are not, and the result says so.

A target that is not given (--target-qps in Server and Offline, else --target-latency) is
measured first. Settings come from the rule set's mlperf.conf, then user.conf, flags and
audit.config; each that is easier than the rules is a limitation of the result.

If one sample takes longer than the latency bound, a Server run is INVALID after ten seconds
at the rate that the machine sustains. --anyway runs it in full length, --target-latency
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
	cmd.Flags().StringArrayVar(&o.slo, "slo", nil, "service level `objective`: 'p99<50ms', 'ttft<500ms', 'tpot p90<40ms' (repeatable): met or not, goodput; Server: the bound, too")
	cmd.Flags().StringArrayVar(&o.with, "with", nil, "another benchmark at the same time on this machine, each with its own verdict: `MODEL/SCENARIO`, MODEL/SCENARIO@RATE or a suite (repeatable); not of the rules")
	cmd.Flags().StringVar(&o.live, "live", "", "show the run on a page while it goes on, at this `address`: --live=127.0.0.1:8080; alone: any port")
	cmd.Flags().Lookup("live").NoOptDefVal = anyPort
	cmd.Flags().BoolVar(&o.writeUserConf, "write-user-conf", false, "find-peak: put the load that was found into the file of --user-conf, or ./user.conf")
	return cmd
}

func (o *runFlags) define(f *pflag.FlagSet) {
	o.requestFlags.define(f)
	f.StringVar(&o.Mode, "mode", "performance", "performance, accuracy, submission or find-peak")
	f.BoolVar(&o.Quick, "quick", false, "about ten seconds of traffic, judged by the 90th percentile (slow models: a few queries, the median); not rule-compliant")
	for _, s := range settingFlags() {
		defineSetting(f, s.flag)
	}
	f.StringVar(&o.AuditConf, "audit-conf", "", "audit.config of a compliance test")
	f.StringVar(&o.ModelPath, "model-path", "", "`file` of ONNX, TensorFlow Lite (.tflite) or TensorFlow (frozen .pb) to use instead of the built-in model")
	f.Float64Var(&o.TargetAccuracy, "target-accuracy", 0, "own models: Top-1 accuracy to reach, in `percent` (default: none)")
	f.StringVar(&o.Precision, "precision", "", "fp32, fp16, int8 or int4: converted by the device, or once by mlperf (see quantize); bf16: OpenVINO alone; default: as the model is")
	f.IntVar(&o.Instances, "instances", 0, "workers that run the model at once; 0: chosen for the scenario")
	f.IntVar(&o.Backend.IntraThreads, "intra-threads", 0, "threads inside an operator; 0: chosen for the scenario")
	f.IntVar(&o.MaxBatch, "max-batchsize", 0, "most samples in one run of the model; 0: chosen for the scenario")
	durationVar(f, &o.MaxDelay, "max-batch-delay", 0, "how long a sample may wait for a batch to fill; in Server at most what the latency bound leaves")
	f.StringVar(&o.Backend.Affinity, "thread-affinity", "", "processors of the threads, in ONNX Runtime's notation, e.g. 1;2")
	f.StringVar(&o.Backend.OptimizedModel, "optimized-model", "", "`file` that keeps the optimised graph for later runs")
	f.StringVar(&o.Profile, "profile", "", "instances, threads, batches and delay that mlperf tune found: auto, or the file of a profile; other flags win")
	f.StringVar(&o.Output, "output", "", "`folder` for logs and results (default results/<model>/<scenario>/<mode>/<time>)")
	f.BoolVar(&o.Force, "force", false, "replace the results that are in the folder of --output")
	f.BoolVar(&o.Anyway, "anyway", false, "Server: run in full length even if no rate can keep the latency bound")
	f.BoolVar(&o.Trace, "trace", false, "also write mlperf_log_trace.json, for chrome://tracing")
	f.BoolVar(&o.NoReport, "no-report", false, "do not write report.html beside the results")
	f.StringVar(&o.Power, "power", "", "read the energy that the traffic takes: auto, rapl, nvml, ptd:HOST:PORT or file:CSV")
	f.BoolVar(&o.Ranging, "power-ranging", false, "measure twice, as power is for submissions: a ranging run first (--power ptd:HOST:PORT); writes ranging, run_1 and power below --output")
	jsonFlag(f, &o.asJSON)
	f.Float64SliceVar(&o.sweep.Rates, "sweep-qps", nil, "servers of text: a Server run at each of these `rates`, and a table of them (sweep.json, sweep.csv)")
	f.IntSliceVar(&o.sweep.Concurrency, "sweep-concurrency", nil, "servers of text: an Offline run with each of these `numbers` of requests under way, and a table of them")
}

func (o *runFlags) run(cmd *cobra.Command, args []string) error {
	sweeps := len(o.sweep.Rates)+len(o.sweep.Concurrency) > 0
	for name, value := range map[string]string{"model": o.Model, "scenario": o.Scenario, "model-path": o.ModelPath} {
		if value == "" && originOf(cmd.Flags(), name) != "" { // a variable of a shell that is not set
			return usage("--%s is empty", name)
		}
	}
	if err := takeModel(cmd.Flags(), args); err != nil {
		return err
	}
	if o.writeUserConf && o.Mode != run.FindPeak {
		return usage("--write-user-conf is of --mode %s, which finds a load", run.FindPeak)
	}
	if o.Model == "" && o.ModelPath == "" && o.Engine.Name != engine.OpenAI {
		o.Model = "resnet50"
	}
	if entries, err := os.ReadDir(outdir.Root); len(entries) == 0 && (err == nil || errors.Is(err, fs.ErrNotExist)) {
		o.first = o.Output == "" && cmd.Flag("progress").Value.String() != string(progress.None)
	}
	patterns := false
	if o.Scenario == "" && !sweeps {
		switch o.Mode {
		case "performance":
			patterns = true
		case run.FindPeak:
			o.Scenario = loadgen.Server.String()
		default:
			o.Scenario = loadgen.Offline.String()
		}
	}
	q, err := o.build(cmd.Flags())
	if err != nil {
		return err
	}
	for _, text := range o.slo {
		objective, err := report.ParseObjective(text)
		if err != nil {
			return usage("--slo %w", err)
		}
		q.SLO = append(q.SLO, objective)
	}
	q.Command = append([]string{"mlperf"}, os.Args[1:]...)
	if q.Engine.Name == engine.OpenAI || q.Engine.Name == engine.OIP { // this process is only the client of servers
		q.Cores = addThreads()
		defer runtime.KeepAlive(newBallast())
	}
	if o.live != "" && (sweeps || len(o.with) > 0) {
		return usage("--live shows one test at a time: leave out --sweep-qps, --sweep-concurrency and --with")
	}
	if sweeps {
		return runSweep(cmd, o.sweep, q, o.asJSON)
	}
	if patterns && len(o.with) == 0 {
		return o.runPatterns(cmd, q)
	}
	if len(o.with) > 0 {
		if patterns {
			return usage("--with needs the --scenario of this benchmark, too")
		}
		return o.runTogether(cmd, q)
	}
	resolved, err := run.Resolve(q)
	if err != nil {
		return err
	}

	display := newDisplay(cmd)
	defer display.Done()
	display.About(strings.TrimSpace(resolved.Request.Model + " " + resolved.ScenarioName()))
	if text := resolved.Forecast(); text != "" {
		display.Note(text)
	}
	observer, end, err := o.observer(cmd, display, strings.TrimSpace(resolved.Request.Model+" "+resolved.ScenarioName()))
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
	}
	if results != nil {
		err = errors.Join(err, o.show(cmd, results, resolved.Request.Output))
		if peak := results.Peak; o.writeUserConf && peak != nil && peak.UserConf != "" {
			err = errors.Join(err, writeUserConf(cmd, cmp.Or(o.UserConf, "user.conf"), string(peak.UserConf)))
		}
	}
	return exitOfRun(results, explainHopeless(err))
}

// observer is the display of a run, and its live page if that is wanted. End ends the page, once.
func (o *runFlags) observer(cmd *cobra.Command, display *progress.Display, title string) (observer run.Observer, end func(text string), err error) {
	if o.live == "" {
		return display, func(string) {}, nil
	}
	d, closeLive, err := listenLive(cmd, display, o.live, title)
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
	return flags.SetAnnotation(name, originKey, []string{argument, string(limitation.Flag)})
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
  %[1]s explain %[2]s
    what the run was judged by; report.html in that folder is its page
  %[1]s run my.onnx
    any model of yours under all four traffic patterns
  %[1]s suite run v0.5 --quick
    every benchmark of a round, with accuracy
`, program, dir)
	return err
}

// writeUserConf puts lines into a file, in place of those that have their keys.
func writeUserConf(cmd *cobra.Command, path, lines string) error {
	const most = 1 << 20
	old, err := fileio.ReadFile(path, most)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	text := string(old)
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	key := func(line string) string {
		before, _, _ := strings.Cut(line, "=")
		return strings.TrimSpace(before)
	}
	var kept strings.Builder
	for line := range strings.Lines(text) {
		if !slices.ContainsFunc(strings.Split(lines, "\n"), func(new string) bool { return key(new) == key(line) }) {
			kept.WriteString(line)
		}
	}
	if err := fileio.WriteFile(path, []byte(kept.String()+lines+"\n"), 0o644); err != nil {
		return err
	}
	return say(cmd.ErrOrStderr(), "written into %s: %s\n", path, strings.ReplaceAll(lines, "\n", ", "))
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

// nextCommand is the command to try after a run that is not VALID, made of the arguments of the run, or whose integers
// cost too much accuracy; "" after others.
func nextCommand(args []string, r *report.Results, dir string) string {
	if a := r.Accuracy; r.Input.Precision == convert.INT8 && a.Below() && a.Reference != 0 {
		return fmt.Sprintf("Next: mlperf quantize --model %s --target %s\n  which leaves the most sensitive layers in FP32; run takes its file with --model-path", r.Model, units.Exact(units.Rounded(a.Target/a.Reference, 4)))
	}
	if r.Result != report.Invalid {
		return ""
	}
	if changes := changesFor(r); len(changes) > 0 {
		return "Next: " + changes[0].of(args)
	}
	return fmt.Sprintf("Next: mlperf %s\n  which shows why", report.CommandLine([]string{"explain", dir}))
}

// A change of a request may make the next run VALID.
type change struct{ field, value, effect string } // as errors name the field; a switch has no value

// of is the command line with the change, and what comes of it.
func (c change) of(args []string) string {
	command := withFlag(withoutSetting(args, c.field), strings.ReplaceAll(c.field, "_", "-"), c.value)
	if slices.ContainsFunc(args, func(a string) bool { return a == "--output" || strings.HasPrefix(a, "--output=") }) && !slices.Contains(args, "--force") && args[0] != "submission" {
		command = append(command, "--force") // the same folder takes the results; submission run replaces those that are not VALID anyway
	}
	return fmt.Sprintf("mlperf %s\n  which %s", report.CommandLine(command), c.effect)
}

// changesFor are the changes for the constraints that a run broke, as far as they are known, the first constraint first.
func changesFor(r *report.Results) (list []change) {
	for _, c := range r.Constraints {
		stopping := c.ID == loadgen.ConstraintEarlyStopping || c.ID == loadgen.ConstraintFirstTokenStopping
		if c.Met || c.ReferenceOnly || stopping && len(list) > 0 { // beyond the bound a longer run would need more queries again
			continue
		}
		if new := changeFor(c, r); new != nil && !slices.ContainsFunc(list, func(o change) bool { return o.field == new.field }) {
			list = append(list, *new)
		}
	}
	return list
}

// changeFor is the change for a constraint that a run broke; nil: none is known.
func changeFor(c report.Constraint, r *report.Results) *change {
	server := r.Scenario == loadgen.Server.String()
	peak := &change{"mode", run.FindPeak, "searches the highest load that keeps the bound"}
	p := r.Performance
	switch c.ID {
	case loadgen.ConstraintDuration, loadgen.ConstraintQueries, loadgen.ConstraintSamples, loadgen.ConstraintEarlyStopping, loadgen.ConstraintFirstTokenStopping:
		if t := r.Test; t != nil && p != nil && t.MaxQueryCount > 0 && p.Queries >= t.MaxQueryCount {
			return &change{"max_query_count", "0", "is not ended by a number of queries"}
		}
	}
	switch c.ID {
	case loadgen.ConstraintLatency:
		if server && p != nil && p.LatencyNS != nil && float64(p.LatencyNS.Min) > c.Required.Value {
			return &change{"target_latency", autoLatency, "chooses a bound that can be met, of the open division"}
		}
		return peak
	case loadgen.ConstraintFirstToken, loadgen.ConstraintPerToken, loadgen.ConstraintIntervals:
		return peak
	case loadgen.ConstraintDuration:
		if r.Scenario == loadgen.Offline.String() && p != nil && p.SamplesPerSecond > 0 { // a fifth more, for a faster run
			return &change{"target_qps", units.Exact(units.Rounded(1.2*p.SamplesPerSecond, units.Digits)), "has enough samples for the time"}
		}
	case loadgen.ConstraintGenerator:
		if server {
			return &change{"reserve_core", "", "leaves a core to the load generator, which was late"}
		}
	case loadgen.ConstraintSamples, loadgen.ConstraintQueries, loadgen.ConstraintEarlyStopping, loadgen.ConstraintFirstTokenStopping:
		if c.ID == loadgen.ConstraintSamples && !server { // only in Server a query is a sample
			return nil
		}
		if c.Words == nil && c.Required.Value > 0 { // a tenth more than the constraint asks for
			return &change{"min_query_count", units.Exact(c.Required.Value + math.Ceil(c.Required.Value/10)), "runs until it has enough queries"}
		}
	}
	return nil
}

// withFlag sets a flag in arguments, in place of the value that they have for it.
func withFlag(args []string, name, value string) []string {
	list := append(withoutFlag(args, name, value != ""), "--"+name)
	if value != "" {
		list = append(list, value)
	}
	return list
}

// withoutFlag removes a flag from arguments.
func withoutFlag(args []string, name string, hasValue bool) []string {
	var list []string
	for i := 0; i < len(args); i++ {
		word, _, inWord := strings.Cut(args[i], "=")
		if !strings.HasPrefix(word, "--") || strings.ReplaceAll(word[2:], "_", "-") != name {
			list = append(list, args[i])
		} else if hasValue && !inWord {
			i++
		}
	}
	return list
}

// withoutSetting removes a key that --set gives.
func withoutSetting(args []string, key string) []string {
	var list []string
	for i := 0; i < len(args); i++ {
		switch {
		case strings.HasPrefix(args[i], "--set="+key+"="):
		case args[i] == "--set" && i+1 < len(args) && strings.HasPrefix(args[i+1], key+"="):
			i++
		default:
			list = append(list, args[i])
		}
	}
	return list
}

// addThreads lets at least eight threads of Go run at once, and returns how many could before. A thread that wakes to issue a query
// needs a place, whatever its priority; with as many places as cores, a thread that the system has stopped may hold it: on two
// cores that were busy otherwise (a load of 25) a query in a hundred was issued 37 to 64 ms late with two places, and 3 to 9 ms
// late with eight.
func addThreads() (before int) {
	before = runtime.GOMAXPROCS(0)
	runtime.GOMAXPROCS(max(before, 8))
	return before
}

// newBallast is unused memory, so that the garbage collector waits until as much again was allocated: at 10,000 small requests a
// second it then runs every ten seconds instead of four times in one. A collection stops all threads for a moment: on two busy
// cores a query in a hundred was issued 2 to 60 ms late, and 0.1 ms without collections. It takes addresses and no memory, and has
// to be kept alive.
func newBallast() []byte { return make([]byte, min(512<<20, machine.AvailableMemory()/16)) }
