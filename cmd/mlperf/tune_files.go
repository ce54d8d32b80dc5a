package main

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf/internal/bench"
	"github.com/mlperf-go/mlperf/internal/builtin"
	"github.com/mlperf-go/mlperf/internal/convert"
	"github.com/mlperf-go/mlperf/internal/home"
	"github.com/mlperf-go/mlperf/internal/profile"
)

// A modelFile is one of the files to compare. A label is only needed where there are several.
type modelFile struct {
	label, path string
	precision   string // that the device is to convert it to
}

// modelFiles reads --model-path.
func (o *tuneOptions) modelFiles() ([]modelFile, error) {
	var files []modelFile
	for _, text := range o.modelPaths {
		label, path, ok := strings.Cut(text, "=")
		if !ok {
			label, path = strings.TrimSuffix(filepath.Base(text), filepath.Ext(text)), text
		}
		if label == "" || path == "" {
			return nil, usage("--model-path %s: want a file, or label=file", text)
		}
		if slices.ContainsFunc(files, func(f modelFile) bool { return f.label == label }) {
			return nil, usage("--model-path %s: there is another %s; give them labels, as in fp32=a.onnx", text, label)
		}
		files = append(files, modelFile{label: label, path: path})
	}
	if len(files) == 1 {
		files[0].label = ""
	}
	if len(files) > 0 {
		o.run.modelPath = files[0].path
	}
	return files, nil
}

// variants lists the files to compare: those that were given, or the model in each of the
// precisions.
func (o *tuneOptions) variants(ctx context.Context, cfg *bench.Config, files []modelFile) ([]modelFile, error) {
	if len(o.precisions) == 0 {
		if len(files) == 0 {
			files = []modelFile{{path: cfg.Backend.ModelPath}}
		}
		return files, nil
	}
	cache, err := home.CacheDir()
	if err != nil {
		return nil, err
	}
	maker := builtin.Maker{Dir: cache, Observer: cfg.Observer, Program: cfg.Program}
	if o.run.engine.name == onnxRuntime {
		maker.Engine = cfg.Engine
	}
	files = nil
	for _, precision := range o.precisions {
		if !slices.Contains(convert.Precisions(), precision) {
			return nil, usage("--precision has %q, want %s", precision, strings.Join(convert.Precisions(), ", "))
		}
		c, run := *cfg, o.run
		run.precision = precision
		path, err := run.convert(ctx, maker, &c)
		if err != nil {
			return nil, err
		}
		files = append(files, modelFile{precision, path, c.Backend.Precision})
	}
	return files, nil
}

// labels are those of several files; none if there is one.
func labels(files []modelFile) []string {
	var list []string
	for _, f := range files {
		if f.label != "" {
			list = append(list, f.label)
		}
	}
	return list
}

// complete says in a profile which file the winner is.
func (o *tuneOptions) complete(p *profile.Profile, variant string) {
	if len(o.precisions) > 0 {
		p.Precision = variant
	}
	files, _ := o.modelFiles() // checked before
	for _, f := range files {
		if f.label == variant || len(files) == 1 {
			p.ModelPath = absolute(f.path)
		}
	}
}

func absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}
