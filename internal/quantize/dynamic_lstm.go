package quantize

import (
	"slices"

	"github.com/mlperf-go/mlperf/internal/onnx"
)

// The inputs of an LSTM.
const (
	lstmWeights    = 1
	lstmRecurrence = 2
	lstmInputs     = 8
)

// lstm makes an LSTM one with integer weights. DynamicQuantizeLSTM has the inputs of LSTM, with the
// axes of both matrices exchanged, and scales and zero points behind them.
func (d *dynamizer) lstm(n *onnx.Node) error {
	var weights [2]*onnx.Tensor
	var dims [2][]int64
	for i, at := range []int{lstmWeights, lstmRecurrence} {
		weights[i], dims[i] = d.constantOf(n.Input(at))
	}
	if reason := d.whyNotLSTM(n, weights, dims); reason != "" {
		d.exclude(n, reason)
		return nil
	}
	inputs := slices.Clone(n.Inputs)
	for len(inputs) < lstmInputs {
		inputs = append(inputs, "")
	}
	for i, at := range []int{lstmWeights, lstmRecurrence} {
		names, err := d.gates(weights[i], dims[i])
		if err != nil {
			return err
		}
		inputs[at] = names[0]
		inputs = append(inputs, names[1:]...)
	}
	n.Op, n.Domain, n.Inputs = "DynamicQuantizeLSTM", runtimeDomain, inputs
	n.DropAttr("layout")
	d.report.Layers = append(d.report.Layers, QuantizedLayer{Layer: layerName(n), Op: "LSTM", Channels: int(dims[0][0] * dims[0][1])})
	return nil
}

func (d *dynamizer) whyNotLSTM(n *onnx.Node, weights [2]*onnx.Tensor, dims [2][]int64) string {
	if reason := d.report.Options.excludesAtRunTime(n); reason != "" {
		return reason
	}
	if onnx.AttrOr(n, "layout", int64(0)) != 0 {
		return "its batch comes first"
	}
	for i := range weights {
		if !isFloat32Constant(weights[i]) || len(dims[i]) != 3 {
			return "its weights are not constant"
		}
		if slices.Contains(dims[i], 0) {
			return "its weights are empty"
		}
	}
	return ""
}

// excludesAtRunTime is excludes for operators of which all are quantised unless some are named.
func (o Options) excludesAtRunTime(n *onnx.Node) string {
	if o.Ops == nil {
		o.Ops = []string{n.Op}
	}
	return o.excludes(n)
}

// constantOf returns the constant that a value is, perhaps of another shape, and that shape.
func (d *dynamizer) constantOf(name string) (*onnx.Tensor, []int64) {
	if t := d.plan.consts[name]; t != nil {
		return t, t.Dims
	}
	n := d.plan.index.Producer(name)
	if !isOp(n, "Reshape") {
		return nil, nil
	}
	t := d.plan.consts[n.Input(0)]
	dims := d.shape(n.Input(1))
	if t == nil || !sameSize(t.Dims, dims) {
		return nil, nil
	}
	return t, dims
}

// shape returns a constant list of extents; none if it is not constant or leaves some open.
func (d *dynamizer) shape(name string) []int64 {
	t := d.plan.consts[name]
	if t == nil {
		return nil
	}
	dims, err := onnx.Elements[int64](t)
	if err != nil || slices.Min(append(dims, 1)) < 1 {
		return nil
	}
	return dims
}

// sameSize reports whether tensors of two shapes have as many elements.
func sameSize(a, b []int64) bool {
	x, err := (&onnx.Tensor{Dims: a}).Len()
	y, errOther := (&onnx.Tensor{Dims: b}).Len()
	return err == nil && errOther == nil && x == y
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
		values = append(values, turned(q.values[i*gates*inputs:][:gates*inputs], gates, inputs)...)
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
