package cli

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mlperf-go/mlperf/internal/cli/progress"
	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/config/limitation"
	"github.com/mlperf-go/mlperf/internal/download"
	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/loadgen"
)

// A durationFlag is a time with its unit.
type durationFlag time.Duration

// String implements pflag.Value.
func (d *durationFlag) String() string { return time.Duration(*d).String() }

// Type implements pflag.Value.
func (*durationFlag) Type() string { return "duration" }

// Set implements pflag.Value.
func (d *durationFlag) Set(text string) error {
	v, err := parseDuration(text)
	*d = durationFlag(v)
	return err
}

// parseDuration reads a time with its unit. A bare number is milliseconds in conf files of MLPerf and seconds in people's heads,
// so it is refused.
func parseDuration(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if _, bare := strconv.ParseFloat(text, 64); err != nil && bare == nil {
		return 0, fmt.Errorf("%q has no unit: write %ss or %sms", text, text, text)
	}
	if err != nil {
		return 0, fmt.Errorf("%q is not a time: write 90s, 10m or 1h", text)
	}
	if d < 0 {
		return 0, fmt.Errorf("%q is negative", text)
	}
	return d, nil
}

// durationVar defines a flag that is a time.
func durationVar(flags *pflag.FlagSet, d *time.Duration, name string, value time.Duration, text string) {
	*d = value
	flags.Var((*durationFlag)(d), name, text)
}

// A scenarioFlag is the name of a scenario.
type scenarioFlag loadgen.Scenario

// String implements pflag.Value.
func (s *scenarioFlag) String() string { return loadgen.Scenario(*s).String() }

// Type implements pflag.Value.
func (*scenarioFlag) Type() string { return "scenario" }

// Set implements pflag.Value.
func (s *scenarioFlag) Set(name string) error {
	v, err := loadgen.ParseScenario(name)
	*s = scenarioFlag(v)
	return err
}

// A mapFlag is repeatable: key=value, each key once.
type mapFlag map[string]string

// String implements pflag.Value.
func (m *mapFlag) String() string { return "" }

// Type implements pflag.Value.
func (*mapFlag) Type() string { return "key=value" }

// Set implements pflag.Value.
func (m *mapFlag) Set(text string) error {
	key, value, ok := strings.Cut(text, "=")
	if !ok || key == "" {
		return errors.New("must be key=value")
	}
	if _, twice := (*m)[key]; twice {
		return fmt.Errorf("%s was given before", key)
	}
	if *m == nil {
		*m = mapFlag{}
	}
	(*m)[key] = value
	return nil
}

// pacerFlags say how the load generator waits for the moments of issue.
type pacerFlags struct {
	spin     time.Duration
	priority bool
}

func (p *pacerFlags) define(f *pflag.FlagSet) {
	durationVar(f, &p.spin, "spin", loadgen.DefaultSpin, "how long before an instant the generator stops sleeping and spins")
	f.BoolVar(&p.priority, "issue-priority", true, "raise the priority of the thread that keeps the schedule")
}

func (p *pacerFlags) newPacer() loadgen.Pacer { return loadgen.NewPacer(p.spin, p.priority) }

// defineProgress defines the flag that all verbs have.
func defineProgress(f *pflag.FlagSet) {
	f.String("progress", string(progress.Auto), "how progress is shown: auto, plain (lines), none, json (an object a line, on standard error)")
}

// newDisplay shows the progress of a verb.
func newDisplay(cmd *cobra.Command) *progress.Display {
	return progress.New(cmd.ErrOrStderr(), progress.Style(cmd.Flag("progress").Value.String()))
}

// otherWords are the commands for words that people try.
var otherWords = map[string][]string{
	"bench": {"run"}, "benchmark": {"run"}, "test": {"run"}, "start": {"run"}, "infer": {"run"}, "peak": {"run --mode find-peak"},
	"find-peak": {"run --mode find-peak"},
	"profile":   {"tune"}, "optimize": {"tune", "quantize"}, "optimise": {"tune", "quantize"}, "sweep": {"tune", "run --sweep"},
	"check": {"doctor", "submission check"}, "validate": {"submission check", "verify"}, "install": {"doctor --fix"}, "setup": {"doctor --fix"},
	"data": {"list datasets", "download dataset"}, "dataset": {"list datasets", "download dataset"}, "datasets": {"list datasets"},
	"model": {"list models", "download model"}, "models": {"list models"}, "results": {"report"}, "plot": {"report --format html"},
	"diff": {"compare"}, "score": {"accuracy"},
	"clean": {"cache clear"},
}

// otherFlags are ours for flags of other programs.
var otherFlags = map[string]string{
	"batch": "max-batchsize", "batch-size": "max-batchsize", "batchsize": "max-batchsize",
	"latency": "target-latency", "goodput": "slo", "duration": "min-duration", "time": "min-duration",
	"threads": "intra-threads", "qps": "target-qps", "rate": "target-qps", "request-rate": "target-qps", "iterations": "min-query-count",
	"requests":     "min-query-count",
	"num-requests": "min-query-count", "streams": "instances",
}

// noVerb are the arguments of a command that only has others below it: any is the name of a command that does not exist.
func noVerb(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	text := fmt.Sprintf("unknown command %q", args[0])
	near := otherWords[args[0]]
	if cmd.HasParent() || near == nil {
		near = cmd.SuggestionsFor(args[0])
	}
	if len(near) > 0 {
		text += fmt.Sprintf(", did you mean %s?", strings.Join(near, " or "))
	}
	return usage("%s", text)
}

// arguments accepts between least and most arguments.
func arguments(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		verb := strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()+" ") // errors begin with the program's name anyway
		want := strings.TrimSpace(strings.TrimPrefix(cmd.Use, cmd.Name()))
		switch {
		case len(args) > most:
			return usage("%s: unexpected argument %q", verb, args[most])
		case len(args) < least:
			return usage("%s: give %s", verb, want)
		case slices.Contains(args, ""): // a variable of a shell that is not set
			return usage("%s: an argument is empty: give %s", verb, want)
		}
		return nil
	}
}

// optionFile is the YAML file with flags. MLPERF_CONFIG names another.
const optionFile = "mlperf.yaml"

// variables are those of the environment that are not flags.
var variables = []string{"MLPERF_CONFIG", "MLPERF_CACHE_DIR", "MLPERF_DATA_DIR", "MLPERF_ORT_LIB", "MLPERF_API_KEY", "MLPERF_LONG_TESTS"}

// settleFlags sets the flags that the command line does not have from the environment and from mlperf.yaml, notes where each comes
// from, and warns of variables that nothing reads. It comes before every verb.
func settleFlags(cmd *cobra.Command) error {
	flags := cmd.Flags()
	file := config.OptionFile{Path: optionFile, Variables: variables}
	for _, c := range commandsBelow(cmd.Root()) { // mlperf.yaml may have flags of other verbs
		c.Flags().VisitAll(func(f *pflag.Flag) { file.Known = append(file.Known, f.Name) })
	}
	if path := os.Getenv("MLPERF_CONFIG"); path != "" {
		file.Path, file.Required = path, true
	}
	if f := flags.Lookup(configFlag); f != nil && f.Changed {
		file.Path, file.Required = f.Value.String(), true
	}
	var options []config.Option
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Name != "help" && f.Name != configFlag {
			_, list := f.Value.(pflag.SliceValue)
			_, pairs := f.Value.(*mapFlag)
			options = append(options, config.Option{
				Name: f.Name, Changed: f.Changed, Repeats: list || pairs,
				Set: func(value, origin string, role limitation.Role) error {
					return errors.Join(wrongValue(flags.Set(f.Name, value)), setOrigin(flags, f.Name, origin, role))
				},
			})
		}
	})
	warnings, err := config.MergeOptions(options, file)
	if err != nil {
		return usage("%w", err)
	}
	for _, o := range options {
		if o.Changed {
			if err := setOrigin(flags, o.Name, "flag --"+o.Name, limitation.Flag); err != nil {
				return err
			}
		}
	}
	if !file.Required {
		if err := foundFile(cmd); err != nil {
			return err
		}
	}
	for _, w := range warnings {
		_ = say(cmd.ErrOrStderr(), "warning: %s\n", w)
	}
	if _, err = progress.ParseStyle(cmd.Flag("progress").Value.String()); err != nil {
		return usage("--progress: %w", err)
	}
	return namedData(cmd)
}

// namedData takes the name of an official data set, as mlperf download has it, for its folder, unless there is a file or folder of this
// name.
func namedData(cmd *cobra.Command) error {
	f := cmd.Flag("dataset-path")
	if f == nil || f.Value.String() == "" || fileio.Exists(f.Value.String()) {
		return nil
	}
	name := f.Value.String()
	known, err := download.Load()
	if err != nil || !slices.Contains(known.Names(download.Dataset), name) {
		return err
	}
	it, err := known.Lookup(download.Dataset, name)
	if err != nil {
		return err
	}
	dir, err := it.UsualDir()
	if err != nil {
		return err
	}
	if !download.Installed(dir, it) {
		return fmt.Errorf("data set: neither the folder %s nor a download in %s is there: mlperf download dataset %s gets it", name, dir, name)
	}
	return f.Value.Set(dir)
}

// originKey is the annotation of a flag that says where its value comes from, and the role of that.
const originKey = "origin"

// argument is the origin of a model that is not given by a flag.
const argument = "argument"

// setOrigin notes where the value of a flag comes from.
func setOrigin(flags *pflag.FlagSet, name, origin string, role limitation.Role) error {
	return flags.SetAnnotation(name, originKey, []string{origin, string(role)})
}

// originOf says where the value of a flag comes from; "" is the default.
func originOf(flags *pflag.FlagSet, name string) string {
	if f := flags.Lookup(name); f != nil && len(f.Annotations[originKey]) > 0 {
		return f.Annotations[originKey][0]
	}
	return ""
}

// roleOf is the role of the origin of a flag; "" is the default.
func roleOf(flags *pflag.FlagSet, name string) limitation.Role {
	if f := flags.Lookup(name); f != nil && len(f.Annotations[originKey]) > 1 {
		return limitation.Role(f.Annotations[originKey][1])
	}
	return ""
}

// rankOf is higher for an origin that wins over another: the command line, the environment, mlperf.yaml, the default.
func rankOf(role limitation.Role) int {
	return slices.Index([]limitation.Role{"", limitation.OptionFile, limitation.Environment, limitation.Flag}, role)
}

// onCommandLine reports whether the command line itself has a flag. A variable or a line of mlperf.yaml may be for other verbs.
func onCommandLine(flags *pflag.FlagSet, name string) bool {
	return roleOf(flags, name) == limitation.Flag
}

// refuseFlags is an error about the first of some flags that is on the command line, where it would have no effect.
func refuseFlags(flags *pflag.FlagSet, why string, names ...string) error {
	if i := slices.IndexFunc(names, func(name string) bool { return onCommandLine(flags, name) }); i >= 0 {
		return usage("--%s %s", names[i], why)
	}
	return nil
}

// defineFormat defines --format, whose first value is the default.
func defineFormat(cmd *cobra.Command, format *string, formats []string) {
	cmd.Flags().StringVar(format, "format", formats[0], strings.Join(formats, ", "))
	completeWith(cmd, "format", formats...)
}

// chosenFormat is the format that --format and --json ask for together: --json is short for --format json.
func chosenFormat(flags *pflag.FlagSet, formats []string, format string, asJSON bool) (string, error) {
	switch {
	case !slices.Contains(formats, format):
		return "", usage("unknown format %q: must be %s", format, strings.Join(formats, ", "))
	case !asJSON || format == "json":
		return format, nil
	case onCommandLine(flags, "json") && onCommandLine(flags, "format"):
		return "", usage("--json and --format %s are two formats: give one", format)
	case rankOf(roleOf(flags, "format")) > rankOf(roleOf(flags, "json")):
		return format, nil
	}
	return "json", nil
}

// plainFlagError is an error of pflag in plain words: --json: "maybe" is neither true nor false.
func plainFlagError(err error) error {
	var wrong *pflag.InvalidValueError
	if errors.As(err, &wrong) {
		return fmt.Errorf("--%s: %w", wrong.GetFlag().Name, wrongValue(err))
	}
	return err
}

// wrongValue is why a flag cannot have a value, without the flag: the value may come from a variable or a file.
func wrongValue(err error) error {
	var wrong *pflag.InvalidValueError
	if !errors.As(err, &wrong) {
		return err
	}
	value, cause, kind := strconv.Quote(wrong.GetValue()), wrong.Unwrap(), wrong.GetFlag().Value.Type()
	var number *strconv.NumError
	switch {
	case errors.As(cause, &number) && errors.Is(number.Err, strconv.ErrRange):
		return fmt.Errorf("%s is too large a number", value)
	case !errors.As(cause, &number) && strings.Contains(cause.Error(), value):
		return cause
	case !errors.As(cause, &number):
		return fmt.Errorf("%s: %w", value, cause)
	case kind == "bool":
		return fmt.Errorf("%s is neither true nor false", value)
	case strings.HasSuffix(kind, "Slice"):
		return fmt.Errorf("%s is not a list of numbers with commas between", value)
	case strings.HasPrefix(kind, "uint"):
		return fmt.Errorf("%s is not a whole number from 0", value)
	case strings.HasPrefix(kind, "int"):
		return fmt.Errorf("%s is not a whole number", value)
	}
	return fmt.Errorf("%s is not a number", value)
}
