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

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/fileio"
	format "github.com/mlperf-go/mlperf/internal/onnx"
)

// Some devices compile a model before they run it, for minutes in TensorRT's case. This file makes their options: where they
// keep the result, and for which shapes they compile.

// compileOptions returns the options of a device that compiles, besides those that the user gives, and warnings. version and
// root are ONNX Runtime's version and the root of the file system.
func (p plan) compileOptions(ctx context.Context, r request, inputs []backend.Port, version, root string) (map[string]string, []string, error) {
	add, warnings := p.shapeOptions(r, inputs)
	if p.options.EngineCacheDir == "" {
		return add, warnings, nil
	}
	dir, err := p.engineDir(ctx, r, add, version, root)
	if err != nil {
		return nil, nil, err
	}
	if r.cache != "" {
		add[r.cache] = dir
	}
	if r.name == "tensorrt" {
		add["trt_engine_cache_enable"], add["trt_timing_cache_enable"], add["trt_timing_cache_path"] = "1", "1", dir
	}
	return add, warnings, nil
}

// shapeOptions returns the options with the smallest and the largest shapes of all inputs with a free batch, written as
// "images:1x3x224x224,mask:1x384". If an input has other free axes it returns a warning instead.
func (p plan) shapeOptions(r request, inputs []backend.Port) (add map[string]string, warnings []string) {
	add = map[string]string{}
	batches := p.options.ProfileShapes
	if batches[1] == 0 || r.profile == "" {
		return add, nil
	}
	var low, high []string
	for _, in := range inputs {
		if in.Shape.Len() >= 0 {
			continue // nothing is free
		}
		if in.Shape[0] >= 0 || in.Shape[1:].Len() < 0 {
			return add, []string{fmt.Sprintf("device %s compiles when it first sees a shape: input %s has free axes besides the batch", r.name, in.Name)}
		}
		rest := ""
		for _, d := range in.Shape[1:] {
			rest += fmt.Sprintf("x%d", d)
		}
		low = append(low, fmt.Sprintf("%s:%d%s", in.Name, batches[0], rest))
		high = append(high, fmt.Sprintf("%s:%d%s", in.Name, batches[1], rest))
	}
	if low != nil {
		add[r.profile+"min_shapes"] = strings.Join(low, ",")
		add[r.profile+"max_shapes"] = strings.Join(high, ",")
		add[r.profile+"opt_shapes"] = strings.Join(high, ",")
	}
	return add, nil
}

// noteCompiling notes that a device is about to compile the model, unless an earlier result is there.
func (p plan) noteCompiling(r request, options map[string]string) {
	dir := options[r.cache]
	if p.options.Note == nil || dir == "" {
		return
	}
	entries, err := os.ReadDir(dir)
	if err != nil || slices.ContainsFunc(entries, func(e os.DirEntry) bool { return e.Name() != keyFile }) {
		return
	}
	p.options.Note(fmt.Sprintf("%s compiles the model for this machine, which can take minutes; the result is kept in %s", r.name, dir))
}

// keyFile says in words which model and machine a folder is for.
const keyFile = "key.txt"

// engineDir makes and returns the folder for a device's compiled models. Its name depends on all that a compiled model depends
// on: TensorRT itself does not notice another model of the same name, another driver, or other settings.
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
	return dir, fileio.WriteFileIn(dir, keyFile, []byte(text))
}

// nvidiaFacts lists the driver's version and the GPUs from the driver's files in /proc.
func nvidiaFacts(root string) []string {
	var facts []string
	if text, err := os.ReadFile(filepath.Join(root, "/proc/driver/nvidia/version")); err == nil {
		line, _, _ := strings.Cut(string(text), "\n")
		facts = append(facts, "driver "+strings.Join(strings.Fields(line), " "))
	}
	files, _ := filepath.Glob(filepath.Join(root, "/proc/driver/nvidia/gpus/*/information")) // sorted
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
