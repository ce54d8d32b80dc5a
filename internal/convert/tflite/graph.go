package tflite

import (
	"errors"
	"fmt"
	"slices"

	"github.com/mlperf-go/mlperf/internal/onnx"
)

// The versions of what is written: QuantizeLinear takes int16 from 21 on.
const (
	opset     = 21
	irVersion = 10
)

// growth bounds the constants of the graph, as a multiple of the file: integers become float32 at most, and layers may share constants.
const growth = 16

// A layout is the order of the axes of a value of rank 4.
type layout int

const (
	last  layout = iota // N H W C, as in the file
	first               // N C H W, as ONNX's convolutions take it
)

var (
	toFirst = []int64{0, 3, 1, 2}
	toLast  = []int64{0, 2, 3, 1}
)

// A graph is an ONNX graph while it is made of a file.
type graph struct {
	*file
	out  *onnx.Graph
	op   *op
	used map[string]int // names that are taken, with the number of the next like it
	room int64          // bytes that constants may still take

	stored [][2]string // of each tensor in each layout: the name of its value, as the file stores it; empty: not made yet
	reals  [][2]string // the same of dequantised values
}

// Convert returns the ONNX form of a TensorFlow Lite model. name is for messages and the graph.
func Convert(name string, content []byte) (*onnx.Model, error) {
	f, err := parse(content)
	if err != nil {
		return nil, fmt.Errorf("%s: not a TensorFlow Lite model that can be converted: %w", name, err)
	}
	m, err := f.convert(name, int64(len(content)))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return m, nil
}

func (f *file) convert(name string, size int64) (*onnx.Model, error) {
	g := &graph{file: f, out: &onnx.Graph{Name: name}, used: map[string]int{}, room: growth*size + 1<<20,
		stored: make([][2]string, len(f.tensors)), reals: make([][2]string, len(f.tensors))}
	for _, i := range f.inputs {
		t := f.tensors[i]
		if t.name == "" || g.used[t.name] > 0 || t.data != nil {
			return nil, fmt.Errorf("input %q: expected a variable with a name of its own", t.name)
		}
		g.used[t.name] = 1
		g.stored[i][last] = t.name
		g.out.Inputs = append(g.out.Inputs, t.value())
	}
	for _, i := range f.outputs {
		g.used[f.tensors[i].name] = 1 // for the end
	}
	for n := range f.ops {
		g.op = &f.ops[n]
		if err := g.lower(); err != nil {
			return nil, fmt.Errorf("operator %d (%s version %d%s): %w", n, g.op.name, g.op.version, g.making(), err)
		}
	}
	seen := map[string]bool{}
	for _, i := range f.outputs {
		t := f.tensors[i]
		if t.data != nil {
			return nil, fmt.Errorf("output %q is a constant", t.name)
		}
		from, err := g.value(i, last)
		if err != nil {
			return nil, fmt.Errorf("output %q: %w", t.name, err)
		}
		if t.name == "" || seen[t.name] || from == t.name {
			return nil, fmt.Errorf("output %q: expected a result of an operator with a name of its own", t.name)
		}
		seen[t.name] = true
		g.out.Nodes = append(g.out.Nodes, &onnx.Node{Name: t.name, Op: "Identity", Inputs: []string{from}, Outputs: []string{t.name}})
		g.out.Outputs = append(g.out.Outputs, t.value())
	}
	g.out.Prune()
	m := &onnx.Model{IRVersion: irVersion, Opsets: []onnx.Opset{{Version: opset}}, Producer: "mlperf", Graph: g.out}
	return m, m.Check()
}

// making names the first result of the operator for messages.
func (g *graph) making() string {
	if len(g.op.outputs) == 0 {
		return ""
	}
	return fmt.Sprintf(", making %q", g.tensors[g.op.outputs[0]].name)
}

// lower adds the nodes of the operator.
func (g *graph) lower() (err error) {
	defer func() { // a file that is damaged within the options of an operator
		if r := recover(); r != nil {
			cause, ok := r.(error)
			if !ok || cause != errDamaged && !errors.As(cause, new(refusal)) {
				panic(r)
			}
			err = cause
		}
	}()
	l, ok := lowerings[g.op.name]
	if !ok {
		return errors.New("this operator is not converted")
	}
	if len(g.op.inputs) < l.inputs || len(g.op.outputs) == 0 {
		return fmt.Errorf("has %d inputs and %d outputs, expected %d and 1", len(g.op.inputs), len(g.op.outputs), l.inputs)
	}
	for _, i := range g.op.inputs[:l.inputs] {
		if i < 0 {
			return errors.New("an input is left out")
		}
	}
	l.lower(g)
	return nil
}

// A refusal is the panic of a conversion that cannot go on. lower returns it.
type refusal struct{ error }

func refuse(format string, args ...any) { panic(refusal{fmt.Errorf(format, args...)}) }

func must[T any](v T, err error) T {
	if err != nil {
		refuse("%w", err)
	}
	return v
}

func (t *tensor) value() *onnx.Value {
	return &onnx.Value{Name: t.name, Type: onnx.Type{Elem: t.elem, Shape: onnx.FixedShape(longs(t.shape))}}
}

func longs(list []int) []int64 {
	out := make([]int64, len(list))
	for i, v := range list {
		out[i] = int64(v)
	}
	return out
}

// in and res are the tensors that the operator reads and makes.
func (g *graph) in(n int) *tensor {
	if !g.has(n) {
		refuse("input %d is left out", n)
	}
	return g.tensors[g.op.inputs[n]]
}
func (g *graph) res(n int) *tensor { return g.tensors[g.op.outputs[n]] }

// settle gives the n-th result the shape that its operator makes: the converters of 2019 and 2020 left shapes out, which read as
// those of scalars.
func (g *graph) settle(n int, shape ...int) {
	y := g.res(n)
	if y.rank() != 0 {
		return
	}
	for _, d := range shape {
		if d < 0 || len(shape) > maxRank {
			refuse("shape %v of its result is not possible", shape)
		}
	}
	y.shape = shape
}

// has reports whether the operator has an n-th input.
func (g *graph) has(n int) bool { return n < len(g.op.inputs) && g.op.inputs[n] >= 0 }

// fresh returns a name that no value has.
func (g *graph) fresh(name string) string {
	unique := name
	for unique == "" || g.used[unique] > 0 {
		unique = fmt.Sprintf("%s/%d", name, g.used[name])
		g.used[name]++
	}
	g.used[unique] = 1
	return unique
}

// node adds a node with one output and returns its name.
func (g *graph) node(op string, inputs []string, attributes ...onnx.Attribute) string {
	return g.nodes(op, 1, inputs, attributes...)[0]
}

// nodes adds a node with n outputs.
func (g *graph) nodes(op string, n int, inputs []string, attributes ...onnx.Attribute) []string {
	base := op
	if g.op != nil && len(g.op.outputs) > 0 {
		base = g.res(0).name + "/" + op
	}
	node := &onnx.Node{Op: op, Inputs: inputs, Attributes: attributes}
	for range n {
		node.Outputs = append(node.Outputs, g.fresh(base))
	}
	node.Name = node.Outputs[0]
	g.out.Nodes = append(g.out.Nodes, node)
	return node.Outputs
}

// constant adds a constant and returns its name.
func (g *graph) constant(t *onnx.Tensor) string {
	if g.room -= t.Data.Size(); g.room < 0 {
		refuse("the constants take more than %d times the size of the file", growth)
	}
	t.Name = g.fresh(t.Name)
	g.out.Initializers = append(g.out.Initializers, t)
	return t.Name
}

func (g *graph) ints(list ...int64) string {
	return g.constant(onnx.TensorOf("constant", list, int64(len(list))))
}
func (g *graph) scalar(v float32) string { return g.constant(onnx.TensorOf("constant", []float32{v})) }
func (g *graph) transpose(x string, perm []int64) string {
	return g.node("Transpose", []string{x}, onnx.Attr("perm", perm))
}

// firstOnly reports whether the tensor's value exists with channels first and not as the file has it.
func (g *graph) firstOnly(i int) bool { return g.stored[i][last] == "" && g.stored[i][first] != "" }

// value returns the name of tensor i, with the elements that the file stores.
func (g *graph) value(i int, l layout) (string, error) {
	t := g.tensors[i]
	if l == first && t.rank() != 4 && t.data == nil {
		return "", fmt.Errorf("tensor %q has shape %v, expected 4 axes", t.name, t.shape)
	}
	name := &g.stored[i][l]
	switch {
	case *name != "":
	case t.data != nil:
		shape, data := t.shape, t.data
		if l == first {
			shape, data = permute(data, padded(shape), toFirst, t.elem.Bits()/8)
		}
		*name = g.constant(&onnx.Tensor{Name: t.name, Type: t.elem, Dims: longs(shape), Data: onnx.Raw(data)})
	case g.stored[i][1-l] == "":
		return "", fmt.Errorf("tensor %q is read before an operator makes it (variables are not converted)", t.name)
	case l == last:
		*name = g.transpose(g.stored[i][first], toLast)
	default:
		*name = g.transpose(g.stored[i][last], toFirst)
	}
	return *name, nil
}

// raw is the n-th input of the operator as the file stores it.
func (g *graph) raw(n int, l layout) string { return must(g.value(g.op.inputs[n], l)) }

// real is the n-th input of the operator as float32, or as it is if its elements are not quantised.
func (g *graph) real(n int, l layout) string {
	t, i := g.in(n), g.op.inputs[n]
	name := &g.reals[i][l]
	switch {
	case t.data != nil && l == first:
		return g.arranged(n, padded(t.shape), toFirst)
	case t.data != nil:
		return g.arranged(n, t.shape, nil)
	case *name != "":
	case t.quantised():
		axis := t.axis
		if l == first {
			axis = slices.Index(toFirst, int64(axis))
		}
		*name = g.dequantise(g.raw(n, l), t, axis)
	default:
		*name = g.raw(n, l)
	}
	return *name
}

// arranged is the n-th input of the operator as float32 (or as it is, if its elements are not quantised) in another shape of as
// many axes as perm has, which then come in that order. An axis of scales is the same one counted from behind.
func (g *graph) arranged(n int, shape []int, perm []int64) string {
	t := g.in(n)
	if perm == nil {
		for a := range shape {
			perm = append(perm, int64(a))
		}
	}
	if t.data == nil {
		if !slices.Equal(shape, t.shape) {
			refuse("input %d is not a constant", n)
		}
		return g.transpose(g.real(n, last), perm)
	}
	if t.quantised() && (!g.integer() || t.elem == onnx.Int64) { // ONNX has no quantised int64, the biases of int16
		dims, list := permute(must(t.floats()), shape, perm, 1)
		return g.constant(onnx.TensorOf(t.name, list, longs(dims)...))
	}
	dims, data := permute(t.data, shape, perm, t.elem.Bits()/8)
	x := g.constant(&onnx.Tensor{Name: t.name, Type: t.elem, Dims: longs(dims), Data: onnx.Raw(data)})
	switch {
	case t.elem == onnx.Float16:
		return g.node("Cast", []string{x}, onnx.Attr("to", int64(onnx.Float32)))
	case t.quantised():
		return g.dequantise(x, t, slices.Index(perm, int64(t.axis+len(shape)-t.rank())))
	}
	return x
}

// integer reports whether the operator computes with integers: those of weights alone are only a smaller form of real numbers.
func (g *graph) integer() bool {
	for _, i := range g.op.inputs {
		if i >= 0 && g.tensors[i].data == nil && g.tensors[i].quantised() {
			return true
		}
	}
	return false
}

func (g *graph) dequantise(x string, t *tensor, axis int) string {
	inputs := []string{x, g.scales(t), g.zeros(t)}
	if t.elem == onnx.Int32 { // its zero point must be left out, or 0
		inputs = inputs[:2]
	}
	return g.node("DequantizeLinear", inputs, quantisedAxis(t, axis)...)
}

func quantisedAxis(t *tensor, axis int) []onnx.Attribute {
	if len(t.scales) == 1 {
		return nil
	}
	return []onnx.Attribute{onnx.Attr("axis", int64(axis))}
}

// dims are the dimensions of scales and zero points: none for one of all elements.
func (t *tensor) dims() []int64 {
	if len(t.scales) == 1 {
		return nil
	}
	return []int64{int64(len(t.scales))}
}

func (g *graph) scales(t *tensor) string {
	return g.constant(onnx.TensorOf(t.name+"/scale", t.scales, t.dims()...))
}

func (g *graph) zeros(t *tensor) string {
	var data []byte
	for _, z := range t.zeros {
		for n := range t.elem.Bits() / 8 {
			data = append(data, byte(z>>(8*n)))
		}
	}
	return g.constant(&onnx.Tensor{Name: t.name + "/zero", Type: t.elem, Dims: t.dims(), Data: onnx.Raw(data)})
}

// set makes x, which has the elements that the file stores, the n-th result.
func (g *graph) set(n int, l layout, x string) { g.stored[g.op.outputs[n]][l] = x }

// setReal makes x, of float32, the n-th result, behind the fused activation.
func (g *graph) setReal(n int, l layout, x string, activation int) {
	t := g.res(n)
	x = g.activate(x, activation, t)
	if !t.quantised() {
		g.set(n, l, x)
		return
	}
	axis := t.axis
	if l == first && len(t.scales) > 1 {
		refuse("result %q has scales of its own for each index of an axis", t.name)
	}
	g.set(n, l, g.node("QuantizeLinear", []string{x, g.scales(t), g.zeros(t)}, quantisedAxis(t, axis)...))
}

// The fused activations (ActivationFunctionType).
const (
	actNone = iota
	actRelu
	actReluN1To1
	actRelu6
	actTanh
)

// activate adds a fused activation, unless the range of a quantised result bounds its values as well.
func (g *graph) activate(x string, activation int, t *tensor) string {
	low, high := float32(0), float32(0)
	switch activation {
	case actNone:
		return x
	case actTanh:
		return g.node("Tanh", []string{x})
	case actRelu:
		if t.quantised() && t.least() >= -t.scales[0]/2 {
			return x
		}
		return g.node("Relu", []string{x})
	case actReluN1To1:
		low, high = -1, 1
	case actRelu6:
		high = 6
	default:
		refuse("fused activation %d is not converted", activation)
	}
	if t.quantised() && t.least() >= low-t.scales[0]/2 && t.greatest() <= high+t.scales[0]/2 {
		return x
	}
	return g.node("Clip", []string{x, g.scalar(low), g.scalar(high)})
}

// least and greatest are the bounds of what a quantised tensor holds.
func (t *tensor) least() float32 {
	low := int64(0)
	if t.elem != onnx.Uint8 {
		low = -1 << (t.elem.Bits() - 1)
	}
	return float32(low-t.zeros[0]) * t.scales[0]
}

func (t *tensor) greatest() float32 {
	return t.least() + t.scales[0]*float32(int64(1)<<t.elem.Bits()-1)
}

// padded returns a shape of four axes: those missing are in front.
func padded(shape []int) []int {
	for len(shape) < 4 {
		shape = append([]int{1}, shape...)
	}
	return shape
}

// permute returns the elements, of size values each, and the shape of a constant with its axes in another order.
func permute[T any](data []T, shape []int, perm []int64, size int) ([]int, []T) {
	if len(shape) != len(perm) {
		refuse("a constant has shape %v, expected %d axes", shape, len(perm))
	}
	steps := make([]int, len(shape))
	step := size
	for a := len(shape) - 1; a >= 0; a-- {
		steps[a] = step
		step *= shape[a]
	}
	to, by := make([]int, len(perm)), make([]int, len(perm))
	for a, p := range perm {
		to[a], by[a] = shape[p], steps[p]
	}
	out := make([]T, 0, len(data))
	index := make([]int, len(perm))
	for at := 0; len(out) < len(data); {
		out = append(out, data[at:at+size]...)
		for a := len(perm) - 1; a >= 0; a-- {
			index[a]++
			at += by[a]
			if index[a] < to[a] {
				break
			}
			at -= by[a] * to[a]
			index[a] = 0
		}
	}
	return to, out
}
