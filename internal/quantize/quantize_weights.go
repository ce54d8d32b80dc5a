package quantize

import (
	"errors"
	"fmt"

	"github.com/mlperf-go/mlperf/internal/onnx"
)

// A weightKey names weights and the axis of their units: layers with both in common
// share one quantised tensor.
type weightKey struct {
	tensor string
	axis   int
}

// sharedWeights are the layers that use the same weights.
type sharedWeights struct {
	key    weightKey
	layers []*layer
	uses   []weightUse
}

// quantizeWeights gives all weighted layers integer weights and biases.
func (q *quantizer) quantizeWeights() error {
	byKey := make(map[weightKey]*sharedWeights)
	var order []*sharedWeights
	for _, l := range q.plan.layers {
		if l.kind != weighted {
			continue
		}
		key := weightKey{l.node.Inputs[1], unitAxis(l.node)}
		if byKey[key] == nil {
			byKey[key] = &sharedWeights{key: key}
			order = append(order, byKey[key])
		}
		use, err := q.use(l)
		if err != nil {
			return err
		}
		s := byKey[key]
		s.layers, s.uses = append(s.layers, l), append(s.uses, use)
	}
	for _, s := range order {
		if err := q.shared(s); err != nil {
			return fmt.Errorf("weights %q: %w", s.key.tensor, err)
		}
	}
	return nil
}

// use describes how a layer uses its weights.
func (q *quantizer) use(l *layer) (weightUse, error) {
	u := weightUse{input: q.parameters[q.source[l.node.Inputs[0]]].Scale}
	var err error
	if name := l.node.Input(2); name != "" {
		if u.bias, err = onnx.Elements[float32](q.plan.consts[name]); err == nil && !finite(widen(u.bias)) {
			err = fmt.Errorf("bias %q: %w", name, errNotFinite)
		}
	}
	return u, err
}

var errNotFinite = errors.New("not all elements are finite numbers")

// shared quantises weights and the biases of all layers that use them.
func (q *quantizer) shared(s *sharedWeights) error {
	t := q.plan.consts[s.key.tensor]
	w, err := onnx.Elements[float32](t)
	if err != nil {
		return err
	}
	if !finite(widen(w)) {
		return errNotFinite
	}
	qw := quantizeWeights(w, t.Dims, s.key.axis, q.options.PerTensor, q.options.weightLimit(), s.uses)
	name := q.constants(s.key.tensor, onnx.TensorOf("", qw.values, t.Dims...), qw.scales, s.key.axis)
	for i, l := range s.layers {
		l.node.Inputs[1] = name
		q.channels[l] = int(t.Dims[s.key.axis])
		bias := q.correct(l, s.uses[i].bias, qw.errors(w, t.Dims, s.key.axis), t.Dims)
		if bias != nil {
			q.setBias(l, bias, qw.biasScales(s.uses[i].input))
		}
	}
	return nil
}

// correct returns the bias that makes up for what the rounding of the weights changes
// in the mean of each unit: Σ error·mean of the input. Behind a Relu inputs are never
// negative, so without it the errors of a unit's weights would add up to a shift.
func (q *quantizer) correct(l *layer, bias, errors []float32, dims []int64) []float32 {
	means := q.ranges.Means[l.node.Inputs[0]]
	if q.options.NoBiasCorrection || means == nil || !l.hasBias() {
		return bias
	}
	axis := unitAxis(l.node)
	corrected := make([]float32, dims[axis])
	copy(corrected, bias)
	shifts := meanShifts(l.node, errors, dims, means)
	for unit := range corrected {
		corrected[unit] = float32(float64(corrected[unit]) - shifts[unit])
	}
	return corrected
}

func (q *quantizer) setBias(l *layer, bias, scales []float32) {
	values, clamped := quantizeBias(bias, scales)
	q.clamped += clamped
	name := l.node.Input(2)
	if name == "" {
		name = layerName(l.node) + "_bias"
	}
	dequantized := q.constants(name, onnx.TensorOf("", values, int64(len(values))), scales, 0)
	l.node.Inputs = append(l.node.Inputs[:2:2], dequantized)
}

// constants adds integers with their scales, and a node that turns them into numbers.
// It returns the name of these.
func (q *quantizer) constants(name string, integers *onnx.Tensor, scales []float32, axis int) string {
	integers.Name = q.names.Unique(name + "_quantized")
	scale, zero := q.names.Unique(name+"_scale"), q.names.Unique(name+"_zero_point")
	perTensor := q.options.PerTensor
	addConstant(q.model, integers)
	addConstant(q.model, scaleTensor(scale, scales, perTensor))
	addConstant(q.model, zeros(zero, integers.Type, len(scales), perTensor))
	result := q.names.Unique(name + "_dequantized")
	var attrs []onnx.Attribute
	if !perTensor {
		attrs = append(attrs, onnx.Attr("axis", int64(axis)))
	}
	q.node("DequantizeLinear", []string{integers.Name, scale, zero}, result, attrs...)
	return result
}

// zeros returns zero points of the type of the integers.
func zeros(name string, elem onnx.ElemType, n int, perTensor bool) *onnx.Tensor {
	t := &onnx.Tensor{Name: name, Type: elem, Data: onnx.Raw(make([]byte, n*elem.Bits()/8))}
	if !perTensor {
		t.Dims = []int64{int64(n)}
	}
	return t
}
