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
	old, young := filepath.Join(dir, ".mlperf-saving-1-kept[1].onnx"), filepath.Join(dir, ".mlperf-saving-2-kept[1].onnx")
	theirs := []string{filepath.Join(dir, ".backup-kept[1].onnx"), filepath.Join(dir, ".1kept[1].onnx"), filepath.Join(dir, ".mlperf-saving-x-kept[1].onnx")}
	for _, file := range append(theirs, path, old, young) {
		testenv.Must(t, os.WriteFile(file, nil, 0o644))
	}
	long := time.Now().Add(-2 * time.Hour)
	for _, file := range append(theirs, path, old) {
		testenv.Must(t, os.Chtimes(file, long, long))
	}
	made, err := temporaryBeside(path)
	testenv.Must(t, err)
	if filepath.Dir(made) != dir || filepath.Ext(made) != ".onnx" {
		t.Errorf("the temporary file is %s", made)
	}
	for file, want := range map[string]bool{path: true, old: false, young: true, theirs[0]: true, theirs[1]: true, theirs[2]: true} {
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

// A file that this program did not write, or that was changed since, is not replaced.
func TestOptimisedModelReplacesOnlyItsOwn(t *testing.T) {
	for name, files := range map[string]map[string]string{
		"a model of the user":         {"kept.onnx": "theirs"},
		"a key of the user":           {"kept.onnx.key": "theirs"},
		"with a key of another model": {"kept.onnx": "theirs", "kept.onnx.key": "model sha256 1\nfile 1 bytes of 1\n"},
	} {
		dir := t.TempDir()
		testenv.Tree(t, dir, files)
		testenv.Must(t, os.WriteFile(filepath.Join(dir, "model.onnx"), doubled("N").encode(), 0o644))
		for _, kept := range []string{"kept.onnx", "model.onnx"} {
			p := plan{options: backend.Options{ModelPath: filepath.Join(dir, "model.onnx"), OptimizedModel: filepath.Join(dir, kept)}}
			if _, err := p.optimized(t.Context(), "1.24.3"); err == nil || !strings.Contains(err.Error(), "was not written by this program") {
				t.Errorf("%s, %s: %v", name, kept, err)
			}
		}
		if left, _ := os.ReadDir(dir); len(left) != len(files)+1 {
			t.Errorf("%s: the folder has %v", name, left)
		}
	}
}
