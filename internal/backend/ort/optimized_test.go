package ort

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend"
)

func TestTemporaryFilesOfKilledProcessesAreRemoved(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "models [old]")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "kept[1].onnx")
	old, young := filepath.Join(dir, ".1kept[1].onnx"), filepath.Join(dir, ".2kept[1].onnx")
	for _, file := range []string{path, old, young} {
		if err := os.WriteFile(file, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	long := time.Now().Add(-2 * time.Hour)
	for _, file := range []string{path, old} {
		if err := os.Chtimes(file, long, long); err != nil {
			t.Fatal(err)
		}
	}
	made, err := temporaryBeside(path)
	if err != nil {
		t.Fatal(err)
	}
	if filepath.Dir(made) != dir || filepath.Ext(made) != ".onnx" {
		t.Errorf("the temporary file is %s", made)
	}
	for file, want := range map[string]bool{path: true, old: false, young: true} {
		if _, err := os.Stat(file); (err == nil) != want {
			t.Errorf("%s: there %v, want %v", filepath.Base(file), err == nil, want)
		}
	}
}

func TestAnOptimisedModelThatCannotBeKeptIsAnError(t *testing.T) {
	model := filepath.Join(t.TempDir(), "model.onnx")
	if err := os.WriteFile(model, doubled("N").encode(), 0o644); err != nil {
		t.Fatal(err)
	}
	p := plan{options: backend.Options{ModelPath: model, OptimizedModel: filepath.Join(t.TempDir(), "none", "kept.onnx")}}
	if _, err := p.optimized(t.Context(), "1.24.3"); err == nil || !strings.Contains(err.Error(), "keeping the optimised model") {
		t.Errorf("got %v, want an error", err)
	}
	p.options.OptimizedModel = filepath.Join(t.TempDir(), "kept.onnx")
	o, err := p.optimized(t.Context(), "1.24.3")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(o.temporary); err != nil {
		t.Fatal(err)
	}
	if err := o.commit(); err == nil {
		t.Error("a file that nobody wrote was kept")
	}
}

func TestDevicesAreKnownByAnySpelling(t *testing.T) {
	for name, want := range map[string]bool{"CUDA": true, "Tensor_RT": true, "moon": false} {
		if Knows(name) != want {
			t.Errorf("Knows(%q) = %v, want %v", name, !want, want)
		}
	}
}

func TestProcessorsOfThreadsAreCheckedAndTranslated(t *testing.T) {
	if got := affinities([]int{0, 2, 5}); got != "3;6" {
		t.Errorf("affinities = %q, want 3;6", got)
	}
	if got := affinities(nil); got != "" {
		t.Errorf("affinities of none = %q", got)
	}
	for _, o := range []backend.Options{
		{ModelPath: "m", Cores: []int{0, 1}}, {ModelPath: "m", Cores: []int{0, -1}, IntraThreads: 2},
		{ModelPath: "m", Cores: []int{0, 1}, IntraThreads: 2, Affinity: "1"},
	} {
		if _, err := planOf(o); err == nil || !strings.Contains(err.Error(), "processors") {
			t.Errorf("%+v: %v, want an error about processors", o, err)
		}
	}
}
