package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/progress"
)

// optionFile is the YAML file with flags. MLPERF_CONFIG names another.
const optionFile = "mlperf.yaml"

// variables are those of the environment that are no flags.
var variables = []string{"MLPERF_CONFIG", "MLPERF_CACHE_DIR", "MLPERF_DATA_DIR", "MLPERF_ORT_LIB", "MLPERF_API_KEY", "MLPERF_LONG_TESTS"}

// originKey is the annotation of a flag that says where its value comes from.
const originKey = "origin"

// progressFlag is the flag that says how progress is shown.
const progressFlag = "progress"

// before is what comes before every verb: flags from elsewhere, and those that all verbs have.
func before(cmd *cobra.Command) error {
	if err := settle(cmd); err != nil {
		return err
	}
	_, err := progress.ParseStyle(cmd.Flag(progressFlag).Value.String())
	if err != nil {
		return usage("--%s: %w", progressFlag, err)
	}
	return nil
}

// newDisplay shows how the job of a verb goes on, as the flag says.
func newDisplay(cmd *cobra.Command) *progress.Display {
	return progress.With(cmd.ErrOrStderr(), progress.Style(cmd.Flag(progressFlag).Value.String()))
}

// settle sets the flags that the command line does not have from the environment and from
// mlperf.yaml, notes where each comes from, and warns of variables that nothing reads.
func settle(cmd *cobra.Command) error {
	flags := cmd.Flags()
	var options []config.Option
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Name != "help" {
			set := func(value string) error { return flags.Set(f.Name, value) }
			options = append(options, config.Option{Name: f.Name, Changed: f.Changed, Set: set})
		}
	})
	file := config.OptionFile{Path: optionFile, Known: allFlags(cmd.Root()), Variables: variables}
	if path := os.Getenv("MLPERF_CONFIG"); path != "" {
		file.Path, file.Required = path, true
	}
	merged, err := config.MergeOptions(options, file)
	if err != nil {
		return usage("%w", err)
	}
	for _, w := range merged.Warnings {
		fmt.Fprintf(cmd.ErrOrStderr(), "warning: %s\n", w)
	}
	for _, o := range options {
		if origin := merged.Origin(o.Name); origin != config.Default {
			if err := flags.SetAnnotation(o.Name, originKey, []string{origin}); err != nil {
				return err
			}
		}
	}
	return nil
}

// allFlags lists the flags of all commands: mlperf.yaml may have any of them.
func allFlags(cmd *cobra.Command) []string {
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	for _, sub := range cmd.Commands() {
		names = append(names, allFlags(sub)...)
	}
	return names
}

// originOf says where the value of a flag comes from; empty: nobody gave one.
func originOf(flags *pflag.FlagSet, name string) string {
	if f := flags.Lookup(name); f != nil && len(f.Annotations[originKey]) > 0 {
		return f.Annotations[originKey][0]
	}
	return ""
}

// origins lists the fields that somebody gave, with where.
func origins(flags *pflag.FlagSet) map[string]string {
	given := map[string]string{}
	flags.VisitAll(func(f *pflag.Flag) {
		if origin := originOf(flags, f.Name); origin != "" {
			given[strings.ReplaceAll(f.Name, "-", "_")] = origin
		}
	})
	return given
}

// A durationFlag is a time as 90s or 10m; a bare number is milliseconds, as in conf
// files.
type durationFlag time.Duration

// String implements pflag.Value.
func (d *durationFlag) String() string { return time.Duration(*d).String() }

// Type implements pflag.Value.
func (*durationFlag) Type() string { return "duration" }

// Set implements pflag.Value.
func (d *durationFlag) Set(s string) error {
	v, err := config.ParseDuration(s)
	*d = durationFlag(v)
	return err
}

// durationVar defines a flag of type durationFlag.
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
		return errors.New("want key=value")
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

// pacerFlags say how the load generator waits for its instants.
type pacerFlags struct {
	spin     time.Duration
	priority bool
}

func (p *pacerFlags) define(f *pflag.FlagSet) {
	durationVar(f, &p.spin, "spin", loadgen.DefaultSpin, "how long before an instant the generator stops sleeping and spins")
	f.BoolVar(&p.priority, "issue-priority", true, "raise the priority of the thread that keeps the schedule")
}

func (p *pacerFlags) newPacer() loadgen.Pacer { return loadgen.NewPacer(p.spin, p.priority) }
