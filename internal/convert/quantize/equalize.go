package quantize

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/mlperf-go/mlperf/internal/onnx"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/units"
)

// equalize returns the prepared model with the results of its depthwise convolutions scaled so that
// the ranges of their channels over samples differ less. They share one scale when they become integers, so a
// channel with a small range would get few of them, and the filters of a depthwise convolution, of a
// few weights each, make very different ranges. It divides a filter and its bias, and multiplies the
// weights that read the channel by the same factor, so that the model computes the same (Nagel et al.,
// Data-free quantization through weight equalization and bias correction, arXiv:1906.04721, §4.1, but
// with the ranges of activations instead of those of weights). The factor is the square root of a range relative to the
// largest, as in SmoothQuant (Xiao et al., arXiv:2211.10438, §4): a channel with a 16th of it becomes four times as large, and
// may go four times beyond what the samples show before a Clip or the integers cut it off. It needs a scale for each filter (not
// Options.PerTensor), else the filters would become as uneven as the channels were. Other convolutions
// gain nothing.
//
// It also returns how many layers it changed.
func equalize(ctx context.Context, m *onnx.Model, c Calibration, o Options) (*onnx.Model, int, error) {
	p, err := prepare(m)
	if err != nil {
		return nil, 0, fmt.Errorf("equalising: %w", err)
	}
	e := equalizer{newPlan(p, o)}
	pairs := e.pairs()
	if len(pairs) == 0 || o.PerTensor {
		return p, 0, nil
	}
	g := newWatchGraph(p)
	var lists []string
	total := 0
	for _, pair := range pairs {
		magnitudes := channels{value: g.node("Abs", []string{pair.value}), count: len(pair.ranges), rank: len(e.weights(pair.depthwise).Dims)}
		lists = append(lists, g.reduce("ReduceMax", magnitudes))
		total += magnitudes.count
	}
	g.gather(total, lists)
	err = c.Pass(ctx, g.finish(), func(outputs []tensor.Tensor, _ int) error {
		list := tensor.Data[float32](outputs[0])
		if len(list) != total {
			return fmt.Errorf("the engine returned %d ranges of %d channels", len(list), total)
		}
		if !units.Finite(list...) {
			return fmt.Errorf("the model fails on these samples: %w", errNotFinite)
		}
		for _, pair := range pairs {
			for i := range pair.ranges {
				pair.ranges[i] = max(pair.ranges[i], float64(list[i]))
			}
			list = list[len(pair.ranges):]
		}
		return nil
	})
	if err != nil {
		return nil, 0, fmt.Errorf("equalising: %w", err)
	}
	for _, pair := range pairs {
		largest := slices.Max(pair.ranges)
		if largest == 0 {
			continue
		}
		factors := make([]float64, len(pair.ranges))
		for i, r := range pair.ranges {
			factors[i] = 1 // of a channel that is dead in the samples
			if r > 0 {
				factors[i] = math.Sqrt(r / largest)
			}
		}
		byFilter := func(i, n int) float64 { return 1 / factors[i/(n/len(factors))] }
		err := e.rewrite(pair.depthwise, 1, byFilter)
		if err == nil && pair.depthwise.Input(2) != "" {
			err = e.rewrite(pair.depthwise, 2, byFilter)
		}
		if err == nil {
			dims := e.weights(pair.reader).Dims
			err = e.rewrite(pair.reader, 1, func(i, _ int) float64 { return factors[inputChannel(dims, len(factors), i)] })
		}
		if err != nil {
			return nil, 0, fmt.Errorf("equalising %q: %w", layerName(pair.depthwise), err)
		}
	}
	prune(p)
	p.Metadata = append(p.Metadata, onnx.Property{Key: equalizedKey, Value: strconv.Itoa(len(pairs))})
	return p, len(pairs), p.Check()
}

// equalizedKey is the key of a model's metadata for the number of equalised layers, which the report
// shows.
const equalizedKey = "mlperf.equalized_layers"

type equalizer struct{ *plan }

// A pair is a depthwise convolution and the only node that reads its result, also a convolution, with at
// most a Relu or Clip between them.
type pair struct {
	depthwise, reader *onnx.Node
	value             string    // what the reader reads
	ranges            []float64 // largest magnitude of each channel of the value
}

func (e equalizer) pairs() (pairs []*pair) {
	for _, l := range e.layers {
		n := l.node
		if n.Op != "Conv" || e.weights(n).Dims[1] != 1 || l.fused != nil && !e.homogeneous(l.fused) {
			continue // not a depthwise convolution of which each channel may be scaled by itself
		}
		channels := int(e.weights(n).Dims[0])
		reader := onlyReader(e.index, l.result)
		if other := e.byNode[reader]; other != nil && reader.Op == "Conv" && inputChannels(reader, e.weights(reader)) == channels {
			pairs = append(pairs, &pair{n, reader, l.result, make([]float64, channels)})
		}
	}
	return pairs
}

func (e equalizer) weights(n *onnx.Node) *onnx.Tensor { return e.consts[n.Inputs[1]] }

// homogeneous reports whether f(a·x) = a·f(x) for all that matters: a Relu, or a Clip
// whose lower limit is 0. The upper limit may then cut off what is larger than anything
// that was seen.
func (e equalizer) homogeneous(act *onnx.Node) bool {
	if act.Op == "Relu" {
		return true
	}
	low := e.consts[act.Input(1)]
	if !isFloat32Constant(low) {
		return false
	}
	v, err := onnx.Elements[float32](low)
	return err == nil && len(v) == 1 && v[0] == 0
}

// rewrite gives a node its own copy of one of its constants, each of whose n elements is
// multiplied by a factor.
func (e equalizer) rewrite(node *onnx.Node, input int, factor func(i, n int) float64) error {
	old := e.consts[node.Inputs[input]]
	values, err := onnx.Elements[float32](old)
	if err != nil {
		return err
	}
	for i, v := range values {
		values[i] = float32(float64(v) * factor(i, len(values)))
	}
	t := onnx.TensorOf(e.index.Unique(old.Name+"_equalized"), values, old.Dims...)
	addConstant(e.model, t)
	e.consts[t.Name] = t
	node.Inputs[input] = t.Name
	return nil
}
