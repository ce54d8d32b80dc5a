package build

import (
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/convert"
	"github.com/mlperf-go/mlperf/internal/loadgen/mlperflog"
	"github.com/mlperf-go/mlperf/internal/onnx"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/submission/checker"
)

// of is a result of a model in a precision.
func of(in report.Input) *result {
	return &result{benchmark: "resnet", scenario: "Offline", performance: &run{results: &report.Results{Input: in}}}
}

func TestMeasurementsSayWhatTheRunSays(t *testing.T) {
	const weights, types, changes = "FILL IN: of the weights that the model was made from", "FILL IN: e.g. fp32 or int8", "FILL IN: what was done to the weights: none, quantisation, sparsity, ..."
	for name, c := range map[string]struct {
		in   report.Input
		want map[string]string
	}{
		"fp32": {report.Input{Precision: "fp32", ModelPath: "/m/resnet50_v1.onnx", Binding: []string{"images go in as float32 NCHW 224×224"}}, map[string]string{
			"input_data_types": "fp32", "retraining": "no", "starting_weights_filename": "resnet50_v1.onnx", "weight_data_types": "fp32", "weight_transformations": "none",
		}},
		"fp16": {report.Input{Precision: "fp16", Binding: []string{"x", "images go in as float16"}}, map[string]string{
			"input_data_types": "fp16", "retraining": "no", "starting_weights_filename": weights, "weight_data_types": "fp16", "weight_transformations": "converted from fp32 to fp16",
		}},
		"int8": {report.Input{Precision: "int8", Binding: []string{"images go in as uint8 NHWC"}}, map[string]string{
			"input_data_types": "uint8", "retraining": "no", "starting_weights_filename": weights, "weight_data_types": "int8", "weight_transformations": "quantised after training to int8; calibration.md says how",
		}},
		"a file of the user's": {report.Input{ModelPath: "mine.onnx"}, map[string]string{
			"input_data_types": "FILL IN: of what goes into the model, e.g. fp32 or uint8", "retraining": "no", "starting_weights_filename": weights, "weight_data_types": types, "weight_transformations": changes,
		}},
	} {
		if diff := cmp.Diff(c.want, of(c.in).measured("closed")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if got := of(report.Input{}).measured("open")["retraining"]; !checker.HasPlaceholder(got) {
		t.Errorf("in the open division retraining is %q, want a placeholder", got)
	}
}

func TestNumericsAreDescribedByWhatMadeThem(t *testing.T) {
	model := filepath.Join(t.TempDir(), "resnet50-int8.onnx")
	write(t, strings.TrimSuffix(model, ".onnx")+".md", "# Quantisation of resnet50\n\n## Activations\n\n- Calibration: 500 samples\n")
	for name, c := range map[string]struct {
		in   report.Input
		want string
	}{
		"fp32":                             {report.Input{Precision: "fp32"}, "Weights and activations are FP32"},
		"fp16":                             {report.Input{Precision: "fp16"}, "FP16, rounded to nearest"},
		"int8 with its description":        {report.Input{Precision: "int8", ModelPath: model}, "### Quantisation of resnet50\n\n#### Activations\n\n- Calibration: 500 samples\n"},
		"int8 of somebody else":            {report.Input{Precision: "int8", ModelPath: "x.onnx"}, "FILL IN: how the model was quantised to int8"},
		"a file with a description":        {report.Input{ModelPath: model}, "### Quantisation of resnet50"},
		"a file of which nothing is known": {report.Input{ModelPath: "x.onnx"}, "FILL IN: which numbers the model computes with"},
	} {
		if got := of(c.in).numerics(); !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestUserConfAsksForWhatTheRunHad(t *testing.T) {
	for scenario, c := range map[string]struct{ key, value, want string }{
		"SingleStream": {"requested_single_stream_expected_latency_ns", "1.5e+06", "*.SingleStream.target_latency = 1.5\n"},
		"MultiStream":  {"requested_multi_stream_expected_latency_ns", "8e+06", "*.MultiStream.target_latency = 8\n"},
		"Server":       {"requested_server_target_qps", "120.5", "*.Server.target_qps = 120.5\n"},
		"Offline":      {"requested_offline_expected_qps", "1000", "*.Offline.target_qps = 1000\n"},
	} {
		dir := t.TempDir()
		write(t, filepath.Join(dir, mlperflog.DetailFile), detailLine("effective_scenario", `"`+scenario+`"`)+detailLine(c.key, c.value))
		log, err := mlperflog.ReadDetail(filepath.Join(dir, mlperflog.DetailFile))
		ok(t, err)
		r := &result{performance: &run{folder: dir, log: log}}
		if text, err := r.userConf(); err != nil || !strings.HasSuffix(string(text), c.want) {
			t.Errorf("%s: %q, %v, want %q", scenario, text, err, c.want)
		}
		write(t, filepath.Join(dir, "user.conf"), "mine")
		if text, err := r.userConf(); err != nil || string(text) != "mine" {
			t.Errorf("with a user.conf of the run: %q, %v", text, err)
		}
	}
}

// The words are those of package convert, which writes such a line beside each model.
func TestConvertedModelsSayWhatTheyWereMadeFrom(t *testing.T) {
	model := filepath.Join(t.TempDir(), "m.onnx")
	c := convert.Converter{Source: filepath.Join(t.TempDir(), "resnet50 v1.onnx")}
	write(t, c.Source, "weights")
	ok(t, c.Write(t.Context(), model, "int8", &onnx.Model{Graph: &onnx.Graph{}}, words("# Quantisation\n")))
	for name, c := range map[string]struct {
		in                          report.Input
		weights, types, transformed string
	}{
		"converted by the run":        {report.Input{Precision: "int8", ModelPath: model}, "resnet50 v1.onnx", "int8", "quantised after training to int8; calibration.md says how"},
		"converted before":            {report.Input{ModelPath: model}, "resnet50 v1.onnx", "int8", "quantised after training to int8; calibration.md says how"},
		"not converted by us, or not": {report.Input{ModelPath: "m.onnx"}, "FILL IN", "FILL IN", "FILL IN"},
	} {
		got := of(c.in).measured("closed")
		for field, want := range map[string]string{"starting_weights_filename": c.weights, "weight_data_types": c.types, "weight_transformations": c.transformed} {
			if !strings.HasPrefix(got[field], want) {
				t.Errorf("%s: %s is %q, want %q", name, field, got[field], want)
			}
		}
	}
	if text := of(report.Input{ModelPath: model}).numerics(); !strings.Contains(text, "### Quantisation\n\n#### Origin\n\nStarting weights: \"resnet50 v1.onnx\", SHA-256 ") {
		t.Errorf("the description is %q", text)
	}
}

// words is the description of a conversion.
type words string

func (w words) WriteMarkdown(to io.Writer) error {
	_, err := io.WriteString(to, string(w))
	return err
}
