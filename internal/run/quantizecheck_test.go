package run

import (
	"math"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/convert"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/quantize"
)

var (
	oneFile  = workload.Model{}
	attends  = workload.Model{Attends: true}
	twoFiles = workload.Model{Files: workload.Roles("encoder", "decoder")}
)

func TestWhatNobodySaidOfAQuantisationIsChosen(t *testing.T) {
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

func TestAQuantisationThatCannotBeNamesItsField(t *testing.T) {
	t.Chdir(t.TempDir())
	writeFile(t, "list", "1\n")
	for _, c := range []struct {
		name  string
		model workload.Model
		q     QuantizeRequest
		want  string // of the error; empty: none
	}{
		{"all is chosen", oneFile, QuantizeRequest{}, ""},
		{"no part of the accuracy", oneFile, QuantizeRequest{Target: 0}, ""},
		{"all of the accuracy", oneFile, QuantizeRequest{Target: 1}, ""},
		{"more than all", oneFile, QuantizeRequest{Target: math.Nextafter(1, 2)}, "target is 1.0000000000000002, want a part of the FP32 accuracy, 0 to 1"},
		{"a negative part", oneFile, QuantizeRequest{Target: -0.1}, "target is -0.1, want a part"},
		{"no number", oneFile, QuantizeRequest{Target: math.NaN()}, "target is NaN, want a part"},
		{"a list", oneFile, QuantizeRequest{Calibration: "list"}, ""},
		{"a list that is a folder", oneFile, QuantizeRequest{Calibration: "."}, "calibration: "},
		{"a list and a number", oneFile, QuantizeRequest{Calibration: "list", Samples: 1}, "samples: excludes a calibration list"},
		{"less than no sample", oneFile, QuantizeRequest{Samples: -1}, "samples is -1, want a positive number, or 0 for the default"},
		{"less than no sample to score", oneFile, QuantizeRequest{Count: -2}, "count is -2, want a positive number, or 0 for the default"},
		{"less than no thread", oneFile, QuantizeRequest{Threads: -3}, "intra_threads is -3, want a positive number, or 0 for the default"},
		{"another precision", oneFile, QuantizeRequest{Precision: "fp32"}, `precision is "fp32", want int8 or fp16`},
		{"other activations", oneFile, QuantizeRequest{Activations: "int8"}, `activations is "int8", want u8 or s8`},
		{"another rank", oneFile, QuantizeRequest{Rank: "Score"}, `rank is "Score", want score or noise`},
		{"another method", oneFile, QuantizeRequest{Method: "max"}, `method is "max", want min-max or dynamic`},
		{"an output in a folder that there is not", oneFile, QuantizeRequest{Output: "none/m.onnx"}, "output: the folder of none/m.onnx: stat none: no such file"},
		{"an output in a file", oneFile, QuantizeRequest{Output: "list/m.onnx"}, "output: the folder of list/m.onnx: list is no folder"},
		{"an output beside others", oneFile, QuantizeRequest{Output: "./list.onnx"}, ""},
		{"several files at run time", twoFiles, QuantizeRequest{Method: "dynamic"}, ""},
		{"several files with ranges", twoFiles, QuantizeRequest{Method: "min-max"},
			"method: m has several files, which are quantised without calibration (dynamic) and without a target"},
		{"several files with a list", twoFiles, QuantizeRequest{Calibration: "list"}, "calibration: m has several files"},
		{"several files with samples", twoFiles, QuantizeRequest{Samples: 4}, "samples: m has several files"},
		{"several files with a target", twoFiles, QuantizeRequest{Target: 0.99}, "target: m has several files"},
	} {
		c.q.Model = "m"
		_, err := c.q.request(c.model)
		if (err == nil) != (c.want == "") || err != nil && (!strings.HasPrefix(err.Error(), c.want) || fieldOf(err) == "") {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

func TestCalibrationWithFirstSamplesAsksForSoMany(t *testing.T) {
	for n := range 4 {
		q := &QuantizeRequest{Samples: n}
		got, err := q.indices(convert.Converter{})
		if err != nil || len(got) != n {
			t.Errorf("the first %d samples are %v, %v", n, got, err)
		}
		for i, index := range got {
			if index != i {
				t.Errorf("the first %d samples are %v", n, got)
			}
		}
	}
}

func TestRowsAreOfTablesOfBuiltInModels(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, c := range []struct {
		model, path string
		rows        int64
		want        string // empty: no error
	}{
		{"dlrm", "", 0, ""}, {"dlrm", "", 1000, ""}, {"dlrm", "", 1 << 40, ""},
		{"dlrm", "", 999, "rows is 999, want 1000 or more rows of each table"},
		{"dlrm", "", -1, "rows is -1, want 1000 or more rows of each table"},
		{"dlrm", "m.onnx", 1000, "rows: is of built-in models, the model is m.onnx"},
		{"resnet50", "", 1000, "rows: resnet50 has no tables of categories"},
		{"resnet50", "", 0, ""},
	} {
		_, err := Resolve(Request{Model: c.model, Scenario: "offline", Engine: Engine{Name: Simulated}, Rows: c.rows, ModelPath: c.path})
		if (err == nil) != (c.want == "") || err != nil && err.Error() != c.want {
			t.Errorf("%s with %d rows: %v, want %q", c.model, c.rows, err, c.want)
		}
	}
}
