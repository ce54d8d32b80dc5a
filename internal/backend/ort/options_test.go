package ort

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

func namesIn(requests []request) string {
	var parts []string
	for _, r := range requests {
		name := r.name
		if r.implied {
			name = "(" + name + ")"
		}
		parts = append(parts, name)
	}
	return strings.Join(parts, " ")
}

func TestDevicesAreReadInOrderOfPreference(t *testing.T) {
	for _, test := range []struct{ list, want, err string }{
		{"", "cpu", ""},
		{"cpu", "cpu", ""},
		{"CUDA", "cuda", ""},
		{" cuda , cpu ", "cuda cpu", ""},
		{"trt", "tensorrt (cuda)", ""},
		{"TensorrtExecutionProvider,cuda", "tensorrt cuda", ""},
		{"tensorrt,openvino", "tensorrt (cuda) openvino", ""},
		{"NvTensorRTRTXExecutionProvider", "tensorrt-rtx", ""},
		{"tensorrt_rtx", "tensorrt-rtx", ""},
		{"dml", "directml", ""},
		{"gpu", "", `unknown device "gpu"; devices are cpu, cuda, tensorrt, openvino, coreml, directml, xnnpack, webgpu, qnn`},
		{"cuda,CUDA", "", "device cuda is listed twice"},
		{"cpu,cuda", "", "device cpu runs every operator, so cuda after it would run none"},
	} {
		got, err := requests(test.list, nil)
		if err != nil && (test.err == "" || !strings.Contains(err.Error(), test.err)) || err == nil && (test.err != "" || namesIn(got) != test.want) {
			t.Errorf("requests(%q) = %q, %v, want %q and an error with %q", test.list, namesIn(got), err, test.want, test.err)
		}
	}
}

func TestOptionsBelongToTheFirstDevice(t *testing.T) {
	got, err := requests("tensorrt", map[string]string{"device_id": "1", "trt_max_workspace_size": "7"})
	if err != nil {
		t.Fatal(err)
	}
	want := []map[string]string{{"device_id": "1", "trt_max_workspace_size": "7"}, {"device_id": "1"}}
	if diff := cmp.Diff(want, []map[string]string{got[0].options, got[1].options}); diff != "" {
		t.Errorf("options of tensorrt and the cuda behind it (-want +got):\n%s", diff)
	}
	if _, err := requests("cpu", map[string]string{"arena": "1"}); err == nil || !strings.Contains(err.Error(), "device cpu has no options (arena was given)") {
		t.Errorf("options for the processor: got %v, want an error", err)
	}
}

func TestDevicesAreNamedOnce(t *testing.T) {
	seen := map[string]string{}
	for _, d := range devices {
		for _, name := range append([]string{d.name, d.provider}, d.aliases...) {
			if other, taken := seen[userinput.Plain(name)]; taken {
				t.Errorf("%s and %s share the name %s", d.name, other, name)
			}
			seen[userinput.Plain(name)] = d.name
		}
		if found, err := deviceNamed(d.name); err != nil || found.name != d.name {
			t.Errorf("deviceNamed(%q) = %v, %v", d.name, found, err)
		}
		if d.call == callByName && d.by == "" {
			t.Errorf("device %s has no name for the common call", d.name)
		}
		if deviceOf(d.provider) != d.name {
			t.Errorf("deviceOf(%q) = %q, want %q", d.provider, deviceOf(d.provider), d.name)
		}
	}
}

func TestOptionsAreChecked(t *testing.T) {
	for _, test := range []struct {
		name    string
		options backend.Options
		want    string
	}{
		{"no model", backend.Options{}, "no model file given"},
		{"threads", backend.Options{IntraThreads: -1}, "-1 intra-op threads: must be 0 (the engine decides) or more"},
		{"inter-op threads", backend.Options{InterThreads: -2}, "-2 inter-op threads"},
		{"level", backend.Options{OptimizeLevel: "max"}, `unknown optimisation level "max"; levels are none, basic, extended, all`},
		{"severity", backend.Options{LogSeverity: 5}, "log severity 5: must be -1 (verbose) to 4 (fatal)"},
		{"profile", backend.Options{ProfileShapes: [2]int{8, 4}}, "batches 8 to 4 to compile for"},
		{"half a profile", backend.Options{ProfileShapes: [2]int{0, 4}}, "batches 0 to 4 to compile for"},
		{"precision", backend.Options{Precision: "fp8"}, `unknown precision "fp8"; precisions are fp32, fp16, int8`},
		{"precision on the processor", backend.Options{Precision: "fp16"}, "device cpu does not convert models to fp16 by itself"},
		{"precision on CUDA", backend.Options{Precision: "int8", Device: "cuda"}, "device cuda does not convert models to int8 by itself"},
		{"device", backend.Options{Device: "tpu"}, `unknown device "tpu"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			if test.name != "no model" {
				test.options.ModelPath = "m.onnx"
			}
			if _, err := planOf(test.options); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want an error with %q", err, test.want)
			}
		})
	}
}

func TestTheZeroOptionsAreQuietAndOptimiseAll(t *testing.T) {
	p, err := planOf(backend.Options{ModelPath: "m.onnx"})
	if err != nil {
		t.Fatal(err)
	}
	if p.severity != severityFatal || p.level.name != "all" || len(p.config) != 0 || namesIn(p.requests) != "cpu" {
		t.Errorf("plan is %+v", p)
	}
	for given, want := range map[int]int{-1: 0, 1: 1, 4: 4} {
		if p, err := planOf(backend.Options{ModelPath: "m.onnx", LogSeverity: given}); err != nil || p.severity != want {
			t.Errorf("severity %d becomes %d, %v, want %d", given, p.severity, err, want)
		}
	}
}

func TestFactsHaveTheOptionsOfTheDeviceAndTheLibrariesOfOperators(t *testing.T) {
	p, err := planOf(backend.Options{ModelPath: "m.onnx", Device: "cuda", DeviceOptions: map[string]string{"device_id": "1"}, CustomOps: []string{"a.so", "b.so"}})
	if facts := p.facts(); err != nil || facts["option cuda device_id"] != "1" || facts["custom_ops"] != "a.so, b.so" {
		t.Errorf("facts are %v, %v", facts, err)
	}
}

func TestFactsHaveTheNumbersOfThreads(t *testing.T) {
	for _, c := range []struct {
		options      backend.Options
		intra, inter string
	}{
		{backend.Options{}, "default", "1"},
		{backend.Options{Parallel: true}, "default", "default"},
		{backend.Options{IntraThreads: 1, InterThreads: 1, Parallel: true}, "1", "1"},
		{backend.Options{IntraThreads: 12, InterThreads: 3, Parallel: true}, "12", "3"},
	} {
		c.options.ModelPath = "m.onnx"
		p, err := planOf(c.options)
		if err != nil {
			t.Fatal(err)
		}
		if f := p.facts(); f["intra_threads"] != c.intra || f["inter_threads"] != c.inter {
			t.Errorf("%d and %d threads: %q and %q", c.options.IntraThreads, c.options.InterThreads, f["intra_threads"], f["inter_threads"])
		}
	}
}

func TestConfigEntriesWinOverOptions(t *testing.T) {
	p, err := planOf(backend.Options{ModelPath: "m.onnx", NoSpinning: true, Affinity: "1;2",
		Config: map[string]string{keyIntraSpinning: "1", "ep.context_enable": "1", "session.unheard_of": "x"}})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{keyIntraSpinning: "1", keyInterSpinning: "0", keyAffinity: "1;2", "ep.context_enable": "1", "session.unheard_of": "x"}
	if diff := cmp.Diff(want, p.config); diff != "" {
		t.Errorf("config (-want +got):\n%s", diff)
	}
	if len(p.warnings) != 1 || !strings.Contains(p.warnings[0], "session.unheard_of") {
		t.Errorf("warnings are %q, want one about session.unheard_of", p.warnings)
	}
	if p.facts()["spinning"] != "on" || p.facts()["config "+keyAffinity] != "1;2" {
		t.Errorf("facts are %v", p.facts())
	}
}

func TestPrecisionBecomesTheDevicesOptions(t *testing.T) {
	for _, test := range []struct {
		device, precision string
		given, want       map[string]string
	}{
		{"tensorrt", "", nil, nil},
		{"tensorrt", "fp32", nil, nil},
		{"tensorrt", "fp16", nil, map[string]string{"trt_fp16_enable": "1"}},
		{"tensorrt", "int8", nil, map[string]string{"trt_int8_enable": "1", "trt_fp16_enable": "1"}},
		{"tensorrt", "int8", map[string]string{"trt_fp16_enable": "0"}, map[string]string{"trt_int8_enable": "1", "trt_fp16_enable": "0"}},
		{"openvino", "fp32", nil, map[string]string{"precision": "FP32"}},
	} {
		p, err := planOf(backend.Options{ModelPath: "m.onnx", Device: test.device, Precision: test.precision, DeviceOptions: test.given})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(test.want, p.requests[0].options); diff != "" {
			t.Errorf("%s %s (-want +got):\n%s", test.device, test.precision, diff)
		}
	}
}

// port is a port of a model for tests of options.
func port(name string, shape ...int64) modelPort {
	return modelPort{Port: backend.Port{Name: name, Type: tensor.Float32, Shape: shape}, axes: make([]string, len(shape))}
}

func TestShapeProfilesCoverTheBatches(t *testing.T) {
	for _, test := range []struct {
		name            string
		inputs          []modelPort
		low, high, free string
	}{
		{"one input", []modelPort{port("images", -1, 3, 224, 224)}, "images:1x3x224x224", "images:16x3x224x224", ""},
		{"two inputs", []modelPort{port("ids", -1, 384), port("mask", -1, 384)}, "ids:1x384,mask:1x384", "ids:16x384,mask:16x384", ""},
		{"a vector", []modelPort{port("x", -1)}, "x:1", "x:16", ""},
		{"nothing free", []modelPort{port("x", 1, 4)}, "", "", ""},
		{"scalar beside", []modelPort{port("x", -1, 4), port("t")}, "x:1x4", "x:16x4", ""},
		{"free length", []modelPort{port("x", -1, -1)}, "", "", "x"},
		{"free but not the batch", []modelPort{port("x", 1, -1)}, "", "", "x"},
	} {
		low, high, free := profileShapes(test.inputs, [2]int{1, 16})
		if low != test.low || high != test.high || free != test.free {
			t.Errorf("%s: got %q, %q, %q, want %q, %q, %q", test.name, low, high, free, test.low, test.high, test.free)
		}
	}
}

func TestTensorRTCachesAreKeyedByAllThatMatters(t *testing.T) {
	dir := t.TempDir()
	model := filepath.Join(dir, "m.onnx")
	write := func(path, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	driver := func(version string) {
		write(filepath.Join(dir, "proc/driver/nvidia/version"), "NVRM version: NVIDIA UNIX  x86_64 Kernel Module  "+version+"\nGCC version: 12\n")
		write(filepath.Join(dir, "proc/driver/nvidia/gpus/0000:01:00.0/information"), "Model: \t NVIDIA H200\nIRQ: 7\n")
	}
	write(model, "weights")
	driver("550.1")
	options := backend.Options{ModelPath: model, Device: "tensorrt", EngineCacheDir: filepath.Join(dir, "cache"), ProfileShapes: [2]int{1, 8}}
	version := "1.24.3"
	compile := func() map[string]string {
		t.Helper()
		p, err := planOf(options)
		if err != nil {
			t.Fatal(err)
		}
		add, warnings, err := p.compileOptions(t.Context(), p.requests[0], []modelPort{port("x", -1, 4)}, version, dir)
		if err != nil || len(warnings) > 0 {
			t.Fatal(err, warnings)
		}
		return add
	}
	first := compile()
	cache := first["trt_engine_cache_path"]
	want := map[string]string{
		"trt_engine_cache_enable": "1", "trt_engine_cache_path": cache, "trt_timing_cache_enable": "1", "trt_timing_cache_path": cache,
		"trt_profile_min_shapes": "x:1x4", "trt_profile_max_shapes": "x:8x4", "trt_profile_opt_shapes": "x:8x4",
	}
	if diff := cmp.Diff(want, first); diff != "" {
		t.Errorf("options (-want +got):\n%s", diff)
	}
	if key, err := os.ReadFile(filepath.Join(cache, "key.txt")); err != nil || !strings.Contains(string(key), "gpu NVIDIA H200") || !strings.Contains(string(key), "550.1") {
		t.Errorf("key.txt is %q, %v", key, err)
	}
	if again := compile()["trt_engine_cache_path"]; again != cache {
		t.Errorf("the same again is kept in %s, want %s", again, cache)
	}
	seen := map[string]string{cache: "the first"}
	for _, change := range []struct {
		name string
		do   func()
	}{
		{"precision", func() { options.Precision = "fp16" }},
		{"shapes", func() { options.ProfileShapes[1] = 16 }},
		{"an option", func() { options.DeviceOptions = map[string]string{"trt_builder_optimization_level": "5"} }},
		{"the model", func() { write(model, "other weights") }},
		{"the driver", func() { driver("560.2") }},
		{"ONNX Runtime", func() { version = "1.25.0" }},
	} {
		change.do()
		path := compile()["trt_engine_cache_path"]
		if other, taken := seen[path]; taken {
			t.Errorf("after a change of %s the cache is that of %s", change.name, other)
		}
		seen[path] = change.name
	}
}

func TestOtherCompilingDevicesGetTheirOwnCacheOption(t *testing.T) {
	dir := t.TempDir()
	model := filepath.Join(dir, "m.onnx")
	if err := os.WriteFile(model, []byte("weights"), 0o644); err != nil {
		t.Fatal(err)
	}
	for device, option := range cacheOption {
		p, err := planOf(backend.Options{ModelPath: model, Device: device, EngineCacheDir: dir})
		if err != nil {
			t.Fatal(err)
		}
		add, _, err := p.compileOptions(t.Context(), p.requests[0], nil, "1.24.3", dir)
		if err != nil || len(add) != 1 || !strings.HasPrefix(add[option], filepath.Join(dir, device)) {
			t.Errorf("%s: got %v, %v, want a folder as %s", device, add, err, option)
		}
	}
	p, err := planOf(backend.Options{ModelPath: model, Device: "tensorrt", ProfileShapes: [2]int{1, 2}})
	if err != nil {
		t.Fatal(err)
	}
	if add, warnings, err := p.compileOptions(t.Context(), p.requests[0], []modelPort{port("x", -1, -1)}, "1.24.3", dir); err != nil || len(add) != 0 || len(warnings) != 1 {
		t.Errorf("free axes: got %v, %q, %v, want a warning", add, warnings, err)
	}
}

func TestShapesAreToldOnlyWhereSomeAreGivenAndTheDeviceTakesThem(t *testing.T) {
	free := []modelPort{port("x", -1, 4)}
	for _, test := range []struct {
		name, device string
		batches      [2]int
		want         map[string]string
	}{
		{"no batches", "tensorrt", [2]int{}, map[string]string{}},
		{"a device without profiles", "openvino", [2]int{1, 2}, map[string]string{}},
		{"batches of one", "tensorrt", [2]int{1, 1}, map[string]string{
			"trt_profile_min_shapes": "x:1x4", "trt_profile_max_shapes": "x:1x4", "trt_profile_opt_shapes": "x:1x4",
		}},
	} {
		p := plan{options: backend.Options{ProfileShapes: test.batches}}
		got, warnings := p.profileOptions(test.device, free)
		if diff := cmp.Diff(test.want, got); diff != "" || len(warnings) > 0 {
			t.Errorf("%s: warnings %q, options (-want +got):\n%s", test.name, warnings, diff)
		}
	}
}

// TestCompilingIsAnnouncedUnlessTheResultIsThere looks at the folder as a device leaves it.
func TestCompilingIsAnnouncedUnlessTheResultIsThere(t *testing.T) {
	dir := t.TempDir()
	model := filepath.Join(dir, "m.onnx")
	if err := os.WriteFile(model, []byte("weights"), 0o644); err != nil {
		t.Fatal(err)
	}
	for device, option := range map[string]string{"tensorrt": "trt_engine_cache_path", "openvino": "cache_dir"} {
		var notes []string
		options := backend.Options{
			ModelPath: model, Device: device, EngineCacheDir: dir, Note: func(text string) { notes = append(notes, text) },
		}
		p, err := planOf(options)
		if err != nil {
			t.Fatal(err)
		}
		add, _, err := p.compileOptions(t.Context(), p.requests[0], nil, "1.24.3", dir)
		if err != nil {
			t.Fatal(err)
		}
		p.noteCompiling(device, add)
		if len(notes) != 1 || !strings.Contains(notes[0], device) || !strings.Contains(notes[0], add[option]) {
			t.Errorf("%s: notes %q, want one with the folder %s", device, notes, add[option])
		}
		if err := os.WriteFile(filepath.Join(add[option], "graph_0.engine"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
		if p.noteCompiling(device, add); len(notes) != 1 {
			t.Errorf("%s: with the result in the folder it said %q", device, notes[1:])
		}
		p.options.EngineCacheDir = ""
		if add, _, err = p.compileOptions(t.Context(), p.requests[0], nil, "1.24.3", dir); err != nil {
			t.Fatal(err)
		}
		if p.noteCompiling(device, add); len(notes) != 1 {
			t.Errorf("%s: with no folder it said %q", device, notes[1:])
		}
	}
}

func TestDirectMLTakesOnlyANumber(t *testing.T) {
	if id, err := directMLDevice(map[string]string{"device_id": "2"}); err != nil || id != 2 {
		t.Errorf("got %d, %v, want 2", id, err)
	}
	for _, bad := range []map[string]string{{"device_id": "two"}, {"device_id": "-1"}, {"other": "1"}} {
		if _, err := directMLDevice(bad); err == nil {
			t.Errorf("directMLDevice(%v) succeeded, want an error", bad)
		}
	}
}

func TestNodesAreCountedOnceByDevice(t *testing.T) {
	event := func(name, index, provider string) string {
		return fmt.Sprintf(`{"cat":"Node","name":"%s_kernel_time","dur":1,"args":{"node_index":"%s","op_name":"Add","provider":"%s","input_type_shape":[{"float":[1]}]}}`, name, index, provider)
	}
	profile := "[" + strings.Join([]string{
		`{"cat":"Session","name":"model_loading_uri","args":{}}`,
		event("a", "0", "CUDAExecutionProvider"), event("b", "1", "CUDAExecutionProvider"),
		event("", "2", "CPUExecutionProvider"), event("", "3", "CPUExecutionProvider"),
		event("a", "0", "CUDAExecutionProvider"), // once more round a loop
		event("trt", "4", "TensorrtExecutionProvider"), event("new", "5", "FutureExecutionProvider"),
		`{"cat":"Node","name":"a_fence_before","args":{"op_name":"Add"}}`,
		`{"cat":"Node","name":"a_fence_after","args":{"op_name":"Add","provider":"CPUExecutionProvider"}}`,
		`{"cat":"Session","name":"a_kernel_time","args":{"provider":"CPUExecutionProvider"}}`,
		`{"cat":"Node","name":"a_kernel_time","args":{"op_name":"Add"}}`,
	}, ",\n") + "]"
	got, err := countNodes(strings.NewReader(profile))
	want := map[string]int{"cuda": 2, "cpu": 2, "tensorrt": 1, "FutureExecutionProvider": 1}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("countNodes: %v (-want +got):\n%s", err, diff)
	}
	asked, _ := requests("tensorrt", nil)
	use := []backend.DeviceUse{{Device: "tensorrt", Nodes: 1}, {Device: "cuda", Nodes: 2}, {Device: "FutureExecutionProvider", Nodes: 1}, {Device: "cpu", Nodes: 2}}
	if diff := cmp.Diff(use, deviceUse(asked, got)); diff != "" {
		t.Errorf("deviceUse (-want +got):\n%s", diff)
	}
	if _, err := countNodes(strings.NewReader(`[{"cat":`)); err == nil {
		t.Error("a cut off profile was read, want an error")
	}
}

func TestADeviceThatRunsNothingIsAnError(t *testing.T) {
	asked, _ := requests("tensorrt", nil)
	if err := unused(asked, map[string]int{"tensorrt": 3, "cpu": 1}); err != nil {
		t.Errorf("got %v though tensorrt runs nodes and cuda was not asked for", err)
	}
	err := unused(asked, map[string]int{"cuda": 3, "cpu": 1})
	if err == nil || !strings.Contains(err.Error(), "device tensorrt: it is there, but runs no node of this model (all run on cpu, cuda)") {
		t.Errorf("got %v, want an error about tensorrt", err)
	}
	if asked, _ = requests("", nil); unused(asked, map[string]int{}) != nil {
		t.Error("the processor is missed")
	}
}
