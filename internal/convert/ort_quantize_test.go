//go:build ort

package convert_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/convert"
	"github.com/mlperf-go/mlperf/internal/convert/quantize"
	"github.com/mlperf-go/mlperf/internal/harness"
	"github.com/mlperf-go/mlperf/internal/run/runtest"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

func TestORTQuantize(t *testing.T) {
	from := runtest.Request(t)
	if err := os.WriteFile("list.txt", []byte("0\n2\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	good := convert.QuantizeRequest{Program: "test", Model: "resnet50", ModelPath: from.ModelPath, DatasetPath: from.DatasetPath, Samples: 2}
	for _, c := range []struct {
		name, field string // field: that the error is about; empty: none
		change      func(*convert.QuantizeRequest)
	}{
		{"int8", "", func(*convert.QuantizeRequest) {}},
		{"fp16", "", func(q *convert.QuantizeRequest) { q.Precision = "fp16" }},
		{"a calibration list", "", func(q *convert.QuantizeRequest) { q.Samples, q.Calibration = 0, "list.txt" }},
		{"a layer that stays", "", func(q *convert.QuantizeRequest) { q.Quantize.ExcludeOps = []string{"Softmax"} }},
		{"a layer that is not there", "exclude", func(q *convert.QuantizeRequest) { q.Quantize.Exclude = []string{"nolayer"} }},
		{"a list that is not there", "calibration", func(q *convert.QuantizeRequest) { q.Samples, q.Calibration = 0, "nolist" }},
		{"an option of another model", "box-order", func(q *convert.QuantizeRequest) { q.Options = map[string]string{"box-order": "yxyx"} }},
		{"a model that is not there", "model", func(q *convert.QuantizeRequest) { q.Model = "alexnet" }},
	} {
		t.Run(c.name, func(t *testing.T) {
			q := good
			q.Quantize, q.Output = quantize.Options{}, c.name+".onnx"
			c.change(&q)
			made, err := convert.Quantize(t.Context(), q, harness.Silent{})
			var of *userinput.Error
			if c.field != "" {
				if !errors.As(err, &of) || of.Field != c.field {
					t.Errorf("got %v, want an error about %s", err, c.field)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, path := range []string{made.Model, made.Description} {
				if info, err := os.Stat(path); err != nil || info.Size() == 0 {
					t.Errorf("%s: %v", path, err)
				}
			}
			if (made.Report == nil) != (c.name == "fp16") {
				t.Errorf("a report of integers: %v", made.Report)
			}
		})
	}
	scores, err := convert.Sensitivity(t.Context(), good, harness.Silent{})
	if err != nil || len(scores) != 1 || scores[0].Layer != "scores" {
		t.Errorf("sensitivities %v, %v, want that of the only layer", scores, err)
	}
}

// The files of a model need not be what it takes: they are converted one by one.
func TestORTQuantizeSeveralFiles(t *testing.T) {
	from := runtest.Request(t)
	if err := os.Mkdir("two", 0o755); err != nil {
		t.Fatal(err)
	}
	runtest.WriteModel(t, "two/encoder.onnx", 1)
	runtest.WriteModel(t, "two/decoder.onnx", 2)
	good := convert.QuantizeRequest{Program: "test", Model: "gnmt", ModelPath: "two", DatasetPath: from.DatasetPath}
	for precision, layers := range map[string]int{"int8": 2, "fp16": 0} {
		q := good
		q.Precision, q.Output = precision, precision
		made, err := convert.Quantize(t.Context(), q, harness.Silent{})
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{made.Description, "two/encoder.onnx", "two/decoder.onnx"} {
			path = strings.Replace(path, "two/", precision+"/", 1)
			if info, err := os.Stat(path); err != nil || info.Size() == 0 {
				t.Errorf("%s: %v", path, err)
			}
		}
		if (made.Report != nil) != (layers > 0) || made.Report != nil && (len(made.Report.Layers) != layers || made.Report.BytesAfter >= made.Report.BytesBefore) {
			t.Errorf("%s: the report is %+v, want %d layers", precision, made.Report, layers)
		}
		if _, err := convert.Quantize(t.Context(), q, harness.Silent{}); !errors.Is(err, os.ErrExist) {
			t.Errorf("%s: the second time: %v, want an error that the folder is there", precision, err)
		}
	}
	q := good
	q.Quantize.Exclude = []string{"scores"}
	if err := os.Remove("two/decoder.onnx"); err != nil {
		t.Fatal(err)
	}
	if _, err := convert.Quantize(t.Context(), q, harness.Silent{}); err == nil || !strings.Contains(err.Error(), "decoder") {
		t.Errorf("without a file: %v, want an error that names it", err)
	}
}

// Models that a batch of samples is not simply the input of. testdata: a graph network whose inputs have six rows, a scalar beside
// the input, an image without a batch axis, weights that are inputs with a default, and a local function.
func TestORTQuantizeOwnModels(t *testing.T) {
	for name, layers := range map[string]int{"gnn": 1, "scalar_in": 1, "nms_det_chw": 1, "init_inputs_ir8": 2, "function": 2} {
		for _, precision := range []string{"int8", "fp16"} {
			q := convert.QuantizeRequest{Program: "test", ModelPath: filepath.Join("testdata", name+".onnx"), Precision: precision, Output: filepath.Join(t.TempDir(), "q.onnx")}
			q.Quantize.SevenBitWeights = convert.SevenBitWeights()
			made, err := convert.Quantize(t.Context(), q, harness.Silent{})
			if err != nil {
				t.Errorf("%s, %s: %v", name, precision, err)
				continue
			}
			c := made.Conversion
			if precision == "int8" && c.Nodes != layers || c.Nodes == 0 {
				t.Errorf("%s, %s: %d of %d nodes, want %d", name, precision, c.Nodes, c.Of, layers)
			}
			if boxes := name == "nms_det_chw"; (c.Agreement == nil) != boxes || !boxes && (c.Agreement.Useless() || c.Agreement.Noise > 0.02) {
				t.Errorf("%s, %s: answers are compared: %v, %s", name, precision, c.Agreement, c.NotCompared)
			}
		}
	}
}
