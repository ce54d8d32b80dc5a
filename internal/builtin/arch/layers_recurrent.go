package arch

import "github.com/mlperf-go/mlperf/internal/onnx"

// A recurrent describes an LSTM over sequences, with ONNX's order of gates: i, o, f, c.
type recurrent struct {
	Hidden     int64
	Cells      int64  // 2: one for each direction
	Weights    Filler // [cells·4·hidden, inputs]
	Recurrence Filler // [cells·4·hidden, hidden]
	Bias       Filler // [cells·8·hidden]: for each cell those for the input, and then those for the last output
}

// lstm adds an LSTM: [steps sequences inputs], and perhaps the lengths of the sequences,
// behind which outputs are 0. Its outputs are all steps, [steps cells sequences hidden],
// and the last h and c of each sequence.
func (b *Builder) lstm(name string, x, lengths *onnx.Value, r recurrent) []*onnx.Value {
	in, rows, direction := x.Type.Shape, r.Cells*4*r.Hidden, "forward"
	if len(in) != 3 || !in[2].Known() {
		v := b.fail("LSTM", name, errNoAxis)
		return []*onnx.Value{v, v, v}
	}
	if r.Cells == 2 {
		direction = "bidirectional"
	}
	w := b.Weight(name+"/weights", r.Weights, rows, in[2].Size)
	recurrence := b.Weight(name+"/recurrence", r.Recurrence, rows, r.Hidden)
	bias := b.Weight(name+"/bias", r.Bias, 2*rows)
	inputs := []*onnx.Value{
		x,
		b.Reshape(name+"/w", w, r.Cells, 4*r.Hidden, in[2].Size),
		b.Reshape(name+"/r", recurrence, r.Cells, 4*r.Hidden, r.Hidden),
		b.Reshape(name+"/b", bias, r.Cells, 8*r.Hidden),
	}
	if lengths != nil {
		inputs = append(inputs, lengths)
	}
	attrs := []onnx.Attribute{onnx.Attr("hidden_size", r.Hidden), onnx.Attr("direction", direction)}
	last := onnx.Type{Elem: onnx.Float32, Shape: onnx.Shape{onnx.Fixed(r.Cells), in[1], onnx.Fixed(r.Hidden)}}
	steps := onnx.Type{Elem: onnx.Float32, Shape: onnx.Shape{in[0], onnx.Fixed(r.Cells), in[1], onnx.Fixed(r.Hidden)}}
	return b.Node("LSTM", name, inputs, attrs, steps, last, last)
}

// lstmCell adds one step of an LSTM (BasicLSTMCell): the gates i, j, f and o from the input,
// which ends with the last output, and then output and cell. The bias of forgetting is part
// of the bias.
func (b *Builder) lstmCell(name string, x, c *onnx.Value, hidden int64, weights, bias Filler) (h, next *onnx.Value) {
	z := b.Dense(name+"/gates", x, Dense{Units: 4 * hidden, Weights: weights, Bias: bias})
	gate := func(i int64, name string) *onnx.Value { return b.Slice(name, z, 1, i*hidden, (i+1)*hidden) }
	sigmoid := func(what string, x *onnx.Value) *onnx.Value { return b.Unary("Sigmoid", name+"/"+what, x) }
	forgotten := b.Binary("Mul", name+"/kept", c, sigmoid("forget", gate(gateForget, name+"/gate2")))
	learned := b.Binary("Mul", name+"/new", sigmoid("input", gate(gateInput, name+"/gate0")), b.Unary("Tanh", name+"/candidate", gate(gateCandidate, name+"/gate1")))
	next = b.Add(name+"/c", forgotten, learned)
	return b.Binary("Mul", name+"/h", b.Unary("Tanh", name+"/squashed", next), sigmoid("output", gate(gateOutput, name+"/gate3"))), next
}

// The gates of a cell, in TensorFlow's order.
const (
	gateInput = iota
	gateCandidate
	gateForget
	gateOutput
)

// onnxGates are the gates in the order of ONNX's LSTM: i, o, f, c.
var onnxGates = [4]int{gateInput, gateOutput, gateForget, gateCandidate}

// width is the size of the last axis, 0 where it is not known.
func width(x *onnx.Value) int64 { return extentOf(x, len(x.Type.Shape)-1) }

// extentOf is the size of an axis, 0 where it is not known: after an error values have no axes.
func extentOf(x *onnx.Value, axis int) int64 {
	if axis < 0 || axis >= len(x.Type.Shape) || !x.Type.Shape[axis].Known() {
		return 0
	}
	return x.Type.Shape[axis].Size
}
