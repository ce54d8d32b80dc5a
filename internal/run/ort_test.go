//go:build ort

package run_test

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/backend/ort"
	"github.com/mlperf-go/mlperf/internal/backend/ort/orttest/fakedevices"
	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/config/limitation"
	"github.com/mlperf-go/mlperf/internal/harness"
	"github.com/mlperf-go/mlperf/internal/onnx"
	"github.com/mlperf-go/mlperf/internal/run"
	"github.com/mlperf-go/mlperf/internal/run/engine"
	"github.com/mlperf-go/mlperf/internal/run/runtest"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// ortRequest is a request with the library that MLPERF_ORT_LIB names.
func ortRequest(t *testing.T) run.Request {
	t.Helper()
	library := os.Getenv("MLPERF_ORT_LIB")
	if library == "" {
		t.Fatal("MLPERF_ORT_LIB is not set")
	}
	q := runtest.Request(t)
	q.Engine = engine.Config{Library: library}
	return q
}

func TestORTConvertedModel(t *testing.T) {
	q := ortRequest(t)
	q.Precision, q.NoReport = "int8", true
	var paths []string
	for _, output := range []string{"first", "second"} {
		q.Output = output
		r, err := run.Resolve(q)
		testenv.Must(t, err)
		p, err := r.Provide(t.Context(), harness.Silent{})
		testenv.Must(t, err)
		results, err := p.Run(t.Context())
		testenv.Must(t, err)
		if in := results.Input; in.Precision != "int8" || results.Performance.Samples < 5 {
			t.Errorf("%s: precision %q, %d samples, want int8 and 5 or more", output, in.Precision, results.Performance.Samples)
		}
		if !results.Limitations.Has(limitation.UnknownModel) {
			t.Errorf("%s: limitations %v, want the unknown model", output, results.Limitations)
		}
		paths = append(paths, p.ModelPath())
		probe, err := p.Open(t.Context(), run.Way{Instances: 1, Threads: 1, Samples: 2})
		testenv.Must(t, err)
		testenv.Must(t, errors.Join(probe.Close(), p.Close()))
	}
	if paths[0] != paths[1] || paths[0] == q.ModelPath {
		t.Errorf("the models are %q, want one that was converted", paths)
	}
	text, err := os.ReadFile(strings.TrimSuffix(paths[0], ".onnx") + ".md")
	if err != nil || !strings.Contains(string(text), `Starting weights: "tiny.onnx", SHA-256 `) {
		t.Errorf("the description is %.80q, %v", text, err)
	}
}

// The one worker of a device takes what waits in batches, where a processor has a worker for each core.
func TestORTWorkersOfADevice(t *testing.T) {
	q := ortRequest(t)
	library, err := filepath.Abs(q.Engine.Library)
	testenv.Must(t, err)
	fakedevices.With(t, library, func(t *testing.T) {
		q.Engine.Library, q.Scenario, q.NoReport = fakedevices.Library(), "server", true
		q.Settings = append(q.Settings, config.Override{Key: "target_qps", Value: "500", Origin: "flag --target-qps"})
		for device, want := range map[string][2]int{"cuda": {1, 16}, "cpu": {runtime.GOMAXPROCS(0), 1}} {
			q.Backend.Device, q.Output = device, device
			results, err := run.Do(t.Context(), q, harness.Silent{})
			testenv.Must(t, err)
			if b := results.Backend; b.Instances != want[0] || b.MaxBatch != want[1] || b.Devices[device] == 0 {
				t.Errorf("%s: %d workers with batches of %d on %v, want %d and %d", device, b.Instances, b.MaxBatch, b.Devices, want[0], want[1])
			}
		}
	}, "FAKE_PROVIDER=CUDAExecutionProvider")
}

// The score of a part of the built-in data is compared with nothing: its reference, a run over the whole, is
// not measured for it.
func TestORTReferenceOfAllData(t *testing.T) {
	base := ortRequest(t)
	const measuring = "measuring the reference accuracy of dlrm: traffic"
	for count, measured := range map[int]bool{3: false, 0: true} {
		q := run.Request{
			Program: "test", Model: "dlrm", Scenario: "offline", Mode: "accuracy", Rows: 1000, Count: count,
			Engine: base.Engine, NoReport: true, Output: fmt.Sprint("of", count), NewPacer: base.NewPacer,
		}
		var o observer
		results, err := inFakeTime(t, q, &o)
		if err != nil || slices.Contains(o.phases, measuring) != measured {
			t.Fatalf("of %d samples: %v after %q, want the reference measured: %t", count, err, o.phases, measured)
		}
		if a := results.Accuracy; (a.NoTarget == "") != measured || (count > 0 && len(a.Warnings) > 0) {
			t.Errorf("of %d samples: %+v", count, a)
		}
	}
}

// Model files of any task run by themselves, and say why they do not.
func TestORTOwnModels(t *testing.T) {
	base := ortRequest(t)
	base.Model, base.DatasetPath, base.NoReport, base.Quick = "", "", true, true
	value := func(name string, elem onnx.ElemType, dims ...onnx.Dim) *onnx.Value {
		return &onnx.Value{Name: name, Type: onnx.Type{Elem: elem, Shape: append(onnx.Shape{}, dims...)}}
	}
	node := func(op, in, out string, attributes ...onnx.Attribute) *onnx.Node {
		return &onnx.Node{Op: op, Inputs: strings.Split(in, " "), Outputs: strings.Split(out, " "), Attributes: attributes}
	}
	n, seq := onnx.Free("N"), onnx.Free("seq")
	weights := func(name string, dims ...int64) *onnx.Tensor {
		size := int64(1)
		for _, d := range dims {
			size *= d
		}
		return onnx.TensorOf(name, make([]float32, size), dims...)
	}
	for _, test := range []struct {
		name     string
		graph    onnx.Graph
		opset    int64
		options  map[string]string
		scenario string
		row      string // in the notes
		err      string
	}{
		{name: "table", row: "x float32[4]", graph: onnx.Graph{Nodes: []*onnx.Node{node("MatMul", "x w", "y")}, Initializers: []*onnx.Tensor{weights("w", 4, 3)},
			Inputs: []*onnx.Value{value("x", onnx.Float32, n, onnx.Fixed(4))}, Outputs: []*onnx.Value{value("y", onnx.Float32, n, onnx.Fixed(3))}}},
		{name: "embedding", row: "ids below 7", scenario: "server", graph: onnx.Graph{Nodes: []*onnx.Node{node("Gather", "table ids", "y")}, Initializers: []*onnx.Tensor{weights("table", 7, 4)},
			Inputs: []*onnx.Value{value("ids", onnx.Int64, n, seq)}, Outputs: []*onnx.Value{value("y", onnx.Float32, n, seq, onnx.Fixed(4))}}},
		{name: "a sum over all axes", row: "x float32[1 3 8 8]", graph: onnx.Graph{Nodes: []*onnx.Node{node("ReduceSum", "x", "y", onnx.Attr("keepdims", int64(0)))},
			Inputs: []*onnx.Value{value("x", onnx.Float32, n, onnx.Fixed(3), onnx.Fixed(8), onnx.Fixed(8))}, Outputs: []*onnx.Value{value("y", onnx.Float32)}}},
		{name: "boxes, as many as there are", row: "x float32[6]", graph: onnx.Graph{Nodes: []*onnx.Node{node("NonZero", "x", "y")},
			Inputs: []*onnx.Value{value("x", onnx.Float32, onnx.Fixed(1), onnx.Fixed(6))}, Outputs: []*onnx.Value{value("y", onnx.Int64, onnx.Fixed(2), onnx.Free("found"))}}},
		{name: "two inputs of other ranks", row: "t float32[]", scenario: "multistream", graph: onnx.Graph{Nodes: []*onnx.Node{node("Mul", "x t", "y")},
			Inputs: []*onnx.Value{value("x", onnx.Float32, n, onnx.Fixed(6)), value("t", onnx.Float32)}, Outputs: []*onnx.Value{value("y", onnx.Float32, n, onnx.Fixed(6))}}},
		{name: "a sequence beside a tensor", row: "x float32[6]", graph: onnx.Graph{Nodes: []*onnx.Node{node("SplitToSequence", "x", "list", onnx.Attr("axis", int64(1))), node("Identity", "x", "y")},
			Inputs: []*onnx.Value{value("x", onnx.Float32, n, onnx.Fixed(6))}, Outputs: []*onnx.Value{{Name: "list", Type: onnx.Type{Extra: "\x22\x06\x0a\x04\x0a\x02\x08\x01"}}, value("y", onnx.Float32, n, onnx.Fixed(6))}}},
		{name: "bytes and a new operator set", opset: 22, row: "x uint8[2 2]", scenario: "singlestream", graph: onnx.Graph{Nodes: []*onnx.Node{node("Identity", "x", "y")},
			Inputs: []*onnx.Value{value("x", onnx.Uint8, n, onnx.Fixed(2), onnx.Fixed(2))}, Outputs: []*onnx.Value{value("y", onnx.Uint8, n, onnx.Fixed(2), onnx.Fixed(2))}}},
		{name: "one sample at a time, which the file does not say", err: "--max-batchsize 1", graph: onnx.Graph{Nodes: []*onnx.Node{node("Reshape", "x shape", "y")}, Initializers: []*onnx.Tensor{onnx.TensorOf("shape", []int64{1, 6}, 2)},
			Inputs: []*onnx.Value{value("x", onnx.Float32, n, onnx.Fixed(6))}, Outputs: []*onnx.Value{value("y", onnx.Float32, n, onnx.Fixed(6))}}},
		{name: "an index beyond the table", options: map[string]string{"input": "i=uniform"}, err: "--input and --shape", graph: onnx.Graph{Nodes: []*onnx.Node{node("Add", "i i", "k"), node("Mul", "k k", "j"), node("Gather", "table j", "y")},
			Initializers: []*onnx.Tensor{weights("table", 2, 4)}, Inputs: []*onnx.Value{value("i", onnx.Int64, n)}, Outputs: []*onnx.Value{value("y", onnx.Float32, n, onnx.Fixed(4))}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := onnx.Model{IRVersion: 8, Opsets: []onnx.Opset{{Version: cmp.Or(test.opset, 13)}}, Graph: &test.graph}
			m.Graph.Name = "g"
			testenv.Must(t, m.WriteFile(t.Context(), "own.onnx"))
			q := base
			q.ModelPath, q.Scenario, q.Output, q.Options, q.Force = "own.onnx", cmp.Or(test.scenario, "offline"), "own", test.options, true
			results, err := run.Do(t.Context(), q, harness.Silent{})
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) {
					t.Fatalf("error %v, want %q", err, test.err)
				}
				return
			}
			testenv.Must(t, err)
			if notes := strings.Join(results.Input.Binding, "\n"); !strings.Contains(notes, test.row) || !results.Limitations.Has(limitation.OwnModel) || results.Performance.Samples == 0 {
				t.Errorf("notes %q, want %q; limitations %v", notes, test.row, results.Limitations)
			}
		})
	}
}

// A device that is not there is named before models and data are made.
func TestORTRefusesDevicesBeforeWork(t *testing.T) {
	q := ortRequest(t)
	for _, device := range []string{"cuda", "tensorrt", "coreml"} {
		cache := t.TempDir()
		t.Setenv("MLPERF_CACHE_DIR", cache)
		q.ModelPath, q.DatasetPath, q.Backend.Device = "", "", device
		r, err := run.Resolve(q)
		testenv.Must(t, err)
		if _, err := r.Provide(t.Context(), harness.Silent{}); err == nil || !strings.Contains(err.Error(), "device "+device+": ") {
			t.Errorf("%s: error %v", device, err)
		}
		if made, _ := filepath.Glob(filepath.Join(cache, "*", "*")); len(made) > 0 {
			t.Errorf("%s: %q were made before", device, made)
		}
	}
}

// What was measured of a machine is in later runs on it.
func TestORTCeiling(t *testing.T) {
	t.Setenv("MLPERF_DATA_DIR", t.TempDir())
	q := ortRequest(t)
	q.NoReport = true
	e, err := ort.Open(q.Engine.Library, "", nil)
	testenv.Must(t, err)
	c, err := run.MeasureCeiling(t.Context(), e, "")
	testenv.Must(t, errors.Join(err, e.Close()))
	if !(c.GFLOPS > 0.1) || !(c.GBytesPerSecond > 0.01) || c.Precision != "fp32" {
		t.Errorf("the ceiling is %+v", c)
	}
	r, err := run.Resolve(q)
	testenv.Must(t, err)
	p, err := r.Provide(t.Context(), harness.Silent{})
	testenv.Must(t, err)
	results, err := p.Run(t.Context())
	testenv.Must(t, errors.Join(err, p.Close()))
	if o := results.Operations; o == nil || o.Parameters == 0 || o.MACs == 0 || !(o.GFLOPS > 0) || o.Ceiling == nil || *o.Ceiling != *c {
		t.Errorf("the operations are %+v", o)
	}
}
