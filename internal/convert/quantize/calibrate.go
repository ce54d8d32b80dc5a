package quantize

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"os"
	"path/filepath"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/onnx"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/units"
)

// Samples are batches of inputs for a model: one tensor for each input, in the model's order. They are
// read more than once and must be the same each time. The next batch may overwrite the tensors. An error
// ends the conversion.
type Samples = iter.Seq2[[]tensor.Tensor, error]

// A Calibration is an engine, and samples on which to observe a model.
type Calibration struct {
	Engine  backend.Engine
	Backend backend.Options // ModelPath and Outputs are ignored
	Samples Samples
	Batch   int // how many samples a batch has; 0: as many as the first axis of its first input
}

// Batches returns the calibration by samples of batches from one number to before another.
func (c Calibration) Batches(from, to int) Calibration {
	all := c.Samples
	c.Samples = func(yield func([]tensor.Tensor, error) bool) {
		i := 0
		for inputs, err := range all {
			if i >= from && !yield(inputs, err) {
				return
			}
			if i++; i == to {
				return
			}
		}
	}
	return c
}

// A Method is how the ranges of activations are found.
type Method string

const (
	// MinMax takes the smallest and the largest value over the samples.
	MinMax Method = "min-max"
	// AtRunTime calibrates nothing: each run of the model finds the ranges of its own inputs (Dynamic).
	AtRunTime Method = "dynamic"
)

// ranges are the ranges of a model's activations, by the names of the values.
type ranges struct {
	Method  Method
	Samples int // how many were observed
	Values  map[string]Range
	// Means are the mean of each channel of the activations that layers with weights read.
	Means map[string][]float32
}

// calibrate observes the activations of a prepared model over samples and returns their ranges. The options
// are those of quantize, which may exclude more layers.
func calibrate(ctx context.Context, p *onnx.Model, c Calibration, o Options) (ranges, error) {
	r := ranges{Method: MinMax, Values: make(map[string]Range), Means: make(map[string][]float32)}
	if err := o.validate(p); err != nil {
		return r, fmt.Errorf("calibrating: %w", err)
	}
	plan := newPlan(p, o)
	if len(plan.layers) == 0 {
		return r, fmt.Errorf("calibrating: %w", plan.errEmpty())
	}
	values, means := plan.values(), plan.channelMeans()
	for _, name := range values {
		r.Values[name] = Range{float32(math.Inf(1)), float32(math.Inf(-1))}
	}
	w := newWatchGraph(p)
	var low, high, lists []string
	for _, name := range values {
		low = append(low, w.scalar("ReduceMin", name))
		high = append(high, w.scalar("ReduceMax", name))
	}
	w.gather(len(values), low)
	w.gather(len(values), high)
	channelCount := 0
	for _, c := range means {
		lists = append(lists, w.reduce("ReduceMean", c))
		channelCount += c.count
	}
	if len(means) > 0 {
		w.gather(channelCount, lists)
	}
	sums := make([]float64, channelCount) // of the means of all channels, each counted with its samples
	err := c.Pass(ctx, w.finish(), func(outputs []tensor.Tensor, batch int) error {
		r.Samples += batch
		low, high := tensor.Data[float32](outputs[0]), tensor.Data[float32](outputs[1])
		if len(low) != len(values) || len(high) != len(values) {
			return fmt.Errorf("the engine returned %d minima and %d maxima for %d values", len(low), len(high), len(values))
		}
		for i, name := range values {
			if !units.Finite(low[i], high[i]) {
				return fmt.Errorf("%q goes from %v to %v: the model fails on these samples", name, low[i], high[i])
			}
			seen := r.Values[name]
			r.Values[name] = Range{min(seen.Min, low[i]), max(seen.Max, high[i])}
		}
		if len(means) == 0 {
			return nil
		}
		list := tensor.Data[float32](outputs[2])
		if len(list) != channelCount {
			return fmt.Errorf("the engine returned %d means for %d channels", len(list), channelCount)
		}
		for i, v := range list {
			sums[i] += float64(v) * float64(batch)
		}
		return nil
	})
	if err != nil {
		return r, fmt.Errorf("calibrating: %w", err)
	}
	for _, c := range means {
		list := make([]float32, c.count)
		for i := range list {
			list[i] = float32(sums[i] / float64(r.Samples))
		}
		r.Means[c.value], sums = list, sums[c.count:]
	}
	return r, nil
}

var errNoSamples = errors.New("there are no samples")

// Pass is PassFile of a model that is in memory.
func (c *Calibration) Pass(ctx context.Context, m *onnx.Model, visit func(outputs []tensor.Tensor, batch int) error) (err error) {
	folder, err := os.MkdirTemp("", "mlperf-quantize-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	path := filepath.Join(folder, "model.onnx")
	if err := m.WriteFile(ctx, path); err != nil {
		return err
	}
	return c.PassFile(ctx, path, visit)
}

// PassFile runs a model over all samples and calls visit with the outputs of each batch, which are valid until visit returns.
func (c *Calibration) PassFile(ctx context.Context, path string, visit func(outputs []tensor.Tensor, batch int) error) (err error) {
	o := c.Backend
	o.ModelPath, o.Outputs = path, nil
	session, err := c.Engine.Open(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, session.Close()) }()
	seen := 0
	for inputs, err := range c.Samples {
		if err != nil {
			return fmt.Errorf("sample %d: %w", seen, err)
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		batch := max(c.Batch, 1)
		if c.Batch == 0 && len(inputs) > 0 && len(inputs[0].Shape) > 0 {
			batch = int(inputs[0].Shape[0])
		}
		if err := run(ctx, session, inputs, func(outputs []tensor.Tensor) error { return visit(outputs, batch) }); err != nil {
			return fmt.Errorf("sample %d: %w", seen, err)
		}
		seen += batch
	}
	if seen == 0 {
		return errNoSamples
	}
	return nil
}

// run runs a model once. The outputs are valid until visit returns.
func run(ctx context.Context, s backend.Session, inputs []tensor.Tensor, visit func([]tensor.Tensor) error) (err error) {
	var bound []backend.Value
	outputs := make([]backend.Value, len(s.Info().Outputs))
	defer func() {
		for _, v := range append(bound, outputs...) {
			if v != nil {
				err = errors.Join(err, v.Close())
			}
		}
	}()
	for _, t := range inputs {
		v, err := s.Bind(t)
		if err != nil {
			return err
		}
		bound = append(bound, v)
	}
	if err := s.Run(ctx, bound, outputs); err != nil {
		return err
	}
	tensors := make([]tensor.Tensor, len(outputs))
	for i, v := range outputs {
		tensors[i] = v.Tensor()
	}
	return visit(tensors)
}

// A watchGraph is a copy of a model with added outputs to observe.
type watchGraph struct {
	model *onnx.Model
	names *onnx.Index
	one   string // the shape [1]
}

func newWatchGraph(m *onnx.Model) *watchGraph {
	m = clone(m)
	m.Graph.Outputs = nil
	return &watchGraph{model: m, names: m.Graph.Index()}
}

// finish drops what is not watched.
func (w *watchGraph) finish() *onnx.Model {
	prune(w.model)
	return w.model
}

// node adds a node and returns the name of its result.
func (w *watchGraph) node(op string, inputs []string, attrs ...onnx.Attribute) string {
	n := &onnx.Node{Op: op, Inputs: inputs, Outputs: []string{w.names.Unique(inputs[0] + "_" + op)}, Attributes: attrs}
	w.model.Graph.Nodes = append(w.model.Graph.Nodes, n)
	return n.Outputs[0]
}

func (w *watchGraph) ints(base string, list ...int64) string {
	t := onnx.TensorOf(w.names.Unique(base), list, int64(len(list)))
	addConstant(w.model, t)
	return t.Name
}

// gather makes one output of lists of numbers.
func (w *watchGraph) gather(length int, lists []string) {
	name := w.node("Concat", lists, onnx.Attr("axis", int64(0)))
	w.model.Graph.Outputs = append(w.model.Graph.Outputs, &onnx.Value{Name: name, Type: onnx.Type{
		Elem: onnx.Float32, Shape: onnx.Shape{onnx.Fixed(int64(length))},
	}})
}

// scalar applies an operator that makes one number of a value, and returns it as a list.
func (w *watchGraph) scalar(op, value string) string {
	if w.one == "" {
		w.one = w.ints("one", 1)
	}
	return w.node("Reshape", []string{w.node(op, []string{value}, onnx.Attr("keepdims", int64(0))), w.one})
}

// channels are the channels of an activation: along axis 1 if it has a rank, else along its last axis.
type channels struct {
	value string
	count int
	rank  int
}

// reduce applies an operator over all axes of a value but that of its channels, and returns the list of the
// results.
func (w *watchGraph) reduce(op string, c channels) string {
	value, axes := c.value, []int64{0}
	if c.rank == 0 {
		value = w.node("Reshape", []string{value, w.ints("matrix", -1, int64(c.count))})
	}
	for axis := 2; axis < c.rank; axis++ {
		axes = append(axes, int64(axis))
	}
	keep := onnx.Attr("keepdims", int64(0))
	if w.model.Opset("") >= 18 { // from here on axes are an input
		return w.node(op, []string{value, w.ints("axes", axes...)}, keep)
	}
	return w.node(op, []string{value}, onnx.Attr("axes", axes), keep)
}

// valuesModel returns a model whose outputs are some values of another.
func valuesModel(m *onnx.Model, names []string) *onnx.Model {
	w := newWatchGraph(m)
	index := m.Graph.Index()
	for _, name := range names {
		out := onnx.Value{Name: name, Type: onnx.Type{Elem: onnx.Float32}}
		if known := index.Value(name); known != nil {
			out.Type = known.Type
		}
		if index.Producer(name) == nil { // an input: no engine need hand that out as it is
			out.Name = w.node("Identity", []string{name})
		}
		w.model.Graph.Outputs = append(w.model.Graph.Outputs, &out)
	}
	return w.finish()
}
