package quantize

import (
	"errors"
	"fmt"
	"slices"

	"github.com/mlperf-go/mlperf/internal/onnx"
	"github.com/mlperf-go/mlperf/internal/units"
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

	SkipFirst  bool     `json:"skip_first"`            // leave the layers that read the inputs in FP32
	SkipLast   bool     `json:"skip_last"`             // leave the layers that make the outputs in FP32
	Exclude    []string `json:"exclude,omitempty"`     // layers that stay in FP32, by name
	ExcludeOps []string `json:"exclude_ops,omitempty"` // operators that stay in FP32
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

// validate returns the errors of options for a model.
func (o Options) validate(m *onnx.Model) error {
	var errs []error
	if a := o.activations(); a != U8 && a != S8 {
		errs = append(errs, fmt.Errorf("unknown activations %q: must be %s or %s", a, U8, S8))
	}
	names := make(map[string]bool)
	for _, n := range m.Graph.Nodes {
		names[layerName(n)] = true
	}
	for _, name := range o.Exclude {
		if !names[name] {
			errs = append(errs, fmt.Errorf("the model has no layer %q to exclude", name))
		}
	}
	return errors.Join(errs...)
}

// quantize returns the model with 8-bit integers in place of FP32 as Options ask for, in the QDQ form:
// every layer keeps its operator, between a DequantizeLinear for each input and a QuantizeLinear behind
// the result, which engines fuse into one integer kernel. The ranges come from calibrate; those of
// AtRunTime make it Dynamic. Inputs and outputs of the model keep their types. The original does not
// change. A quantised model is an error (errQuantized).
func quantize(m *onnx.Model, r ranges, o Options) (*onnx.Model, Report, error) {
	if r.Method == AtRunTime {
		return Dynamic(m, o)
	}
	p, err := prepare(m)
	if err != nil {
		return nil, Report{}, fmt.Errorf("quantising: %w", err)
	}
	if err := o.validate(p); err != nil {
		return nil, Report{}, fmt.Errorf("quantising: %w", err)
	}
	q := &quantizer{
		model: p, options: o, ranges: r, plan: newPlan(p, o), names: p.Graph.Index(),
		parameters:  make(map[string]QuantizedRange),
		dequantized: make(map[string]string),
		integers:    make(map[string]string),
		scales:      make(map[string][2]string),
		channels:    make(map[*layer]int),
		source:      make(map[string]string),
	}
	if err := q.run(); err != nil {
		return nil, Report{}, fmt.Errorf("quantising: %w", err)
	}
	if err := p.Check(); err != nil {
		return nil, Report{}, fmt.Errorf("quantising: the result is not valid: %w", err)
	}
	return p, q.report(m), nil
}

// A quantizer rewrites the graph of a plan. Nodes are appended and sorted at the end.
type quantizer struct {
	model       *onnx.Model
	options     Options
	ranges      ranges
	plan        *plan
	names       *onnx.Index
	parameters  map[string]QuantizedRange // by source
	dequantized map[string]string         // activation → what layers read instead
	integers    map[string]string         // what DequantizeLinear makes → what it reads
	scales      map[string][2]string      // source → scale and zero point
	added       []*onnx.Node
	channels    map[*layer]int
	clamped     int               // biases that did not fit
	source      map[string]string // of each value: the one before all carrying layers, which sets its range
}

func (q *quantizer) run() error {
	if len(q.plan.layers) == 0 {
		return q.plan.errEmpty()
	}
	for _, value := range q.plan.values() {
		source := value
		for l := q.plan.byResult[value]; l != nil && l.kind == carrying; l = q.plan.byResult[source] {
			source = l.node.Inputs[0]
		}
		q.source[value] = source
		r, ok := q.ranges.Values[source]
		if !ok {
			return fmt.Errorf("the ranges lack %q: they are of another model", source)
		}
		if !(r.Min <= r.Max) {
			return fmt.Errorf("the range of %q is from %v to %v", source, r.Min, r.Max)
		}
		if q.plan.onlySigmoid(source) {
			r = Range{withinSigmoid(r.Min), withinSigmoid(r.Max)}
		}
		q.parameters[source] = QuantizedRange{r, q.options.activations().of(r)}
	}
	if err := q.weights(); err != nil {
		return err
	}
	// Results come first: the result of a layer is dequantised for all readers. Its name is from then on that of the
	// dequantised value.
	for _, l := range q.plan.layers {
		if !q.plan.quantized(l) {
			continue
		}
		maker := l.node
		if l.fused != nil {
			maker = l.fused
		}
		raw := q.names.Unique(l.result + "_raw")
		maker.Outputs[0] = raw
		q.pair(raw, l.result, l.result)
		q.dequantized[l.result] = l.result
	}
	// Other activations get a pair of nodes of their own; their other readers go on reading the original.
	for _, l := range q.plan.layers {
		for _, i := range l.activations() {
			value := l.node.Inputs[i]
			if q.dequantized[value] == "" {
				q.dequantized[value] = q.names.Unique(value + "_dequantized")
				q.pair(value, q.dequantized[value], value)
			}
			l.node.Inputs[i] = q.dequantized[value]
		}
	}
	g := q.model.Graph
	for _, n := range g.Nodes {
		q.protect(n)
	}
	g.Nodes = append(g.Nodes, q.added...)
	if err := g.Sort(); err != nil {
		return err
	}
	prune(q.model)
	return nil
}

// pair adds QuantizeLinear and DequantizeLinear from one name to another, with the
// parameters of a value.
func (q *quantizer) pair(from, to, value string) {
	integers := q.names.Unique(value + "_quantized")
	source := q.source[value]
	s, ok := q.scales[source]
	if !ok {
		p, a := q.parameters[source].Parameters, q.options.activations()
		s = [2]string{q.names.Unique(source + "_scale"), q.names.Unique(source + "_zero_point")}
		addConstant(q.model, onnx.TensorOf(s[0], []float32{p.Scale}))
		addConstant(q.model, a.zeroPoints(s[1], p, 0))
		q.scales[source] = s
	}
	q.node("QuantizeLinear", []string{from, s[0], s[1]}, integers)
	q.node("DequantizeLinear", []string{integers, s[0], s[1]}, to)
	q.integers[to] = integers
}

func (q *quantizer) node(op string, inputs []string, result string, attrs ...onnx.Attribute) {
	q.added = append(q.added, &onnx.Node{
		Name: q.names.Unique(result + "_" + op), Op: op, Inputs: inputs, Outputs: []string{result}, Attributes: attrs,
	})
}

// A weightKey is a tensor of weights and the axis of their units: layers with the same key share one
// quantised tensor.
type weightKey struct {
	tensor string
	axis   int
}

var errNotFinite = errors.New("not all elements are finite numbers")

// weights gives all weighted layers integer weights and biases.
func (q *quantizer) weights() error {
	type shared struct {
		layers []*layer
		uses   []weightUse
	}
	byKey := make(map[weightKey]*shared)
	var order []weightKey
	for _, l := range q.plan.layers {
		if l.kind != weighted {
			continue
		}
		key := weightKey{l.node.Inputs[1], unitAxis(l.node)}
		if byKey[key] == nil {
			byKey[key] = &shared{}
			order = append(order, key)
		}
		use := weightUse{input: q.parameters[q.source[l.node.Inputs[0]]].Scale}
		if name := l.node.Input(2); name != "" && l.hasBias() {
			var err error
			if use.bias, err = onnx.Elements[float32](q.plan.consts[name]); err != nil {
				return err
			}
			if !units.Finite(use.bias...) {
				return fmt.Errorf("bias %q: %w", name, errNotFinite)
			}
		}
		s := byKey[key]
		s.layers, s.uses = append(s.layers, l), append(s.uses, use)
	}
	for _, key := range order {
		t, s := q.plan.consts[key.tensor], byKey[key]
		w, err := onnx.Elements[float32](t)
		if err == nil && !units.Finite(w...) {
			err = errNotFinite
		}
		if err != nil {
			return fmt.Errorf("weights %q: %w", key.tensor, err)
		}
		qw := quantizeWeights(w, t.Dims, key.axis, q.options.PerTensor, q.options.weightLimit(), s.uses)
		name := q.constants(key.tensor, onnx.TensorOf("", qw.values, t.Dims...), qw.scales, key.axis)
		for i, l := range s.layers {
			l.node.Inputs[1] = name
			q.channels[l] = int(t.Dims[key.axis])
			bias := q.correct(l, s.uses[i].bias, w, qw, t.Dims)
			if bias == nil {
				continue
			}
			scales := make([]float32, len(qw.scales)) // that of the input times those of the weights, in float32 as in the engine
			for k, scale := range qw.scales {
				scales[k] = s.uses[i].input * scale
			}
			values, clamped := quantizeBias(bias, scales)
			q.clamped += clamped
			biasName := l.node.Input(2)
			if biasName == "" {
				biasName = layerName(l.node) + "_bias"
			}
			dequantized := q.constants(biasName, onnx.TensorOf("", values, int64(len(values))), scales, 0)
			l.node.Inputs = append(l.node.Inputs[:2:2], dequantized)
		}
	}
	return nil
}

// correct returns the bias less the shift that rounding the weights gives the mean of each unit: Σ
// error·mean of the input. Behind a Relu inputs are never negative, so the errors of a unit's weights
// would add up.
func (q *quantizer) correct(l *layer, bias, w []float32, qw quantizedWeights, dims []int64) []float32 {
	means := q.ranges.Means[l.node.Inputs[0]]
	if means == nil || !l.hasBias() {
		return bias
	}
	axis := unitAxis(l.node)
	errors := make([]float32, len(w)) // by how much each weight has changed
	eachUnit(dims, axis, func(unit, first, n int) {
		for i := first; i < first+n; i++ {
			errors[i] = float32(float64(qw.values[i])*float64(qw.scale(unit)) - float64(w[i]))
		}
	})
	corrected := make([]float32, dims[axis])
	copy(corrected, bias)
	for unit, shift := range meanShifts(l.node, errors, dims, means) {
		corrected[unit] = float32(float64(corrected[unit]) - shift)
	}
	return corrected
}

// constants adds integers with their scales, and a node that dequantises them. It returns the name of
// its result.
func (q *quantizer) constants(name string, integers *onnx.Tensor, scales []float32, axis int) string {
	perTensor := q.options.PerTensor
	integers.Name = q.names.Unique(name + "_quantized")
	scale := scaleTensor(q.names.Unique(name+"_scale"), scales, perTensor)
	zero := &onnx.Tensor{
		Name: q.names.Unique(name + "_zero_point"), Type: integers.Type, Dims: scale.Dims,
		Data: onnx.Raw(make([]byte, len(scales)*integers.Type.Bits()/8)),
	}
	for _, t := range []*onnx.Tensor{integers, scale, zero} {
		addConstant(q.model, t)
	}
	result := q.names.Unique(name + "_dequantized")
	var attrs []onnx.Attribute
	if !perTensor {
		attrs = append(attrs, onnx.Attr("axis", int64(axis)))
	}
	q.node("DequantizeLinear", []string{integers.Name, scale.Name, zero.Name}, result, attrs...)
	return result
}

// protect keeps a layer in FP32 that reads the result of a DequantizeLinear. From version 1.21 on ONNX
// Runtime quantises by itself, with one scale for all, the weights of any convolution or Gemm between
// DequantizeLinear and QuantizeLinear, also of layers that the plan leaves out (WeightBiasQuantization,
// onnxruntime/core/optimizer/qdq_transformer/weight_bias_quantization.cc). It does not where the input
// has a scale for each channel, so the layer gets a DequantizeLinear of its own, with the same scale for
// every channel.
func (q *quantizer) protect(n *onnx.Node) {
	integers, w := q.integers[n.Input(0)], q.plan.consts[n.Input(1)]
	if q.plan.byNode[n] != nil || integers == "" || !isFloat32Constant(w) || len(w.Dims) < 2 {
		return
	}
	channels, axis := 0, int64(1)
	switch {
	case isOp(n, "ConvTranspose"):
		channels = int(w.Dims[0])
	case isOp(n, "Conv") && whyNotKernels(n, w.Dims) == "":
		channels = inputChannels(n, w)
	case isOp(n, "Gemm"):
		channels = inputChannels(n, w)
		if onnx.AttrOr(n, "transA", int64(0)) != 0 {
			axis = 0
		}
	}
	if channels == 0 {
		return
	}
	a, p := q.options.activations(), q.parameters[q.source[n.Inputs[0]]].Parameters
	name := layerName(n) + "_input"
	scale := onnx.TensorOf(q.names.Unique(name+"_scale"), slices.Repeat([]float32{p.Scale}, channels), int64(channels))
	zero := a.zeroPoints(q.names.Unique(name+"_zero_point"), p, channels)
	addConstant(q.model, scale)
	addConstant(q.model, zero)
	for _, d := range q.added {
		if output(d, 0) == n.Inputs[0] && onlyReader(q.plan.index, n.Inputs[0]) == n {
			d.Inputs, d.Attributes = []string{integers, scale.Name, zero.Name}, []onnx.Attribute{onnx.Attr("axis", axis)}
			return // the value keeps its name, by which signalToNoise asks for it
		}
	}
	own := q.names.Unique(name)
	q.node("DequantizeLinear", []string{integers, scale.Name, zero.Name}, own, onnx.Attr("axis", axis))
	n.Inputs[0] = own
}
