package convert

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/onnx"
	"github.com/mlperf-go/mlperf/internal/quantize"
	"github.com/mlperf-go/mlperf/internal/workload"
)

// severalFiles is a converter for a model of two files.
func severalFiles(t *testing.T) Converter {
	t.Helper()
	c := tiny(t)
	folder := t.TempDir()
	c.Model.Name, c.Model.Files, c.Source = "two", workload.Roles("encoder", "decoder"), folder
	for _, role := range []string{"encoder", "decoder"} {
		write(t, filepath.Join(folder, role+".onnx"), onnx.Batched(3, 224, 224))
	}
	return c
}

func TestAllFilesOfAModelAreConvertedOnce(t *testing.T) {
	c := severalFiles(t)
	for _, precision := range []string{INT8, FP16} {
		dir := filepath.Join(t.TempDir(), "converted")
		path, err := c.Cached(t.Context(), Request{Precision: precision}, dir)
		if err != nil {
			t.Fatal(err)
		}
		files, err := c.Model.FilesOf(path)
		if err != nil || !strings.HasPrefix(filepath.Base(path), "two-"+precision+"-") {
			t.Fatalf("%s has %v, %v", path, files, err)
		}
		for _, f := range files {
			m, err := onnx.ReadFile(f.Path)
			if err != nil {
				t.Fatal(err)
			}
			kept := 0
			for _, w := range m.Graph.Initializers {
				if w.Type == onnx.Float32 && len(w.Dims) == 2 {
					kept++
				}
			}
			if kept > 0 {
				t.Errorf("%s: %d weights of %s are FP32", precision, kept, f.Role)
			}
		}
		notes, err := os.ReadFile(DescriptionFile(path))
		if err != nil || strings.Count(string(notes), "\n# ")+1 != 2 {
			t.Errorf("the description is %q, %v", notes, err)
		}
		before, _ := os.Stat(path)
		again, err := c.Cached(t.Context(), Request{Precision: precision}, dir)
		if after, _ := os.Stat(again); err != nil || again != path || !after.ModTime().Equal(before.ModTime()) {
			t.Errorf("the second time it is %s, %v", again, err)
		}
		if left, _ := filepath.Glob(filepath.Join(dir, ".making*")); len(left) > 0 {
			t.Errorf("%v are left", left)
		}
	}
}

func TestTheNameOfConvertedFilesFollowsFromAllOfThem(t *testing.T) {
	c := severalFiles(t)
	before, err := c.key(t.Context(), Request{Precision: INT8})
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(c.Source, "decoder.onnx"), onnx.Batched(3, 192, 192))
	if after, err := c.key(t.Context(), Request{Precision: INT8}); err != nil || after == before {
		t.Errorf("another decoder has the key %s too, %v", after, err)
	}
}

func TestWhatSeveralFilesCannotBeConvertedWith(t *testing.T) {
	c := severalFiles(t)
	for _, r := range []Request{{Precision: INT8, Target: 0.99}, {Precision: INT8, Samples: []int{1}}} {
		if _, err := c.MakeFolder(t.Context(), r, t.TempDir()); !errors.Is(err, errSeveral) {
			t.Errorf("%+v: %v", r, err)
		}
	}
	if _, err := c.MakeFolder(t.Context(), Request{Precision: "int4"}, t.TempDir()); err == nil || err.Error() != `models cannot be converted to "int4", only to fp16 or int8` {
		t.Errorf("to int4: %v", err)
	}
	out := filepath.Join(t.TempDir(), "out")
	d, err := c.WriteFolder(t.Context(), Request{Precision: INT8, Options: quantize.Options{Exclude: []string{"nothing"}}}, out)
	if err != nil || len(d) != 2 {
		t.Fatalf("%v, %v", d, err)
	}
	if _, err := c.WriteFolder(t.Context(), Request{Precision: INT8}, out); err == nil {
		t.Error("a folder that is there is written into")
	}
	stopped, stop := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	stop(enough)
	if _, err := c.MakeFolder(stopped, Request{Precision: FP16}, t.TempDir()); !errors.Is(err, enough) {
		t.Errorf("when nobody waits: %v, want %v", err, enough)
	}
	if err := os.WriteFile(filepath.Join(c.Source, "decoder.onnx"), []byte("<html>"), 0o644); err != nil {
		t.Fatal(err)
	}
	half := filepath.Join(t.TempDir(), "half") // the encoder is converted before the decoder is looked at
	if _, err := c.WriteFolder(t.Context(), Request{Precision: INT8}, half); err == nil || !strings.Contains(err.Error(), "decoder.onnx") {
		t.Errorf("a file that is no model: %v", err)
	}
	if left, _ := os.ReadDir(filepath.Dir(half)); len(left) > 0 {
		t.Errorf("%v is left, in the way of another try", left)
	}
	if err := os.Remove(filepath.Join(c.Source, "encoder.onnx")); err != nil {
		t.Fatal(err)
	}
	if _, err := c.MakeFolder(t.Context(), Request{Precision: INT8}, t.TempDir()); err == nil || !strings.Contains(err.Error(), "encoder") {
		t.Errorf("MakeFolder without a file: %v", err)
	}
	if _, err := c.Cached(t.Context(), Request{Precision: INT8}, t.TempDir()); err == nil || !strings.Contains(err.Error(), "encoder") {
		t.Errorf("a file is missing: %v", err)
	}
}
