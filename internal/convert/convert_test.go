package convert

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/builtin/arch"
	"github.com/mlperf-go/mlperf/internal/builtin/synth"
	"github.com/mlperf-go/mlperf/internal/models"
	"github.com/mlperf-go/mlperf/internal/onnx"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// tiny is a converter for a classifier that looks at the mean colours of a few images.
func tiny(t *testing.T) Converter {
	t.Helper()
	dir := t.TempDir()
	data := filepath.Join(dir, "imagenet")
	if err := synth.WriteImageNet(t.Context(), data, synth.ImageNetSpec{Seed: 1, Images: 6, Classes: 3, Jitter: 0.1}, nil); err != nil {
		t.Fatal(err)
	}
	model, err := models.Lookup("resnet50")
	if err != nil {
		t.Fatal(err)
	}
	c := Converter{Model: model, Source: filepath.Join(dir, "tiny.onnx"), DatasetDir: data, Observer: silent{}}
	write(t, c.Source, onnx.Batched(3, 224, 224))
	return c
}

func write(t *testing.T, path string, input onnx.Shape) {
	t.Helper()
	b := arch.NewBuilder("tiny", 1)
	x := b.Input("image", onnx.Float32, input)
	x = b.Flatten("features", b.GlobalAveragePool("pool", x))
	b.Output(b.Softmax("softmax", b.Dense("scores", x, arch.Dense{Units: 1000}), 1))
	m, _, err := b.Model()
	if err != nil {
		t.Fatal(err)
	}
	if err := m.WriteFile(t.Context(), path); err != nil {
		t.Fatal(err)
	}
}

func TestAFloat16ModelIsMadeOnceAndDescribed(t *testing.T) {
	c := tiny(t)
	dir := filepath.Join(t.TempDir(), "converted")
	path, err := c.Cached(t.Context(), Request{Precision: FP16}, dir)
	if err != nil {
		t.Fatal(err)
	}
	m, err := onnx.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(m.Graph.Initializers, func(w *onnx.Tensor) bool { return w.Type == onnx.Float16 }) {
		t.Error("no weights are float16")
	}
	notes, err := os.ReadFile(DescriptionFile(path))
	if err != nil || !strings.Contains(string(notes), "float16") {
		t.Errorf("the description is %q, %v", notes, err)
	}
	before, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	again, err := c.Cached(t.Context(), Request{Precision: FP16}, dir)
	if after, _ := os.Stat(again); err != nil || again != path || !after.ModTime().Equal(before.ModTime()) {
		t.Errorf("the second time it is %s, %v", again, err)
	}
}

func TestTheNameOfAKeptModelFollowsFromAllThatItIsMadeOf(t *testing.T) {
	c := tiny(t)
	names := map[string]string{}
	for what, r := range map[string]Request{
		"float16": {Precision: FP16}, "integers": {Precision: INT8}, "other samples": {Precision: INT8, Samples: []int{3}},
		"a target": {Precision: INT8, Target: 0.99},
	} {
		key, err := c.key(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		if other, ok := names[key]; ok {
			t.Errorf("%s and %s have one name", what, other)
		}
		names[key] = what
	}
	write(t, c.Source, onnx.Batched(3, 192, 192))
	if key, err := c.key(t.Context(), Request{Precision: FP16}); err != nil || names[key] != "" {
		t.Errorf("another file has the key %s of %s, %v", key, names[key], err)
	}
}

// moveOut moves the elements of a model's first initializer to a data file beside it.
func moveOut(t *testing.T, path string) (data string) {
	t.Helper()
	m, err := onnx.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	w := m.Graph.Initializers[0]
	raw, err := w.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	data = filepath.Join(filepath.Dir(path), "weights.data")
	if err := os.WriteFile(data, raw, 0o644); err != nil {
		t.Fatal(err)
	}
	w.Data, w.External = nil, []onnx.Property{{Key: "location", Value: "weights.data"}}
	if err := m.WriteFile(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	return data
}

func TestDataFilesOfAModelAreConvertedWithIt(t *testing.T) {
	c := tiny(t)
	inside, _, err := c.Make(t.Context(), Request{Precision: FP16})
	if err != nil {
		t.Fatal(err)
	}
	var want, got bytes.Buffer
	if _, err := inside.WriteTo(&want); err != nil {
		t.Fatal(err)
	}
	data := moveOut(t, c.Source)
	outside, _, err := c.Make(t.Context(), Request{Precision: FP16})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := outside.WriteTo(&got); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Bytes(), want.Bytes()) {
		t.Error("the model with a data file is converted to another one than without")
	}

	before, err := c.key(t.Context(), Request{Precision: FP16})
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(data)
	if err != nil {
		t.Fatal(err)
	}
	content[0]++
	if err := os.WriteFile(data, content, 0o644); err != nil {
		t.Fatal(err)
	}
	if after, err := c.key(t.Context(), Request{Precision: FP16}); err != nil || after == before {
		t.Errorf("with other data the name is %s, %v, as before", after, err)
	}
	if err := os.Remove(data); err != nil {
		t.Fatal(err)
	}
	if _, _, err := c.Make(t.Context(), Request{Precision: FP16}); err == nil || !strings.Contains(err.Error(), "weights.data") {
		t.Errorf("without its data file: %v, want an error that names it", err)
	}
}

func TestWhatCannotBeConvertedIsRefused(t *testing.T) {
	c := tiny(t)
	missing, odd := c, c
	missing.Source = "nowhere.onnx"
	odd.Source = filepath.Join(t.TempDir(), "odd.onnx")
	write(t, odd.Source, onnx.Batched(3, 192, 192))
	stopped, stop := context.WithCancelCause(t.Context())
	stop(errors.New("enough"))
	for _, test := range []struct {
		name string
		ctx  context.Context
		c    Converter
		r    Request
		want string
	}{
		{"an unknown precision", t.Context(), c, Request{Precision: "int4"}, `"int4"`},
		{"no file", t.Context(), missing, Request{Precision: FP16}, "nowhere.onnx"},
		{"a sample before the data", t.Context(), c, Request{Precision: INT8, Samples: []int{0, -1}}, "there is no sample -1, the data set has 6"},
		{"a sample beyond the data", t.Context(), c, Request{Precision: INT8, Samples: []int{0, 6}}, "there is no sample 6, the data set has 6"},
		{"an input of another size", t.Context(), odd, Request{Precision: INT8}, "192"},
		{"a stop", stopped, c, Request{Precision: INT8}, "enough"},
	} {
		if m, _, err := test.c.Make(test.ctx, test.r); m != nil || err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %s", test.name, err, test.want)
		}
	}
}

func TestACalibrationListNamesFilesOrIndices(t *testing.T) {
	c := tiny(t)
	got, err := c.Indices(strings.NewReader("ILSVRC2012_val_00000003.JPEG\n\n  0 \nval/ILSVRC2012_val_00000006.JPEG\n"), "list.txt")
	if marked, err := c.Indices(strings.NewReader("\ufeff4\r\n1\r\n"), "list.txt"); err != nil || !slices.Equal(marked, []int{4, 1}) {
		t.Errorf("of a list that Windows wrote: %v, %v, want 4 and 1", marked, err)
	}
	if want := []int{2, 0, 5}; err != nil || !slices.Equal(got, want) {
		t.Errorf("indices %v, %v, want %v", got, err, want)
	}
	for text, want := range map[string]string{
		"1\nnobody.jpg":            `list.txt:2: "nobody.jpg" is neither a file of the data set nor an index`,
		"6":                        "list.txt:1: there is no sample 6, the data set has 6",
		"-1":                       "there is no sample -1",
		" \n":                      "list.txt names no samples",
		strings.Repeat("7", 1<<17): "reading list.txt: ",
	} {
		if _, err := c.Indices(strings.NewReader(text), "list.txt"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

func TestAListNeedsTheModelThatSaysHowDataIsRead(t *testing.T) {
	c := tiny(t)
	c.Source = "nowhere.onnx"
	if _, err := c.Indices(strings.NewReader("0"), "list.txt"); err == nil || !strings.Contains(err.Error(), "nowhere.onnx") {
		t.Errorf("Indices = %v, want an error that names the model", err)
	}
}

func FuzzParseList(f *testing.F) {
	f.Add("a.jpg\n2\n")
	f.Fuzz(func(t *testing.T, text string) {
		indices, err := parseList(strings.NewReader(text), "list", 5, map[string]int{"a.jpg": 4})
		if err == nil && len(indices) == 0 {
			t.Error("no samples and no error")
		}
		for _, i := range indices {
			if i < 0 || i > 4 {
				t.Errorf("index %d", i)
			}
		}
	})
}

func TestSamplesMustBeOneInputOfTheModel(t *testing.T) {
	for _, test := range []struct {
		input, sample tensor.Shape
		want          bool
	}{
		{tensor.Shape{-1, 3, 4, 4}, tensor.Shape{3, 4, 4}, true},
		{tensor.Shape{8, -1, 4, 4}, tensor.Shape{3, 4, 4}, true},
		{tensor.Shape{-1, 3, 5, 4}, tensor.Shape{3, 4, 4}, false},
		{tensor.Shape{3, 4, 4}, tensor.Shape{3, 4, 4}, false},
	} {
		if got := takes(test.input, test.sample); got != test.want {
			t.Errorf("%v takes %v: %v", test.input, test.sample, got)
		}
	}
}

func TestADescriptionThatCannotBeWrittenLeavesNoModel(t *testing.T) {
	c := tiny(t)
	m, d, err := c.Make(t.Context(), Request{Precision: FP16})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "model.onnx")
	if err := os.Mkdir(DescriptionFile(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := c.Write(t.Context(), path, FP16, m, d); err == nil || !strings.Contains(err.Error(), "model.md") {
		t.Errorf("Write = %v, want an error that names model.md", err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("there is a model without a description: %v", err)
	}
}

func TestADescriptionNeedsTheModelThatItIsOf(t *testing.T) {
	c := tiny(t)
	m, d, err := c.Make(t.Context(), Request{Precision: FP16})
	if err != nil {
		t.Fatal(err)
	}
	c.Source = "nowhere.onnx"
	path := filepath.Join(t.TempDir(), "model.onnx")
	if err := c.Write(t.Context(), path, FP16, m, d); err == nil || !strings.Contains(err.Error(), "nowhere.onnx") {
		t.Errorf("Write = %v, want an error that names the source", err)
	}
	if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) > 0 {
		t.Errorf("%v were written, %v", left, err)
	}
}

func TestADescriptionEndsWithWhatTheModelWasMadeFrom(t *testing.T) {
	c := tiny(t)
	path, err := c.Cached(t.Context(), Request{Precision: FP16}, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile(c.Source)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(DescriptionFile(path))
	want := fmt.Sprintf("\n\n## Origin\n\nStarting weights: %q, SHA-256 %x; made into fp16.\n", filepath.Base(c.Source), sha256.Sum256(source))
	if err != nil || !strings.HasSuffix(string(text), want) {
		t.Errorf("the description is %q, %v, want %q at its end", text, err, want)
	}
}

func TestAKeptModelIsNotLookedForWithoutItsSource(t *testing.T) {
	c := tiny(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, source, folder, precision, want string
	}{
		{"no source", "nowhere.onnx", dir, FP16, "the model file"},
		{"a file where the folder should be", c.Source, file, FP16, "not a directory"},
		{"a precision that is none", c.Source, dir, "int4", `"int4"`},
	} {
		c.Source = test.source
		if path, err := c.Cached(t.Context(), Request{Precision: test.precision}, test.folder); path != "" || err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %q, %v, want %s", test.name, path, err, test.want)
		}
	}
}

func TestAModelOfSeveralFilesIsNotCalibrated(t *testing.T) {
	c := tiny(t)
	var err error
	if c.Model, err = models.Lookup("gnmt"); err != nil {
		t.Fatal(err)
	}
	if _, _, err := c.Make(t.Context(), Request{Precision: INT8}); err == nil || !strings.Contains(err.Error(), "gnmt cannot be calibrated here") {
		t.Errorf("Make = %v, want an error that says why not", err)
	}
}
