package run

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf/internal/builtin"
	"github.com/mlperf-go/mlperf/internal/machine"
	"github.com/mlperf-go/mlperf/internal/machine/home"
	"github.com/mlperf-go/mlperf/internal/models"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// A Size is how large a built-in model is.
type Size struct {
	Full bool  // it has all layers and rows of the real one
	Rows int64 // of its tables, at most; 0: the default
}

// SynthModel makes the built-in model of a name and returns its file.
func SynthModel(ctx context.Context, program, name string, e Engine, size Size, o Observer) (path string, err error) {
	m, err := models.Lookup(name)
	if err != nil {
		return "", userinput.Wrap("model", err)
	}
	if size.Rows != 0 {
		if err := checkRows(m, size.Rows); err != nil {
			return "", err
		}
	}
	err = withMaker(program, e, o, func(maker builtin.Maker) error {
		maker.FullSize, maker.Rows = size.Full, size.Rows
		path, err = maker.Model(ctx, m)
		return err
	})
	return path, err
}

// A Synthesized data set is one that was made for models.
type Synthesized struct {
	Dir    string  `json:"folder"`
	Model  string  `json:"model"`
	Metric string  `json:"metric"`
	Score  float64 `json:"score,omitempty"` // of the FP32 model; 0: it was not measured
}

// SynthDataset makes the built-in data set of a name, or of a model of that name, and
// measures the models that have it. It calls done with each.
func SynthDataset(ctx context.Context, program, name string, e Engine, measure bool, o Observer, done func(Synthesized)) error {
	all, err := modelsOf(name)
	if err != nil {
		return userinput.Wrap("dataset", err)
	}
	return withMaker(program, e, o, func(maker builtin.Maker) error {
		for _, m := range all {
			s := Synthesized{Model: m.Name, Metric: m.Quality.Metric}
			if s.Dir, err = maker.Dataset(ctx, m); err != nil {
				return err
			}
			if measure {
				if s.Score, err = maker.Reference(ctx, m); err != nil {
					return err
				}
			}
			done(s)
		}
		return nil
	})
}

// modelsOf returns the models that have a data set, or the one model of that name.
func modelsOf(dataset string) ([]workload.Model, error) {
	var all []workload.Model
	names := map[string]bool{}
	for _, m := range models.All() {
		names[m.Dataset] = true
		if m.Dataset == dataset {
			all = append(all, m)
		}
	}
	if len(all) > 0 {
		return all, nil
	}
	if m, err := models.Lookup(dataset); err == nil {
		return []workload.Model{m}, nil
	}
	return nil, fmt.Errorf("unknown data set %q, want one of %s, or a model", dataset, strings.Join(slices.Sorted(maps.Keys(names)), ", "))
}

// withMaker calls f with a maker that has ONNX Runtime.
func withMaker(program string, e Engine, o Observer, f func(builtin.Maker) error) error {
	cache, err := home.CacheDir()
	if err != nil {
		return err
	}
	engine, err := e.openORT(nil)
	if err != nil {
		return err
	}
	defer engine.Close()
	defer home.Hold(cache)()
	return f(builtin.Maker{Dir: cache, Engine: engine, Observer: o, Program: program, FreeDisk: freeDisk, FreeMemory: machine.AvailableMemory})
}
