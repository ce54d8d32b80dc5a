package cli

import (
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/loadgen"
)

// A durationFlag is the value of a flag that DurationVar defines.
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

// DurationVar defines a flag that is a time as 90s or 10m; a bare number is milliseconds, as in conf files.
func DurationVar(flags *pflag.FlagSet, d *time.Duration, name string, value time.Duration, text string) {
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

// ScenarioVar defines a flag that is the name of a scenario.
func ScenarioVar(flags *pflag.FlagSet, s *loadgen.Scenario, name, text string) {
	flags.Var((*scenarioFlag)(s), name, text)
}

// Completes has shells complete the value of a flag that a command has: one of a few words, and no file. What is not said of a
// flag here, the program says of all flags of its name.
func Completes(cmd *cobra.Command, flag string, words ...string) {
	if err := cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(err) // a flag that is not there
	}
}

// PacerFlags say how the load generator waits for its instants.
type PacerFlags struct {
	spin     time.Duration
	priority bool
}

// Define defines the flags.
func (p *PacerFlags) Define(f *pflag.FlagSet) {
	DurationVar(f, &p.spin, "spin", loadgen.DefaultSpin, "how long before an instant the generator stops sleeping and spins")
	f.BoolVar(&p.priority, "issue-priority", true, "raise the priority of the thread that keeps the schedule")
}

// NewPacer makes a pacer as the flags say.
func (p *PacerFlags) NewPacer() loadgen.Pacer { return loadgen.NewPacer(p.spin, p.priority) }
