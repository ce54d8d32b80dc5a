package main

import (
	"errors"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/field"
	"github.com/mlperf-go/mlperf/internal/models"
	"github.com/mlperf-go/mlperf/internal/workload"
)

// optionFile is the YAML file with flags. MLPERF_CONFIG names another.
const optionFile = "mlperf.yaml"

// variables are those of the environment that are no flags.
var variables = []string{"MLPERF_CONFIG", "MLPERF_CACHE_DIR", "MLPERF_DATA_DIR", "MLPERF_ORT_LIB", "MLPERF_LONG_TESTS"}

// mergeOptions sets the flags that the command line does not have from the environment
// and from mlperf.yaml.
func mergeOptions(cmd *cobra.Command) (*config.Merged, error) {
	var options []config.Option
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Name != "help" {
			options = append(options, config.Option{Name: f.Name, Changed: f.Changed, Set: f.Value.Set})
		}
	})
	file := config.OptionFile{Path: optionFile, Known: allFlags(cmd.Root()), Variables: variables}
	if path := os.Getenv("MLPERF_CONFIG"); path != "" {
		file.Path, file.Required = path, true
	}
	return config.MergeOptions(options, file)
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

// A modelOption is the flag of an option that models have.
type modelOption struct {
	workload.Option
	flag *pflag.Flag
}

// modelFlags are the options of all models of the catalogue.
type modelFlags struct{ options []modelOption }

// define defines a flag for each option that some model has.
func (m *modelFlags) define(f *pflag.FlagSet, of func(workload.Model) []workload.Option) {
	for _, model := range models.All() {
		for _, o := range of(model) {
			if f.Lookup(o.Name) != nil {
				continue
			}
			if o.Kind == workload.Switch {
				f.Bool(o.Name, false, o.Help)
			} else {
				f.String(o.Name, "", o.Help)
			}
			m.options = append(m.options, modelOption{o, f.Lookup(o.Name)})
		}
	}
}

// values are the options that somebody gave.
func (m *modelFlags) values() workload.Values {
	values := workload.Values{}
	for _, o := range m.options {
		if text := o.flag.Value.String(); o.flag.Changed && text != "" || text != o.flag.DefValue {
			values[o.Name] = text
		}
	}
	return values
}

// feeding are the options by which model files and data are fed and read.
func feeding(m workload.Model) []workload.Option { return m.Options }

// optionUsage makes a usage error of options that a model does not have or take.
func optionUsage(err error) error {
	if err == nil {
		return nil
	}
	var of *field.Error
	if errors.As(err, &of) {
		return usage("%s", of.Named("--"+of.Flag()))
	}
	return err
}
