package quantize

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/mlperf-go/mlperf/internal/onnx"
	"github.com/mlperf-go/mlperf/internal/units"
)

// Dynamic returns the model with 8-bit weights in its matrix products and LSTMs, without calibration:
// their inputs become integers while the model runs, with the range that they have then. The operators
// are ONNX Runtime's own, DynamicQuantizeMatMul and DynamicQuantizeLSTM, which return floats. An input
// has one scale for all its elements, so that results may depend on what else is in a batch.
//
// Products of fewer than 16 columns stay in FP32, since they gain nothing, and so do convolutions. A
// quantised model is an error (errQuantized).
func Dynamic(original *onnx.Model, o Options) (m *onnx.Model, report Report, err error) {
	return withoutCalibration(original, o, 8)
}

// FourBit returns the model with 4-bit weights in its matrix products, which become floats again while a product runs, by ONNX
// Runtime's operator MatMulNBits. Inputs and sums stay in FP32, so that nothing is calibrated. All else is as Dynamic has it;
// recurrent layers stay in FP32.
func FourBit(original *onnx.Model, o Options) (m *onnx.Model, report Report, err error) {
	return withoutCalibration(original, o, 4)
}

func withoutCalibration(original *onnx.Model, o Options, bits int) (m *onnx.Model, report Report, err error) {
	defer func() {
		if err != nil {
			m, report, err = nil, Report{}, fmt.Errorf("quantising: %w", err)
		}
	}()
	if err := acceptable(original); err != nil {
		return nil, Report{}, err
	}
	m = clone(original)
	constantsToInitializers(m)
	if err := foldGemmFactors(m); err != nil {
		return nil, Report{}, err
	}
	if err := o.validate(m); err != nil {
		return nil, Report{}, err
	}
	d := &dynamizer{
		plan:   &plan{model: m, index: m.Graph.Index(), consts: constants(m), types: elemTypes(m.Graph)},
		names:  m.Graph.Index(),
		report: Report{Model: m.Graph.Name, Method: AtRunTime, Bits: bits, Options: o, BytesBefore: weightBytes(original)},
		made:   make(map[weightKey][2]string),
	}
	for _, n := range m.Graph.Nodes {
		if !isONNX(n) || d.plan.constant(n) {
			continue
		}
		var err error
		switch {
		case n.Op == "MatMul" || n.Op == "Gemm":
			err = d.product(n)
		case n.Op == "LSTM" && bits == 4:
			d.exclude(n, "recurrent layers have no kernels for 4-bit weights")
		case n.Op == "LSTM":
			err = d.lstm(n)
		case n.Op == "Conv":
			d.exclude(n, "convolutions are not quantised at run time")
		case weightedOps[n.Op] && d.plan.consts[n.Input(1)] != nil:
			d.exclude(n, "the operator is not computed with integers")
		}
		if err != nil {
			return nil, Report{}, fmt.Errorf("%s %q: %w", n.Op, layerName(n), err)
		}
	}
	if len(d.report.Layers) == 0 {
		return nil, Report{}, (&plan{excluded: d.report.Excluded}).errEmpty()
	}
	if m.Opset(runtimeDomain) == 0 {
		m.Opsets = append(m.Opsets, onnx.Opset{Domain: runtimeDomain, Version: 1})
	}
	prune(m)
	d.report.BytesAfter = weightBytes(m)
	if err := m.Check(); err != nil {
		return nil, Report{}, fmt.Errorf("the result is not valid: %w", err)
	}
	return m, d.report, nil
}

// runtimeDomain is the domain of ONNX Runtime's own operators.
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

func (d *dynamizer) exclude(n *onnx.Node, reason string) {
	d.report.Excluded = append(d.report.Excluded, ExcludedLayer{layerName(n), n.Op, reason})
}

// product gives a matrix product integer weights. Products that share weights share the integers.
func (d *dynamizer) product(n *onnx.Node) error {
	o, axis, t := d.report.Options, unitAxis(n), d.plan.consts[n.Input(1)]
	reason := o.excludes(n)
	if reason == "" {
		reason = d.plan.whyNotWeighted(n)
	}
	if reason == "" && t.Dims[axis] < fewColumns {
		reason = fmt.Sprintf("it has fewer than %d columns", fewColumns)
	}
	if reason != "" {
		if t != nil { // products of two activations are no layers
			d.exclude(n, reason)
		}
		return nil
	}
	if d.report.Bits == 4 {
		return d.fourBits(n, t, axis)
	}
	key := weightKey{t.Name, axis}
	if _, ok := d.made[key]; !ok {
		q, err := d.integers(t, t.Dims, axis)
		if err != nil {
			return fmt.Errorf("weights %q: %w", t.Name, err)
		}
		dims := slices.Clone(t.Dims)
		if axis == 0 { // the operator wants [inputs, units]
			q.values, dims = transposed(q.values, int(dims[0]), int(dims[1])), []int64{dims[1], dims[0]}
		}
		d.made[key] = d.add(t.Name, onnx.TensorOf("", q.values, dims...), scaleTensor("", q.scales, o.PerTensor))
	}
	inputs := []string{n.Input(0), d.made[key][0], d.made[key][1]}
	if bias := n.Input(2); bias != "" {
		inputs = append(inputs, "", bias)
	}
	d.report.Layers = append(d.report.Layers, QuantizedLayer{Layer: layerName(n), Op: n.Op, Channels: int(t.Dims[axis])})
	n.Op, n.Domain, n.Inputs, n.Attributes = "DynamicQuantizeMatMul", runtimeDomain, inputs, nil
	return nil
}

// blockSize is how many weights of an output share a scale, as ONNX Runtime's own tools have it by default.
const blockSize = 32

// fourBits gives a matrix product 4-bit weights: MatMulNBits of ONNX Runtime, whose weights are [outputs, blocks, bytes], the
// first of two weights in the low half of a byte, and scales [outputs, blocks]. A weight is (integer - 8)·scale.
func (d *dynamizer) fourBits(n *onnx.Node, t *onnx.Tensor, axis int) error {
	outputs, inputs := int(t.Dims[axis]), int(t.Dims[1-axis])
	key := weightKey{t.Name, axis}
	if _, ok := d.made[key]; !ok {
		w, err := onnx.Elements[float32](t)
		if err != nil || !units.Finite(w...) {
			return fmt.Errorf("weights %q: %w", t.Name, cmp.Or(err, errNotFinite))
		}
		at := func(out, in int) float64 {
			if axis == 0 {
				return float64(w[out*inputs+in])
			}
			return float64(w[in*outputs+out])
		}
		blocks := (inputs + blockSize - 1) / blockSize
		packed, scales := slices.Repeat([]byte{0x88}, outputs*blocks*blockSize/2), make([]float32, outputs*blocks)
		for out := range outputs {
			for b := range blocks {
				begin, end, largest := b*blockSize, min((b+1)*blockSize, inputs), 0.0
				for in := begin; in < end; in++ {
					largest = max(largest, math.Abs(at(out, in)))
				}
				scale := float32(largest / 7)
				scales[out*blocks+b] = scale
				for in := begin; in < end && scale > 0; in++ {
					q := byte(8 + max(-7, min(7, math.RoundToEven(at(out, in)/float64(scale)))))
					i, shift := (out*blocks+b)*blockSize/2+(in-begin)/2, 4*(in%2)
					packed[i] = packed[i]&^(0xf<<shift) | q<<shift
				}
			}
		}
		integers := &onnx.Tensor{Type: onnx.Uint8, Dims: []int64{int64(outputs), int64(blocks), blockSize / 2}, Data: onnx.Raw(packed)}
		d.made[key] = d.add(t.Name, integers, onnx.TensorOf("", scales, int64(outputs), int64(blocks)))
	}
	inputNames := []string{n.Input(0), d.made[key][0], d.made[key][1]}
	if bias := n.Input(2); bias != "" {
		inputNames = append(inputNames, "", "", bias)
	}
	d.report.Layers = append(d.report.Layers, QuantizedLayer{Layer: layerName(n), Op: n.Op, Channels: outputs})
	n.Op, n.Domain, n.Inputs, n.Attributes = "MatMulNBits", runtimeDomain, inputNames, []onnx.Attribute{
		onnx.Attr("K", int64(inputs)), onnx.Attr("N", int64(outputs)), onnx.Attr("bits", int64(4)), onnx.Attr("block_size", int64(blockSize)),
	}
	return nil
}

// integers quantises weights with units along an axis.
func (d *dynamizer) integers(t *onnx.Tensor, dims []int64, axis int) (quantizedWeights, error) {
	w, err := onnx.Elements[float32](t)
	if err != nil {
		return quantizedWeights{}, err
	}
	if !units.Finite(w...) {
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

// transposed returns a matrix with its axes exchanged.
func transposed(values []int8, rows, columns int) []int8 {
	out := make([]int8, len(values))
	for r := range rows {
		for c := range columns {
			out[c*rows+r] = values[r*columns+c]
		}
	}
	return out
}

// The inputs of an LSTM.
const (
	lstmWeights    = 1
	lstmRecurrence = 2
	lstmInputs     = 8
)

// lstm gives an LSTM integer weights. DynamicQuantizeLSTM has the inputs of LSTM, with the
// axes of both matrices exchanged, and scales and zero points behind them.
func (d *dynamizer) lstm(n *onnx.Node) error {
	var weights [2]*onnx.Tensor
	for i, at := range []int{lstmWeights, lstmRecurrence} {
		weights[i] = d.plan.consts[n.Input(at)]
	}
	reason := d.report.Options.excludes(n)
	if reason == "" && onnx.AttrOr(n, "layout", int64(0)) != 0 {
		reason = "its batch comes first"
	}
	for i := range weights {
		switch {
		case reason != "":
		case !isFloat32Constant(weights[i]) || len(weights[i].Dims) != 3:
			reason = notConstant
		case slices.Contains(weights[i].Dims, 0):
			reason = "its weights are empty"
		}
	}
	if reason != "" {
		d.exclude(n, reason)
		return nil
	}
	inputs := slices.Clone(n.Inputs)
	for len(inputs) < lstmInputs {
		inputs = append(inputs, "")
	}
	for i, at := range []int{lstmWeights, lstmRecurrence} {
		names, err := d.gates(weights[i], weights[i].Dims)
		if err != nil {
			return err
		}
		inputs[at] = names[0]
		inputs = append(inputs, names[1:]...)
	}
	n.Op, n.Domain, n.Inputs = "DynamicQuantizeLSTM", runtimeDomain, inputs
	n.DropAttr("layout")
	d.report.Layers = append(d.report.Layers, QuantizedLayer{Layer: layerName(n), Op: "LSTM", Channels: int(weights[0].Dims[0] * weights[0].Dims[1])})
	return nil
}

// gates adds the weights of an LSTM, [directions, gates, inputs], as integers [directions, inputs, gates],
// and returns their name and those of scales and zero points.
func (d *dynamizer) gates(t *onnx.Tensor, dims []int64) ([]string, error) {
	directions, gates, inputs := int(dims[0]), int(dims[1]), int(dims[2])
	q, err := d.integers(t, []int64{dims[0] * dims[1], dims[2]}, 0)
	if err != nil {
		return nil, err
	}
	values := make([]int8, 0, len(q.values))
	for i := range directions {
		values = append(values, transposed(q.values[i*gates*inputs:][:gates*inputs], gates, inputs)...)
	}
	of := []int64{dims[0], dims[1]}
	if d.report.Options.PerTensor {
		q.scales, of = slices.Repeat(q.scales, directions), of[:1]
	}
	names := d.add(t.Name, onnx.TensorOf("", values, dims[0], dims[2], dims[1]), onnx.TensorOf("", q.scales, of...))
	zero := &onnx.Tensor{Name: d.names.Unique(t.Name + "_zero_point"), Type: onnx.Int8, Dims: of, Data: onnx.Raw(make([]byte, len(q.scales)))}
	addConstant(d.plan.model, zero)
	return append(names[:], zero.Name), nil
}
