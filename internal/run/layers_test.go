package run

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/builtin/arch"
	"github.com/mlperf-go/mlperf/internal/convert"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/onnx"
	"github.com/mlperf-go/mlperf/internal/quantize"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

func TestLayersThatAreLeftOutHaveToBeThere(t *testing.T) {
	t.Chdir(t.TempDir())
	b := arch.NewBuilder("small", 1)
	x := b.Input("image", onnx.Float32, onnx.Batched(3, 4, 4))
	b.Output(b.Softmax("probabilities", b.Dense("scores", b.Flatten("features", x), arch.Dense{Units: 3}), 1))
	model, _, err := b.Model()
	if err == nil {
		err = model.WriteFile(t.Context(), "small.onnx")
	}
	if err != nil {
		t.Fatal(err)
	}
	names, ops, err := layersOf([]workload.File{{Role: workload.Only, Path: "small.onnx"}})
	if err != nil || !ops["Softmax"] || len(names) < 3 {
		t.Fatalf("layers %v, operators %v, %v", names, ops, err)
	}
	var layer string
	for name := range names {
		layer = name
	}
	c := convert.Converter{Source: "small.onnx"}
	for _, test := range []struct {
		options quantize.Options
		want    string
	}{
		{quantize.Options{}, ""},
		{quantize.Options{Exclude: []string{layer}, ExcludeOps: []string{"Softmax"}}, ""},
		{quantize.Options{Exclude: []string{layer, "conv1"}}, `exclude: the model has no layer "conv1"`},
		{quantize.Options{Exclude: []string{""}}, `exclude: the model has no layer ""`},
		{quantize.Options{ExcludeOps: []string{"softmax"}}, `exclude_op: the model has no operator "softmax"`},
	} {
		q := &QuantizeRequest{Quantize: test.options}
		err := q.knownLayers(c)
		var of *userinput.Error
		if (err == nil) != (test.want == "") || err != nil && (err.Error() != test.want || !errors.As(err, &of)) {
			t.Errorf("%+v: %v, want %q", test.options, err, test.want)
		}
	}
	q := &QuantizeRequest{Quantize: quantize.Options{Exclude: []string{"x"}}}
	if err := q.knownLayers(convert.Converter{Source: "gone.onnx"}); err == nil || !strings.Contains(err.Error(), "gone.onnx") {
		t.Errorf("a model that is not there: %v", err)
	}
}

func TestALayerWithoutANameIsCalledByItsOutput(t *testing.T) {
	t.Chdir(t.TempDir())
	m := &onnx.Model{IRVersion: 8, Opsets: []onnx.Opset{{Version: 17}}, Graph: &onnx.Graph{Name: "g"}}
	m.Graph.Nodes = []*onnx.Node{{Op: "Relu", Outputs: []string{"y"}}, {Op: "Relu", Name: "named", Outputs: []string{"z"}}}
	if err := m.WriteFile(t.Context(), "m.onnx"); err != nil {
		t.Fatal(err)
	}
	names, _, err := layersOf([]workload.File{{Path: "m.onnx"}})
	if err != nil || !names["y"] || !names["named"] || names["z"] {
		t.Errorf("layers %v, %v, want y and named", names, err)
	}
}

func TestCalibrationIsTheFirstSamplesOrAList(t *testing.T) {
	t.Chdir(t.TempDir())
	q := &QuantizeRequest{Samples: 3}
	if got, err := q.indices(convert.Converter{}); err != nil || len(got) != 3 || got[2] != 2 {
		t.Errorf("the first three samples are %v, %v", got, err)
	}
	q.Calibration = "gone.txt"
	if _, err := q.indices(convert.Converter{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a list that is not there: %v", err)
	}
}

func TestChoicesAreListedInWords(t *testing.T) {
	for want, choices := range map[string][]string{"": nil, "a": {"a"}, "a or b": {"a", "b"}, "a, b or c": {"a", "b", "c"}} {
		if got := inWords(choices); got != want {
			t.Errorf("inWords(%q) = %q, want %q", choices, got, want)
		}
	}
}

func TestTheFirstGivenFieldIsNamed(t *testing.T) {
	if got := firstGiven([]given{{"a", false}, {"b", true}, {"c", true}}); got != "b" {
		t.Errorf("firstGiven = %q, want b", got)
	}
	if got := firstGiven([]given{{"a", false}}); got != "" {
		t.Errorf("firstGiven = %q, want none", got)
	}
}
