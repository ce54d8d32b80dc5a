package builtin

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf/internal/backend/ort"
	"github.com/mlperf-go/mlperf/internal/harness"
	"github.com/mlperf-go/mlperf/internal/machine"
	"github.com/mlperf-go/mlperf/internal/machine/home"
	"github.com/mlperf-go/mlperf/internal/models"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// WithMaker calls f with a maker that has ONNX Runtime and keeps what it makes in the cache. Library is the file of ONNX
// Runtime; empty: the installed one.
func WithMaker(program, library string, o harness.Observer, f func(Maker) error) error {
	cache, err := home.CacheDir()
	if err != nil {
		return err
	}
	engine, err := ort.Open(library, "", nil)
	if err != nil {
		return err
	}
	defer engine.Close()
	defer home.Hold(cache)()
	return f(Maker{Dir: cache, Engine: engine, Observer: o, Program: program, FreeDisk: machine.FreeDisk, FreeMemory: machine.AvailableMemory})
}

// A Size is how large a built-in model is.
type Size struct {
	Full bool  // it has all layers and rows of the real one
	Rows int64 // of its tables, at most; 0: the default
}

// CheckRows wants a number of rows that the tables of a built-in model can have. Smaller tables say nothing about a real
// one.
func CheckRows(m workload.Model, rows int64) error {
	const fewest = 1000
	recipe, ok := m.BuiltIn.(workload.Recipe)
	if !ok || !recipe.Tables() {
		return userinput.Errorf("rows", "%s has no tables of categories", m.Name)
	}
	if rows < fewest {
		return userinput.Invalid("rows", rows, fmt.Sprintf("%d or more rows of each table", fewest))
	}
	return nil
}

// MakeModel makes the built-in model of a name and returns its file.
func MakeModel(ctx context.Context, program, name, library string, size Size, o harness.Observer) (path string, err error) {
	m, err := models.Lookup(name)
	if err != nil {
		return "", userinput.Wrap("model", err)
	}
	if size.Rows != 0 {
		if err := CheckRows(m, size.Rows); err != nil {
			return "", err
		}
	}
	err = WithMaker(program, library, o, func(maker Maker) error {
		maker.FullSize, maker.Rows = size.Full, size.Rows
		path, err = maker.Model(ctx, m)
		return err
	})
	return path, err
}

// A MadeDataset is a built-in data set, and the score of a model on it.
type MadeDataset struct {
	Dir    string  `json:"folder"`
	Model  string  `json:"model"`
	Metric string  `json:"metric"`
	Score  float64 `json:"score,omitempty"` // of the FP32 model; 0: it was not measured
}

// MakeDataset makes the built-in data set of a name, or of a model of that name. It calls done with each model that has
// the data set; measure asks for the scores.
func MakeDataset(ctx context.Context, program, name, library string, measure bool, o harness.Observer, done func(MadeDataset)) error {
	var having []workload.Model
	names := map[string]bool{}
	for _, m := range models.All() {
		names[m.Dataset] = true
		if m.Dataset == name {
			having = append(having, m)
		}
	}
	if len(having) == 0 {
		m, err := models.Lookup(name)
		if err != nil {
			return userinput.Errorf("dataset", "unknown data set %q: must be one of %s, or a model", name, strings.Join(slices.Sorted(maps.Keys(names)), ", "))
		}
		having = []workload.Model{m}
	}
	return WithMaker(program, library, o, func(maker Maker) (err error) {
		for _, m := range having {
			s := MadeDataset{Model: m.Name, Metric: m.Quality.Metric}
			if s.Dir, err = maker.Dataset(ctx, m); err != nil {
				return err
			}
			if measure && !m.ScoredElsewhere {
				if s.Score, err = maker.Reference(ctx, m); err != nil {
					return err
				}
			}
			done(s)
		}
		return nil
	})
}
