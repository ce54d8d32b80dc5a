package builtin

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/builtin/synth"
	"github.com/mlperf-go/mlperf/internal/harness"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/models/workload"
)

// Reference returns the score of the built-in model on the built-in data, in FP32 on the
// CPU. It is measured once, by an ordinary accuracy run, and kept with the data.
func (m Maker) Reference(ctx context.Context, model workload.Model) (float64, error) {
	if m.Engine == nil {
		return 0, errors.New("a reference score needs an engine that computes")
	}
	dir, err := m.Dataset(ctx, model)
	if err != nil {
		return 0, err
	}
	path, err := m.Model(ctx, model)
	if err != nil {
		return 0, err
	}
	name := strings.TrimSuffix(filepath.Base(path), ".onnx")
	manifest, err := synth.ReadManifest(dir)
	if err != nil {
		return 0, err
	}
	if score, ok := manifest.Scores[name]; ok {
		return score, nil
	}
	m.Observer.Phase("measuring the reference accuracy of " + model.Name)
	score, err := m.measure(ctx, model, path, dir)
	if err != nil {
		return 0, fmt.Errorf("measuring the reference accuracy of %s: %w", model.Name, err)
	}
	return score, keepScore(dir, name, score)
}

// keepScore adds a score to those that are kept with the data. Another program may have added some
// since they were read.
func keepScore(dir, name string, score float64) error {
	manifest, err := synth.ReadManifest(dir)
	if err != nil {
		return err
	}
	if manifest.Scores == nil {
		manifest.Scores = map[string]float64{}
	}
	manifest.Scores[name] = score
	return manifest.Write(dir)
}

// measure runs the model over the whole data set.
func (m Maker) measure(ctx context.Context, model workload.Model, path, dataset string) (score float64, err error) {
	out, err := os.MkdirTemp(m.Dir, ".mlperf-reference-")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(out)) }()
	recipe, _ := model.BuiltIn.(workload.Recipe)
	settings := loadgen.DefaultSettings()
	settings.Scenario, settings.Mode = loadgen.Offline, loadgen.AccuracyOnly
	results, err := harness.Run(ctx, harness.Config{
		Program:    m.Program,
		Model:      model,
		Settings:   settings,
		Engine:     m.Engine,
		Backend:    backend.Options{ModelPath: path},
		DatasetDir: dataset,
		Options:    recipe.Reference,
		CacheDir:   filepath.Join(m.Dir, "samples"),
		OutputDir:  out,
		Observer:   m.Observer,
	})
	if err != nil {
		return 0, err
	}
	if !results.Valid() || results.Accuracy == nil {
		return 0, fmt.Errorf("the run is %s: %s", results.Result, strings.Join(results.Problems, "; "))
	}
	return results.Accuracy.Value, nil
}
