package convert

import (
	"bytes"
	"context"
	"crypto/md5"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/backend/simulated"
	"github.com/mlperf-go/mlperf/internal/builtin/synth"
	"github.com/mlperf-go/mlperf/internal/convert/quantize"
	"github.com/mlperf-go/mlperf/internal/models"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/onnx"
	"github.com/mlperf-go/mlperf/internal/onnx/arch"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/testenv"
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

func TestCachedFloat16(t *testing.T) {
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

func TestCacheKey(t *testing.T) {
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

func TestMakeReadsDataFiles(t *testing.T) {
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

func TestMakeErrors(t *testing.T) {
	c := tiny(t)
	missing, odd, several := c, c, c
	var err error
	if several.Model, err = models.Lookup("gnmt"); err != nil {
		t.Fatal(err)
	}
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
		{"an unknown precision", t.Context(), c, Request{Precision: "int3"}, `"int3"`},
		{"no file", t.Context(), missing, Request{Precision: FP16}, "nowhere.onnx"},
		{"a sample before the data", t.Context(), c, Request{Precision: INT8, Samples: []int{0, -1}}, "there is no sample -1, the data set has 6"},
		{"a sample beyond the data", t.Context(), c, Request{Precision: INT8, Samples: []int{0, 6}}, "there is no sample 6, the data set has 6"},
		{"an input of another size", t.Context(), odd, Request{Precision: INT8}, "192"},
		{"several files", t.Context(), several, Request{Precision: INT8}, "gnmt cannot be calibrated here"},
		{"a stop", stopped, c, Request{Precision: INT8}, "enough"},
	} {
		if m, _, err := test.c.Make(test.ctx, test.r); m != nil || err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %s", test.name, err, test.want)
		}
	}
}

func TestIndices(t *testing.T) {
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

func TestWriteNeedsADescription(t *testing.T) {
	c := tiny(t)
	m, d, err := c.Make(t.Context(), Request{Precision: FP16})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "model.onnx")
	if err := os.Mkdir(DescriptionFile(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := c.Write(t.Context(), path, m, d); err == nil || !strings.Contains(err.Error(), "model.md") {
		t.Errorf("Write = %v, want an error that names model.md", err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("there is a model without a description: %v", err)
	}
}

func TestDescriptionEndsWithOrigin(t *testing.T) {
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

// A model says of which file it was made, and that of which one before.
func TestModelsSayTheirOrigin(t *testing.T) {
	c := tiny(t)
	c.Program = "mlperf 0.9"
	first := Origin{File: "tiny.onnx", By: "mlperf 0.9 quantize --precision fp16"}
	content, err := os.ReadFile(c.Source)
	if err != nil {
		t.Fatal(err)
	}
	first.SHA256, first.MD5 = fmt.Sprintf("%x", sha256.Sum256(content)), fmt.Sprintf("%x", md5.Sum(content))
	path, err := c.Cached(t.Context(), Request{Precision: FP16}, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if got := originsOf(t, path); !slices.Equal(got, []Origin{first}) {
		t.Errorf("it says %+v, want %+v", got, first)
	}
	if got := ConversionOf(path); got == nil || got.Precision != FP16 || got.Nodes == 0 || got.Of != got.Nodes || got.NotCompared != "there is no engine" {
		t.Errorf("it says that it was converted so: %+v", got)
	}
	if got := ConversionOf(path, c.Source); got != nil {
		t.Errorf("with an FP32 file beside: %+v, want none", got)
	}
	m, err := onnx.ReadWhole(path)
	if err != nil {
		t.Fatal(err)
	}
	again := filepath.Join(t.TempDir(), "again.onnx")
	c.Source = path
	if err := c.Write(t.Context(), again, m, madeOf(FP16, quantize.Float16Report{})); err != nil {
		t.Fatal(err)
	}
	if got := originsOf(t, again); len(got) != 2 || got[0] != first || got[1].File != filepath.Base(path) {
		t.Errorf("after two steps it says %+v", got)
	}

	several, folder := severalFiles(t), filepath.Join(t.TempDir(), "two")
	if _, err := several.WriteFolder(t.Context(), Request{Precision: INT8}, folder); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"encoder.onnx", "decoder.onnx"} {
		if got := originsOf(t, filepath.Join(folder, name)); len(got) != 1 || got[0].File != name || len(got[0].MD5) != 32 {
			t.Errorf("%s says %+v", name, got)
		}
	}
}

func originsOf(t *testing.T, path string) []Origin {
	t.Helper()
	head, err := onnx.ReadHead(path)
	if err != nil {
		t.Fatal(err)
	}
	return Origins(head.Metadata)
}

// A steadyEngine gives the same few numbers for any model, and counts its runs.
type steadyEngine struct {
	backend.Engine
	mu   sync.Mutex
	runs int
}

func newSteadyEngine(t *testing.T) *steadyEngine {
	t.Helper()
	s := &steadyEngine{}
	engine, err := simulated.New(simulated.Config{Answer: s.answer})
	if err != nil {
		t.Fatal(err)
	}
	s.Engine = engine
	return s
}

func (s *steadyEngine) answer(_, outputs []tensor.Tensor) error {
	s.mu.Lock()
	s.runs++
	s.mu.Unlock()
	for _, o := range outputs {
		if o.Type != tensor.Float32 {
			continue
		}
		data := tensor.Data[float32](o)
		for i := range data {
			data[i] = float32(i%7) - 3
		}
	}
	return nil
}

// A recorder keeps the messages of an observer.
type recorder struct {
	silent
	said   []string
	loaded []string
}

func (l *recorder) Phase(name string)    { l.said = append(l.said, name) }
func (l *recorder) Note(text string)     { l.said = append(l.said, text) }
func (l *recorder) Items(done, of int)   { l.Loading(done, of) }
func (l *recorder) Loading(done, of int) { l.loaded = append(l.loaded, fmt.Sprintf("%d/%d", done, of)) }

func integersOf(m *onnx.Model) (weights []string) {
	for _, w := range m.Graph.Initializers {
		if w.Type == onnx.Int8 && len(w.Dims) == 2 {
			weights = append(weights, w.Name)
		}
	}
	return weights
}

func TestMakeCalibratesWithSamples(t *testing.T) {
	for _, c := range []struct {
		name    string
		samples []int
		want    string
	}{
		{"all there are, since there are fewer than 64", nil, "1/6 2/6 3/6 4/6 5/6 6/6"},
		{"two of them", []int{5, 2}, "1/2 2/2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			engine, heard := newSteadyEngine(t), &recorder{}
			converter := tiny(t)
			converter.Engine, converter.Observer = engine, heard
			m, d, err := converter.Make(t.Context(), Request{Precision: INT8, Samples: c.samples})
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(heard.loaded, " "); got != c.want {
				t.Errorf("prepared %s, want %s", got, c.want)
			}
			if !slices.Equal(heard.said, []string{"quantising to 8-bit integers", "comparing answers with those of FP32"}) {
				t.Errorf("said %q", heard.said)
			}
			if weights := integersOf(m); len(weights) != 1 {
				t.Errorf("weights of integers are %q, want those of the last layer", weights)
			}
			var notes strings.Builder
			if err := d.WriteMarkdown(&notes); err != nil || !strings.Contains(notes.String(), "scores") {
				t.Errorf("the description names no layer: %v\n%s", err, notes.String())
			}
			if engine.runs == 0 {
				t.Error("the model was never run")
			}
		})
	}
}

func TestDynamicNeedsNoSamples(t *testing.T) {
	c := tiny(t)
	write(t, c.Source, onnx.Batched(3, 192, 192)) // the samples are no input of it
	m, _, err := c.Make(t.Context(), Request{Precision: INT8, Method: quantize.AtRunTime})
	if err != nil || len(integersOf(m)) == 0 {
		t.Errorf("weights of integers are %v, %v", m, err)
	}
}

// What a sample is to a model follows from their axes.
func TestFitOf(t *testing.T) {
	port := func(shape ...int64) backend.Port { return backend.Port{Type: tensor.Float32, Shape: shape} }
	slot := func(shape ...int64) workload.Slot { return workload.Slot{Type: tensor.Float32, Shape: shape} }
	for _, c := range []struct {
		name   string
		inputs []backend.Port
		row    []workload.Slot
		want   fit
		ok     bool
	}{
		{"any batch", []backend.Port{port(-1, 3, -1)}, []workload.Slot{slot(3, 8)}, fit{batch: 1}, true},
		{"a batch of six", []backend.Port{port(6, 6), port(6, 5)}, []workload.Slot{slot(6), slot(5)}, fit{batch: 6}, true},
		{"no batch axis", []backend.Port{port(3, -1, -1)}, []workload.Slot{slot(3, 8, 8)}, fit{1, true}, true},
		{"a number beside", []backend.Port{port(-1, 8), port()}, []workload.Slot{slot(1, 8), slot()}, fit{1, true}, true},
		{"any shape", []backend.Port{{Type: tensor.Float32, AnyShape: true}}, []workload.Slot{slot(3)}, fit{batch: 1}, true},
		{"other extents", []backend.Port{port(-1, 3, 4)}, []workload.Slot{slot(3, 5)}, fit{}, false},
		{"another batch", []backend.Port{port(6, 6), port(4, 5)}, []workload.Slot{slot(6), slot(5)}, fit{}, false},
		{"another type", []backend.Port{{Type: tensor.Int64, Shape: []int64{-1, 3}}}, []workload.Slot{slot(3)}, fit{}, false},
		{"fewer inputs", []backend.Port{port(-1, 3), port(-1)}, []workload.Slot{slot(3)}, fit{}, false},
		{"no inputs", nil, nil, fit{}, false},
	} {
		if got, ok := fitOf(c.inputs, c.row); ok != c.ok || ok && got != c.want {
			t.Errorf("%s: %+v, %v, want %+v, %v", c.name, got, ok, c.want, c.ok)
		}
	}
}

// A model of a fixed batch is calibrated with as many samples at once, of which the last batch has the first ones again.
func TestMakeCalibratesFixedBatch(t *testing.T) {
	c, heard := tiny(t), &recorder{}
	c.Engine, c.Observer = newSteadyEngine(t), heard
	write(t, c.Source, onnx.FixedShape([]int64{4, 3, 224, 224}))
	_, made, err := c.Make(t.Context(), Request{Precision: INT8})
	if err != nil {
		t.Fatal(err)
	}
	if r := made.Description.(quantize.Report); r.Samples != 8 || made.Agreement == nil || made.Agreement.Samples != 8 {
		t.Errorf("%d samples, compared with %+v, want 8", r.Samples, made.Agreement)
	}
	if got := heard.loaded[len(heard.loaded)-1]; got != "8/8" {
		t.Errorf("prepared %s, want 8 of 6 samples", got)
	}
}

// The method without samples is named where it has something to do.
func TestMethodThatNeedsNoSamples(t *testing.T) {
	c := tiny(t)
	c.Engine = newSteadyEngine(t)
	write(t, c.Source, onnx.Batched(3, 192, 192)) // the samples are no input of it
	r := Request{Precision: INT8}
	const hint = "; the method dynamic needs no samples"
	if _, _, err := c.Make(t.Context(), r); err == nil || !strings.HasSuffix(err.Error(), hint) {
		t.Errorf("a matrix product: %v", err)
	}
	r.Options.Exclude = []string{"scores"}
	if _, _, err := c.Make(t.Context(), r); err == nil || strings.HasSuffix(err.Error(), hint) {
		t.Errorf("nothing to do at run time: %v", err)
	}
}

func TestMakeExcludesLayers(t *testing.T) {
	c := tiny(t)
	c.Engine = newSteadyEngine(t)
	r := Request{Precision: INT8, Options: quantize.Options{Exclude: []string{"scores"}}}
	if m, _, err := c.Make(t.Context(), r); err == nil || !strings.Contains(err.Error(), "quantising "+c.Source) {
		t.Errorf("the only layer with weights is left out: %v, %v", integersOf(m), err)
	}
	r.Options.Exclude = []string{"nobody"}
	if _, _, err := c.Make(t.Context(), r); err == nil || !strings.Contains(err.Error(), `no layer "nobody" to exclude`) {
		t.Errorf("error %v", err)
	}
}

func TestTargetIsAPartOfTheFP32Score(t *testing.T) {
	c, heard := tiny(t), &recorder{}
	c.Engine, c.Observer, c.Program = newSteadyEngine(t), heard, "test"
	m, _, err := c.Make(t.Context(), Request{Precision: INT8, Target: 0.5, ScoreCount: 3, RankByNoise: true})
	if err != nil || len(integersOf(m)) != 1 {
		t.Fatalf("%v, %v", integersOf(m), err)
	}
	// The engine says the same whatever the model, so both score the same.
	said := strings.Join(heard.said, "; ")
	var reference, target, candidate float64
	if n, err := fmt.Sscanf(said, "quantising to 8-bit integers; the FP32 model scores %g, the target is %g; a candidate scores %g", &reference, &target, &candidate); n != 3 || err != nil {
		t.Fatalf("said %q, %v", said, err)
	}
	if target != reference/2 || candidate != reference {
		t.Errorf("said %q", said)
	}
}

func TestSensitivity(t *testing.T) {
	c, heard := tiny(t), &recorder{}
	c.Engine, c.Observer = newSteadyEngine(t), heard
	scores, err := c.Sensitivity(t.Context(), Request{Precision: INT8, Samples: []int{0, 1}})
	if err != nil || len(scores) != 1 || scores[0].Layer != "scores" || scores[0].Op != "Gemm" {
		t.Errorf("%+v, %v, want the layer scores", scores, err)
	}
	if got := strings.Join(heard.said, "; "); got != "calibrating, and quantising one layer at a time" {
		t.Errorf("said %q", got)
	}
	if got := strings.Join(heard.loaded, " "); got != "1/2 2/2 1/1" {
		t.Errorf("told of %q, want two samples and one layer", got)
	}
	for _, test := range []struct {
		name, source string
		samples      []int
		want         string
	}{
		{"no model", "nowhere.onnx", nil, "nowhere.onnx"},
		{"no such sample", c.Source, []int{6}, "there is no sample 6"},
	} {
		c.Source = test.source
		if _, err := c.Sensitivity(t.Context(), Request{Samples: test.samples}); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %s", test.name, err, test.want)
		}
	}
}

func TestStopEndsCalibration(t *testing.T) {
	c := tiny(t)
	enough := errors.New("enough")
	ctx, stop := context.WithCancelCause(t.Context())
	c.Engine, c.Observer = newSteadyEngine(t), stopper{stop: func() { stop(enough) }}
	if _, _, err := c.Make(ctx, Request{Precision: INT8}); !errors.Is(err, enough) {
		t.Errorf("error %v, want %v", err, enough)
	}
}

// stopper stops when the first sample is there.
type stopper struct {
	silent
	stop func()
}

func (s stopper) Loading(int, int) { s.stop() }

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

func TestCachedFolder(t *testing.T) {
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

// relay gives the encoder a picture of the number of the sample, twice, and the decoder one of ten more.
type relay struct {
	sessions workload.Sessions
	store    *workload.Store
}

func (r *relay) Use(store *workload.Store) error { r.store = store; return nil }
func (r *relay) Close() error                    { return nil }

func (r *relay) Predict(ctx context.Context, items []workload.Item, _ workload.Reply) error {
	number := tensor.Data[float32](r.store.Row(items[0].Row)[0])[0]
	for _, run := range []struct {
		role string
		v    float32
	}{{"encoder", number}, {"encoder", number + 1}, {"decoder", number + 10}} {
		picture := tensor.Of(slices.Repeat([]float32{run.v}, 3*224*224), 1, 3, 224, 224)
		in, err := r.sessions[run.role].Bind(picture)
		if err != nil {
			return err
		}
		if err := r.sessions[run.role].Run(ctx, []backend.Value{in}, make([]backend.Value, 1)); err != nil {
			return err
		}
		clear(tensor.Data[float32](picture)) // the memory is the predictor's
	}
	return nil
}

// What a predictor gives each file calibrates it.
func TestRecordedFiles(t *testing.T) {
	c := severalFiles(t)
	c.Engine, c.Model.Recorded = newSteadyEngine(t), 2
	c.Model.Open = func(s workload.Setup) (*workload.Workload, error) {
		if len(s.Ports) != 2 || s.DatasetDir != c.DatasetDir {
			t.Errorf("ports %v, data %s", s.Ports, s.DatasetDir)
		}
		return &workload.Workload{
			Samples: 3, Row: func(int) []workload.Slot { return []workload.Slot{{Type: tensor.Float32, Shape: tensor.Shape{1}}} },
			Prepare: func(index int, row []tensor.Tensor) error {
				tensor.Data[float32](row[0])[0] = float32(100 * index)
				return nil
			},
			NewPredictor: func(sessions workload.Sessions, _ int) (workload.Predictor, error) {
				return &relay{sessions: sessions}, nil
			},
		}, nil
	}
	files, err := c.Model.FilesOf(c.Source)
	if err != nil {
		t.Fatal(err)
	}
	given, err := c.record(t.Context(), files)
	if err != nil {
		t.Fatal(err)
	}
	for role, want := range map[string][]float32{"encoder": {0, 1, 100, 101}, "decoder": {10, 110}} {
		var got []float32
		for _, inputs := range given[role] {
			got = append(got, tensor.Data[float32](inputs[0])[0])
		}
		if !slices.Equal(got, want) {
			t.Errorf("the %s was given %v, want %v", role, got, want)
		}
	}
	d, err := c.MakeFolder(t.Context(), Request{Precision: INT8}, t.TempDir())
	if err != nil || len(d) != 2 {
		t.Fatalf("%v, %v", d, err)
	}
	if report, ok := d[0].Description.(quantize.Report); !ok || report.Samples != 4 || d[0].NotCompared != "the model has several files" {
		t.Errorf("%+v, %s", d[0].Description, d[0].NotCompared)
	}
}

func TestCacheKeyOfFolder(t *testing.T) {
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

func TestMakeFolderErrors(t *testing.T) {
	c := severalFiles(t)
	for _, r := range []Request{{Precision: INT8, Target: 0.99}, {Precision: INT8, Samples: []int{1}}} {
		if _, err := c.MakeFolder(t.Context(), r, t.TempDir()); !errors.Is(err, errSeveral) {
			t.Errorf("%+v: %v", r, err)
		}
	}
	if _, err := c.MakeFolder(t.Context(), Request{Precision: "int3"}, t.TempDir()); !testenv.Names(err, `"int3" … fp16 … int8 … int4`) {
		t.Errorf("to int3: %v", err)
	}
	out := filepath.Join(t.TempDir(), "out")
	for _, precision := range []string{INT8, FP16} {
		r := Request{Precision: precision, Options: quantize.Options{Exclude: []string{"scores", "nothing"}}}
		if _, err := c.WriteFolder(t.Context(), r, out); !testenv.Names(err, `layer … "nothing"`) {
			t.Errorf("to %s without a layer that is not there: %v", precision, err)
		}
	}
}

func TestWriteFolder(t *testing.T) {
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

func TestWriteFolderLeavesNothing(t *testing.T) {
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

func TestFolderKeepsPaths(t *testing.T) {
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
func TestFolderExcludesLayers(t *testing.T) {
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

// model writes a model with a constant and an operator that takes it.
func model(t *testing.T, weights *onnx.Tensor, op string, attrs ...onnx.Attribute) string {
	t.Helper()
	m := &onnx.Model{IRVersion: 8, Opsets: []onnx.Opset{{Version: 17}}, Graph: &onnx.Graph{
		Name: "g", Initializers: []*onnx.Tensor{weights},
		Nodes: []*onnx.Node{{Op: op, Name: "n", Inputs: []string{weights.Name}, Outputs: []string{"y"}, Attributes: attrs}},
	}}
	path := filepath.Join(t.TempDir(), "m.onnx")
	if err := m.WriteFile(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestPrecisionOf(t *testing.T) {
	floats := onnx.TensorOf("w", []float32{1, 2}, 2)
	bytes := onnx.TensorOf("w", []uint8{1, 2}, 2)
	half := &onnx.Tensor{Name: "w", Type: onnx.Float16, Dims: []int64{2}, Data: onnx.Raw{0, 60, 0, 60}}
	brain := &onnx.Tensor{Name: "w", Type: onnx.BFloat16, Dims: []int64{2}, Data: onnx.Raw{0x80, 0x3f, 0x80, 0x3f}}
	nibbles := &onnx.Tensor{Name: "w", Type: onnx.Int4, Dims: []int64{2}, Data: onnx.Raw{0x21}}
	fp32 := model(t, floats, "Identity")
	for _, test := range []struct {
		name  string
		paths []string
		want  string
	}{
		{"floats", []string{fp32}, FP32},
		{"half precision", []string{model(t, half, "Identity")}, FP16},
		{"half precision of another kind", []string{model(t, brain, "Identity")}, "bf16"},
		{"four bits that are scaled", []string{model(t, nibbles, "DequantizeLinear")}, INT4},
		{"eight bits that are scaled", []string{model(t, bytes, "DequantizeLinear")}, INT8},
		{"integers", []string{model(t, bytes, "DynamicQuantizeMatMul")}, INT8},
		{"four bits", []string{model(t, bytes, "MatMulNBits", onnx.Attr("bits", int64(4)))}, "int4"},
		{"eight bits", []string{model(t, bytes, "MatMulNBits", onnx.Attr("bits", int64(8)))}, INT8},
		{"experts in four bits", []string{model(t, bytes, "QMoE", onnx.Attr("expert_weight_bits", int64(4)))}, "int4"},
		{"one file of two", []string{fp32, model(t, bytes, "ConvInteger")}, INT8},
	} {
		if got, err := PrecisionOf(test.paths...); err != nil || got != test.want {
			t.Errorf("%s: %q, %v, want %q", test.name, got, err, test.want)
		}
	}
	if got, err := PrecisionOf(filepath.Join(t.TempDir(), "missing")); err == nil {
		t.Errorf("a file that is not there is %q", got)
	}
}
