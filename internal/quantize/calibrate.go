package quantize

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/onnx"
	"github.com/mlperf-go/mlperf/internal/parallel"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// Samples are batches of inputs for a model: one tensor for each input, in the model's
// order. They are ranged over more than once and have to be the same each time. The
// tensors may be overwritten once the next batch is asked for. An error ends it all.
type Samples = iter.Seq2[[]tensor.Tensor, error]

// Calibration says how to observe a model.
type Calibration struct {
	Engine  backend.Engine
	Backend backend.Options // ModelPath and Outputs are ignored
	Samples Samples
	// Options are those with which the model will be quantised, but for layers that are
	// excluded: with less excluded than later, all ranges are there that may be needed.
	Options Options
	// Memory is how much the activations of one batch may take that are observed at once,
	// in bytes; 0: 512 MiB. With less, more passes are made. One activation always fits.
	Memory int64
	// Progress, if it is set, is called after each batch with the samples seen in a pass.
	Progress func(pass string, samples int)
}

const defaultMemory = 512 << 20

// Calibrate observes the activations of a model over samples and returns the ranges to
// quantise it with.
func Calibrate(ctx context.Context, m *onnx.Model, c Calibration, method Method) (Ranges, error) {
	if err := method.validate(); err != nil {
		return Ranges{}, err
	}
	o, err := observe(ctx, m, c, method.Name != MinMax)
	if err != nil {
		return Ranges{}, err
	}
	return o.Ranges(method)
}

// observations are what is known of a model's activations.
type observations struct {
	Samples     int
	activations Activations
	values      []*observed // in the graph's order
	means       []channels
	sums        []float64 // of the means of the channels, each counted with its samples
	counted     bool      // there are histograms
}

type observed struct {
	name     string
	low      float32
	high     float32
	elements int64 // of one batch, at most
	counts   *histogram
}

// Ranges returns the ranges by a method.
func (o *observations) Ranges(m Method) (Ranges, error) {
	if err := m.validate(); err != nil {
		return Ranges{}, err
	}
	if !o.counted && m.Name != MinMax {
		return Ranges{}, fmt.Errorf("method %v needs histograms, only the extremes were observed", m)
	}
	r := Ranges{Method: m, Samples: o.Samples, Values: make(map[string]Range, len(o.values)), Means: o.channelMeans()}
	for _, v := range o.values {
		r.Values[v.name] = v.rangeBy(m, o.activations)
	}
	return r, nil
}

// rangeBy returns the range by a method.
func (v *observed) rangeBy(m Method, a Activations) Range {
	switch {
	case m.Name == MinMax || v.low == v.high:
		return Range{v.low, v.high}
	case m.Name == Percentile:
		return v.counts.cut(m.Percentile)
	}
	return v.counts.minimiseDivergence(a.magnitudes(v.low, v.high))
}

func observe(ctx context.Context, m *onnx.Model, c Calibration, count bool) (*observations, error) {
	o, err := c.observe(ctx, m, count)
	if err != nil {
		return nil, fmt.Errorf("calibrating: %w", err)
	}
	return o, nil
}

func (c *Calibration) observe(ctx context.Context, m *onnx.Model, count bool) (*observations, error) {
	p, err := prepare(m)
	if err != nil {
		return nil, err
	}
	if err := c.Options.validate(p); err != nil {
		return nil, err
	}
	plan := newPlan(p, c.Options)
	if len(plan.layers) == 0 {
		return nil, plan.errEmpty()
	}
	o := &observations{counted: count, activations: c.Options.activations(), means: plan.channelMeans()}
	for _, name := range plan.values() {
		o.values = append(o.values, &observed{name: name, low: float32(math.Inf(1)), high: float32(math.Inf(-1))})
	}
	if err := c.extremes(ctx, p, o); err != nil {
		return nil, err
	}
	if count {
		err = c.histograms(ctx, p, o)
	}
	return o, err
}

// extremes makes the pass that finds smallest and largest values.
func (c *Calibration) extremes(ctx context.Context, p *onnx.Model, o *observations) error {
	return c.pass(ctx, "extremes", extremesModel(p, o.values, o.means), func(outputs []tensor.Tensor, batch int) error {
		o.Samples += batch
		low, high, sizes := tensor.Data[float32](outputs[0]), tensor.Data[float32](outputs[1]), tensor.Data[int64](outputs[2])
		if len(low) != len(o.values) || len(high) != len(o.values) || len(sizes) != len(o.values) {
			return fmt.Errorf("the engine returned %d minima, %d maxima and %d sizes for %d values", len(low), len(high), len(sizes), len(o.values))
		}
		for i, v := range o.values {
			if !finite([]float64{float64(low[i]), float64(high[i])}) {
				return fmt.Errorf("%q goes from %v to %v: the model fails on these samples", v.name, low[i], high[i])
			}
			v.low, v.high = min(v.low, low[i]), max(v.high, high[i])
			v.elements = max(v.elements, sizes[i])
		}
		if len(o.means) == 0 {
			return nil
		}
		return o.addMeans(tensor.Data[float32](outputs[3]), batch)
	})
}

// histograms makes as many passes as the memory asks for, each for some values.
func (c *Calibration) histograms(ctx context.Context, p *onnx.Model, o *observations) error {
	memory := c.Memory
	if memory <= 0 {
		memory = defaultMemory
	}
	for rest := o.values; len(rest) > 0; {
		n, bytes := 0, int64(0)
		for n < len(rest) && (n == 0 || bytes+4*rest[n].elements <= memory) {
			bytes += 4 * rest[n].elements
			n++
		}
		if err := c.count(ctx, p, rest[:n]); err != nil {
			return err
		}
		rest = rest[n:]
	}
	return nil
}

func (c *Calibration) count(ctx context.Context, p *onnx.Model, values []*observed) error {
	var names []string
	for _, v := range values {
		v.counts = &histogram{low: v.low, high: v.high}
		names = append(names, v.name)
	}
	return c.pass(ctx, "histograms", valuesModel(p, names), func(outputs []tensor.Tensor, _ int) error {
		return inParallel(len(values), func(i int) error {
			counts := values[i].counts
			counts.add(tensor.Data[float32](outputs[i]))
			if counts.strange > 0 {
				return fmt.Errorf("%q has values that the pass before had not: samples or engine do not repeat themselves", values[i].name)
			}
			return nil
		})
	})
}

// inParallel calls f for 0 to n-1 on all processors.
func inParallel(n int, f func(int) error) error {
	errs := make([]error, n)
	parallel.Compute(0, n, func(i int) { errs[i] = f(i) })
	return errors.Join(errs...)
}

// addMeans adds the means of a batch, all channels of all values one behind the other.
func (o *observations) addMeans(means []float32, batch int) error {
	if o.sums == nil {
		o.sums = make([]float64, len(means))
	}
	if len(means) != len(o.sums) {
		return fmt.Errorf("the engine returned %d means, before it were %d", len(means), len(o.sums))
	}
	for i, v := range means {
		o.sums[i] += float64(v) * float64(batch)
	}
	return nil
}

// channelMeans returns the means over all samples, by value.
func (o *observations) channelMeans() map[string][]float32 {
	means := make(map[string][]float32, len(o.means))
	first := 0
	for _, c := range o.means {
		list := make([]float32, c.count)
		for i := range list {
			list[i] = float32(o.sums[first+i] / float64(o.Samples))
		}
		means[c.value] = list
		first += c.count
	}
	return means
}
