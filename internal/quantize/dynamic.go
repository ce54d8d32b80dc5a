package quantize

import (
	"fmt"
	"slices"

	"github.com/mlperf-go/mlperf/internal/onnx"
)

// Dynamic returns the model with 8-bit weights in its matrix products and LSTMs. What these read
// becomes integers while the model runs, with the range that it has then: nothing is calibrated.
// The operators are ONNX Runtime's own, DynamicQuantizeMatMul and DynamicQuantizeLSTM, which give
// floats out. All of what such an operator reads has one scale, so that results may depend on
// what else is in a batch. Of the Options those for activations and biases have no meaning.
//
// Products of fewer than 16 columns stay in FP32, since they gain nothing, and so do convolutions. A
// model that is quantised is refused with errQuantized.
func Dynamic(m *onnx.Model, o Options) (*onnx.Model, Report, error) {
	q, report, err := dynamic(m, o)
	if err != nil {
		return nil, Report{}, fmt.Errorf("quantising: %w", err)
	}
	return q, report, nil
}

func dynamic(original *onnx.Model, o Options) (*onnx.Model, Report, error) {
	if err := acceptable(original); err != nil {
		return nil, Report{}, err
	}
	m := clone(original)
	constantsToInitializers(m)
	if err := foldScales(m); err != nil {
		return nil, Report{}, err
	}
	if err := o.validate(m); err != nil {
		return nil, Report{}, err
	}
	d := &dynamizer{
		plan:   &plan{model: m, index: m.Graph.Index(), consts: constants(m), types: elemTypes(m.Graph)},
		names:  m.Graph.Index(),
		report: Report{Model: m.Graph.Name, Method: Method{Name: AtRunTime}, Options: o, BytesBefore: weightBytes(original.Graph)},
		made:   make(map[weightKey][2]string),
	}
	if err := d.run(); err != nil {
		return nil, Report{}, err
	}
	d.report.BytesAfter = weightBytes(m.Graph)
	if err := m.Check(); err != nil {
		return nil, Report{}, fmt.Errorf("the result is not valid: %w", err)
	}
	return m, d.report, nil
}

// runtimeDomain is that of ONNX Runtime's own operators.
const runtimeDomain = "com.microsoft"

// fewColumns are too few for integers to gain anything.
const fewColumns = 16

// A dynamizer rewrites a graph, node by node.
type dynamizer struct {
	plan   *plan
	names  *onnx.Index
	report Report
	made   map[weightKey][2]string // integers and scales
}

func (d *dynamizer) run() error {
	m := d.plan.model
	for _, n := range m.Graph.Nodes {
		if !isONNX(n) || d.plan.constant(n) {
			continue
		}
		if err := d.node(n); err != nil {
			return fmt.Errorf("%s %q: %w", n.Op, layerName(n), err)
		}
	}
	if len(d.report.Layers) == 0 {
		return (&plan{excluded: d.report.Excluded}).errEmpty()
	}
	if m.Opset(runtimeDomain) == 0 {
		m.Opsets = append(m.Opsets, onnx.Opset{Domain: runtimeDomain, Version: 1})
	}
	prune(m)
	return nil
}

// node rewrites a node, if it is one with weights.
func (d *dynamizer) node(n *onnx.Node) error {
	switch n.Op {
	case "MatMul", "Gemm":
		return d.product(n)
	case "LSTM":
		return d.lstm(n)
	case "Conv":
		d.exclude(n, "convolutions are not quantised at run time")
	}
	return nil
}

func (d *dynamizer) exclude(n *onnx.Node, reason string) {
	d.report.Excluded = append(d.report.Excluded, ExcludedLayer{layerName(n), n.Op, reason})
}

// product makes a matrix product one with integers.
func (d *dynamizer) product(n *onnx.Node) error {
	if reason := d.plan.whyNotProduct(n, d.report.Options); reason != "" {
		if d.plan.consts[n.Input(1)] != nil { // products of two activations are no layers
			d.exclude(n, reason)
		}
		return nil
	}
	layer := QuantizedLayer{Layer: layerName(n), Op: n.Op, Channels: int(d.plan.consts[n.Input(1)].Dims[unitAxis(n)])}
	integers, err := d.matrix(n.Input(1), unitAxis(n))
	if err != nil {
		return err
	}
	inputs := []string{n.Input(0), integers[0], integers[1]}
	if bias := n.Input(2); bias != "" {
		inputs = append(inputs, "", bias)
	}
	n.Op, n.Domain, n.Inputs, n.Attributes = "DynamicQuantizeMatMul", runtimeDomain, inputs, nil
	d.report.Layers = append(d.report.Layers, layer)
	return nil
}

// whyNotProduct says what keeps a matrix product from having integer weights; "" if nothing does.
func (p *plan) whyNotProduct(n *onnx.Node, o Options) string {
	reason := o.excludes(n)
	if reason == "" {
		reason = p.whyNotWeighted(n)
	}
	if reason == "" && p.consts[n.Input(1)].Dims[unitAxis(n)] < fewColumns {
		reason = fmt.Sprintf("it has fewer than %d columns", fewColumns)
	}
	return reason
}

// matrix adds weights as integers, [inputs, units], and their scales, and returns the names of both.
func (d *dynamizer) matrix(name string, axis int) ([2]string, error) {
	key := weightKey{name, axis}
	if names, ok := d.made[key]; ok {
		return names, nil
	}
	t := d.plan.consts[name]
	q, err := d.integers(t, t.Dims, axis)
	if err != nil {
		return [2]string{}, fmt.Errorf("weights %q: %w", name, err)
	}
	dims := slices.Clone(t.Dims)
	if axis == 0 {
		q.values, dims = turned(q.values, int(dims[0]), int(dims[1])), []int64{dims[1], dims[0]}
	}
	scales := scaleTensor("", q.scales, d.report.Options.PerTensor)
	names := d.add(name, onnx.TensorOf("", q.values, dims...), scales)
	d.made[key] = names
	return names, nil
}

// integers quantises weights with units along an axis.
func (d *dynamizer) integers(t *onnx.Tensor, dims []int64, axis int) (quantizedWeights, error) {
	w, err := onnx.Elements[float32](t)
	if err != nil {
		return quantizedWeights{}, err
	}
	if !finite(widen(w)) {
		return quantizedWeights{}, errNotFinite
	}
	o := d.report.Options
	return quantizeWeights(w, dims, axis, o.PerTensor, o.weightLimit(), nil), nil
}

// add adds integers and their scales, and returns the names.
func (d *dynamizer) add(name string, integers, scales *onnx.Tensor) [2]string {
	integers.Name, scales.Name = d.names.Unique(name+"_quantized"), d.names.Unique(name+"_scale")
	addConstant(d.plan.model, integers)
	addConstant(d.plan.model, scales)
	return [2]string{integers.Name, scales.Name}
}

// turned is a matrix with its axes exchanged.
func turned(values []int8, rows, columns int) []int8 {
	out := make([]int8, len(values))
	for r := range rows {
		for c := range columns {
			out[c*rows+r] = values[r*columns+c]
		}
	}
	return out
}
