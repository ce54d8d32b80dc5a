package convert

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/mlperf-go/mlperf/internal/models/singlepass"
	"github.com/mlperf-go/mlperf/internal/onnx"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/units"
)

// Answers of a converted model are compared with those of the FP32 model on so many runs, and on fewer where those of the FP32 model
// take long or have large outputs.
const (
	mostCompared = 16
	longCompared = 10 * time.Second
	largeAnswers = 256 << 20 // bytes
)

// compare runs a converted model and the FP32 model m on samples, which it prepares if s is nil, from indices. Where answers cannot be
// compared it says why. A converted model that the engine does not run is an error.
func (c Converter) compare(ctx context.Context, m, converted *onnx.Model, s *samples, indices []int) (a *report.Agreement, why string, err error) {
	outputs := ordered(m.Graph)
	switch {
	case c.Engine == nil:
		return nil, "there is no engine", nil
	case len(outputs) == 0:
		return nil, "the order of the outputs depends on small differences, as that of boxes does", nil
	}
	if s == nil {
		if s, err = c.prepare(ctx, indices, mostCompared); err != nil {
			if ctx.Err() != nil {
				return nil, "", context.Cause(ctx)
			}
			return nil, err.Error(), nil
		}
		defer s.Close()
	}
	c.Observer.Phase("comparing answers with those of FP32")
	var answers [][]tensor.Tensor
	began, bytes, all := time.Now(), 0, c.calibration(ctx, s)
	first := all
	first.Samples = func(yield func([]tensor.Tensor, error) bool) {
		for inputs, err := range all.Samples {
			enough := len(answers) == mostCompared || len(answers) > 0 && (time.Since(began) > longCompared || bytes > largeAnswers)
			if enough || !yield(inputs, err) {
				return
			}
		}
	}
	err = first.PassFile(ctx, c.Source, func(got []tensor.Tensor, _ int) error {
		var kept []tensor.Tensor
		for _, i := range outputs {
			t := tensor.New(got[i].Type, got[i].Shape...)
			copy(t.Bytes(), got[i].Bytes())
			kept, bytes = append(kept, t), bytes+len(t.Bytes())
		}
		answers = append(answers, kept)
		return nil
	})
	if err != nil {
		if ctx.Err() != nil {
			return nil, "", context.Cause(ctx)
		}
		return nil, fmt.Sprintf("the FP32 model does not run on the samples: %v", err), nil
	}
	folder, err := os.MkdirTemp("", "mlperf-convert-")
	if err != nil {
		return nil, "", err
	}
	defer os.RemoveAll(folder)
	path := filepath.Join(folder, "converted.onnx")
	if err := converted.WriteFile(ctx, path); err != nil {
		if ctx.Err() != nil {
			return nil, "", context.Cause(ctx)
		}
		return nil, err.Error(), nil // it may be too large for the folder of temporary files alone
	}
	x := comparison{spans: make([]span, len(outputs))}
	x.Samples = len(answers) * s.batch
	i := 0
	second := all.Batches(0, len(answers))
	err = second.PassFile(ctx, path, func(got []tensor.Tensor, _ int) error {
		for k, want := range answers[i] {
			x.add(k, want, got[outputs[k]])
		}
		i++
		return nil
	})
	if err != nil {
		return nil, "", fmt.Errorf("running the converted model: %w", err)
	}
	x.finish()
	return &x.Agreement, "", nil
}

// unsteady are the operators whose results small differences reorder.
var unsteady = []string{"NonMaxSuppression", "TopK", "NonZero", "Unique"}

// ordered are the places of the outputs that do not depend on operators that are unsteady.
func ordered(g *onnx.Graph) (outputs []int) {
	moved := map[string]bool{}
	for _, n := range g.Nodes {
		alone := onnx.Graph{Nodes: []*onnx.Node{n}}
		of := slices.ContainsFunc(n.Reads(), func(name string) bool { return moved[name] })
		for inner := range alone.AllNodes() {
			of = of || slices.Contains(unsteady, inner.Op)
		}
		for _, name := range n.Outputs {
			moved[name] = of
		}
	}
	for i, v := range g.Outputs {
		if !moved[v.Name] {
			outputs = append(outputs, i)
		}
	}
	return outputs
}

// A comparison compares outputs.
type comparison struct {
	report.Agreement
	spans []span // of each output
}

// A span is the largest magnitude of an output, the largest difference, and the sums of the squares of both.
type span struct{ largest, farthest, power, noise float64 }

// add compares one output of a run. One of another shape has no equal answer.
func (x *comparison) add(output int, want, got tensor.Tensor) {
	same := want.Type == got.Type && slices.Equal(want.Shape, got.Shape)
	if !singlepass.IsFloat(want.Type) {
		size := max(want.Type.Size(), 1)
		for i := 0; i < len(want.Bytes()); i += size {
			x.Answers++
			if same && string(want.Bytes()[i:i+size]) == string(got.Bytes()[i:i+size]) {
				x.Equal++
			}
		}
		return
	}
	var memory [2][]float32
	floats := func(t tensor.Tensor, k int) []float32 {
		if singlepass.IsOtherFloat(t.Type) {
			t = singlepass.AsFloat32(t, &memory[k])
		}
		return tensor.Data[float32](t)
	}
	w := floats(want, 0)
	rows, scores, step := scoresOf(want.Shape)
	if !same {
		x.Answers += rows
		return
	}
	g := floats(got, 1)
	for i, v := range w {
		d, s := math.Abs(float64(g[i])-float64(v)), &x.spans[output]
		switch {
		case !units.Finite(v):
		case !units.Finite(d):
			x.Broken++
		default:
			s.largest, s.farthest = max(s.largest, math.Abs(float64(v))), max(s.farthest, d)
			s.power, s.noise = s.power+float64(v)*float64(v), s.noise+d*d
		}
	}
	for r := range rows {
		x.Answers++
		first := r/step*step*scores + r%step
		if place(w[first:], scores, step) == place(g[first:], scores, step) {
			x.Equal++
		}
	}
}

// scoresOf returns how many rows of scores an output has, how many scores a row, and how far they lie apart. Scores are those of the
// channels of an image, [N C H W], or else the numbers of the last axis. Those with one channel are none.
func scoresOf(shape tensor.Shape) (rows, scores, step int) {
	axis := len(shape) - 1
	if len(shape) >= 4 {
		axis = 1
	}
	if axis < 0 || shape[axis] < 2 {
		return 0, 0, 1
	}
	step = int(shape[axis+1:].Len())
	return int(shape.Len()) / int(shape[axis]), int(shape[axis]), step
}

// place is that of the largest of some scores.
func place(list []float32, scores, step int) (best int) {
	for i := range scores {
		if list[i*step] > list[best*step] {
			best = i
		}
	}
	return best
}

// finish computes the largest errors.
func (x *comparison) finish() {
	part := func(of, all float64) float64 {
		if of == 0 || all == 0 { // the FP32 model gives nothing but zeros
			return min(of, 1)
		}
		return of / all
	}
	for _, s := range x.spans {
		x.LargestError = max(x.LargestError, part(s.farthest, s.largest))
		x.Noise = max(x.Noise, math.Sqrt(part(s.noise, s.power)))
	}
}
