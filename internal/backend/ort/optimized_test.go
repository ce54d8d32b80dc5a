package ort

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

func TestOldTemporaryFilesAreRemoved(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "models [old]")
	testenv.Must(t, os.Mkdir(dir, 0o755))
	path := filepath.Join(dir, "kept[1].onnx")
	old, young := filepath.Join(dir, ".1kept[1].onnx"), filepath.Join(dir, ".2kept[1].onnx")
	for _, file := range []string{path, old, young} {
		testenv.Must(t, os.WriteFile(file, nil, 0o644))
	}
	long := time.Now().Add(-2 * time.Hour)
	for _, file := range []string{path, old} {
		testenv.Must(t, os.Chtimes(file, long, long))
	}
	made, err := temporaryBeside(path)
	testenv.Must(t, err)
	if filepath.Dir(made) != dir || filepath.Ext(made) != ".onnx" {
		t.Errorf("the temporary file is %s", made)
	}
	for file, want := range map[string]bool{path: true, old: false, young: true} {
		if _, err := os.Stat(file); (err == nil) != want {
			t.Errorf("%s: there %v, want %v", filepath.Base(file), err == nil, want)
		}
	}
}

func TestOptimisedModelThatCannotBeKept(t *testing.T) {
	dir := t.TempDir()
	model := filepath.Join(dir, "model.onnx")
	testenv.Must(t, os.WriteFile(model, doubled("N").encode(), 0o644))
	p := plan{options: backend.Options{ModelPath: model, OptimizedModel: filepath.Join(dir, "none", "kept.onnx")}}
	if _, err := p.optimized(t.Context(), "1.24.3"); err == nil || !strings.Contains(err.Error(), "keeping the optimised model") {
		t.Errorf("a folder that does not exist: %v, want an error", err)
	}
	p.options.OptimizedModel = filepath.Join(dir, "kept.onnx")
	o, err := p.optimized(t.Context(), "1.24.3")
	testenv.Must(t, err, os.Mkdir(o.path, 0o755)) // where the file belongs
	if err := o.commit(); err == nil || !strings.Contains(err.Error(), "keeping the optimised model") {
		t.Errorf("a folder in the place of the file: %v, want an error", err)
	}
	if _, err := os.Stat(o.temporary); !os.IsNotExist(err) {
		t.Errorf("the temporary file %s stays", o.temporary)
	}
}
