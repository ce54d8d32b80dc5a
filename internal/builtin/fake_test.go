package builtin

import (
	"context"
	"io/fs"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/backend/simulated"
	"github.com/mlperf-go/mlperf/internal/builtin/synth"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/models"
	"github.com/mlperf-go/mlperf/internal/models/vision"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/onnx/arch"
	"github.com/mlperf-go/mlperf/internal/preprocess"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// A poolEngine runs MobileNet as if its features were the brightness of the image in a
// grid of 32×32. The last layer is told to it.
type poolEngine struct {
	classifier *arch.Classifier
	openErr    error
	runErr     error
	badSize    bool // features of another size
	opened     atomic.Int64
}

func (e *poolEngine) Name() string { return "onnxruntime" }
func (e *poolEngine) Close() error { return nil }

func (e *poolEngine) Ports(_ context.Context, opts backend.Options) (inputs, outputs []backend.Port, err error) {
	return backend.ReadPorts(opts.ModelPath)
}

func (e *poolEngine) Open(ctx context.Context, opts backend.Options) (backend.Session, error) {
	e.opened.Add(1)
	if e.openErr != nil {
		return nil, e.openErr
	}
	in, out, err := backend.ReadPorts(opts.ModelPath)
	if err != nil {
		return nil, err
	}
	if e.badSize {
		out[0].Shape = tensor.Shape{-1, 7}
	}
	engine, err := simulated.New(simulated.Config{Inputs: in, Outputs: out, Answer: e.answer})
	if err != nil {
		return nil, err
	}
	return engine.Open(ctx, backend.Options{Outputs: opts.Outputs})
}

const grid = 32

func (e *poolEngine) answer(in, out []tensor.Tensor) error {
	if e.runErr != nil {
		return e.runErr
	}
	n := int(in[0].Shape[0])
	images, answers := tensor.Data[float32](in[0]), tensor.Data[float32](out[0])
	width := len(answers) / n
	for k := range n {
		features := pool(images[k*len(images)/n:][:len(images)/n])
		if width != labels+1 {
			copy(answers[k*width:][:width], features)
			continue
		}
		copy(answers[k*width:][:width], e.classifier.Bias)
		for c := range 1 + small.Classes { // the weights of all others are 0
			weights := e.classifier.Weights[c*len(features):]
			for i, f := range features {
				answers[k*width+c] += weights[i] * f
			}
		}
	}
	return nil
}

// pool adds up the three colours of an image of 224×224 in a grid.
func pool(image []float32) []float32 {
	const size, cell = 224, 224 / grid
	features := make([]float32, grid*grid)
	for c := range 3 {
		for y := range size {
			for x := range size {
				features[y/cell*grid+x/cell] += image[(c*size+y)*size+x]
			}
		}
	}
	return features
}

// small is a data set that is made in a moment.
var small = synth.ImageNetSpec{Seed: 1, Images: 10, Classes: 5, Jitter: 0.2}

// maker returns a Maker of a small data set in a folder of its own, with an engine that can
// classify.
func maker(t testing.TB) Maker {
	t.Helper()
	m := Maker{Dir: t.TempDir(), Engine: &poolEngine{}, Observer: &observer{t: t}, Program: "test", images: small}
	return m
}

func mobileNet(t testing.TB) workload.Model {
	t.Helper()
	m, err := models.Lookup("mobilenet")
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// learn tells the engine its last layer: what its features of the anchors make.
func learn(t testing.TB, m Maker) {
	t.Helper()
	pipeline := pipelineOf(t, mobileNet(t))
	features := make([][]float32, m.images.Classes)
	var scratch preprocess.Scratch
	for k := range features {
		file, err := synth.AnchorJPEG(m.images, k)
		if err != nil {
			t.Fatal(err)
		}
		image := tensor.New(pipeline.Type, pipeline.Shape()...)
		if err := pipeline.ApplyFile(image, file, &scratch); err != nil {
			t.Fatal(err)
		}
		features[k] = pool(tensor.Data[float32](image))
	}
	c, err := nearestAnchor(features, grid*grid, 1, labels+1)
	if err != nil {
		t.Fatal(err)
	}
	m.Engine.(*poolEngine).classifier = c
}

func pipelineOf(t testing.TB, m workload.Model) preprocess.Pipeline {
	t.Helper()
	p, err := preprocess.Lookup(m.BuiltIn.(vision.BuiltIn).Pipeline)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// An observer keeps the phases, and notices when it is told two things at once.
type observer struct {
	t    testing.TB
	busy atomic.Bool
	mu   sync.Mutex // phases may be read while another Maker works
	said []string

	on func(what string) // called with the name of a phase, or "loading"
}

func (o *observer) tell(what string) {
	if !o.busy.CompareAndSwap(false, true) {
		o.t.Error("the observer is told two things at once")
	}
	defer o.busy.Store(false)
	if o.on != nil {
		o.on(what)
	}
}

func (o *observer) Phase(name string) {
	o.mu.Lock()
	o.said = append(o.said, name)
	o.mu.Unlock()
	o.tell(name)
}

func (o *observer) Loading(done, of int) { o.Items(done, of) }

func (o *observer) Items(done, of int) {
	if done < 1 || done > of {
		o.t.Errorf("%d of %d are done", done, of)
	}
	o.tell("loading")
}

func (o *observer) Traffic(loadgen.Progress) { o.tell("traffic") }
func (o *observer) Note(string)              { o.tell("note") }

// phases forgets what it returns.
func (o *observer) phases() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	all := strings.Join(o.said, "; ")
	o.said = nil
	return all
}

// files lists what is below a folder.
func files(t testing.TB, dir string) []string {
	t.Helper()
	var list []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			path, err = filepath.Rel(dir, path)
			list = append(list, filepath.ToSlash(path))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}
