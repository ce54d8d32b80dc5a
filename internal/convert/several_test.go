package convert

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/onnx"
	"github.com/mlperf-go/mlperf/internal/quantize"
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
	for _, precision := range []string{INT8, FP16} {
		r := Request{Precision: precision, Options: quantize.Options{Exclude: []string{"scores", "nothing"}}}
		if _, err := c.WriteFolder(t.Context(), r, out); err == nil || err.Error() != `no file of the model has a layer "nothing" to exclude` {
			t.Errorf("to %s without a layer that is not there: %v", precision, err)
		}
	}
}

func TestAFolderIsWrittenOnceAndOnlyWhileSomebodyWaits(t *testing.T) {
	c, out := severalFiles(t), filepath.Join(t.TempDir(), "out")
	d, err := c.WriteFolder(t.Context(), Request{Precision: INT8}, out)
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
}

func TestNothingIsLeftOfSeveralFilesOfWhichOneIsBad(t *testing.T) {
	c := severalFiles(t)
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

// pipeline makes the model one of several files of one name, each in a folder of its own, as Optimum exports pipelines.
func pipeline(t *testing.T, c Converter, roles ...string) Converter {
	t.Helper()
	for i, role := range roles {
		if err := os.MkdirAll(filepath.Join(c.Source, role), 0o755); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(c.Source, role, "model.onnx"), onnx.Batched(3, 32, int64(32*(i+1))))
	}
	c.Model.Files = func(folder string) (files []workload.File, err error) {
		for _, role := range roles {
			path := filepath.Join(folder, role, "model.onnx")
			if _, err := os.Stat(path); err != nil {
				return nil, err
			}
			files = append(files, workload.File{Role: role, Path: path})
		}
		return files, nil
	}
	return c
}

func TestFilesOfOneNameStayInTheirFolders(t *testing.T) {
	c := pipeline(t, severalFiles(t), "unet", "vae_decoder")
	for _, source := range []string{c.Source, c.Source + "/", filepath.Join(c.Source, "unet", "..")} {
		c.Source = source
		path, err := c.Cached(t.Context(), Request{Precision: FP16}, filepath.Join(t.TempDir(), "converted"))
		if err != nil {
			t.Fatal(err)
		}
		for i, role := range []string{"unet", "vae_decoder"} {
			m, err := onnx.ReadFile(filepath.Join(path, role, "model.onnx"))
			if err != nil {
				t.Fatalf("of %s: %v", source, err)
			}
			if width := m.Graph.Inputs[0].Type.Shape[3].Size; width != int64(32*(i+1)) {
				t.Errorf("%s has become a model of images %d wide", role, width)
			}
		}
		if files, err := os.ReadDir(path); err != nil || len(files) != 2 {
			t.Errorf("the folder has %v, %v", files, err)
		}
		notes, err := os.ReadFile(DescriptionFile(path))
		if err != nil || !strings.Contains(string(notes), `"unet/model.onnx"`) || !strings.Contains(string(notes), `"vae_decoder/model.onnx"`) {
			t.Errorf("the description is %q, %v", notes, err)
		}
	}
}

// A layer need not be in all files; in those that have it it stays as it is.
func TestLayersAreExcludedInTheFilesThatHaveThem(t *testing.T) {
	c := severalFiles(t)
	out := filepath.Join(t.TempDir(), "out")
	if err := onnxWithLayer(c.Source, "decoder.onnx", "scores", "words"); err != nil {
		t.Fatal(err)
	}
	if _, err := c.WriteFolder(t.Context(), Request{Precision: INT8, Options: quantize.Options{Exclude: []string{"words"}}}, out); err == nil || !strings.Contains(err.Error(), "decoder.onnx") {
		t.Errorf("a file of which nothing is left to quantise: %v", err)
	}
	if _, err := c.WriteFolder(t.Context(), Request{Precision: FP16, Options: quantize.Options{Exclude: []string{"words", "scores"}}}, out); err != nil {
		t.Error(err)
	}
}

// onnxWithLayer renames a layer of a file.
func onnxWithLayer(folder, file, old, name string) error {
	path := filepath.Join(folder, file)
	m, err := onnx.ReadFile(path)
	if err != nil {
		return err
	}
	for _, n := range m.Graph.Nodes {
		if n.Name == old {
			n.Name = name
		}
	}
	return m.WriteFile(context.Background(), path)
}
