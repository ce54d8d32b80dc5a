//go:build ort && cgo

package ort

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	onnx "github.com/yalue/onnxruntime_go"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

func TestORTInfoDescribesTheModelAndTheEngine(t *testing.T) {
	s := openModel(t, doubled("N"), backend.Options{})
	info := s.Info()
	if got := fmt.Sprint(info.Inputs, info.Outputs); got != "[{x float32 [? 4] false }] [{y float32 [? 4] false }]" {
		t.Errorf("ports are %v", got)
	}
	if !strings.HasPrefix(info.Engine, "onnxruntime 1.") || info.Library == "" || info.LoadTime <= 0 {
		t.Errorf("Engine %q, Library %q, LoadTime %v", info.Engine, info.Library, info.LoadTime)
	}
	if len(info.Devices) != 1 || info.Devices[0] != (backend.DeviceUse{Device: "cpu", Nodes: -1}) {
		t.Errorf("Devices = %v, want the processor with an unknown number of nodes", info.Devices)
	}
	if info.Facts["intra_threads"] != "1" || info.Facts["model_opset"] != "opset 17" {
		t.Errorf("Facts = %v", info.Facts)
	}
}

func TestORTOutputsAreComputedInTheOrderAsked(t *testing.T) {
	g := onnxGraph{
		nodes: []message{
			onnxNode("Neg", []string{"x"}, []string{"minus"}),
			onnxNode("Add", []string{"x", "x"}, []string{"twice"}),
		},
		inputs:  []message{onnxPort("x", tensor.Float32, 1)},
		outputs: []message{onnxPort("minus", tensor.Float32, 1), onnxPort("twice", tensor.Float32, 1)},
	}
	s := openModel(t, g, backend.Options{Outputs: []string{"twice", "minus"}})
	outputs := make([]backend.Value, 2)
	run(t, s, values(bind(t, s, tensor.Of([]float32{3}, 1))), outputs)
	if a, b := tensor.Data[float32](outputs[0].Tensor())[0], tensor.Data[float32](outputs[1].Tensor())[0]; a != 6 || b != -3 {
		t.Errorf("twice, minus of 3 = %v, %v", a, b)
	}
	one := openModel(t, g, backend.Options{Outputs: []string{"minus"}})
	outputs = make([]backend.Value, 1)
	run(t, one, values(bind(t, one, tensor.Of([]float32{3}, 1))), outputs)
	if info := one.Info(); len(info.Outputs) != 1 || info.Outputs[0].Name != "minus" {
		t.Errorf("outputs are %v, want minus alone", info.Outputs)
	}
}

func TestORTAShapeThatTheFileLeavesOutIsInferred(t *testing.T) {
	g := doubled("N")
	g.outputs = []message{onnxPortOfType("shapeless", 1, nil)}
	g.nodes[1] = onnxNode("Add", []string{"h", "x"}, []string{"shapeless"})
	s := openModel(t, g, backend.Options{})
	if got := s.Info().Outputs[0]; got.Shape.String() != "[? 4]" {
		t.Errorf("output is %v, want the shape [? 4]", got)
	}
}

func TestORTBadModelFilesAreRefused(t *testing.T) {
	engine := openEngine(t)
	dir := t.TempDir()
	file := func(name string, content []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, content, 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	unknownOperator := doubled("N")
	unknownOperator.nodes[1] = onnxNode("Frobnicate", []string{"h", "x"}, []string{"y"})
	newOpset := doubled("N")
	newOpset.opset = 99
	newFormat := doubled("N")
	newFormat.irVersion = 99
	dangling := doubled("N")
	dangling.nodes[1] = onnxNode("Add", []string{"nowhere", "x"}, []string{"y"})
	whole := doubled("N").encode()
	tests := []struct {
		name, path string
		outputs    []string
		want       []string
	}{
		{"no path", "", nil, []string{"no model file given"}},
		{"missing file", filepath.Join(dir, "none.onnx"), nil, []string{"none.onnx: no such file"}},
		{"a folder", dir, nil, []string{dir + ": is a folder, not a regular file"}},
		{"an empty file", file("empty.onnx", nil), nil, []string{"it is empty"}},
		{"text", file("text.onnx", []byte("hello, world")), nil, []string{"text.onnx: not an ONNX model"}},
		{"cut off", file("cut.onnx", whole[:len(whole)/2]), nil, []string{"cut.onnx: not an ONNX model"}},
		{"unknown operator", file("op.onnx", unknownOperator.encode()), nil, []string{"op.onnx: in node", "Frobnicate", "opset 17"}},
		{"newer opset", file("opset.onnx", newOpset.encode()), nil, []string{"opset 99 is newer than this ONNX Runtime knows", "(the model uses opset 99)"}},
		{"newer format", file("ir.onnx", newFormat.encode()), nil, []string{"IR version"}},
		{"dangling input", file("dangling.onnx", dangling.encode()), nil, []string{"nowhere"}},
		{"unknown output", file("fine.onnx", whole), []string{"z"}, []string{`no output "z"; it has y`}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := engine.Open(context.Background(), backend.Options{ModelPath: test.path, Outputs: test.outputs})
			if err == nil {
				t.Fatal("opened, want an error")
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q lacks %q", err, want)
				}
			}
			if strings.Contains(err.Error(), "\n") || strings.Contains(err.Error(), "onnxruntime_src") {
				t.Errorf("error %q is not one plain line", err)
			}
		})
	}
}

func TestORTADeviceThatTheLibraryLacksIsAnError(t *testing.T) {
	engine := openEngine(t)
	path := doubled("N").write(t)
	tests := []struct{ device, want string }{
		{"cuda", "device cuda: this ONNX Runtime has no CUDA support: libonnxruntime_providers_shared.so is not beside"},
		{"tensorrt", "device tensorrt: this ONNX Runtime has no TensorRT support: libonnxruntime_providers_shared.so"},
		{"openvino", "device openvino: this ONNX Runtime has no OpenVINO support"},
		{"xnnpack", "device xnnpack: this ONNX Runtime was built without XNNPACK"},
		{"coreml", "device coreml: this ONNX Runtime was built without Core ML"},
		{"directml", "device directml: this ONNX Runtime was built without DirectML"},
		{"qnn,cpu", "device qnn: this ONNX Runtime was built without QNN"},
		{"quantum", `unknown device "quantum"; devices are cpu, cuda, tensorrt`},
	}
	if olderThan(engine.Library().Version, "1.30") {
		tests = append(tests, struct{ device, want string }{"webgpu", "is too old for WebGPU"})
	}
	for _, test := range tests {
		t.Run(test.device, func(t *testing.T) {
			_, err := engine.Open(context.Background(), backend.Options{ModelPath: path, Device: test.device})
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want an error with %q", err, test.want)
			}
			var device *DeviceError
			if test.device != "quantum" && !errors.As(err, &device) {
				t.Errorf("the error is a %T, want a *DeviceError", err)
			}
		})
	}
}

func TestORTFallbackIsAWarning(t *testing.T) {
	s := openModel(t, doubled("N"), backend.Options{Device: "tensorrt,cuda", AllowFallback: true, CountDeviceNode: true})
	info := s.Info()
	if len(info.Devices) != 1 || info.Devices[0].Device != "cpu" || info.Devices[0].Nodes < 1 {
		t.Errorf("Devices = %v, want the processor with its nodes", info.Devices)
	}
	if len(info.Warnings) != 2 || !strings.Contains(info.Warnings[0], "device tensorrt") || !strings.Contains(info.Warnings[1], "device cuda") {
		t.Errorf("Warnings = %q, want one for each device", info.Warnings)
	}
	run(t, s, values(bind(t, s, tensor.New(tensor.Float32, 1, 4))), make([]backend.Value, 1))
}

func TestORTNodesAreCounted(t *testing.T) {
	s := openModel(t, doubled("N"), backend.Options{CountDeviceNode: true, OptimizeLevel: "none"})
	if got := s.Info().Devices; len(got) != 1 || got[0] != (backend.DeviceUse{Device: "cpu", Nodes: 2}) {
		t.Errorf("Devices = %v, want 2 nodes on the processor", got)
	}
	optimized := openModel(t, doubled("N"), backend.Options{CountDeviceNode: true})
	if got := optimized.Info().Devices; len(got) != 1 || got[0].Nodes != 1 {
		t.Errorf("Devices = %v, want 1 node, the other is optimised away", got)
	}
	scalar := openModel(t, identity(tensor.Float32), backend.Options{CountDeviceNode: true})
	if got := scalar.Info().Devices; len(got) != 1 || got[0].Nodes != 1 {
		t.Errorf("Devices = %v, want 1 node of the scalar model", got)
	}
}

func TestORTNodesOfAModelThatDoesNotRunOnZerosAreUnknown(t *testing.T) {
	failing := doubled("N")
	failing.nodes = []message{onnxNode("MatMul", []string{"x", "x"}, []string{"y"})}
	constant := onnxGraph{
		nodes:   []message{onnxNode("Identity", []string{"w"}, []string{"y"})},
		weights: []message{weight("w", []float32{7}, 1)},
		outputs: []message{onnxPort("y", tensor.Float32, 1)},
	}
	for want, g := range map[string]onnxGraph{"my_MatMul": failing, "the model has no inputs": constant} {
		s := openModel(t, g, backend.Options{CountDeviceNode: true})
		if got := s.Info(); len(got.Devices) != 1 || got.Devices[0].Nodes != -1 || len(got.Warnings) != 1 || !strings.Contains(got.Warnings[0], want) {
			t.Errorf("Devices = %v, Warnings = %q, want unknown nodes and a warning with %q", got.Devices, got.Warnings, want)
		}
	}
}

func TestORTSessionSettingsReachTheLibrary(t *testing.T) {
	s := openModel(t, doubled("N"), backend.Options{
		IntraThreads: 2, InterThreads: 2, Parallel: true, NoSpinning: true, NoArena: true, NoMemoryPattern: true,
		OptimizeLevel: "basic", Affinity: "1", Config: map[string]string{"session.set_denormal_as_zero": "1", "sesion.typo": "1"},
	})
	info := s.Info()
	for key, want := range map[string]string{
		"intra_threads": "2", "inter_threads": "2", "execution_mode": "parallel", "spinning": "off", "arena": "off",
		"memory_pattern": "off", "optimize_level": "basic", "config session.intra_op_thread_affinities": "1",
	} {
		if info.Facts[key] != want {
			t.Errorf("Facts[%q] = %q, want %q", key, info.Facts[key], want)
		}
	}
	if len(info.Warnings) != 1 || !strings.Contains(info.Warnings[0], "sesion.typo") {
		t.Errorf("Warnings = %q, want one about the unknown key", info.Warnings)
	}
	run(t, s, values(bind(t, s, tensor.New(tensor.Float32, 1, 4))), make([]backend.Value, 1))

	// A wrong value must come back from the library itself.
	_, err := openEngine(t).Open(context.Background(), backend.Options{ModelPath: doubled("N").write(t), IntraThreads: 4, Affinity: "1"})
	if err == nil || !strings.Contains(err.Error(), "affinit") {
		t.Errorf("affinities for one of three threads: got %v, want the library's error", err)
	}
}

func TestORTAnOptimisedModelIsKept(t *testing.T) {
	engine := openEngine(t)
	model := doubled("N").write(t)
	kept := filepath.Join(t.TempDir(), "kept.onnx")
	open := func() {
		t.Helper()
		s, err := engine.Open(context.Background(), backend.Options{ModelPath: model, OptimizedModel: kept, OptimizeLevel: "extended"})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		y := tensor.New(tensor.Float32, 1, 4)
		run(t, s, values(bind(t, s, tensor.Of([]float32{1, 2, 3, 4}, 1, 4))), values(bind(t, s, y)))
		if got := tensor.Data[float32](y)[3]; got != 8 {
			t.Errorf("y[3] = %v, want 8", got)
		}
	}
	written := func() int64 {
		t.Helper()
		info, err := os.Stat(kept)
		if err != nil {
			t.Fatal(err)
		}
		return info.ModTime().UnixNano()
	}
	open()
	first := written()
	open()
	if written() != first {
		t.Error("the optimised model was written again though nothing changed")
	}
	if err := os.WriteFile(model, doubled(1).encode(), 0o644); err != nil {
		t.Fatal(err)
	}
	open()
	if written() == first {
		t.Error("the optimised model of another model was used")
	}
	if files, _ := filepath.Glob(filepath.Join(filepath.Dir(kept), "*")); len(files) != 2 {
		t.Errorf("files are %q, want the model and its key", files)
	}
}

func TestORTACancelledOpenStops(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := openEngine(t).Open(ctx, backend.Options{ModelPath: doubled("N").write(t)}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
}

func TestORTProvidersSayWhatWorks(t *testing.T) {
	engine := openEngine(t)
	all, err := engine.Providers(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range all {
		if p.Device == "cpu" && (!p.Compiled || !p.Usable) {
			t.Errorf("%+v, want the processor usable", p)
		}
		if p.Device == "cuda" && !p.Usable && p.Reason == "" {
			t.Errorf("%+v, want a reason", p)
		}
		t.Logf("%-12s compiled %-5v usable %-5v %s", p.Device, p.Compiled, p.Usable, p.Reason)
	}
	if len(all) != len(Devices()) {
		t.Errorf("%d providers, want one for each of %v", len(all), Devices())
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if some, err := engine.Providers(stopped); !errors.Is(err, context.Canceled) || len(some) != 0 {
		t.Errorf("when nobody waits: %v, %v, want none and context.Canceled", some, err)
	}
}

func TestORTTheTinyModelRuns(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tiny.onnx")
	if err := os.WriteFile(path, tinyModel(), 0o644); err != nil {
		t.Fatal(err)
	}
	s, err := openEngine(t).Open(context.Background(), backend.Options{ModelPath: path})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	y := tensor.New(tensor.Float32, 1)
	run(t, s, values(bind(t, s, tensor.Of([]float32{5}, 1))), values(bind(t, s, y)))
	if got := tensor.Data[float32](y)[0]; got != 5 {
		t.Errorf("Identity(5) = %v", got)
	}
}

func TestORTOurReadingOfAFileAgreesWithTheLibrary(t *testing.T) {
	openEngine(t)
	graphs := []onnxGraph{doubled("N"), doubled(3), identity(tensor.Float32), identity(tensor.String, "a", 2, "b")}
	for _, dtype := range allTypes {
		graphs = append(graphs, identity(dtype, "N", 3))
	}
	oldStyle := doubled("N") // weights are among the inputs
	oldStyle.nodes[1] = onnxNode("Add", []string{"h", "w"}, []string{"y"})
	oldStyle.inputs = append(oldStyle.inputs, onnxPort("w", tensor.Float32, 4))
	oldStyle.weights = []message{weight("w", []float32{1, 2, 3, 4}, 4)}
	for _, g := range append(graphs, oldStyle) {
		path := g.write(t)
		head, err := readModelHead(path)
		if err != nil {
			t.Fatal(err)
		}
		in, out, err := onnx.GetInputOutputInfo(path)
		if err != nil {
			t.Fatal(err)
		}
		got, want := fmt.Sprint(plainPorts(head.inputs), plainPorts(head.outputs)), fmt.Sprint(plainPorts(inferred(nil, in)), plainPorts(inferred(nil, out)))
		if got != want {
			t.Errorf("we read %s, the library %s", got, want)
		}
	}
}

func TestORTAModelInItsOwnFormatIsOpened(t *testing.T) {
	engine := openEngine(t)
	converted := filepath.Join(t.TempDir(), "model.ort")
	for _, options := range []backend.Options{
		{ModelPath: doubled("N").write(t), OptimizedModel: converted, OptimizeLevel: "basic"},
		{ModelPath: converted},
	} {
		s, err := engine.Open(context.Background(), options)
		if err != nil {
			t.Fatal(err)
		}
		y := tensor.New(tensor.Float32, 1, 4)
		run(t, s, values(bind(t, s, tensor.Of([]float32{1, 2, 3, 4}, 1, 4))), values(bind(t, s, y)))
		if got := tensor.Data[float32](y)[3]; got != 8 || s.Info().Inputs[0].Shape.String() != "[? 4]" {
			t.Errorf("%s: y[3] = %v, inputs %v", options.ModelPath, got, s.Info().Inputs)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestORTTooLittleMemoryIsAnError(t *testing.T) {
	g := onnxGraph{
		nodes:   []message{onnxNode("Expand", []string{"x", "shape"}, []string{"y"})},
		inputs:  []message{onnxPort("x", tensor.Float32, 1), onnxPort("shape", tensor.Int64, 2)},
		outputs: []message{onnxPort("y", tensor.Float32, "a", "b")},
	}
	for _, noArena := range []bool{false, true} {
		s := openModel(t, g, backend.Options{NoArena: noArena})
		x, shape := bind(t, s, tensor.New(tensor.Float32, 1)), bind(t, s, tensor.Of([]int64{1 << 20, 1 << 22}, 2)) // 18 TB
		err := s.Run(context.Background(), values(x, shape), make([]backend.Value, 1))
		if err == nil || !strings.Contains(err.Error(), "node my_Expand (Expand): ") || !strings.Contains(err.Error(), "memory") {
			t.Errorf("got %v, want an error about memory that names the node", err)
		}
	}
}

func TestORTAnEngineCacheThatCannotBeWrittenIsAnError(t *testing.T) {
	_, err := openEngine(t).Open(context.Background(), backend.Options{
		ModelPath: doubled("N").write(t), Device: "tensorrt", AllowFallback: true, EngineCacheDir: "/dev/null/cache"})
	var device *DeviceError
	if err == nil || !strings.Contains(err.Error(), "engine cache") || errors.As(err, &device) {
		t.Errorf("got %v, want an error about the cache", err)
	}
}
