// Package runtest has a small benchmark for tests of runs: a classifier that is one layer, and four images.
package runtest

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/mlperf-go/mlperf/internal/builtin/synth"
	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/config/limitation"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/onnx"
	"github.com/mlperf-go/mlperf/internal/onnx/arch"
	"github.com/mlperf-go/mlperf/internal/run"
	"github.com/mlperf-go/mlperf/internal/run/engine"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// images is the data set, which is drawn once for all tests of a process.
var images = sync.OnceValues(func() (fstest.MapFS, error) {
	dir, err := os.MkdirTemp("", "imagenet")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if err := synth.WriteImageNet(context.Background(), dir, synth.ImageNetSpec{Seed: 1, Images: 4, Classes: 3, Jitter: 0.1}, nil); err != nil {
		return nil, err
	}
	files := fstest.MapFS{}
	return files, fs.WalkDir(os.DirFS(dir), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(filepath.Join(dir, path))
		files[path] = &fstest.MapFile{Data: data, Mode: 0o644}
		return err
	})
})

// Request goes to a new folder with tiny.onnx and imagenet, where the cache is too, and asks for a run of 20 ms on a
// simulated engine.
func Request(t *testing.T) run.Request {
	t.Helper()
	dir := t.TempDir()
	t.Chdir(dir)
	t.Setenv("MLPERF_CACHE_DIR", filepath.Join(dir, "cache"))
	t.Setenv("MLPERF_DATA_DIR", filepath.Join(dir, "data"))
	WriteModel(t, "tiny.onnx", 1)
	data, err := images()
	testenv.Must(t, err)
	testenv.Must(t, os.CopyFS("imagenet", data))
	return run.Request{
		Program: "mlperf test", Model: "resnet50", Scenario: "single-stream", ModelPath: "tiny.onnx", DatasetPath: "imagenet",
		Engine: engine.Config{Name: engine.Simulated, Latency: time.Millisecond},
		Settings: []config.Override{{Key: "min_duration", Value: "20ms", Origin: "flag --min-duration", Role: limitation.Flag},
			{Key: "min_query_count", Value: "5", Origin: "flag --min-query-count", Role: limitation.Flag}},
		NewPacer: func() loadgen.Pacer { return loadgen.TimerPacer{} },
	}
}

// WriteModel writes a classifier with one layer of weights, scores.
func WriteModel(t *testing.T, path string, seed uint64) {
	t.Helper()
	b := arch.NewBuilder("tiny", seed)
	x := b.Input("image", onnx.Float32, onnx.Batched(3, 224, 224))
	x = b.MaxPool("grid", x, arch.Pool{Kernel: arch.Axes{56}, Strides: arch.Axes{56}})
	b.Output(b.Softmax("softmax", b.Dense("scores", b.Flatten("features", x), arch.Dense{Units: 1001}), 1))
	model, _, err := b.Model()
	testenv.Must(t, err)
	testenv.Must(t, model.WriteFile(t.Context(), path))
}
