package assemble

import (
	"cmp"
	"context"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/mlperf-go/mlperf/internal/config/limitation"
	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/models"
	"github.com/mlperf-go/mlperf/internal/submission/checker"
)

var (
	// inputType is how a run says the type of the model's input.
	inputType = regexp.MustCompile(`(?:\bgo in as|^input:) ((?:u?int|b?float)\d+)`)
	// originLine is how package convert says, in the description of a model, which weights it is made from.
	originLine = regexp.MustCompile(`(?m)^Starting weights: ("[^\n]+"), SHA-256 [0-9a-f]{64}; made into (\w+)\.$`)
)

// measurements returns the fields of measurements.json, as far as the run has them.
func (r *result) measurements(division string) map[string]string {
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
	servers := slices.ContainsFunc(run.Limitations, func(l limitation.Limitation) bool { return l.ID == limitation.ServersModel })
	if m, err := models.LookupAny(run.Model); err == nil && servers && division != "open" && !strings.Contains(m.Source, " ") {
		values["starting_weights_filename"] = m.Source // which closed asks for; with a remark it may be that of an export
	}
	for _, line := range slices.Backward(run.Input.Binding) { // the first line counts
		if m := inputType.FindStringSubmatch(line); m != nil {
			values["input_data_types"] = cmp.Or(map[string]string{"float32": "fp32", "float16": "fp16"}[m[1]], m[1])
		}
	}
	precision, weights := run.Input.Precision, ""
	if precision == "fp32" {
		weights = filepath.Base(run.Input.ModelPath)
	} else if m := originLine.FindStringSubmatch(modelText(run.Input.ModelPath)); m != nil {
		precision = cmp.Or(precision, m[2])
		weights, _ = strconv.Unquote(m[1])
	}
	if weights != "" {
		values["starting_weights_filename"] = weights
	}
	switch values["weight_data_types"] = cmp.Or(precision, values["weight_data_types"]); precision {
	case "":
	case "fp32":
		values["weight_transformations"] = "none"
	case "fp16", "bf16":
		values["weight_transformations"] = "converted from fp32 to " + precision
	default:
		values["weight_transformations"] = "quantised after training to " + precision + "; calibration.md says how"
	}
	return values
}

// modelText is the description that `mlperf quantize` wrote beside a model.
func modelText(model string) string {
	text, _ := fileio.ReadFile(strings.TrimSuffix(model, filepath.Ext(model))+".md", largestText)
	return string(text)
}

// calibration writes how the numerics were chosen: the user's text, or what the runs know. The open division need not say.
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

// numerics describes the numbers that a model computes with.
func (r *result) numerics() string {
	unknown := checker.Placeholder("which numbers the model computes with, how they were chosen, and from which data") + "\n"
	run := r.performance.results
	if run == nil {
		return unknown
	}
	text := modelText(run.Input.ModelPath)
	switch precision := run.Input.Precision; {
	case precision == "fp32":
		return "Weights and activations are FP32, as the reference's. Nothing was calibrated.\n"
	case precision == "fp16", precision == "bf16":
		return "Weights and activations are " + strings.ToUpper(precision) + ", rounded to nearest from the reference's FP32 weights. Nothing was calibrated.\n"
	case text != "": // with its titles two levels lower
		return regexp.MustCompile(`(?m)^#`).ReplaceAllString(text, "###")
	case precision == "":
		return unknown
	default:
		return checker.Placeholder("how the model was quantised to "+precision+", and from which data") + "\n"
	}
}
