//go:build ort && cgo

package quantize_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/backend/ort/orttest"
	"github.com/mlperf-go/mlperf/internal/builtin"
	"github.com/mlperf-go/mlperf/internal/dataset"
	"github.com/mlperf-go/mlperf/internal/home"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/models"
	"github.com/mlperf-go/mlperf/internal/onnx"
	"github.com/mlperf-go/mlperf/internal/quantize"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/workload"
)

// These tests run quantised models in ONNX Runtime:
//
//	MLPERF_ORT_LIB=/path/to/libonnxruntime.so go test -tags ort -run TestORT -v ./internal/quantize

// A classifier is a built-in model with some of its data.
type classifier struct {
	model  *onnx.Model
	engine backend.Engine
	images tensor.Tensor // all, [N C H W]
	labels []int         // as the model numbers them
}

// silent is told how models are made, and says nothing.
type silent struct{}

func (silent) Phase(string)             {}
func (silent) Loading(int, int)         {}
func (silent) Items(int, int)           {}
func (silent) Traffic(loadgen.Progress) {}
func (silent) Note(string)              {}

// openClassifier loads the images first to first+n-1.
func openClassifier(t testing.TB, name string, first, n int) *classifier {
	t.Helper()
	engine := orttest.Engine(t)
	cache, err := home.CacheDir()
	if err != nil {
		t.Fatal(err)
	}
	model, err := models.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	maker := builtin.Maker{Dir: cache, Engine: engine, Observer: silent{}}
	dir, err := maker.Dataset(t.Context(), model)
	if err != nil {
		t.Fatal(err)
	}
	path, err := maker.Model(t.Context(), model)
	if err != nil {
		t.Fatal(err)
	}
	m, err := onnx.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	c := &classifier{model: m, engine: engine}
	c.load(t, model, dir, path, first, n)
	return c
}

func (c *classifier) load(t testing.TB, model workload.Model, dir, path string, first, n int) {
	t.Helper()
	inputs, outputs, err := backend.ReadPorts(path)
	if err != nil {
		t.Fatal(err)
	}
	w, err := model.Open(workload.Setup{DatasetDir: dir, Count: first + n, Ports: map[string]workload.Ports{workload.Only: {Inputs: inputs, Outputs: outputs}}})
	if err != nil {
		t.Fatal(err)
	}
	truth, err := dataset.ReadValMap(dir)
	if err != nil {
		t.Fatal(err)
	}
	slot := w.Row(0)[0]
	c.images = tensor.New(slot.Type, append([]int64{int64(n)}, slot.Shape...)...)
	for i := range n {
		if err := w.Prepare(first+i, []tensor.Tensor{c.images.Rows(i, 1).Reshape(slot.Shape...)}); err != nil {
			t.Fatal(err)
		}
		c.labels = append(c.labels, int(truth[first+i].Label)+1) // class 0 is the background
	}
}

// samples are the images from first on, one by one.
func (c *classifier) samples(first, n int) quantize.Samples {
	return func(yield func([]tensor.Tensor, error) bool) {
		for i := range n {
			if !yield([]tensor.Tensor{c.images.Rows(first+i, 1)}, nil) {
				return
			}
		}
	}
}

func (c *classifier) calibration(first, n int) quantize.Calibration {
	return quantize.Calibration{Engine: c.engine, Samples: c.samples(first, n)}
}

// A network is an opened model.
type network struct {
	t       testing.TB
	session backend.Session
	output  int // with the scores
}

func (c *classifier) open(t testing.TB, m *onnx.Model, o backend.Options) network {
	t.Helper()
	return openNetwork(t, c.engine, m, o)
}

func openNetwork(t testing.TB, engine backend.Engine, m *onnx.Model, o backend.Options) network {
	t.Helper()
	o.ModelPath = filepath.Join(t.TempDir(), "model.onnx")
	if err := m.WriteFile(t.Context(), o.ModelPath); err != nil {
		t.Fatal(err)
	}
	session, err := engine.Open(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := session.Close(); err != nil {
			t.Error(err)
		}
	})
	scores := slices.IndexFunc(session.Info().Outputs, func(p backend.Port) bool { return p.Type == tensor.Float32 })
	return network{t, session, scores}
}

// kernelsOf counts the nodes that the engine makes of a model, by operator.
func kernelsOf(t testing.TB, engine backend.Engine, m *onnx.Model) map[string]int {
	t.Helper()
	path := filepath.Join(t.TempDir(), "optimised.onnx")
	openNetwork(t, engine, m, backend.Options{OptimizedModel: path})
	optimised, err := onnx.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	kernels := make(map[string]int)
	for _, n := range optimised.Graph.Nodes {
		kernels[n.Op]++
	}
	return kernels
}

// run runs the network on one input and shows the outputs.
func (n network) run(input tensor.Tensor, visit func(outputs []tensor.Tensor)) {
	n.t.Helper()
	in, err := n.session.Bind(input)
	if err != nil {
		n.t.Fatal(err)
	}
	outputs := make([]backend.Value, len(n.session.Info().Outputs))
	if err := n.session.Run(context.Background(), []backend.Value{in}, outputs); err != nil {
		n.t.Fatal(err)
	}
	var tensors []tensor.Tensor
	for _, v := range outputs {
		tensors = append(tensors, v.Tensor())
	}
	visit(tensors)
	for _, v := range append(outputs, in) {
		if err := v.Close(); err != nil {
			n.t.Error(err)
		}
	}
}

// classes returns the class that the network answers for each image.
func (n network) classes(images tensor.Tensor) []int {
	n.t.Helper()
	var classes []int
	for i := range int(images.Shape[0]) {
		n.run(images.Rows(i, 1), func(outputs []tensor.Tensor) {
			scores := tensor.Data[float32](outputs[n.output])
			classes = append(classes, slices.Index(scores, slices.Max(scores)))
		})
	}
	return classes
}

// agreement returns the fraction of equal elements, as far as the first list goes.
func agreement(a, b []int) float64 {
	same := 0
	for i := range a {
		if a[i] == b[i] {
			same++
		}
	}
	return float64(same) / float64(len(a))
}

// speedRatio runs two networks in turn on the same image and returns the median time of
// the first over that of the second.
func speedRatio(slow, fast network, image tensor.Tensor, rounds int) float64 {
	var ratios []float64
	for range rounds {
		ratios = append(ratios, float64(slow.timeOf(image))/float64(fast.timeOf(image)))
	}
	slices.Sort(ratios)
	return ratios[len(ratios)/2]
}

// timeOf returns the least time of three runs, of which other work disturbs the fewest.
func (n network) timeOf(image tensor.Tensor) time.Duration {
	n.t.Helper()
	best := time.Duration(1<<63 - 1)
	for range 3 {
		start := time.Now()
		n.classes(image)
		best = min(best, time.Since(start))
	}
	return best
}

func percent(x float64) string { return fmt.Sprintf("%.1f %%", 100*x) }
