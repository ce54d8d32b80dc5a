package convert

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/convert/quantize"
	"github.com/mlperf-go/mlperf/internal/harness"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/onnx"
	"github.com/mlperf-go/mlperf/internal/testenv"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

var (
	oneFile  = workload.Model{}
	attends  = workload.Model{Attends: true}
	twoFiles = workload.Model{Files: workload.Roles("encoder", "decoder")}
)

func TestQuantizeDefaults(t *testing.T) {
	for _, c := range []struct {
		name   string
		model  workload.Model
		given  QuantizeRequest
		want   QuantizeRequest // without the model's name
		method quantize.Method
	}{
		{"a network of convolutions", oneFile, QuantizeRequest{},
			QuantizeRequest{Precision: "int8", Method: "min-max", Activations: "u8", Rank: "score", Output: "m-int8.onnx"}, quantize.MinMax},
		{"one that attends has outliers, so ranges are those of each run", attends, QuantizeRequest{},
			QuantizeRequest{Precision: "int8", Method: "dynamic", Activations: "u8", Rank: "score", Output: "m-int8.onnx"}, quantize.AtRunTime},
		{"several files go into a folder", twoFiles, QuantizeRequest{},
			QuantizeRequest{Precision: "int8", Method: "dynamic", Activations: "u8", Rank: "score", Output: "m-int8"}, quantize.AtRunTime},
		{"several files that are recorded", workload.Model{Roles: []string{"a", "b"}, Recorded: 4}, QuantizeRequest{},
			QuantizeRequest{Precision: "int8", Method: "min-max", Activations: "u8", Rank: "score", Output: "m-int8"}, quantize.MinMax},
		{"half precision", oneFile, QuantizeRequest{Precision: "fp16"},
			QuantizeRequest{Precision: "fp16", Method: "min-max", Activations: "u8", Rank: "score", Output: "m-fp16.onnx"}, quantize.MinMax},
		{"what is given stays", attends, QuantizeRequest{Precision: "int8", Method: "min-max", Activations: "s8", Rank: "noise", Output: "x"},
			QuantizeRequest{Precision: "int8", Method: "min-max", Activations: "s8", Rank: "noise", Output: "x"}, quantize.MinMax},
	} {
		q := c.given
		q.Model = "m"
		r, err := q.request(c.model)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		got := [5]string{q.Precision, q.Method, q.Activations, q.Rank, q.Output}
		if want := [5]string{c.want.Precision, c.want.Method, c.want.Activations, c.want.Rank, c.want.Output}; got != want {
			t.Errorf("%s: %q, want %q", c.name, got, want)
		}
		if r.Method != c.method || r.Precision != q.Precision || string(r.Options.Activations) != q.Activations || r.RankByNoise != (q.Rank == "noise") {
			t.Errorf("%s: the conversion is %+v", c.name, r)
		}
	}
}

func TestQuantizeRefuses(t *testing.T) {
	t.Chdir(t.TempDir())
	testenv.Tree(t, ".", map[string]string{"list": "1\n"})
	for _, c := range []struct {
		name  string
		model workload.Model
		q     QuantizeRequest
		want  string // of the error; empty: none
	}{
		{"all is chosen", oneFile, QuantizeRequest{}, ""},
		{"no part of the accuracy", oneFile, QuantizeRequest{Target: 0}, ""},
		{"all of the accuracy", oneFile, QuantizeRequest{Target: 1}, ""},
		{"more than all", oneFile, QuantizeRequest{Target: math.Nextafter(1, 2)}, "target is 1.0000000000000002: must be a part of the FP32 accuracy, 0 to 1"},
		{"a negative part", oneFile, QuantizeRequest{Target: -0.1}, "target is -0.1: must be a part"},
		{"no number", oneFile, QuantizeRequest{Target: math.NaN()}, "target is NaN: must be a part"},
		{"a list", oneFile, QuantizeRequest{Calibration: "list"}, ""},
		{"a list that is a folder", oneFile, QuantizeRequest{Calibration: "."}, "calibration: "},
		{"a list and a number", oneFile, QuantizeRequest{Calibration: "list", Samples: 1}, "samples: excludes a calibration list"},
		{"less than no sample", oneFile, QuantizeRequest{Samples: -1}, "samples is -1: must be a positive number, or 0 for the default"},
		{"less than no sample to score", oneFile, QuantizeRequest{Count: -2}, "count is -2: must be a positive number, or 0 for the default"},
		{"less than no thread", oneFile, QuantizeRequest{Threads: -3}, "intra_threads is -3: must be a positive number, or 0 for the default"},
		{"another precision", oneFile, QuantizeRequest{Precision: "fp32"}, `precision is "fp32": must be int8, fp16 or int4`},
		{"bfloat16", oneFile, QuantizeRequest{Precision: "BF16"}, "precision: BF16: ONNX Runtime's CPU has no kernels"},
		{"int4", oneFile, QuantizeRequest{Precision: "int4", Activations: "u8"}, ""},
		{"int4 with a target", oneFile, QuantizeRequest{Precision: "int4", Target: 0.99}, "target: int4 has 4-bit weights"},
		{"int4 with samples", twoFiles, QuantizeRequest{Precision: "int4", Samples: 2}, "samples: int4 has 4-bit weights"},
		{"other activations", oneFile, QuantizeRequest{Activations: "int8"}, `activations is "int8": must be u8 or s8`},
		{"another rank", oneFile, QuantizeRequest{Rank: "Score"}, `rank is "Score": must be score or noise`},
		{"another method", oneFile, QuantizeRequest{Method: "max"}, `method is "max": must be min-max or dynamic`},
		{"an output in a folder that there is not", oneFile, QuantizeRequest{Output: "none/m.onnx"}, "output: the folder of none/m.onnx: stat none: no such file"},
		{"an output in a file", oneFile, QuantizeRequest{Output: "list/m.onnx"}, "output: the folder of list/m.onnx: list is not a folder"},
		{"an output beside others", oneFile, QuantizeRequest{Output: "./list.onnx"}, ""},
		{"several files at run time", twoFiles, QuantizeRequest{Method: "dynamic"}, ""},
		{"several files with ranges", twoFiles, QuantizeRequest{Method: "min-max"},
			"method: m has several files, which are quantised without calibration (dynamic) and without a target"},
		{"recorded files with ranges", workload.Model{Roles: []string{"a", "b"}, Recorded: 4}, QuantizeRequest{Method: "min-max"}, ""},
		{"recorded files with samples", workload.Model{Roles: []string{"a", "b"}, Recorded: 4}, QuantizeRequest{Samples: 4}, "samples: m has several files, which are calibrated by the first 4 samples"},
		{"several files with a list", twoFiles, QuantizeRequest{Calibration: "list"}, "calibration: m has several files"},
		{"several files with samples", twoFiles, QuantizeRequest{Samples: 4}, "samples: m has several files"},
		{"several files with a target", twoFiles, QuantizeRequest{Target: 0.99}, "target: m has several files"},
	} {
		c.q.Model = "m"
		_, err := c.q.request(c.model)
		if (err == nil) != (c.want == "") || err != nil && (!strings.HasPrefix(err.Error(), c.want) || !errors.As(err, new(*userinput.Error))) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
	for _, name := range []string{"", "alexnet"} {
		if _, err := Quantize(t.Context(), QuantizeRequest{Model: name}, harness.Silent{}); err == nil || !strings.HasPrefix(err.Error(), "model: ") {
			t.Errorf("the model %q: %v", name, err)
		}
	}
}

// A layer without a name is called by its output.
func TestExcludedLayersMustExist(t *testing.T) {
	t.Chdir(t.TempDir())
	m := &onnx.Model{IRVersion: 8, Opsets: []onnx.Opset{{Version: 17}}, Graph: &onnx.Graph{Name: "g"}}
	m.Graph.Nodes = []*onnx.Node{{Op: "Relu", Outputs: []string{"y"}}, {Op: "Softmax", Name: "named", Outputs: []string{"z"}}}
	testenv.Must(t, m.WriteFile(t.Context(), "m.onnx"))
	for _, c := range []struct {
		options quantize.Options
		want    string
	}{
		{quantize.Options{}, ""},
		{quantize.Options{Exclude: []string{"y", "named"}, ExcludeOps: []string{"Softmax"}}, ""},
		{quantize.Options{Exclude: []string{"y", "z"}}, `exclude … "z"`},
		{quantize.Options{Exclude: []string{""}}, `exclude … ""`},
		{quantize.Options{ExcludeOps: []string{"softmax"}}, `exclude_op … "softmax"`},
	} {
		err := (&QuantizeRequest{Quantize: c.options}).checkLayers(Converter{Source: "m.onnx"})
		if !testenv.Names(err, c.want) {
			t.Errorf("%+v: %v, want %q", c.options, err, c.want)
		}
	}
	q := &QuantizeRequest{Quantize: quantize.Options{Exclude: []string{"x"}}}
	if err := q.checkLayers(Converter{Source: "gone.onnx"}); err == nil || !strings.Contains(err.Error(), "gone.onnx") {
		t.Errorf("a missing model: %v", err)
	}
}
