package builtin

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/onnx"
)

// tables returns a Maker of a DLRM with few rows, whose tables lie beside the model.
func tables(t *testing.T, dir string) Maker {
	return Maker{Dir: dir, Rows: 40, Observer: &observer{t: t}}
}

// beside wants a model and its data in a folder of the name of the model, and nothing else: a cache keeps or removes
// folders as a whole.
func beside(t *testing.T, what string, m Maker, model string) {
	t.Helper()
	folder := path.Join("models", strings.TrimSuffix(filepath.Base(model), ".onnx"))
	want := []string{path.Join(folder, filepath.Base(model)), path.Join(folder, filepath.Base(model)+onnx.DataSuffix)}
	if found := files(t, m.Dir); !slices.Equal(found, want) {
		t.Errorf("%s: there are %q, want %q", what, found, want)
	}
	if _, err := onnx.ReadWhole(model); err != nil {
		t.Errorf("%s: %v", what, err)
	}
}

// A stopping context is done from the time on at which it has been looked at so often, and says so once.
type stopping struct {
	context.Context
	looks int
	now   func()
}

var errStopped = errors.New("stopped by the user")

func (c *stopping) Err() error {
	c.looks--
	if c.looks == 0 {
		c.now()
	}
	if c.looks <= 0 {
		return errStopped
	}
	return nil
}

// Of the two files of a model one is never there without the other, whenever the work ends, and
// a Maker that is stopped takes nothing from one that has made the same meanwhile.
func TestAModelAndItsDataAreThereTogether(t *testing.T) {
	dlrm, whole := lookupModel(t, "dlrm"), &stopping{t.Context(), 1 << 30, func() {}}
	if _, err := tables(t, t.TempDir()).Model(whole, dlrm); err != nil {
		t.Fatal(err)
	}
	for _, at := range []int{1, 1<<30 - whole.looks} { // before the data, and between them and the model
		alone, two := tables(t, t.TempDir()), tables(t, t.TempDir())
		_, err := alone.Model(&stopping{t.Context(), at, func() {}}, dlrm)
		if found := files(t, alone.Dir); !errors.Is(err, errStopped) || len(found) > 0 {
			t.Errorf("stopped at look %d: %q are left, %v", at, found, err)
		}
		var made string
		if _, err = two.Model(&stopping{t.Context(), at, func() {
			if made, err = tables(t, two.Dir).Model(context.Background(), dlrm); err != nil {
				t.Error(err)
			}
		}}, dlrm); !errors.Is(err, errStopped) {
			t.Errorf("stopped at look %d beside another: %v", at, err)
		}
		beside(t, "beside one that was stopped", two, made)
	}
}

// The files follow from the recipe alone. Of two that are made at once the first stays, which somebody may have opened.
func TestAModelWithDataIsMadeOnceAndAlike(t *testing.T) {
	dlrm, m := lookupModel(t, "dlrm"), tables(t, t.TempDir())
	first, err := m.modelPath(dlrm)
	if err != nil {
		t.Fatal(err)
	}
	var contents [][]byte
	for _, m := range []Maker{m, tables(t, t.TempDir())} {
		made, err := m.Model(t.Context(), dlrm)
		if err != nil || filepath.Base(made) != filepath.Base(first) {
			t.Fatalf("made %s, %v, want the file of %s", made, err, first)
		}
		beside(t, "made", m, made)
		for _, name := range []string{made, made + onnx.DataSuffix} {
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			contents = append(contents, data)
		}
	}
	if !bytes.Equal(contents[0], contents[2]) || !bytes.Equal(contents[1], contents[3]) {
		t.Error("made twice, the files differ")
	}
	before, err := os.Stat(first)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.makeParts(t.Context(), dlrm.BuiltIn.(workload.Recipe), first); err != nil {
		t.Fatal(err)
	}
	if now, err := os.Stat(first); err != nil || !os.SameFile(before, now) {
		t.Errorf("the second one replaced the first, %v", err)
	}
}

// A pipeline has several files, which appear together.
func TestAModelOfSeveralFilesIsThereAsAWhole(t *testing.T) {
	pipeline, whole := lookupModel(t, "stable-diffusion-xl"), &stopping{t.Context(), 1 << 30, func() {}}
	m := Maker{Dir: t.TempDir(), Observer: &observer{t: t}}
	made, err := m.Model(whole, pipeline)
	if err != nil {
		t.Fatal(err)
	}
	parts, err := pipeline.FilesOf(made)
	if err != nil || len(parts) != 4 || filepath.Dir(made) != filepath.Join(m.Dir, modelsDir) {
		t.Errorf("made %s with %d files, %v", made, len(parts), err)
	}
	for _, part := range parts {
		if _, err := onnx.ReadWhole(part.Path); err != nil {
			t.Errorf("%s: %v", part.Role, err)
		}
	}
	if found := files(t, m.Dir); len(found) != 4 {
		t.Errorf("there are %q, want 4 files", found)
	}
	for _, at := range []int{1, 1<<30 - whole.looks} { // in the first file, and in the last
		m := Maker{Dir: t.TempDir(), Observer: &observer{t: t}}
		_, err := m.Model(&stopping{t.Context(), at, func() {}}, pipeline)
		if found := files(t, m.Dir); !errors.Is(err, errStopped) || len(found) > 0 {
			t.Errorf("stopped at look %d: %q are left, %v", at, found, err)
		}
	}
}
