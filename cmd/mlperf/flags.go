package main

import (
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/pflag"

	"github.com/mlperf-go/mlperf/internal/loadgen"
)

// A durationFlag is a time as 90s or 10m; a bare number is milliseconds, as in conf
// files.
type durationFlag time.Duration

// String implements pflag.Value.
func (d *durationFlag) String() string { return time.Duration(*d).String() }

// Type implements pflag.Value.
func (*durationFlag) Type() string { return "duration" }

// Set implements pflag.Value.
func (d *durationFlag) Set(s string) error {
	v, err := parseDuration(s)
	*d = durationFlag(v)
	return err
}

func parseDuration(s string) (time.Duration, error) {
	if ms, err := strconv.ParseFloat(s, 64); err == nil {
		return checkDuration(s, time.Duration(ms*1e6))
	}
	v, err := time.ParseDuration(s)
	if err != nil {
		return 0, fmt.Errorf("%q is not a time: want 90s, 10m, 1h, or milliseconds without a unit", s)
	}
	return checkDuration(s, v)
}

func checkDuration(s string, d time.Duration) (time.Duration, error) {
	if d < 0 {
		return 0, fmt.Errorf("%q is negative", s)
	}
	return d, nil
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
