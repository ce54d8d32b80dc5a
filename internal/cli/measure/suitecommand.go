package measure

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/mlperf-go/mlperf/internal/cli/request"
	"github.com/mlperf-go/mlperf/internal/run"
)

// ofSteps are the flags that steps of a suite have of their own, or that only suites have.
var ofSteps = []string{"rules", "division", "precision", "model-path", "dataset-path", "count", "set", "output", "json"}

// commandOf says what makes a run of a suite alone: the flags that the suite was given, and
// those that follow from the step.
func commandOf(flags *pflag.FlagSet) func(run.Request) []string {
	var same []string
	known := newRun().Flags()
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Changed && known.Lookup(f.Name) != nil && !slices.Contains(ofSteps, f.Name) {
			same = append(same, argumentsOf(f)...)
		}
	})
	return func(q run.Request) []string {
		return slices.Concat([]string{"mlperf", "run", "--model", q.Model, "--scenario", q.Scenario}, stepArguments(&q), same)
	}
}

// argumentsOf are the arguments that give a flag its value.
func argumentsOf(f *pflag.Flag) []string {
	name := "--" + f.Name
	var list []string
	switch v := f.Value.(type) {
	case *request.MapFlag:
		for _, key := range slices.Sorted(maps.Keys(*v)) {
			list = append(list, name, key+"="+(*v)[key])
		}
	case pflag.SliceValue:
		for _, one := range v.GetSlice() {
			list = append(list, name, one)
		}
	default:
		switch {
		case f.Value.Type() != "bool":
			list = []string{name, f.Value.String()}
		case f.Value.String() == "true":
			list = []string{name}
		default:
			list = []string{name + "=false"}
		}
	}
	return list
}

// stepArguments are those of a step.
func stepArguments(q *run.Request) []string {
	count := ""
	if q.Count > 0 {
		count = strconv.Itoa(q.Count)
	}
	var list []string
	for _, a := range [][2]string{
		{"mode", q.Mode}, {"rules", q.Rules}, {"division", q.Division}, {"precision", q.Precision},
		{"model-path", q.ModelPath}, {"dataset-path", q.DatasetPath}, {"count", count},
	} {
		if a[1] != "" {
			list = append(list, "--"+a[0], a[1])
		}
	}
	if q.AutoLatency {
		list = append(list, "--target-latency", request.AutoLatency)
	}
	for _, key := range slices.Sorted(maps.Keys(q.Options)) {
		list = append(list, "--"+strings.ReplaceAll(key, "_", "-")+"="+q.Options[key])
	}
	for _, s := range q.Settings {
		list = append(list, "--set", s.Key+"="+s.Value)
	}
	return list
}
