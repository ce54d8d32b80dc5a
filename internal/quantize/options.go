package quantize

import (
	"errors"
	"fmt"
	"slices"

	"github.com/mlperf-go/mlperf/internal/onnx"
)

// Options say how to quantise a model. The zero Options are the recommended ones.
type Options struct {
	// Activations are the integers that activations become; empty: U8.
	Activations Activations `json:"activations"`
	// PerTensor gives all weights of a layer one scale, instead of one for each channel.
	PerTensor bool `json:"per_tensor_weights"`
	// SevenBitWeights keeps weights within ±63. Processors without VNNI add two products of
	// unsigned and signed bytes in 16 bits, which larger ones can exceed.
	SevenBitWeights bool `json:"seven_bit_weights"`

	// NoBiasCorrection leaves the biases as they are, instead of making up for the shift that
	// rounded weights cause in the mean.
	NoBiasCorrection bool `json:"no_bias_correction"`

	SkipFirst  bool     `json:"skip_first"`            // leave the layers that read the inputs in FP32
	SkipLast   bool     `json:"skip_last"`             // leave the layers that make the outputs in FP32
	Exclude    []string `json:"exclude,omitempty"`     // layers that stay in FP32, by name
	ExcludeOps []string `json:"exclude_ops,omitempty"` // operators that stay in FP32
	// Ops are the only operators to quantise; nil: those that gain by it. Mul is the one
	// that can be added.
	Ops []string `json:"ops,omitempty"`
}

func (o Options) activations() Activations {
	if o.Activations == "" {
		return U8
	}
	return o.Activations
}

// weightLimit is the largest magnitude of a quantised weight.
func (o Options) weightLimit() int {
	if o.SevenBitWeights {
		return 63
	}
	return 127
}

// validate reports what is wrong with options for a model.
func (o Options) validate(m *onnx.Model) error {
	var errs []error
	if a := o.activations(); a != U8 && a != S8 {
		errs = append(errs, fmt.Errorf("unknown activations %q; there are %s and %s", a, U8, S8))
	}
	for _, op := range o.Ops {
		if kinds[op] == 0 {
			errs = append(errs, fmt.Errorf("operator %q cannot be quantised; those that can are %v", op, quantizableOps()))
		}
	}
	return errors.Join(append(errs, o.validateExcluded(m))...)
}

func (o Options) validateExcluded(m *onnx.Model) error {
	names := make(map[string]bool)
	for _, n := range m.Graph.Nodes {
		names[layerName(n)] = true
	}
	var errs []error
	for _, name := range o.Exclude {
		if !names[name] {
			errs = append(errs, fmt.Errorf("the model has no layer %q to exclude", name))
		}
	}
	return errors.Join(errs...)
}

func quantizableOps() []string {
	var ops []string
	for op := range kinds {
		ops = append(ops, op)
	}
	slices.Sort(ops)
	return ops
}
