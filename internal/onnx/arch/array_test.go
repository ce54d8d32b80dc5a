package arch

import (
	"math"
	"slices"
	"testing"

	"github.com/mlperf-go/mlperf/internal/onnx"
)

// An array is a tensor in tests. Its elements are float64 whatever their type, which holds every number that these graphs compute.
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

// at returns an element by its index along each axis.
func (a array) at(index ...int) float64 {
	p := 0
	for i, k := range index {
		p = p*int(a.shape[i]) + k
	}
	return a.data[p]
}

// weightsNamed reads a tensor of a built model.
func weightsNamed(t *testing.T, m *onnx.Model, name string) array {
	t.Helper()
	c := m.Graph.Index().Initializer(name)
	if c == nil {
		t.Fatalf("the model has no weights %q", name)
	}
	list, err := onnx.Elements[float32](c)
	if err != nil {
		t.Fatal(err)
	}
	return numbers(list, c.Dims...)
}

func abs(x float64) float64 { return max(x, -x) }

func logSumExp(list []float64) float64 {
	top, sum := slices.Max(list), 0.0
	for _, x := range list {
		sum += math.Exp(x - top)
	}
	return top + math.Log(sum)
}
