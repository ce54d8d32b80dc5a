package builtin

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/dataset/synth"
	"github.com/mlperf-go/mlperf/internal/models"
	"github.com/mlperf-go/mlperf/internal/onnxgraph"
	"github.com/mlperf-go/mlperf/internal/preprocess"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// classifier computes the last layer of a built-in classifier from the features of the
// anchors. Class 0 of models that have one more class than there are labels is the
// background, which no image shows.
func (m Maker) classifier(ctx context.Context, a onnxgraph.Architecture, model models.Model, spec synth.ImageNetSpec) (*onnxgraph.Classifier, error) {
	features, err := m.anchorFeatures(ctx, a, model, spec)
	if err != nil {
		return nil, err
	}
	return nearestAnchor(features, int(a.FeatureSize), int(a.Classes)-spec.Classes), nil
}

// nearestAnchor returns the layer that answers with the class whose feature is most
// alike to that of the image, by the cosine of what remains after subtracting the mean
// over all classes: weights w = (f - mean)/|f - mean|, bias -w·mean. The first classes
// of the layer, as many as background says, are never the answer.
func nearestAnchor(features [][]float32, size, background int) *onnxgraph.Classifier {
	mean := make([]float64, size)
	for _, f := range features {
		for i, v := range f {
			mean[i] += float64(v) / float64(len(features))
		}
	}
	c := &onnxgraph.Classifier{
		Weights: make([]float32, (background+len(features))*size),
		Bias:    make([]float32, background+len(features)),
	}
	largest := 0.0
	for k, f := range features {
		norm := 0.0
		for i, v := range f {
			d := float64(v) - mean[i]
			norm += float64(d * d)
		}
		norm = math.Sqrt(norm)
		largest = max(largest, norm)
		w := c.Weights[(background+k)*size:][:size]
		bias := 0.0
		for i, v := range f {
			w[i] = float32((float64(v) - mean[i]) / norm)
			bias -= float64(float64(w[i]) * mean[i])
		}
		c.Bias[background+k] = float32(bias)
	}
	for k := range background {
		c.Bias[k] = float32(-largest) // below every class that is at all alike
	}
	return c
}

// anchorBatch is how many anchors go through the network at once.
const anchorBatch = 4

// anchorFeatures has the network compute the features of all anchors.
func (m Maker) anchorFeatures(ctx context.Context, a onnxgraph.Architecture, model models.Model, spec synth.ImageNetSpec) ([][]float32, error) {
	session, err := m.openFeatures(ctx, a)
	if err != nil {
		return nil, err
	}
	pipeline, err := preprocess.Lookup(model.BuiltIn.Pipeline)
	if err != nil {
		return nil, errors.Join(err, session.Close())
	}
	features := make([][]float32, spec.Classes)
	var next, done atomic.Int64
	var wg sync.WaitGroup
	workers := runtime.GOMAXPROCS(0)
	errs := make([]error, workers)
	for w := range workers {
		wg.Go(func() {
			e := extractor{session: session, pipeline: pipeline, spec: spec}
			for errs[w] == nil {
				first := int(next.Add(anchorBatch)) - anchorBatch
				if first >= spec.Classes || ctx.Err() != nil {
					return
				}
				n := min(anchorBatch, spec.Classes-first)
				errs[w] = e.batch(features[first:first+n], first)
				m.Observer.Loading(int(done.Add(int64(n))), spec.Classes)
			}
		})
	}
	wg.Wait()
	if ctx.Err() != nil {
		errs = append(errs, context.Cause(ctx))
	}
	return features, errors.Join(append(errs, session.Close())...)
}

// openFeatures opens the architecture up to its features. The file of that is gone again
// once it is open.
func (m Maker) openFeatures(ctx context.Context, a onnxgraph.Architecture) (backend.Session, error) {
	graph, _, err := a.Build(onnxgraph.Options{Outputs: []string{a.Features}})
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(m.Dir, "features")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, a.Name+".onnx")
	if err := graph.WriteFile(ctx, path); err != nil {
		return nil, err
	}
	return m.Engine.Open(ctx, backend.Options{ModelPath: path, IntraThreads: 1})
}

// An extractor computes features on behalf of one worker.
type extractor struct {
	session  backend.Session
	pipeline preprocess.Pipeline
	spec     synth.ImageNetSpec
	scratch  preprocess.Scratch
}

// batch computes the features of the anchors that begin with the class first.
func (e *extractor) batch(into [][]float32, first int) error {
	n := len(into)
	images := tensor.New(e.pipeline.Type, append([]int64{int64(n)}, e.pipeline.Shape()...)...)
	for i := range n {
		file, err := synth.AnchorJPEG(e.spec, first+i)
		if err != nil {
			return err
		}
		if _, err := e.pipeline.ApplyFile(images.Rows(i, 1), file, &e.scratch); err != nil {
			return fmt.Errorf("anchor %d: %w", first+i, err)
		}
	}
	in, err := e.session.Bind(images)
	if err != nil {
		return err
	}
	outputs := make([]backend.Value, 1)
	if err := e.session.Run([]backend.Value{in}, outputs); err != nil {
		return errors.Join(err, in.Close())
	}
	values := tensor.Data[float32](outputs[0].Tensor())
	size := len(values) / n
	for i := range n {
		into[i] = append([]float32(nil), values[i*size:][:size]...)
	}
	return errors.Join(in.Close(), outputs[0].Close())
}
