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

// bindingFlags say how a model file is fed and read, where that is not inferred.
type bindingFlags struct {
	layout, pipeline, output, labelOffset string
	boxOrder, boxPixels, labelMap         string
	preprocessed                          string
	dropEmpty                             bool
}

func (b *bindingFlags) define(f *pflag.FlagSet) {
	f.StringVar(&b.layout, "layout", "", "order of the model's image axes, NCHW or NHWC (default: inferred)")
	f.StringVar(&b.pipeline, "preprocess", "", "name of the pre-processing (default: the model's own)")
	f.StringVar(&b.output, "model-output", "", "name of the model's output to read; of a detector those of boxes, scores, labels and perhaps their number, separated by commas (default: inferred)")
	f.StringVar(&b.labelOffset, "label-offset", "", "what to add to the model's class to get the label (default: inferred)")
	f.StringVar(&b.boxOrder, "box-order", "", "of a detector's boxes, one of "+strings.Join(models.BoxOrders(), ", ")+" (default: inferred)")
	f.StringVar(&b.boxPixels, "box-pixels", "", "size of the image in whose pixels a detector's boxes are; 0: they are parts of the image (default: the model's own)")
	f.StringVar(&b.labelMap, "label-map", "", "label of each class of a detector: a file with a class and its label per line, coco80to91, coco91to80 or none (default none)")
	f.StringVar(&b.preprocessed, "preprocessed-dir", "", "folder with images that are pre-processed already, NAME.npy for each, as the reference keeps them in preprocessed/<data set>/<layout>")
	f.BoolVar(&b.dropEmpty, "drop-empty-images", false, "leave out images in which nothing is annotated, as the reference does for the PyTorch SSD-ResNet34")
}

func (b *bindingFlags) binding() (models.Binding, error) {
	binding := models.Binding{
		Layout: strings.ToUpper(b.layout), Pipeline: b.pipeline, Output: b.output,
		BoxOrder: strings.ToLower(b.boxOrder), LabelMap: b.labelMap, DropEmpty: b.dropEmpty, Preprocessed: b.preprocessed,
	}
	for _, n := range []struct {
		flag, value string
		to          **int
	}{{"label-offset", b.labelOffset, &binding.LabelOffset}, {"box-pixels", b.boxPixels, &binding.BoxPixels}} {
		if n.value == "" {
			continue
		}
		v, err := strconv.Atoi(n.value)
		if err != nil {
			return binding, usage("--%s is %q, want a whole number", n.flag, n.value)
		}
		*n.to = &v
	}
	return binding, nil
}
