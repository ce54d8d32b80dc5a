package quantize

import (
	"fmt"

	"github.com/mlperf-go/mlperf/internal/onnx"
)

// Quantize returns the model with 8-bit integers in the place of FP32 wherever Options
// ask for it, in the QDQ form: every layer stays the operator it was, between a
// DequantizeLinear for each input and a QuantizeLinear behind the result, which engines
// fuse into one integer kernel. The ranges come from Calibrate. Inputs and outputs of
// the model stay what they are. The original is not changed.
//
// Without ranges because they are found AtRunTime, it is Dynamic. A model that is quantised is refused
// with errQuantized.
func Quantize(m *onnx.Model, ranges Ranges, o Options) (*onnx.Model, Report, error) {
	if ranges.Method.Name == AtRunTime {
		return Dynamic(m, o)
	}
	p, err := prepare(m)
	if err != nil {
		return nil, Report{}, fmt.Errorf("quantising: %w", err)
	}
	if err := o.validate(p); err != nil {
		return nil, Report{}, fmt.Errorf("quantising: %w", err)
	}
	q := newQuantizer(p, ranges, o)
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
	ranges      Ranges
	plan        *plan
	names       *onnx.Index
	parameters  map[string]QuantizedRange // by source
	dequantized map[string]string         // activation → what layers read instead
	integers    map[string]string         // what DequantizeLinear makes → what it reads
	scales      map[string][2]string      // source → scale and zero point
	added       []*onnx.Node
	channels    map[*layer]int
	clamped     int               // biases that did not fit
	source      map[string]string // see plan.source; the plan itself is of no use once inputs change
}

func newQuantizer(m *onnx.Model, ranges Ranges, o Options) *quantizer {
	return &quantizer{
		model: m, options: o, ranges: ranges, plan: newPlan(m, o), names: m.Graph.Index(),
		parameters:  make(map[string]QuantizedRange),
		dequantized: make(map[string]string),
		integers:    make(map[string]string),
		scales:      make(map[string][2]string),
		channels:    make(map[*layer]int),
		source:      make(map[string]string),
	}
}

func (q *quantizer) run() error {
	if len(q.plan.layers) == 0 {
		return q.plan.errEmpty()
	}
	if err := q.setParameters(); err != nil {
		return err
	}
	if err := q.quantizeWeights(); err != nil {
		return err
	}
	q.connect()
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

// connect has the layers read and make integers. Results come first: what a layer makes is dequantised for
// all readers.
func (q *quantizer) connect() {
	for _, l := range q.plan.layers {
		if q.plan.quantized(l) {
			q.quantizeResult(l)
		}
	}
	for _, l := range q.plan.layers {
		for _, i := range l.activations() {
			l.node.Inputs[i] = q.dequantize(l.node.Inputs[i])
		}
	}
}

// setParameters finds the parameters of all values from their ranges.
func (q *quantizer) setParameters() error {
	for _, value := range q.plan.values() {
		source := q.plan.source(value)
		q.source[value] = source
		r, ok := q.ranges.Values[source]
		if !ok {
			return fmt.Errorf("the ranges lack %q: they are of another model", source)
		}
		if !(r.Min <= r.Max) {
			return fmt.Errorf("the range of %q is from %v to %v", source, r.Min, r.Max)
		}
		if q.plan.onlySigmoid(source) {
			r = r.reaching()
		}
		q.parameters[source] = QuantizedRange{r, q.options.activations().of(r)}
	}
	return nil
}

// quantizeResult puts a pair of nodes behind a layer. The value keeps its name, and is
// from then on what the integers stand for, for all who read it.
func (q *quantizer) quantizeResult(l *layer) {
	maker := l.node
	if l.fused != nil {
		maker = l.fused
	}
	raw := q.names.Unique(l.result + "_raw")
	maker.Outputs[0] = raw
	q.pair(raw, l.result, l.result)
	q.dequantized[l.result] = l.result
}

// dequantize returns the name under which layers read an activation. One that no layer
// makes gets a pair of nodes of its own; other readers go on reading the original.
func (q *quantizer) dequantize(value string) string {
	if q.dequantized[value] == "" {
		q.dequantized[value] = q.names.Unique(value + "_dequantized")
		q.pair(value, q.dequantized[value], value)
	}
	return q.dequantized[value]
}

// pair adds QuantizeLinear and DequantizeLinear from one name to another, with the
// parameters of a value.
func (q *quantizer) pair(from, to, value string) {
	integers := q.names.Unique(value + "_quantized")
	s := q.scale(q.source[value])
	q.node("QuantizeLinear", []string{from, s[0], s[1]}, integers)
	q.node("DequantizeLinear", []string{integers, s[0], s[1]}, to)
	q.integers[to] = integers
}

// scale returns the names of scale and zero point of a source.
func (q *quantizer) scale(source string) [2]string {
	if names, ok := q.scales[source]; ok {
		return names
	}
	p, a := q.parameters[source].Parameters, q.options.activations()
	names := [2]string{q.names.Unique(source + "_scale"), q.names.Unique(source + "_zero_point")}
	addConstant(q.model, onnx.TensorOf(names[0], []float32{p.Scale}))
	addConstant(q.model, a.zeroPoints(names[1], p, 0))
	q.scales[source] = names
	return names
}

func (q *quantizer) node(op string, inputs []string, result string, attrs ...onnx.Attribute) {
	q.added = append(q.added, &onnx.Node{
		Name: q.names.Unique(result + "_" + op), Op: op, Inputs: inputs, Outputs: []string{result}, Attributes: attrs,
	})
}
