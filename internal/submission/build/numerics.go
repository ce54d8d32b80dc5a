package build

import (
	"cmp"
	"context"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/submission/checker"
)

// measured are the fields of measurements.json, as far as the run says.
func (r *result) measured(division string) map[string]string {
	values := map[string]string{}
	for _, f := range checker.MeasurementFields() {
		values[f.Name] = checker.Placeholder(f.Hint)
	}
	if division != "open" {
		values["retraining"] = "no"
	}
	run := r.performance.results
	if run == nil {
		return values
	}
	if t := inputType(run.Input); t != "" {
		values["input_data_types"] = t
	}
	precision, weights := weightsOf(run.Input)
	if weights != "" {
		values["starting_weights_filename"] = weights
	}
	if precision != "" {
		values["weight_data_types"], values["weight_transformations"] = precision, transformation(precision)
	}
	return values
}

// transformation is how the reference's weights became those of a precision.
func transformation(precision string) string {
	switch precision {
	case "fp32":
		return "none"
	case "fp16":
		return "converted from fp32 to fp16"
	}
	return "quantised after training to " + precision + "; calibration.md says how"
}

// originLine is how package convert says, in the description of a model, what it is made of.
var originLine = regexp.MustCompile(`(?m)^Starting weights: ("[^\n]+"), SHA-256 [0-9a-f]{64}; made into (\w+)\.$`)

// weightsOf returns the precision of a run's weights, and the file that they were made from;
// empty: that is not known. What was converted has a description that says it.
func weightsOf(in report.Input) (precision, file string) {
	if in.Precision == "fp32" {
		return in.Precision, filepath.Base(in.ModelPath)
	}
	m := originLine.FindStringSubmatch(convertedText(in.ModelPath))
	if m == nil {
		return in.Precision, ""
	}
	file, err := strconv.Unquote(m[1])
	if err != nil {
		return in.Precision, ""
	}
	return cmp.Or(in.Precision, m[2]), file
}

var typeWord = regexp.MustCompile(`\bgo in as (\w+)`)

// inputType is the type of the model's input, from the words in which a run says it.
func inputType(in report.Input) string {
	for _, line := range in.Binding {
		if m := typeWord.FindStringSubmatch(line); m != nil {
			if short := map[string]string{"float32": "fp32", "float16": "fp16"}[m[1]]; short != "" {
				return short
			}
			return m[1]
		}
	}
	return ""
}

// calibration writes how numerics were chosen: the user's text, or what is known of each
// model. The open division need not say.
func (b *builder) calibration(ctx context.Context, results []*result) error {
	path := b.home() + "/documentation/calibration.md"
	switch {
	case b.Calibration != "":
		return b.copy(ctx, b.Calibration, path)
	case b.Division == "open" || b.keeps(path):
		return nil
	}
	parts := []string{"# Numerics and calibration\n"}
	for _, r := range results {
		if part := "## " + b.modelFolder(r) + "\n\n" + r.numerics(); !slices.Contains(parts, part) {
			parts = append(parts, part)
		}
	}
	return b.write(path, []byte(strings.Join(parts, "\n")))
}

// numerics describes the numbers that a model computes with. What quantised it has left a
// description beside it.
func (r *result) numerics() string {
	unknown := checker.Placeholder("which numbers the model computes with, how they were chosen, and from which data") + "\n"
	run := r.performance.results
	if run == nil {
		return unknown
	}
	switch run.Input.Precision {
	case "fp32":
		return "Weights and activations are FP32, as the reference's. Nothing was calibrated.\n"
	case "fp16":
		return "Weights and activations are FP16, rounded to nearest from the reference's FP32 weights. Nothing was calibrated.\n"
	}
	if text := quantised(run.Input.ModelPath); text != "" {
		return text
	}
	if run.Input.Precision == "" {
		return unknown
	}
	return checker.Placeholder("how the model was quantised to "+run.Input.Precision+", and from which data") + "\n"
}

// quantised is the description of a model that was converted, its titles two levels lower.
func quantised(model string) string {
	return regexp.MustCompile(`(?m)^#`).ReplaceAllString(convertedText(model), "###")
}

// convertedText is what `mlperf quantize` wrote beside a model.
func convertedText(model string) string {
	text, err := fileio.ReadFile(strings.TrimSuffix(model, filepath.Ext(model))+".md", largestText)
	if err != nil {
		return ""
	}
	return string(text)
}
