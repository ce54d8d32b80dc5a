package convert

import (
	"context"
	"os"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/harness"
	"github.com/mlperf-go/mlperf/internal/loadgen"
)

// score is the accuracy of a model file over the first samples of the data.
func (c Converter) score(ctx context.Context, path string, count int) (float64, error) {
	folder, err := os.MkdirTemp("", "mlperf-convert-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(folder)
	settings := loadgen.DefaultSettings()
	settings.Scenario, settings.Mode = loadgen.Offline, loadgen.AccuracyOnly
	test, err := harness.Run(ctx, harness.Config{
		Program: c.Program, Model: c.Model, Settings: settings, Engine: c.Engine, Options: c.Options, Count: count,
		Backend: backend.Options{ModelPath: path}, DatasetDir: c.DatasetDir, CacheDir: c.CacheDir,
		OutputDir: folder, Observer: silent{},
	})
	if err != nil {
		return 0, err
	}
	return test.Score()
}

// silent is an observer that shows nothing.
type silent struct{}

func (silent) Phase(string)             {}
func (silent) Loading(int, int)         {}
func (silent) Items(int, int)           {}
func (silent) Traffic(loadgen.Progress) {}
func (silent) Note(string)              {}
