package run

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/harness"
	"github.com/mlperf-go/mlperf/internal/models"
	"github.com/mlperf-go/mlperf/internal/run/engine"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// What can be known before models and data are made, which takes minutes, is refused before.
func TestRefusedBeforeWork(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	testenv.Must(t, os.WriteFile(file, []byte("text\n"), 0o644))
	for name, c := range map[string]struct {
		change func(*Request)
		want   string
	}{
		"a file for data":              {func(q *Request) { q.DatasetPath = file }, "file is a file: must be a folder"},
		"a folder without data":        {func(q *Request) { q.DatasetPath = t.TempDir() }, "val_map.txt"},
		"a model that is none":         {func(q *Request) { q.ModelPath = file }, "file: not an ONNX model"},
		"more samples than are made":   {func(q *Request) { q.Count = 5000 }, "count is 5000: must be at most the 1024 samples of the built-in data set"},
		"a meter's file":               {func(q *Request) { q.Power = "file:/nowhere/power.csv" }, "the meter's file: stat /nowhere"},
		"a meter's file without watts": {func(q *Request) { q.Power = "file:" + file }, `"text": must be columns named time and watts`},
		"an analyser":                  {func(q *Request) { q.Power = "ptd:127.0.0.1:1" }, "127.0.0.1:1"},
		"data":                         {func(q *Request) { q.DatasetPath = "/nowhere" }, "the folder /nowhere is missing"},
		"a folder for results":         {func(q *Request) { q.Output = filepath.Join(file, "out") }, "is a file: must be a folder"},
		"a file for results":           {func(q *Request) { q.Output = file }, "is a file: must be a folder"},
		"a precision without engine":   {func(q *Request) { q.Precision = "fp16" }, "fp16 needs ONNX Runtime, the engine is simulated"},
		"an optimised model's folder":  {func(q *Request) { q.Backend.OptimizedModel = "/nowhere/opt.onnx" }, "/nowhere: no such file"},
		"operators":                    {func(q *Request) { q.Backend.CustomOps = []string{"/nowhere.so"} }, "/nowhere.so: no such file"},
	} {
		t.Run(name, func(t *testing.T) {
			cache := t.TempDir()
			t.Setenv("MLPERF_CACHE_DIR", cache)
			t.Chdir(t.TempDir())
			q := Request{Model: "mobilenet", Scenario: "Offline", Quick: true, Engine: engine.Config{Name: engine.Simulated}}
			c.change(&q)
			ctx, cancel := context.WithCancel(t.Context()) // work would end here
			resolved, err := Resolve(q)
			if err == nil {
				_, err = resolved.Provide(ctx, stopper{cancel: cancel})
			}
			cancel()
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
			if made, _ := filepath.Glob(filepath.Join(cache, "*", "*")); len(made) > 0 {
				t.Errorf("%q were made before", made)
			}
		})
	}
}

// More samples than a built-in data set has are refused before it is made, in every benchmark but those of SQuAD, of which the windows
// of texts are counted when they are made, in a second.
func TestTooManySamplesAreRefusedFirst(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, model := range models.All() {
		if model.Dataset == "squad" || model.BuiltIn == nil {
			continue
		}
		cache := t.TempDir()
		t.Setenv("MLPERF_CACHE_DIR", cache)
		resolved, err := Resolve(Request{Model: model.Name, Scenario: "Offline", Quick: true, Count: 999999, Engine: engine.Config{Name: engine.Simulated}})
		testenv.Must(t, err)
		ctx, cancel := context.WithCancel(t.Context()) // work would end here
		_, err = resolved.Provide(ctx, stopper{cancel: cancel})
		cancel()
		if !testenv.Names(err, "count … 999999 … at most") {
			t.Errorf("%s: %v", model.Name, err)
		}
		if made, _ := filepath.Glob(filepath.Join(cache, "*", "*")); len(made) > 0 {
			t.Errorf("%s: %q were made before", model.Name, made)
		}
	}
}

// A stopper ends what makes something.
type stopper struct {
	harness.Silent
	cancel context.CancelFunc
}

func (s stopper) Phase(string) { s.cancel() }
