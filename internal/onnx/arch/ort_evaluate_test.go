//go:build ort

package arch

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	ort "github.com/yalue/onnxruntime_go"

	"github.com/mlperf-go/mlperf/internal/onnx"
)

// normals are normally distributed float32 numbers, the same for each seed.
func normals(seed uint64, shape ...int64) array {
	rng := rand.New(rand.NewPCG(seed, 5))
	return newArray(onnx.Float32, shape...).of(func(float64) float64 { return float64(float32(rng.NormFloat64())) })
}

// of makes an array of the type and shape of a, with other elements.
func (a array) of(f func(x float64) float64) array {
	y := newArray(a.elem, a.shape...)
	for i, x := range a.data {
		y.data[i] = f(x)
	}
	return y
}

// each calls f for all elements, with their index along each axis and in the data.
func (a array) each(f func(index []int, p int)) {
	for p := range a.data {
		index, rest := make([]int, len(a.shape)), p
		for i := len(index) - 1; i >= 0; i-- {
			index[i], rest = rest%int(a.shape[i]), rest/int(a.shape[i])
		}
		f(index, p)
	}
}

// sample is a part of one element along an axis.
func (a array) sample(axis int64, i int) array {
	y := array{elem: a.elem, shape: slices.Clone(a.shape)}
	y.shape[axis] = 1
	a.each(func(index []int, p int) {
		if index[axis] == i {
			y.data = append(y.data, a.data[p])
		}
	})
	return y
}

// box is one of the boxes of an image in [images boxes 4].
func (a array) box(image, i int) []float64 { return a.data[(image*int(a.shape[1])+i)*4:][:4] }

// evaluate runs a model and returns all values of its graph. Each has the type that the graph states; axes of one name have one extent.
func evaluate(t testing.TB, m *onnx.Model, inputs map[string]array) map[string]array {
	t.Helper()
	useRuntime(t)
	graph := *m.Graph
	for _, v := range m.Graph.Values {
		if !slices.Contains(graph.Outputs, v) {
			graph.Outputs = append(slices.Clip(graph.Outputs), v)
		}
	}
	whole := *m
	whole.Graph = &graph
	session := openSession(t, &whole)
	defer session.Destroy()

	values, extents := map[string]array{}, map[string]int64{}
	define := func(v *onnx.Value, a array) {
		t.Helper()
		ok := v.Type.Elem == a.elem && len(v.Type.Shape) == len(a.shape)
		for i := 0; ok && i < len(a.shape); i++ {
			d := v.Type.Shape[i]
			before, seen := extents[d.Param]
			ok = (!d.Known() || d.Size == a.shape[i]) && (d.Param == "" || !seen || before == a.shape[i])
			extents[d.Param] = a.shape[i]
		}
		if !ok {
			t.Fatalf("%q is %v%v, the graph states %v%v with %v", v.Name, a.elem, a.shape, v.Type.Elem, v.Type.Shape, extents)
		}
		values[v.Name] = a
	}
	var in []ort.Value
	for _, v := range graph.FreeInputs() {
		a, given := inputs[v.Name]
		if !given {
			t.Fatalf("the test gives no input %v", v)
		}
		define(v, a)
		in = append(in, valueOf(t, a))
	}
	out := make([]ort.Value, len(graph.Outputs))
	err := session.Run(in, out)
	for _, v := range in {
		v.Destroy()
	}
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range out {
		define(graph.Outputs[i], arrayOf(t, v))
		v.Destroy()
	}
	return values
}

// valueOf makes an input of a session.
func valueOf(t testing.TB, a array) ort.Value {
	t.Helper()
	var v ort.Value
	var err error
	switch shape := ort.NewShape(a.shape...); a.elem {
	case onnx.Float32:
		v, err = ort.NewTensor(shape, elementsOf[float32](a))
	case onnx.Int64:
		v, err = ort.NewTensor(shape, elementsOf[int64](a))
	case onnx.Int32:
		v, err = ort.NewTensor(shape, elementsOf[int32](a))
	default:
		err = fmt.Errorf("no test gives %v", a.elem)
	}
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func elementsOf[T onnx.Element](a array) []T {
	list := make([]T, len(a.data))
	for i, x := range a.data {
		list[i] = T(x)
	}
	return list
}

// arrayOf copies an output of a session.
func arrayOf(t testing.TB, v ort.Value) array {
	t.Helper()
	shape := v.GetShape()
	switch v := v.(type) {
	case *ort.Tensor[float32]:
		return numbers(v.GetData(), shape...)
	case *ort.Tensor[int64]:
		return numbers(v.GetData(), shape...)
	case *ort.Tensor[int32]:
		return numbers(v.GetData(), shape...)
	case *ort.Tensor[uint8]:
		return numbers(v.GetData(), shape...)
	case *ort.Tensor[bool]:
		a := newArray(onnx.Bool, shape...)
		for i, is := range v.GetData() {
			if is {
				a.data[i] = 1
			}
		}
		return a
	}
	t.Fatalf("an output is a %T", v)
	return array{}
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

// checkArray compares shapes and numbers, these within 1e-4.
func checkArray(t testing.TB, what string, got, want array) {
	t.Helper()
	if got.elem != want.elem || !slices.Equal(got.shape, want.shape) {
		t.Errorf("%s is %v%v, want %v%v", what, got.elem, got.shape, want.elem, want.shape)
		return
	}
	for i, w := range want.data {
		if g := got.data[i]; !(abs(g-w) <= 1e-4*(1+abs(w))) {
			t.Errorf("%s: number %d of %d is %v, want %v", what, i, len(want.data), g, w)
			return
		}
	}
}
