//go:build ort && cgo

package ort

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	onnx "github.com/yalue/onnxruntime_go"

	"github.com/mlperf-go/mlperf/internal/backend"
	format "github.com/mlperf-go/mlperf/internal/onnx"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

func TestORTInfo(t *testing.T) {
	s := openModel(t, doubled("N"), backend.Options{})
	info := s.Info()
	if got := fmt.Sprint(info.Inputs, info.Outputs); got != "[{x float32 [? 4] [N ] false }] [{y float32 [? 4] [N ] false }]" {
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

func TestORTOrderOfOutputs(t *testing.T) {
	g := graph{
		nodes: []*format.Node{
			node("Neg", []string{"x"}, []string{"minus"}),
			node("Add", []string{"x", "x"}, []string{"twice"}),
		},
		inputs:  []*format.Value{port("x", tensor.Float32, 1)},
		outputs: []*format.Value{port("minus", tensor.Float32, 1), port("twice", tensor.Float32, 1)},
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

func TestORTInferredShapes(t *testing.T) {
	g := doubled("N")
	g.outputs = []*format.Value{shapeless()}
	g.nodes[1] = node("Add", []string{"h", "x"}, []string{"shapeless"})
	s := openModel(t, g, backend.Options{})
	if got := s.Info().Outputs[0]; got.AnyShape || got.Shape.String() != "[? 4]" {
		t.Errorf("output is %v, want the shape [? 4]", got)
	}
}

func TestORTBadModels(t *testing.T) {
	engine := openEngine(t)
	dir := t.TempDir()
	file := func(name string, content []byte) string {
		path := filepath.Join(dir, name)
		testenv.Must(t, os.WriteFile(path, content, 0o644))
		return path
	}
	unknownOperator := doubled("N")
	unknownOperator.nodes[1] = node("Frobnicate", []string{"h", "x"}, []string{"y"})
	newOpset := doubled("N")
	newOpset.opset = 99
	newFormat := doubled("N")
	newFormat.irVersion = 99
	dangling := doubled("N")
	dangling.nodes[1] = node("Add", []string{"nowhere", "x"}, []string{"y"})
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

func TestORTMissingDevices(t *testing.T) {
	engine := openEngine(t)
	path := doubled("N").write(t)
	tests := []struct{ device, want string }{
		{"cuda", "device cuda: this ONNX Runtime "}, // newer ones look for no library beside them
		{"tensorrt", "device tensorrt: this ONNX Runtime "},
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
			var device *deviceError
			if test.device != "quantum" && !errors.As(err, &device) {
				t.Errorf("the error is a %T, want a *deviceError", err)
			}
		})
	}
}

func TestORTFallback(t *testing.T) {
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

func TestORTNodeCounts(t *testing.T) {
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

// A model of constants has no node left when it is loaded.
func TestORTConstantModel(t *testing.T) {
	constant := graph{
		nodes:   []*format.Node{node("Identity", []string{"w"}, []string{"y"})},
		weights: []*format.Tensor{format.TensorOf("w", []float32{7}, 1)},
		outputs: []*format.Value{port("y", tensor.Float32, 1)},
	}
	s := openModel(t, constant, backend.Options{CountDeviceNode: true})
	if got := s.Info(); len(got.Devices) != 1 || got.Devices[0] != (backend.DeviceUse{Device: "cpu"}) || len(got.Warnings) > 0 {
		t.Errorf("Devices = %v, Warnings = %q, want the processor without nodes", got.Devices, got.Warnings)
	}
}

func TestORTUncountedNodes(t *testing.T) {
	failing := doubled("N")
	failing.nodes = []*format.Node{node("MatMul", []string{"x", "x"}, []string{"y"})}
	s := openModel(t, failing, backend.Options{CountDeviceNode: true})
	if got := s.Info(); len(got.Devices) != 1 || got.Devices[0].Nodes != -1 || len(got.Warnings) != 1 || !strings.Contains(got.Warnings[0], "my_MatMul") {
		t.Errorf("Devices = %v, Warnings = %q, want unknown nodes and a warning with my_MatMul", got.Devices, got.Warnings)
	}
}

func TestORTSessionSettings(t *testing.T) {
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

func TestORTOptimisedModel(t *testing.T) {
	engine := openEngine(t)
	model := doubled("N").write(t)
	kept := filepath.Join(t.TempDir(), "kept.onnx")
	open := func() {
		t.Helper()
		s := openWith(t, engine, backend.Options{ModelPath: model, OptimizedModel: kept, OptimizeLevel: "extended"})
		defer s.Close()
		if got := compute(t, s, tensor.Of([]float32{1, 2, 3, 4}, 1, 4))[3]; got != 8 {
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
	testenv.Must(t, os.WriteFile(model, doubled(1).encode(), 0o644))
	open()
	if written() == first {
		t.Error("the optimised model of another model was used")
	}
	if files, _ := filepath.Glob(filepath.Join(filepath.Dir(kept), "*")); len(files) != 2 {
		t.Errorf("files are %q, want the model and its key", files)
	}
}

func TestORTCancelledOpen(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := openEngine(t).Open(ctx, backend.Options{ModelPath: doubled("N").write(t)}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
}

func TestORTProviders(t *testing.T) {
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
		t.Errorf("with a context that is done: %v, %v, want none and context.Canceled", some, err)
	}
}

// The oldest library that can be loaded must take it, too.
func TestORTIdentityModel(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tiny.onnx")
	testenv.Must(t, os.WriteFile(path, identityModel(), 0o644))
	s := openWith(t, openEngine(t), backend.Options{ModelPath: path})
	if got := compute(t, s, tensor.Of([]float32{5}, 1))[0]; got != 5 {
		t.Errorf("Identity(5) = %v", got)
	}
}

func TestORTModelHeadsEqualTheLibrarys(t *testing.T) {
	openEngine(t)
	graphs := []graph{doubled("N"), doubled(3), identity(tensor.Float32), identity(tensor.String, "a", 2, "b")}
	for _, dtype := range allTypes {
		graphs = append(graphs, identity(dtype, "N", 3))
	}
	oldStyle := doubled("N") // weights are among the inputs
	oldStyle.nodes[1] = node("Add", []string{"h", "w"}, []string{"y"})
	oldStyle.inputs = append(oldStyle.inputs, port("w", tensor.Float32, 4))
	oldStyle.weights = []*format.Tensor{format.TensorOf("w", []float32{1, 2, 3, 4}, 4)}
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
		got, want := fmt.Sprint(head.inputs, head.outputs), fmt.Sprint(inferred(head.inputs, in), inferred(head.outputs, out))
		if got != want {
			t.Errorf("we read %s, the library %s", got, want)
		}
	}
}

func TestORTTooLittleMemory(t *testing.T) {
	g := graph{
		nodes:   []*format.Node{node("Expand", []string{"x", "shape"}, []string{"y"})},
		inputs:  []*format.Value{port("x", tensor.Float32, 1), port("shape", tensor.Int64, 2)},
		outputs: []*format.Value{port("y", tensor.Float32, "a", "b")},
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

func TestORTUnwritableEngineCache(t *testing.T) {
	_, err := openEngine(t).Open(context.Background(), backend.Options{
		ModelPath: doubled("N").write(t), Device: "tensorrt", AllowFallback: true, EngineCacheDir: "/dev/null/cache"})
	var device *deviceError
	if err == nil || !strings.Contains(err.Error(), "engine cache") || errors.As(err, &device) {
		t.Errorf("got %v, want an error about the cache", err)
	}
}

func TestORTPorts(t *testing.T) {
	engine := openEngine(t)
	in, out, err := engine.Ports(t.Context(), backend.Options{ModelPath: doubled("N").write(t)})
	if err != nil || len(in) != 1 || in[0].Name != "x" || len(out) != 1 || out[0].Name != "y" || engine.Name() != "onnxruntime" {
		t.Errorf("the ports are %v and %v, %v", in, out, err)
	}
	stopped, stop := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	stop(enough)
	if _, _, err := engine.Ports(stopped, backend.Options{ModelPath: "x.onnx"}); !errors.Is(err, enough) {
		t.Errorf("got %v, want the context's cause", err)
	}
	closed, err := New(engine.Library(), nil)
	if err != nil {
		t.Fatal(err)
	}
	testenv.Must(t, closed.Close())
	for _, e := range []*Engine{engine, closed} {
		if _, _, err := e.Ports(t.Context(), backend.Options{ModelPath: "x.onnx"}); err == nil || !strings.Contains(err.Error(), "x.onnx") {
			t.Errorf("got %v, want an error that names the file", err)
		}
	}
}

// reshaped gives its input a shape that is another input: the number of axes of its output is unknown.
func reshaped() graph {
	return graph{
		nodes:   []*format.Node{node("Reshape", []string{"x", "shape"}, []string{"shapeless"})},
		inputs:  []*format.Value{port("x", tensor.Float32, 4), port("shape", tensor.Int64, "rank")},
		outputs: []*format.Value{shapeless()},
	}
}

func TestORTOutputsOfAnyShape(t *testing.T) {
	s := openModel(t, reshaped(), backend.Options{})
	if out := s.Info().Outputs[0]; !out.AnyShape || out.Batch() != -1 {
		t.Errorf("the output is %+v, want one of any shape", out)
	}
	x := bind(t, s, tensor.Of([]float32{1, 2, 3, 4}, 4))
	for _, shape := range [][]int64{{2, 2}, {1, 4, 1}} {
		to := bind(t, s, tensor.Of(shape, int64(len(shape))))
		y := tensor.New(tensor.Float32, shape...)
		run(t, s, values(x, to), values(bind(t, s, y)))
		made := make([]backend.Value, 1)
		run(t, s, values(x, to), made)
		for _, got := range []tensor.Tensor{y, made[0].Tensor()} {
			if len(got.Shape) != len(shape) || tensor.Data[float32](got)[3] != 4 {
				t.Errorf("shape %v: got %v", shape, got)
			}
		}
	}
}

func TestORTFormat(t *testing.T) {
	engine := openEngine(t)
	kept := filepath.Join(t.TempDir(), "model.ort")
	s, err := engine.Open(t.Context(), backend.Options{ModelPath: doubled("N").write(t), OptimizedModel: kept, OptimizeLevel: "basic",
		Config: map[string]string{"session.save_model_format": "ORT"}})
	if err != nil {
		t.Fatal(err)
	}
	testenv.Must(t, s.Close())
	in, out, err := engine.Ports(t.Context(), backend.Options{ModelPath: kept})
	if err != nil || in[0].Name != "x" || out[0].Name != "y" || out[0].Shape[1] != 4 {
		t.Fatalf("the ports are %v and %v, %v", in, out, err)
	}
	if s, err = engine.Open(t.Context(), backend.Options{ModelPath: kept}); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if got := compute(t, s, tensor.Of([]float32{1, 2, 3, 4}, 1, 4))[3]; got != 8 {
		t.Errorf("y[3] = %v, want 8", got)
	}
}

func TestORTSequences(t *testing.T) {
	g := doubled("N")
	g.nodes = append(g.nodes, node("SequenceConstruct", []string{"y"}, []string{"seq"}))
	g.outputs = append(g.outputs, sequence())
	engine, path := openEngine(t), g.write(t)
	if _, out, err := engine.Ports(t.Context(), backend.Options{ModelPath: path}); err != nil || len(out) != 2 || out[1].Other != "sequence" {
		t.Errorf("the outputs are %+v, %v", out, err)
	}
	s := openWith(t, engine, backend.Options{ModelPath: path})
	if got := compute(t, s, tensor.Of([]float32{1, 2, 3, 4}, 1, 4))[3]; got != 8 {
		t.Errorf("y[3] = %v, want 8", got)
	}
	if _, err := engine.Open(t.Context(), backend.Options{ModelPath: path, Outputs: []string{"seq"}}); err == nil || !strings.Contains(err.Error(), `"seq" is a sequence`) {
		t.Errorf("asking for the sequence: %v, want an error", err)
	}
}

func TestORTOptimisedModelWithDataFile(t *testing.T) {
	engine, dir := openEngine(t), t.TempDir()
	g := doubled("N")
	g.nodes[1] = node("Add", []string{"h", "w"}, []string{"y"})
	g.weights = []*format.Tensor{{Name: "w", Type: format.Float32, Dims: []int64{4}, External: []format.Property{{Key: "location", Value: "w.data"}}}}
	path, kept := filepath.Join(dir, "model.onnx"), filepath.Join(dir, "kept.onnx")
	testenv.Must(t, os.WriteFile(path, g.encode(), 0o644))
	for _, want := range []float32{1, 5} {
		testenv.Must(t, os.WriteFile(filepath.Join(dir, "w.data"), tensor.Of([]float32{want, want, want, want}, 4).Bytes(), 0o644))
		s := openWith(t, engine, backend.Options{ModelPath: path, OptimizedModel: kept})
		if got := compute(t, s, tensor.New(tensor.Float32, 1, 4))[0]; got != want {
			t.Errorf("with %v in the data file the model adds %v", want, got)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// Outputs of 16 bits are allocated by the run as all others, also where only the run knows their shape.
func TestORTOutputsOfHalfPrecision(t *testing.T) {
	transposed := graph{
		nodes:   []*format.Node{node("Transpose", []string{"x"}, []string{"y"}), node("Identity", []string{"x"}, []string{"z"})},
		inputs:  []*format.Value{port("x", tensor.Float16, "N", "M", 2)},
		outputs: []*format.Value{port("y", tensor.Float16, 2, "M", "N"), port("z", tensor.Float16, "N", "M", 2)},
	}
	s := openModel(t, transposed, backend.Options{})
	for _, shape := range [][]int64{{1, 1, 2}, {3, 5, 2}, {4, 0, 2}, {2, 3, 2}} {
		outputs := make([]backend.Value, 2)
		run(t, s, values(bind(t, s, pattern(tensor.New(tensor.Float16, shape...)))), outputs)
		if got, want := fmt.Sprint(outputs[0].Tensor().Shape, outputs[1].Tensor().Shape), fmt.Sprint([]int64{2, shape[1], shape[0]}, shape); got != want {
			t.Errorf("outputs of %v have the shapes %s, want %s", shape, got, want)
		}
	}
	found := graph{
		nodes:   []*format.Node{node("Compress", []string{"x", "which"}, []string{"y"})},
		inputs:  []*format.Value{port("x", tensor.Float16, "N"), port("which", tensor.Bool, "N")},
		outputs: []*format.Value{port("y", tensor.Float16, "found")},
	}
	s = openModel(t, found, backend.Options{})
	in := values(bind(t, s, tensor.New(tensor.Float16, 2)), bind(t, s, bools([]byte{1, 0}, 2)))
	outputs := make([]backend.Value, 1)
	run(t, s, in, outputs)
	if y := outputs[0].Tensor(); y.String() != "float16[1]" {
		t.Errorf("an output whose shape only the run knows: %v", y)
	}
}

// A damaged file is a model that computes, or an error that names it.
func TestORTDamagedModels(t *testing.T) {
	engine, rng := openEngine(t), rand.New(rand.NewPCG(3, 9))
	good := doubled("N").encode()
	tried := map[bool]int{}
	for round := range 150 {
		damaged := slices.Clone(good)
		for range 1 + rng.IntN(3) {
			damaged[rng.IntN(len(damaged))] = byte(rng.IntN(256))
		}
		if round%3 == 0 {
			damaged = damaged[:rng.IntN(len(damaged))]
		}
		path := t.TempDir() + "/m.onnx"
		testenv.Must(t, os.WriteFile(path, damaged, 0o644))
		s, err := engine.Open(t.Context(), backend.Options{ModelPath: path, IntraThreads: 1})
		tried[err == nil]++
		if err != nil {
			if !strings.Contains(err.Error(), path) || strings.Contains(err.Error(), "\n") {
				t.Errorf("damaged to %x: %v, want one line that names the file", damaged, err)
			}
			continue
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if tried[true] == 0 || tried[false] < 50 {
		t.Errorf("%d files were models, %d not: want some of both", tried[true], tried[false])
	}
}

// attention is a model of one GroupQueryAttention with two heads of 16, whose lengths are inputs or follow from a mask.
func attention(mask bool) graph {
	g := graph{
		inputs:  []*format.Value{port("qkv", tensor.Float32, "N", "S", 64), port("past_key", tensor.Float32, "N", 1, "P", 16), port("past_value", tensor.Float32, "N", 1, "P", 16)},
		outputs: []*format.Value{port("y", tensor.Float32, "N", "S", 32), port("key", tensor.Float32, "N", 1, "T", 16), port("value", tensor.Float32, "N", 1, "T", 16)},
	}
	attend := node("GroupQueryAttention", []string{"qkv", "", "", "past_key", "past_value", "lengths", "total"}, []string{"y", "key", "value"},
		format.Attr("num_heads", int64(2)), format.Attr("kv_num_heads", int64(1)))
	attend.Domain = "com.microsoft"
	if !mask {
		g.nodes = []*format.Node{attend}
		g.inputs = append(g.inputs, port("lengths", tensor.Int32, "N"), port("total", tensor.Int32, 1))
		return g
	}
	g.inputs = append(g.inputs, port("mask", tensor.Int64, "N", "T"))
	g.weights = []*format.Tensor{format.TensorOf("one", []int64{1}, 1), format.TensorOf("two", []int64{2}, 1)}
	cast := func(in, out string) *format.Node {
		n := node("Cast", []string{in}, []string{out}, format.Attr("to", int64(format.Int32)))
		n.Name = "my_" + out
		return n
	}
	g.nodes = []*format.Node{
		node("ReduceSum", []string{"mask", "one"}, []string{"sum"}, format.Attr("keepdims", int64(0))),
		node("Sub", []string{"sum", "one"}, []string{"less"}), cast("less", "lengths"),
		node("Shape", []string{"mask"}, []string{"shape"}), node("Slice", []string{"shape", "one", "two"}, []string{"longest"}), cast("longest", "total"),
		attend,
	}
	return g
}

func TestORTNodeCountsOfDecoder(t *testing.T) {
	deep := graph{ // a depth of zero is an error, as a length of zero is to attention on a GPU
		nodes:   []*format.Node{node("OneHot", []string{"x", "depth", "values"}, []string{"y"})},
		inputs:  []*format.Value{port("x", tensor.Int64, "N"), port("depth", tensor.Int64, 1)},
		weights: []*format.Tensor{format.TensorOf("values", []float32{0, 1}, 2)},
		outputs: []*format.Value{port("y", tensor.Float32, "N", "D")},
	}
	for name, c := range map[string]struct {
		graph graph
		nodes int
	}{"lengths as inputs": {attention(false), 1}, "lengths of a mask": {attention(true), 7}, "a count that may not be zero": {deep, 1}} {
		t.Run(name, func(t *testing.T) {
			info := openModel(t, c.graph, backend.Options{CountDeviceNode: true, OptimizeLevel: "none"}).Info()
			if len(info.Warnings) > 0 || len(info.Devices) != 1 || info.Devices[0].Nodes != c.nodes {
				t.Errorf("Devices = %v, Warnings = %q, want %d nodes", info.Devices, info.Warnings, c.nodes)
			}
		})
	}
}

// Options of sessions that no model could be opened with are found before there is one.
func TestORTTryFindsWrongOptions(t *testing.T) {
	e := openEngine(t)
	if err := e.Try(t.Context(), backend.Options{Config: map[string]string{"session.intra_op.allow_spinning": "0"}}); err != nil {
		t.Error(err)
	}
	for want, options := range map[string]backend.Options{
		"opening model of one node: operators of /nowhere.so": {CustomOps: []string{"/nowhere.so"}},
		"model of one node: ": {Affinity: "banana"},
	} {
		if err := e.Try(t.Context(), options); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}
