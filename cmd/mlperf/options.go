package main

import (
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/models"
)

// optionFile is the YAML file with flags. MLPERF_CONFIG names another.
const optionFile = "mlperf.yaml"

// mergeOptions sets the flags that the command line does not have from the environment
// and from mlperf.yaml.
func mergeOptions(cmd *cobra.Command) (*config.Merged, error) {
	var options []config.Option
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Name != "help" {
			options = append(options, config.Option{Name: f.Name, Changed: f.Changed, Set: f.Value.Set})
		}
	})
	file := config.OptionFile{Path: optionFile, Known: allFlags(cmd.Root())}
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

// bindingFlags say how a model file is fed and read, where that is not inferred.
type bindingFlags struct {
	layout, pipeline, output, labelOffset string
}

func (b *bindingFlags) define(f *pflag.FlagSet) {
	f.StringVar(&b.layout, "layout", "", "order of the model's image axes, NCHW or NHWC (default: inferred)")
	f.StringVar(&b.pipeline, "preprocess", "", "name of the pre-processing (default: the model's own)")
	f.StringVar(&b.output, "model-output", "", "name of the model's output to read (default: inferred)")
	f.StringVar(&b.labelOffset, "label-offset", "", "what to add to the model's class to get the label (default: inferred)")
}

func (b *bindingFlags) binding() (models.Binding, error) {
	binding := models.Binding{Layout: strings.ToUpper(b.layout), Pipeline: b.pipeline, Output: b.output}
	if b.labelOffset != "" {
		offset, err := strconv.Atoi(b.labelOffset)
		if err != nil {
			return binding, usage("--label-offset is %q, want a whole number", b.labelOffset)
		}
		binding.LabelOffset = &offset
	}
	return binding, nil
}
