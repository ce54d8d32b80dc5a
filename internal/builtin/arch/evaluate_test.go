package arch

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/mlperf-go/mlperf/internal/onnx"
)

// An array is a value of a graph that a test runs. All types are kept as float64, which holds
// every number that these graphs make of them.
type array struct {
	elem  onnx.ElemType
	shape []int64
	data  []float64
}

func newArray(elem onnx.ElemType, shape ...int64) array {
	return array{elem, slices.Clone(shape), make([]float64, product(shape))}
}

// numbers is an array of given elements.
func numbers[T onnx.Element](data []T, shape ...int64) array {
	a := newArray(onnx.TensorOf("", data).Type, shape...)
	for i, v := range data {
		a.data[i] = float64(v)
	}
	return a
}

// randoms are bell-shaped numbers, the same for each seed.
func randoms(seed uint64, shape ...int64) array {
	rng := rand.New(rand.NewPCG(seed, 5))
	a := newArray(onnx.Float32, shape...)
	for i := range a.data {
		a.data[i] = rng.NormFloat64()
	}
	return a
}

// of makes an array of the type and shape of a, with other elements.
func (a array) of(f func(x float64) float64) array {
	y := newArray(a.elem, a.shape...)
	for i, x := range a.data {
		y.data[i] = f(x)
	}
	return y
}

// strides are how far the elements of each axis are apart.
func (a array) strides() []int {
	s, step := make([]int, len(a.shape)), 1
	for i := len(s) - 1; i >= 0; i-- {
		s[i] = step
		step *= int(a.shape[i])
	}
	return s
}

// at returns an element by its place along each axis.
func (a array) at(index ...int) float64 {
	p := 0
	for i, s := range a.strides() {
		p += s * index[i]
	}
	return a.data[p]
}

// split returns how many elements are in front of an axis, along it, and within each of it.
func (a array) split(axis int64) (outer, along, inner int) {
	if axis < 0 {
		axis += int64(len(a.shape))
	}
	return int(product(a.shape[:axis])), int(a.shape[axis]), int(product(a.shape[axis+1:]))
}

// An evaluation runs a graph node by node, and compares every value with what the graph says of its type.
type evaluation struct {
	values  map[string]array
	types   map[string]onnx.Type
	extents map[string]int64 // of the axes that have a name
}

// evaluate runs a model by the definitions of its operators.
func evaluate(t testing.TB, m *onnx.Model, inputs map[string]array) map[string]array {
	t.Helper()
	e := &evaluation{map[string]array{}, map[string]onnx.Type{}, map[string]int64{}}
	for _, list := range [][]*onnx.Value{m.Graph.Inputs, m.Graph.Values, m.Graph.Outputs} {
		for _, v := range list {
			e.types[v.Name] = v.Type
		}
	}
	for _, c := range m.Graph.Initializers {
		a, err := constantArray(c)
		if err != nil {
			t.Fatal(err)
		}
		e.values[c.Name] = a
	}
	for _, v := range m.Graph.Inputs {
		a, given := inputs[v.Name]
		if !given {
			t.Fatalf("the test gives no input %v", v)
		}
		if err := e.define(v.Name, a); err != nil {
			t.Fatal(err)
		}
	}
	for _, n := range m.Graph.Nodes {
		if err := e.run(n); err != nil {
			t.Fatalf("%s %q: %v", n.Op, n.Name, err)
		}
	}
	return e.values
}

func (e *evaluation) run(n *onnx.Node) error {
	apply := operators[n.Op]
	if apply == nil {
		return fmt.Errorf("the evaluation does not know it")
	}
	var in []array
	for _, name := range n.Inputs {
		a, known := e.values[name]
		if name != "" && !known {
			return fmt.Errorf("%q is made by no earlier node", name)
		}
		in = append(in, a)
	}
	for i, out := range apply(n, in) {
		if i >= len(n.Outputs) || n.Outputs[i] == "" {
			continue
		}
		if err := e.define(n.Outputs[i], out); err != nil {
			return err
		}
	}
	return nil
}

// define compares a value with its type. Axes of one name have one extent.
func (e *evaluation) define(name string, a array) error {
	typ, known := e.types[name]
	wrong := func(why string) error {
		return fmt.Errorf("the graph says that %q is %v%v; it is %v%v: %s", name, typ.Elem, typ.Shape, a.elem, a.shape, why)
	}
	switch {
	case !known:
		return fmt.Errorf("the graph says nothing of %q", name)
	case typ.Elem != a.elem || len(typ.Shape) != len(a.shape):
		return wrong("another type")
	case int64(len(a.data)) != product(a.shape):
		return wrong(fmt.Sprintf("with %d elements", len(a.data)))
	}
	for i, d := range typ.Shape {
		if d.Known() && d.Size != a.shape[i] {
			return wrong(fmt.Sprintf("axis %d differs", i))
		}
		if before, seen := e.extents[d.Param]; d.Param != "" && seen && before != a.shape[i] {
			return wrong(fmt.Sprintf("%s was %d before", d.Param, before))
		}
		e.extents[d.Param] = a.shape[i]
	}
	e.values[name] = a
	return nil
}

// constantArray reads an initializer.
func constantArray(t *onnx.Tensor) (array, error) {
	a := array{elem: t.Type, shape: t.Dims}
	var err error
	switch t.Type {
	case onnx.Float32:
		a.data, err = wide[float32](t)
	case onnx.Int64:
		a.data, err = wide[int64](t)
	case onnx.Int32:
		a.data, err = wide[int32](t)
	case onnx.Uint8:
		a.data, err = wide[uint8](t)
	default:
		err = fmt.Errorf("constant %q is of type %v", t.Name, t.Type)
	}
	return a, err
}

func wide[T onnx.Element](t *onnx.Tensor) ([]float64, error) {
	list, err := onnx.Elements[T](t)
	return numbers(list, int64(len(list))).data, err
}

// layerOf runs what add builds of one input x, and returns its output.
func layerOf(t testing.TB, x array, add func(b *Builder, x *onnx.Value) *onnx.Value) array {
	t.Helper()
	b := NewBuilder("test", 3)
	out := add(b, b.Input("x", x.elem, onnx.FixedShape(x.shape)))
	return outputOf(t, b, out, map[string]array{"x": x})
}

// outputOf finishes a model with one output, and runs it.
func outputOf(t testing.TB, b *Builder, out *onnx.Value, inputs map[string]array) array {
	t.Helper()
	b.Output(out)
	m, _, err := b.Model()
	if err != nil {
		t.Fatal(err)
	}
	return evaluate(t, m, inputs)[out.Name]
}

// checkArray compares shapes and numbers, these but for what float32 loses.
func checkArray(t testing.TB, what string, got, want array) {
	t.Helper()
	if got.elem != want.elem || !slices.Equal(got.shape, want.shape) {
		t.Errorf("%s is %v%v, want %v%v", what, got.elem, got.shape, want.elem, want.shape)
		return
	}
	for i, w := range want.data {
		if g := got.data[i]; g-w > 1e-4*(1+abs(w)) || w-g > 1e-4*(1+abs(w)) || (g != g) != (w != w) {
			t.Errorf("%s: number %d of %d is %v, want %v", what, i, len(want.data), g, w)
			return
		}
	}
}

func abs(x float64) float64 { return max(x, -x) }
