package ort

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	format "github.com/mlperf-go/mlperf/internal/onnx"
)

// Some devices compile a model before they run it, for minutes in TensorRT's case. This file makes their
// options: where they keep the result, and for which shapes they compile.

// cacheOption names, by device, the option that takes a folder for compiled models.
// OpenVINO: cache_dir; Core ML: ModelCacheDirectory; TensorRT for RTX: nv_runtime_cache_path (their
// pages under https://onnxruntime.ai/docs/execution-providers/).
var cacheOption = map[string]string{
	"openvino": "cache_dir", "coreml": "ModelCacheDirectory", "tensorrt-rtx": "nv_runtime_cache_path",
}

// compileOptions returns the options of a device that compiles, besides those asked for, and
// warnings. version and root are ONNX Runtime's version and the root of the file system.
func (p plan) compileOptions(ctx context.Context, r request, inputs []modelPort, version, root string) (map[string]string, []string, error) {
	add, warnings := p.profileOptions(r.name, inputs)
	if p.options.EngineCacheDir == "" {
		return add, warnings, nil
	}
	dir, err := p.engineDir(ctx, r, add, version, root)
	if err != nil {
		return nil, nil, err
	}
	if option := cacheOption[r.name]; option != "" {
		add[option] = dir
	}
	if r.name == "tensorrt" {
		maps.Copy(add, map[string]string{
			"trt_engine_cache_enable": "1", "trt_engine_cache_path": dir,
			"trt_timing_cache_enable": "1", "trt_timing_cache_path": dir,
		})
	}
	return add, warnings, nil
}

// profileOptions returns the options that say for which shapes a device compiles, or a warning.
func (p plan) profileOptions(device string, inputs []modelPort) (add map[string]string, warnings []string) {
	add = map[string]string{}
	prefix := profilePrefix[device]
	if p.options.ProfileShapes[1] == 0 || prefix == "" {
		return add, nil
	}
	low, high, free := profileShapes(inputs, p.options.ProfileShapes)
	switch {
	case free != "":
		warnings = append(warnings, fmt.Sprintf(
			"device %s compiles when it first sees a shape: input %s has free axes besides the batch", device, free))
	case low != "":
		add[prefix+"min_shapes"], add[prefix+"max_shapes"], add[prefix+"opt_shapes"] = low, high, high
	}
	return add, warnings
}

// noteCompiling notes that a device is about to compile the model, unless the result of an earlier time is there.
func (p plan) noteCompiling(device string, options map[string]string) {
	option := cacheOption[device]
	if device == "tensorrt" {
		option = "trt_engine_cache_path"
	}
	dir := options[option]
	if p.options.Note == nil || dir == "" {
		return
	}
	entries, err := os.ReadDir(dir)
	if err != nil || slices.ContainsFunc(entries, func(e os.DirEntry) bool { return e.Name() != keyFile }) {
		return
	}
	p.options.Note(fmt.Sprintf("%s compiles the model for this machine, which can take minutes; the result is kept in %s", device, dir))
}

// profilePrefix begins the names of the options that take shape profiles.
var profilePrefix = map[string]string{"tensorrt": "trt_profile_", "tensorrt-rtx": "nv_profile_"}

// profileShapes writes the smallest and largest shapes of all inputs with a free batch, as
// "images:1x3x224x224,mask:1x384". free names an input that has other free axes: then no
// profile can be given.
func profileShapes(inputs []modelPort, batches [2]int) (low, high, free string) {
	var lows, highs []string
	for _, in := range inputs {
		if in.Shape.Len() >= 0 {
			continue // nothing to choose
		}
		if in.Shape[0] >= 0 || in.Shape[1:].Len() < 0 {
			return "", "", in.Name
		}
		rest := ""
		for _, d := range in.Shape[1:] {
			rest += fmt.Sprintf("x%d", d)
		}
		lows = append(lows, fmt.Sprintf("%s:%d%s", in.Name, batches[0], rest))
		highs = append(highs, fmt.Sprintf("%s:%d%s", in.Name, batches[1], rest))
	}
	return strings.Join(lows, ","), strings.Join(highs, ","), ""
}

// engineDir makes and returns the folder for a device's compiled models. Its name depends on
// all that a compiled model depends on: TensorRT itself does not notice another model of the
// same name, another driver, or other settings.
func (p plan) engineDir(ctx context.Context, r request, add map[string]string, version, root string) (string, error) {
	model, err := format.FingerprintOf(ctx, p.options.ModelPath)
	if err != nil {
		return "", fmt.Errorf("reading model %s for the key of its engine cache: %w", p.options.ModelPath, err)
	}
	lines := []string{"device " + r.name, "onnxruntime " + version, "model sha256 " + model.SHA256}
	lines = append(lines, nvidiaFacts(root)...)
	options := with(r.options, add)
	for _, key := range slices.Sorted(maps.Keys(options)) {
		lines = append(lines, "option "+key+" "+options[key])
	}
	text := strings.Join(lines, "\n") + "\n"
	key := sha256.Sum256([]byte(text))
	dir := filepath.Join(p.options.EngineCacheDir, r.name, hex.EncodeToString(key[:8]))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("making the engine cache: %w", err)
	}
	// For people who wonder what a folder belongs to.
	return dir, os.WriteFile(filepath.Join(dir, keyFile), []byte(text), 0o644)
}

const keyFile = "key.txt"

// nvidiaFacts lists the driver's version and the GPUs, as the driver tells in /proc.
func nvidiaFacts(root string) []string {
	var facts []string
	if text, err := os.ReadFile(filepath.Join(root, "/proc/driver/nvidia/version")); err == nil {
		line, _, _ := strings.Cut(string(text), "\n")
		facts = append(facts, "driver "+strings.Join(strings.Fields(line), " "))
	}
	files, _ := filepath.Glob(filepath.Join(root, "/proc/driver/nvidia/gpus/*/information"))
	slices.Sort(files)
	for _, file := range files {
		text, _ := os.ReadFile(file)
		for line := range strings.Lines(string(text)) {
			if name, found := strings.CutPrefix(line, "Model:"); found {
				facts = append(facts, "gpu "+strings.TrimSpace(name))
			}
		}
	}
	return facts
}
