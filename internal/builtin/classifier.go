package builtin

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/builtin/synth"
	"github.com/mlperf-go/mlperf/internal/machine/workerpool"
	"github.com/mlperf-go/mlperf/internal/models/vision"
	"github.com/mlperf-go/mlperf/internal/onnx/arch"
	"github.com/mlperf-go/mlperf/internal/preprocess"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// labels is how many classes ImageNet has. Models with one more have a class 0 for the
// background, which no image shows.
const labels = 1000

// classifier computes the last layer of a built-in classifier from the features of the
// anchors.
func (m Maker) classifier(ctx context.Context, r vision.BuiltIn) (*arch.Classifier, error) {
	a := r.Network
	features, err := m.anchorFeatures(ctx, r)
	if err != nil {
		return nil, err
	}
	return nearestAnchor(features, int(a.FeatureSize), int(a.Classes)-labels, int(a.Classes))
}

// nearestAnchor returns the layer that answers with the class whose feature is most
// alike to that of the image, by the cosine of what remains after subtracting the mean
// over all anchors: weights w = (f - mean)/|f - mean|, bias -w·mean. The anchors' classes
// begin with first; all others are never the answer.
func nearestAnchor(features [][]float32, size, first, classes int) (*arch.Classifier, error) {
	mean := meanOf(features, size)
	c := &arch.Classifier{Weights: make([]float32, classes*size), Bias: make([]float32, classes)}
	largest := 0.0
	for k, f := range features {
		norm := distance(f, mean)
		if !(norm > 0) || math.IsInf(norm, 0) {
			return nil, fmt.Errorf("the features of anchor %d are not those of a picture: their distance to the mean is %v", k, norm)
		}
		largest = max(largest, norm)
		w := c.Weights[(first+k)*size:][:size]
		bias := 0.0
		for i, v := range f {
			w[i] = float32((float64(v) - mean[i]) / norm)
			bias -= float64(float64(w[i]) * mean[i])
		}
		c.Bias[first+k] = float32(bias)
	}
	// What remains of all anchors adds up to nothing, so that some anchor has a score of at
	// least 0, whatever the image.
	for k := range classes {
		if k < first || k >= first+len(features) {
			c.Bias[k] = float32(-largest)
		}
	}
	return c, nil
}

func meanOf(features [][]float32, size int) []float64 {
	mean := make([]float64, size)
	for _, f := range features {
		for i, v := range f {
			mean[i] += float64(v) / float64(len(features))
		}
	}
	return mean
}

func distance(f []float32, mean []float64) float64 {
	sum := 0.0
	for i, v := range f {
		d := float64(v) - mean[i]
		sum += float64(d * d)
	}
	return math.Sqrt(sum)
}

// anchorBatch is how many anchors go through the network at once.
const anchorBatch = 4

// anchorFeatures has the network compute the features of all anchors.
func (m Maker) anchorFeatures(ctx context.Context, r vision.BuiltIn) ([][]float32, error) {
	spec := m.spec()
	session, err := m.openFeatures(ctx, r.Network)
	if err != nil {
		return nil, err
	}
	pipeline, err := preprocess.Lookup(r.Pipeline)
	if err != nil {
		return nil, errors.Join(err, session.Close())
	}
	features := make([][]float32, spec.Classes)
	done := workerpool.Counter(spec.Classes, m.Observer.Items)
	err = workerpool.EachWith(ctx, 0, (spec.Classes+anchorBatch-1)/anchorBatch, func() func(context.Context, int) error {
		e := extractor{session: session, pipeline: pipeline, spec: spec, size: int(r.Network.FeatureSize)}
		return func(ctx context.Context, i int) error {
			first := i * anchorBatch
			n := min(anchorBatch, spec.Classes-first)
			err := e.batch(ctx, features[first:first+n], first)
			if err == nil {
				done(n)
			}
			return err
		}
	})
	return features, errors.Join(err, session.Close())
}

// openFeatures opens the architecture up to its features. The file of that is gone again
// once it is open.
func (m Maker) openFeatures(ctx context.Context, a arch.Architecture) (session backend.Session, err error) {
	graph, _, err := a.Build(arch.Options{Outputs: []string{a.Features}})
	if err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp(m.Dir, ".mlperf-features-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	path := filepath.Join(folder, a.Name+".onnx")
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
	size     int // numbers of a feature
	scratch  preprocess.Scratch
}

// batch computes the features of the anchors that begin with the class first.
func (e *extractor) batch(ctx context.Context, into [][]float32, first int) error {
	n := len(into)
	images, err := e.anchors(first, n)
	if err != nil {
		return err
	}
	in, err := e.session.Bind(images)
	if err != nil {
		return err
	}
	outputs := make([]backend.Value, 1)
	if err := e.session.Run(ctx, []backend.Value{in}, outputs); err != nil {
		return errors.Join(err, in.Close())
	}
	if out := outputs[0].Tensor(); out.Type != tensor.Float32 || out.Len() != n*e.size {
		err = fmt.Errorf("the features of %d anchors are %v: must be %d numbers each", n, out, e.size)
	} else {
		values := tensor.Data[float32](out)
		for i := range n {
			into[i] = slices.Clone(values[i*e.size:][:e.size])
		}
	}
	return errors.Join(err, in.Close(), outputs[0].Close())
}

// anchors prepares n anchors, the first one of the class first.
func (e *extractor) anchors(first, n int) (tensor.Tensor, error) {
	images := tensor.New(e.pipeline.Type, append([]int64{int64(n)}, e.pipeline.Shape()...)...)
	for i := range n {
		file, err := synth.AnchorJPEG(e.spec, first+i)
		if err != nil {
			return images, err
		}
		if err := e.pipeline.ApplyFile(images.Rows(i, 1), file, &e.scratch); err != nil {
			return images, fmt.Errorf("anchor %d: %w", first+i, err)
		}
	}
	return images, nil
}
