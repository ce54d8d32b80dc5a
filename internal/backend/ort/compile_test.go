package ort

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

func modelInput(name string, shape ...int64) backend.Port {
	return backend.Port{Name: name, Type: tensor.Float32, Shape: shape}
}

func TestShapesToCompileFor(t *testing.T) {
	for _, c := range []struct {
		name, device string
		batches      [2]int
		inputs       []backend.Port
		low, high    string // empty: no options
		warning      string
	}{
		{"one input", "tensorrt", [2]int{1, 16}, []backend.Port{modelInput("images", -1, 3, 224, 224)}, "images:1x3x224x224", "images:16x3x224x224", ""},
		{"two inputs", "tensorrt", [2]int{1, 16}, []backend.Port{modelInput("ids", -1, 384), modelInput("mask", -1, 384)}, "ids:1x384,mask:1x384", "ids:16x384,mask:16x384", ""},
		{"a vector", "tensorrt-rtx", [2]int{2, 16}, []backend.Port{modelInput("x", -1)}, "x:2", "x:16", ""},
		{"batches of one", "tensorrt", [2]int{1, 1}, []backend.Port{modelInput("x", -1, 4)}, "x:1x4", "x:1x4", ""},
		{"nothing free", "tensorrt", [2]int{1, 16}, []backend.Port{modelInput("x", 1, 4)}, "", "", ""},
		{"a scalar beside", "tensorrt", [2]int{1, 16}, []backend.Port{modelInput("x", -1, 4), modelInput("t")}, "x:1x4", "x:16x4", ""},
		{"a free length", "tensorrt", [2]int{1, 16}, []backend.Port{modelInput("x", -1, -1)}, "", "", "input x has free axes besides the batch"},
		{"free but not the batch", "tensorrt", [2]int{1, 16}, []backend.Port{modelInput("x", 1, -1)}, "", "", "input x has free axes"},
		{"no batches", "tensorrt", [2]int{}, []backend.Port{modelInput("x", -1, 4)}, "", "", ""},
		{"a device without shapes", "openvino", [2]int{1, 16}, []backend.Port{modelInput("x", -1, 4)}, "", "", ""},
	} {
		p := planned(t, backend.Options{Device: c.device, ProfileShapes: c.batches})
		r := p.requests[0]
		want := map[string]string{}
		if c.low != "" {
			want = map[string]string{r.profile + "min_shapes": c.low, r.profile + "max_shapes": c.high, r.profile + "opt_shapes": c.high}
		}
		got, warnings, err := p.compileOptions(t.Context(), r, c.inputs, "1.24.3", "/")
		if diff := cmp.Diff(want, got); diff != "" || err != nil || (len(warnings) > 0) != (c.warning != "") || !strings.Contains(strings.Join(warnings, ""), c.warning) {
			t.Errorf("%s: warnings %q, %v, options (-want +got):\n%s", c.name, warnings, err, diff)
		}
	}
}

func TestEngineCacheKey(t *testing.T) {
	dir := t.TempDir()
	model := filepath.Join(dir, "m.onnx")
	machine := func(weights, driver string) {
		testenv.Tree(t, dir, map[string]string{
			"m.onnx":                     weights,
			"proc/driver/nvidia/version": "NVRM version: NVIDIA UNIX  x86_64 Kernel Module  " + driver + "\nGCC version: 12\n",
			"proc/driver/nvidia/gpus/0000:01:00.0/information": "Model: \t NVIDIA H200\nIRQ: 7\n",
		})
	}
	machine("weights", "550.1")
	options := backend.Options{ModelPath: model, Device: "tensorrt", EngineCacheDir: filepath.Join(dir, "cache"), ProfileShapes: [2]int{1, 8}}
	version := "1.24.3"
	compile := func() map[string]string {
		t.Helper()
		p := planned(t, options)
		add, warnings, err := p.compileOptions(t.Context(), p.requests[0], []backend.Port{modelInput("x", -1, 4)}, version, dir)
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
		{"the model", func() { machine("other weights", "550.1") }},
		{"the driver", func() { machine("other weights", "560.2") }},
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

func TestNoteBeforeCompiling(t *testing.T) {
	dir := t.TempDir()
	model := filepath.Join(dir, "m.onnx")
	testenv.Must(t, os.WriteFile(model, []byte("weights"), 0o644))
	for device, option := range map[string]string{"tensorrt": "trt_engine_cache_path", "openvino": "cache_dir", "coreml": "ModelCacheDirectory", "tensorrt-rtx": "nv_runtime_cache_path"} {
		var notes []string
		for _, c := range []struct {
			name, cache string
			want        int // notes until now
		}{{"an empty folder", dir, 1}, {"a folder with the result", dir, 1}, {"no folder", "", 1}} {
			p := planned(t, backend.Options{ModelPath: model, Device: device, EngineCacheDir: c.cache, Note: func(text string) { notes = append(notes, text) }})
			add, _, err := p.compileOptions(t.Context(), p.requests[0], nil, "1.24.3", dir)
			if err != nil || (c.cache == "") != (add[option] == "") {
				t.Fatalf("%s, %s: %v, %v", device, c.name, add, err)
			}
			p.noteCompiling(p.requests[0], add)
			if len(notes) != c.want || !strings.Contains(notes[0], device) || add[option] != "" && !strings.Contains(notes[0], add[option]) {
				t.Errorf("%s, %s: notes %q", device, c.name, notes)
			}
			if add[option] != "" {
				testenv.Must(t, os.WriteFile(filepath.Join(add[option], "graph_0.engine"), nil, 0o644))
			}
		}
	}
}
